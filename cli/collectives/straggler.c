// SPDX-License-Identifier: MIT
#include "cli/collectives/straggler.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/collectives/straggler_search.h"
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

static void search_done(struct search *search)
{
	free(search->typical_ns);
	free(search->is_event);
	free(search->order);
	free(search->alone);
	free(search->alone_squares);
	free(search->together);
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

	straggler_sort_window(s, window);
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

/*
 * Marks the windows before or after all work of half of the ranks or more, unless all windows are:
 * the windows are cut by the steps of these, too, which may take no time there. The steps of a
 * process without others are its own.
 */
static int find_outside(const struct waiting_group *group, bool *ret)
{
	CLEANUP(free_p) size_t *lanes = calloc(group->windows + 1, sizeof(*lanes));
	size_t count = 0;

	if (!lanes)
		return -ENOMEM;
	for (size_t i = 0; i < group->lane_count && !group->is_alone; i++) {
		size_t first = 0, end = group->windows;

		while (first < end && waiting_does_nothing(waiting_cell(group, i, first)))
			lanes[first++]++;
		while (end > first && waiting_does_nothing(waiting_cell(group, i, end - 1)))
			lanes[--end]++;
	}
	for (size_t i = 0; i < group->windows && !group->is_alone; i++) {
		ret[i] = lanes[i] * 2 >= group->lane_count;
		count += ret[i];
	}
	if (count == group->windows)
		memset(ret, 0, count * sizeof(*ret));
	return 0;
}

/* Returns the median length of the windows of @kind that are not outside. For a negative @kind, or
 * a kind with too few windows, returns that of all windows. */
static int64_t median_of_kind(
	const struct waiting_group *group, const bool *is_outside, int kind, int64_t *buffer)
{
	size_t count = 0;

	for (size_t i = 0; i < group->windows; i++)
		if (!is_outside[i] && (kind < 0 || group->kinds[i] == kind))
			buffer[count++] = length_of(group, i);
	if (kind >= 0 && count < STEP_KINDS_STEPS_LEAST)
		return median_of_kind(group, is_outside, -1, buffer);
	qsort(buffer, count, sizeof(*buffer), compare_times);
	return buffer[count / 2];
}

static int find_medians(struct search *s)
{
	const struct waiting_group *group = s->group;
	CLEANUP(free_p) int64_t *buffer = calloc(group->windows + 1, sizeof(*buffer));
	CLEANUP(free_p) bool *is_outside = calloc(group->windows + 1, sizeof(*is_outside));
	int64_t of_kind[STEP_KINDS_MAX] = {0};

	if (!buffer || !is_outside || find_outside(group, is_outside))
		return -ENOMEM;
	s->median_ns = median_of_kind(group, is_outside, -1, buffer);
	for (size_t i = 0; i < group->windows; i++) {
		int64_t *median = group->kinds ? of_kind + group->kinds[i] : &s->median_ns;

		if (group->kinds && !*median)
			*median = median_of_kind(group, is_outside, group->kinds[i], buffer);
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

/* Returns true if the window is long because the others wait for one rank in it, which is not
 * warming up. */
static bool is_pause(const struct search *s, size_t window)
{
	const struct waiting_group *group = s->group;
	int64_t beyond = length_of(group, window) - s->typical_ns[window];
	int64_t least = INT64_MAX, second = INT64_MAX;

	if (window < s->first || group->lane_count < 2 ||
		length_of(group, window) < s->typical_ns[window] * STRAGGLER_PAUSE_TIMES)
		return false;
	for (size_t i = 0; i < group->lane_count; i++) {
		int64_t wait = waiting_total_ns(waiting_cell(group, i, window));

		if (wait < least) {
			second = least;
			least = wait;
		} else if (wait < second) {
			second = wait;
		}
	}
	return (double)(second - least) * 100 >= (double)beyond * STRAGGLER_PAUSE_PCT;
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

		if ((length < median * STRAGGLER_EVENT_TIMES && !is_pause(s, i)) ||
			waiting_is_empty(group, i) || !is_long_joined(s, i, joined_ns))
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

/* Finds the rank that the others wait for in the longest window, if that makes it long; else
 * explains it by what all ranks do in it. */
static void explain_event(struct search *s, struct straggler_event *event)
{
	const struct waiting_group *group = event->group;
	int64_t beyond = event->longest_ns - event->median_ns, part_ns[STRAGGLER_CAUSES] = {0};
	struct waiting_cell none = {0};

	straggler_sort_window(s, event->longest);
	event->lane = group->lane_count > 1 ? COLLECTIVES_NONE : 0;
	if (group->lane_count > 1 && (s->order[1].wait - s->order[0].wait) * 2 >= beyond) {
		event->lane = s->order[0].lane;
		straggler_take_parts(waiting_cell(group, event->lane, event->longest),
			waiting_cell(group, s->order[group->lane_count / 2].lane, event->longest),
			part_ns);
		event->cause = straggler_main_cause(part_ns, beyond);
		return;
	}
	for (size_t i = 0; i < group->lane_count; i++)
		straggler_take_parts(waiting_cell(group, i, event->longest), &none, part_ns);
	event->cause = straggler_main_cause(part_ns, beyond * (int64_t)group->lane_count);
}

/* ---- the straggler ---- */

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
	qsort(s->order, n, sizeof(*s->order), straggler_compare_order);
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
	return ret->count ? straggler_price(s, ret) : 0;
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
		r = found.count ? straggler_price(s, &found) : 0;
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
	s->first = group->windows >= 3 && !group->is_warm;
	/* One window would judge no rank. */
	if (group->met_windows > s->first && group->windows >= group->met_windows + 2) {
		s->first = group->met_windows;
		s->prices_before = true;
	}
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
	joined.first = m->first + 1;
	joined.prices_before = true;
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
		straggler_cut_spans(&ret->steady, group->cuts[ret->change.window]);
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
