// SPDX-License-Identifier: MIT
#include "shim/capture/frames.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "shim/capture/capture_internal.h"
#include "proto/base/fault.h"
#include "shim/capture/touch.h"

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
