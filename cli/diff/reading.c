// SPDX-License-Identifier: MIT
/* Puts a comparison into one sentence: what changed and by how much, in which part of the step, and
 * on which rank. */
#include "cli/base/memory.h"
#include "cli/diff/diff.h"

#include <math.h>
#include <stdlib.h>

#include "proto/base/cleanup.h"

/* Returns the part of the step that changed most. */
static enum diff_part find_main_part(const struct diff *d)
{
	enum diff_part main = DIFF_COMPUTATION;

	for (int i = DIFF_COMPUTATION; i <= DIFF_IDLE; i++)
		if (fabs(d->parts[i].after - d->parts[i].before) >
			fabs(d->parts[main].after - d->parts[main].before))
			main = (enum diff_part)i;
	return main;
}

static void say_kernel(const struct diff *d, char *to, size_t bytes)
{
	const struct diff_replacement *pair = d->replacement_count ? d->replacements : NULL;
	double replaced_ns = pair ? pair->after_ns - pair->before_ns : 0;
	const struct diff_kernel_change *k = d->kernels, *end = d->kernels + d->kernel_count;

	*to = '\0';
	while (pair && k < end &&
		((k->before && diff_find_replacement(d, k->before)) ||
			(k->after && diff_find_replacement(d, k->after))))
		k++;
	if (fabs(replaced_ns) >= 1 && (k == end || fabs(replaced_ns) > fabs(k->delta_ns))) {
		snprintf(to, bytes, "; most by %.40s, which %.40s replaces (%+.3f ms)",
			pair->before_names, pair->after_names, replaced_ns / 1e6);
		return;
	}
	if (k == end || fabs(k->delta_ns) < 1)
		return;
	if (!k->before || !k->after)
		snprintf(to, bytes, "; most by %.80s, which %s (%+.3f ms)",
			(k->after ? k->after : k->before)->name, k->after ? "is new" : "is gone",
			k->delta_ns / 1e6);
	else
		snprintf(
			to, bytes, "; most by %.80s (%+.3f ms)", k->after->name, k->delta_ns / 1e6);
}

/* ---- which rank ---- */

/* Returns the lateness of a rank per step. */
static double late_of_step(const struct diff_side *side, const struct diff_straggler *straggler)
{
	const struct diff_lane *lane = straggler ? diff_find_lane(side, &straggler->key) : NULL;

	return lane && lane->all_steps ? straggler->late_ns / (double)lane->all_steps : NAN;
}

/* Returns the ratio of the mean latencies of the collectives that both sides have, weighted by the
 * new side's counts. NAN if there are none. */
static double latency_ratio(const struct diff *d)
{
	double before = 0, after = 0;

	for (size_t i = 0; i < d->group_count; i++) {
		const struct diff_group *a = d->groups[i].before, *b = d->groups[i].after;

		if (!a || !b || !a->timed || !b->timed)
			continue;
		before += a->latency_ns * (double)b->timed;
		after += b->latency_ns * (double)b->timed;
	}
	return diff_ratio(before, after);
}

static void say_latency(const struct diff *d, char *to, size_t bytes)
{
	double ratio = latency_ratio(d);

	*to = '\0';
	if (isnan(ratio))
		return;
	if (fabs(ratio - 1) * 100 < DIFF_LATENCY_PCT)
		snprintf(to, bytes, "; latency unchanged");
	else
		snprintf(to, bytes, "; latency %.2fx", ratio);
}

/* Returns the number of decimals for a time in ms: sums over a run range from microseconds to
 * seconds. */
static int decimals(double ns)
{
	return ns >= 1e8 ? 0 : 3;
}

/* Exposed communication is time spent waiting for a rank or moving bytes. Names the rank whose
 * lateness changed most, and says how the latency from the last arrival on changed. */
static void say_late(const struct diff *d, char *to, size_t bytes)
{
	const struct diff_straggler *most = NULL, *most_before = NULL;
	double most_delta = 0;
	char latency[48], rank[96];

	*to = '\0';
	for (size_t i = 0; i < d->side->straggler_count; i++) {
		const struct diff_straggler *after = d->side->stragglers + i;
		const struct diff_straggler *before =
			diff_find_straggler(d->reference, &after->key);
		double delta = late_of_step(d->side, after) - late_of_step(d->reference, before);

		if (isnan(delta) || fabs(delta) <= fabs(most_delta))
			continue;
		most_delta = delta;
		most = after;
		most_before = before;
	}
	say_latency(d, latency, sizeof(latency));
	if (!most || fabs(most_delta) * 100 < d->parts[DIFF_STEP].before * DIFF_LATE_PCT) {
		snprintf(to, bytes, "%s", latency);
		return;
	}
	diff_name_lane(d->side, &most->key, rank, sizeof(rank));
	snprintf(to, bytes, "; %s comes %.*f ms late to collectives, against %.*f%s", rank,
		decimals(most->late_ns), most->late_ns / 1e6, decimals(most_before->late_ns),
		most_before->late_ns / 1e6, latency);
}

