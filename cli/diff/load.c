// SPDX-License-Identifier: MIT
/* Loads the figures of one session through the modules that show a single session. */
#include "cli/base/memory.h"
#include "cli/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "cli/collectives/totals.h"
#include "cli/database/session/find_session.h"
#include "cli/summary/summary.h"
#include "cli/timeline/timeline.h"
#include "cli/base/array.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

void diff_side_free_p(struct diff_side **side)
{
	struct diff_side *s = *side;

	if (!s)
		return;
	for (size_t i = 0; i < s->kernel_count; i++) {
		free(s->kernels[i].name);
		free(s->kernels[i].ranks);
	}
	free(s->others);
	verdict_free_p(&s->verdict);
	free(s->path);
	free(s->ways);
	free(s->front_ends);
	free(s->gpus);
	free(s->rules);
	free(s->steps_line);
	for (size_t i = 0; i < s->lane_count; i++)
		free(s->lanes[i].kinds);
	free(s->lanes);
	free(s->steps);
	free(s->kinds);
	free(s->kernels);
	free(s->launches);
	free(s->groups);
	free(s->stragglers);
	free(s);
	*side = NULL;
}

/* ---- steps ---- */

static void add_row(double to[DIFF_PARTS], const struct breakdown_row *row)
{
	to[DIFF_STEP] += (double)row->wall_ns;
	to[DIFF_COMPUTATION] += (double)row->stream_ns[BREAKDOWN_COMPUTE];
	to[DIFF_EXPOSED_COMMUNICATION] += (double)row->exposed_communication_ns;
	to[DIFF_EXPOSED_COPIES] += (double)row->exposed_copy_ns;
	to[DIFF_IDLE] += (double)breakdown_idle_ns(row);
	to[DIFF_COMMUNICATION] += (double)row->communication_ns;
	to[DIFF_HIDDEN_COMMUNICATION] += (double)row->with_communication_ns;
	to[DIFF_HIDDEN_ALLREDUCE] += (double)row->with_allreduce_ns;
	to[DIFF_HIDDEN_REDUCESCATTER] += (double)row->with_reducescatter_ns;
}

/* Leaves out the first of three or more steps as warm-up. Leaves out an open last step, which only
 * the end of the program closes, unless it is the only one left. */
static void choose_steps(const struct steps_process *process, size_t *from, size_t *to)
{
	*from = process->count >= 3 ? 1 : 0;
	*to = process->count;
	if (*to - *from >= 2 && process->at[*to - 1].is_open)
		(*to)--;
}

/* Returns the largest number of steps of a lane. */
static size_t make_room(struct diff_side *s, const struct timeline *t)
{
	size_t most = 0;

	for (size_t i = 0; i < t->lane_count; i++)
		if (t->lanes[i].process->count > most)
			most = t->lanes[i].process->count;
	s->lanes = xcalloc(t->lane_count + 1, sizeof(*s->lanes));
	s->steps = xcalloc(most + 1, sizeof(*s->steps));
	s->kinds = xcalloc(t->kinds->count + 1, sizeof(*s->kinds));
	s->kind_count = t->kinds->count;
	for (size_t i = 0; i < s->kind_count; i++)
		s->kinds[i].launched = t->kinds->at[i];
	return most;
}

/* Adds one step by Welford's method, which keeps the sum of squared deviations from the mean. */
static void add_to_sum(struct diff_sum *sum, const double step[DIFF_PARTS])
{
	sum->steps++;
	for (int part = 0; part < DIFF_PARTS; part++) {
		double n = (double)sum->steps;
		double before = n > 1 ? sum->ns[part] / (n - 1) : step[part];

		sum->ns[part] += step[part];
		sum->squares[part] += (step[part] - before) * (step[part] - sum->ns[part] / n);
	}
}

static void add_to_step(struct diff_step *step, const struct breakdown_row *row)
{
	add_row(step->ns, row);
	step->lanes++;
}

static bool lacks_copies(const struct timeline *t, const struct timeline_lane *lane)
{
	bool lacks = true;

	for (size_t i = 0; i < lane->process->count && lacks; i++)
		lacks = timeline_lacks_copies(t, lane->rows + i);
	return lacks;
}

