// SPDX-License-Identifier: MIT
/* The rules about one rank among others: it is slow, or late. */
#include "cli/reason/reason_judging.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/cleanup.h"

/* ---- computation ---------------------------------------------------------------------------- */

struct reason_sum reason_computation(
	const struct reason_figures *f, const struct reason_lane *lane, size_t kind)
{
	return f->kinds[kind].class == CATEGORY_COMPUTATION ? lane->kinds[kind]
							    : (struct reason_sum){0};
}

static int compare_reals(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* All lanes' mean kernel of a kind, in order; those that have none have no place. */
struct means {
	double *at;
	size_t count;
};

static void means_done(struct means *means)
{
	free(means->at);
}

/* Again for each kind. False: no memory. */
static bool sort_means(const struct reason_figures *f, size_t kind, struct means *means)
{
	if (!means->at)
		means->at = calloc(f->lane_count + 1, sizeof(*means->at));
	if (!means->at)
		return false;
	means->count = 0;
	for (size_t i = 0; i < f->lane_count; i++) {
		struct reason_sum sum = reason_computation(f, f->lanes + i, kind);

		if (sum.calls)
			means->at[means->count++] = sum.ns / (double)sum.calls;
	}
	qsort(means->at, means->count, sizeof(*means->at), compare_reals);
	return true;
}

/* The median of the others, the lower of two: the same place, but for who stands before it; 0:
 * there is none. Of several as long as @own anyone is left out. */
static double median_of_others(const struct means *means, struct reason_sum own)
{
	size_t others = means->count - (own.calls > 0);
	size_t middle = others ? (others - 1) / 2 : 0;

	if (!others)
		return 0;
	return means->at[middle + (own.calls && own.ns / (double)own.calls <= means->at[middle])];
}

const char *reason_name_kind(const struct reason_kind *kind, char buffer[48])
{
	if (!strcmp(kind->name, "gemm"))
		return "GEMMs";
	snprintf(buffer, 48, "%s kernels", kind->name);
	return buffer;
}

/* ", GEMMs 1.31x the median rank's": the kind that costs the lane most; none where none is slow. */
static void name_slow_kind(
	const struct reason_figures *f, const struct reason_lane *lane, char *ret, size_t bytes)
{
	CLEANUP(means_done) struct means means = {0};
	double most = 0;
	char buffer[48];

	ret[0] = '\0';
	for (size_t i = 0; i < f->kind_count && sort_means(f, i, &means); i++) {
		struct reason_sum sum = reason_computation(f, lane, i);
		double median = median_of_others(&means, sum);
		double extra = sum.ns - median * (double)sum.calls;

		if (median <= 0 || extra <= most || sum.ns * 100 < median * (double)sum.calls * 102)
			continue;
		most = extra;
		snprintf(ret, bytes, "%s %.2fx the median rank's",
			reason_name_kind(f->kinds + i, buffer),
			sum.ns / (double)sum.calls / median);
	}
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static const struct reason_lane *find_straggler(const struct reason_figures *f)
{
	const struct reason_straggler *s = &f->straggler;

	for (size_t i = 0; s->is_found && i < f->lane_count; i++)
		if (f->lanes[i].process_id == s->process_id && f->lanes[i].gpu_id == s->gpu_id)
			return f->lanes + i;
	return NULL;
}

static void say_late(struct judging *j, const struct reason_lane *lane, const char *why)
{
	const struct reason_straggler *s = &j->figures->straggler;
	char who[64], late[32];

	reason_name_rank(j->figures, lane, who, sizeof(who));
	reason_capitalize(who);
	reason_format_time(s->late_ns, late);
	j->reason->lane = lane;
	reason_say(j, "%s arrives last in %.0f %% of collectives, %s late, because %s", who,
		reason_percent(s->last, s->count), late, why);
}

static bool arrives_late(const struct judging *j)
{
	return find_straggler(j->figures) && j->figures->straggler.late_pct >= REASON_LATE_PCT;
}

static bool is_late_by_computation(struct judging *j)
{
	const struct reason_straggler *s = &j->figures->straggler;
	const struct reason_lane *lane = find_straggler(j->figures);
	char why[160], kind[96];

	if (!arrives_late(j) || s->cause != COLLECTIVES_COMPUTE)
		return false;
	name_slow_kind(j->figures, lane, kind, sizeof(kind));
	if (kind[0])
		snprintf(why, sizeof(why), "its compute is slower (%s)", kind);
	else if (s->ratio > 0)
		snprintf(
			why, sizeof(why), "it computes %.2fx as long as the median rank", s->ratio);
	else /* the median rank computes nothing */
		snprintf(why, sizeof(why), "it computes longer");
	say_late(j, lane, why);
	return true;
}

/* Do all ranks do the same, as far as their numbers of kernels tell? */
static bool are_alike(const struct reason_figures *f)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < f->lane_count; i++) {
		if (f->lanes[i].stored < least)
			least = f->lanes[i].stored;
		if (f->lanes[i].stored > most)
			most = f->lanes[i].stored;
	}
	return f->lane_count > 1 && (double)(most - least) * 100 <= (double)most * REASON_ALIKE_PCT;
}

