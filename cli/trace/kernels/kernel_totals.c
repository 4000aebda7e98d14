// SPDX-License-Identifier: MIT
#include "cli/trace/kernels/kernel_totals.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/base/wrapping.h"
#include "cli/trace/kernels/host_call_key.h"
#include "cli/trace/steps/step_names.h"
#include "proto/base/cleanup.h"

/* ---- names of ranges ------------------------------------------------------------------- */

/* Maps the ranges of a process, in which kernels were submitted, to their names. */
struct measure_ranges {
	struct idmap name_of; /* keyed by process and id */
};

static void ranges_done(struct measure_ranges *ranges)
{
	idmap_done(&ranges->name_of);
}

static void add_name(struct measure *m, const char *text)
{
	GROW(m->markers, m->marker_count, m->marker_capacity);
	m->markers[m->marker_count++] = xstrdup(text ? text : "");
}

/* Maps ids of texts to names; all texts of steps have one name, "step N". */
static int load_texts(struct query *query, const struct step_names *steps, struct measure *m,
	struct idmap *name_of_text)
{
	int r = 0;

	QUERY_EACH (r, query, "range_texts", rows) {
		int64_t id = query_integer(rows, 0), name = step_names_name(steps, id);
		const char *text = step_names_text(steps, name);
		uint32_t *at = idmap_at(name_of_text, name), value;

		if (*at == IDMAP_NONE) {
			*at = (uint32_t)m->marker_count;
			add_name(m, text ? text : query_text(rows, 1));
		}
		value = *at;
		*idmap_at(name_of_text, id) = value;
	}
	return r;
}

static int load_ranges(struct query *query, const regex_t *steps, struct measure *measure,
	struct measure_ranges *ret)
{
	CLEANUP(step_names_done) struct step_names names = {0};
	CLEANUP(idmap_done) struct idmap name_of_text = {0};
	int r = step_names_load(query, steps, &names);

	add_name(measure, "(no range)");
	add_name(measure, "(range without a record)");
	if (!r)
		r = load_texts(query, &names, measure, &name_of_text);
	QUERY_EACH (r, query, "tree_markers", rows) {
		uint32_t *at = idmap_at(&ret->name_of,
			host_call_key(query_integer(rows, 0), query_integer(rows, 1)));
		uint32_t name = idmap_find(&name_of_text, query_integer(rows, 5));

		*at = name == IDMAP_NONE ? MEASURE_LOST_MARKER : name;
	}
	return r;
}

/* Returns MEASURE_LOST_MARKER if it has no row. */
static uint32_t find_range(const struct measure_ranges *ranges, int64_t process_id, int64_t id)
{
	uint32_t name = idmap_find(&ranges->name_of, host_call_key(process_id, id));

	return name == IDMAP_NONE ? MEASURE_LOST_MARKER : name;
}

/* ---- the pass over the dispatches ------------------------------------------------------- */

/* Columns of the queries dispatches and dispatches_in_ranges. */
enum { D_SHAPE, D_START, D_DURATION, D_CALL, D_MARKER };

struct pass {
	const struct trace *trace; /* the first cells are its shapes */
	struct measure *measure;
	const struct measure_options *options;
	/*
	 * Indexed like GPUs: it has more than one lane; for other GPUs the sums are those of the
	 * lane.
	 */
	bool *is_shared;
	struct measure_ranges ranges;
	struct idmap cell_of; /* keyed by shape and range */
};

static void pass_done(struct pass *pass)
{
	free(pass->is_shared);
	ranges_done(&pass->ranges);
	idmap_done(&pass->cell_of);
}

static void done_sets(struct measure_lane *lane)
{
	intervals_done(&lane->set);
	intervals_done(&lane->work);
}

static void free_lanes(struct measure_lane *lanes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		done_sets(lanes + i);
	free(lanes);
}

