// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/import/rows/options.h"
#include "cli/import/rows/trace_process.h"
#include "proto/base/cleanup.h"

#define TIME_MAX_NS	  ((int64_t)1 << 62)
/* A hundred days: sums over thousands of them still fit 64 bits, as all verbs add them up. */
#define LENGTH_MAX_NS	  ((int64_t)1 << 53)
#define NUMBER_MAX	  0xffffffffffll
#define ROW_ID(p, number) ((p)->id << 40 | (int64_t)(number))

struct writing {
	struct trace_process *p;
	struct trace_index index;
	uint32_t *number_of_call; /* by trace_host.number */
	uint32_t *number_of_collective;
	int64_t *time_of_collective; /* start of its kernel */
	uint32_t *host_of_collective;
	int64_t first_ns, last_ns;
};

static void writing_done(struct writing *w)
{
	trace_index_done(&w->index);
	free(w->number_of_call);
	free(w->number_of_collective);
	free(w->time_of_collective);
	free(w->host_of_collective);
}

/* ---- times ---- */

static int add_base(struct writing *w, int64_t *start_ns, int64_t length_ns)
{
	if (*start_ns < -TIME_MAX_NS || *start_ns > TIME_MAX_NS || length_ns < 0 ||
		length_ns > LENGTH_MAX_NS)
		return -ERANGE;
	*start_ns += w->p->base_ns;
	if (*start_ns < 0 || *start_ns > TIME_MAX_NS)
		return -ERANGE;
	if (*start_ns < w->first_ns)
		w->first_ns = *start_ns;
	if (*start_ns + length_ns > w->last_ns)
		w->last_ns = *start_ns + length_ns;
	return 0;
}

static int shift_times(struct writing *w)
{
	struct trace_process *p = w->p;
	int r = 0;

	if (p->base_ns < 0 || p->base_ns > TIME_MAX_NS)
		return -ERANGE;
	for (size_t i = 0; i < p->host_count && r == 0; i++) {
		struct trace_host *host = p->hosts + i;
		int64_t length = host->end_ns - host->start_ns;

		r = add_base(w, &host->start_ns, length);
		host->end_ns = host->start_ns + length;
	}
	for (size_t i = 0; i < p->kernel_count && r == 0; i++)
		r = add_base(w, &p->kernels[i].start_ns, p->kernels[i].duration_ns);
	for (size_t i = 0; i < p->copy_count && r == 0; i++)
		r = add_base(w, &p->copies[i].start_ns, p->copies[i].duration_ns);
	for (size_t i = 0; i < p->mark_count && r == 0; i++)
		r = add_base(w, &p->marks[i].time_ns, 0);
	return r;
}

static int compare_kernels(const void *left, const void *right)
{
	const struct trace_kernel *a = left, *b = right;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->queue != b->queue)
		return a->queue < b->queue ? -1 : 1;
	return (a->duration_ns > b->duration_ns) - (a->duration_ns < b->duration_ns);
}

static int compare_copies(const void *left, const void *right)
{
	const struct trace_copy *a = left, *b = right;

	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* ---- numbers ---- */

/* Returns the time when the kernel was launched, or its start if that is unknown. */
static int64_t launch_time(const struct writing *w, uint32_t collective)
{
	uint32_t host = w->host_of_collective[collective];

	return host == TRACE_NONE ? w->time_of_collective[collective] : w->p->hosts[host].start_ns;
}

static int compare_launches(const void *left, const void *right, void *data)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	int64_t x = launch_time(data, a), y = launch_time(data, b);

	if (x != y)
		return x < y ? -1 : 1;
	/* Those of one launch follow each other as their kernels do. */
	x = ((const struct writing *)data)->time_of_collective[a];
	y = ((const struct writing *)data)->time_of_collective[b];
	if (x != y)
		return x < y ? -1 : 1;
	return (a > b) - (a < b);
}

static int make_room(struct writing *w)
{
	size_t collectives = w->p->collective_count + 1;

	w->number_of_call = calloc(w->p->host_count + 1, sizeof(*w->number_of_call));
	w->number_of_collective = calloc(collectives, sizeof(*w->number_of_collective));
	w->time_of_collective = calloc(collectives, sizeof(*w->time_of_collective));
	w->host_of_collective = calloc(collectives, sizeof(*w->host_of_collective));
	return w->number_of_call && w->number_of_collective && w->time_of_collective &&
			       w->host_of_collective
		       ? 0
		       : -ENOMEM;
}

