/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Limits how often a user may connect and ask, and how many connections it may hold. A worker
 * serves one user, so each limit is one figure of the server. Loop thread.
 */
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

struct peer;
struct server;

/* A token bucket, full when last_ns is 0. */
struct peer_bucket {
	uint64_t last_ns; /* CLOCK_MONOTONIC of the last refill */
	double left;	  /* below 0: a token was taken in advance */
};

struct peer_limits {
	struct peer_bucket connects;
	struct peer_bucket requests;
	struct event *timer; /* armed while a connection is paused */
};

/* -ENOMEM. */
int peer_limits_init(struct server *server);
void peer_limits_done(struct server *server);

/*
 * Takes a token for the peer of @fd, which was just accepted. Returns false if its user connects
 * too often. A flood is rejected by this check alone, at a twentieth of the cost of a connection.
 */
bool peer_limits_connect(struct server *server, int fd);

/* True if @peer has not sent its first frame. */
bool peer_limits_is_silent(const struct peer *peer);

/*
 * Called when @newcomer is accepted. If it has not sent its first frame and there are too many such
 * connections, the oldest one is evicted. An honest peer sends its first frame as soon as it
 * connects, so it is not affected.
 */
void peer_limits_make_way(struct server *server, const struct peer *newcomer);

/*
 * Called when @peer, a tool, was answered. Above the limit it is paused: its next request is
 * answered later, not refused. Root and the collector's own user have no limit.
 */
void peer_limits_request(struct peer *peer);