void measure_free_p(struct measure **measure)
{
	struct measure *m = *measure;

	if (!m)
		return;
	free(m->kernels);
	for (size_t i = 0; i < m->cell_count; i++)
		durations_done(&m->cells[i].durations);
	free(m->cells);
	for (size_t i = 0; i < m->marker_count; i++)
		free(m->markers[i]);
	free(m->markers);
	free(m->calls);
	measure_free_host(m);
	free_lanes(m->lanes, m->lane_count);
	free_lanes(m->gpus, m->gpu_count);
	free(m);
	*measure = NULL;
}

static struct measure_lane *make_lanes(size_t count)
{
	struct measure_lane *lanes = xcalloc(count + 1, sizeof(*lanes));

	for (size_t i = 0; i < count; i++) {
		intervals_init(&lanes[i].set, INTERVALS_HELD_MAX);
		intervals_init(&lanes[i].work, INTERVALS_HELD_MAX);
	}
	return lanes;
}

/* One for each lane of the trace, and one for each of its GPUs. */
static void load_lanes(struct pass *pass)
{
	const struct trace *trace = pass->trace;
	struct measure *m = pass->measure;

	pass->is_shared = xcalloc(trace->gpu_count + 1, sizeof(bool));
	m->lanes = make_lanes(trace->lane_count);
	m->gpus = make_lanes(trace->gpu_count);
	m->lane_count = trace->lane_count;
	m->gpu_count = trace->gpu_count;
	for (size_t i = 0; i < m->gpu_count; i++)
		m->gpus[i].gpu_id = trace->gpus[i];
	for (size_t i = 0; i < m->lane_count; i++) {
		const struct trace_lane *lane = trace->lanes + i;

		m->lanes[i].process_id = lane->process_id;
		m->lanes[i].gpu_id = lane->gpu_id;
		pass->is_shared[lane->gpu] = i && m->gpus[lane->gpu].calls;
		m->gpus[lane->gpu].calls++;
	}
	for (size_t i = 0; i < m->gpu_count; i++)
		m->gpus[i].calls = 0;
}

const struct measure_lane *measure_find_lane(
	const struct measure *measure, int64_t process_id, int64_t gpu_id)
{
	const struct measure_lane *lanes = measure->lanes;
	size_t at = PARTITION_POINT(measure->lane_count, i,
		lanes[i].process_id < process_id ||
			(lanes[i].process_id == process_id && lanes[i].gpu_id < gpu_id));

	if (at < measure->lane_count && lanes[at].process_id == process_id &&
		lanes[at].gpu_id == gpu_id)
		return lanes + at;
	return NULL;
}

static void load_cells(struct pass *pass)
{
	const struct trace *trace = pass->trace;
	struct measure *m = pass->measure;

	m->cells = xcalloc(trace->shape_count + 1, sizeof(*m->cells));
	m->cell_count = trace->shape_count;
	m->cell_capacity = trace->shape_count + 1;
	for (size_t i = 0; i < m->cell_count; i++) {
		const struct trace_shape *shape = trace->shapes + i;

		m->cells[i] = (struct measure_cell){
			.process_id = shape->process_id,
			.gpu_id = shape->gpu_id,
			.queue_id = shape->queue_id,
			.kernel_id = shape->kernel_id,
			.lane = shape->lane,
			.host = measure_find_host(m, shape->process_id),
			.is_communication = shape->category->class == CATEGORY_COMMUNICATION,
		};
	}
}

static struct measure_cell *find_shape(const struct pass *pass, int64_t id)
{
	size_t at = trace_shape(pass->trace, id);

	return at < pass->trace->shape_count ? pass->measure->cells + at : NULL;
}

/*
 * Returns the part of a shape that was submitted in ranges of that name.
 */
static struct measure_cell *find_cell(
	struct pass *pass, struct measure_cell *shape, const int64_t *row, unsigned nulls)
{
	struct measure *m = pass->measure;
	struct measure_cell cell = *shape;
	uint32_t *at;

