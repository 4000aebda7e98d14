// SPDX-License-Identifier: MIT
#include "cli/export/perfetto/queue_depth.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/base/array.h"

/* ---- heaps ---------------------------------------------------------------------------------- */

static void push_start(int64_t *heap, size_t at, int64_t start_ns)
{
	while (at && heap[(at - 1) / 2] > start_ns) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = start_ns;
}

static int64_t pop_start(int64_t *heap, size_t count)
{
	int64_t ret = heap[0], last = heap[count - 1];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= last)
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	return ret;
}

static void push_entry(struct queue_depth_entry *heap, size_t at, struct queue_depth_entry entry)
{
	while (at && heap[(at - 1) / 2].submit_ns > entry.submit_ns) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = entry;
}

static struct queue_depth_entry pop_entry(struct queue_depth_entry *heap, size_t count)
{
	struct queue_depth_entry ret = heap[0], last = heap[count - 1];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && heap[child + 1].submit_ns < heap[child].submit_ns)
			child++;
		if (heap[child].submit_ns >= last.submit_ns)
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	return ret;
}

/* ---- depths --------------------------------------------------------------------------------- */

/* Changes at the same time are reported as one, when the next time is known. */
static int change(
	struct queue_depth *queue, int64_t time_ns, int64_t by, queue_depth_take take, void *taker)
{
	int r = 0;

	if (time_ns > queue->now_ns) {
		if (queue->now_ns)
			r = take(taker, queue->now_ns, queue->depth);
		queue->now_ns = time_ns;
	}
	queue->depth += by;
	return r;
}

/* Counts the starts up to and including @time_ns. */
static int start_until(
	struct queue_depth *queue, int64_t time_ns, queue_depth_take take, void *taker)
{
	int r = 0;

	while (!r && queue->start_count && queue->starts[0] <= time_ns) {
		r = change(queue, pop_start(queue->starts, queue->start_count), -1, take, taker);
		queue->start_count--;
	}
	return r;
}

static int submit(struct queue_depth *queue, struct queue_depth_entry entry, queue_depth_take take,
	void *taker)
{
	int64_t *grown;
	int r = start_until(queue, entry.submit_ns, take, taker);

	if (!r && queue->start_count == QUEUE_DEPTH_MAX)
		r = start_until(queue, queue->starts[0], take, taker);
	if (!r)
		r = change(queue, entry.submit_ns, 1, take, taker);
	if (r)
		return r;
	grown = grow_by_one(queue->starts, queue->start_count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	queue->starts = grown;
	push_start(grown, queue->start_count++, entry.start_ns);
	return 0;
}

int queue_depth_add(struct queue_depth *queue, int64_t submit_ns, int64_t start_ns,
	queue_depth_take take, void *taker)
{
	int r = 0;

	if (queue->window_count == QUEUE_DEPTH_WINDOW) {
		r = submit(queue, pop_entry(queue->window, queue->window_count), take, taker);
		queue->window_count--;
	}
	push_entry(queue->window, queue->window_count++,
		(struct queue_depth_entry){submit_ns, start_ns});
	return r;
}

int queue_depth_finish(struct queue_depth *queue, queue_depth_take take, void *taker)
{
	int r = 0;

	for (; !r && queue->window_count; queue->window_count--)
		r = submit(queue, pop_entry(queue->window, queue->window_count), take, taker);
	if (!r)
		r = start_until(queue, INT64_MAX, take, taker);
	if (!r && queue->now_ns)
		r = take(taker, queue->now_ns, queue->depth);
	return r;
}

void queue_depth_done(struct queue_depth *queue)
{
	free(queue->starts);
}
