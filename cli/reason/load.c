// SPDX-License-Identifier: MIT
/* Loads the input of the rules: the time line and the collectives of a part of the file. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/kernels/host_call_key.h"
#include "cli/collectives/straggler.h"
#include "cli/outstanding/outstanding.h"
#include "cli/reason/pace.h"
#include "cli/reason/slow_link.h"
#include "cli/base/array.h"
#include "cli/trace/kernels/leaders.h"
#include "cli/reason/reason.h"
#include "cli/timeline/timeline.h"
#include "proto/base/cleanup.h"

struct shape {
	size_t kind;
	struct reason_sum sum;
};

/* The range of a process's host calls in the part. */
struct span {
	bool has_calls;
	int64_t first_call, last_call;
};

struct loading {
	const struct trace *trace;
	struct query *query; /* of the trace */
	struct reason_figures *figures;
	struct shape *shapes; /* as those of the trace */
	size_t kind_capacity;
	struct leaders *leaders; /* only these processes are judged */
	struct span *spans;	 /* as the processes of the trace */
	int64_t from_ns, to_ns;
	bool is_part;
};

static void loading_done(struct loading *l)
{
	/* This also drops the views of a query that failed half-way. */
	if (l->is_part)
		(void)query_do(l->query, "part_end", NULL, 0);
	leaders_free_p(&l->leaders);
	free(l->shapes);
	free(l->spans);
}

void reason_figures_done(struct reason_figures *figures)
{
	for (size_t i = 0; i < figures->lane_count; i++)
		free(figures->lanes[i].kinds);
	free(figures->lanes);
	free(figures->kinds);
	free(figures->straggler.spans);
	*figures = (struct reason_figures){0};
}

/* ---- shapes --------------------------------------------------------------------------------- */

static int find_kind(struct loading *l, const struct category *category, size_t *ret)
{
	struct reason_figures *f = l->figures;
	size_t at = 0;

	while (at < f->kind_count && strcmp(f->kinds[at].name, category->name) != 0)
		at++;
	*ret = at;
	if (at < f->kind_count)
		return 0;
	if (GROW(f->kinds, f->kind_count, l->kind_capacity))
		return -ENOMEM;
	f->kinds[f->kind_count] = (struct reason_kind){.class = category->class};
	memcpy(f->kinds[f->kind_count++].name, category->name, sizeof(category->name));
	return 0;
}

static int set_shapes(struct loading *l)
{
	const struct trace *trace = l->trace;
	int r = 0;

	l->shapes = calloc(trace->shape_count + 1, sizeof(*l->shapes));
	l->spans = calloc(trace->process_count + 1, sizeof(*l->spans));
	if (!l->shapes || !l->spans)
		return -ENOMEM;
	for (size_t i = 0; i < trace->shape_count && !r; i++)
		r = find_kind(l, trace->shapes[i].category, &l->shapes[i].kind);
	return r;
}

/* ---- the part ------------------------------------------------------------------------------- */

/* If the file has more dispatches than the sample takes, limits the query to those in the
 * middle. */
static int begin_part(struct loading *l)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int64_t first, last, ids[2];
	int r = query_ask(l->query, "dispatch_ids", &rows);

	if (!r)
		r = query_next(rows);
	if (r < 0)
		return r;
	first = query_integer(rows, 0);
	last = query_integer(rows, 1);
	query_rows_free_p(&rows);
	if ((uint64_t)last - (uint64_t)first < REASON_SAMPLE)
		return 0;
	ids[0] = (int64_t)((uint64_t)first + ((uint64_t)last - (uint64_t)first) / 2 -
			   REASON_SAMPLE / 2);
	ids[1] =
		/* ids of a damaged file may be anything */
		(int64_t)((uint64_t)ids[0] + REASON_SAMPLE - 1);
	l->is_part = true;
	return query_do(l->query, "part_begin", ids, 2);
}

static void add_call(struct span *span, int64_t call)
{
	if (!span->has_calls || call < span->first_call)
		span->first_call = call;
	if (!span->has_calls || call > span->last_call)
		span->last_call = call;
	span->has_calls = true;
}

