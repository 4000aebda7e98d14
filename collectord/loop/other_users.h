/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Processes of a job that have another uid than its own collector: a rank that setpriv or sudo has
 * started below `rtl run`. Where root started the job they are recorded; else each is counted as
 * not recorded, with its uid. Others of the machine are refused, and change no verdict. Loop
 * thread.
 */
#include <stdbool.h>
#include <sys/types.h>

struct peer;
struct server;

/* More of them are recorded or refused all the same, and not counted. */
#define OTHER_USERS_MAX 64u

struct other_users {
	pid_t pid[OTHER_USERS_MAX]; /* that were counted: they try again and again */
	unsigned count;
};

/* Whether @peer is of another user than this private collector. */
bool other_users_is(const struct server *server, const struct peer *peer);

/* NULL: it may say Hello, and nothing else; else why it is refused. */
const char *other_users_check(struct server *server, const struct peer *peer);
