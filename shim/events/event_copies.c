// SPDX-License-Identifier: MIT
#include "proto/names/copies.h"
#include "proto/names/counters.h"
#include "proto/base/limits.h"
#include "shim/events/frames.h"

#define RECORDS 320u

/* The columns of a frame under construction. Shim thread. */
static struct copy_columns {
	uint32_t how[RECORDS], tid[RECORDS], direction[RECORDS], engine[RECORDS];
	uint64_t id[RECORDS], call[RECORDS], submit_ns[RECORDS], marker[RECORDS], bytes[RECORDS];
	uint64_t start_ns[RECORDS], duration_ns[RECORDS];
	int32_t source[RECORDS], target[RECORDS];
	Rtl__Copies message;
	Rtl__Frame frame;
} columns;

static void times_put(uint32_t i, const struct recorder_call *entry)
{
	columns.how[i] = RTL_COPY_TIMES;
	columns.id[i] = entry->id;
	columns.start_ns[i] = entry->start_ns;
	columns.duration_ns[i] = entry->end_ns - entry->start_ns;
	columns.call[i] = columns.submit_ns[i] = columns.marker[i] = columns.bytes[i] = 0;
	columns.tid[i] = columns.direction[i] = columns.engine[i] = 0;
	columns.source[i] = columns.target[i] = 0;
}

static void copy_put(uint32_t i, const struct recorder_call *entry)
{
	columns.how[i] = entry->api;
	columns.id[i] = entry->id;
	columns.call[i] = entry->parent;
	columns.tid[i] = entry->tid;
	columns.submit_ns[i] = entry->start_ns;
	columns.marker[i] = entry->marker;
	columns.bytes[i] = entry->arg[RTL_COPY_ARG_BYTES];
	columns.direction[i] = (uint32_t)entry->arg[RTL_COPY_ARG_DIRECTION];
	columns.source[i] = (int32_t)entry->arg[RTL_COPY_ARG_SOURCE];
	columns.target[i] = (int32_t)entry->arg[RTL_COPY_ARG_TARGET];
	columns.engine[i] = (uint32_t)entry->arg[RTL_COPY_ARG_ENGINE];
	columns.start_ns[i] = columns.duration_ns[i] = 0;
}

static Rtl__Frame *copies_build(
	const struct recorder_event *const *events, uint32_t n, struct strings *strings)
{
	Rtl__Copies *message = &columns.message;

	(void)strings; /* copies have no texts */
	for (uint32_t i = 0; i < n; i++) {
		const struct recorder_call *entry = (const void *)events[i];

		if (entry->kind == RECORDER_CALL_COPY_TIMES)
			times_put(i, entry);
		else
			copy_put(i, entry);
	}
	rtl__copies__init(message);
	message->has_n = 1;
	message->n = n;
	message->n_how = message->n_id = message->n_call = message->n_tid = n;
	message->n_submit_ns = message->n_marker = message->n_bytes = n;
	message->n_direction = message->n_source = message->n_target = message->n_engine = n;
	message->n_start_ns = message->n_duration_ns = n;
	message->how = columns.how;
	message->id = columns.id;
	message->call = columns.call;
	message->tid = columns.tid;
	message->submit_ns = columns.submit_ns;
	message->marker = columns.marker;
	message->bytes = columns.bytes;
	message->direction = columns.direction;
	message->source = columns.source;
	message->target = columns.target;
	message->engine = columns.engine;
	message->start_ns = columns.start_ns;
	message->duration_ns = columns.duration_ns;
	rtl__frame__init(&columns.frame);
	columns.frame.body_case = RTL__FRAME__BODY_COPIES;
	columns.frame.copies = message;
	return &columns.frame;
}

const struct event_encoder event_copies = {RECORDS, copies_build};
static_assert(RECORDS <= EVENT_FRAME_RECORDS_MAX, "records of a frame");
/* Each record takes at most 95 bytes of a cell's 32 KiB. */
static_assert(RECORDS * 95 + 64 < RECORDER_CELL_BYTES - sizeof(struct recorder_cell),
	"a frame of copies fits a cell");