static int compare_ratios(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the median ratio by which the ranks' computation changed; NAN for fewer than three
 * ranks. */
static double middle_ratio(const struct diff *d)
{
	CLEANUP(free_p) double *ratios = xcalloc(d->side->lane_count + 1, sizeof(*ratios));
	size_t count = 0;

	for (size_t i = 0; i < d->side->lane_count; i++) {
		double ratio = d->ranks[i].before ? diff_ratio(d->ranks[i].computation.before,
							    d->ranks[i].computation.after)
						  : NAN;

		if (!isnan(ratio))
			ratios[count++] = ratio;
	}
	if (count < 3)
		return NAN;
	qsort(ratios, count, sizeof(*ratios), compare_ratios);
	return ratios[(count - 1) / 2];
}

/* Names a rank that clearly computes longer than before while the median rank does not. The mean of
 * all ranks hides such a rank. */
static void say_rank(const struct diff *d, char *to, size_t bytes)
{
	const struct diff_rank_change *most = NULL;
	double middle = middle_ratio(d), most_ratio = 0;
	char lane[96];

	*to = '\0';
	for (size_t i = 0; i < d->side->lane_count && !isnan(middle); i++) {
		const struct diff_rank_change *rank = d->ranks + i;
		const struct diff_change *c = &rank->computation;
		double ratio = rank->before ? diff_ratio(c->before, c->after) : NAN;

		if (isnan(ratio) || ratio <= most_ratio || diff_clarity(c) != DIFF_CLEAR ||
			ratio < middle * (1 + DIFF_RANK_PCT / 100) ||
			(c->after - c->before) * 100 < rank->step.before * DIFF_KERNEL_PCT)
			continue;
		most = rank;
		most_ratio = ratio;
	}
	if (!most)
		return;
	diff_name_lane(d->side, &most->after->key, lane, sizeof(lane));
	snprintf(to, bytes,
		"; %s computes %.2fx, %.3f ms against %.3f (the rank in the middle: %.2fx)", lane,
		most_ratio, most->computation.after / 1e6, most->computation.before / 1e6, middle);
}

/* ---- which kind of steps ---- */

/* Returns what a kind's change adds to the reference's mean step. */
static double kind_adds(const struct diff *d, const struct diff_kind_change *kind)
{
	return (kind->step.after - kind->step.before) * (double)kind->before->lane_steps /
	       (double)d->reference->lane_steps;
}

/* Returns true if a kind changed clearly, and by enough to matter to the reference's mean step. */
static bool has_changed(const struct diff *d, const struct diff_kind_change *kind)
{
	return kind->has_steps && diff_clarity(&kind->step) == DIFF_CLEAR &&
	       fabs(kind_adds(d, kind)) * 100 >=
		       diff_side_mean(d->reference, DIFF_STEP) * DIFF_KERNEL_PCT;
}

/* Returns the kind whose change adds most, and counts those that changed. */
static const struct diff_kind_change *find_changed(const struct diff *d, size_t *ret_count)
{
	const struct diff_kind_change *most = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < d->kind_count; i++) {
		const struct diff_kind_change *kind = d->kinds + i;

		if (!has_changed(d, kind))
			continue;
		++*ret_count;
		if (!most || fabs(kind_adds(d, kind)) > fabs(kind_adds(d, most)))
			most = kind;
	}
	return most;
}

/* Names the kind that changed most. */
static void say_kind(const struct diff *d, char *to, size_t bytes)
{
	size_t count;
	const struct diff_kind_change *most = find_changed(d, &count);
	char name[80];

	*to = '\0';
	if (!most)
		return;
	diff_name_kind(d, most, name, sizeof(name));
	snprintf(to, bytes, "; %s steps of %s: %.2fx, %.3f ms against %.3f",
		count > 1 ? "most of all" : "changed are only", name,
		diff_ratio(most->step.before, most->step.after), most->step.after / 1e6,
		most->step.before / 1e6);
}