/* @kinds are those of the process's steps; @kind_steps has @most steps of each kind. */
static void add_lane(struct diff_side *s, const struct timeline *timeline,
	const struct timeline_lane *from, const uint8_t *kinds, struct diff_step *kind_steps,
	size_t most)
{
	struct diff_lane *lane = s->lanes + s->lane_count;
	size_t first, end;

	lane->key = (struct diff_key){.has_rank = from->has_rank,
		.rank = from->rank,
		.process_id = from->process_id,
		.gpu_id = from->gpu_id};
	diff_number(s->lane_count ? &lane[-1].key : NULL, &lane->key);
	lane->kinds = xcalloc(s->kind_count + 1, sizeof(*lane->kinds));
	choose_steps(from->process, &first, &end);
	for (size_t i = first; i < end; i++) {
		double row[DIFF_PARTS] = {0};

		add_row(row, from->rows + i);
		add_to_sum(&lane->all, row);
		add_to_step(s->steps + (i - first), from->rows + i);
		if (!s->kind_count)
			continue;
		add_to_sum(lane->kinds + kinds[i], row);
		add_to_step(kind_steps + kinds[i] * most + (i - first), from->rows + i);
	}
	lane->all_steps = from->process->count;
	lane->lacks_copies = lacks_copies(timeline, from);
	s->lacks_copies &= lane->lacks_copies;
	s->lane_steps += lane->all.steps;
	s->all_lane_steps += from->process->count;
	if (lane->all.steps > s->step_count)
		s->step_count = lane->all.steps;
	s->lane_count++;
}

static void load_steps(
	struct diff_side *s, const struct timeline *timeline, const struct leaders *leaders)
{
	size_t most = make_room(s, timeline);
	/* Of this only the pages of steps that there are take memory. */
	CLEANUP(free_p)
	struct diff_step *kind_steps = xcalloc(s->kind_count * most + 1, sizeof(*kind_steps));

	s->lacks_copies = true;
	for (size_t i = 0; i < timeline->lane_count; i++) {
		const struct timeline_lane *lane = timeline->lanes + i;

		if (leaders_leads(leaders, lane->process_id))
			add_lane(s, timeline, lane,
				timeline->kinds
					->of_process[lane->process - timeline->steps->processes],
				kind_steps, most);
	}
	diff_sum_kinds(s, kind_steps, most);
	s->source = timeline->steps->source;
	s->confidence = timeline->steps->confidence;
	s->period = timeline->steps->period;
	s->steps_line = xstrdup(timeline->steps->line);
}

/* Collects the processes that have kernels and do not lead their rank. */
static void load_others(struct diff_side *s, const struct leaders *leaders)
{
	s->others = xcalloc(leaders->count + 1, sizeof(*s->others));
	for (size_t i = 0; i < leaders->count; i++)
		if (leaders->at[i].kernels && !leaders->at[i].leads)
			s->others[s->other_count++] = leaders->at[i];
}

/* ---- kernels ---- */

static int compare_kernels(const void *a, const void *b)
{
	const struct diff_kernel *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* The index of the lane of a process on a GPU. */
struct place {
	int64_t process_id, gpu_id;
	size_t lane;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	return (x->gpu_id > y->gpu_id) - (x->gpu_id < y->gpu_id);
}

/* A cell of a leading process, with the index of its lane. */
struct piece {
	const struct measure_cell *cell;
	size_t lane;
};

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->cell->kernel != y->cell->kernel)
		return x->cell->kernel < y->cell->kernel ? -1 : 1;
	return (x->lane > y->lane) - (x->lane < y->lane);
}

static size_t collect_pieces(
	const struct measure *m, const struct place *places, size_t count, struct piece *ret)
{
	size_t pieces = 0;

	for (size_t i = 0; i < m->cell_count; i++) {
		const struct measure_cell *cell = m->cells + i;
		const struct place key = {cell->process_id, cell->gpu_id, 0};
		const struct place *place =
			bsearch(&key, places, count, sizeof(key), compare_places);

		if (place && cell->kernel != MEASURE_NO_KERNEL && cell->sums.calls)
			ret[pieces++] = (struct piece){cell, place->lane};
	}
	if (pieces)
		qsort(ret, pieces, sizeof(*ret), compare_pieces);
	return pieces;
}

