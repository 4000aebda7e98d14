/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * When what lies in the log goes into the file: in steps while the session lives, so that its end
 * has little left to write, and the log is written over while its pages are still in memory. A
 * tenth of the store's time at most, of all databases together; past WAL_CHECKPOINT_BYTES whatever
 * it takes. In the service, whose thread has other users' records in line, only that. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct writer;

/* The last step of any database. */
struct checkpoints {
	uint64_t ended_ns; /* CLOCK_MONOTONIC */
	uint64_t took_ns;
};

/* From here on the length of its log is known, and bounded; in place of SQLite's own checkpoints.
 */
void checkpoint_watch(struct writer *writer);

/*
 * Between two transactions: a step, if the log is worth one and it is time for one. @is_parting: all
 * have said Bye, and nothing else is done until their programs have ended: then it is time, and a
 * shorter log is worth it.
 */
void checkpoint_step(struct checkpoints *last, struct writer *writer, bool is_parting);
