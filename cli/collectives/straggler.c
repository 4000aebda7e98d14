// SPDX-License-Identifier: MIT
#include "cli/collectives/straggler.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

const char *straggler_cause_name(enum straggler_cause cause)
{
	static const char *const names[] = {
		"compute", "copy", "transfer", "host", "held", "idle", "several"};

	return names[cause];
}

static void straggler_done(struct straggler *straggler)
{
	free(straggler->lanes);
	free(straggler->causes);
	free(straggler->spans);
	*straggler = (struct straggler){0};
}

void stragglers_done(struct stragglers *stragglers)
{
	straggler_done(&stragglers->steady);
	straggler_done(&stragglers->slack);
	*stragglers = (struct stragglers){0};
}

/* ---- one group ---- */

struct order {
	int64_t wait;
	uint32_t lane;
};

/* What is found in one group. */
struct search {
	const struct waiting_group *group;
	const struct waiting *waiting;
	const struct waiting_group *steps; /* whose windows were joined to these; or the same */
	const struct meetings *meetings;   /* that join its windows; NULL: none do */
	bool *is_event; /* one per window; of joined windows also those that are not whole */
	size_t first;	/* first window that counts; those before it are warm-up */
	int64_t wall_ns;
	struct order *order; /* of one window, the shortest wait first */
	/* By lane: the gain if it alone became faster, and the sum of the squares of that gain over
	 * the windows; the gain if it and the lanes that are equally late became faster. */
	double *alone, *alone_squares, *together;
	double together_sum, together_squares;
	int64_t median_ns;
	int64_t *typical_ns; /* of each window: the median of its kind */
};

static void search_done(struct search *search)
{
	free(search->typical_ns);
	free(search->is_event);
	free(search->order);
	free(search->alone);
	free(search->alone_squares);
	free(search->together);
}

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->wait != y->wait)
		return x->wait < y->wait ? -1 : 1;
	return (x->lane > y->lane) - (x->lane < y->lane);
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int compare_lanes(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int64_t length_of(const struct waiting_group *group, size_t window)
{
	return group->cuts[window + 1] - group->cuts[window];
}

static void sort_window(struct search *s, size_t window)
{
	const struct waiting_group *group = s->group;

	for (uint32_t i = 0; i < group->lane_count; i++)
		s->order[i] = (struct order){waiting_total_ns(waiting_cell(group, i, window)), i};
	qsort(s->order, group->lane_count, sizeof(*s->order), compare_order);
}

/* Returns the number of lanes below the largest gap between the waits, at most half of all. They
 * count as equally late. */
static size_t late_together(const struct search *s)
{
	size_t most = 1;
	int64_t gap = -1;

	for (size_t k = 1; k <= s->group->lane_count / 2; k++)
		if (s->order[k].wait - s->order[k - 1].wait > gap) {
			gap = s->order[k].wait - s->order[k - 1].wait;
			most = k;
		}
	return most;
}

static bool has_lane(const struct straggler *straggler, uint32_t lane)
{
	for (size_t i = 0; i < straggler->count; i++)
		if (straggler->lanes[i] == lane)
			return true;
	return false;
}

static bool is_counted(const struct search *s, size_t window)
{
	return window >= s->first && !s->is_event[window] && !waiting_is_empty(s->group, window);
}

/* Returns true if the window counts and is not so short that it says nothing of the others, as what
 * remains after the last operation of all. */
static bool is_compared(const struct search *s, size_t window)
{
	return is_counted(s, window) && length_of(s->group, window) * 10 >= s->median_ns;
}

static void add_window(struct search *s, size_t window)
{
	size_t together;
	double alone, gain;

	sort_window(s, window);
	together = late_together(s);
	alone = (double)(s->order[1].wait - s->order[0].wait);
	gain = (double)(s->order[together].wait - s->order[0].wait);
	s->alone[s->order[0].lane] += alone;
	s->alone_squares[s->order[0].lane] += alone * alone;
	s->together_sum += gain;
	s->together_squares += gain * gain;
	for (size_t i = 0; i < together; i++)
		s->together[s->order[i].lane] += gain;
	s->wall_ns += length_of(s->group, window);
}

/* Returns the median length of the windows of @kind. For a negative @kind, or a kind with too few
 * windows, returns that of all windows. */
static int64_t median_of_kind(const struct waiting_group *group, int kind, int64_t *buffer)
{
	size_t count = 0;

	for (size_t i = 0; i < group->windows; i++)
		if (kind < 0 || group->kinds[i] == kind)
			buffer[count++] = length_of(group, i);
	if (kind >= 0 && count < STEP_KINDS_STEPS_LEAST)
		return median_of_kind(group, -1, buffer);
	qsort(buffer, count, sizeof(*buffer), compare_times);
	return buffer[count / 2];
}

static int find_medians(struct search *s)
{
	const struct waiting_group *group = s->group;
	CLEANUP(free_p) int64_t *buffer = calloc(group->windows + 1, sizeof(*buffer));
	int64_t of_kind[STEP_KINDS_MAX] = {0};

	if (!buffer)
		return -ENOMEM;
	s->median_ns = median_of_kind(group, -1, buffer);
	for (size_t i = 0; i < group->windows; i++) {
		int64_t *median = group->kinds ? of_kind + group->kinds[i] : &s->median_ns;

		if (group->kinds && !*median)
			*median = median_of_kind(group, group->kinds[i], buffer);
		s->typical_ns[i] = *median;
	}
	return 0;
}

/* Returns the length of a window, scaled as if all kinds were equally long. */
static double relative_length(const struct search *s, size_t window)
{
	return s->typical_ns[window] > 0
		       ? (double)length_of(s->group, window) * (double)s->median_ns /
				 (double)s->typical_ns[window]
		       : 0;
}

/* Returns the number of standard deviations that any set of @k of @n ranks exceeds by chance in one
 * of a thousand jobs. */
static double deviations(size_t k, size_t n)
{
	double sets = lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);

	return sqrt(2 * (log(1000) + sets));
}