static void add_time(struct loading *l, struct shape *shape, int64_t start, int64_t duration)
{
	int64_t end;

	if (__builtin_add_overflow(start, duration, &end)) /* a damaged file */
		return;
	if (!l->figures->timed || start < l->from_ns)
		l->from_ns = start;
	if (!l->figures->timed || end > l->to_ns)
		l->to_ns = end;
	l->figures->timed++;
	shape->sum.calls++;
	shape->sum.ns += (double)duration;
}

/* Sums the kernels by shape, and finds the extent of the part: its time, and the host calls of each
 * process. */
static int pass(struct loading *l)
{
	int r = 0;

	QUERY_EACH (r, l->query, "lane_rows", rows) {
		size_t at = trace_shape(l->trace, query_integer(rows, 0));
		const struct trace_process *process;

		l->figures->sample++;
		if (at == l->trace->shape_count) /* a damaged file */
			continue;
		process = l->trace->shapes[at].process;
		if (!query_is_null(rows, 1))
			add_time(l, l->shapes + at, query_integer(rows, 1), query_integer(rows, 2));
		if (process && !query_is_null(rows, 4))
			add_call(
				l->spans + (process - l->trace->processes), query_integer(rows, 4));
	}
	return r;
}

/* Limits markers, copies and host calls to the part as well. */
static int limit_others(struct loading *l)
{
	int64_t times[2] = {l->from_ns, l->to_ns};
	int r = query_do(l->query, "part_times", times, 2);

	if (!r)
		r = query_do(l->query, "part_copies", NULL, 0);
	if (!r)
		r = query_do(l->query, "part_calls", NULL, 0);
	for (size_t i = 0; i < l->trace->process_count && !r; i++) {
		const struct span *span = l->spans + i;
		int64_t id = l->trace->processes[i].id;
		int64_t ids[2] = {
			host_call_key(id, span->first_call), host_call_key(id, span->last_call)};

		if (span->has_calls)
			r = query_do(l->query, "part_calls_of", ids, 2);
		if (span->has_calls && !r)
			r = query_do(l->query, "part_captured", ids, 2);
	}
	return r;
}

/* ---- time line ------------------------------------------------------------------------------ */

static int compare_lanes(const void *a, const void *b)
{
	const struct reason_lane *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	return (x->gpu_id > y->gpu_id) - (x->gpu_id < y->gpu_id);
}

static struct reason_lane *find_lane(
	const struct reason_figures *f, int64_t process_id, int64_t gpu_id)
{
	struct reason_lane key = {.process_id = process_id, .gpu_id = gpu_id};

	return f->lane_count ? bsearch(&key, f->lanes, f->lane_count, sizeof(key), compare_lanes)
			     : NULL;
}

static int take_lanes(
	struct reason_figures *f, const struct timeline *t, const struct leaders *leaders)
{
	f->lanes = calloc(t->lane_count + 1, sizeof(*f->lanes));
	if (!f->lanes)
		return -ENOMEM;
	for (size_t i = 0; i < t->lane_count; i++) {
		const struct timeline_lane *from = t->lanes + i;
		struct reason_lane *lane = f->lanes + f->lane_count;

		if (!from->total.wall_ns || !leaders_leads(leaders, from->process_id))
			continue;
		breakdown_sum(&f->total, &from->total);
		*lane = (struct reason_lane){
			.process_id = from->process_id,
			.gpu_id = from->gpu_id,
			.rank = from->rank,
			.has_rank = from->has_rank,
			.replica = from->replica,
			.total = from->total,
			.kinds = calloc(f->kind_count + 1, sizeof(*lane->kinds)),
		};
		if (!lane->kinds)
			return -ENOMEM;
		f->lane_count++;
	}
	if (f->lane_count)
		qsort(f->lanes, f->lane_count, sizeof(*f->lanes), compare_lanes);
	f->untimed_copies = t->untimed_copies;
	f->has_steps = t->steps->source == STEPS_MARKERS;
	f->filtered = t->left_out;
	return 0;
}

/* Leaves out a preflight, an autotuning child or an earlier attempt: it is not a rank, and no rank
 * is compared with it. */