	if (!pass->options->by_marker || nulls & 1u << D_MARKER)
		return shape;
	cell.marker = find_range(&pass->ranges, cell.process_id, row[D_MARKER]);
	at = idmap_at(&pass->cell_of, (int64_t)((uint64_t)(shape - m->cells) << 32 | cell.marker));
	if (*at != IDMAP_NONE)
		return m->cells + *at;
	GROW(m->cells, m->cell_count, m->cell_capacity);
	*at = (uint32_t)m->cell_count;
	cell.sums = (struct measure_sums){0};
	cell.durations = (struct durations){0};
	m->cells[m->cell_count] = cell;
	return m->cells + m->cell_count++;
}

static void lane_add(struct measure_lane *lane, int64_t start, int64_t duration)
{
	int64_t stop = wrap_plus(start, duration);

	if (!lane->timed++) {
		lane->first_ns = start;
		lane->last_ns = stop;
	}
	if (start < lane->first_ns)
		lane->first_ns = start;
	if (stop > lane->last_ns)
		lane->last_ns = stop;
	lane->total_ns = wrap_plus(lane->total_ns, duration);
	intervals_add(&lane->set, start, stop);
}

static void cell_add(const struct pass *pass, struct measure_cell *cell, int64_t duration)
{
	struct measure_sums *sums = &cell->sums;

	if (!sums->timed++ || duration < sums->min_ns)
		sums->min_ns = duration;
	if (sums->timed == 1 || duration > sums->max_ns)
		sums->max_ns = duration;
	sums->total_ns = wrap_plus(sums->total_ns, duration);
	if (pass->options->wants_percentiles)
		durations_add(&cell->durations, duration);
}

static int add_row(void *context, const int64_t *row, unsigned nulls)
{
	struct pass *pass = context;
	struct measure *m = pass->measure;
	struct measure_cell *cell = find_shape(pass, row[D_SHAPE]);
	struct measure_lane *lane;
	size_t gpu;

	m->rows++;
	if (!cell) /* in a damaged file; the verdict compares the rows with the ledger */
		return 0;
	cell = find_cell(pass, cell, row, nulls);
	lane = m->lanes + cell->lane;
	gpu = pass->trace->lanes[cell->lane].gpu;
	cell->sums.calls++;
	lane->calls++;
	m->gpus[gpu].calls++;
	if (nulls & 1u << D_START)
		return 0;
	if (cell->host != IDMAP_NONE && !(nulls & 1u << D_CALL))
		measure_add_launch(m, cell->host, row[D_CALL], row[D_START]);
	cell_add(pass, cell, row[D_DURATION]);
	lane_add(lane, row[D_START], row[D_DURATION]);
	if (pass->options->wants_work && !cell->is_communication)
		intervals_add(&lane->work, row[D_START], wrap_plus(row[D_START], row[D_DURATION]));
	if (pass->is_shared[gpu])
		lane_add(m->gpus + gpu, row[D_START], row[D_DURATION]);
	return 0;
}

static int pass_over_rows(struct pass *pass)
{
	return query_fold(pass->trace->query,
		pass->options->by_marker ? "dispatches_in_ranges" : "dispatches", add_row, pass);
}

static int add_again(void *context, const int64_t *row, unsigned nulls)
{
	struct pass *pass = context;
	const struct measure_cell *shape = find_shape(pass, row[D_SHAPE]);
	int64_t stop = wrap_plus(row[D_START], row[D_DURATION]);
	struct intervals *set;
	size_t gpu;

	if (!shape || nulls & 1u << D_START)
		return 0;
	set = &pass->measure->lanes[shape->lane].set;
	if (set->limit == SIZE_MAX)
		intervals_add(set, row[D_START], stop);
	set = &pass->measure->lanes[shape->lane].work;
	if (set->limit == SIZE_MAX && !shape->is_communication)
		intervals_add(set, row[D_START], stop);
	gpu = pass->trace->lanes[shape->lane].gpu;
	set = &pass->measure->gpus[gpu].set;
	if (set->limit == SIZE_MAX && pass->is_shared[gpu])
		intervals_add(set, row[D_START], stop);
	return 0;
}

static bool reset_inexact(struct intervals *set)
{
	if (!set->is_inexact)
		return false;
	intervals_done(set);
	intervals_init(set, SIZE_MAX);
	return true;
}

