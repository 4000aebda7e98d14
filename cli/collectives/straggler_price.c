// SPDX-License-Identifier: MIT
/* What a straggler costs, why, and where. */
#include "cli/collectives/straggler_search.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

int straggler_compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->wait != y->wait)
		return x->wait < y->wait ? -1 : 1;
	return (x->lane > y->lane) - (x->lane < y->lane);
}

void straggler_sort_window(struct search *s, size_t window)
{
	const struct waiting_group *group = s->group;

	for (uint32_t i = 0; i < group->lane_count; i++)
		s->order[i] = (struct order){waiting_total_ns(waiting_cell(group, i, window)), i};
	qsort(s->order, group->lane_count, sizeof(*s->order), straggler_compare_order);
}

void straggler_take_parts(const struct waiting_cell *own, const struct waiting_cell *other,
	int64_t part_ns[STRAGGLER_CAUSES])
{
	part_ns[STRAGGLER_COMPUTE] += own->class_ns[SWEEP_COMPUTE] - other->class_ns[SWEEP_COMPUTE];
	part_ns[STRAGGLER_COPY] += own->class_ns[SWEEP_COPY] - other->class_ns[SWEEP_COPY];
	part_ns[STRAGGLER_TRANSFER] += waiting_transfer_ns(own) - waiting_transfer_ns(other);
	part_ns[STRAGGLER_HOST] += own->class_ns[SWEEP_HOST] - other->class_ns[SWEEP_HOST];
	part_ns[STRAGGLER_HELD] += own->class_ns[SWEEP_WAIT] - other->class_ns[SWEEP_WAIT];
	part_ns[STRAGGLER_IDLE] += own->class_ns[SWEEP_UNKNOWN] - own->ended_ns -
				   (other->class_ns[SWEEP_UNKNOWN] - other->ended_ns);
}

enum straggler_cause straggler_main_cause(const int64_t part_ns[STRAGGLER_CAUSES], int64_t whole)
{
	int most = 0;

	for (int i = 1; i < STRAGGLER_CAUSES; i++)
		if (part_ns[i] > part_ns[most])
			most = i;
	return (double)part_ns[most] * 100 >= (double)whole * STRAGGLER_CAUSE_PCT
		       ? (enum straggler_cause)most
		       : STRAGGLER_SEVERAL;
}

/* ---- cost ---- */

/*
 * Returns what @straggler's lanes cost in a window, 0 if the others wait for another lane.
 * *@ret_exposed is the transfer time that the next lane could have hidden behind its computation if
 * it had not run out of that while waiting; *@ret_pair_wait is the part of its wait that is for a
 * partner.
 */
static int64_t gain_in(struct search *s, const struct straggler *straggler, size_t window,
	int64_t *ret_exposed, int64_t *ret_pair_wait)
{
	const struct waiting_group *group = s->group;
	size_t k = 0;

	straggler_sort_window(s, window);
	while (k < group->lane_count && has_lane(straggler, s->order[k].lane))
		k++;
	if (!k || k == group->lane_count)
		return 0;
	*ret_exposed = waiting_transfer_ns(waiting_cell(group, s->order[k].lane, window)) -
		       waiting_transfer_ns(waiting_cell(group, s->order[0].lane, window));
	*ret_pair_wait = waiting_cell(group, s->order[k].lane, window)->pair_wait_ns;
	return s->order[k].wait - s->order[0].wait;
}

/*
 * Returns an upper bound of what @straggler's lanes cost in a window. If they become faster nothing
 * but the waiting of the others ends earlier: their operations have to be run one after the other,
 * whether their GPUs compute beside them or not. So it is what another rank waits longer, at least,
 * where it counts that it waits beside its computation.
 */
static int64_t bound_in(const struct search *s, const struct straggler *straggler, size_t window)
{
	int64_t own = INT64_MAX, least = INT64_MAX;

	for (uint32_t i = 0; i < s->group->lane_count; i++) {
		const struct waiting_cell *cell = waiting_cell(s->group, i, window);
		int64_t wait = waiting_total_ns(cell);

		if (has_lane(straggler, i))
			own = wait < own ? wait : own;
		else if (wait + cell->hidden_wait_ns < least)
			least = wait + cell->hidden_wait_ns;
	}
	return least - own;
}