static int find_leaders(struct loading *l, const struct steps *steps)
{
	const struct trace *trace = l->trace;
	CLEANUP(free_p) struct leaders_sum *sums = calloc(trace->shape_count + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < trace->shape_count; i++)
		sums[i] = (struct leaders_sum){.process_id = trace->shapes[i].process_id,
			.total_ns = (int64_t)l->shapes[i].sum.ns,
			.calls = l->shapes[i].sum.calls,
			.is_communication =
				trace->shapes[i].category->class == CATEGORY_COMMUNICATION};
	return leaders_new_of(trace, sums, trace->shape_count, steps, &l->leaders);
}

/* Finds whether rtl whatif has what it needs of each process that is judged. */
static int find_edges(struct loading *l)
{
	const struct leaders *leaders = l->leaders;
	size_t leading = 0, known = 0;
	int r = 0;

	for (size_t i = 0; i < leaders->count; i++)
		leading += leaders->at[i].leads;
	QUERY_EACH (r, l->query, "whatif_processes", rows)
		known += leaders_leads(leaders, query_integer(rows, 0));
	l->figures->has_edges = leading && known == leading;
	return r;
}

static int load_timeline(struct loading *l, char error[QUERY_ERROR_BYTES])
{
	CLEANUP(timeline_free_p) struct timeline *timeline = NULL;
	struct timeline_options options = {.micro_idle_ns = BREAKDOWN_MICRO_IDLE_NS,
		.joins_steps = true,
		.skips_unrecorded = true};
	int r = timeline_new(l->trace, &options, error, &timeline);

	if (!r)
		r = find_leaders(l, timeline->steps);
	if (!r)
		r = find_edges(l);
	return r ? r : take_lanes(l->figures, timeline, l->leaders);
}

/* Shapes are usually sorted by process and GPU, so the lane of the last shape is tried first. */
static void sum_kinds(const struct loading *l)
{
	struct reason_lane *lane = NULL;

	for (size_t i = 0; i < l->trace->shape_count; i++) {
		const struct trace_shape *of = l->trace->shapes + i;
		const struct shape *shape = l->shapes + i;

		if (!shape->sum.calls)
			continue;
		if (!lane || lane->process_id != of->process_id || lane->gpu_id != of->gpu_id)
			lane = find_lane(l->figures, of->process_id, of->gpu_id);
		if (!lane)
			continue;
		lane->kinds[shape->kind].calls += shape->sum.calls;
		lane->kinds[shape->kind].ns += shape->sum.ns;
	}
}

static int load_copies(struct loading *l)
{
	struct reason_copies *copies = &l->figures->copies;
	int r = 0;

	QUERY_EACH (r, l->query, "copies", rows) {
		if (query_real(rows, 5) <= copies->ns)
			continue;
		copies->ns = query_real(rows, 5);
		copies->bytes = query_real(rows, 4);
		snprintf(copies->direction, sizeof(copies->direction), "%s",
			query_text(rows, 0) ? query_text(rows, 0) : "");
	}
	return r;
}

/* ---- collectives ---------------------------------------------------------------------------- */

static struct reason_place place_of(
	const struct collectives *c, const struct waiting_group *group, uint32_t place)
{
	const struct collectives_lane *lane = c->lanes + group->lanes[place];

	return (struct reason_place){c->processes[lane->process].id, lane->gpu_id};
}

static int compare_by_rank(
	const struct collectives *c, const struct waiting_group *group, uint32_t a, uint32_t b)
{
	const struct collectives_lane *x = c->lanes + group->lanes[a],
				      *y = c->lanes + group->lanes[b];
	const struct collectives_process *p = c->processes + x->process,
					 *q = c->processes + y->process;

	if (p->has_rank != q->has_rank)
		return p->has_rank ? -1 : 1;
	if (p->has_rank && p->rank != q->rank)
		return p->rank < q->rank ? -1 : 1;
	return (a > b) - (a < b);
}

/* Orders ranks by their numbers, because processes are numbered as they come, which differs from
 * run to run. */
static void take_places(
	struct reason_straggler *s, const struct collectives *c, const struct straggler *from)
{
	size_t least[REASON_NAMED_MAX], count = 0;

