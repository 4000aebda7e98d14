// SPDX-License-Identifier: MIT
#include "cli/trace/sort_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"

#define REORDER_FIRST 64
/* An event that is at most this many events late is inserted at once; the others are sorted. */
#define REORDER_NEAR  256

void reorder_init(struct reorder *reorder, size_t limit)
{
	*reorder = (struct reorder){.limit = limit};
}

void reorder_done(struct reorder *reorder)
{
	free(reorder->held);
	*reorder = (struct reorder){.limit = reorder->limit};
}

/* Of events that start at the same time, the first that was submitted ends an idle time. */
static int compare(const void *a, const void *b)
{
	const struct breakdown_event *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->submit_ns > y->submit_ns) - (x->submit_ns < y->submit_ns);
}

static int flush_first(struct reorder *reorder, size_t count, struct breakdown *breakdown)
{
	int r = 0;

	if (!count)
		return 0; /* for a lane without events nothing was allocated */
	if (reorder->is_unsorted)
		qsort(reorder->held, reorder->count, sizeof(*reorder->held), compare);
	reorder->is_unsorted = false;
	for (size_t i = 0; i < count && !r; i++)
		r = breakdown_add(breakdown, reorder->held + i);
	reorder->floor_ns = reorder->held[count - 1].start_ns;
	reorder->has_floor = true;
	reorder->count -= count;
	memmove(reorder->held, reorder->held + count, reorder->count * sizeof(*reorder->held));
	return r;
}

static int make_room(struct reorder *reorder, struct breakdown *breakdown)
{
	size_t wanted = reorder->capacity ? reorder->capacity * 2 : REORDER_FIRST;

	if (reorder->count < reorder->capacity)
		return 0;
	if (reorder->capacity && wanted > reorder->limit)
		return flush_first(reorder, reorder->count / 2, breakdown);
	reorder->held = xreallocarray(reorder->held, wanted, sizeof(*reorder->held));
	reorder->capacity = wanted;
	return 0;
}

/* Returns the position of the event if that is near the end; count if it is too far. */
static size_t find_place(const struct reorder *reorder, const struct breakdown_event *event)
{
	size_t at = reorder->count;

	while (at && compare(event, reorder->held + at - 1) < 0) {
		if (reorder->count - at == REORDER_NEAR)
			return reorder->count;
		at--;
	}
	return at;
}

static void insert(struct reorder *reorder, const struct breakdown_event *event)
{
	size_t at = reorder->is_unsorted ? reorder->count : find_place(reorder, event);

	if (at == reorder->count && at && compare(event, reorder->held + at - 1) < 0)
		reorder->is_unsorted = true;
	memmove(reorder->held + at + 1, reorder->held + at,
		(reorder->count - at) * sizeof(*reorder->held));
	reorder->held[at] = *event;
	reorder->count++;
}

int reorder_add(
	struct reorder *reorder, const struct breakdown_event *event, struct breakdown *breakdown)
{
	int r = make_room(reorder, breakdown);

	if (r)
		return r;
	/* Also at the same time: which event ends an idle time must not depend on the order. */
	if (reorder->has_floor && !reorder->is_sorted && event->start_ns <= reorder->floor_ns) {
		reorder->is_inexact = true;
		return 0;
	}
	insert(reorder, event);
	return 0;
}

int reorder_flush(struct reorder *reorder, struct breakdown *breakdown)
{
	return flush_first(reorder, reorder->count, breakdown);
}
