// SPDX-License-Identifier: MIT
/* Joins the windows between which not all ranks of a group meet. Pure computation on one thread. */
#include "cli/collectives/waiting.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/base/array.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

/* The operations of a group by the window in which the last rank comes, and the lanes that those
 * of the windows so far have connected. */
struct work {
	const struct waiting *waiting;
	const struct waiting_group *group;
	size_t *first;	      /* of each window: its first operation in `operations` */
	uint32_t *operations; /* indexes, sorted by window */
	uint32_t *parent;     /* of each lane: one that it is connected with */
	size_t parts;	      /* sets of lanes that are not connected */
};

static void work_done(struct work *work)
{
	free(work->first);
	free(work->operations);
	free(work->parent);
}

void meetings_done(struct meetings *meetings)
{
	free(meetings->group.cuts);
	free(meetings->group.kinds);
	free(meetings->group.cells);
	free(meetings->is_whole);
	free(meetings->joined);
	*meetings = (struct meetings){0};
}

static const struct collectives_launch *launch_of(
	const struct collectives *c, const struct collectives_operation *o, uint32_t i)
{
	return c->launches + c->by_operation[o->first + i];
}

/* Returns the window in which the last rank comes to the operation, or the number of windows if it
 * is in none, or of other ranks than those of @group. */
static size_t window_in(const struct waiting *w, const struct waiting_group *group,
	const struct waiting_group *windows, const struct collectives_operation *o)
{
	uint32_t lane = o->is_timed && o->launches > 1 ? launch_of(w->collectives, o, 0)->lane
						       : COLLECTIVES_NONE;

	if (lane == COLLECTIVES_NONE || w->group_of_lane[lane] == COLLECTIVES_NONE ||
		w->groups + w->group_of_lane[lane] != group || o->start_last < windows->cuts[0])
		return windows->windows;
	return PARTITION_POINT(windows->windows, i, windows->cuts[i + 1] <= o->start_last);
}

static size_t window_of(const struct work *work, const struct collectives_operation *o)
{
	return window_in(work->waiting, work->group, work->group, o);
}

/* Sorts the operations by their windows. */
static int sort_operations(struct work *work)
{
	const struct collectives *c = work->waiting->collectives;
	size_t windows = work->group->windows;

	work->first = calloc(windows + 2, sizeof(*work->first));
	work->operations = calloc(c->operation_count + 1, sizeof(*work->operations));
	work->parent = calloc(work->group->lane_count + 1, sizeof(*work->parent));
	if (!work->first || !work->operations || !work->parent)
		return -ENOMEM;
	for (size_t i = 0; i < c->operation_count; i++)
		work->first[window_of(work, c->operations + i) + 1]++;
	for (size_t i = 0; i <= windows; i++)
		work->first[i + 1] += work->first[i];
	for (size_t i = c->operation_count; i--;) {
		size_t window = window_of(work, c->operations + i);

		/* Each window is filled from its end, so that its end becomes its start. */
		work->operations[--work->first[window + 1]] = (uint32_t)i;
	}
	for (size_t i = 0; i <= windows; i++)
		work->first[i] = work->first[i + 1];
	work->first[windows + 1] = c->operation_count;
	return 0;
}

static void disconnect(struct work *work)
{
	work->parts = work->group->lane_count;
	for (uint32_t i = 0; i < work->parts; i++)
		work->parent[i] = i;
}

static uint32_t find_root(uint32_t *parent, uint32_t at)
{
	while (parent[at] != at)
		at = parent[at] = parent[parent[at]];
	return at;
}

static void connect(struct work *work, const struct collectives_operation *o)
{
	const struct collectives *c = work->waiting->collectives;
	const uint32_t *place = work->waiting->place_of_lane;

	for (uint32_t i = 1; i < o->launches; i++) {
		uint32_t a = find_root(work->parent, place[launch_of(c, o, 0)->lane]);
		uint32_t b = find_root(work->parent, place[launch_of(c, o, i)->lane]);

		work->parts -= a != b;
		work->parent[a] = b;
	}
}

/* Returns true if all lanes are connected by the operations of this window and the ones before. */
static bool do_meet(struct work *work, size_t window)
{
	for (size_t i = work->first[window]; i < work->first[window + 1]; i++)
		connect(work, work->waiting->collectives->operations + work->operations[i]);
	return work->parts == 1;
}

/* Ends a joined window before @window. */
static void close_window(
	const struct work *work, struct meetings *meetings, size_t window, bool is_whole)
{
	struct waiting_group *joined = &meetings->group;

	meetings->is_whole[joined->windows] = is_whole;
	if (joined->kinds)
		joined->kinds[joined->windows] = work->group->kinds[window - 1];
	joined->cuts[++joined->windows] = work->group->cuts[window];
}

