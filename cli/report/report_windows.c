// SPDX-License-Identifier: MIT
/*
 * Chooses intervals of a long run in which every kernel is shown: the longest step, a usual one,
 * the longest wait.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/report/detail.h"
#include "proto/base/cleanup.h"

static struct report_window *add(struct report_detail *detail, int64_t from_ns, int64_t to_ns)
{
	struct report_window *window = detail->windows + detail->window_count++;

	*window = (struct report_window){.from_ns = from_ns, .to_ns = to_ns};
	return window;
}

/* The first of several steps warms up, and waits for other ranks to start. */
static size_t first_step(const struct timeline_lane *lane)
{
	return lane->process->count >= 3 ? 1 : 0;
}

static const struct timeline_lane *find_longest(const struct timeline *t, size_t *ret)
{
	const struct timeline_lane *longest = NULL;

	for (size_t i = 0; i < t->lane_count; i++)
		for (size_t n = first_step(t->lanes + i); n < t->lanes[i].process->count; n++)
			if (!longest || t->lanes[i].rows[n].wall_ns > longest->rows[*ret].wall_ns) {
				longest = t->lanes + i;
				*ret = n;
			}
	return longest;
}

static int compare_walls(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the step of that lane with the median length; the number of steps if memory is short. */
static size_t find_usual(const struct timeline_lane *lane)
{
	size_t first = first_step(lane), count = lane->process->count - first, best = first;
	CLEANUP(free_p) uint64_t *walls = calloc(count, sizeof(*walls));

	if (!walls)
		return lane->process->count;
	for (size_t i = 0; i < count; i++)
		walls[i] = lane->rows[first + i].wall_ns;
	qsort(walls, count, sizeof(*walls), compare_walls);
	while (lane->rows[best].wall_ns != walls[count / 2])
		best++;
	return best;
}

static void add_step(struct report_detail *detail, const struct timeline *t,
	const struct timeline_lane *lane, size_t which, const char *kind)
{
	const struct breakdown_row *row = lane->rows + which;
	struct report_window *window = add(detail, row->start_ns, row->end_ns);
	char name[REPLICA_NAME_BYTES];

	timeline_name_lane(lane, name);
	if (t->steps->source == STEPS_WHOLE)
		snprintf(window->label, sizeof(window->label), "the beginning");
	else
		snprintf(window->label, sizeof(window->label),
			"%s step: %s, step %" PRId64 ", %.3f ms", kind, name,
			lane->process->at[which].number, (double)row->wall_ns / 1e6);
}

static void add_latest(struct report_detail *detail, const struct collectives *c,
	const struct collectives_report *stragglers)
{
	const struct collectives_operation *o = c->operations + stragglers->latest[0];
	struct report_window *window;
	int64_t before_ns, from_ns;
	char name[48];

	/* Includes the cause of the delay, as far as it is that long ago. */
	if (__builtin_mul_overflow(o->late_ns, 3, &before_ns) ||
		__builtin_sub_overflow(o->start_first, before_ns, &from_ns))
		from_ns = o->start_first;
	window = add(detail, from_ns, o->stop_last);
	collectives_name_lane(c, c->launches[o->last].lane, name, sizeof(name));
	snprintf(window->label, sizeof(window->label), "latest arrival: %s, %.3f ms late", name,
		(double)o->late_ns / 1e6);
}

void report_windows_choose(const struct timeline *timeline, const struct collectives *collectives,
	const struct collectives_report *stragglers, struct report_detail *detail)
{
	size_t which = 0, usual;
	const struct timeline_lane *longest = find_longest(timeline, &which);

	/* If there is only one step and it is too large, its beginning is shown. */
	if (longest && longest->rows[which].wall_ns &&
		(timeline->steps->source != STEPS_WHOLE || !detail->window_count)) {
		add_step(detail, timeline, longest, which, "longest");
		usual = find_usual(longest);
		/* If all steps are alike, one is enough. */
		if (usual < longest->process->count &&
			longest->rows[usual].wall_ns < longest->rows[which].wall_ns)
			add_step(detail, timeline, longest, usual, "median");
	}
	/*
	 * Times of collectives are corrected if there are several nodes; those of the time line are
	 * not.
	 */
	if (stragglers->latest_count && collectives->nodes.count < 2)
		add_latest(detail, collectives, stragglers);
}