static void add_piece(struct diff_kernel *kernel, const struct piece *piece)
{
	const struct measure_sums *sums = &piece->cell->sums;
	struct diff_kernel_rank *last = kernel->ranks + kernel->rank_count - 1;

	kernel->calls += sums->calls;
	kernel->timed += sums->timed;
	kernel->total_ns = wrap_plus(kernel->total_ns, sums->total_ns);
	if (!sums->timed)
		return;
	if (!kernel->rank_count || last->lane != piece->lane) {
		last = kernel->ranks + kernel->rank_count++;
		last->lane = piece->lane;
	}
	last->timed += sums->timed;
	last->total_ns = wrap_plus(last->total_ns, sums->total_ns);
}

/* Adds one kernel. @pieces are all of its pieces, sorted by lane. */
static void add_kernel(struct diff_side *s, const struct measure *m, const struct piece *pieces,
	size_t count, struct durations_room *room)
{
	CLEANUP(free_p) const struct measure_cell **cells = xcalloc(count, sizeof(*cells));
	struct diff_kernel *kernel = s->kernels + s->kernel_count++;
	struct durations_percentiles percentiles;

	kernel->name = xstrdup(m->kernels[pieces->cell->kernel].name);
	kernel->ranks = xcalloc(count, sizeof(*kernel->ranks));
	for (size_t i = 0; i < count; i++) {
		cells[i] = pieces[i].cell;
		add_piece(kernel, pieces + i);
	}
	measure_percentiles(cells, count, room, &percentiles);
	kernel->p50_ns = percentiles.p50_ns;
	s->kernel_ns = wrap_plus(s->kernel_ns, kernel->total_ns);
	s->timed += kernel->timed;
}

static void room_done(struct durations_room *room)
{
	durations_room_done(room);
}

static void copy_kernels(struct diff_side *s, const struct measure *m)
{
	CLEANUP(free_p) struct piece *pieces = xcalloc(m->cell_count + 1, sizeof(*pieces));
	CLEANUP(free_p) struct place *places = xcalloc(s->lane_count + 1, sizeof(*places));
	CLEANUP(room_done) struct durations_room room = {0};
	size_t count, end;

	s->kernels = xcalloc(m->kernel_count + 1, sizeof(*s->kernels));
	for (size_t i = 0; i < s->lane_count; i++)
		places[i] = (struct place){s->lanes[i].key.process_id, s->lanes[i].key.gpu_id, i};
	if (s->lane_count)
		qsort(places, s->lane_count, sizeof(*places), compare_places);
	count = collect_pieces(m, places, s->lane_count, pieces);
	for (size_t i = 0; i < count; i = end) {
		for (end = i; end < count && pieces[end].cell->kernel == pieces[i].cell->kernel;
			end++)
			;
		add_kernel(s, m, pieces + i, end - i, &room);
	}
	if (s->kernel_count)
		qsort(s->kernels, s->kernel_count, sizeof(*s->kernels), compare_kernels);
}

/* ---- launches ---- */

static int compare_name(const void *name, const void *kernel)
{
	return strcmp(name, ((const struct diff_kernel *)kernel)->name);
}

static int compare_launches(const void *a, const void *b)
{
	const struct diff_launch *x = a, *y = b;

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Finds the kernel of each shape of the first lane's process; IDMAP_NONE: none. */
static uint32_t *find_kernels(const struct diff_side *s, const struct trace *trace)
{
	uint32_t *kernels = xmalloc((trace->shape_count + 1) * sizeof(*kernels));

	for (size_t i = 0; i < trace->shape_count; i++) {
		const struct trace_shape *shape = trace->shapes + i;
		const struct diff_kernel *kernel = NULL;

		if (shape->process_id == s->lanes->key.process_id && shape->kernel)
			kernel = bsearch(shape->kernel->name, s->kernels, s->kernel_count,
				sizeof(*s->kernels), compare_name);
		kernels[i] = kernel ? (uint32_t)(kernel - s->kernels) : IDMAP_NONE;
	}
	return kernels;
}

/* Loads the first launches of the file, which show where each kernel is launched. */
static int load_launches(struct diff_side *s, const struct trace *trace)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	CLEANUP(free_p) uint32_t *kernels = NULL;
	size_t capacity = 0;
	int r;

	if (!s->lane_count || !s->kernel_count)
		return 0;
	kernels = find_kernels(s, trace);
	r = query_ask(trace->query, "dispatch_sequence", &rows);
	while (!r && s->launch_count < DIFF_LAUNCHES && (r = query_next(rows)) > 0) {
		size_t at = trace_shape(trace, query_integer(rows, 0));

		r = 0;
		if (at == trace->shape_count || kernels[at] == IDMAP_NONE)
			continue;
		GROW(s->launches, s->launch_count, capacity);
		s->launches[s->launch_count++] = (struct diff_launch){
			trace->shapes[at].queue_id, query_integer(rows, 1), kernels[at]};
	}
	if (s->launch_count)
		qsort(s->launches, s->launch_count, sizeof(*s->launches), compare_launches);
	return r;
}