/* Returns the time during which all GPUs of the group idle for their hosts, at least. */
static int64_t common_idle(const struct search *s, size_t window)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < s->group->lane_count; i++) {
		int64_t idle = waiting_cell(s->group, i, window)->class_ns[SWEEP_HOST];

		if (idle < least)
			least = idle;
	}
	return least;
}

/* ---- cause ---- */

/* What one of several stragglers does beyond the reference: in all windows that cost something, or
 * if they are late by turns, in those in which it is the one that the others wait for. */
struct share {
	int64_t part_ns[STRAGGLER_CAUSES], waiting_ns;
};

/* Returns true if one of several stragglers, with a quarter of the difference or more, has another
 * cause than all together. */
static bool has_other_cause(const struct straggler *straggler, const struct share *shares)
{
	for (size_t i = 0; i < straggler->count; i++)
		if (shares[i].waiting_ns * 4 >= straggler->waiting_ns &&
			straggler->causes[i] != straggler->cause)
			return true;
	return false;
}

/* Compares the straggler with the median of the other ranks by total wait, over the windows that
 * cost something. */
static int compare_with_reference(
	struct search *s, struct straggler *straggler, const int64_t *gains)
{
	const struct waiting_group *group = s->group;
	CLEANUP(free_p) struct share *shares = calloc(straggler->count, sizeof(*shares));
	size_t others = 0;

	free(straggler->causes);
	straggler->causes = calloc(straggler->count, sizeof(*straggler->causes));
	if (!shares || !straggler->causes)
		return -ENOMEM;
	for (uint32_t i = 0; i < group->lane_count; i++) {
		int64_t wait = 0;

		if (has_lane(straggler, i))
			continue;
		for (size_t w = 0; w < group->windows; w++)
			if (gains[w])
				wait += waiting_total_ns(waiting_cell(group, i, w));
		s->order[others++] = (struct order){wait, i};
	}
	qsort(s->order, others, sizeof(*s->order), straggler_compare_order);
	straggler->reference = s->order[(others - 1) / 2].lane;
	for (size_t w = 0; w < group->windows; w++) {
		const struct waiting_cell *a, *b;
		size_t own = 0;

		if (!gains[w])
			continue;
		/* Of several ranks, takes the one that the others wait for in this window. */
		for (size_t i = 1; i < straggler->count; i++)
			if (waiting_total_ns(waiting_cell(group, straggler->lanes[i], w)) <
				waiting_total_ns(waiting_cell(group, straggler->lanes[own], w)))
				own = i;
		a = waiting_cell(group, straggler->lanes[own], w);
		b = waiting_cell(group, straggler->reference, w);
		straggler_take_parts(a, b, straggler->part_ns);
		straggler->waiting_ns += waiting_total_ns(b) - waiting_total_ns(a);
		for (size_t i = 0; i < straggler->count; i++) {
			const struct waiting_cell *one =
				waiting_cell(group, straggler->lanes[i], w);

			if (i != own && straggler->is_in_turn)
				continue;
			straggler_take_parts(one, b, shares[i].part_ns);
			shares[i].waiting_ns += waiting_total_ns(b) - waiting_total_ns(one);
		}
		straggler->compute_ns += a->class_ns[SWEEP_COMPUTE];
		straggler->reference_compute_ns += b->class_ns[SWEEP_COMPUTE];
	}
	straggler->cause = straggler_main_cause(straggler->part_ns, straggler->waiting_ns);
	for (size_t i = 0; i < straggler->count; i++)
		straggler->causes[i] =
			straggler_main_cause(shares[i].part_ns, shares[i].waiting_ns);
	if (has_other_cause(straggler, shares))
		straggler->cause = STRAGGLER_SEVERAL;
	return 0;
}

/* ---- where ---- */