/* Numbers calls and the collectives of kernels in one sequence, in the order of time. */
static int number_calls(struct writing *w)
{
	struct trace_process *p = w->p;
	CLEANUP(free_p) uint32_t *order = calloc(p->collective_count + 1, sizeof(*order));
	uint32_t number = 0;
	size_t next = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < p->kernel_count; i++) {
		const struct trace_kernel *kernel = p->kernels + i;

		if (kernel->collective == TRACE_NONE)
			continue;
		w->time_of_collective[kernel->collective] = kernel->start_ns;
		w->host_of_collective[kernel->collective] =
			trace_links_find(&w->index, kernel->foreign, kernel->start_ns);
	}
	for (uint32_t i = 0; i < p->collective_count; i++)
		order[i] = i;
	qsort_r(order, p->collective_count, sizeof(*order), compare_launches, w);
	for (size_t i = 0; i < p->host_count; i++) {
		const struct trace_host *host = p->hosts + i;

		if (host->kind != TRACE_CALL)
			continue;
		while (next < p->collective_count && launch_time(w, order[next]) < host->start_ns)
			w->number_of_collective[order[next++]] = ++number;
		w->number_of_call[host->number] = ++number;
	}
	while (next < p->collective_count)
		w->number_of_collective[order[next++]] = ++number;
	return 0;
}

/* ---- rows of the host ---- */

static int put_range(struct writing *w, const struct trace_host *host)
{
	struct import_store *store = w->p->store;
	sqlite3_stmt *put = store->statements[IMPORT_MARKER_PUT];

	sqlite3_bind_int64(put, 1, w->p->id);
	sqlite3_bind_int64(put, 2, host->number);
	import_bind(put, 3, host->range != 0, host->range);
	sqlite3_bind_int64(put, 4, host->tid);
	sqlite3_bind_text(put, 5, host->is_mark ? "mark" : "push", -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, 6, host->name);
	sqlite3_bind_int64(put, 7, host->start_ns);
	sqlite3_bind_int64(put, 8, host->end_ns);
	store->counts.ranges++;
	return database_run(put);
}

static int put_op(struct writing *w, const struct trace_host *host)
{
	static const struct trace_detail none = {.external = TRACE_NO_NUMBER,
		.sequence = TRACE_NO_NUMBER,
		.forward_tid = TRACE_NO_NUMBER};
	const struct trace_detail *detail =
		host->detail == TRACE_NONE ? &none : w->p->details + host->detail;
	struct import_store *store = w->p->store;
	sqlite3_stmt *put = store->statements[IMPORT_OP_PUT];

	sqlite3_bind_int64(put, 1, ROW_ID(w->p, host->number));
	import_bind(put, 2, host->op != 0, host->op);
	sqlite3_bind_int64(put, 3, host->tid);
	sqlite3_bind_int64(put, 4, host->name);
	sqlite3_bind_text(put, 5, host->kind == TRACE_PYTHON ? "python" : "op", -1, SQLITE_STATIC);
	sqlite3_bind_int64(put, 6, host->start_ns);
	sqlite3_bind_int64(put, 7, host->end_ns);
	import_bind(put, 8, detail->external != TRACE_NO_NUMBER, detail->external);
	import_bind(put, 9, detail->sequence != TRACE_NO_NUMBER, detail->sequence);
	import_bind(put, 10, detail->forward_tid != TRACE_NO_NUMBER, detail->forward_tid);
	import_bind(put, 11, detail->shapes != 0, detail->shapes);
	import_bind(put, 12, detail->types != 0, detail->types);
	import_bind(put, 13, host->range != 0, host->range);
	import_bind(put, 14, detail->inputs != 0, detail->inputs);
	store->counts.ops++;
	return database_run(put);
}

static int put_call(struct writing *w, const struct trace_host *host)
{
	const struct trace_detail *detail =
		host->detail == TRACE_NONE ? NULL : w->p->details + host->detail;
	bool has_stream = detail && detail->stream != TRACE_NO_NUMBER;
	struct import_store *store = w->p->store;
	sqlite3_stmt *put = store->statements[IMPORT_CALL_PUT],
		     *more = store->statements[IMPORT_CALL_IMPORT_PUT];
	sqlite3_stmt *api = store->statements[IMPORT_API_PUT];
	int r;

	sqlite3_bind_int64(api, 1, host->name);
	r = database_run(api);
	if (r < 0)
		return r;
	sqlite3_bind_int64(put, 1, ROW_ID(w->p, w->number_of_call[host->number]));
	sqlite3_bind_int64(put, 2, w->p->id);
	import_bind(put, 3, host->call != 0, w->number_of_call[host->call]);
	sqlite3_bind_int64(put, 4, host->tid);
	sqlite3_bind_int64(put, 5, host->name);
	sqlite3_bind_int64(put, 6, host->start_ns);
	sqlite3_bind_int64(put, 7, host->end_ns);
	import_bind(put, 8, has_stream, has_stream ? detail->stream : 0);
	import_bind(put, 9, host->range != 0, host->range);
	import_bind(put, 10, host->launch != TRACE_NONE, host->launch);
	store->counts.calls++;
	r = database_run(put);
	if (r < 0 || (!host->op && host->foreign == TRACE_NO_NUMBER))
		return r;
	sqlite3_bind_int64(more, 1, ROW_ID(w->p, w->number_of_call[host->number]));
	import_bind(more, 2, host->op != 0, host->op);
	import_bind(more, 3, host->foreign != TRACE_NO_NUMBER, host->foreign);
	return database_run(more);
}

