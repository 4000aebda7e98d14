/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The connection of one `rtl run`: it holds a session open until it says RunnerDone or hangs
 * up, and is told where the database is and when it is closed. Loop thread.
 */
#include <stdbool.h>

#include "proto/wire/msg.h"

struct peer;
struct session;

struct runner {
	struct runner *next; /* of the session */
	struct peer *peer;
	struct session *session;
	bool is_done;
	bool is_early; /* it starts its command once the session's file is made */
};

/* The first frame of @peer was @hello. */
void runner_greet(struct peer *peer, const Rtl__RunnerHello *hello);

/* Tell it what its session looks like now. */
void runner_send_status(struct runner *runner, bool is_closed, unsigned runners);

/* The session's file is made: to those that wait for no more than that. */
void runner_send_made(struct session *session);

/* To those that wait for the end: what holds it up, or that nothing does any more. */
void runner_send_trouble(struct session *session);

/* The session's end: all are told, in turn, and the connections closed. */
void runner_send_closed_all(struct session *session);
void runner_refuse_all(struct session *session, const char *text);
