// SPDX-License-Identifier: MIT
#include "cli/trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/progress.h"
#include "cli/trace/id_map.h"
#include "proto/base/cleanup.h"

void trace_free_p(struct trace **trace)
{
	struct trace *t = *trace;

	if (!t)
		return;
	for (size_t i = 0; i < t->process_count; i++) {
		free(t->processes[i].boot_id);
		free(t->processes[i].ended);
	}
	for (size_t i = 0; i < t->kernel_count; i++) {
		free(t->kernels[i].name);
		free(t->kernels[i].symbol);
	}
	free(t->processes);
	free(t->by_rank);
	free(t->kernels);
	free(t->lanes);
	free(t->gpus);
	free(t->shapes);
	categories_free_p(&t->categories);
	free(t);
	*trace = NULL;
}

/* ---- processes ------------------------------------------------------------------------- */

static char *copy_text(const struct query_rows *rows, int column)
{
	const char *text = query_text(rows, column);

	return xstrdup(text ? text : "");
}

/* Processes of one boot are on one node. */
static void set_node(struct trace *t, struct trace_process *process)
{
	for (const struct trace_process *p = t->processes; p < process; p++)
		if (!strcmp(p->boot_id, process->boot_id)) {
			process->node = p->node;
			return;
		}
	process->node = t->node_count++;
}

/* The columns of the query trace_processes. */
enum { P_ID, P_RANK, P_PID, P_BOOT, P_ENDED, P_STATUS, P_HAS_CALLS, P_DISPATCHED };

static void add_process(struct trace *t, const struct query_rows *rows, size_t *capacity)
{
	struct trace_process *p;

	GROW(t->processes, t->process_count, *capacity);
	p = t->processes + t->process_count++;
	*p = (struct trace_process){
		.id = query_integer(rows, P_ID),
		.has_rank = !query_is_null(rows, P_RANK),
		.rank = query_integer(rows, P_RANK),
		.pid = query_integer(rows, P_PID),
		.boot_id = copy_text(rows, P_BOOT),
		.ended = query_is_null(rows, P_ENDED) ? NULL : copy_text(rows, P_ENDED),
		.has_status = !query_is_null(rows, P_STATUS),
		.status = query_integer(rows, P_STATUS),
		.has_calls = query_integer(rows, P_HAS_CALLS),
		.dispatched = (uint64_t)query_integer(rows, P_DISPATCHED),
	};
	set_node(t, p);
}

static int load_processes(struct trace *t)
{
	size_t capacity = 0;
	int r = 0;

	QUERY_EACH (r, t->query, "trace_processes", rows)
		add_process(t, rows, &capacity);
	return r;
}

static int load_replicas(struct trace *t)
{
	int r = 0;

	QUERY_EACH (r, t->query, "replicas", rows) {
		struct trace_process *p = /* the trace is not shared yet */
			(struct trace_process *)trace_process(t, query_integer(rows, 0));

		if (p)
			p->replica = (struct replica_rank){
				query_integer(rows, 1), query_integer(rows, 2)};
	}
	return r;
}

void replica_name(const struct replica_rank *rank, char ret[REPLICA_NAME_BYTES])
{
	snprintf(ret, REPLICA_NAME_BYTES, "replica %" PRId64 ", rank %" PRId64, rank->replica,
		rank->rank);
}

static int load_order(struct trace *t)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	size_t count = 0;
	int r = query_ask(t->query, "ranks_by_attempt", &rows);

	t->by_rank = xcalloc(t->process_count + 1, sizeof(*t->by_rank));
	while (!r && count < t->process_count && (r = query_next(rows)) > 0) {
		t->by_rank[count] = trace_process(t, query_integer(rows, 0));
		count += t->by_rank[count] != NULL;
		r = 0;
	}
	return r;
}

const struct trace_process *trace_process(const struct trace *t, int64_t id)
{
	size_t at = PARTITION_POINT(t->process_count, i, t->processes[i].id < id);

	return at < t->process_count && t->processes[at].id == id ? t->processes + at : NULL;
}

