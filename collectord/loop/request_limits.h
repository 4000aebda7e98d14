/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Limits how often the tools of a user may ask. A request above the limit is answered later, not
 * refused, and other users do not wait for it. One token bucket for each uid; root and the
 * collector's own user have no limit. Loop thread.
 */
#include <event2/event.h>
#include <stdint.h>
#include <sys/types.h>

struct peer;
struct server;

/*
 * Number of users that are remembered. Beyond it, the user whose last request is the oldest starts
 * over with a full bucket.
 */
#define REQUESTS_USERS 64u

struct requests {
	struct event *timer; /* armed while a connection is paused */
	struct requests_user {
		uint64_t last_ns; /* CLOCK_MONOTONIC; 0: not in use */
		uid_t uid;
		double left; /* below 0: the connections of the user are not read */
	} user[REQUESTS_USERS];
};

/* -ENOMEM. */
int requests_init(struct server *server);
void requests_done(struct server *server);

/* Called when @peer, a tool, was answered. May pause it. */
void requests_charge(struct peer *peer);
