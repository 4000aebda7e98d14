/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Limits how often and how many times a user may connect, and evicts connections that have not sent
 * their first frame, so that no user can lock out the others. Loop thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct peer;
struct server;
struct subuids;

/*
 * Number of users whose rate is remembered. Beyond it, the user whose last connection is the oldest
 * starts over with a full bucket.
 */
#define ARRIVALS_USERS 64u

/*
 * The connection rate of each user: a token bucket of CONNECTS_BURST_MAX that refills with
 * CONNECTS_PER_S_MAX.
 */
struct arrivals {
	struct arrivals_user {
		uint64_t last_ns; /* CLOCK_MONOTONIC of the last refill; 0: not in use */
		uid_t uid;
		unsigned left;
	} user[ARRIVALS_USERS];
};

/*
 * Takes a token for the peer of @fd, which was just accepted. Returns false if the user connects
 * too often. A flood is rejected by this check alone, at a twentieth of the cost of a connection.
 */
bool arrivals_take(struct arrivals *arrivals, const struct subuids *subuids, int fd);

/* Returns NULL if @peer may stay, else the reason why not. */
const char *arrivals_check(struct server *server, const struct peer *peer);

/* True if @peer has not sent its first frame. */
bool arrivals_is_silent(const struct peer *peer);

/*
 * Called when @newcomer is accepted. If it has not sent its first frame and there are too many such
 * connections, the oldest one of the user that has most of them is evicted. An honest peer sends
 * its first frame as soon as it connects, so it is not affected.
 */
void arrivals_make_way(struct server *server, const struct peer *newcomer);
