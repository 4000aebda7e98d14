/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The batcher's working memory, all of it allocated when the capture is created: the table of
 * shapes and the columns of the frame that is being built. Holder of the harvest lock only.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/limits.h"
#include "proto/recorder.h"

struct recorder;

/* What a dispatch repeats; compared and hashed as bytes, so no padding. */
struct shape_key {
	uint32_t gpu;
	uint32_t queue;
	uint32_t symbol;
	uint16_t workgroup[3];
	uint16_t zero;
	uint32_t grid[3];
	uint32_t lds;
	uint32_t scratch;
};
static_assert(sizeof(struct shape_key) == 40, "shape_key");

#define SHAPE_INDEX  (2u * PROCESS_SHAPES_MAX)
/* Those that a program alternates between: found without hashing all of the key. */
#define SHAPE_RECENT 512u

struct shapes {
	uint32_t *index;	       /* SHAPE_INDEX: id, 0: empty; open addressing */
	struct shape_key *keys;	       /* PROCESS_SHAPES_MAX, by id */
	uint32_t used;		       /* ids 1 .. used are defined */
	uint32_t recent[SHAPE_RECENT]; /* id of the latest answer in that place */
};

/* -ENOMEM. */
int shapes_init(struct shapes *shapes);
void shapes_done(struct shapes *shapes);

/*
 * The id of @key, defined in the log before this returns. When shapes or log run out, a
 * coarser one: without geometry, then without symbol; *ret_overflow says so once per new one.
 * 0; -EAGAIN: the log is busy and @is_inline; -ENOSPC: not even that.
 */
int shapes_intern(struct shapes *shapes, struct recorder *recorder, const struct shape_key *key,
	bool is_inline, uint32_t *ret, bool *ret_overflow);

/* One frame of dispatches, as columns (rtl.proto, Dispatches). */
struct columns {
	uint32_t n;
	uint32_t n_sure; /* so many fit, whatever they hold; batch.c */
	uint32_t shape[FRAME_RECORDS_MAX];
	uint64_t seq[FRAME_RECORDS_MAX]; /* zigzag of the difference */
	uint64_t start_tick[FRAME_RECORDS_MAX];
	uint32_t duration[FRAME_RECORDS_MAX];
	int32_t submit_delta[FRAME_RECORDS_MAX];
	uint64_t long_duration[FRAME_RECORDS_MAX];
	uint64_t long_submit[FRAME_RECORDS_MAX];
	uint32_t tid_from[FRAME_RECORDS_MAX], tid[FRAME_RECORDS_MAX];
	uint32_t marker_from[FRAME_RECORDS_MAX];
	uint64_t marker[FRAME_RECORDS_MAX];
	uint32_t untimed_at[FRAME_RECORDS_MAX], untimed_why[FRAME_RECORDS_MAX];
	uint32_t call_from[FRAME_RECORDS_MAX], node[FRAME_RECORDS_MAX];
	uint64_t call[FRAME_RECORDS_MAX];
	uint32_t n_long_duration, n_long_submit, n_tid, n_marker, n_untimed, n_call;
	/* Bytes of the columns of varints so far. */
	size_t shape_bytes, seq_bytes, long_duration_bytes;
	size_t tid_from_bytes, tid_bytes, marker_from_bytes, marker_bytes;
	size_t untimed_at_bytes, untimed_why_bytes;
	size_t call_from_bytes, call_bytes, node_bytes;
	uint64_t submit_base_ns;
	uint64_t last_seq, last_marker;
	uint32_t last_tid;
	uint64_t newest_call, last_call;
	uint32_t next_node;
};

/* The most that one record can add, over all columns; and a frame without records. */
#define COLUMNS_RECORD_BYTES_MAX 97u
#define COLUMNS_FRAME_BYTES_MAX	 128u

/* @newest_call: some host call's id of about now; slots have the low half of theirs. */
void columns_clear(struct columns *columns, uint64_t newest_call);
void columns_add(struct columns *columns, const struct recorder_slot *slot, uint32_t shape);
/* An upper bound of what columns_encode() will write. */
size_t columns_bytes_most(const struct columns *columns);
/* Writes prefix and frame; returns the bytes. */
size_t columns_encode(const struct columns *columns, uint64_t number, uint8_t *at);

struct batch {
	struct shapes shapes;
	struct columns *columns;
	uint32_t *picked; /* FRAME_RECORDS_MAX references of slots */
};

/* -ENOMEM. */
int batch_init(struct batch *batch);
void batch_done(struct batch *batch);