/*
 * If chance gives the gain of each window to one rank or another, @k of @n ranks have the mean sum
 * k / n of all gains, and the variance squares (k / n) (1 - k / n). Returns true if @own is beyond
 * that.
 */
static bool is_beyond_lot(double own, double sum, double squares, size_t k, size_t n)
{
	double part = (double)k / (double)n;

	return own - sum * part > deviations(k, n) * sqrt(squares * part * (1 - part));
}

/*
 * Returns true if the other ranks wait longer than @straggler's ranks in all windows alike. It is
 * Student's t of the difference between the shortest wait of the others and the longest of its own
 * (if is_in_turn: the shortest). The quantile comes from that of the normal distribution, as sqrt(f
 * (exp(z^2 / f) - 1)) for f degrees of freedom.
 */
static bool is_steady(struct search *s, const struct straggler *straggler)
{
	double sum = 0, squares = 0, mean, error, z, f;
	size_t count = 0;

	for (size_t w = 0; w < s->group->windows; w++) {
		int64_t own = straggler->is_in_turn ? INT64_MAX : INT64_MIN, others = INT64_MAX;

		if (!is_compared(s, w))
			continue;
		for (uint32_t i = 0; i < s->group->lane_count; i++) {
			int64_t wait = waiting_total_ns(waiting_cell(s->group, i, w));

			if (!has_lane(straggler, i))
				others = wait < others ? wait : others;
			else if (straggler->is_in_turn ? wait < own : wait > own)
				own = wait;
		}
		sum += (double)(others - own);
		squares += (double)(others - own) * (double)(others - own);
		count++;
	}
	if (count < 3)
		return false;
	f = (double)count - 1;
	mean = sum / (double)count;
	error = sqrt((squares - sum * mean) / f / (double)count);
	z = deviations(straggler->count, s->group->lane_count);
	return mean > error * sqrt(f * (exp(z * z / f) - 1));
}

/*
 * Returns true if one of @straggler's ranks waits least in nearly every window. If chance decides,
 * the probability that k of n ranks get w or more of m windows is that of the binomial
 * distribution.
 */