	for (size_t i = 0; i < from->count; i++) {
		size_t at = count < REASON_NAMED_MAX ? count++ : REASON_NAMED_MAX;

		for (; at && compare_by_rank(c, from->group, from->lanes[i],
				     from->lanes[least[at - 1]]) < 0;
			at--)
			if (at < REASON_NAMED_MAX)
				least[at] = least[at - 1];
		if (at < REASON_NAMED_MAX)
			least[at] = i;
	}
	for (size_t i = 0; i < count; i++) {
		s->at[i] = place_of(c, from->group, from->lanes[least[i]]);
		s->causes[i] = from->causes[least[i]];
	}
}

static void take_straggler(
	struct reason_figures *f, const struct collectives *c, const struct straggler *from)
{
	struct reason_straggler *s = &f->straggler;

	if (!from->group)
		return;
	*s = (struct reason_straggler){
		.is_found = true,
		.is_in_turn = from->is_in_turn,
		.is_at_most = from->is_at_most,
		.is_about = from->is_about,
		.count = from->count,
		.reference = place_of(c, from->group, from->reference),
		.cost_pct = from->cost_pct,
		.gain_ns = (double)from->gain_ns,
		.windows = from->windows,
		.cause = from->cause,
		.waiting_ns = (double)from->waiting_ns,
	};
	take_places(s, c, from);
	for (int i = 0; i < STRAGGLER_CAUSES; i++)
		s->part_ns[i] = (double)from->part_ns[i];
	if (from->cause == STRAGGLER_TRANSFER && from->comm != COLLECTIVES_NONE) {
		s->has_comm = true;
		s->comm = c->comms[from->comm].id;
		s->comm_ratio = from->comm_ratio;
	}
	if (from->reference_compute_ns > 0)
		s->compute_ratio = (double)from->compute_ns / (double)from->reference_compute_ns;
}

static void take_event(
	struct reason_figures *f, const struct collectives *c, const struct straggler_event *from)
{
	struct reason_event *event = &f->event;

	if (!from->group)
		return;
	*event = (struct reason_event){
		.is_found = true,
		.is_step = from->group->source == WAITING_BY_STEPS,
		.has_place = from->lane != COLLECTIVES_NONE,
		.count = from->count,
		.number = from->group->numbers ? from->group->numbers[from->longest] : 0,
		.longest_ns = (double)from->longest_ns,
		.median_ns = (double)from->median_ns,
		.cost_pct = from->cost_pct,
		.cause = from->cause,
		.is_first_meeting = !from->longest && from->cause == STRAGGLER_TRANSFER,
	};
	if (event->has_place)
		event->place = place_of(c, from->group, from->lane);
}

/* Where kernels were left out by choice a rank computes in what looks like idle time: how long it
 * is waited for is an upper bound, and it is not known why. */
static void forget_causes(struct reason_figures *f)
{
	f->straggler.cause = f->event.cause = STRAGGLER_SEVERAL;
	for (size_t i = 0; i < REASON_NAMED_MAX; i++)
		f->straggler.causes[i] = STRAGGLER_SEVERAL;
	f->straggler.is_at_most = f->straggler.is_found;
}

static void take_change(
	struct reason_figures *f, const struct waiting *w, const struct straggler_change *change)
{
	if (!change->group || !change->group->numbers)
		return;
	f->waiting.has_change = true;
	f->waiting.is_change_of_all = w->group_count == 1;
	f->waiting.change_number = change->group->numbers[change->window];
	f->waiting.change_ratio = change->ratio;
}

static void take_waiting(
	struct reason_figures *f, const struct waiting *w, const struct stragglers *from)
{
	double all = (double)from->window_ns;

	f->waiting.impossible = w->impossible;
	if (!from->window_ns)
		return;
	f->waiting.is_known = true;
	f->waiting.wait_pct = 100.0 * (double)from->sum.wait_ns / all;
	f->waiting.pair_wait_pct = 100.0 * (double)from->sum.pair_wait_ns / all;
	f->waiting.transfer_pct = 100.0 * (double)waiting_transfer_ns(&from->sum) / all;
	take_change(f, w, &from->change);
}

