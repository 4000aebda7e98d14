/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The connection of one `rtl run`. It holds a session open until it sends RunnerDone or hangs up,
 * and is told where the database is and when the session is closed. Loop thread.
 */
#include <stdbool.h>

#include "proto/wire/msg.h"

struct peer;
struct session;

struct runner {
	struct runner *next; /* in its session */
	struct peer *peer;
	struct session *session;
	bool is_done;
	bool is_early; /* it starts its command as soon as the file of the session exists */
};

/* Handles a peer whose first frame was @hello. */
void runner_greet(struct peer *peer, const Rtl__RunnerHello *hello);

/* Sends the current state of the session. */
void runner_send_status(struct runner *runner, bool is_closed, unsigned runners);

/* Called when the file of the session exists: tells the runners that wait only for that. */
void runner_send_made(struct session *session);

/* Tells the runners that wait for the end what delays it, or that nothing does any more. */
void runner_send_trouble(struct session *session);

/*
 * Called at the end of the session: tells all runners, one after another, and closes their
 * connections.
 */
void runner_send_closed_all(struct session *session);
void runner_refuse_all(struct session *session, const char *text);
