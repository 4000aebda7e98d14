// SPDX-License-Identifier: MIT
#include "cli/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cleanup.h"

/* rtl_shape of the file, in the order of its ids, with the sums of its dispatches. */
struct shape {
	int64_t id, kernel_id;
	size_t lane;
	uint64_t calls, timed;
	int64_t total_ns, min_ns, max_ns;
};

struct pass {
	struct query *query;
	struct measure *measure;
	struct shape *shapes;
	size_t count, capacity;
	size_t *gpu_of_lane;
	bool is_dense; /* id - first id is the index */
};

/* A damaged file may hold any numbers; sums wrap then, and are wrong, but nothing breaks. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void pass_done(struct pass *pass)
{
	free(pass->shapes);
	free(pass->gpu_of_lane);
}

static void free_lanes(struct measure_lane *lanes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		intervals_done(&lanes[i].set);
	free(lanes);
}

void measure_free_p(struct measure **measure)
{
	struct measure *m = *measure;

	if (!m)
		return;
	for (size_t i = 0; i < m->kernel_count; i++) {
		free(m->kernels[i].name);
		free(m->kernels[i].symbol);
	}
	free(m->kernels);
	free_lanes(m->lanes, m->lane_count);
	free_lanes(m->gpus, m->gpu_count);
	free(m);
	*measure = NULL;
}

/* Appends a lane unless @lanes ends with it: the query is sorted. */
static int add_lane(struct measure_lane **lanes, size_t *count, int64_t process_id, int64_t gpu_id)
{
	struct measure_lane *grown = *lanes;

	if (*count && grown[*count - 1].process_id == process_id &&
		grown[*count - 1].gpu_id == gpu_id)
		return 0;
	grown = reallocarray(grown, *count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*lanes = grown;
	grown[*count] = (struct measure_lane){.process_id = process_id, .gpu_id = gpu_id};
	intervals_init(&grown[(*count)++].set, INTERVALS_HELD_MAX);
	return 0;
}

static int load_lanes(
	struct query *query, const char *name, struct measure_lane **lanes, size_t *count)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, name, &rows);

	while (!r && (r = query_next(rows)) > 0)
		r = add_lane(lanes, count, query_integer(rows, 0), query_integer(rows, 1));
	return r;
}

static struct measure_lane *find_lane(
	struct measure_lane *lanes, size_t count, int64_t process_id, int64_t gpu_id)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct measure_lane *lane = lanes + middle;

		if (lane->process_id < process_id ||
			(lane->process_id == process_id && lane->gpu_id < gpu_id))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < count && lanes[low].process_id == process_id && lanes[low].gpu_id == gpu_id)
		return lanes + low;
	return NULL;
}

const struct measure_lane *measure_find_lane(
	const struct measure *measure, int64_t process_id, int64_t gpu_id)
{
	return find_lane(measure->lanes, measure->lane_count, process_id, gpu_id);
}

static int load_shapes(struct pass *pass)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(pass->query, "shapes", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		const struct measure_lane *lane = measure_find_lane(
			pass->measure, query_integer(rows, 1), query_integer(rows, 2));

		if (pass->count == pass->capacity) {
			size_t wanted = pass->capacity ? pass->capacity * 2 : 256;
			struct shape *grown = reallocarray(pass->shapes, wanted, sizeof(*grown));

			if (!grown)
				return -ENOMEM;
			pass->shapes = grown;
			pass->capacity = wanted;
		}
		pass->shapes[pass->count++] = (struct shape){
			.id = query_integer(rows, 0),
			.kernel_id = query_integer(rows, 3),
			.lane = (size_t)(lane - pass->measure->lanes),
		};
		r = 0;
	}
	pass->is_dense = pass->count && (uint64_t)pass->shapes[pass->count - 1].id -
							(uint64_t)pass->shapes[0].id ==
						pass->count - 1;
	return r;
}

static struct shape *find_shape(const struct pass *pass, int64_t id)
{
	size_t low = 0, high = pass->count;

