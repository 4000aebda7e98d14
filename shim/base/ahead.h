/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Pages that dispatches are about to use for the first time: the shim's thread touches them, or whoever
 * makes a queue, by one call, or each is a fault of the thread that submits. A dispatch itself makes no
 * call, but what the runtime makes when it is asked for memory of 4,096 more signals. What is touched
 * ahead of who is on the move goes no further than that one has come: at most twice what it used, and at
 * most AHEAD_BYTES_MAX more a piece. Errno stays; before Linux 5.14 nothing happens.
 */
#include <stddef.h>
#include <stdint.h>

/* Who has used less is not worth a call. */
#define AHEAD_BYTES_LEAST (64u << 10)
#define AHEAD_BYTES_MAX	  (1u << 20)

/* Memory that is used from its beginning on. */
struct ahead {
	uintptr_t memory; /* of the latest call; another one begins anew */
	size_t end;	  /* touched, or used, so far */
};

/* The first @used of @bytes at @memory, which is whole pages, were used by now. */
void ahead_of(struct ahead *ahead, void *memory, size_t bytes, size_t used);

/* All of that will be used now; whole pages of it and those that it shares with others. */
void ahead_all(void *memory, size_t bytes);
/* Likewise of a memfd, which has @memory at @offset: whole pages that nobody has written to. Waits
 * for others who ask for memory of that file. */
void ahead_all_of_file(int fd, uint64_t offset, void *memory, size_t bytes);