static int put_hosts(struct writing *w)
{
	int r = 0;

	for (size_t i = 0; i < w->p->host_count && r == 0; i++) {
		const struct trace_host *host = w->p->hosts + i;

		r = host->kind == TRACE_RANGE	 ? put_range(w, host)
		    : host->kind == TRACE_CALL	 ? put_call(w, host)
		    : host->kind == TRACE_SUBMIT ? 0
						 : put_op(w, host);
	}
	return r;
}

/* ---- rows of the GPU ---- */

/* Returns the number of the call that launched it, or of its collective; 0: none has a row. */
static uint32_t caller_of(
	const struct writing *w, const struct trace_host *host, uint32_t collective)
{
	if (host && host->kind == TRACE_CALL)
		return w->number_of_call[host->number];
	return collective == TRACE_NONE ? 0 : w->number_of_collective[collective];
}

static int64_t range_of(const struct trace_host *host, int64_t own)
{
	if (own != TRACE_NO_NUMBER)
		return own;
	return host && host->range ? host->range : FEED_NULL;
}

static int put_kernel(struct writing *w, const struct trace_kernel *kernel)
{
	struct trace_process *p = w->p;
	struct feed *feed = p->store->writer->feed;
	struct trace_queue *queue = p->queues + kernel->queue;
	uint32_t at = trace_links_find(&w->index, kernel->foreign, kernel->start_ns);
	struct trace_host *named = at == TRACE_NONE ? NULL : p->hosts + at;
	/* A file may name the range instead of the call. */
	struct trace_host *host = named && named->kind != TRACE_RANGE ? named : NULL;
	uint32_t call = caller_of(w, host, kernel->collective);
	int64_t range = named && !host ? named->number : kernel->range;
	int64_t column[FEED_COLUMNS] = {
		[FEED_SHAPE] = kernel->shape,
		[FEED_SEQ] = (int64_t)queue->kernels++,
		[FEED_START] = kernel->start_ns,
		[FEED_DURATION] = kernel->duration_ns,
		[FEED_SUBMIT] = host ? kernel->start_ns - host->start_ns : FEED_NULL,
		[FEED_TID] = host ? host->tid : FEED_NULL,
		[FEED_MARKER] = range_of(host, range),
		[FEED_UNTIMED] = FEED_NULL,
		[FEED_CALL] = call ? call : FEED_NULL,
		[FEED_NODE] = host && host->kind == TRACE_CALL ? host->kernels++ : FEED_NULL,
	};

	queue->busy_ns += kernel->duration_ns;
	if (kernel->start_ns + kernel->duration_ns > queue->last_end_ns)
		queue->last_end_ns = kernel->start_ns + kernel->duration_ns;
	p->store->counts.kernels++;
	p->store->counts.linked += host != NULL;
	feed_put(feed, column);
	return feed->count == FEED_ROWS_MAX ? feed_flush(feed) : 0;
}

static int put_copy(struct writing *w, const struct trace_copy *copy, size_t number)
{
	struct trace_process *p = w->p;
	uint32_t at = trace_links_find(&w->index, copy->foreign, copy->start_ns);
	struct trace_host *host = at == TRACE_NONE ? NULL : p->hosts + at;
	uint32_t call = caller_of(w, host, TRACE_NONE);
	sqlite3_stmt *put = p->store->statements[IMPORT_COPY_PUT];
	bool has_range = host && host->range;

	sqlite3_bind_int64(put, 1, p->id);
	sqlite3_bind_int64(put, 2, (int64_t)number);
	sqlite3_bind_int64(put, 3, host ? host->tid : 0);
	sqlite3_bind_int64(put, 4, host ? host->start_ns : copy->start_ns);
	sqlite3_bind_int64(put, 5, copy->bytes == TRACE_NO_NUMBER ? 0 : copy->bytes);
	sqlite3_bind_text(put, 6, copy->direction, -1, SQLITE_STATIC);
	import_bind(put, 7, copy->source_gpu != TRACE_NO_NUMBER, copy->source_gpu);
	import_bind(put, 8, copy->target_gpu != TRACE_NO_NUMBER, copy->target_gpu);
	import_bind(put, 9, call != 0, call);
	import_bind(put, 10, has_range, has_range ? host->range : 0);
	sqlite3_bind_int64(put, 11, copy->start_ns);
	sqlite3_bind_int64(put, 12, copy->start_ns + copy->duration_ns);
	p->store->counts.copies++;
	p->store->counts.linked += host != NULL;
	return database_run(put);
}