	if (pass->is_dense) {
		low = (size_t)id - (size_t)pass->shapes[0].id;
		return low < high ? pass->shapes + low : NULL;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pass->shapes[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < pass->count && pass->shapes[low].id == id ? pass->shapes + low : NULL;
}

static int load_gpu_of_lane(struct pass *pass)
{
	struct measure *m = pass->measure;

	pass->gpu_of_lane = calloc(m->lane_count + 1, sizeof(size_t));
	if (!pass->gpu_of_lane)
		return -ENOMEM;
	for (size_t i = 0; i < m->lane_count; i++)
		pass->gpu_of_lane[i] =
			(size_t)(find_lane(m->gpus, m->gpu_count, 0, m->lanes[i].gpu_id) - m->gpus);
	return 0;
}

static int lane_add(struct measure_lane *lane, int64_t start, int64_t duration)
{
	int64_t stop = plus(start, duration);

	if (!lane->timed++) {
		lane->first_ns = start;
		lane->last_ns = stop;
	}
	if (start < lane->first_ns)
		lane->first_ns = start;
	if (stop > lane->last_ns)
		lane->last_ns = stop;
	lane->total_ns = plus(lane->total_ns, duration);
	return intervals_add(&lane->set, start, stop);
}

static int add_row(struct pass *pass, const struct query_rows *rows)
{
	struct measure *m = pass->measure;
	struct shape *shape = find_shape(pass, query_integer(rows, 0));
	struct measure_lane *lane;
	int64_t start, duration;
	int r;

	m->rows++;
	if (!shape) /* of a damaged file; the verdict compares the rows with the ledger */
		return 0;
	lane = m->lanes + shape->lane;
	shape->calls++;
	lane->calls++;
	m->gpus[pass->gpu_of_lane[shape->lane]].calls++;
	if (query_is_null(rows, 1))
		return 0;
	start = query_integer(rows, 1);
	duration = query_integer(rows, 2);
	if (!shape->timed++ || duration < shape->min_ns)
		shape->min_ns = duration;
	if (shape->timed == 1 || duration > shape->max_ns)
		shape->max_ns = duration;
	shape->total_ns = plus(shape->total_ns, duration);
	r = lane_add(lane, start, duration);
	return r ? r : lane_add(m->gpus + pass->gpu_of_lane[shape->lane], start, duration);
}

static int pass_over_rows(struct pass *pass)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(pass->query, "dispatches", &rows);

	while (!r && (r = query_next(rows)) > 0)
		r = add_row(pass, rows);
	return r;
}

/* Rows of a lane came out of order by more than the bound: hold all of it. */
static int measure_again(struct pass *pass)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	struct measure *m = pass->measure;
	bool is_needed = false;
	int r;

	for (size_t i = 0; i < m->lane_count + m->gpu_count; i++) {
		struct intervals *set =
			i < m->lane_count ? &m->lanes[i].set : &m->gpus[i - m->lane_count].set;

		if (!set->is_inexact)
			continue;
		is_needed = true;
		intervals_done(set);
		intervals_init(set, SIZE_MAX);
	}
	if (!is_needed)
		return 0;
	r = query_ask(pass->query, "dispatches", &rows);
	while (!r && (r = query_next(rows)) > 0) {
		const struct shape *shape = find_shape(pass, query_integer(rows, 0));
		int64_t start = query_integer(rows, 1), stop = plus(start, query_integer(rows, 2));
		struct intervals *set;

		r = 0;
		if (!shape || query_is_null(rows, 1))
			continue;
		set = &m->lanes[shape->lane].set;
		if (set->limit == SIZE_MAX)
			r = intervals_add(set, start, stop);
		set = &m->gpus[pass->gpu_of_lane[shape->lane]].set;
		if (!r && set->limit == SIZE_MAX)
			r = intervals_add(set, start, stop);
	}
	return r;
}

static int compare_shapes(const void *a, const void *b)
{
	const struct shape *x = a, *y = b;

	return (x->kernel_id > y->kernel_id) - (x->kernel_id < y->kernel_id);
}