/* Counts the dispatches of the leading processes, stored and skipped. Losses are not counted; they
 * are reported separately. */
static void count_recorded(
	struct diff_side *s, const struct summary *summary, const struct leaders *leaders)
{
	for (size_t i = 0; i < summary->rank_count; i++)
		if (leaders_leads(leaders, summary->ranks[i].process_id))
			s->recorded += summary->ranks[i].stored + summary->ranks[i].skipped;
}

/* ---- collectives ---- */

static double mean(int64_t sum, uint64_t count)
{
	return count ? (double)sum / (double)count : 0;
}

static int compare_groups(const void *a, const void *b)
{
	return diff_group_order(a, b);
}

static void copy_groups(struct diff_side *s, const struct collectives_report *report)
{
	s->groups = xcalloc(report->group_count + 1, sizeof(*s->groups));
	for (size_t i = 0; i < report->group_count; i++) {
		const struct collectives_group *from = report->groups + i;
		struct diff_group *to = s->groups + s->group_count++;

		snprintf(to->op, sizeof(to->op), "%s", from->op);
		to->datatype = from->datatype;
		to->bucket = from->bucket;
		to->ranks = from->ranks;
		to->count = from->count;
		to->timed = from->timed;
		to->latency_ns = mean(from->latency_ns, from->timed);
		to->p50_ns = (double)from->latency_p50_ns;
		to->p95_ns = (double)from->latency_p95_ns;
		to->comm_latency_ns = mean(from->comm_latency_ns, from->timed);
		to->skew_ns = mean(from->skew_start_ns, from->timed);
		to->bus_gb_per_s = from->bucket >= 0 && from->latency_ns > 0
					   ? from->bus_bytes / (double)from->latency_ns
					   : 0;
	}
	if (s->group_count)
		qsort(s->groups, s->group_count, sizeof(*s->groups), compare_groups);
}

/* Orders stragglers as lanes are ordered, by ids, because process_nth and gpu_nth are not set
 * yet. */
