// SPDX-License-Identifier: MIT
#include "cli/trace/steps/steps_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/trace/steps/period.h"
#include "proto/base/cleanup.h"

/* This many dispatches of one queue are examined: some steps of any model. 8 MiB. */
#define SAMPLE_MAX	((size_t)1 << 18)
/* The first steps are not typical, so this part of the sample is left out. */
#define WARM_UP_DIVISOR 10

struct item {
	int64_t at; /* sort key */
	struct period_item item;
};

struct sample {
	struct item *at;
	size_t count, capacity;
};

static void sample_done(struct sample *sample)
{
	free(sample->at);
}

/* Kernels that were submitted together, as those of a graph, are sorted by start. */
static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->item.start_ns > y->item.start_ns) - (x->item.start_ns < y->item.start_ns);
}

/* All processes of a job behave alike: the queue with most dispatches is used for all of them. */
static const struct trace_shape *find_queue(const struct trace *trace)
{
	const struct trace_shape *most = NULL;

	for (size_t i = 0; i < trace->shape_count; i++)
		if (!most || trace->shapes[i].queue_stored > most->queue_stored)
			most = trace->shapes + i;
	return most;
}

static void add_item(struct sample *sample, const struct query_rows *rows,
	const struct trace_shape *shape, bool is_one_queue)
{
	int64_t start = query_integer(rows, 2), at = query_integer(rows, 1), end;

	/*
	 * Dispatches of several queues are sorted by their submission, because each queue numbers
	 * its own.
	 */
	if (!is_one_queue && (query_is_null(rows, 2) ||
				     __builtin_sub_overflow(start, query_integer(rows, 4), &at)))
		return;
	GROW(sample->at, sample->count, sample->capacity);
	if (__builtin_add_overflow(start, query_integer(rows, 3), &end) || query_is_null(rows, 2))
		end = start - (start > INT64_MIN);
	sample->at[sample->count++] = (struct item){
		.at = at,
		.item = {.kernel_id = shape->kernel_id, .start_ns = start, .end_ns = end},
	};
}

/* Takes the dispatches of @queue alone, or of all queues of its GPU. */
static int take_sample(const struct trace *trace, const struct trace_shape *queue,
	bool is_one_queue, struct sample *sample)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	size_t wanted = is_one_queue && queue->queue_stored && queue->queue_stored < SAMPLE_MAX
				? (size_t)queue->queue_stored
				: SAMPLE_MAX;
	int r = query_ask(trace->query, "dispatch_sequence", &rows);

	while (!r && sample->count < wanted && (r = query_next(rows)) > 0) {
		size_t at = trace_shape(trace, query_integer(rows, 0));
		const struct trace_shape *shape = trace->shapes + at;

		r = 0;
		if (at < trace->shape_count && shape->process_id == queue->process_id &&
			(is_one_queue ? shape->queue_id == queue->queue_id
				      : shape->gpu_id == queue->gpu_id))
			add_item(sample, rows, shape, is_one_queue);
	}
	if (sample->count)
		qsort(sample->at, sample->count, sizeof(*sample->at), compare_items);
	return r;
}

static void search(const struct sample *sample, struct period *ret)
{
	size_t skipped = sample->count / WARM_UP_DIVISOR, n = sample->count - skipped;
	CLEANUP(free_p) struct period_item *items = xcalloc(n + 1, sizeof(*items));

	for (size_t i = 0; i < n; i++)
		items[i] = sample->at[skipped + i].item;
	period_find(items, n, ret);
}

static int find_in(const struct trace *trace, const struct trace_shape *queue, bool is_one_queue,
	struct period *ret)
{
	CLEANUP(sample_done) struct sample sample = {0};
	int r = take_sample(trace, queue, is_one_queue, &sample);

	if (!r)
		search(&sample, ret);
	return r;
}

/*
 * The kernel begins a step on any queue of the GPU on which its process does most, or on that queue
 * only.
 */
static void mark_begins(struct steps_work *work, int64_t kernel_id, bool is_one_queue)
{
	CLEANUP(free_p)
	const struct trace_shape **most = xcalloc(work->steps->count + 1, sizeof(const void *));

	for (size_t i = 0; i < work->trace->shape_count; i++) {
		const struct trace_shape *shape = work->trace->shapes + i;
		const struct trace_shape **own = most + work->shapes[i].process;

		if (!*own || shape->queue_stored > (*own)->queue_stored)
			*own = shape;
	}
	for (size_t i = 0; i < work->trace->shape_count; i++) {
		const struct trace_shape *shape = work->trace->shapes + i;
		const struct trace_shape *own = most[work->shapes[i].process];

		work->shapes[i].begins_step = shape->kernel_id == kernel_id &&
					      (is_one_queue ? shape->queue_id == own->queue_id
							    : shape->gpu_id == own->gpu_id);
	}
}

int steps_find_period(struct steps_work *work)
{
	struct steps *steps = work->steps;
	const struct trace_shape *queue = find_queue(work->trace);
	struct period period = {0}, of_queue = {0};
	bool is_one_queue = false;
	int r;

	steps->source = STEPS_WHOLE;
	snprintf(steps->line, sizeof(steps->line),
		"steps: none (no roctx marker names them, and kernels show no period): each "
		"rank's run is one");
	if (!queue)
		return 0;
	/*
	 * The order of threads that submit to their own queues varies: then only the queue with
	 * most dispatches shows the period.
	 */
	r = find_in(work->trace, queue, false, &period);
	if (!r && !period.kernels) {
		r = find_in(work->trace, queue, true, &of_queue);
		is_one_queue = of_queue.kernels > 0;
		if (of_queue.confidence > period.confidence || of_queue.kernels)
			period = of_queue;
	}
	steps->confidence = period.confidence;
	if (r || !period.kernels)
		return r;
	steps->source = STEPS_INFERRED;
	steps->period = period.kernels;
	mark_begins(work, period.first_kernel_id, is_one_queue);
	snprintf(steps->line, sizeof(steps->line),
		"steps: inferred (confidence %.2f): kernels repeat every %zu on a %s; roctx ranges "
		"name them better",
		period.confidence, period.kernels, is_one_queue ? "queue" : "GPU");
	return 0;
}
