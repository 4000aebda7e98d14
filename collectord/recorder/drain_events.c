// SPDX-License-Identifier: MIT
#include "collectord/recorder/drain_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/ingest/calls.h"
#include "collectord/ingest/copies.h"
#include "collectord/ingest/markers.h"
#include "proto/base/cleanup.h"

/* The rings are: markers, calls, spare calls. */
#define RINGS 3u

/* A whole entry that is in no stored frame. */
struct event_found {
	uint64_t position;
	const struct recorder_event *event;
};

/* The entries of one chunk that are not taken yet. */
struct event_run {
	uint32_t at, end;
};

static void ring_done(struct drain_events *drain)
{
	unsigned ring = drain->ring;

	free(drain->entries);
	free(drain->found);
	free(drain->runs);
	*drain = (struct drain_events){.ring = ring};
}

void drain_events_done(struct drain_events *drain)
{
	ring_done(drain);
}

static const struct recorder_event *entry_of(
	const struct recorder_region *region, const uint8_t *entries, uint32_t i)
{
	return (const struct recorder_event *)(const void *)(entries + (size_t)i * region->stride);
}

/* Entry i is whole if its turn is one past a multiple of the ring's size. */
static bool entry_is_left(const struct recorder_region *region, const struct recorder_event *event,
	uint64_t last_frame)
{
	return event->turn % region->count == 1 % region->count && event->turn <= INT64_MAX &&
	       !(event->frame > 0 && event->frame <= last_frame);
}

static uint32_t chunk_from(const struct drain_events *drain, uint32_t first)
{
	uint32_t left = drain->used - first;

	return left < DRAIN_EVENTS_CHUNK ? left : DRAIN_EVENTS_CHUNK;
}

static int read_chunk(struct drain_events *drain, const struct recorder_reader *reader)
{
	uint32_t first = drain->read, count = chunk_from(drain, first);

	drain->read += count;
	return recorder_reader_get(reader, drain->region, first, count,
		drain->entries + (size_t)first * drain->region->stride);
}

/*
 * Clears entries that a living process changed between two readings. An entry that matters is equal
 * in both readings; any other is still being written.
 */
static int forget_moving(const struct drain_events *drain, const struct recorder_reader *reader)
{
	size_t stride = drain->region->stride;
	uint32_t first = drain->looked, count = chunk_from(drain, first);
	CLEANUP(free_p) uint8_t *again = calloc(count, stride);
	uint8_t *entries = drain->entries + first * stride;
	int r = again ? recorder_reader_get(reader, drain->region, first, count, again) : -ENOMEM;

	for (size_t at = 0; r == 0 && at < count * stride; at += stride)
		if (memcmp(entries + at, again + at, stride))
			memset(entries + at, 0, stride);
	return r;
}

static int compare_positions(const void *a, const void *b)
{
	const struct event_found *one = a, *other = b;

	return (one->position > other->position) - (one->position < other->position);
}

/* The entries of a ring that the shim wrote correctly are already sorted, except at one place. */
static void look_at_chunk(struct drain_events *drain, uint64_t last_frame)
{
	const struct recorder_region *region = drain->region;
	uint32_t end = drain->looked + chunk_from(drain, drain->looked);
	struct event_run run = {.at = drain->count};

	for (uint32_t i = drain->looked; i < end; i++) {
		const struct recorder_event *event = entry_of(region, drain->entries, i);

		if (entry_is_left(region, event, last_frame))
			drain->found[drain->count++] =
				(struct event_found){event->turn - 1 + i, event};
	}
	drain->looked = end;
	run.end = drain->count;
	if (run.at == run.end)
		return;
	qsort(drain->found + run.at, run.end - run.at, sizeof(*drain->found), compare_positions);
	drain->runs[drain->run_count++] = run;
}

/* Returns the oldest entry that is left, or NULL. */
static const struct recorder_event *next_event(struct drain_events *drain)
{
	struct event_run *oldest = NULL;

	for (uint32_t i = 0; i < drain->run_count; i++) {
		struct event_run *run = &drain->runs[i];

		if (run->at < run->end && (!oldest || drain->found[run->at].position <
							      drain->found[oldest->at].position))
			oldest = run;
	}
	return oldest ? drain->found[oldest->at++].event : NULL;
}

