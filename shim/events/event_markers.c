// SPDX-License-Identifier: MIT
#include "proto/names/counters.h"
#include "proto/base/limits.h"
#include "shim/events/frames.h"
#include "shim/record/strings.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define RECORDS	   512u
/* Texts that are remembered as seen before; a new text may replace an older one. */
#define SEEN_TEXTS 4096u

/*
 * Used by the shim thread only. A frame too large for a cell is built again: a marker that meets
 * its own text has not seen it twice.
 */
static struct seen_text {
	uint64_t hash;
	uint64_t id; /* of the marker that had the text */
} seen[SEEN_TEXTS];

/* The columns of a frame under construction. Used by the shim thread only. */
static struct marker_columns {
	uint32_t kind[RECORDS], tid[RECORDS], text[RECORDS];
	uint64_t id[RECORDS], parent[RECORDS], time_ns[RECORDS];
	ProtobufCBinaryData inline_text[RECORDS];
	size_t inline_texts;
	Rtl__Markers message;
	Rtl__Frame frame;
} columns;

/*
 * Definitions stay for ever and their log is bounded, so only a text that comes a second time is
 * defined, as long as there is room. A job may print its loss a million times, each time another
 * text.
 */
static uint32_t text_put(const struct recorder_marker *marker, struct strings *strings)
{
	uint64_t hash = XXH3_64bits(marker->text, marker->bytes);
	struct seen_text *last = &seen[hash % SEEN_TEXTS];
	uint32_t id = 0;

	if (last->hash == hash && last->id != marker->id)
		id = strings_intern_if_room(strings, marker->text, marker->bytes);
	if (id)
		return id;
	*last = (struct seen_text){hash, marker->id};
	columns.inline_text[columns.inline_texts++] = (ProtobufCBinaryData){
		.len = marker->bytes, .data = (uint8_t *)(uintptr_t)marker->text};
	return RTL_MARKER_TEXT_INLINE;
}

static void row_put(uint32_t i, const struct recorder_marker *marker, struct strings *strings)
{
	columns.kind[i] = marker->kind;
	columns.id[i] = marker->id;
	columns.parent[i] = marker->parent;
	columns.tid[i] = marker->tid;
	columns.time_ns[i] = marker->time_ns;
	columns.text[i] = marker->kind == RTL_MARKER_END ? 0 : text_put(marker, strings);
}

static Rtl__Frame *markers_build(
	const struct recorder_event *const *events, uint32_t n, struct strings *strings)
{
	Rtl__Markers *message = &columns.message;

	columns.inline_texts = 0;
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
	message->n_inline_text = columns.inline_texts;
	message->inline_text = columns.inline_text;
	rtl__frame__init(&columns.frame);
	columns.frame.body_case = RTL__FRAME__BODY_MARKERS;
	columns.frame.markers = message;
	return &columns.frame;
}

const struct event_encoder event_markers = {RECORDS, markers_build};
static_assert(RECORDS <= EVENT_FRAME_RECORDS_MAX, "records of a frame");
/* A single marker fits even with the longest text: with its columns, and the frame around them. */
#define COLUMN_BYTES 44
#define FRAME_BYTES  64
static_assert(FRAME_BYTES + COLUMN_BYTES + MARKER_BYTES_MAX <
		      RECORDER_CELL_BYTES - sizeof(struct recorder_cell),
	"a marker fits a cell");