/* ---- kernels --------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

static int load_kernels(struct trace *t)
{
	size_t capacity = 0;
	int r = 0;

	QUERY_EACH (r, t->query, "kernels", rows) {
		struct trace_kernel *kernel;

		GROW(t->kernels, t->kernel_count, capacity);
		kernel = t->kernels + t->kernel_count++;
		*kernel = (struct trace_kernel){.id = query_integer(rows, 0),
			.name = copy_text(rows, 1),
			.symbol = copy_text(rows, 2),
			.category = &category_other};
		kernel->hash = hash_text(kernel->name);
	}
	return r;
}

/* If the hashes of two names collide, the next hash is tried. */
static void find_same(struct trace *t)
{
	CLEANUP(idmap_done) struct idmap kernel_of_hash = {0};

	for (uint32_t i = 0; i < t->kernel_count; i++) {
		struct trace_kernel *kernel = t->kernels + i;

		for (uint64_t hash = kernel->hash; !kernel->same; hash++) {
			uint32_t *at = idmap_at(&kernel_of_hash, (int64_t)hash);

			if (*at == IDMAP_NONE)
				*at = i;
			if (!strcmp(t->kernels[*at].name, kernel->name))
				kernel->same = t->kernels + *at;
		}
	}
}

const struct trace_kernel *trace_kernel(const struct trace *t, int64_t id)
{
	size_t at = PARTITION_POINT(t->kernel_count, i, t->kernels[i].id < id);

	return at < t->kernel_count && t->kernels[at].id == id ? t->kernels + at : NULL;
}

/* ---- shapes and lanes ------------------------------------------------------------------ */

/* The columns of the query shapes; H_SIZE is the first of six. */
enum { H_ID, H_PROCESS, H_GPU, H_QUEUE, H_KERNEL, H_STORED, H_SIZE };

