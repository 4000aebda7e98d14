/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How often the tools of a user may ask: whoever asks too often is answered later, not refused, and
 * nobody else waits for that. A bucket a uid; root and the collector's own user are free. Loop
 * thread.
 */
#include <event2/event.h>
#include <stdint.h>
#include <sys/types.h>

struct peer;
struct server;

/* Of more users than that those that asked last the longest ago begin anew. */
#define REQUESTS_USERS 64u

struct requests {
	struct event *timer; /* while somebody waits */
	struct requests_user {
		uint64_t last_ns; /* CLOCK_MONOTONIC; 0: not in use */
		uid_t uid;
		double left; /* below 0: its connections are not read */
	} user[REQUESTS_USERS];
};

/* -ENOMEM. */
int requests_init(struct server *server);
void requests_done(struct server *server);

/* @peer, a tool, was answered: may be paused for that. */
void requests_charge(struct peer *peer);