static int put_queue(struct writing *w, uint32_t number)
{
	const struct trace_queue *queue = w->p->queues + number;
	sqlite3_stmt *put = w->p->store->statements[IMPORT_QUEUE_PUT];

	sqlite3_bind_int64(put, 1, w->p->id);
	sqlite3_bind_int64(put, 2, number);
	sqlite3_bind_int64(put, 3, queue->gpu);
	sqlite3_bind_int64(put, 4, (int64_t)queue->kernels);
	sqlite3_bind_int64(put, 5, queue->busy_ns);
	import_bind(put, 6, queue->kernels != 0, queue->last_end_ns);
	sqlite3_bind_int64(put, 7, queue->stream);
	return database_run(put);
}

/* Returns the index of @rank in "[4, 5, 6]", or TRACE_NO_NUMBER. */
static int64_t rank_in_group(const char *ranks, int64_t rank)
{
	int64_t at = 0;

	for (const char *c = ranks; c && *c && rank != TRACE_NO_NUMBER; at++) {
		char *end;

		c += strcspn(c, "-0123456789");
		if (!*c)
			break;
		if (strtoll(c, &end, 10) == rank)
			return at;
		c = end == c ? c + 1 : end;
	}
	return TRACE_NO_NUMBER;
}

static int put_collective(struct writing *w, uint32_t i)
{
	struct trace_process *p = w->p;
	const struct trace_collective *c = p->collectives + i;
	struct trace_group *group = c->group == TRACE_NONE ? NULL : p->groups + c->group;
	uint32_t at = w->host_of_collective[i];
	uint32_t launch = caller_of(w, at == TRACE_NONE ? NULL : p->hosts + at, i);
	int64_t rank = group ? rank_in_group(group->ranks, p->rank) : TRACE_NO_NUMBER;
	int64_t seq = c->seq;
	sqlite3_stmt *put = p->store->statements[IMPORT_COLLECTIVE_PUT];
	sqlite3_stmt *more = p->store->statements[IMPORT_COLLECTIVE_IMPORT_PUT];
	int r;

	if (seq == TRACE_NO_NUMBER && group)
		seq = group->next_seq++;
	sqlite3_bind_int64(put, 1, ROW_ID(p, w->number_of_collective[i]));
	import_bind(put, 2, c->comm != TRACE_NO_NUMBER, c->comm);
	import_bind(put, 3, rank != TRACE_NO_NUMBER, rank);
	import_bind(put, 4, c->size != TRACE_NO_NUMBER, c->size);
	import_bind(put, 5, seq != TRACE_NO_NUMBER, seq);
	sqlite3_bind_int64(put, 6, c->count == TRACE_NO_NUMBER ? 0 : c->count);
	sqlite3_bind_int64(put, 7, c->bytes == TRACE_NO_NUMBER ? 0 : c->bytes);
	database_bind_text(put, 8, c->datatype);
	import_bind(put, 9, c->peer != TRACE_NO_NUMBER, c->peer);
	sqlite3_bind_int64(put, 10, ROW_ID(p, launch));
	r = database_run(put);
	if (r < 0)
		return r;
	sqlite3_bind_int64(more, 1, ROW_ID(p, w->number_of_collective[i]));
	sqlite3_bind_int64(more, 2, c->op);
	database_bind_text(more, 3, c->in_split);
	database_bind_text(more, 4, c->out_split);
	p->store->counts.collectives++;
	return database_run(more);
}

/* Writes kernels in order, so that collectives without a number get one in the order of their
 * kernels. */