static bool is_always_least(struct search *s, const struct straggler *straggler)
{
	double n = (double)s->group->lane_count, k = (double)straggler->count, chance = 0;
	size_t count = 0, least = 0;

	for (size_t w = 0; w < s->group->windows; w++) {
		int64_t own = INT64_MAX, others = INT64_MAX;

		if (!is_compared(s, w))
			continue;
		for (uint32_t i = 0; i < s->group->lane_count; i++) {
			int64_t wait = waiting_total_ns(waiting_cell(s->group, i, w));
			int64_t *of = has_lane(straggler, i) ? &own : &others;

			*of = wait < *of ? wait : *of;
		}
		least += own < others;
		count++;
	}
	for (size_t i = least; i <= count; i++)
		chance += exp(lgamma((double)count + 1) - lgamma((double)i + 1) -
			      lgamma((double)(count - i) + 1) + (double)i * log(k / n) +
			      (double)(count - i) * log1p(-k / n));
	return chance * exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) < 0.001;
}

/* ---- events ---- */

/*
 * Between meetings a host may be ahead of its GPU, and wait for it in one step of several: such a
 * step is long for all of them, and no event unless the joined window is longer than others by half
 * of that, too.
 */
static bool is_long_joined(const struct search *s, size_t window, int64_t median_ns)
{
	const struct meetings *m = s->meetings;

	return !m || !m->is_whole[m->joined[window]] ||
	       (length_of(&m->group, m->joined[window]) - median_ns) * 2 >=
		       length_of(s->group, window) - s->typical_ns[window];
}

static void find_events(struct search *s, int64_t joined_ns, struct straggler_event *ret)
{
	const struct waiting_group *group = s->group;
	/* Without other ranks, which make it an event that they wait for, the first step is left
	 * out, as from all other figures. */
	size_t first = group->is_alone ? s->first : 0;
	int64_t whole = group->cuts[group->windows] - group->cuts[first], beyond = 0;
	struct straggler_event event = {.group = group};

	for (size_t i = first; i < group->windows; i++) {
		int64_t length = length_of(group, i), median = s->typical_ns[i];

		if (length < median * STRAGGLER_EVENT_TIMES || waiting_is_empty(group, i) ||
			!is_long_joined(s, i, joined_ns))
			continue;
		/* A window that costs little is noise of short windows. */
		if ((double)(length - median) * 100 < (double)whole * STRAGGLER_EVENT_PCT / 4)
			continue;
		if (!event.count++)
			event.first = i;
		if (length > event.longest_ns) {
			event.longest_ns = length;
			event.longest = i;
			event.median_ns = median;
		}
		beyond += length - median;
		s->is_event[i] = true;
	}
	event.cost_pct = whole > 0 ? 100.0 * (double)beyond / (double)whole : 0;
	/* If there are many, they are not events but the normal state of the job. */
	if (!event.count || event.count * 5 > group->windows ||
		event.cost_pct < STRAGGLER_EVENT_PCT) {
		memset(s->is_event, 0, group->windows * sizeof(*s->is_event));
		return;
	}
	if (event.cost_pct > ret->cost_pct)
		*ret = event;
}

/* Adds by how much each part of a cell exceeds that of the cell it is compared with. */
static void take_parts(const struct waiting_cell *own, const struct waiting_cell *other,
	int64_t part_ns[STRAGGLER_CAUSES])
{
	part_ns[STRAGGLER_COMPUTE] += own->class_ns[SWEEP_COMPUTE] - other->class_ns[SWEEP_COMPUTE];
	part_ns[STRAGGLER_COPY] += own->class_ns[SWEEP_COPY] - other->class_ns[SWEEP_COPY];
	part_ns[STRAGGLER_TRANSFER] += waiting_transfer_ns(own) - waiting_transfer_ns(other);
	part_ns[STRAGGLER_HOST] += own->class_ns[SWEEP_HOST] - other->class_ns[SWEEP_HOST];
	part_ns[STRAGGLER_HELD] += own->class_ns[SWEEP_WAIT] - other->class_ns[SWEEP_WAIT];
	part_ns[STRAGGLER_IDLE] += own->class_ns[SWEEP_UNKNOWN] - other->class_ns[SWEEP_UNKNOWN];
}

static enum straggler_cause main_cause(const int64_t part_ns[STRAGGLER_CAUSES], int64_t whole)
{
	int most = 0;

	for (int i = 1; i < STRAGGLER_CAUSES; i++)
		if (part_ns[i] > part_ns[most])
			most = i;
	return (double)part_ns[most] * 100 >= (double)whole * STRAGGLER_CAUSE_PCT
		       ? (enum straggler_cause)most
		       : STRAGGLER_SEVERAL;
}

/* Finds the rank that the others wait for in the longest window, if that makes it long; else
 * explains it by what all ranks do in it. */
