// SPDX-License-Identifier: MIT
#include "cli/timeline/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/timeline/lanes.h"
#include "proto/base/cleanup.h"

void timeline_free_p(struct timeline **timeline)
{
	struct timeline *t = *timeline;

	if (!t)
		return;
	for (size_t i = 0; i < t->lane_count; i++) {
		free(t->lanes[i].rows);
		free(t->lanes[i].segments);
	}
	free(t->lanes);
	steps_free_p(&t->steps);
	step_kinds_free_p(&t->kinds);
	verdict_free_p(&t->verdict);
	free(t);
	*timeline = NULL;
}

bool timeline_shows(const struct timeline_options *options, const struct step *step)
{
	return !step->is_unrecorded && (!options->has_step || step->number == options->step);
}

bool timeline_shows_outside(
	const struct timeline_options *options, const struct timeline_lane *lane)
{
	const struct breakdown_row *row = &lane->outside;

	/* Events without a duration, or without times, may lie outside even if no time does. */
	return !options->has_step && (row->wall_ns || row->kernels || row->copies || row->untimed);
}

static int check(const struct timeline_lane *lane, const struct breakdown_row *row, size_t step,
	char error[QUERY_ERROR_BYTES])
{
	if (breakdown_holds(row))
		return 0;
	snprintf(error, QUERY_ERROR_BYTES,
		"the parts of process %" PRId64 ", GPU %" PRId64
		", row %zu are not its whole: a damaged file, or a mistake of ours",
		lane->process_id, lane->gpu_id, step);
	return -EBADMSG;
}

/* Checks TraceLens's invariant on every row, and sums the rows of the requested steps. */
static int sum_lane(struct timeline *t, const struct timeline_options *o,
	struct timeline_lane *lane, char error[QUERY_ERROR_BYTES])
{
	int r = check(lane, &lane->outside, lane->process->count, error);

	for (size_t i = 0; i < lane->process->count && !r; i++) {
		r = check(lane, lane->rows + i, i, error);
		if (r || !timeline_shows(o, lane->process->at + i))
			continue;
		breakdown_sum(&lane->total, lane->rows + i);
		lane->shown++;
	}
	breakdown_sum(&t->total, &lane->total);
	if (!o->has_step)
		t->outside_ns += lane->outside.wall_ns;
	return r;
}

static int compare_lanes(const void *a, const void *b)
{
	const struct timeline_lane *x = a, *y = b;

	if (x->has_rank != y->has_rank)
		return x->has_rank ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	return (x->gpu_id > y->gpu_id) - (x->gpu_id < y->gpu_id);
}

static void find_ambiguous_ranks(struct timeline *t)
{
	for (size_t i = 0; i < t->lane_count; i++) {
		const struct timeline_lane *lane = t->lanes + i;

		if (!lane->has_rank || (i && lane[-1].has_rank && lane[-1].rank == lane->rank &&
					       lane[-1].process_id != lane->process_id))
			t->has_ambiguous_ranks = true;
	}
}

static bool has_time(const struct timeline *t, int64_t process_id)
{
	for (size_t i = 0; i < t->lane_count; i++)
		if (t->lanes[i].process_id == process_id && t->lanes[i].total.wall_ns)
			return true;
	return false;
}

static int load_left_out(struct query *query, struct timeline *t)
{
	int r = 0;

	QUERY_EACH (r, query, "left_out", rows)
		if (has_time(t, query_integer(rows, 0)))
			t->left_out += (uint64_t)query_integer(rows, 1);
	return r;
}

static int fill(const struct trace *trace, struct timeline *t, const struct timeline_options *o,
	char error[QUERY_ERROR_BYTES])
{
	int r = verdict_new(trace->query, NULL, &t->verdict);

	if (!r)
		r = steps_new(trace, o->steps, error, &t->steps);
	if (!r && o->joins_steps)
		steps_join(t->steps);
	if (!r && o->skips_unrecorded)
		r = steps_keep_recorded(trace->query, t->steps);
	if (!r && o->by_kind)
		r = step_kinds_new(trace, t->steps, &t->kinds);
	if (!r)
		r = timeline_pass(trace, t, o, error);
	if (r)
		return r;
	if (t->lane_count)
		qsort(t->lanes, t->lane_count, sizeof(*t->lanes), compare_lanes);
	find_ambiguous_ranks(t);
	for (size_t i = 0; i < t->lane_count && !r; i++)
		r = sum_lane(t, o, t->lanes + i, error);
	return r ? r : load_left_out(trace->query, t);
}

int timeline_new(const struct trace *trace, const struct timeline_options *options,
	char error[QUERY_ERROR_BYTES], struct timeline **ret)
{
	CLEANUP(timeline_free_p) struct timeline *t = xcalloc(1, sizeof(*t));
	int r;

	error[0] = '\0';
	t->is_live = query_is_live(trace->query);
	t->micro_idle_ns = options->micro_idle_ns;
	r = fill(trace, t, options, error);
	if (r)
		return r;
	*ret = TAKE(t);
	return 0;
}
