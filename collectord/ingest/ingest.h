/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Stores decoded frames of one process as rows of its database, in the open transaction: frames
 * from the socket and from the cells of a dead process's recorder alike. A frame is taken whole or
 * not at all. Store thread.
 */
#include "collectord/ingest/process/process.h"

#define INGEST_WHY_BYTES 128

/*
 * Takes @frame, which had @bytes bytes when it arrived. Returns 0 if it was taken, or was dropped
 * over quota and counted; 1 if it was a duplicate, which is ignored and counted; -EBADMSG if a
 * number was skipped or the frame is not valid, with @why in one line; -ENOMEM or database_errno():
 * the caller rolls back.
 */
int ingest_frame(struct writer *writer, struct process *process, const Rtl__Frame *frame,
	size_t bytes, char why[INGEST_WHY_BYTES]);

/* One dispatch, as the drain reads it from a slot. */
struct ingest_dispatch {
	int64_t shape_id;
	struct ledger_queue *books;
	unsigned gpu;
	uint64_t seq;
	uint64_t start_tick;
	uint64_t ticks;
	uint64_t submit_ns;
	uint32_t tid;
	uint64_t marker;
	uint64_t call;	  /* id of the host call; 0: none */
	uint32_t node;	  /* index among the dispatches of the call, or RECORDER_NODE_UNKNOWN */
	uint32_t untimed; /* enum rtl_untimed */
};

/* Makes the row of @shape findable by its contents. -ENOMEM, or database_errno(). */
int ingest_keep_shape(
	struct writer *writer, struct process *process, const struct define_shape *shape);

/* Makes room for @rows in the feed. database_errno(). */
int ingest_reserve(struct writer *writer, uint32_t rows);

/* Called after ingest_reserve(), so it cannot fail. */
void ingest_put_dispatch(
	struct writer *writer, struct process *process, const struct ingest_dispatch *dispatch);