static void explain_event(struct search *s, struct straggler_event *event)
{
	const struct waiting_group *group = event->group;
	int64_t beyond = event->longest_ns - event->median_ns, part_ns[STRAGGLER_CAUSES] = {0};
	struct waiting_cell none = {0};

	sort_window(s, event->longest);
	event->lane = group->lane_count > 1 ? COLLECTIVES_NONE : 0;
	if (group->lane_count > 1 && (s->order[1].wait - s->order[0].wait) * 2 >= beyond) {
		event->lane = s->order[0].lane;
		take_parts(waiting_cell(group, event->lane, event->longest),
			waiting_cell(group, s->order[group->lane_count / 2].lane, event->longest),
			part_ns);
		event->cause = main_cause(part_ns, beyond);
		return;
	}
	for (size_t i = 0; i < group->lane_count; i++)
		take_parts(waiting_cell(group, i, event->longest), &none, part_ns);
	event->cause = main_cause(part_ns, beyond * (int64_t)group->lane_count);
}

/* ---- the straggler ---- */

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

	sort_window(s, window);
	while (k < group->lane_count && has_lane(straggler, s->order[k].lane))
		k++;
	if (!k || k == group->lane_count)
		return 0;
	*ret_exposed = waiting_transfer_ns(waiting_cell(group, s->order[k].lane, window)) -
		       waiting_transfer_ns(waiting_cell(group, s->order[0].lane, window));
	*ret_pair_wait = waiting_cell(group, s->order[k].lane, window)->pair_wait_ns;
	return s->order[k].wait - s->order[0].wait;
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
	qsort(s->order, others, sizeof(*s->order), compare_order);
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
		take_parts(a, b, straggler->part_ns);
		straggler->waiting_ns += waiting_total_ns(b) - waiting_total_ns(a);
		for (size_t i = 0; i < straggler->count; i++) {
			const struct waiting_cell *one =
				waiting_cell(group, straggler->lanes[i], w);

			if (i != own && straggler->is_in_turn)
				continue;
			take_parts(one, b, shares[i].part_ns);
			shares[i].waiting_ns += waiting_total_ns(b) - waiting_total_ns(one);
		}
		straggler->compute_ns += a->class_ns[SWEEP_COMPUTE];
		straggler->reference_compute_ns += b->class_ns[SWEEP_COMPUTE];
	}
	straggler->cause = main_cause(straggler->part_ns, straggler->waiting_ns);
	for (size_t i = 0; i < straggler->count; i++)
		straggler->causes[i] = main_cause(shares[i].part_ns, shares[i].waiting_ns);
	if (has_other_cause(straggler, shares))
		straggler->cause = STRAGGLER_SEVERAL;
	return 0;
}

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

/* Leaves out what lies before @from_ns, unless that is all. */
static void cut_spans(struct straggler *straggler, int64_t from_ns)
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

static int price(struct search *s, struct straggler *straggler)
{
	CLEANUP(free_p) int64_t *gains = calloc(s->group->windows + 1, sizeof(*gains));
	int64_t common = 0, exposed = 0, pairs = 0;

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
		pairs += pair_wait < gain ? pair_wait : gain;
		gain += more > 0 ? more : 0;
		common += common_idle(s, w) < gain ? common_idle(s, w) : gain;
	}
	if (exposed > 0)
		straggler->gain_ns += exposed;
	straggler->is_about = pairs * 10 > straggler->gain_ns;
	if (add_waits_between(s, gains, straggler))
		return -ENOMEM;
	straggler->cost_pct =
		s->wall_ns > 0 ? 100.0 * (double)straggler->gain_ns / (double)s->wall_ns : 0;
	straggler->is_at_most = common * 10 > straggler->gain_ns;
	straggler->is_in_slack =
		common * 2 >= straggler->gain_ns ||
		(straggler->gain_ns - common) * 100 < s->wall_ns * STRAGGLER_CERTAIN_PCT;
	if (straggler->windows && compare_with_reference(s, straggler, gains))
		return -ENOMEM;
	/* A pipeline stage that idles may do so in its own bubble, which costs nothing. */
	straggler->is_in_slack |=
		straggler->is_about &&
		(straggler->cause == STRAGGLER_HOST || straggler->cause == STRAGGLER_HELD ||
			straggler->cause == STRAGGLER_IDLE);
	return find_spans(s, gains, straggler);
}