static int compare_stragglers(const void *a, const void *b)
{
	const struct diff_key *x = &((const struct diff_straggler *)a)->key;
	const struct diff_key *y = &((const struct diff_straggler *)b)->key;

	if (x->has_rank != y->has_rank)
		return x->has_rank ? -1 : 1;
	if (x->has_rank && x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	return (x->gpu_id > y->gpu_id) - (x->gpu_id < y->gpu_id);
}

static void copy_stragglers(struct diff_side *s, const struct collectives *c)
{
	s->stragglers = xcalloc(c->lane_count + 1, sizeof(*s->stragglers));
	for (size_t i = 0; i < c->lane_count; i++) {
		const struct collectives_lane *from = c->lanes + i;
		const struct collectives_process *process = c->processes + from->process;

		if (from->count)
			s->stragglers[s->straggler_count++] =
				(struct diff_straggler){.key = {.has_rank = process->has_rank,
								.rank = process->rank,
								.process_id = process->id,
								.gpu_id = from->gpu_id},
					.count = from->count,
					.last = from->last,
					.late_ns = (double)from->late_ns,
					.wait_ns = (double)from->wait_ns};
	}
	if (s->straggler_count)
		qsort(s->stragglers, s->straggler_count, sizeof(*s->stragglers),
			compare_stragglers);
	for (size_t i = 0; i < s->straggler_count; i++)
		diff_number(i ? &s->stragglers[i - 1].key : NULL, &s->stragglers[i].key);
}

static int load_collectives(
	struct diff_side *s, const struct trace *trace, const struct leaders *leaders)
{
	const struct collectives_filter theirs = {.leaders = leaders};
	CLEANUP(collectives_free_p) struct collectives *collectives = NULL;
	CLEANUP(collectives_report_free_p) struct collectives_report *report = NULL;
	int r = collectives_new(trace, &theirs, &collectives);

	if (r)
		return r;
	collectives_report_new(collectives, NULL, &report);
	copy_groups(s, report);
	copy_stragglers(s, collectives);
	s->rules = categories_text(trace->categories);
	return 0;
}

/* ---- how it was recorded ---- */

/* Joins the first column of all rows of the query @name with ", ". */
static int load_list(struct query *query, const char *name, char **ret)
{
	FILE *to = xmemstream(ret);
	const char *before = "";
	int r = 0;

	QUERY_EACH (r, query, name, rows) {
		const char *text = query_text(rows, 0);

		fprintf(to, "%s%s", before, text ? text : "?");
		before = ", ";
	}
	xfclose(to);
	return r;
}

static int load_ways(struct diff_side *s, struct query *query)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int64_t recordings;
	int r = load_list(query, "diff_modes", &s->ways);

	if (!r)
		r = load_list(query, "diff_front_ends", &s->front_ends);
	if (!r)
		r = load_list(query, "diff_gpus", &s->gpus);
	if (!r)
		r = query_number(query, "diff_recordings", 0, &recordings);
	if (r)
		return r;
	s->is_partial = recordings > 0;
	r = query_ask(query, "diff_loss", &rows);
	if (!r)
		r = query_next(rows);
	if (r <= 0)
		return r;
	s->has_loss = !query_is_null(rows, 0);
	s->loss = query_real(rows, 0);
	return 0;
}

/* Runs the modules that show a single session, in their order; later ones borrow from earlier
 * ones. */
static int load_figures(struct diff_side *s, struct query *query, const char *label,
	const struct diff_options *o, char error[QUERY_ERROR_BYTES])
{
	const struct timeline_options options = {
		.steps = o->steps, .micro_idle_ns = BREAKDOWN_MICRO_IDLE_NS, .by_kind = true};
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(timeline_free_p) struct timeline *timeline = NULL;
	CLEANUP(summary_free_p) struct summary *summary = NULL;
	CLEANUP(leaders_free_p) struct leaders *leaders = NULL;
	int r = trace_open(query, o->categories, error, &trace);

	if (!r)
		trace_begin_progress(trace, "diff", 6);
	if (!r)
		r = timeline_new(trace, &options, error, &timeline);
	if (!r)
		r = summary_new(trace,
			&(struct summary_wishes){
				.measure = {.wants_percentiles = true, .wants_work = true}},
			&summary);
	if (!r)
		r = leaders_new(trace, summary->measure, timeline->steps, &leaders);
	if (r)
		return r;
	load_steps(s, timeline, leaders);
	load_others(s, leaders);
	copy_kernels(s, summary->measure);
	r = load_launches(s, trace);
	if (r)
		return r;
	count_recorded(s, summary, leaders);
	snprintf(s->label, sizeof(s->label), "%s",
		label		? label
		: summary->name ? summary->name
				: query_path(query));
	s->verdict = TAKE(summary->verdict);
	return load_collectives(s, trace, leaders);
}

int diff_side_new(const char *name, const char *label, const struct diff_options *options,
	char error[QUERY_ERROR_BYTES], struct diff_side **ret)
{
	CLEANUP(diff_side_free_p) struct diff_side *s = xcalloc(1, sizeof(*s));
	CLEANUP(query_free_p) struct query *query = NULL;
	int r;

	error[0] = '\0';
	r = find_open(name, error, &query);
	if (!r)
		r = load_figures(s, query, label, options, error);
	if (!r)
		r = load_ways(s, query);
	if (r && !error[0])
		snprintf(error, QUERY_ERROR_BYTES, "%s", query_error(query));
	if (r)
		return r;
	s->path = xstrdup(query_path(query));
	s->is_empty = !s->lane_steps || !s->timed;
	*ret = TAKE(s);
	return 0;
}
