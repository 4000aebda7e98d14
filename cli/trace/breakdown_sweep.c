// SPDX-License-Identifier: MIT
#include "cli/trace/breakdown_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"

void sweep_lane_done(struct sweep_lane *lane)
{
	free(lane->ahead.at);
	free(lane->open.at);
	*lane = (struct sweep_lane){0};
}

/* Ties are ordered, too, or the result would depend on the order in the file. */
static bool is_before(const struct sweep_op *a, const struct sweep_op *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	if (a->submit != b->submit)
		return a->submit < b->submit;
	if (a->stop != b->stop)
		return a->stop < b->stop;
	return a->class != b->class ? a->class < b->class : a->tag < b->tag;
}

/* ---- the heap of running operations ---------------------------------------------------- */

static void heap_push(struct sweep_ops *heap, const struct sweep_op *op)
{
	size_t at = heap->count;

	GROW(heap->at, heap->count, heap->capacity);
	heap->count++;
	for (; at && is_before(op, heap->at + (at - 1) / 2); at = (at - 1) / 2)
		heap->at[at] = heap->at[(at - 1) / 2];
	heap->at[at] = *op;
}

static struct sweep_op heap_pop(struct sweep_ops *heap)
{
	struct sweep_op first = heap->at[0], last = heap->at[--heap->count];
	size_t at = 0, child;

	while ((child = at * 2 + 1) < heap->count) {
		if (child + 1 < heap->count && is_before(heap->at + child + 1, heap->at + child))
			child++;
		if (!is_before(heap->at + child, &last))
			break;
		heap->at[at] = heap->at[child];
		at = child;
	}
	heap->at[at] = last;
	return first;
}

/* ---- time ------------------------------------------------------------------------------ */

/*
 * A damaged file may contain any numbers; sums then wrap around and are wrong, but nothing breaks.
 */
static void add(const struct sweep *sweep, struct sweep_lane *lane, enum sweep_class class,
	int64_t from, int64_t to)
{
	lane->sums[class] =
		(int64_t)((uint64_t)lane->sums[class] + ((uint64_t)to - (uint64_t)from));
	if (sweep->span && to > from)
		sweep->span(sweep->context, lane, class, from, to);
}

static void tell_ends(const struct sweep *sweep, struct sweep_lane *lane)
{
	while (lane->open.count && lane->open.at[0].start <= lane->now) {
		struct sweep_op op = heap_pop(&lane->open);

		sweep->end(sweep->context, lane, op.tag, op.start);
	}
}

/* The lane is idle until @next starts. */
static void add_idle(
	const struct sweep *sweep, struct sweep_lane *lane, const struct sweep_op *next)
{
	int64_t queued = next->queued;

	if (queued < lane->now)
		queued = lane->now;
	if (queued > next->start)
		queued = next->start;
	if (next->queued == SWEEP_NO_SUBMIT) {
		add(sweep, lane, SWEEP_UNKNOWN, lane->now, next->start);
	} else {
		add(sweep, lane, SWEEP_HOST, lane->now, queued);
		add(sweep, lane, SWEEP_WAIT, queued, next->start);
	}
	lane->now = next->start;
}

static void add_busy(
	const struct sweep *sweep, struct sweep_lane *lane, enum sweep_class class, int64_t limit)
{
	int64_t to = lane->until[class] < limit ? lane->until[class] : limit;

	if (lane->open.count && lane->open.at[0].start < to)
		to = lane->open.at[0].start;
	add(sweep, lane, class, lane->now, to);
	lane->now = to;
}

/* Advances to where @next starts; with NULL to the end. */
static void advance(const struct sweep *sweep, struct sweep_lane *lane, const struct sweep_op *next)
{
	int64_t limit = next ? next->start : INT64_MAX;

	tell_ends(sweep, lane);
	while (lane->now < limit) {
		enum sweep_class class = SWEEP_COMPUTE;

		while (class <= SWEEP_COMM && lane->until[class] <= lane->now)
			class ++;
		if (class <= SWEEP_COMM)
			add_busy(sweep, lane, class, limit);
		else if (next)
			add_idle(sweep, lane, next);
		else
			return;
		tell_ends(sweep, lane);
	}
}

static void take(const struct sweep *sweep, struct sweep_lane *lane, const struct sweep_op *op)
{
	if (!lane->has_now) {
		lane->has_now = true;
		lane->now = op->start;
		for (int i = 0; i <= SWEEP_COMM; i++)
			lane->until[i] = op->start;
	}
	if (op->start < lane->now) {
		lane->is_inexact = true;
		return;
	}
	advance(sweep, lane, op);
	if (op->stop > lane->until[op->class])
		lane->until[op->class] = op->stop;
	if (op->tag == SWEEP_NO_TAG)
		return;
	sweep->begin(sweep->context, lane, op);
	heap_push(&lane->open,
		&(struct sweep_op){.start = op->stop, .tag = op->tag, .class = op->class});
}

static int compare(const void *a, const void *b)
{
	return is_before(a, b) ? -1 : is_before(b, a);
}

/* Operations of one queue alone arrive in order. */
static void order(struct sweep_ops *ops)
{
	for (size_t i = 1; i < ops->count; i++)
		if (is_before(ops->at + i, ops->at + i - 1)) {
			qsort(ops->at, ops->count, sizeof(*ops->at), compare);
			return;
		}
}

/*
 * An operation that starts later may have been in a queue long before, and the one that ends an
 * idle time may have been submitted just then. An operation without a length counts for neither.
 */
static void find_queued(struct sweep_ops *ops)
{
	int64_t first = INT64_MAX;
	bool is_known = true;

	for (size_t i = ops->count; i--;) {
		struct sweep_op *op = ops->at + i;

		if (op->stop > op->start) {
			is_known = op->submit != SWEEP_NO_SUBMIT;
			if (is_known && op->submit < first)
				first = op->submit;
		}
		op->queued = is_known ? first : SWEEP_NO_SUBMIT;
	}
}

/* Takes the first @count operations of those ahead. */
static void take_first(const struct sweep *sweep, struct sweep_lane *lane, size_t count)
{
	order(&lane->ahead);
	find_queued(&lane->ahead);
	for (size_t i = 0; i < count; i++)
		take(sweep, lane, lane->ahead.at + i);
	lane->ahead.count -= count;
	if (lane->ahead.count)
		memmove(lane->ahead.at, lane->ahead.at + count,
			lane->ahead.count * sizeof(*lane->ahead.at));
}

void sweep_add(const struct sweep *sweep, struct sweep_lane *lane, const struct sweep_op *op)
{
	GROW(lane->ahead.at, lane->ahead.count, lane->ahead.capacity);
	lane->ahead.at[lane->ahead.count++] = *op;
	if (op->stop < op->start)
		lane->ahead.at[lane->ahead.count - 1].stop = op->start;
	if (lane->ahead.count >= sweep->held_max)
		take_first(sweep, lane, (lane->ahead.count + 1) / 2);
}

void sweep_finish(const struct sweep *sweep, struct sweep_lane *lane)
{
	if (lane->ahead.count)
		take_first(sweep, lane, lane->ahead.count);
	if (lane->has_now)
		advance(sweep, lane, NULL);
}