/* Sets the spans from what the straggler costs in each window. */
static int find_spans(const struct search *s, const int64_t *gains, struct straggler *straggler)
{
	const struct waiting_group *group = s->group;
	double sum = 0, squares = 0;

	free(straggler->spans);
	straggler->span_count = 0;
	straggler->spans = calloc(group->windows + 1, sizeof(*straggler->spans));
	if (!straggler->spans)
		return -ENOMEM;
	for (size_t w = 0; w < group->windows; w++) {
		sum += (double)gains[w];
		squares += (double)gains[w] * (double)gains[w];
	}
	for (size_t w = 0; w < group->windows; w++) {
		struct straggler_span *last = straggler->spans + straggler->span_count;

		if (gains[w] <= 0 || (double)gains[w] * sum * 4 < squares)
			continue;
		if (straggler->span_count && last[-1].to_ns == group->cuts[w])
			last[-1].to_ns = group->cuts[w + 1];
		else
			straggler->spans[straggler->span_count++] =
				(struct straggler_span){group->cuts[w], group->cuts[w + 1]};
	}
	return 0;
}

void straggler_cut_spans(struct straggler *straggler, int64_t from_ns)
{
	size_t first = 0, count = straggler->span_count;

	while (first < count && straggler->spans[first].to_ns <= from_ns)
		first++;
	if (first == count)
		return;
	memmove(straggler->spans, straggler->spans + first,
		(count - first) * sizeof(*straggler->spans));
	straggler->span_count = count - first;
	if (straggler->spans[0].from_ns < from_ns)
		straggler->spans[0].from_ns = from_ns;
}

/* ---- all of it ---- */

/*
 * Ranks that are late one after the other within a window wait for each other as all others do, and
 * where all of them are mended none waits for them. Adds the least of what one of them waits for
 * the others, unless that is little: then it is what their lateness differs by.
 */
static int add_waits_between(struct search *s, const int64_t *gains, struct straggler *straggler)
{
	size_t windows = s->group->windows, count = straggler->count;
	CLEANUP(free_p) double *shares = NULL;
	double sum = 0;

	if (count < 2 || count > STRAGGLER_SERIAL_MAX || straggler->is_in_turn ||
		straggler->is_about || !s->waiting || !s->waiting->collectives)
		return 0;
	shares = calloc(count * windows + 1, sizeof(*shares));
	if (!shares ||
		waiting_between(s->waiting, s->steps, s->group, straggler->lanes, count, shares))
		return -ENOMEM;
	for (size_t w = 0; w < windows; w++) {
		double least = INFINITY;

		for (size_t i = 0; i < count && gains[w]; i++) {
			double wait =
				shares[i * windows + w] *
				(double)waiting_cell(s->group, straggler->lanes[i], w)->wait_ns;

			least = wait < least ? wait : least;
		}
		sum += gains[w] ? least : 0;
	}
	if (sum * 5 >= (double)straggler->gain_ns)
		straggler->gain_ns += (int64_t)sum;
	return 0;
}

/*
 * Bounds the gain by how long all others wait for @straggler's ranks in each operation: where these
 * come no later than the others each begins as much earlier than the one before at most. All ranks
 * but the last wait in each operation for kernels that took longer by chance, and do so whichever
 * rank is mended. Faster transfers would end operations earlier, too, which bounds nothing.
 */
static int bound_by_operations(const struct search *s, struct straggler *straggler)
{
	CLEANUP(free_p) int64_t *waits = NULL;
	int64_t sum = 0;

	if (!s->waiting || !s->waiting->collectives || straggler->cause == STRAGGLER_TRANSFER)
		return 0;
	waits = calloc(s->group->windows + 1, sizeof(*waits));
	if (!waits || waiting_for(s->waiting, s->steps, s->group, straggler->lanes,
			      straggler->count, waits))
		return -ENOMEM;
	for (size_t w = 0; w < s->group->windows; w++)
		sum = wrap_plus(sum, is_counted(s, w) ? waits[w] : 0);
	if (straggler->gain_ns > sum)
		straggler->gain_ns = sum;
	return 0;
}

/* Divides what bounds and additions have made of the gain among the kinds of steps as the windows'
 * gains, so that it is all of theirs. */
static void divide_among_kinds(struct straggler *straggler)
{
	int64_t sum = 0;

	for (int i = 0; i < STEP_KINDS_MAX; i++)
		sum += straggler->kind_gain_ns[i];
	for (int i = 0; i < STEP_KINDS_MAX && sum > 0; i++) {
		double part = (double)straggler->kind_gain_ns[i] / (double)sum;
		int64_t gain = (int64_t)(part * (double)straggler->gain_ns);

		straggler->kind_gain_ns[i] =
			gain < straggler->kind_wall_ns[i] ? gain : straggler->kind_wall_ns[i];
	}
}