/* Divides the windows where all ranks have met. Returns how many joined ones are whole. */
static size_t divide(struct work *work, struct meetings *meetings)
{
	const struct waiting_group *group = work->group;
	size_t whole = 0, from = 0;

	disconnect(work);
	meetings->group.cuts[0] = group->cuts[0];
	/* The step that warms up stays alone: the steps after it count. */
	if (!group->is_warm) {
		meetings->first = 1;
		close_window(work, meetings, 1, false);
		from = 1;
	}
	for (size_t i = from; i < group->windows; i++) {
		bool is_empty = waiting_is_empty(group, i);

		if (is_empty && from < i) {
			close_window(work, meetings, i, false);
			from = i;
		}
		meetings->joined[i] = (uint32_t)meetings->group.windows;
		if (!is_empty && !do_meet(work, i))
			continue;
		whole += !is_empty;
		close_window(work, meetings, i + 1, !is_empty);
		disconnect(work);
		from = i + 1;
	}
	if (from < group->windows)
		close_window(work, meetings, group->windows, false);
	return whole;
}

static int add_up(const struct waiting_group *group, struct meetings *meetings)
{
	struct waiting_group *joined = &meetings->group;

	joined->cells = calloc(joined->lane_count * joined->windows + 1, sizeof(*joined->cells));
	if (!joined->cells)
		return -ENOMEM;
	for (size_t lane = 0; lane < group->lane_count; lane++)
		for (size_t i = 0; i < group->windows; i++)
			waiting_add(joined->cells + lane * joined->windows + meetings->joined[i],
				waiting_cell(group, lane, i));
	return 0;
}

int meetings_join(
	const struct waiting *waiting, const struct waiting_group *group, struct meetings *ret)
{
	CLEANUP(work_done) struct work work = {.waiting = waiting, .group = group};
	CLEANUP(meetings_done)
	struct meetings found = {.group = {.lanes = group->lanes,
					 .lane_count = group->lane_count,
					 .source = group->source}};
	int r;

	*ret = (struct meetings){0};
	if (group->source != WAITING_BY_STEPS || group->lane_count < 2 || !waiting->collectives ||
		!group->windows)
		return 0;
	found.group.cuts = calloc(group->windows + 1, sizeof(*found.group.cuts));
	found.is_whole = calloc(group->windows + 1, sizeof(*found.is_whole));
	found.joined = calloc(group->windows + 1, sizeof(*found.joined));
	if (group->kinds)
		found.group.kinds = calloc(group->windows + 1, sizeof(*found.group.kinds));
	if (!found.group.cuts || !found.is_whole || !found.joined ||
		(group->kinds && !found.group.kinds))
		return -ENOMEM;
	r = sort_operations(&work);
	if (r)
		return r;
	if (divide(&work, &found) < MEETINGS_LEAST || found.group.windows == group->windows)
		return 0;
	r = add_up(group, &found);
	if (r)
		return r;
	*ret = found;
	found = (struct meetings){0};
	return 0;
}

/* ---- which rank waits for which ---- */

static size_t find_place(const uint32_t *lanes, size_t count, uint32_t place)
{
	size_t at = 0;

	while (at < count && lanes[at] != place)
		at++;
	return at;
}

int waiting_between(const struct waiting *waiting, const struct waiting_group *group,
	const struct waiting_group *windows, const uint32_t *lanes, size_t count, double *ret)
{
	const struct collectives *c = waiting->collectives;
	CLEANUP(free_p) double *all = calloc(count * windows->windows + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *o = c->operations + i;
		size_t window = window_in(waiting, group, windows, o), last = count;

		if (window == windows->windows || o->is_pairs ||
			waiting_direction_of(c, o) != WAITING_FROM_ALL)
			continue;
		for (uint32_t k = 0; k < o->launches; k++)
			if (launch_of(c, o, k)->start == o->start_last)
				last = find_place(lanes, count,
					waiting->place_of_lane[launch_of(c, o, k)->lane]);
		for (uint32_t k = 0; k < o->launches; k++) {
			const struct collectives_launch *launch = launch_of(c, o, k);
			size_t lane =
				find_place(lanes, count, waiting->place_of_lane[launch->lane]);
			double wait = (double)wrap_minus(o->start_last, launch->start);

			if (lane == count)
				continue;
			all[lane * windows->windows + window] += wait;
			if (last < count)
				ret[lane * windows->windows + window] += wait;
		}
	}
	for (size_t i = 0; i < count * windows->windows; i++)
		ret[i] = all[i] > 0 ? ret[i] / all[i] : 0;
	return 0;
}

int waiting_for(const struct waiting *waiting, const struct waiting_group *group,
	const struct waiting_group *windows, const uint32_t *lanes, size_t count, int64_t *ret)
{
	const struct collectives *c = waiting->collectives;
	CLEANUP(free_p) bool *is_own = calloc(group->lane_count + 1, sizeof(*is_own));

	if (!is_own)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		is_own[lanes[i]] = true;
	for (size_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *o = c->operations + i;
		size_t window = window_in(waiting, group, windows, o);
		int64_t others = INT64_MIN, own = INT64_MIN;

		if (window == windows->windows)
			continue;
		for (uint32_t k = 0; k < o->launches; k++) {
			const struct collectives_launch *launch = launch_of(c, o, k);
			int64_t *last =
				is_own[waiting->place_of_lane[launch->lane]] ? &own : &others;

			*last = launch->start > *last ? launch->start : *last;
		}
		if (others != INT64_MIN && own > others)
			ret[window] = wrap_plus(ret[window], wrap_minus(own, others));
	}
	return 0;
}
