/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Turns records into frames in cells: interns shapes into the define log and encodes columns
 * straight into the cell; steps L, P and R of docs/recorder.md. Runs under the harvest lock; on the
 * dispatch path only from harvest_queue_inline(), where it does not wait.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/base/limits.h"
#include "proto/recorder/layout.h"
#include "shim/record/protobuf_writer.h"

struct capture;
struct recorder;

/*
 * What dispatches have in common. Laid out like the fields of a slot, as far as a slot has them.
 * Compared and hashed as words, so it has no padding.
 */
struct shape_key {
	uint32_t symbol;
	uint16_t workgroup[3];
	uint16_t zero; /* the slot has a field there that is not part of the shape */
	uint32_t grid[3];
	uint32_t scratch;
	uint32_t lds;
	uint32_t queue;
	uint32_t gpu;
};
#define SHAPE_KEY_WORDS 5
static_assert(sizeof(struct shape_key) == SHAPE_KEY_WORDS * sizeof(uint64_t), "shape_key");
#define SAME_PLACE_IN_KEY(field)                                                                   \
	static_assert(                                                                             \
		offsetof(struct recorder_slot, field) - offsetof(struct recorder_slot, symbol) ==  \
			offsetof(struct shape_key, field),                                         \
		#field)
SAME_PLACE_IN_KEY(workgroup);
SAME_PLACE_IN_KEY(grid);
SAME_PLACE_IN_KEY(scratch);
SAME_PLACE_IN_KEY(lds);
static_assert(offsetof(struct recorder_slot, untimed) - offsetof(struct recorder_slot, symbol) ==
			      offsetof(struct shape_key, zero) &&
		      offsetof(struct shape_key, queue) == RECORDER_SLOT_PACKET_BYTES,
	"shape_key");

/* The bits of the second word that are not part of the key. */
#define SHAPE_KEY_ZERO 0x00000000ffff0000u
static_assert(offsetof(struct shape_key, zero) == sizeof(uint64_t) + 2, "SHAPE_KEY_ZERO");

/*
 * The key of @slot on queue @queue, built in registers: to write it field by field and read it back
 * as words would stall, because the store buffer could not forward the fields.
 */
static inline void shape_words_of(const struct recorder_slot *slot, uint32_t queue, uint32_t gpu,
	uint64_t ret[static SHAPE_KEY_WORDS])
{
	const char *from = (const char *)slot + offsetof(struct recorder_slot, symbol);

#pragma GCC unroll 4
	for (size_t i = 0; i < SHAPE_KEY_WORDS - 1; i++)
		memcpy(&ret[i], from + i * sizeof(ret[i]), sizeof(ret[i]));
	ret[1] &= ~(uint64_t)SHAPE_KEY_ZERO;
	ret[SHAPE_KEY_WORDS - 1] = queue | (uint64_t)gpu << 32;
}

#define SHAPE_INDEX  (2u * PROCESS_SHAPES_MAX)
/* Cache of the shapes that a program alternates between, found without hashing the whole key. */
#define SHAPE_RECENT 512u

struct shapes {
	uint32_t *index;	       /* SHAPE_INDEX ids, 0 if empty; open addressing */
	struct shape_key *keys;	       /* PROCESS_SHAPES_MAX, by id */
	uint32_t used;		       /* ids 1 .. used are defined */
	uint32_t recent[SHAPE_RECENT]; /* id of the last key that mapped to this place */
};

/* -ENOMEM. */
int shapes_init(struct shapes *shapes);
void shapes_done(struct shapes *shapes);

/*
 * Place in `recent`, from what differs between consecutive dispatches: symbol, first grid
 * dimension, queue.
 */
static inline uint32_t shape_place(const uint64_t key[static SHAPE_KEY_WORDS])
{
	uint32_t symbol = (uint32_t)key[0], grid = (uint32_t)(key[1] >> 32);
	uint32_t mixed =
		(symbol * 0x9e3779b1u ^ grid) * 0x85ebca77u ^ (uint32_t)key[SHAPE_KEY_WORDS - 1];

	return (mixed ^ mixed >> 16) % SHAPE_RECENT;
}

/*
 * The id of @key if it was the last key in its place; else 0, and the caller uses shapes_intern().
 */
static inline uint32_t shapes_glance(
	const struct shapes *shapes, const uint64_t key[static SHAPE_KEY_WORDS])
{
	uint32_t id = shapes->recent[shape_place(key)];
	const struct shape_key *known = &shapes->keys[id];
	uint64_t differs = 0, word;

#pragma GCC unroll 5
	for (size_t i = 0; i < SHAPE_KEY_WORDS; i++) {
		memcpy(&word, (const char *)known + i * sizeof(word), sizeof(word));
		differs |= key[i] ^ word;
	}
	return differs ? 0 : id;
}

/*
 * The id of @key, which is defined in the log before this returns. If the table or the log is full,
 * a coarser shape: without geometry, then without symbol; *ret_overflow reports each new one once.
 * -EAGAIN: the log is busy and @is_inline; -ENOSPC: not even a coarser shape fits.
 */
int shapes_intern(struct shapes *shapes, struct recorder *recorder, const struct shape_key *key,
	bool is_inline, uint32_t *ret, bool *ret_overflow);

/* One frame of dispatches as columns (rtl.proto, Dispatches). */
struct columns {
	uint32_t n;
	uint32_t n_sure; /* this many records fit, whatever they contain; frames.c */
	/* Encoded as they are sent: varints, shape_bytes and seq_bytes of them. */
	uint8_t shape[FRAME_RECORDS_MAX * PB_VARINT32_BYTES_MAX];
	/* Zigzag of the difference to the expected number. */
	uint8_t seq[FRAME_RECORDS_MAX * PB_VARINT64_BYTES_MAX];
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
	/* Bytes of each column of varints so far. */
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

/*
 * Most bytes that one record adds to all columns together, and that a frame without records takes.
 */
#define COLUMNS_RECORD_BYTES_MAX 97u
#define COLUMNS_FRAME_BYTES_MAX	 128u

/* @newest_call is a recent host call's id; slots contain only the low half of an id. */
void columns_clear(struct columns *columns, uint64_t newest_call);
void columns_add(struct columns *columns, const struct recorder_slot *slot, uint32_t shape);
/* An upper bound of the bytes that columns_encode() will write. */
size_t columns_bytes_most(const struct columns *columns);
/* Writes the length prefix and the frame; returns the bytes. */
size_t columns_encode(const struct columns *columns, uint64_t number, uint8_t *at);

/*
 * Working memory for encoding frames, allocated when the capture is created: the table of shapes
 * and the columns of the frame under construction. Used by the holder of the harvest lock only.
 */
struct batch {
	struct shapes shapes;
	struct columns *columns;
	uint32_t *picked; /* references of FRAME_RECORDS_MAX slots */
};

/* -ENOMEM. */
int batch_init(struct batch *batch);
void batch_done(struct batch *batch);

/*
 * Publishes frames of finished slots: full frames, and with @is_due a partial one. While more than
 * a quarter of the cells is unacknowledged, only full ones unless @is_forced. With @is_inline it
 * does not wait. Returns the number of frames published.
 */
unsigned batch_run(struct capture *capture, bool is_due, bool is_forced, bool is_inline);

/* A frame of records that are not dispatches, by the steps of docs/recorder.md, section 3. */
struct batch_frame {
	/* Writes the whole frame, prefix and @number included; returns 0 if it does not fit. */
	size_t (*pack)(void *context, uint64_t number, uint8_t *at, size_t room);
	/* L: labels every record with @number. */
	void (*label)(void *context, uint64_t number);
	/* R: releases every record. */
	void (*release)(void *context);
	void *context;
	uint32_t records;
};

/*
 * Waits for the harvest lock, so only for the thread that harvests. -EAGAIN: no cell is free;
 * -EMSGSIZE: the frame does not fit.
 */
int batch_put_frame(struct capture *capture, const struct batch_frame *frame);