/* Returns what a lane does in a window other than to communicate. */
static int64_t work_in(const struct search *s, uint32_t lane, size_t window)
{
	return length_of(s->group, window) -
	       waiting_cell(s->group, lane, window)->class_ns[SWEEP_COMM];
}

/*
 * Adds what @straggler's ranks cost in the window before the first that counts, in which the
 * waiting of first operations is not known: what they do longer than the reference, at the rate of
 * the other windows at most, since a rank that warms up late is no straggler. Returns the window's
 * length.
 */
static int64_t price_before(const struct search *s, struct straggler *straggler)
{
	size_t window = s->first - 1;
	uint8_t kind = s->group->kinds ? s->group->kinds[window] : 0;
	int64_t length = length_of(s->group, window), more = 0;
	double rate = (double)straggler->gain_ns / (double)s->wall_ns;

	if (s->is_event[window] || waiting_is_empty(s->group, window) ||
		straggler->cause == STRAGGLER_TRANSFER)
		return 0;
	for (size_t i = 0; i < straggler->count; i++) {
		int64_t longer = work_in(s, straggler->lanes[i], window) -
				 work_in(s, straggler->reference, window);

		more = longer > more ? longer : more;
	}
	if ((double)more > rate * (double)length)
		more = (int64_t)(rate * (double)length);
	straggler->gain_ns += more;
	straggler->kind_gain_ns[kind] += more;
	straggler->kind_wall_ns[kind] += length;
	return length;
}

int straggler_price(struct search *s, struct straggler *straggler)
{
	CLEANUP(free_p) int64_t *gains = calloc(s->group->windows + 1, sizeof(*gains));
	int64_t common = 0, exposed = 0, pairs = 0, bound = 0, before_ns = 0;

	if (!gains)
		return -ENOMEM;
	straggler->group = s->group;
	for (size_t w = 0; w < s->group->windows; w++) {
		int64_t more = 0, pair_wait = 0;
		int64_t gain = is_counted(s, w) ? gain_in(s, straggler, w, &more, &pair_wait) : 0;
		uint8_t kind = s->group->kinds ? s->group->kinds[w] : 0;

		if (is_counted(s, w))
			straggler->kind_wall_ns[kind] += length_of(s->group, w);
		if (gain <= 0)
			continue;
		gains[w] = gain;
		straggler->windows++;
		straggler->gain_ns += gain;
		straggler->kind_gain_ns[kind] += gain;
		exposed += more;
		bound += bound_in(s, straggler, w);
		pairs += pair_wait < gain ? pair_wait : gain;
		gain += more > 0 ? more : 0;
		common += common_idle(s, w) < gain ? common_idle(s, w) : gain;
	}
	if (straggler->windows && compare_with_reference(s, straggler, gains))
		return -ENOMEM;
	if (exposed > 0)
		straggler->gain_ns += exposed;
	if (straggler->gain_ns > bound)
		straggler->gain_ns = bound;
	straggler->is_about = pairs * 10 > straggler->gain_ns;
	if (add_waits_between(s, gains, straggler) || bound_by_operations(s, straggler))
		return -ENOMEM;
	divide_among_kinds(straggler);
	straggler->is_at_most = common * 10 > straggler->gain_ns;
	straggler->is_in_slack =
		common * 2 >= straggler->gain_ns ||
		(straggler->gain_ns - common) * 100 < s->wall_ns * STRAGGLER_CERTAIN_PCT;
	if (straggler->windows && s->prices_before && s->wall_ns > 0)
		before_ns = price_before(s, straggler);
	straggler->cost_pct = s->wall_ns > 0 ? 100.0 * (double)straggler->gain_ns /
						       (double)(s->wall_ns + before_ns)
					     : 0;
	/* A pipeline stage that idles may do so in its own bubble, which costs nothing. */
	straggler->is_in_slack |=
		straggler->is_about &&
		(straggler->cause == STRAGGLER_HOST || straggler->cause == STRAGGLER_HELD ||
			straggler->cause == STRAGGLER_IDLE);
	return find_spans(s, gains, straggler);
}
