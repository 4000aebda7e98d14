// SPDX-License-Identifier: MIT
#include "tests/shim/capture/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/recorder/checksum.h"
#include "proto/wire/frame.h"
#include "proto/base/limits.h"

__attribute__((format(printf, 2, 3))) static void fail(
	struct reader *reader, const char *format, ...)
{
	va_list list;

	if (reader->has_failed)
		return;
	reader->has_failed = true;
	va_start(list, format);
	vsnprintf(reader->why, sizeof(reader->why), format, list);
	va_end(list);
}

struct reader *reader_new(void)
{
	struct reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		abort();
	msg_arena_init(&reader->arena, ARENA_BYTES_MAX);
	return reader;
}

struct reader *reader_free(struct reader *reader)
{
	for (uint32_t i = 0; i < RECORDER_QUEUES; i++)
		free(reader->queue[i].rows);
	free(reader->shapes);
	msg_arena_done(&reader->arena);
	free(reader);
	return NULL;
}

static void *grown(void *memory, size_t *capacity, size_t needed, size_t element)
{
	size_t wanted = *capacity ? *capacity : 1024;

	if (needed <= *capacity)
		return memory;
	while (wanted < needed)
		wanted *= 2;
	memory = realloc(memory, wanted * element);
	if (!memory)
		abort();
	memset((char *)memory + *capacity * element, 0, (wanted - *capacity) * element);
	*capacity = wanted;
	return memory;
}

static struct reader_row *row_take(struct reader *reader, uint32_t queue, uint64_t seq)
{
	struct reader_queue *q;

	if (queue >= RECORDER_QUEUES || seq > 1u << 26) {
		fail(reader, "queue %u seq %llu", queue, (unsigned long long)seq);
		return NULL;
	}
	q = &reader->queue[queue];
	q->rows = grown(q->rows, &q->capacity, seq + 1, sizeof(*q->rows));
	if (q->rows[seq].state != ROW_NONE) {
		fail(reader, "queue %u seq %llu came twice", queue, (unsigned long long)seq);
		return NULL;
	}
	return &q->rows[seq];
}

static void define_shape(struct reader *reader, const Rtl__ShapeDef *def)
{
	struct reader_shape *shape;

	reader->shapes = grown(
		reader->shapes, &reader->shape_capacity, def->id + 1ul, sizeof(*reader->shapes));
	shape = &reader->shapes[def->id];
	shape->gpu = def->gpu;
	shape->queue = def->queue;
	shape->symbol = def->symbol;
	shape->lds = def->lds;
	shape->scratch = def->scratch;
	for (int i = 0; i < 3; i++) {
		shape->workgroup[i] = def->workgroup[i];
		shape->grid[i] = def->grid[i];
	}
	if (def->id >= reader->shapes_known)
		reader->shapes_known = def->id + 1ul;
}

static void take_defines(struct reader *reader, const uint8_t *at, size_t bytes)
{
	while (bytes) {
		uint32_t length = frame_get_length(at);
		Rtl__Frame *frame;

		if (length + FRAME_PREFIX_BYTES > bytes ||
			msg_unpack(&reader->arena, at + FRAME_PREFIX_BYTES, length, &frame) < 0 ||
			frame->body_case != RTL__FRAME__BODY_DEFINES) {
			fail(reader, "bad definition");
			return;
		}
		for (size_t i = 0; i < frame->defines->n_shapes; i++)
			define_shape(reader, frame->defines->shapes[i]);
		at += length + FRAME_PREFIX_BYTES;
		bytes -= length + FRAME_PREFIX_BYTES;
		reader->define_offset += length + FRAME_PREFIX_BYTES;
	}
}

/* Position of the decoder of the columns. */
struct cursor {
	uint64_t seq;
	size_t long_duration, long_submit, tid, marker, untimed, call;
	uint64_t call_now;
	uint32_t node;
};

static void take_row(
	struct reader *reader, const Rtl__Dispatches *d, uint32_t i, struct cursor *cursor)
{
	const struct reader_shape *shape = reader_shape(reader, d->shape[i]);
	struct reader_row *row;
	uint64_t duration = d->duration_ticks[i];

	cursor->seq += (uint64_t)d->seq[i] + 1;
	if (cursor->tid + 1 < d->n_tid && d->tid_from[cursor->tid + 1] == i)
		cursor->tid++;
	if (cursor->marker < d->n_marker && d->marker_from[cursor->marker] == i)
		cursor->marker++;
	if (cursor->call < d->n_call && d->call_from[cursor->call] == i) {
		cursor->call_now = d->call[cursor->call];
		cursor->node = d->node[cursor->call++];
	}
	if (duration == UINT32_MAX)
		duration = d->long_duration[cursor->long_duration++];
	if (!shape) {
		fail(reader, "shape %u was never defined", d->shape[i]);
		return;
	}
	row = row_take(reader, shape->queue, cursor->seq);
	if (!row)
		return;
	row->state = ROW_STORED;
	row->shape = d->shape[i];
	row->start = d->start_tick[i];
	row->end = d->start_tick[i] + duration;
	row->submit_ns = d->submit_base_ns + (uint64_t)(int64_t)d->submit_delta_ns[i];
	if (d->submit_delta_ns[i] == INT32_MIN)
		row->submit_ns = d->long_submit_ns[cursor->long_submit++];
	row->tid = d->tid[cursor->tid];
	row->marker = cursor->marker ? d->marker[cursor->marker - 1] : 0;
	row->call = cursor->call_now;
	row->node = cursor->node;
	cursor->node += row->call && row->node != RECORDER_NODE_UNKNOWN;
	row->frame = reader->hw + 1;
	if (cursor->untimed < d->n_untimed_at && d->untimed_at[cursor->untimed] == i)
		row->untimed = (uint8_t)d->untimed_why[cursor->untimed++];
	reader->queue[shape->queue].stored++;
	reader->queue[shape->queue].untimed += row->untimed != RTL_TIMED;
	reader->records++;
}