/* Rows of a lane came out of order by more than the limit, so all of them are kept now. */
static int measure_again(struct pass *pass)
{
	struct measure *m = pass->measure;
	bool is_needed = false;

	for (size_t i = 0; i < m->lane_count; i++) {
		is_needed |= reset_inexact(&m->lanes[i].set);
		is_needed |= reset_inexact(&m->lanes[i].work);
	}
	for (size_t i = 0; i < m->gpu_count; i++)
		is_needed |= reset_inexact(&m->gpus[i].set);
	return is_needed ? query_fold(pass->trace->query, "dispatches", add_again, pass) : 0;
}

static void finish_lanes(struct measure_lane *lanes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		lanes[i].busy_ns = intervals_length(&lanes[i].set);
		lanes[i].work_ns = intervals_length(&lanes[i].work);
		done_sets(lanes + i);
	}
}

/* ---- kernels of the cells -------------------------------------------------------------- */

void measure_add(struct measure_sums *to, const struct measure_sums *from)
{
	if (from->timed && (!to->timed || from->min_ns < to->min_ns))
		to->min_ns = from->min_ns;
	if (from->timed && (!to->timed || from->max_ns > to->max_ns))
		to->max_ns = from->max_ns;
	to->calls += from->calls;
	to->timed += from->timed;
	to->total_ns = wrap_plus(to->total_ns, from->total_ns);
}

void measure_percentiles(const struct measure_cell *const *cells, size_t count,
	struct durations_room *room, struct durations_percentiles *ret)
{
	CLEANUP(free_p) const struct durations **lists = xcalloc(count + 1, sizeof(void *));

	for (size_t i = 0; i < count; i++)
		lists[i] = &cells[i]->durations;
	*ret = (struct durations_percentiles){0};
	(void)durations_of(lists, count, room, ret); /* -ENODATA: zeros */
}

/*
 * Joins cells, which have their sums, to kernels. Symbols that demangle to the same name are one
 * kernel, as in the view top; the alphabetically first one is shown.
 */
static void make_kernels(const struct trace *trace, struct measure *m)
{
	CLEANUP(free_p) uint32_t *place = xmalloc((trace->kernel_count + 1) * sizeof(*place));

	m->kernels = xcalloc(trace->kernel_count + 1, sizeof(*m->kernels));
	memset(place, 0xff, trace->kernel_count * sizeof(*place)); /* MEASURE_NO_KERNEL */
	for (size_t i = 0; i < m->cell_count; i++) {
		struct measure_cell *cell = m->cells + i;
		const struct trace_kernel *of =
			cell->sums.calls ? trace_kernel(trace, cell->kernel_id) : NULL;
		struct measure_kernel *kernel;
		uint32_t *at;

		cell->kernel = MEASURE_NO_KERNEL;
		if (!of)
			continue;
		at = place + (of->same - trace->kernels);
		if (*at == MEASURE_NO_KERNEL) {
			*at = (uint32_t)m->kernel_count++;
			m->kernels[*at] =
				(struct measure_kernel){.name = of->name, .symbol = of->symbol};
		}
		kernel = m->kernels + *at;
		if (strcmp(of->symbol, kernel->symbol) < 0)
			kernel->symbol = of->symbol;
		cell->kernel = *at;
		measure_add(&kernel->sums, &cell->sums);
	}
}

/* ---- order ----------------------------------------------------------------------------- */

