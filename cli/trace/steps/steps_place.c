// SPDX-License-Identifier: MIT
#include "cli/trace/steps/steps_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "proto/base/cleanup.h"

/*
 * The begins and ends of the steps of a process, sorted: 2i and 2i + 1 are those of step i.
 * reach[c] is the end of the last work that was submitted after cut c - 1 and before cut c.
 */
struct cuts {
	int64_t *at, *reach;
	size_t count, last; /* last: the previous result */
};

struct place {
	struct steps_work *work;
	struct cuts *cuts; /* for each process; only for markers */
};

static void place_done(struct place *place)
{
	for (size_t i = 0; place->cuts && i < place->work->steps->count; i++) {
		free(place->cuts[i].at);
		free(place->cuts[i].reach);
	}
	free(place->cuts);
}

static void make_cuts(struct place *place)
{
	struct steps *steps = place->work->steps;

	place->cuts = xcalloc(steps->count + 1, sizeof(*place->cuts));
	for (size_t i = 0; i < steps->count; i++) {
		const struct steps_process *process = steps->processes + i;
		struct cuts *cuts = place->cuts + i;

		cuts->count = process->count * 2;
		cuts->at = xcalloc(cuts->count + 1, sizeof(*cuts->at));
		cuts->reach = xcalloc(cuts->count + 1, sizeof(*cuts->reach));
		for (size_t c = 0; c < cuts->count; c++) {
			const struct step *step = process->at + c / 2;

			/* A step whose end is not known does not end at its marker either. */
			cuts->at[c] = c % 2 == 0       ? step->start_ns
				      : !step->is_open ? step->end_ns
						       : INT64_MAX;
			cuts->reach[c] = INT64_MIN;
		}
	}
}

/* Returns the first cut after @time_ns; dispatches come nearly in the order of their submission. */
static size_t find_cut(struct cuts *cuts, int64_t time_ns)
{
	if (cuts->last <= cuts->count &&
		(cuts->last == cuts->count || time_ns < cuts->at[cuts->last]) &&
		(!cuts->last || time_ns >= cuts->at[cuts->last - 1]))
		return cuts->last;
	return cuts->last = PARTITION_POINT(cuts->count, i, cuts->at[i] <= time_ns);
}

static void add_event(
	struct place *place, size_t at, int64_t start_ns, int64_t end_ns, int64_t submit_ns)
{
	struct steps_process *process = place->work->steps->processes + at;

	if (!process->has_events || start_ns < process->first_ns)
		process->first_ns = start_ns;
	if (!process->has_events || end_ns > process->last_ns)
		process->last_ns = end_ns;
	process->has_events = true;
	if (place->cuts) {
		struct cuts *cuts = place->cuts + at;
		size_t cut = find_cut(cuts, submit_ns);

		if (cut < cuts->count && end_ns > cuts->reach[cut])
			cuts->reach[cut] = end_ns;
	}
}

/* A damaged file may contain any numbers. */
static int64_t plus(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

/* If there are too many steps, the pass is still needed to find when each process worked. */
static int add_step(struct steps *steps, struct steps_process *process, struct step step)
{
	int r = steps->is_too_many ? 0 : steps_add(steps, process, step);

	if (r != -E2BIG)
		return r;
	steps->is_too_many = true;
	steps_clear(steps);
	return 0;
}

static int pass_dispatches(struct place *place)
{
	struct steps_work *work = place->work;
	int r = 0;

	QUERY_EACH (r, work->trace->query, "dispatch_submits", rows) {
		size_t at = trace_shape(work->trace, query_integer(rows, 0));
		const struct steps_shape *shape = work->shapes + at;
		int64_t start = query_integer(rows, 1);
		int64_t submit = query_integer(rows, 3);

		if (at == work->trace->shape_count || query_is_null(rows, 1))
			continue;
		add_event(place, shape->process, start, plus(start, query_integer(rows, 2)),
			submit > 0 ? plus(start, -submit) : start);
		if (shape->begins_step)
			r = add_step(work->steps, work->steps->processes + shape->process,
				(struct step){.start_ns = start});
	}
	return r;
}

static int pass_copies(struct place *place)
{
	struct steps *steps = place->work->steps;
	int r = 0;

	QUERY_EACH (r, place->work->trace->query, "copy_times", rows) {
		const struct steps_process *process = steps_of(steps, query_integer(rows, 0));

		if (process)
			add_event(place, (size_t)(process - steps->processes),
				query_integer(rows, 1), query_integer(rows, 2),
				query_is_null(rows, 3) ? query_integer(rows, 1)
						       : query_integer(rows, 3));
	}
	return r;
}

/*
 * Moves each cut to the time when the GPUs had finished what was submitted before it, if that is
 * later.
 */
static void move_cuts(struct steps_process *process, const struct cuts *cuts)
{
	int64_t reach = INT64_MIN;

	for (size_t c = 0; c < cuts->count; c++) {
		struct step *step = process->at + c / 2;
		int64_t at = cuts->at[c];

		if (cuts->reach[c] > reach)
			reach = cuts->reach[c];
		if (at == INT64_MAX) /* open */
			at = process->has_events && process->last_ns > step->start_ns
				     ? process->last_ns
				     : step->start_ns;
		else if (reach > at)
			at = reach;
		if (c % 2)
			step->end_ns = at;
		else
			step->start_ns = at;
	}
}

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* A step lasts from one dispatch of the kernel to the next; the last one ends with the process. */
static void join_begins(struct steps_process *process)
{
	if (process->count)
		qsort(process->at, process->count, sizeof(*process->at), compare_steps);
	for (size_t i = 0; i < process->count; i++) {
		process->at[i].number = (int64_t)i;
		process->at[i].is_open = i + 1 == process->count;
		process->at[i].end_ns =
			i + 1 < process->count ? process->at[i + 1].start_ns : process->last_ns;
	}
}

int steps_place(struct steps_work *work)
{
	CLEANUP(place_done) struct place place = {.work = work};
	struct steps *steps = work->steps;
	int r;

	if (steps->source == STEPS_MARKERS)
		make_cuts(&place);
	r = pass_dispatches(&place);
	if (!r)
		r = pass_copies(&place);
	for (size_t i = 0; i < steps->count && !r; i++) {
		struct steps_process *process = steps->processes + i;

		if (place.cuts && !steps->is_too_many)
			move_cuts(process, place.cuts + i);
		else if (steps->source == STEPS_INFERRED)
			join_begins(process);
		/* A process without steps of its own has one step. */
		process->is_whole = !process->count && process->has_events;
		if (process->is_whole)
			r = add_step(steps, process,
				(struct step){
					.start_ns = process->first_ns, .end_ns = process->last_ns});
	}
	return r;
}
