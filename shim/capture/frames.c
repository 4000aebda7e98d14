// SPDX-License-Identifier: MIT
#include "shim/capture/frames.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "proto/base/fault.h"
#include "proto/wire/frame.h"
#include "shim/capture/capture_internal.h"
#include "shim/capture/touch.h"
#include "shim/record/protobuf_writer.h"
#include "shim/record/recorder.h"

/* Field numbers of rtl.proto. */
enum {
	FRAME_NUMBER = 1,
	FRAME_DEFINES = 4,
	FRAME_DISPATCHES = 5,
	DISPATCHES_N = 1,
	DISPATCHES_SHAPE = 2,
	DISPATCHES_SEQ = 3,
	DISPATCHES_START_TICK = 4,
	DISPATCHES_DURATION = 5,
	DISPATCHES_LONG_DURATION = 6,
	DISPATCHES_SUBMIT_BASE = 7,
	DISPATCHES_SUBMIT_DELTA = 8,
	DISPATCHES_LONG_SUBMIT = 9,
	DISPATCHES_TID_FROM = 10,
	DISPATCHES_TID = 11,
	DISPATCHES_MARKER_FROM = 12,
	DISPATCHES_MARKER = 13,
	DISPATCHES_UNTIMED_AT = 14,
	DISPATCHES_UNTIMED_WHY = 15,
	DISPATCHES_CALL_FROM = 16,
	DISPATCHES_CALL = 17,
	DISPATCHES_NODE = 18,
	DEFINES_SHAPES = 3,
	SHAPE_ID = 1,
	SHAPE_GPU = 2,
	SHAPE_QUEUE = 3,
	SHAPE_SYMBOL = 4,
	SHAPE_WORKGROUP = 5,
	SHAPE_GRID = 6,
	SHAPE_LDS = 7,
	SHAPE_SCRATCH = 8,
};

/* ---- shapes ---------------------------------------------------------------------------- */

#define SHAPE_FRAME_BYTES_MAX 96u

/* How exactly a shape is stored, and up to which id each level may go. */
enum shape_level {
	LEVEL_EXACT,
	LEVEL_SYMBOL, /* queue and symbol */
	LEVEL_QUEUE,  /* only the queue: one shape per queue, so ids cannot run out */
	LEVELS,
};
static const uint32_t level_ids_max[LEVELS] = {
	PROCESS_SHAPES_MAX - 8192 - RECORDER_QUEUES - 1,
	PROCESS_SHAPES_MAX - RECORDER_QUEUES - 1,
	PROCESS_SHAPES_MAX - 1,
};

