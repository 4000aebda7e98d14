/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Sessions whose files retention has removed, as the store tells: for rtl ls, and for who asks for
 * one by name. The latest ones, of each tenant and in all. Loop thread.
 */
#include <stdint.h>
#include <sys/types.h>

struct server;
struct store_answer;

struct removed {
	struct removed *next; /* older */
	uid_t uid;
	uid_t owner; /* whom that counts as: subordinate_uids.h */
	char *name;
	char *job; /* NULL: unknown */
	char *why;
	uint64_t start_realtime_ns;
	uint64_t removed_realtime_ns;
	uint64_t stored;
	uint64_t bytes;
};

/* Takes its texts. */
void removed_take(struct server *server, struct store_answer *answer);
void removed_done(struct server *server);