static int load_shapes(struct trace *t)
{
	size_t capacity = 0;
	int r = 0;

	QUERY_EACH (r, t->query, "shapes", rows) {
		struct trace_shape *shape;

		if (query_is_text(rows, H_PROCESS) || query_is_text(rows, H_GPU))
			return query_damaged(t->query, "a process or a GPU is not a number");
		GROW(t->shapes, t->shape_count, capacity);
		shape = t->shapes + t->shape_count++;
		*shape = (struct trace_shape){.id = query_integer(rows, H_ID),
			.process_id = query_integer(rows, H_PROCESS),
			.gpu_id = query_integer(rows, H_GPU),
			.queue_id = query_integer(rows, H_QUEUE),
			.kernel_id = query_integer(rows, H_KERNEL),
			.queue_stored = (uint64_t)query_integer(rows, H_STORED)};
		for (int i = 0; i < TRACE_SIZES; i++)
			shape->size[i] = query_integer(rows, H_SIZE + i);
		shape->process = trace_process(t, shape->process_id);
		shape->kernel = trace_kernel(t, shape->kernel_id);
		shape->category = &category_other;
	}
	if (t->shape_count)
		t->first_shape = t->shapes[0].id;
	t->is_dense = t->shape_count &&
		      (uint64_t)t->shapes[t->shape_count - 1].id - (uint64_t)t->first_shape ==
			      t->shape_count - 1;
	return r;
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int compare_lanes(const void *a, const void *b)
{
	const struct trace_lane *x = a, *y = b;

	if (x->process_id != y->process_id)
		return x->process_id < y->process_id ? -1 : 1;
	return (x->gpu_id > y->gpu_id) - (x->gpu_id < y->gpu_id);
}

/* Adds the lane of each shape; those of one lane are usually adjacent. */
static void add_lanes(struct trace *t)
{
	size_t capacity = 0, kept = 0;

	for (size_t i = 0; i < t->shape_count; i++) {
		const struct trace_lane lane = {t->shapes[i].process_id, t->shapes[i].gpu_id, 0};

		if (t->lane_count && !compare_lanes(t->lanes + t->lane_count - 1, &lane))
			continue;
		GROW(t->lanes, t->lane_count, capacity);
		t->lanes[t->lane_count++] = lane;
	}
	if (t->lane_count)
		qsort(t->lanes, t->lane_count, sizeof(*t->lanes), compare_lanes);
	for (size_t i = 0; i < t->lane_count; i++)
		if (!kept || compare_lanes(t->lanes + kept - 1, t->lanes + i))
			t->lanes[kept++] = t->lanes[i];
	t->lane_count = kept;
}

static void add_gpus(struct trace *t)
{
	size_t kept = 0;

	t->gpus = xcalloc(t->lane_count + 1, sizeof(*t->gpus));
	for (size_t i = 0; i < t->lane_count; i++)
		t->gpus[i] = t->lanes[i].gpu_id;
	qsort(t->gpus, t->lane_count, sizeof(*t->gpus), compare_numbers);
	for (size_t i = 0; i < t->lane_count; i++)
		if (!kept || t->gpus[kept - 1] != t->gpus[i])
			t->gpus[kept++] = t->gpus[i];
	t->gpu_count = kept;
	for (size_t i = 0; i < t->lane_count; i++)
		t->lanes[i].gpu = PARTITION_POINT(kept, k, t->gpus[k] < t->lanes[i].gpu_id);
}

static void load_lanes(struct trace *t)
{
	const struct trace_lane *lane = NULL;

	add_lanes(t);
	add_gpus(t);
	for (size_t i = 0; i < t->shape_count; i++) {
		struct trace_shape *shape = t->shapes + i;

		if (!lane || lane->process_id != shape->process_id || lane->gpu_id != shape->gpu_id)
			lane = trace_lane(t, shape->process_id, shape->gpu_id);
		shape->lane = (size_t)(lane - t->lanes);
	}
}

const struct trace_lane *trace_lane(const struct trace *t, int64_t process_id, int64_t gpu_id)
{
	const struct trace_lane key = {process_id, gpu_id, 0};
	size_t at = PARTITION_POINT(t->lane_count, i, compare_lanes(t->lanes + i, &key) < 0);

	return at < t->lane_count && !compare_lanes(t->lanes + at, &key) ? t->lanes + at : NULL;
}

size_t trace_copy_gpus(const struct trace *trace, int64_t process_id, const struct query_rows *rows,
	int source, int target, int64_t ret[2])
{
	const int ends[] = {target, source};
	size_t count = 0;

	for (int i = 0; i < 2; i++) {
		const int64_t gpu_id = query_integer(rows, ends[i]);

		if (query_is_null(rows, ends[i]) || (count && ret[0] == gpu_id) ||
			!trace_lane(trace, process_id, gpu_id))
			continue;
		ret[count++] = gpu_id;
	}
	for (int i = 0; i < 2 && !count; i++)
		if (!query_is_null(rows, ends[i]))
			ret[count++] = query_integer(rows, ends[i]);
	return count;
}

/* ---- everything ------------------------------------------------------------------------ */

int trace_new(struct query *query, struct trace **ret)
{
	CLEANUP(trace_free_p) struct trace *t = xcalloc(1, sizeof(*t));
	int r;

	t->query = query;
	r = load_processes(t);
	if (!r)
		r = load_replicas(t);
	if (!r)
		r = load_order(t);
	if (!r)
		r = load_kernels(t);
	if (!r)
		r = load_shapes(t);
	if (r)
		return r;
	find_same(t);
	load_lanes(t);
	*ret = TAKE(t);
	return 0;
}

int trace_categorise(struct trace *t, const char *file, char error[QUERY_ERROR_BYTES])
{
	int r = categories_new(t->query, file, error, &t->categories);

	for (size_t i = 0; i < t->kernel_count && !r; i++) {
		struct trace_kernel *kernel = t->kernels + i;

		kernel->category = categories_match(t->categories, kernel->name, kernel->symbol);
	}
	for (size_t i = 0; i < t->shape_count && !r; i++)
		if (t->shapes[i].kernel)
			t->shapes[i].category = t->shapes[i].kernel->category;
	return r;
}

void trace_begin_progress(const struct trace *trace, const char *what, double times)
{
	double dispatched = 0;

	for (size_t i = 0; i < trace->process_count; i++)
		dispatched += (double)trace->processes[i].dispatched;
	progress_begin_rows(what, (uint64_t)(dispatched * times));
}

int trace_open(
	struct query *query, const char *file, char error[QUERY_ERROR_BYTES], struct trace **ret)
{
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	int r;

	error[0] = '\0';
	r = trace_new(query, &trace);
	if (!r)
		r = trace_categorise(trace, file, error);
	if (!r)
		*ret = TAKE(trace);
	return r;
}