/*
 * Returns true if the ranks stand out beyond chance. Equal slices of time are not equal pieces of
 * work: another stage of a pipeline may come first in each, without any chance involved, so that
 * slices need a stricter test.
 */
static bool is_beyond_chance(
	struct search *s, const struct straggler *straggler, double own, double sum, double squares)
{
	if (s->group->source == WAITING_BY_SLICES)
		return !straggler->is_in_turn && is_steady(s, straggler);
	return is_beyond_lot(own, sum, squares, straggler->count, s->group->lane_count) ||
	       is_steady(s, straggler) || is_always_least(s, straggler);
}

/* Chooses the ranks with the largest gain alone: one, or several in turn that have at least @least.
 * Takes the smallest number of them that is beyond chance. */
static void choose_alone(struct search *s, double least, struct straggler *ret)
{
	double sum = 0, squares = 0, own = 0;
	size_t n = s->group->lane_count;

	for (size_t i = 0; i < n; i++) {
		sum += s->alone[i];
		squares += s->alone_squares[i];
		s->order[i] = (struct order){-(int64_t)s->alone[i], (uint32_t)i};
	}
	qsort(s->order, n, sizeof(*s->order), compare_order);
	for (size_t k = 1; k <= n / 2; k++) {
		uint32_t lane = s->order[k - 1].lane;
		bool is_more = k < n && s->alone[s->order[k].lane] >= least;

		if (s->alone[lane] < least)
			break;
		own += s->alone[lane];
		ret->lanes[ret->count++] = lane;
		ret->is_in_turn = k > 1;
		if (!is_more && is_beyond_chance(s, ret, own, sum, squares)) {
			qsort(ret->lanes, ret->count, sizeof(*ret->lanes), compare_lanes);
			return;
		}
	}
	ret->count = 0;
	ret->is_in_turn = false;
}

static void choose_together(struct search *s, double least, struct straggler *ret)
{
	size_t n = s->group->lane_count;
	double own = 0;

	for (uint32_t i = 0; i < n; i++)
		if (s->together[i] >= least) {
			ret->lanes[ret->count++] = i;
			own = s->together[i] > own ? s->together[i] : own;
		}
	if (ret->count > n / 2 ||
		!is_beyond_chance(s, ret, own, s->together_sum, s->together_squares))
		ret->count = 0;
}

static double most_of(const double *gains, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		if (gains[i] > most)
			most = gains[i];
	return most;
}

static int price_together(struct search *s, double most, struct straggler *ret)
{
	choose_together(s, most * 0.75, ret);
	return ret->count ? price(s, ret) : 0;
}

/*
 * Returns true if @both are @alone and another rank or two that are as late, each for a cause of
 * its own: then to mend @alone gains little before the others are mended as well. Stages of a
 * pipeline wait differently by design.
 */
static bool is_one_of(const struct straggler *alone, const struct straggler *both)
{
	if (both->count <= alone->count || both->count > alone->count + 2 || both->is_about ||
		both->is_in_slack || both->cost_pct < alone->cost_pct * 1.5)
		return false;
	for (size_t i = 0; i < alone->count; i++)
		if (!has_lane(both, alone->lanes[i]))
			return false;
	for (size_t i = 0; i < both->count; i++)
		if (both->causes[i] == STRAGGLER_SEVERAL)
			return false;
	return true;
}

/* Finds one rank, several in turn, or several that are late together. *@roles is raised if the
 * others wait for a partner that computes longer, as for a stage of a pipeline. */
static int find_steady(
	struct search *s, struct straggler *ret, struct straggler *slack, size_t *roles)
{
	size_t n = s->group->lane_count;
	CLEANUP(straggler_done)
	struct straggler found = {.lanes = calloc(n + 1, sizeof(*found.lanes))};
	CLEANUP(straggler_done)
	struct straggler both = {.lanes = calloc(n + 1, sizeof(*both.lanes))};
	double least = (double)s->wall_ns * STRAGGLER_COST_PCT / 100;
	double most = most_of(s->alone, n), together = most_of(s->together, n);
	int r = 0;

