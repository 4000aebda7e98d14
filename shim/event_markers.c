// SPDX-License-Identifier: MIT
#include "proto/counters.h"
#include "proto/limits.h"
#include "shim/event_frames.h"
#include "shim/strings.h"

#define RECORDS 512u

/* The columns of a frame under construction. Shim thread. */
static struct marker_columns {
	uint32_t kind[RECORDS], tid[RECORDS], text[RECORDS];
	uint64_t id[RECORDS], parent[RECORDS], time_ns[RECORDS];
	Rtl__Markers message;
	Rtl__Frame frame;
} columns;

static void row_put(uint32_t i, const struct recorder_marker *marker, struct strings *strings)
{
	columns.kind[i] = marker->kind;
	columns.id[i] = marker->id;
	columns.parent[i] = marker->parent;
	columns.tid[i] = marker->tid;
	columns.time_ns[i] = marker->time_ns;
	columns.text[i] = marker->kind == RTL_MARKER_END
				  ? 0
				  : strings_intern(strings, marker->text, marker->bytes);
}

static Rtl__Frame *markers_build(
	const struct recorder_event *const *events, uint32_t n, struct strings *strings)
{
	Rtl__Markers *message = &columns.message;

	for (uint32_t i = 0; i < n; i++)
		row_put(i, (const struct recorder_marker *)(const void *)events[i], strings);
	rtl__markers__init(message);
	message->has_n = 1;
	message->n = n;
	message->n_kind = message->n_id = message->n_parent = n;
	message->n_tid = message->n_time_ns = message->n_text = n;
	message->kind = columns.kind;
	message->id = columns.id;
	message->parent = columns.parent;
	message->tid = columns.tid;
	message->time_ns = columns.time_ns;
	message->text = columns.text;
	rtl__frame__init(&columns.frame);
	columns.frame.body_case = RTL__FRAME__BODY_MARKERS;
	columns.frame.markers = message;
	return &columns.frame;
}

const struct event_encoder event_markers = {RECORDS, markers_build};
static_assert(RECORDS <= EVENT_FRAME_RECORDS_MAX, "records of a frame");
/* With every number in its longest form: 21 KiB of a cell's 32. */
static_assert(RECORDS * 44 + 64 < RECORDER_CELL_BYTES - sizeof(struct recorder_cell),
	"a frame of markers fits a cell");
