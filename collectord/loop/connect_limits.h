/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Who may connect, how often and how many, and who makes way for whom, so that no user keeps
 * others away. Loop thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct peer;
struct server;
struct subuids;

/* Of more users than that those that came last the longest ago begin anew. */
#define ARRIVALS_USERS 64u

/* How often each user came lately: a bucket of CONNECTS_BURST_MAX, CONNECTS_PER_S_MAX flow in. */
struct arrivals {
	struct arrivals_user {
		uint64_t last_ns; /* CLOCK_MONOTONIC, up to which it was filled; 0: not in use */
		uid_t uid;
		unsigned left;
	} user[ARRIVALS_USERS];
};

/*
 * May the peer of @fd, just accepted, be looked at? A flood is turned away by this alone, at a
 * twentieth of what a connection costs.
 */
bool arrivals_take(struct arrivals *arrivals, const struct subuids *subuids, int fd);

/* NULL: @peer is welcome; else why not. */
const char *arrivals_check(struct server *server, const struct peer *peer);

/* It has not said what it is. */
bool arrivals_is_silent(const struct peer *peer);

/*
 * If @newcomer is silent and there are too many such: who has waited longest makes way, of the user
 * that has most of them. What an honest peer says is there a moment after it has come.
 */
void arrivals_make_way(struct server *server, const struct peer *newcomer);
