/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Decides when the WAL is checkpointed: in steps while the session lives, so that its end has
 * little left to write and the WAL is reused while its pages are still in memory. The steps take at
 * most a tenth of the store thread's time, over all databases together. A WAL of more than
 * WAL_CHECKPOINT_BYTES is checkpointed whatever that takes. In the service only the latter applies,
 * because records of other users wait for the thread. Store thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct writer;

/* The last step of any database. */
struct checkpoints {
	uint64_t ended_ns; /* CLOCK_MONOTONIC */
	uint64_t took_ns;
};

/* Installs a hook that counts the pages of the WAL and bounds it, in place of SQLite's automatic
 * checkpoints. */
void checkpoint_watch(struct writer *writer);

/*
 * Runs a step between two transactions, if the WAL is worth one and the pause is over. @is_parting:
 * all processes have said Bye, and the thread has nothing else to do until their programs have
 * ended. A step is then due at once, and a shorter WAL is worth it.
 */
void checkpoint_step(struct checkpoints *last, struct writer *writer, bool is_parting);