/* A lane's kernels, and how long the median of the others would have taken for as many of each
 * kind: who has more of the long ones is not slow. Kinds that it alone has are left out. */
struct pace {
	double actual_ns, expected_ns, spread_ns2;
};

static void add_pace(struct pace *pace, const struct means *means, struct reason_sum sum)
{
	double median = median_of_others(means, sum);

	if (median <= 0)
		return;
	pace->actual_ns += sum.ns;
	pace->expected_ns += median * (double)sum.calls;
	pace->spread_ns2 += sum.spread_ns2;
}

/* One of each lane, malloc'ed. Kinds outside: each is sorted once, of however many lanes. NULL: no
 * memory. */
static struct pace *measure_paces(const struct reason_figures *f)
{
	CLEANUP(free_p) struct pace *paces = calloc(f->lane_count + 1, sizeof(*paces));
	CLEANUP(means_done) struct means means = {0};

	for (size_t kind = 0; paces && kind < f->kind_count; kind++) {
		if (!sort_means(f, kind, &means))
			return NULL;
		for (size_t i = 0; i < f->lane_count; i++)
			add_pace(paces + i, &means, reason_computation(f, f->lanes + i, kind));
	}
	return TAKE(paces);
}

/* Kernels whose times vary come to another sum each time, and so do those they are held against. */
static bool may_be_chance(const struct pace *pace)
{
	double extra = pace->actual_ns - pace->expected_ns;

	return extra <= 0 || extra * extra < REASON_ERRORS * REASON_ERRORS * 2 * pace->spread_ns2;
}

/* Who takes longest for the same kernels, and what that costs of its time in percent. */
static const struct reason_lane *find_slowest(
	const struct reason_figures *f, double *ret_ratio, double *ret_cost_pct)
{
	CLEANUP(free_p) struct pace *paces = measure_paces(f);
	const struct reason_lane *slowest = NULL;

	*ret_ratio = *ret_cost_pct = 0;
	for (size_t i = 0; paces && i < f->lane_count; i++) {
		const struct reason_lane *lane = f->lanes + i;
		struct pace pace = paces[i];

		if (pace.expected_ns <= 0 || pace.actual_ns <= *ret_ratio * pace.expected_ns ||
			may_be_chance(&pace))
			continue;
		slowest = lane;
		*ret_ratio = pace.actual_ns / pace.expected_ns;
		*ret_cost_pct =
			100.0 * (pace.actual_ns - pace.expected_ns) / (double)lane->total.wall_ns;
	}
	return slowest;
}

static bool is_slow_by_kernels(struct judging *j)
{
	const struct reason_figures *f = j->figures;
	const struct reason_lane *lane;
	double ratio, cost_pct;
	char who[64], kind[96];

	if (!are_alike(f))
		return false;
	lane = find_slowest(f, &ratio, &cost_pct);
	if (!lane || ratio * 100 < REASON_SLOW_PCT || cost_pct < REASON_LATE_PCT)
		return false;
	reason_name_rank(f, lane, who, sizeof(who));
	reason_capitalize(who);
	/* There is one: not all kinds can be faster than their sum. */
	name_slow_kind(f, lane, kind, sizeof(kind));
	j->reason->lane = lane;
	reason_say(j, "%s is slow: its kernels take %.2fx as long as the median rank's (%s)", who,
		ratio, kind);
	return true;
}

bool reason_slow_rank(struct judging *j)
{
	return is_late_by_computation(j) || is_slow_by_kernels(j);
}

bool reason_late_rank(struct judging *j)
{
	static const char *const why[] = {[COLLECTIVES_COPY] = "its copies take longer",
		[COLLECTIVES_HOST] = "its host submits late",
		[COLLECTIVES_WAIT] = "its GPU idles with work submitted",
		[COLLECTIVES_UNKNOWN] = "its GPU idles",
		[COLLECTIVES_CAUSES] = "of several things"};
	const struct reason_straggler *s = &j->figures->straggler;
	char text[96], each[32];

	/* What an earlier collective did has a reason of its own. */
	if (!arrives_late(j) || !why[s->cause])
		return false;
	reason_format_time(s->cause_ns, each);
	if (s->cause < COLLECTIVES_CAUSES)
		snprintf(text, sizeof(text), "%s (%s each time)", why[s->cause], each);
	else
		snprintf(text, sizeof(text), "%s", why[s->cause]);
	say_late(j, find_straggler(j->figures), text);
	if (s->cause == COLLECTIVES_HOST && !j->figures->has_calls)
		reason_say_hint(j, "rtl run --mode hip records what its host does then");
	return true;
}
