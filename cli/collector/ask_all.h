/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One question to every collector that this user may ask (client order: --socket, RTL_SOCKET,
 * the user's private ones, the system's). Blocking with the client's deadlines. Prints nothing.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cli/collector/client.h"

/* Gets each reply, with the socket it came from. Not 0 ends the asking and is returned. */
typedef int ask_reply(void *data, const char *socket, const Rtl__Frame *reply);

struct ask_result {
	unsigned answered;
	int error;	/* the last failure that is worth a word; 0: none */
	char text[512]; /* "SOCKET: why" */
};

/*
 * Sends @request to each. A socket without a listener is skipped, unless @option named it or it is
 * the only one. -ENOMEM, or what @reply returned.
 */
int ask_all(const char *option, const Rtl__Frame *request, Rtl__Frame__BodyCase expect,
	ask_reply *reply, void *data, struct ask_result *result);

/* True if no process listens there, as on the socket that a finished private collector left. */
bool ask_is_absent(int error);

/* Gives @take the database of each session of this user that a collector has. */
void ask_own_databases(void (*take)(void *data, const char *path), void *data);

/*
 * The database of the session @name, malloc'ed; NULL: no collector knows it. Then *@ret_removal, to
 * be freed, says when one removed it, and why; NULL: none did.
 */
char *ask_database(const char *name, char **ret_removal);