/* Names the first kind that one side alone has. */
static void say_single(const struct diff *d, char *to, size_t bytes)
{
	const struct diff_kind_change *first = NULL;
	const struct diff_side *side;
	size_t count = 0;
	char name[80], more[48] = "";

	*to = '\0';
	for (size_t i = 0; i < d->kind_count; i++) {
		if (d->kinds[i].before && d->kinds[i].after)
			continue;
		if (!count++)
			first = d->kinds + i;
	}
	if (!first)
		return;
	side = first->before ? d->reference : d->side;
	if (count > 1)
		snprintf(more, sizeof(more), " (and %zu more such kinds)", count - 1);
	diff_name_kind(d, first, name, sizeof(name));
	snprintf(to, bytes, "; only %.80s has steps of %s, %.1f %% of its time%s", side->label,
		name, diff_kind_share_pct(side, first->before ? first->before : first->after),
		more);
}

/* Says how kinds are weighed where the runs do not mix them alike. */
static void say_mix(const struct diff *d, char *to, size_t bytes)
{
	char single[256];

	*to = '\0';
	if (!diff_has_other_mix(d))
		return;
	say_single(d, single, sizeof(single));
	if (d->by_kind)
		snprintf(to, bytes,
			"; with kinds of steps as often as in the reference (as each run mixes "
			"them: %.3f ms against %.3f)%s",
			diff_side_mean(d->side, DIFF_STEP) / 1e6,
			diff_side_mean(d->reference, DIFF_STEP) / 1e6, single);
	else
		snprintf(to, bytes,
			"; kinds of steps are as each run mixes them, for some are not in both or "
			"come less than %d times%s",
			STEP_KINDS_STEPS_LEAST, single);
}

/* ---- the sentence ---- */

/* Says what changed clearly although the step takes as long as before. */
static void say_within(struct diff *d, const char *what, enum diff_part part)
{
	const struct diff_change *step = d->parts + DIFF_STEP, *change = d->parts + part;
	double delta_ms = (change->after - change->before) / 1e6;
	char clear[96] = "", late[192] = "", rank[224], kind[224], mix[448];

	if (diff_clarity(change) == DIFF_CLEAR && fabs(delta_ms) >= 0.001)
		snprintf(clear, sizeof(clear), "; clear is %s, %+.3f ms", diff_part_words(part),
			delta_ms);
	if (*clear && part == DIFF_EXPOSED_COMMUNICATION && (!d->by_kind || !diff_has_other_mix(d)))
		say_late(d, late, sizeof(late));
	say_rank(d, rank, sizeof(rank));
	say_kind(d, kind, sizeof(kind));
	say_mix(d, mix, sizeof(mix));
	snprintf(d->reading, sizeof(d->reading),
		"%.80s: no clear change: a %s takes %.3f ms against %.3f (%+.1f %%; steps alone "
		"explain +-%.3f ms)%s%s%s%s%s",
		d->side->label, what, step->after / 1e6, step->before / 1e6,
		100 * (diff_ratio(step->before, step->after) - 1), step->error / 1e6, mix, kind,
		clear, late, rank);
}

void diff_read(struct diff *d)
{
	const struct diff_change *step = d->parts + DIFF_STEP;
	enum diff_part part = find_main_part(d);
	double percent = 100 * (diff_ratio(step->before, step->after) - 1);
	const char *what = d->side->source == STEPS_WHOLE ? "run" : "step";
	char kernel[160] = "", late[192] = "", rank[224], kind[224], mix[448];

	if (diff_clarity(step) == DIFF_WITHIN) {
		say_within(d, what, part);
		return;
	}
	/* What kernels and collectives add to a step depends on the mix of kinds. */
	if (!d->by_kind || !diff_has_other_mix(d)) {
		if (part == DIFF_EXPOSED_COMMUNICATION)
			say_late(d, late, sizeof(late));
		say_kernel(d, kernel, sizeof(kernel));
	}
	say_rank(d, rank, sizeof(rank));
	say_kind(d, kind, sizeof(kind));
	say_mix(d, mix, sizeof(mix));
	snprintf(d->reading, sizeof(d->reading),
		"%.80s: a %s takes %.1f %% %s, %.3f ms against %.3f%s%s%s; %s %+.3f ms%s%s%s",
		d->side->label, what, fabs(percent), percent < 0 ? "less" : "more",
		step->after / 1e6, step->before / 1e6,
		diff_clarity(step) == DIFF_UNKNOWN ? " (how much runs differ is not known)" : "",
		mix, kind, diff_part_words(part),
		(d->parts[part].after - d->parts[part].before) / 1e6, late, kernel, rank);
}