int shapes_init(struct shapes *shapes)
{
	void *index, *keys;

	memset(shapes, 0, sizeof(*shapes));
	index = mmap(NULL, SHAPE_INDEX * sizeof(*shapes->index), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (index == MAP_FAILED)
		return -ENOMEM;
	shapes->index = index;
	keys = mmap(NULL, PROCESS_SHAPES_MAX * sizeof(*shapes->keys), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (keys == MAP_FAILED) {
		shapes_done(shapes);
		return -ENOMEM;
	}
	shapes->keys = keys;
	return 0;
}

void shapes_done(struct shapes *shapes)
{
	if (shapes->index)
		munmap(shapes->index, SHAPE_INDEX * sizeof(*shapes->index));
	if (shapes->keys)
		munmap(shapes->keys, PROCESS_SHAPES_MAX * sizeof(*shapes->keys));
	memset(shapes, 0, sizeof(*shapes));
}

static uint32_t key_hash(const struct shape_key *key)
{
	uint64_t word[sizeof(*key) / sizeof(uint64_t)];
	uint64_t hash = 0x9e3779b97f4a7c15ull;

	memcpy(word, key, sizeof(word));
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++) {
		hash = (hash ^ word[i]) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	return (uint32_t)hash;
}

/* The entry of @key, or the empty one where it has to be inserted: the index is never full. */
static uint32_t *index_find(struct shapes *shapes, const struct shape_key *key)
{
	uint32_t at = key_hash(key) % SHAPE_INDEX;

	while (shapes->index[at] &&
		memcmp(&shapes->keys[shapes->index[at]], key, sizeof(*key)) != 0)
		at = (at + 1) % SHAPE_INDEX;
	return &shapes->index[at];
}

static size_t shape_encode(uint32_t id, const struct shape_key *key, uint8_t *at)
{
	uint8_t body[SHAPE_FRAME_BYTES_MAX], *end = body;
	const uint32_t workgroup[3] = {key->workgroup[0], key->workgroup[1], key->workgroup[2]};
	size_t workgroup_bytes = 0, grid_bytes = 0, bytes;
	uint8_t *start = at;

	for (int i = 0; i < 3; i++) {
		workgroup_bytes += pb_varint_bytes(workgroup[i]);
		grid_bytes += pb_varint_bytes(key->grid[i]);
	}
	end = pb_put_uint(end, SHAPE_ID, id);
	end = pb_put_uint(end, SHAPE_GPU, key->gpu);
	end = pb_put_uint(end, SHAPE_QUEUE, key->queue);
	if (key->symbol)
		end = pb_put_uint(end, SHAPE_SYMBOL, key->symbol);
	end = pb_put_packed32(end, SHAPE_WORKGROUP, workgroup, 3, workgroup_bytes);
	end = pb_put_packed32(end, SHAPE_GRID, key->grid, 3, grid_bytes);
	end = pb_put_uint(end, SHAPE_LDS, key->lds);
	end = pb_put_uint(end, SHAPE_SCRATCH, key->scratch);
	bytes = (size_t)(end - body);

	at += FRAME_PREFIX_BYTES;
	at = pb_put_head(at, FRAME_DEFINES, pb_field_bytes(DEFINES_SHAPES, bytes));
	at = pb_put_head(at, DEFINES_SHAPES, bytes);
	memcpy(at, body, bytes);
	at += bytes;
	frame_put_length(start, (uint32_t)(at - start - FRAME_PREFIX_BYTES));
	return (size_t)(at - start);
}

static struct shape_key key_coarsen(const struct shape_key *key, enum shape_level level)
{
	struct shape_key coarse = *key;

	if (level >= LEVEL_SYMBOL) {
		coarse = (struct shape_key){0};
		coarse.gpu = key->gpu;
		coarse.queue = key->queue;
		coarse.symbol = level == LEVEL_SYMBOL ? key->symbol : 0;
	}
	return coarse;
}

static int shape_define(struct shapes *shapes, struct recorder *recorder,
	const struct shape_key *key, enum shape_level level, bool is_inline, uint32_t *entry)
{
	uint8_t frame[FRAME_PREFIX_BYTES + SHAPE_FRAME_BYTES_MAX + 8];
	unsigned how = is_inline ? RECORDER_DEFINE_TRY : RECORDER_DEFINE_WAIT;
	uint32_t id = shapes->used + 1;
	int r;

	if (id > level_ids_max[level])
		return -ENOSPC;
	if (level != LEVEL_EXACT)
		how |= level == LEVEL_QUEUE ? RECORDER_DEFINE_QUEUE : RECORDER_DEFINE_LAST;
	r = recorder_define(recorder, frame, shape_encode(id, key, frame), how);
	if (r < 0)
		return r;
	shapes->keys[id] = *key;
	shapes->used = id;
	*entry = id;
	return 0;
}

int shapes_intern(struct shapes *shapes, struct recorder *recorder, const struct shape_key *key,
	bool is_inline, uint32_t *ret, bool *ret_overflow)
{
	uint64_t words[SHAPE_KEY_WORDS];
	uint32_t *recent;
	int r = -ENOSPC;

	memcpy(words, key, sizeof(words));
	recent = &shapes->recent[shape_place(words)];
	*ret_overflow = false;
	for (enum shape_level level = LEVEL_EXACT; level < LEVELS && r == -ENOSPC; level++) {
		struct shape_key coarse = key_coarsen(key, level);
		uint32_t *entry = index_find(shapes, &coarse);

		r = 0;
		if (!*entry) {
			r = shape_define(shapes, recorder, &coarse, level, is_inline, entry);
			*ret_overflow = r == 0 && level != LEVEL_EXACT;
		}
		if (r == 0)
			*ret = *recent = *entry;
	}
	return r;
}

/* ---- columns --------------------------------------------------------------------------- */

#define DURATION_ESCAPE UINT32_MAX
#define SUBMIT_ESCAPE	INT32_MIN

void columns_clear(struct columns *c, uint64_t newest_call)
{
	c->n = c->n_sure = 0;
	c->n_long_duration = c->n_long_submit = c->n_tid = c->n_marker = c->n_untimed = 0;
	c->n_call = 0;
	c->call_from_bytes = c->call_bytes = c->node_bytes = 0;
	c->newest_call = newest_call;
	c->last_call = 0;
	c->next_node = 0;
	c->shape_bytes = c->seq_bytes = c->long_duration_bytes = 0;
	c->tid_from_bytes = c->tid_bytes = c->marker_from_bytes = c->marker_bytes = 0;
	c->untimed_at_bytes = c->untimed_why_bytes = 0;
	c->submit_base_ns = 0;
	c->last_seq = UINT64_MAX; /* seq[-1] = -1 */
	c->last_marker = 0;
	c->last_tid = 0;
}

static void add_times(struct columns *c, uint32_t i, const struct recorder_slot *slot)
{
	uint64_t duration;

	if (slot->untimed != RTL_TIMED) {
		c->start_tick[i] = 0;
		c->duration[i] = 0;
		c->untimed_at[c->n_untimed] = i;
		c->untimed_why[c->n_untimed++] = slot->untimed;
		c->untimed_at_bytes += pb_varint_bytes(i);
		c->untimed_why_bytes += pb_varint_bytes(slot->untimed);
		return;
	}
	duration = slot->end_tick - slot->start_tick;
	c->start_tick[i] = slot->start_tick;
	if (duration < DURATION_ESCAPE) {
		c->duration[i] = (uint32_t)duration;
		return;
	}
	c->duration[i] = DURATION_ESCAPE;
	c->long_duration[c->n_long_duration++] = duration;
	c->long_duration_bytes += pb_varint_bytes(duration);
}

static void add_submit(struct columns *c, uint32_t i, const struct recorder_slot *slot)
{
	int64_t delta;

	if (i == 0)
		c->submit_base_ns = slot->submit_ns;
	delta = (int64_t)(slot->submit_ns - c->submit_base_ns);
	if (delta > SUBMIT_ESCAPE && delta <= INT32_MAX) {
		c->submit_delta[i] = (int32_t)delta;
		return;
	}
	c->submit_delta[i] = SUBMIT_ESCAPE;
	c->long_submit[c->n_long_submit++] = slot->submit_ns;
}

static void add_runs(struct columns *c, uint32_t i, const struct recorder_slot *slot)
{
	if (i == 0 || slot->tid != c->last_tid) {
		c->tid_from[c->n_tid] = i;
		c->tid[c->n_tid++] = slot->tid;
		c->tid_from_bytes += pb_varint_bytes(i);
		c->tid_bytes += pb_varint_bytes(slot->tid);
		c->last_tid = slot->tid;
	}
	if (slot->marker != c->last_marker) {
		c->marker_from[c->n_marker] = i;
		c->marker[c->n_marker++] = slot->marker;
		c->marker_from_bytes += pb_varint_bytes(i);
		c->marker_bytes += pb_varint_bytes(slot->marker);
		c->last_marker = slot->marker;
	}
}

static void add_call(struct columns *c, uint32_t i, const struct recorder_slot *slot)
{
	uint64_t call;
	uint32_t node;

	/* Usual in a program whose host calls are not recorded. */
	if (!slot->call && !c->last_call)
		return;
	call = recorder_call_id(slot->call, c->newest_call);
	node = call ? slot->node : 0;
	if (call != c->last_call || node != c->next_node) {
		c->call_from[c->n_call] = i;
		c->call[c->n_call] = call;
		c->node[c->n_call++] = node;
		c->call_from_bytes += pb_varint_bytes(i);
		c->call_bytes += pb_varint_bytes(call);
		c->node_bytes += pb_varint_bytes(node);
		c->last_call = call;
	}
	c->next_node = call && node != RECORDER_NODE_UNKNOWN ? node + 1 : node;
}

void columns_add(struct columns *c, const struct recorder_slot *slot, uint32_t shape)
{
	uint32_t i = c->n++;

	c->shape_bytes = (size_t)(pb_put_varint(c->shape + c->shape_bytes, shape) - c->shape);
	c->seq_bytes = (size_t)(pb_put_varint(c->seq + c->seq_bytes,
					pb_zigzag((int64_t)(slot->seq - c->last_seq - 1))) -
				c->seq);
	c->last_seq = slot->seq;
	add_times(c, i, slot);
	add_submit(c, i, slot);
	add_runs(c, i, slot);
	add_call(c, i, slot);
}

static size_t body_bytes(const struct columns *c)
{
	size_t bytes = pb_tag_bytes(DISPATCHES_N) + pb_varint_bytes(c->n);

	bytes += pb_field_bytes(DISPATCHES_SHAPE, c->shape_bytes);
	bytes += pb_field_bytes(DISPATCHES_SEQ, c->seq_bytes);
	bytes += pb_field_bytes(DISPATCHES_START_TICK, c->n * sizeof(uint64_t));
	bytes += pb_field_bytes(DISPATCHES_DURATION, c->n * sizeof(uint32_t));
	bytes += pb_field_bytes(DISPATCHES_LONG_DURATION, c->long_duration_bytes);
	bytes += pb_tag_bytes(DISPATCHES_SUBMIT_BASE) + sizeof(uint64_t);
	bytes += pb_field_bytes(DISPATCHES_SUBMIT_DELTA, c->n * sizeof(int32_t));
	bytes += pb_field_bytes(DISPATCHES_LONG_SUBMIT, c->n_long_submit * sizeof(uint64_t));
	bytes += pb_field_bytes(DISPATCHES_TID_FROM, c->tid_from_bytes);
	bytes += pb_field_bytes(DISPATCHES_TID, c->tid_bytes);
	bytes += pb_field_bytes(DISPATCHES_MARKER_FROM, c->marker_from_bytes);
	bytes += pb_field_bytes(DISPATCHES_MARKER, c->marker_bytes);
	bytes += pb_field_bytes(DISPATCHES_UNTIMED_AT, c->untimed_at_bytes);
	bytes += pb_field_bytes(DISPATCHES_UNTIMED_WHY, c->untimed_why_bytes);
	bytes += pb_field_bytes(DISPATCHES_CALL_FROM, c->call_from_bytes);
	bytes += pb_field_bytes(DISPATCHES_CALL, c->call_bytes);
	bytes += pb_field_bytes(DISPATCHES_NODE, c->node_bytes);
	return bytes;
}

size_t columns_bytes_most(const struct columns *c)
{
	return COLUMNS_FRAME_BYTES_MAX + body_bytes(c);
}

static uint8_t *put_body(const struct columns *c, uint8_t *at)
{
	at = pb_put_uint(at, DISPATCHES_N, c->n);
	at = pb_put_fixed(at, DISPATCHES_SHAPE, c->shape, c->shape_bytes);
	at = pb_put_fixed(at, DISPATCHES_SEQ, c->seq, c->seq_bytes);
	at = pb_put_fixed(at, DISPATCHES_START_TICK, c->start_tick, c->n * sizeof(uint64_t));
	at = pb_put_fixed(at, DISPATCHES_DURATION, c->duration, c->n * sizeof(uint32_t));
	at = pb_put_packed(at, DISPATCHES_LONG_DURATION, c->long_duration, c->n_long_duration,
		c->long_duration_bytes);
	at = pb_put_tag(at, DISPATCHES_SUBMIT_BASE, PB_FIXED64);
	memcpy(at, &c->submit_base_ns, sizeof(uint64_t));
	at += sizeof(uint64_t);
	at = pb_put_fixed(at, DISPATCHES_SUBMIT_DELTA, c->submit_delta, c->n * sizeof(int32_t));
	at = pb_put_fixed(
		at, DISPATCHES_LONG_SUBMIT, c->long_submit, c->n_long_submit * sizeof(uint64_t));
	at = pb_put_packed32(at, DISPATCHES_TID_FROM, c->tid_from, c->n_tid, c->tid_from_bytes);
	at = pb_put_packed32(at, DISPATCHES_TID, c->tid, c->n_tid, c->tid_bytes);
	at = pb_put_packed32(
		at, DISPATCHES_MARKER_FROM, c->marker_from, c->n_marker, c->marker_from_bytes);
	at = pb_put_packed(at, DISPATCHES_MARKER, c->marker, c->n_marker, c->marker_bytes);
	at = pb_put_packed32(
		at, DISPATCHES_UNTIMED_AT, c->untimed_at, c->n_untimed, c->untimed_at_bytes);
	at = pb_put_packed32(
		at, DISPATCHES_UNTIMED_WHY, c->untimed_why, c->n_untimed, c->untimed_why_bytes);
	at = pb_put_packed32(at, DISPATCHES_CALL_FROM, c->call_from, c->n_call, c->call_from_bytes);
	at = pb_put_packed(at, DISPATCHES_CALL, c->call, c->n_call, c->call_bytes);
	return pb_put_packed32(at, DISPATCHES_NODE, c->node, c->n_call, c->node_bytes);
}

size_t columns_encode(const struct columns *c, uint64_t number, uint8_t *at)
{
	uint8_t *end = at + FRAME_PREFIX_BYTES;

	end = pb_put_uint(end, FRAME_NUMBER, number);
	end = pb_put_head(end, FRAME_DISPATCHES, body_bytes(c));
	end = put_body(c, end);
	frame_put_length(at, (uint32_t)(end - at - FRAME_PREFIX_BYTES));
	return (size_t)(end - at);
}

/* ---- frames ----------------------------------------------------------------------------- */

#define MEMORY_BYTES                                                                               \
	(sizeof(struct columns) + FRAME_RECORDS_MAX * sizeof(*((struct batch *)NULL)->picked))

int batch_init(struct batch *batch)
{
	int r = shapes_init(&batch->shapes);
	void *memory;

	if (r < 0)
		return r;
	/* mmap() zeroes pages only when they are used. */
	memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		batch_done(batch);
		return -ENOMEM;
	}
	batch->columns = memory;
	batch->picked = (void *)(batch->columns + 1);
	return 0;
}

void batch_done(struct batch *batch)
{
	shapes_done(&batch->shapes);
	if (batch->columns)
		munmap(batch->columns, MEMORY_BYTES);
	batch->columns = NULL;
	batch->picked = NULL;
}

static __attribute__((noinline)) int shape_find(struct capture *c, const struct capture_queue *q,
	const struct recorder_slot *slot, bool is_inline, uint32_t *ret)
{
	uint64_t words[SHAPE_KEY_WORDS];
	struct shape_key key;
	bool overflow;
	int r;

	shape_words_of(slot, q->index, q->gpu, words);
	memcpy(&key, words, sizeof(key));
	r = shapes_intern(&c->batch.shapes, &c->recorder, &key, is_inline, ret, &overflow);
	if (overflow)
		recorder_count(&c->recorder, RTL_P_shapes_coarse, 1);
	return r;
}

static inline int slot_shape(struct capture *c, const struct capture_queue *q,
	const struct recorder_slot *slot, bool is_inline, uint32_t *ret)
{
	uint64_t words[SHAPE_KEY_WORDS];

	shape_words_of(slot, q->index, q->gpu, words);
	*ret = shapes_glance(&c->batch.shapes, words);
	return *ret ? 0 : shape_find(c, q, slot, is_inline, ret);
}

/*
 * Whether one more record fits. The exact sum of bytes says how many records of the largest kind
 * fit, and is computed again only when these are used up.
 */
static bool columns_have_room(struct columns *columns, size_t room)
{
	size_t bytes;

	if (columns->n < columns->n_sure)
		return true;
	bytes = columns_bytes_most(columns);
	if (bytes < room)
		columns->n_sure =
			columns->n + (uint32_t)((room - bytes) / COLUMNS_RECORD_BYTES_MAX);
	if (columns->n_sure > FRAME_RECORDS_MAX)
		columns->n_sure = FRAME_RECORDS_MAX;
	return columns->n < columns->n_sure;
}

/* Moves records from a queue's list of finished slots to the frame until it is full. */
static void pick_from(struct capture *c, struct capture_queue *q, size_t room, bool is_inline)
{
	struct columns *columns = c->batch.columns;
	uint32_t before = columns->n, picked;
	slot_ref ref = q->done.head;

	while (ref && columns_have_room(columns, room)) {
		const struct recorder_slot *slot = slot_of(c, ref);
		uint32_t shape;

		if (slot_shape(c, q, slot, is_inline, &shape) < 0)
			break;
		c->batch.picked[columns->n] = ref;
		columns_add(columns, slot, shape);
		ref = slot_private_of(c, ref)->next;
	}
	picked = columns->n - before;
	q->done.head = ref;
	if (!ref)
		q->done.tail = 0;
	q->done.count -= picked;
	c->done_total -= picked;
}

static void frame_pick(struct capture *c, size_t room, bool is_inline)
{
	uint32_t used = recorder_queues_used(&c->recorder);

	columns_clear(c->batch.columns, recorder_process_value(&c->recorder, RTL_P_calls_begun));
	for (uint32_t i = 0; i < used; i++)
		pick_from(c, &c->queues[(c->next_queue + i) % used], room, is_inline);
	/* If cells are scarce, no queue may starve the others. */
	if (used)
		c->next_queue = (c->next_queue + 1) % used;
}

/* Step L, second half: labels every slot with the frame that will hold it. */
static void frame_label(struct capture *c, uint64_t number)
{
	uint32_t n = c->batch.columns->n;

	for (uint32_t i = 0; i < n; i++) {
		atomic_store_explicit(
			&slot_of(c, c->batch.picked[i])->frame, number, memory_order_release);
		if (i == n / 2)
			FAULT_POINT("mid_label");
	}
}

/* Step R: no other frame may be opened before the last slot is free. */
static void frame_free(struct capture *c)
{
	uint32_t n = c->batch.columns->n;

	pool_slots_free(c, c->batch.picked, n / 2 + 1);
	FAULT_POINT("mid_free");
	pool_slots_free(c, c->batch.picked + n / 2 + 1, n - n / 2 - 1);
	pool_flush(c);
	atomic_fetch_add_explicit(&c->framed, n, memory_order_relaxed);
}

static bool frame_make(struct capture *c, bool is_inline)
{
	struct recorder_open open;
	size_t length;

	if (!is_inline) /* a dispatch must not make this call */
		touch_cell(
			c, c->done_total < FRAME_RECORDS_MAX ? c->done_total : FRAME_RECORDS_MAX);
	if (recorder_frame_open(&c->recorder, &open) < 0)
		return false;
	frame_pick(c, open.room, is_inline);
	if (!c->batch.columns->n)
		return false;
	length = columns_encode(c->batch.columns, open.number, open.bytes);
	frame_label(c, open.number);
	FAULT_POINT("before_publish");
	recorder_frame_publish(&c->recorder, &open, length, c->batch.columns->n);
	FAULT_POINT("after_publish");
	frame_free(c);
	return true;
}

unsigned batch_run(struct capture *c, bool is_due, bool is_forced, bool is_inline)
{
	unsigned frames = 0;

	while (c->done_total) {
		/*
		 * Slow traffic must not use up the cells with small frames while the collector does
		 * not acknowledge.
		 */
		bool is_scarce = recorder_unacked(&c->recorder) > RECORDER_CELLS / 4;
		bool is_full = c->done_total >= FRAME_RECORDS_MAX;

		if (!is_full && !is_forced && (!is_due || is_scarce))
			break;
		if (!frame_make(c, is_inline))
			break;
		frames++;
	}
	return frames;
}

int batch_put_frame(struct capture *c, const struct batch_frame *frame)
{
	struct recorder_open open;
	size_t length;
	int r;

	harvest_lock_wait(c);
	r = recorder_frame_open(&c->recorder, &open);
	if (r == 0) {
		length = frame->pack(frame->context, open.number, open.bytes, open.room);
		if (length) {
			frame->label(frame->context, open.number);
			FAULT_POINT("event_before_publish");
			recorder_frame_publish(&c->recorder, &open, length, frame->records);
			FAULT_POINT("event_after_publish");
			frame->release(frame->context);
		} else {
			r = -EMSGSIZE;
		}
	}
	harvest_lock_release(c);
	return r;
}
