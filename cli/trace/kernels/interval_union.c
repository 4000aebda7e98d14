// SPDX-License-Identifier: MIT
#include "cli/trace/kernels/interval_union.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"

#define INTERVALS_FIRST 256

void intervals_init(struct intervals *set, size_t limit)
{
	*set = (struct intervals){.limit = limit};
}

void intervals_done(struct intervals *set)
{
	free(set->held);
	*set = (struct intervals){.limit = set->limit};
}

static int compare(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sorts the intervals and joins those that touch. */
static void join(struct intervals *set)
{
	size_t fill = 0;

	if (!set->is_unsorted)
		return;
	qsort(set->held, set->count, sizeof(*set->held), compare);
	for (size_t i = 1; i < set->count; i++) {
		struct interval *last = set->held + fill;

		if (set->held[i].start > last->stop)
			set->held[++fill] = set->held[i];
		else if (set->held[i].stop > last->stop)
			last->stop = set->held[i].stop;
	}
	set->count = fill + 1;
	set->is_unsorted = false;
}

static void sum_first(struct intervals *set, size_t count)
{
	if (!count)
		return;
	for (size_t i = 0; i < count; i++)
		set->summed += (uint64_t)set->held[i].stop - (uint64_t)set->held[i].start;
	set->floor = set->held[count - 1].stop;
	set->has_floor = true;
	set->count -= count;
	memmove(set->held, set->held + count, set->count * sizeof(*set->held));
}

static void make_room(struct intervals *set)
{
	size_t wanted = set->capacity ? set->capacity * 2 : INTERVALS_FIRST;

	if (set->count < set->capacity)
		return;
	join(set);
	/* Half of the capacity must be free, or the next sort comes too soon. */
	if (set->count <= set->capacity / 2 && set->capacity)
		return;
	if (set->capacity >= set->limit) {
		sum_first(set, set->count / 2);
		return;
	}
	set->held = xreallocarray(set->held, wanted, sizeof(*set->held));
	set->capacity = wanted;
}

void intervals_add(struct intervals *set, int64_t start, int64_t stop)
{
	struct interval *last;

	if (stop <= start)
		return;
	if (set->has_floor && start < set->floor) {
		set->is_inexact = true;
		return;
	}
	if (set->count && !set->is_unsorted) {
		last = set->held + set->count - 1;
		if (start >= last->start && start <= last->stop) {
			if (stop > last->stop)
				last->stop = stop;
			return;
		}
	}
	make_room(set);
	/* The floor may just have moved beyond it. */
	if (set->has_floor && start < set->floor) {
		set->is_inexact = true;
		return;
	}
	if (set->count && start < set->held[set->count - 1].start)
		set->is_unsorted = true;
	set->held[set->count++] = (struct interval){start, stop};
}

uint64_t intervals_length(struct intervals *set)
{
	uint64_t length = set->summed;

	if (set->count)
		join(set);
	for (size_t i = 0; i < set->count; i++)
		length += (uint64_t)set->held[i].stop - (uint64_t)set->held[i].start;
	return length;
}