	if (!found.lanes || !both.lanes)
		return -ENOMEM;
	if (most >= least / 2) {
		choose_alone(s, most / 2 > least / 2 ? most / 2 : least / 2, &found);
		r = found.count ? price(s, &found) : 0;
	}
	if (!r && together >= least)
		r = price_together(s, together, &both);
	if (r)
		return r;
	if (found.cost_pct < STRAGGLER_COST_PCT || is_one_of(&found, &both)) {
		struct straggler alone = found;

		found = both;
		both = alone;
	}
	if (found.is_in_slack)
		ret = slack;
	if (found.cost_pct < STRAGGLER_COST_PCT)
		return 0;
	*roles += found.is_about && found.cause == STRAGGLER_COMPUTE;
	if (found.cost_pct <= ret->cost_pct)
		return 0;
	straggler_done(ret);
	*ret = found;
	found = (struct straggler){0};
	return 0;
}

/* ---- since when it is so ---- */

/* Finds the window that divides the lengths best, if the later ones are longer by more than 5 % and
 * by more than four standard errors, and both sides have at least a tenth of all windows. */
static void find_change(const struct search *s, struct straggler_change *ret)
{
	const struct waiting_group *group = s->group;
	size_t count = 0, best = 0, best_done = 0, done = 0;
	double all = 0, squares = 0, before = 0, best_gain = 0, best_before = 0, means[2], error;

	for (size_t i = 0; i < group->windows; i++)
		if (is_counted(s, i)) {
			double length = relative_length(s, i);

			all += length;
			squares += length * length;
			count++;
		}
	if (count < 10)
		return;
	for (size_t i = 0; i < group->windows; i++) {
		double split, gain;

		if (!is_counted(s, i))
			continue;
		if (done >= count / 10 && count - done >= count / 10 && done) {
			split = before / (double)done - (all - before) / (double)(count - done);
			gain = split * split * (double)done * (double)(count - done) /
			       (double)count;
			if (gain > best_gain) {
				best_gain = gain;
				best = i;
				best_before = before;
				best_done = done;
			}
		}
		before += relative_length(s, i);
		done++;
	}
	if (!best)
		return;
	done = best_done;
	means[0] = best_before / (double)done;
	means[1] = (all - best_before) / (double)(count - done);
	error = sqrt((squares - best_before * means[0] - (all - best_before) * means[1]) /
		     (double)count * (1.0 / (double)done + 1.0 / (double)(count - done)));
	if (means[1] > means[0] * 1.05 && means[1] - means[0] > 4 * error)
		*ret = (struct straggler_change){group, best, means[1] / means[0]};
}

/* Chooses the windows that count. */
static int choose_windows(struct search *s, struct straggler_event *event)
{
	const struct waiting_group *group = s->group;
	CLEANUP(search_done) struct search joined = {0};
	int r = 0;

	s->is_event = calloc(group->windows + 1, sizeof(*s->is_event));
	s->typical_ns = calloc(group->windows + 1, sizeof(*s->typical_ns));
	if (!s->is_event || !s->typical_ns)
		return -ENOMEM;
	if (!group->windows)
		return 0;
	s->first = group->windows >= 3;
	if (s->meetings) {
		joined.group = &s->meetings->group;
		r = choose_windows(&joined, NULL);
	}
	if (!r)
		r = find_medians(s);
	if (!r && event && group->source != WAITING_BY_SLICES)
		find_events(s, joined.median_ns, event);
	return r;
}

static int search_new(struct search *s)
{
	size_t n = s->group->lane_count;

	s->order = calloc(n + 1, sizeof(*s->order));
	s->alone = calloc(n + 1, sizeof(*s->alone));
	s->alone_squares = calloc(n + 1, sizeof(*s->alone_squares));
	s->together = calloc(n + 1, sizeof(*s->together));
	return s->order && s->alone && s->alone_squares && s->together ? 0 : -ENOMEM;
}

static int find_in_windows(struct search *s, struct stragglers *ret, size_t *roles)
{
	for (size_t i = 0; i < s->group->windows; i++)
		if (is_counted(s, i))
			add_window(s, i);
	return find_steady(s, &ret->steady, &ret->slack, roles);
}