static void take_frame(struct reader *reader, const uint8_t *at, size_t bytes)
{
	struct cursor cursor = {.seq = UINT64_MAX};
	Rtl__Frame *frame;
	int r;

	if (frame_get_length(at) + FRAME_PREFIX_BYTES != bytes) {
		fail(reader, "frame %llu: length", (unsigned long long)reader->hw + 1);
		return;
	}
	r = msg_unpack(&reader->arena, at + FRAME_PREFIX_BYTES, bytes - FRAME_PREFIX_BYTES, &frame);
	if (r < 0 || !frame->has_number || frame->number != reader->hw + 1) {
		fail(reader, "frame %llu: %d", (unsigned long long)reader->hw + 1, r);
		return;
	}
	if (frame->body_case == RTL__FRAME__BODY_DISPATCHES)
		for (uint32_t i = 0; i < frame->dispatches->n; i++)
			take_row(reader, frame->dispatches, i, &cursor);
	reader->hw++;
	reader->frames++;
}

unsigned reader_poll(struct reader *reader, struct recorder *recorder)
{
	const uint8_t *frame;
	unsigned frames = 0;
	uint64_t number;
	size_t bytes;

	while (!reader->has_failed && recorder_next_unsent(recorder, &number, &frame, &bytes)) {
		const uint8_t *defines =
			recorder_defines_from(recorder, reader->define_offset, &bytes);

		take_defines(reader, defines, bytes);
		(void)recorder_next_unsent(recorder, &number, &frame, &bytes);
		take_frame(reader, frame, bytes);
		recorder_sent(recorder, number);
		if (recorder_acked(recorder, number) < 0)
			fail(reader, "ack of %llu refused", (unsigned long long)number);
		frames++;
	}
	return frames;
}

static void drain_slot(struct reader *reader, const struct recorder_slot *slot)
{
	struct reader_row *row;

	if (slot->state == SLOT_FREE || (slot->frame && slot->frame <= reader->hw))
		return;
	row = row_take(reader, slot->queue, slot->seq);
	if (!row)
		return;
	row->symbol = slot->symbol;
	row->submit_ns = slot->submit_ns;
	if (slot->state == SLOT_DONE) {
		row->state = ROW_STORED;
		row->start = slot->start_tick;
		row->end = slot->end_tick;
		row->untimed = slot->untimed;
		row->call = slot->call;
		row->node = slot->node;
		reader->queue[slot->queue].stored++;
		return;
	}
	row->kernel_object = slot->symbol ? 0 : slot->start_tick;
	if (slot->state == SLOT_ENDED) {
		bool is_timed =
			slot->symbol && slot->end_tick && !(slot->end_tick & RECORDER_NO_TICK);

		row->state = ROW_STORED;
		row->start = is_timed ? slot->start_tick : 0;
		row->end = is_timed ? slot->end_tick : 0;
		row->untimed = is_timed ? RTL_TIMED : RTL_UNTIMED_TIMESTAMP_INVALID;
		row->call = slot->call;
		row->node = slot->node;
		reader->queue[slot->queue].stored++;
		return;
	}
	row->state = ROW_OUTSTANDING;
	reader->queue[slot->queue].outstanding++;
}

void reader_drain(struct reader *reader, int fd)
{
	size_t bytes = (size_t)lseek(fd, 0, SEEK_END);
	uint8_t *base = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	const struct recorder_header *header = (const struct recorder_header *)base;

	if (base == MAP_FAILED || header->magic != RECORDER_MAGIC || !header->ready) {
		fail(reader, "not a recorder");
		return;
	}
	take_defines(reader, base + header->defines.offset + reader->define_offset,
		header->define_bytes - reader->define_offset);
	for (;;) {
		uint64_t next = reader->hw + 1;
		const struct recorder_cell *cell =
			(const struct recorder_cell *)(base + header->cells.offset +
						       next % header->cells.count *
							       header->cells.stride);

		if (reader->has_failed || cell->number != next ||
			checksum32(cell + 1, cell->length, next) != cell->checksum)
			break;
		take_frame(reader, (const uint8_t *)(cell + 1), cell->length);
	}
	for (uint64_t i = 0; i < header->slots_used; i++)
		drain_slot(reader, (const struct recorder_slot *)(base + header->slots.offset) + i);
	munmap(base, bytes);
}

const struct reader_row *reader_row(const struct reader *reader, uint32_t queue, uint64_t seq)
{
	const struct reader_row *rows = reader->queue[queue].rows;

	if (seq >= reader->queue[queue].capacity || rows[seq].state == ROW_NONE)
		return NULL;
	return &rows[seq];
}

const struct reader_shape *reader_shape(const struct reader *reader, uint32_t id)
{
	return id && id < reader->shapes_known ? &reader->shapes[id] : NULL;
}