static int compare_totals(const void *a, const void *b, void *context)
{
	const struct measure *m = context;
	const struct measure_kernel *x = m->kernels + *(const uint32_t *)a;
	const struct measure_kernel *y = m->kernels + *(const uint32_t *)b;

	if (x->sums.total_ns != y->sums.total_ns)
		return x->sums.total_ns < y->sums.total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* The longest time first; cells refer to kernels by position. */
static void order_kernels(struct measure *m)
{
	CLEANUP(free_p) uint32_t *order = xcalloc(m->kernel_count + 1, sizeof(*order));
	CLEANUP(free_p) uint32_t *place = xcalloc(m->kernel_count + 1, sizeof(*place));
	struct measure_kernel *kernels = xcalloc(m->kernel_count + 1, sizeof(*kernels));

	for (uint32_t i = 0; i < m->kernel_count; i++)
		order[i] = i;
	if (m->kernel_count)
		qsort_r(order, m->kernel_count, sizeof(*order), compare_totals, m);
	for (uint32_t i = 0; i < m->kernel_count; i++) {
		kernels[i] = m->kernels[order[i]];
		place[order[i]] = i;
	}
	free(m->kernels);
	m->kernels = kernels;
	for (size_t i = 0; i < m->cell_count; i++)
		if (m->cells[i].kernel != MEASURE_NO_KERNEL)
			m->cells[i].kernel = place[m->cells[i].kernel];
}

static int compare_cells(const void *a, const void *b)
{
	const struct measure_cell *x = *(const struct measure_cell *const *)a;
	const struct measure_cell *y = *(const struct measure_cell *const *)b;

	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static void find_percentiles(struct measure *m)
{
	CLEANUP(free_p)
	const struct measure_cell **cells = xcalloc(m->cell_count + 1, sizeof(*cells));
	CLEANUP(durations_room_done) struct durations_room room = {0};
	size_t count = 0, end;

	for (size_t i = 0; i < m->cell_count; i++)
		if (m->cells[i].kernel != MEASURE_NO_KERNEL)
			cells[count++] = m->cells + i;
	if (count)
		qsort(cells, count, sizeof(*cells), compare_cells);
	for (size_t i = 0; i < count; i = end) {
		struct measure_kernel *kernel = m->kernels + cells[i]->kernel;

		for (end = i; end < count && cells[end]->kernel == cells[i]->kernel;)
			end++;
		measure_percentiles(cells + i, end - i, &room, &kernel->sums.percentiles);
	}
}

/* One kernel per demangled name, the longest time first. */
static void name_kernels(const struct trace *trace, struct measure *measure, bool wants_percentiles)
{
	make_kernels(trace, measure);
	order_kernels(measure);
	if (wants_percentiles)
		find_percentiles(measure);
	for (size_t i = 0; i < measure->kernel_count; i++)
		measure->total_ns = wrap_plus(measure->total_ns, measure->kernels[i].sums.total_ns);
}

/* ---- everything ------------------------------------------------------------------------ */

/* Copies the sums of lanes to GPUs that only one process used. */
static void copy_lanes(const struct pass *pass)
{
	struct measure *m = pass->measure;

	for (size_t i = 0; i < m->lane_count; i++) {
		size_t gpu = pass->trace->lanes[i].gpu;

		if (pass->is_shared[gpu])
			continue;
		m->gpus[gpu] = m->lanes[i];
		m->gpus[gpu].process_id = 0;
	}
}

static int measure_fill(struct pass *pass)
{
	struct query *query = pass->trace->query;
	struct measure *m = pass->measure;
	const struct measure_options *o = pass->options;
	int r = 0;

	load_lanes(pass);
	if (o->wants_calls)
		r = measure_load_host(query, m);
	if (!r && o->by_marker)
		r = load_ranges(query, o->steps, m, &pass->ranges);
	if (!r)
		load_cells(pass);
	if (!r)
		r = pass_over_rows(pass);
	if (!r)
		r = measure_again(pass);
	if (r)
		return r;
	name_kernels(pass->trace, m, o->wants_percentiles);
	finish_lanes(m->lanes, m->lane_count);
	finish_lanes(m->gpus, m->gpu_count);
	copy_lanes(pass);
	return o->wants_calls ? measure_name_calls(query, m) : 0;
}

int measure_new(
	const struct trace *trace, const struct measure_options *options, struct measure **ret)
{
	CLEANUP(measure_free_p) struct measure *m = xcalloc(1, sizeof(*m));
	CLEANUP(pass_done) struct pass pass = {.trace = trace, .measure = m, .options = options};
	int r = measure_fill(&pass);

	if (!r)
		*ret = TAKE(m);
	return r;
}