/* Finds the straggler in the windows between meetings. */
static int find_in_joined(struct search *s, struct stragglers *ret, size_t *roles)
{
	const struct meetings *m = s->meetings;
	CLEANUP(search_done)
	struct search joined = {.group = &m->group, .steps = s->group, .waiting = s->waiting};
	int r = search_new(&joined);

	if (!r)
		r = choose_windows(&joined, NULL);
	if (r)
		return r;
	for (size_t i = 0; i < s->group->windows; i++)
		joined.is_event[m->joined[i]] |= s->is_event[i] || !m->is_whole[m->joined[i]];
	r = find_in_windows(&joined, ret, roles);
	if (ret->steady.group == &m->group)
		ret->steady.group = s->group;
	if (ret->slack.group == &m->group)
		ret->slack.group = s->group;
	return r;
}

static int search_group(const struct waiting *waiting, const struct waiting_group *group,
	struct stragglers *ret, size_t *roles)
{
	size_t n = group->lane_count;
	CLEANUP(meetings_done) struct meetings meetings = {0};
	CLEANUP(search_done)
	struct search s = {.group = group, .steps = group, .waiting = waiting};
	const struct straggler_event *before = ret->event.group ? &ret->event : NULL;
	double cost_pct = before ? before->cost_pct : 0;
	int r = meetings_join(waiting, group, &meetings);

	if (!r)
		r = search_new(&s);
	if (r)
		return r;
	s.meetings = meetings.group.windows ? &meetings : NULL;
	r = choose_windows(&s, &ret->event);
	if (r || !group->windows)
		return r;
	if (ret->event.group == group && ret->event.cost_pct > cost_pct)
		explain_event(&s, &ret->event);
	for (size_t i = 0; i < group->windows && !group->is_alone; i++) {
		if (!is_counted(&s, i))
			continue;
		for (size_t lane = 0; lane < n; lane++)
			waiting_add(&ret->sum, waiting_cell(group, lane, i));
		ret->window_ns += (uint64_t)length_of(group, i) * n;
	}
	if (n > 1)
		r = s.meetings ? find_in_joined(&s, ret, roles) : find_in_windows(&s, ret, roles);
	/* A change in another group's windows says nothing about this group. */
	if (!r && ret->steady.group == group)
		ret->change = (struct straggler_change){0};
	if (!r && (ret->steady.group == group || (!ret->steady.group && !ret->change.group)) &&
		group->source == WAITING_BY_STEPS)
		find_change(&s, &ret->change);
	/* The cost is counted from the change on. */
	if (!r && ret->steady.group == group && ret->change.group)
		cut_spans(&ret->steady, group->cuts[ret->change.window]);
	return r;
}

int stragglers_windows(const struct waiting *waiting, const struct waiting_group *group, bool **ret)
{
	CLEANUP(meetings_done) struct meetings meetings = {0};
	CLEANUP(search_done) struct search s = {.group = group};
	CLEANUP(free_p) bool *counts = calloc(group->windows + 1, sizeof(*counts));
	struct straggler_event event = {0};
	int r = meetings_join(waiting, group, &meetings);

	s.meetings = meetings.group.windows ? &meetings : NULL;
	if (!r)
		r = choose_windows(&s, &event);
	if (r || !counts)
		return r ? r : -ENOMEM;
	for (size_t i = 0; i < group->windows; i++)
		counts[i] = is_counted(&s, i);
	*ret = TAKE(counts);
	return 0;
}

int stragglers_find(const struct waiting *waiting, struct stragglers *ret)
{
	struct stragglers found = {0};
	size_t roles = 0, groups = 0;
	int r = 0;

	for (size_t i = 0; i < waiting->group_count && !r; i++) {
		groups += waiting->groups[i].lane_count > 1;
		r = search_group(waiting, waiting->groups + i, &found, &roles);
	}
	/* Where each of several groups has such a rank it has more to do than its partners by
	 * design, and is as fast as those of the other groups: those that prefill for others that
	 * decode, or the longest stage of each pipeline. */
	if (groups > 1 && roles * 2 > groups && found.steady.is_about &&
		found.steady.cause == STRAGGLER_COMPUTE)
		straggler_done(&found.steady);
	if (!r && found.steady.group && found.steady.cause == STRAGGLER_TRANSFER &&
		waiting->collectives)
		r = collectives_slow_comm(waiting->collectives,
			found.steady.group->lanes[found.steady.lanes[0]], &found.steady.comm,
			&found.steady.comm_ratio);
	if (r) {
		stragglers_done(&found);
		return r;
	}
	*ret = found;
	return 0;
}
