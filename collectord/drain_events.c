// SPDX-License-Identifier: MIT
#include "collectord/drain_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/ingest_calls.h"
#include "collectord/ingest_copies.h"
#include "collectord/ingest_markers.h"
#include "proto/cleanup.h"

/* A whole entry that no stored frame holds. */
struct event_found {
	uint64_t position;
	const struct recorder_event *event;
};

struct event_drain {
	struct writer *writer;
	struct process *process;
	const struct recorder_region *region;
	uint32_t used; /* its first entries: no others were ever taken */
	uint8_t *entries;
	struct event_found *found;
	uint32_t count;
};

static void event_drain_done(struct event_drain *drain)
{
	free(drain->entries);
	free(drain->found);
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
	const struct event_drain *drain, const struct recorder_reader *reader, uint8_t **ret)
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
static int forget_moving(struct event_drain *drain, const struct recorder_reader *reader)
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

static int find_entries(struct event_drain *drain)
{
	const struct recorder_region *region = drain->region;

	drain->found = calloc(drain->used, sizeof(*drain->found));
	if (!drain->found)
		return -ENOMEM;
	for (uint32_t i = 0; i < drain->used; i++) {
		const struct recorder_event *event = entry_of(region, drain->entries, i);

		if (entry_is_left(region, event, drain->process->frame))
			drain->found[drain->count++] =
				(struct event_found){event->turn - 1 + i, event};
	}
	qsort(drain->found, drain->count, sizeof(*drain->found), compare_positions);
	return 0;
}

/* One kind of record each; -EBADMSG: it makes no sense. */
static int take_entry(struct event_drain *drain, const struct recorder_event *event)
{
	const void *entry = event;
	const struct recorder_call *call = entry;

	if (drain->region->stride == sizeof(struct recorder_marker))
		return ingest_marker_event(drain->writer, drain->process, entry);
	switch (call->kind) {
	case RECORDER_CALL_COPY:
	case RECORDER_CALL_COPY_TIMES:
		return ingest_copy_entry(drain->writer, drain->process, call);
	case RECORDER_CALL_HOST:
	case RECORDER_CALL_COLLECTIVE:
		return ingest_call_entry(drain->writer, drain->process, call);
	default:
		return -EBADMSG;
	}
}

/* What is counted when its tenant may not store it. */
static enum ledger_loss loss_of(const struct event_drain *drain, const struct recorder_event *event)
{
	const struct recorder_call *call = (const void *)event;

	if (drain->region->stride == sizeof(struct recorder_marker))
		return LEDGER_QUOTA_MARKERS;
	return call->kind == RECORDER_CALL_COPY || call->kind == RECORDER_CALL_COPY_TIMES
		       ? LEDGER_QUOTA_COPIES
		       : LEDGER_QUOTA_CALLS;
}

static int drain_ring(
	struct event_drain *drain, const struct recorder_reader *reader, bool is_alive)
{
	int r = read_entries(drain, reader, &drain->entries);

	if (r == 0 && is_alive)
		r = forget_moving(drain, reader);
	if (r == 0)
		r = find_entries(drain);
	for (uint32_t i = 0; r == 0 && i < drain->count; i++) {
		if (!quota_take(&drain->writer->quota, 1, drain->region->stride)) {
			drain->process->ledger.loss[loss_of(drain, drain->found[i].event)]++;
			continue;
		}
		r = take_entry(drain, drain->found[i].event);
		if (r == -EBADMSG) {
			drain->process->ledger.loss[LEDGER_CORRUPT_SLOT]++;
			r = 0;
		}
	}
	return r;
}

int drain_events(struct writer *writer, struct process *process,
	const struct recorder_reader *reader, bool is_alive)
{
	const struct recorder_header *h = &reader->header;
	const struct {
		const struct recorder_region *region;
		uint32_t used;
	} rings[] = {
		{&h->markers, h->markers.count},
		{&h->calls, h->calls.count},
		{&h->spare_calls, (uint32_t)h->spare_calls_used},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(rings) / sizeof(rings[0]); i++) {
		struct event_drain drain = {.writer = writer,
			.process = process,
			.region = rings[i].region,
			.used = rings[i].used};

		if (!drain.used)
			continue;
		r = drain_ring(&drain, reader, is_alive);
		event_drain_done(&drain);
	}
	return r;
}
