/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One process (shim instance) as its database knows it: the row of rtl_process, its GPUs, its
 * definitions, its books. Store thread. Everything here but the definitions and the anchors can
 * be read back from the database, which is what happens after a ROLLBACK.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectord/ingest/definitions.h"
#include "collectord/ingest/ledger.h"
#include "collectord/ingest/process_clock.h"
#include "collectord/db/writer.h"

struct rank_said;

struct process {
	int64_t id; /* rtl_process.id */
	int64_t session_id;
	int64_t pid;
	uint64_t start_time;
	uint8_t boot_id[16];
	uint8_t token[16];
	bool has_rank; /* as ranks_update() found it last */
	uint32_t rank;
	struct rank_said *said; /* of its rank, since its Hello; owned; NULL: nothing */
	bool is_rank_new;   /* those of its session are to be looked for anew */
	uint64_t gpus_seen; /* by rank: it has rows of these, by their index, a bit each */
	char *exe; /* clean; may be NULL */

	uint64_t frame; /* last one taken, the open transaction included */
	uint64_t duplicates;
	bool is_dirty;
	bool said_bye;
	bool is_drained;

	uint32_t recordings; /* its rows in rtl_recording */

	unsigned gpus;
	uint32_t gpu_id[RECORDER_GPUS];
	struct defines defines;
	struct ledger ledger;
	struct process_clock clock[]; /* of its GPUs: of all that there may be it would be 140 KiB */
};

/*
 * Finds or inserts the process of @hello in the open transaction of @writer.
 * -EBADMSG: the Hello lacks its identity or has too many GPUs; -EALREADY: it was read to its end
 * before, or belongs to another session; -ENOMEM; database_errno().
 */
int process_open(struct writer *writer, int64_t session_id, const Rtl__Hello *hello, uid_t uid,
	pid_t pid, uint64_t start_time, struct process **ret);

/* Returns NULL. */
struct process *process_free(struct process *process);

/* What the row of a process says of how far it was read. */
struct process_mark {
	uint64_t frame;
	uint64_t duplicates;
	uint64_t counted_ns; /* no counter had been read before; its start when none was at all */
};

/* -EUCLEAN: there is no such row; database_errno(). */
int process_read_mark(struct writer *writer, int64_t process_id, struct process_mark *ret);

/*
 * Into another file, of @writer, in its open transaction: a row of its own there, with all that is
 * known but rows; frames up to @frame are not in it.
 */
int process_move(struct process *process, struct writer *writer, int64_t session_id,
	const Rtl__Hello *hello, uid_t uid, uint64_t frame);

/* After writer_rollback(). */
int process_reload(struct process *process, struct writer *writer);

/* hw, duplicates and books, in the open transaction. @all: with every counter. */
int process_save(struct process *process, struct writer *writer, bool all);

/* @ended as in rtl_process; @exit_status -1: unknown. */
int process_put_end(struct writer *writer, int64_t process_id, const char *ended, int exit_status,
	bool is_drained);
