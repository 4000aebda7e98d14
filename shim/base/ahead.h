/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Faults pages in before dispatches use them for the first time. The shim thread, or the thread
 * that creates a queue, populates them with one call; otherwise each page costs the submitting
 * thread a fault. A dispatch itself makes no such call, except where the runtime is asked for
 * memory of 4,096 more signals. Pages are populated only in proportion to what is used already: at
 * most as much again, and at most AHEAD_BYTES_MAX at a time. All functions keep errno; before Linux
 * 5.14 they do nothing.
 */
#include <stddef.h>
#include <stdint.h>

/* Below this much use, a call costs more than the faults it saves. */
#define AHEAD_BYTES_LEAST (64u << 10)
#define AHEAD_BYTES_MAX	  (1u << 20)

/* Memory that is used from its beginning on. One thread at a time uses a struct ahead. */
struct ahead {
	uintptr_t memory; /* of the latest call; another address starts over */
	size_t end;	  /* bytes that have been populated or used so far */
};

/* Tells that the first @used of the @bytes at @memory (whole pages) are in use by now. */
void ahead_of(struct ahead *ahead, void *memory, size_t bytes, size_t used);

/* Populates the whole range now, including the pages that it shares with its neighbours. */
void ahead_all(void *memory, size_t bytes);
/*
 * The same for a memfd that is mapped at @memory from @offset on: whole pages that have never been
 * written. Waits for other threads that allocate pages of that file.
 */
void ahead_all_of_file(int fd, uint64_t offset, void *memory, size_t bytes);
