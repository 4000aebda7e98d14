/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Decoded frames of one process into rows of its database, in the open transaction: the same
 * for what comes over the socket and for the cells of a dead process's recorder. A frame is
 * taken whole or not at all. Store thread.
 */
#include "collectord/ingest/process.h"

#define INGEST_WHY_BYTES 128

/*
 * @bytes: of the frame as it came. 0: taken, or dropped over quota and counted. 1: a duplicate, ignored and counted. -EBADMSG: a number was skipped, or the frame
 * makes no sense; @why says it in one line. -ENOMEM or database_errno(): roll back.
 */
int ingest_frame(struct writer *writer, struct process *process, const Rtl__Frame *frame,
	size_t bytes, char why[INGEST_WHY_BYTES]);

/* One dispatch, as the drain finds it in a slot. */
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
	uint64_t call; /* id of the host call; 0: none */
	uint32_t node; /* among its dispatches; RECORDER_NODE_UNKNOWN */
	uint32_t untimed; /* enum rtl_untimed */
};

/* The number of a record, from that of the one before; -1 when it leaves the range of a row. */
int64_t ingest_next_seq(int64_t before, int64_t delta);

/* When record @i was submitted. @next: of those that are written out, 0 before the first. */
uint64_t ingest_submit_ns(const Rtl__Dispatches *dispatches, uint32_t i, size_t *next);

/* In one line: no room for what a process defines. */
extern const char ingest_no_memory[];

/* The books of the queue of @shape. -ENOMEM; -EDQUOT: no more of them. */
int ingest_find_books(struct process *process, struct define_shape *shape);

/* The row of @shape is found by who knows it by what it is. -ENOMEM, or database_errno(). */
int ingest_keep_shape(
	struct writer *writer, struct process *process, const struct define_shape *shape);

/* Makes room for @rows in the feed. database_errno(). */
int ingest_reserve(struct writer *writer, uint32_t rows);

/* After ingest_reserve(); cannot fail. */
void ingest_put_dispatch(
	struct writer *writer, struct process *process, const struct ingest_dispatch *dispatch);
