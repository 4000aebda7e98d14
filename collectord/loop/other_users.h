/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Handles the processes of a job that have another uid than its private collector, such as a rank
 * that setpriv or sudo started below `rtl run`. If root started the job, they are recorded;
 * otherwise each is counted as not recorded, with its uid. Processes outside the job are refused
 * and do not change the verdict. Loop thread.
 */
#include <stdbool.h>
#include <sys/types.h>

struct peer;
struct server;

/* Further processes are recorded or refused in the same way, but not counted. */
#define OTHER_USERS_MAX 64u

struct other_users {
	pid_t pid[OTHER_USERS_MAX]; /* already counted: a refused shim tries again */
	unsigned count;
};

/* True if this collector is private and @peer belongs to another user. */
bool other_users_is(const struct server *server, const struct peer *peer);

/* Returns NULL if the peer may say Hello and nothing else, else the reason to refuse it. */
const char *other_users_check(struct server *server, const struct peer *peer);