/* Stores one entry by its kind. -EBADMSG: the entry is invalid. */
static int take_entry(const struct drain_events *drain, struct writer *writer,
	struct process *process, const struct recorder_event *event)
{
	const void *entry = event;
	const struct recorder_call *call = entry;

	if (drain->region->stride == sizeof(struct recorder_marker))
		return ingest_marker_event(writer, process, entry);
	switch (call->kind) {
	case RECORDER_CALL_COPY:
	case RECORDER_CALL_COPY_TIMES:
		return ingest_copy_entry(writer, process, call);
	case RECORDER_CALL_HOST:
	case RECORDER_CALL_COLLECTIVE:
		return ingest_call_entry(writer, process, call);
	default:
		return -EBADMSG;
	}
}

/* The loss that is counted when the tenant's quota does not admit the entry. */
static enum ledger_loss loss_of(
	const struct drain_events *drain, const struct recorder_event *event)
{
	const struct recorder_call *call = (const void *)event;

	if (drain->region->stride == sizeof(struct recorder_marker))
		return LEDGER_QUOTA_MARKERS;
	return call->kind == RECORDER_CALL_COPY || call->kind == RECORDER_CALL_COPY_TIMES
		       ? LEDGER_QUOTA_COPIES
		       : LEDGER_QUOTA_CALLS;
}

static int begin_ring(struct drain_events *drain, const struct recorder_reader *reader)
{
	const struct recorder_header *h = &reader->header;
	const struct {
		const struct recorder_region *region;
		uint32_t used;
	} rings[RINGS] = {
		{&h->markers, h->markers.count},
		{&h->calls, h->calls.count},
		{&h->spare_calls, (uint32_t)h->spare_calls_used},
	};
	uint32_t used;

	drain->region = rings[drain->ring].region;
	/* Most programs have no ranges, and programs that have some seldom fill the ring. */
	used = (uint32_t)recorder_reader_written(reader, drain->region, rings[drain->ring].used);
	if (!used)
		return 0;
	drain->entries = calloc(used, drain->region->stride);
	drain->found = calloc(used, sizeof(*drain->found));
	drain->runs = calloc(used / DRAIN_EVENTS_CHUNK + 1, sizeof(*drain->runs));
	if (!drain->entries || !drain->found || !drain->runs)
		return -ENOMEM;
	drain->used = used;
	return 0;
}

/* Reads the next chunk. That of a dead process is examined at once; that of a living one is read
 * twice first. */
static int go_on_reading(struct drain_events *drain, const struct process *process,
	const struct recorder_reader *reader, bool is_alive)
{
	int r = 0;

	if (drain->read < drain->used) {
		r = read_chunk(drain, reader);
		if (is_alive)
			return r;
	} else {
		r = forget_moving(drain, reader);
	}
	if (r == 0)
		look_at_chunk(drain, process->frame);
	return r;
}

static int take_or_count(struct drain_events *drain, struct writer *writer, struct process *process,
	const struct recorder_event *event)
{
	int r;

	if (!quota_take(&writer->quota, 1, drain->region->stride)) {
		process->ledger.loss[loss_of(drain, event)]++;
		return 0;
	}
	r = take_entry(drain, writer, process, event);
	if (r != -EBADMSG)
		return r;
	process->ledger.loss[LEDGER_CORRUPT_SLOT]++;
	return 0;
}

int drain_events_take(struct drain_events *drain, struct writer *writer, struct process *process,
	const struct recorder_reader *reader, bool is_alive, uint64_t *ret_records)
{
	const struct recorder_event *event;
	int r = 0;

	*ret_records = 1;
	if (drain->ring == RINGS)
		return 0;
	if (!drain->region)
		r = begin_ring(drain, reader);
	if (r < 0)
		return r;
	if (drain->looked < drain->used) {
		*ret_records = DRAIN_EVENTS_CHUNK / DRAIN_EVENTS_LOOKS_PER_RECORD;
		r = go_on_reading(drain, process, reader, is_alive);
		return r < 0 ? r : 1;
	}
	event = next_event(drain);
	if (event)
		r = take_or_count(drain, writer, process, event);
	if (r < 0)
		return r;
	if (!event) {
		ring_done(drain);
		drain->ring++;
	}
	return 1;
}