static void kernel_add_shape(struct measure_kernel *kernel, const struct shape *shape)
{
	if (shape->timed && (!kernel->timed || shape->min_ns < kernel->min_ns))
		kernel->min_ns = shape->min_ns;
	if (shape->timed && (!kernel->timed || shape->max_ns > kernel->max_ns))
		kernel->max_ns = shape->max_ns;
	kernel->calls += shape->calls;
	kernel->timed += shape->timed;
	kernel->total_ns = plus(kernel->total_ns, shape->total_ns);
}

static int compare_names(const void *a, const void *b)
{
	const struct measure_kernel *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int compare_totals(const void *a, const void *b)
{
	const struct measure_kernel *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Symbols that demangle to the same name are one kernel, as in the view top. */
static void join_names(struct measure *m)
{
	size_t fill = 0;

	if (!m->kernel_count)
		return;
	qsort(m->kernels, m->kernel_count, sizeof(*m->kernels), compare_names);
	for (size_t i = 1; i < m->kernel_count; i++) {
		struct measure_kernel *into = m->kernels + fill, *from = m->kernels + i;
		struct shape sums = {.calls = from->calls,
			.timed = from->timed,
			.total_ns = from->total_ns,
			.min_ns = from->min_ns,
			.max_ns = from->max_ns};

		if (strcmp(into->name, from->name) != 0) {
			m->kernels[++fill] = *from;
			continue;
		}
		kernel_add_shape(into, &sums);
		free(from->name);
		free(from->symbol);
	}
	m->kernel_count = fill + 1;
	qsort(m->kernels, m->kernel_count, sizeof(*m->kernels), compare_totals);
}

/* Shapes and rtl_kernel are both sorted by the kernel's id. */
static int name_kernels(struct pass *pass)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	struct measure *m = pass->measure;
	size_t at = 0;
	int r = query_ask(pass->query, "kernels", &rows);

	if (pass->count)
		qsort(pass->shapes, pass->count, sizeof(*pass->shapes), compare_shapes);
	m->kernels = calloc(pass->count + 1, sizeof(*m->kernels));
	if (!m->kernels)
		return -ENOMEM;
	while (!r && at < pass->count && (r = query_next(rows)) > 0) {
		struct measure_kernel kernel = {0};
		int64_t id = query_integer(rows, 0);

		r = 0;
		for (; at < pass->count && pass->shapes[at].kernel_id <= id; at++)
			if (pass->shapes[at].kernel_id == id)
				kernel_add_shape(&kernel, pass->shapes + at);
		if (!kernel.calls)
			continue;
		kernel.name = strdup(query_text(rows, 1) ? query_text(rows, 1) : "");
		kernel.symbol = strdup(query_text(rows, 2) ? query_text(rows, 2) : "");
		m->kernels[m->kernel_count++] = kernel;
		if (!kernel.name || !kernel.symbol)
			return -ENOMEM;
	}
	return r;
}

static void finish_lanes(struct measure_lane *lanes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		lanes[i].busy_ns = intervals_length(&lanes[i].set);
		intervals_done(&lanes[i].set);
	}
}

static int measure_fill(struct pass *pass)
{
	struct measure *m = pass->measure;
	int r = load_lanes(pass->query, "lanes", &m->lanes, &m->lane_count);

	if (!r)
		r = load_lanes(pass->query, "gpus_used", &m->gpus, &m->gpu_count);
	if (!r)
		r = load_gpu_of_lane(pass);
	if (!r)
		r = load_shapes(pass);
	if (!r)
		r = pass_over_rows(pass);
	if (!r)
		r = measure_again(pass);
	if (!r)
		r = name_kernels(pass);
	if (r)
		return r;
	finish_lanes(m->lanes, m->lane_count);
	finish_lanes(m->gpus, m->gpu_count);
	join_names(m);
	for (size_t i = 0; i < m->kernel_count; i++)
		m->total_ns = plus(m->total_ns, m->kernels[i].total_ns);
	return 0;
}

int measure_new(struct query *query, struct measure **ret)
{
	CLEANUP(measure_free_p) struct measure *m = calloc(1, sizeof(*m));
	CLEANUP(pass_done) struct pass pass = {.query = query, .measure = m};
	int r;

	if (!m)
		return -ENOMEM;
	r = measure_fill(&pass);
	if (r)
		return r;
	*ret = TAKE(m);
	return 0;
}
