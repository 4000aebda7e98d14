// SPDX-License-Identifier: MIT
#include "cli/trace/steps_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/period.h"
#include "proto/base/cleanup.h"

/* So many dispatches of one queue are looked at: some steps of any model. 8 MiB. */
#define SAMPLE_MAX	   ((size_t)1 << 18)
/* The first steps are not like the others: so much of the sample is left out. */
#define WARM_UP_DIVISOR	   10
/* More steps than that of one process are no steps, but a loop within them. */
#define STEPS_INFERRED_MAX 20000

struct item {
	int64_t seq;
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

static int compare_items(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* All processes of a job do alike: the queue with most dispatches stands for all of them. */
static const struct steps_shape *find_queue(const struct steps_work *work)
{
	const struct steps_shape *most = NULL;

	for (size_t i = 0; i < work->count; i++)
		if (!most || work->shapes[i].queue_stored > most->queue_stored)
			most = work->shapes + i;
	return most;
}

static int add_item(
	struct sample *sample, const struct query_rows *rows, const struct steps_shape *shape)
{
	int64_t start = query_integer(rows, 2), end;

	if (sample->count == sample->capacity) {
		size_t wanted = sample->capacity ? sample->capacity * 2 : 1024;
		struct item *grown = reallocarray(sample->at, wanted, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		sample->at = grown;
		sample->capacity = wanted;
	}
	if (__builtin_add_overflow(start, query_integer(rows, 3), &end) || query_is_null(rows, 2))
		end = start - (start > INT64_MIN);
	sample->at[sample->count++] = (struct item){
		.seq = query_integer(rows, 1),
		.item = {.kernel_id = shape->kernel_id, .start_ns = start, .end_ns = end},
	};
	return 0;
}

static int take_sample(
	struct steps_work *work, const struct steps_shape *queue, struct sample *sample)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	size_t wanted = queue->queue_stored && queue->queue_stored < SAMPLE_MAX
				? (size_t)queue->queue_stored
				: SAMPLE_MAX;
	int r = query_ask(work->query, "dispatch_sequence", &rows);

	while (!r && sample->count < wanted && (r = query_next(rows)) > 0) {
		const struct steps_shape *shape = steps_find_shape(work, query_integer(rows, 0));

		r = 0;
		if (shape && shape->process_id == queue->process_id && shape->queue == queue->queue)
			r = add_item(sample, rows, shape);
	}
	if (sample->count)
		qsort(sample->at, sample->count, sizeof(*sample->at), compare_items);
	return r;
}

static int search(const struct sample *sample, struct period *ret)
{
	size_t skipped = sample->count / WARM_UP_DIVISOR, n = sample->count - skipped;
	CLEANUP(free_p) struct period_item *items = calloc(n + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		items[i] = sample->at[skipped + i].item;
	return period_find(items, n, ret);
}

int steps_find_period(struct steps_work *work)
{
	CLEANUP(sample_done) struct sample sample = {0};
	struct steps *steps = work->steps;
	const struct steps_shape *queue = find_queue(work);
	struct period period = {0};
	int r;

	steps->source = STEPS_WHOLE;
	snprintf(steps->line, sizeof(steps->line),
		"steps: none (no roctx marker names them, and kernels show no period): each "
		"rank's run is one");
	if (!queue)
		return 0;
	r = take_sample(work, queue, &sample);
	if (!r)
		r = search(&sample, &period);
	steps->confidence = period.confidence;
	if (r || !period.kernels || queue->queue_stored / period.kernels > STEPS_INFERRED_MAX)
		return r;
	steps->source = STEPS_INFERRED;
	steps->period = period.kernels;
	work->kernel_id = period.first_kernel_id;
	snprintf(steps->line, sizeof(steps->line),
		"steps: inferred (confidence %.2f): kernels repeat every %zu on a queue; roctx "
		"ranges name them better",
		period.confidence, period.kernels);
	return 0;
}
