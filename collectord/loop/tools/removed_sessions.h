/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Sessions whose files retention has removed, as the store reports them: for rtl ls, and for
 * requests that name such a session. Keeps the latest ones. Loop thread.
 */
#include <stdint.h>
#include <sys/types.h>

struct server;
struct store_answer;

struct removed {
	struct removed *next; /* the next older one */
	uid_t uid;
	char *name;
	char *job; /* NULL: unknown */
	char *why;
	uint64_t start_realtime_ns;
	uint64_t removed_realtime_ns;
	uint64_t stored;
	uint64_t bytes;
};

/* Takes the texts of @answer. */
void removed_take(struct server *server, struct store_answer *answer);
void removed_done(struct server *server);