static int put_gpu(struct writing *w)
{
	struct trace_process *p = w->p;
	int r = 0;

	for (size_t i = 0; i < p->kernel_count && r == 0; i++) {
		r = put_kernel(w, p->kernels + i);
		if (r == 0 && p->kernels[i].collective != TRACE_NONE)
			r = put_collective(w, p->kernels[i].collective);
	}
	for (size_t i = 0; i < p->copy_count && r == 0; i++)
		r = put_copy(w, p->copies + i, i + 1);
	for (uint32_t i = 0; i < p->queue_count && r == 0; i++)
		r = put_queue(w, i);
	return r;
}

/* ---- the process ---- */

static int put_mark(struct writing *w, const struct trace_mark *mark, int64_t number)
{
	struct import_store *store = w->p->store;
	sqlite3_stmt *marker = store->statements[IMPORT_MARKER_PUT];
	sqlite3_stmt *metric = store->statements[IMPORT_METRIC_PUT];
	sqlite3_stmt *step = store->statements[IMPORT_STEP_PUT];
	int r;

	sqlite3_bind_int64(marker, 1, w->p->id);
	sqlite3_bind_int64(marker, 2, number);
	sqlite3_bind_text(marker, 5, "mark", -1, SQLITE_STATIC);
	sqlite3_bind_int64(marker, 6, mark->name);
	sqlite3_bind_int64(marker, 7, mark->time_ns);
	sqlite3_bind_int64(marker, 8, mark->time_ns);
	r = database_run(marker);
	if (r < 0)
		return r;
	sqlite3_bind_int64(metric, 1, w->p->id);
	sqlite3_bind_int64(metric, 2, number);
	sqlite3_bind_int64(metric, 3, mark->time_ns);
	sqlite3_bind_int64(metric, 4, mark->name);
	sqlite3_bind_double(metric, 5, mark->value);
	store->counts.metrics++;
	r = database_run(metric);
	if (r < 0 || mark->step == TRACE_NO_NUMBER)
		return r;
	sqlite3_bind_int64(step, 1, w->p->id);
	sqlite3_bind_int64(step, 2, number);
	sqlite3_bind_int64(step, 3, mark->name);
	sqlite3_bind_int64(step, 4, mark->step);
	return database_run(step);
}

static int put_marks(struct writing *w)
{
	int64_t number = (int64_t)w->p->host_count + 1;
	int r = 0;

	for (size_t i = 0; i < w->p->mark_count && r == 0; i++)
		r = put_mark(w, w->p->marks + i, number++);
	return r;
}

static int put_process(struct writing *w)
{
	struct trace_process *p = w->p;
	sqlite3_stmt *end = p->store->statements[IMPORT_PROCESS_END];
	int64_t session;
	int r = import_store_session(p->store, p->clock, &session);

	if (r < 0)
		return r;
	if (w->first_ns > w->last_ns)
		w->first_ns = w->last_ns = p->base_ns;
	sqlite3_bind_int64(end, 1, p->id);
	sqlite3_bind_int64(end, 2, p->pid == TRACE_NO_NUMBER ? 0 : p->pid);
	sqlite3_bind_int64(end, 3, w->first_ns);
	sqlite3_bind_int64(end, 4, w->last_ns);
	import_bind(end, 5, import_is_rank(p->rank), p->rank);
	import_bind(end, 6, import_is_rank(p->world_size), p->world_size);
	database_bind_text(end, 7, p->node);
	database_bind_text(end, 8, p->host[0] ? p->host : NULL);
	database_bind_text(end, 9, "imported");
	database_bind_text(end, 10, p->front_end);
	sqlite3_bind_null(end, 11);
	import_bind(end, 12, p->local_rank != TRACE_NO_NUMBER, p->local_rank);
	sqlite3_bind_int64(end, 13, session);
	import_store_stretch(p->store, p->clock, w->first_ns, w->last_ns);
	return database_run(end);
}

int trace_process_write(struct trace_process *process)
{
	CLEANUP(writing_done)
	struct writing w = {.p = process, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
	int r = shift_times(&w);

	if (r < 0)
		return r;
	/* qsort() must not be given NULL, even for no elements. */
	if (process->kernel_count)
		qsort(process->kernels, process->kernel_count, sizeof(*process->kernels),
			compare_kernels);
	if (process->copy_count)
		qsort(process->copies, process->copy_count, sizeof(*process->copies),
			compare_copies);
	r = trace_links_nest(process);
	if (r == 0)
		r = trace_links_index(process, &w.index);
	if (r == 0)
		r = make_room(&w);
	if (r == 0)
		r = number_calls(&w);
	if (r == 0)
		r = put_hosts(&w);
	if (r == 0)
		r = put_gpu(&w);
	if (r == 0)
		r = put_marks(&w);
	if (r == 0)
		r = put_process(&w);
	return import_store_fail(process->store, r);
}
