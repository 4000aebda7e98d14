/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One process (shim instance) as its database knows it: the row of rtl_process, its GPUs, its
 * definitions, its ledger. Store thread. Everything here except the definitions and the anchors can
 * be read back from the database, which happens after a ROLLBACK.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/ingest/process/definitions.h"
#include "collectord/ingest/completeness/ledger.h"
#include "collectord/ingest/process/process_clock.h"
#include "collectord/db/rows/writer.h"

struct rank_said;

struct process {
	int64_t id; /* rtl_process.id */
	int64_t session_id;
	int64_t pid;
	uint64_t start_time;
	uint8_t boot_id[16];
	uint8_t token[16];
	bool has_rank; /* as found by the last ranks_update() */
	uint32_t rank;
	struct rank_said *said; /* what it said of its rank after its Hello; owned; NULL: nothing */
	bool is_rank_new;	/* the ranks of its session must be resolved again */
	uint64_t gpus_seen;	/* GPUs with a dispatch, a bit for each index */
	char *exe;		/* valid UTF-8; may be NULL */

	uint64_t frame; /* the last one taken, including the open transaction */
	uint64_t duplicates;
	bool is_dirty;
	bool said_bye;
	bool is_drained;

	uint32_t recordings; /* number of its rows in rtl_recording */

	unsigned gpus;
	uint32_t gpu_id[RECORDER_GPUS];
	struct defines defines;
	struct ledger ledger;
	struct process_clock clock[]; /* one for each of its GPUs: an array for all possible GPUs
				       * would have 140 KiB */
};

/*
 * Finds or inserts the process of @hello in the open transaction of @writer. -EBADMSG: the Hello
 * lacks its identity or has too many GPUs; -EALREADY: the process was drained before, or belongs to
 * another session; -ENOMEM; database_errno().
 */
int process_open(struct writer *writer, int64_t session_id, const Rtl__Hello *hello, uid_t uid,
	pid_t pid, uint64_t start_time, struct process **ret);

/* Returns NULL. */
struct process *process_free(struct process *process);

/* How far the process was read, according to its row. */
struct process_mark {
	uint64_t frame;
	uint64_t duplicates;
	uint64_t counted_ns; /* start of the span that the next reading of the counters covers;
			      * the start of the process if none was read */
};

/* Returns -EUCLEAN if there is no such row; database_errno(). */
int process_read_mark(struct writer *writer, int64_t process_id, struct process_mark *ret);

/*
 * Moves the process to another file, in the open transaction of @writer: inserts a row there with
 * everything that is known except its records; frames up to @frame are not in that file.
 */
int process_move(struct process *process, struct writer *writer, int64_t session_id,
	const Rtl__Hello *hello, uid_t uid, uint64_t frame);

/* Called after writer_rollback(). */
int process_reload(struct process *process, struct writer *writer);

/*
 * Saves the frame number, the duplicates and the ledger, in the open transaction. @all: with every
 * counter.
 */
int process_save(struct process *process, struct writer *writer, bool all);

/* @ended as in rtl_process; @exit_status is -1 if it is unknown. */
int process_put_end(struct writer *writer, int64_t process_id, const char *ended, int exit_status,
	bool is_drained);
