/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Sends one request to every collector that this user may ask, in the client order: --socket,
 * RTL_SOCKET, the user's private ones, the system's. Blocks, with the client's deadlines. Prints
 * nothing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/collector/client.h"

/*
 * Gets each reply and the socket that it came from. A value other than 0 ends the requests and is
 * returned.
 */
typedef int ask_reply(void *data, const char *socket, const Rtl__Frame *reply);

struct ask_result {
	unsigned answered;
	int error;	/* the last failure that should be reported; 0 if there is none */
	char text[512]; /* "SOCKET: why" */
};

/*
 * Sends @request to each. A socket without a listener is skipped, unless @option named it or it is
 * the only one. Returns 0, -ENOMEM, or what @reply returned.
 */
int ask_all(const char *option, const Rtl__Frame *request, Rtl__Frame__BodyCase expect,
	ask_reply *reply, void *data, struct ask_result *result);

/*
 * True if no process listens there, as on the socket that a private collector left when it ended.
 */
bool ask_is_absent(int error);

/* Calls @take for the database of each session of this user that a collector has. */
void ask_own_databases(void (*take)(void *data, const char *path), void *data);

/* A session of a collector that has @name for its own, or for that of its job. */
struct ask_match {
	char *session, *database;
	uint64_t start_realtime_ns;
	uint32_t uid;
	bool is_exact; /* it is the name of the session itself */
};

struct ask_matches {
	struct ask_match *at;
	size_t count;
	/* When a collector removed a session of that name, and why; NULL if none did. */
	char *removal;
	uint64_t removed_realtime_ns;
};

/*
 * Asks all collectors for the sessions that @name may mean: first the sessions that are themselves
 * called so, then those of a job of that name, of both the newest first.
 */
void ask_named(const char *name, struct ask_matches *ret);
void ask_matches_done(struct ask_matches *matches);
