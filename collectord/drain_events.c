// SPDX-License-Identifier: MIT
#include "collectord/drain_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/ingest_calls.h"
#include "collectord/ingest_copies.h"
#include "collectord/ingest_markers.h"
#include "proto/cleanup.h"

/* Of markers, of calls, and the spare one of those. */
#define RINGS 3u

/* A whole entry that no stored frame holds. */
struct event_found {
	uint64_t position;
	const struct recorder_event *event;
};

static void ring_done(struct drain_events *drain)
{
	free(drain->entries);
	free(drain->found);
	drain->entries = NULL;
	drain->found = NULL;
	drain->count = drain->at = 0;
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

/* Entry i is whole when its turn is one past a multiple of the ring's size. */
static bool entry_is_left(const struct recorder_region *region, const struct recorder_event *event,
	uint64_t last_frame)
{
	return event->turn % region->count == 1 % region->count && event->turn <= INT64_MAX &&
	       !(event->frame > 0 && event->frame <= last_frame);
}

static int read_entries(
	const struct drain_events *drain, const struct recorder_reader *reader, uint8_t **ret)
{
	*ret = calloc(drain->used, drain->region->stride);
	if (!*ret)
		return -ENOMEM;
	return recorder_reader_get(reader, drain->region, 0, drain->used, *ret);
}

/*
 * What a living process changes under our eyes does not count: it was in two equal readings, or
 * it is on its way.
 */
static int forget_moving(struct drain_events *drain, const struct recorder_reader *reader)
{
	CLEANUP(free_p) uint8_t *again = NULL;
	int r = read_entries(drain, reader, &again);

	for (uint32_t i = 0; r == 0 && i < drain->used; i++) {
		size_t at = (size_t)i * drain->region->stride;

		if (memcmp(drain->entries + at, again + at, drain->region->stride))
			memset(drain->entries + at, 0, drain->region->stride);
	}
	return r;
}

static int compare_positions(const void *a, const void *b)
{
	const struct event_found *one = a, *other = b;

	return (one->position > other->position) - (one->position < other->position);
}

static int find_entries(struct drain_events *drain, uint64_t last_frame)
{
	const struct recorder_region *region = drain->region;

	drain->found = calloc(drain->used, sizeof(*drain->found));
	if (!drain->found)
		return -ENOMEM;
	for (uint32_t i = 0; i < drain->used; i++) {
		const struct recorder_event *event = entry_of(region, drain->entries, i);

		if (entry_is_left(region, event, last_frame))
			drain->found[drain->count++] =
				(struct event_found){event->turn - 1 + i, event};
	}
	qsort(drain->found, drain->count, sizeof(*drain->found), compare_positions);
	return 0;
}

/* One kind of record each; -EBADMSG: it makes no sense. */
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

/* What is counted when its tenant may not store it. */
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

static int begin_ring(struct drain_events *drain, const struct process *process,
	const struct recorder_reader *reader, bool is_alive)
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
	int r;

	drain->region = rings[drain->ring].region;
	/* Most programs have no ranges, and those that do seldom fill the ring. */
	drain->used = (uint32_t)recorder_reader_written(
		reader, drain->region, rings[drain->ring].used);
	if (!drain->used)
		return 0;
	r = read_entries(drain, reader, &drain->entries);
	if (r == 0 && is_alive)
		r = forget_moving(drain, reader);
	return r == 0 ? find_entries(drain, process->frame) : r;
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
	const struct recorder_reader *reader, bool is_alive)
{
	int r = 0;

	if (drain->ring == RINGS)
		return 0;
	if (!drain->found)
		r = begin_ring(drain, process, reader, is_alive);
	else if (drain->at < drain->count)
		r = take_or_count(drain, writer, process, drain->found[drain->at++].event);
	if (r < 0)
		return r;
	if (drain->at == drain->count) {
		ring_done(drain);
		drain->ring++;
	}
	return 1;
}
