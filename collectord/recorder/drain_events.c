// SPDX-License-Identifier: MIT
#include "collectord/recorder/drain_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/ingest/calls.h"
#include "collectord/ingest/copies.h"
#include "collectord/ingest/markers.h"
#include "collectord/db/watched_vfs.h"
#include "proto/base/cleanup.h"

/* Entries of which a living process's ring is read a second time at once. */
#define CHUNK 1024u

/* A whole entry that is in no stored frame. */
struct event_found {
	uint64_t position;
	const struct recorder_event *event;
};

/* A copy of one ring, of which only the first entries were ever written. */
struct ring {
	const struct recorder_region *region;
	uint32_t used;
	uint8_t *entries;
};

static void ring_done(struct ring *ring)
{
	free(ring->entries);
}

/* Entry i is whole if its turn is one past a multiple of the ring's size. */
static bool entry_is_left(const struct recorder_region *region, const struct recorder_event *event,
	uint64_t last_frame)
{
	return event->turn % region->count == 1 % region->count && event->turn <= INT64_MAX &&
	       !(event->frame > 0 && event->frame <= last_frame);
}

/*
 * Clears entries that a living process changed between two readings. An entry that matters is equal
 * in both readings; any other is still being written.
 */
static int forget_moving(const struct ring *ring, const struct recorder_reader *reader)
{
	size_t stride = ring->region->stride;
	CLEANUP(free_p) uint8_t *again = calloc(CHUNK, stride);
	int r = again ? 0 : -ENOMEM;

	for (uint32_t first = 0; r == 0 && first < ring->used; first += CHUNK) {
		uint32_t count = ring->used - first < CHUNK ? ring->used - first : CHUNK;
		uint8_t *entries = ring->entries + first * stride;

		r = recorder_reader_get(reader, ring->region, first, count, again);
		for (size_t at = 0; r == 0 && at < count * stride; at += stride)
			if (memcmp(entries + at, again + at, stride))
				memset(entries + at, 0, stride);
	}
	return r;
}

static int compare_positions(const void *a, const void *b)
{
	const struct event_found *one = a, *other = b;

	return (one->position > other->position) - (one->position < other->position);
}

/* Lists the entries that are left, the oldest first. Returns their number. */
static uint32_t find_left(const struct ring *ring, uint64_t last_frame, struct event_found *ret)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ring->used; i++) {
		const void *entry = ring->entries + (size_t)i * ring->region->stride;
		const struct recorder_event *event = entry;

		if (entry_is_left(ring->region, event, last_frame))
			ret[count++] = (struct event_found){event->turn - 1 + i, event};
	}
	qsort(ret, count, sizeof(*ret), compare_positions);
	return count;
}

/* Stores one entry by its kind. -EBADMSG: the entry is invalid. */
static int take_entry(const struct ring *ring, struct writer *writer, struct process *process,
	const struct recorder_event *event)
{
	const void *entry = event;
	const struct recorder_call *call = entry;

	if (ring->region->stride == sizeof(struct recorder_marker))
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
static enum ledger_loss loss_of(const struct ring *ring, const struct recorder_event *event)
{
	const struct recorder_call *call = (const void *)event;

	if (ring->region->stride == sizeof(struct recorder_marker))
		return LEDGER_QUOTA_MARKERS;
	return call->kind == RECORDER_CALL_COPY || call->kind == RECORDER_CALL_COPY_TIMES
		       ? LEDGER_QUOTA_COPIES
		       : LEDGER_QUOTA_CALLS;
}

static int take_or_count(const struct ring *ring, struct writer *writer, struct process *process,
	const struct recorder_event *event)
{
	int r;

	if (!quota_take(&writer->quota, 1, ring->region->stride)) {
		process->ledger.loss[loss_of(ring, event)]++;
		return 0;
	}
	r = take_entry(ring, writer, process, event);
	if (r != -EBADMSG)
		return r;
	process->ledger.loss[LEDGER_CORRUPT_SLOT]++;
	return 0;
}

static int take_ring(struct writer *writer, struct process *process,
	const struct recorder_reader *reader, const struct recorder_region *region, uint32_t used,
	bool is_alive)
{
	CLEANUP(ring_done) struct ring ring = {.region = region};
	CLEANUP(free_p) struct event_found *found = NULL;
	uint32_t count = 0;
	int r;

	/* Most programs have no ranges, and programs that have some seldom fill the ring. */
	ring.used = (uint32_t)recorder_reader_written(reader, region, used);
	if (!ring.used)
		return 0;
	ring.entries = calloc(ring.used, region->stride);
	found = calloc(ring.used, sizeof(*found));
	if (!ring.entries || !found)
		return -ENOMEM;
	r = recorder_reader_get(reader, region, 0, ring.used, ring.entries);
	if (r == 0 && is_alive)
		r = forget_moving(&ring, reader);
	if (r == 0)
		count = find_left(&ring, process->frame, found);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		pace_beat();
		r = take_or_count(&ring, writer, process, found[i].event);
	}
	return r;
}

int drain_events_take(struct writer *writer, struct process *process,
	const struct recorder_reader *reader, bool is_alive)
{
	const struct recorder_header *h = &reader->header;
	int r = take_ring(writer, process, reader, &h->markers, h->markers.count, is_alive);

	if (r == 0)
		r = take_ring(writer, process, reader, &h->calls, h->calls.count, is_alive);
	if (r == 0)
		r = take_ring(writer, process, reader, &h->spare_calls,
			(uint32_t)h->spare_calls_used, is_alive);
	return r;
}