/* Returns the share of the last ranks' lateness that comes from hosts with nothing queued. */
static double share_of_launches(const struct collectives *c)
{
	double late = 0, host = 0;
	uint64_t count = 0;

	for (size_t i = 0; i < c->lane_count; i++) {
		count += c->lanes[i].explained;
		late += (double)c->lanes[i].explained_late_ns;
		host += (double)c->lanes[i].cause_ns[COLLECTIVES_HOST];
	}
	if (late <= 0 || host <= 0 || late >= (double)count * BREAKDOWN_SHORT_NS)
		return 0;
	return host < late ? host / late : 1;
}

static int compare_reals(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Tells a slow link if its transfers take a twentieth of the time of a rank. */
static int take_slow_link(struct reason_figures *f, const struct collectives *c)
{
	struct reason_waiting *w = &f->waiting;
	struct slow_link link;
	int r = slow_link_find(c, &link);

	if (r || link.lanes[0] == COLLECTIVES_NONE || !f->lane_count ||
		(double)link.transfer_ns * 100 * (double)f->lane_count <
			(double)f->total.wall_ns * REASON_LATE_PCT)
		return r;
	w->has_slow_link = true;
	w->link_ratio = link.ratio;
	for (int i = 0; i < 2; i++) {
		const struct collectives_lane *lane = c->lanes + link.lanes[i];

		w->link[i] = (struct reason_place){c->processes[lane->process].id, lane->gpu_id};
	}
	return 0;
}

static int find_busiest(struct reason_figures *f)
{
	CLEANUP(free_p) double *compute = calloc(f->lane_count + 1, sizeof(*compute));
	size_t most = 0;
	double middle;

	if (!compute)
		return -ENOMEM;
	for (size_t i = 0; i < f->lane_count; i++) {
		compute[i] = (double)f->lanes[i].total.stream_ns[BREAKDOWN_COMPUTE];
		if (compute[i] > compute[most])
			most = i;
	}
	if (f->lane_count < 2)
		return 0;
	f->waiting.busiest =
		(struct reason_place){f->lanes[most].process_id, f->lanes[most].gpu_id};
	qsort(compute, f->lane_count, sizeof(*compute), compare_reals);
	middle = compute[(f->lane_count - 1) / 2];
	f->waiting.has_busiest = middle > 0;
	f->waiting.busiest_ratio = middle > 0 ? compute[f->lane_count - 1] / middle : 0;
	return 0;
}

static void take_kinds(
	struct reason_figures *f, const struct step_kinds *kinds, const struct straggler *straggler)
{
	uint64_t all = 0;
	int64_t windows_ns = 0;

	for (size_t i = 0; kinds && i < kinds->count; i++) {
		all += kinds->at[i].total_ns;
		windows_ns += straggler->group ? straggler->kind_wall_ns[i] : 0;
	}
	for (size_t i = 0; kinds && i < kinds->count; i++) {
		const struct step_kind *kind = kinds->at + i;
		struct reason_steps *steps = f->steps + f->step_kinds;

		/* none of it was recorded */
		if (!kind->steps)
			continue;
		f->step_kinds++;
		memcpy(steps->name, kind->name, sizeof(steps->name));
		steps->steps = kind->steps;
		steps->share_pct = all ? 100.0 * (double)kind->total_ns / (double)all : 0;
		steps->median_ns = (double)kind->median_ns;
		if (straggler->group && straggler->kind_wall_ns[i] > 0)
			steps->cost_pct = 100.0 * (double)straggler->kind_gain_ns[i] /
					  (double)straggler->kind_wall_ns[i];
		if (windows_ns > 0)
			steps->window_pct =
				100.0 * (double)straggler->kind_wall_ns[i] / (double)windows_ns;
		if (straggler->group && straggler->gain_ns > 0)
			steps->gain_pct = 100.0 * (double)straggler->kind_gain_ns[i] /
					  (double)straggler->gain_ns;
	}
}

/* Finds out whether the straggler's GPU takes longer for the same work, or has more work. */
static int load_pace(struct loading *l)
{
	struct reason_figures *f = l->figures;
	struct reason_straggler *s = &f->straggler;
	CLEANUP(free_p) struct pace_lane *lanes = calloc(f->lane_count + 1, sizeof(*lanes));
	int r;

	if (!lanes)
		return -ENOMEM;
	for (size_t i = 0; i < f->lane_count; i++)
		lanes[i] = (struct pace_lane){
			.process_id = f->lanes[i].process_id, .gpu_id = f->lanes[i].gpu_id};
	r = pace_find(l->trace, s->spans, s->span_count, lanes, f->lane_count);
	for (size_t i = 0; i < f->lane_count && !r; i++) {
		if (lanes[i].process_id != s->at[0].process_id ||
			lanes[i].gpu_id != s->at[0].gpu_id)
			continue;
		s->pace = lanes[i].ratio;
		s->is_pace_slow = lanes[i].is_slow;
		s->pace_names = lanes[i].names;
		s->pace_kernel_ratio = lanes[i].kernel_ratio;
		if (lanes[i].names)
			snprintf(s->pace_kernel, sizeof(s->pace_kernel), "%s",
				trace_kernel_name(l->trace, lanes[i].kernel_id));
	}
	return r;
}

static int find_stragglers(struct loading *l, struct collectives *collectives)
{
	CLEANUP(steps_free_p) struct steps *steps = NULL;
	CLEANUP(waiting_free_p) struct waiting *waiting = NULL;
	CLEANUP(stragglers_done) struct stragglers found = {0};
	char error[QUERY_ERROR_BYTES];
	int r = steps_new(l->trace, NULL, error, &steps);

	if (!r)
		r = waiting_new(l->trace, collectives, steps, &waiting);
	if (!r)
		r = stragglers_find(waiting, &found);
	if (r)
		return r;
	take_straggler(l->figures, collectives, &found.steady);
	l->figures->straggler.spans = TAKE(found.steady.spans);
	l->figures->straggler.span_count = found.steady.span_count;
	take_event(l->figures, collectives, &found.event);
	if (l->figures->filtered)
		forget_causes(l->figures);
	take_waiting(l->figures, waiting, &found);
	l->figures->waiting.launch_wait_pct =
		l->figures->waiting.wait_pct * share_of_launches(collectives);
	take_kinds(l->figures, waiting->kinds, &found.steady);
	r = find_busiest(l->figures);
	if (!r)
		r = take_slow_link(l->figures, collectives);
	if (r)
		return r;
	return l->figures->straggler.is_found && l->figures->straggler.cause == STRAGGLER_COMPUTE
		       ? load_pace(l)
		       : 0;
}

static int load_collectives(struct loading *l)
{
	CLEANUP(collectives_free_p) struct collectives *collectives = NULL;
	struct collectives_filter theirs = {.leaders = l->leaders};
	int r = collectives_new(l->trace, &theirs, &collectives);

	/* In the middle of a file the order does not tell which kernels of two ranks belong
	 * together. */
	if (r || (l->is_part && collectives->matched == COLLECTIVES_BY_ORDER))
		return r;
	return find_stragglers(l, collectives);
}

/* Finds the events and changes of a process that waits for no other. */
static int load_alone(struct loading *l)
{
	CLEANUP(collectives_free_p) struct collectives *collectives = NULL;
	CLEANUP(steps_free_p) struct steps *steps = NULL;
	CLEANUP(waiting_free_p) struct waiting *waiting = NULL;
	CLEANUP(stragglers_done) struct stragglers found = {0};
	struct collectives_filter theirs = {.leaders = l->leaders};
	char error[QUERY_ERROR_BYTES];
	int r = collectives_new(l->trace, &theirs, &collectives);

	if (!r)
		r = steps_new(l->trace, NULL, error, &steps);
	if (!r)
		r = waiting_new_alone(l->trace, collectives, steps, &waiting);
	if (!r)
		r = stragglers_find(waiting, &found);
	if (r)
		return r;
	if (found.event.group && found.event.group->is_alone)
		take_event(l->figures, collectives, &found.event);
	if (found.change.group && found.change.group->is_alone)
		take_change(l->figures, waiting, &found.change);
	if (l->figures->filtered)
		forget_causes(l->figures);
	return 0;
}

static bool can_compare(const struct reason_figures *f)
{
	for (size_t i = 1; i < f->lane_count; i++)
		if (f->lanes[i].process_id != f->lanes[0].process_id)
			return true;
	return false;
}

static bool communicates(const struct reason_figures *f)
{
	return f->total.communication_ns > 0;
}

/* Returns true if the exit status, as the shell reports signals, says that the program caused its
 * own death. */
static bool is_fault(int64_t exit_status)
{
	static const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (exit_status == 128 + faults[i])
			return true;
	return false;
}

static int has_faults(struct loading *l, bool *ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(l->query, "statuses", &rows);

	*ret = false;
	while (!r && (r = query_next(rows)) > 0) {
		*ret |= is_fault(query_integer(rows, 0));
		r = 0;
	}
	return r;
}

/* Returns true if a rank died of a fault and did not continue in another process: a child that
 * inherited its rank may die without harm. */
static bool has_died(const struct outstanding *o, const struct outstanding_rank *rank)
{
	if (rank->is_alive || !rank->has_status || !is_fault(rank->status))
		return false;
	if (!rank->has_rank)
		return o->count == 1;
	for (size_t i = 0; i < o->count; i++) {
		const struct outstanding_rank *other = o->ranks + i;

		if (other != rank && other->has_rank && other->rank == rank->rank &&
			(other->is_alive || other->last_end_ns > rank->last_end_ns))
			return false;
	}
	return true;
}

static int load_hang(struct loading *l)
{
	CLEANUP(outstanding_free_p) struct outstanding *o = NULL;
	CLEANUP(outstanding_hang_free_p) struct outstanding_hang *found = NULL;
	struct reason_hang *hang = &l->figures->hang;
	int r = outstanding_new(l->trace, &o);
	size_t odd = 0;

	if (r)
		return r;
	for (size_t i = 0; i < o->count; i++) {
		const struct outstanding_rank *rank = o->ranks + i;

		hang->is_fault |= has_died(o, rank);
		if (!o->is_odd[i])
			continue;
		hang->has_process = !odd++;
		hang->process_id = rank->process_id;
	}
	found = outstanding_find_hang(o, REASON_HANG_NS);
	hang->is_hang = found != NULL;
	snprintf(hang->text, sizeof(hang->text), "%s",
		found && !hang->is_fault ? found->text : o->sentence);
	return 0;
}

static int load_part(struct loading *l, char error[QUERY_ERROR_BYTES])
{
	int r = set_shapes(l);

	if (!r)
		r = begin_part(l);
	if (!r)
		r = pass(l);
	if (!r && l->is_part)
		r = limit_others(l);
	if (!r)
		r = load_timeline(l, error);
	if (!r)
		r = load_copies(l);
	if (r)
		return r;
	sum_kinds(l);
	if (!can_compare(l->figures))
		return load_alone(l);
	return communicates(l->figures) ? load_collectives(l) : 0;
}

int reason_load(const struct trace *trace, const struct verdict *verdict,
	char error[QUERY_ERROR_BYTES], struct reason_figures *ret)
{
	CLEANUP(loading_done)
	struct loading l = {.trace = trace, .query = trace->query, .figures = ret};
	const struct completeness *counts = &verdict->counts;
	bool has_fault = false;
	int r;

	error[0] = '\0';
	*ret = (struct reason_figures){
		.dispatched = counts->dispatched + counts->imported_stored,
		.rows = counts->stored,
		.missing = counts->dropped + counts->torn + counts->outstanding,
		.is_live = counts->live,
		.is_simulated = verdict->is_simulated,
	};
	for (size_t i = 0; i < trace->process_count; i++)
		ret->has_calls |= trace->processes[i].has_calls;
	r = has_faults(&l, &has_fault);
	if (!r && (counts->outstanding || has_fault ||
			  (ret->is_live && outstanding_may_hang(l.query, REASON_HANG_NS))))
		r = load_hang(&l);
	return r ? r : load_part(&l, error);
}
