// SPDX-License-Identifier: MIT
/*
 * Pairs the kinds of steps of two sessions by what they launch, and weighs them: a run with more of
 * its longer steps is no slower run. docs/commands.md has the formulas.
 */
#include "cli/base/memory.h"
#include "cli/diff/diff.h"

#include <math.h>
#include <string.h>

/* ---- loading ---- */

static size_t count_samples(const struct diff_step *steps, size_t count)
{
	size_t samples = 0;

	for (size_t i = 0; i < count; i++)
		samples += steps[i].lanes > 0;
	return samples;
}

double diff_error_squared(const struct diff_step *steps, size_t count, enum diff_part part)
{
	double sum = 0, squares = 0, mean, n = (double)count_samples(steps, count);

	if (n < 2)
		return NAN;
	for (size_t i = 0; i < count; i++)
		sum += steps[i].lanes ? steps[i].ns[part] / (double)steps[i].lanes : 0;
	mean = sum / n;
	for (size_t i = 0; i < count; i++) {
		double off = steps[i].lanes ? steps[i].ns[part] / (double)steps[i].lanes - mean : 0;

		squares += off * off;
	}
	return squares / (n - 1) / n;
}

void diff_sum_kinds(struct diff_side *s, const struct diff_step *steps, size_t most)
{
	for (size_t k = 0; k < s->kind_count; k++) {
		struct diff_kind *kind = s->kinds + k;
		const struct diff_step *own = steps + k * most;

		kind->samples = count_samples(own, most);
		for (size_t i = 0; i < s->lane_count; i++)
			kind->lane_steps += s->lanes[i].kinds[k].steps;
		for (int part = 0; part < DIFF_PARTS; part++) {
			for (size_t i = 0; i < s->lane_count; i++)
				kind->ns[part] += s->lanes[i].kinds[k].ns[part];
			kind->error_squared[part] =
				diff_error_squared(own, most, (enum diff_part)part);
		}
	}
}

/* ---- pairs ---- */

/* Returns the most similar kind of the reference that is not paired, or NULL. */
static struct diff_kind_change *find_similar(struct diff *d, const struct diff_kind *kind)
{
	struct diff_kind_change *best = NULL;
	double best_pct = STEP_KINDS_ALIKE_PCT;

	for (size_t i = 0; i < d->kind_count; i++) {
		struct diff_kind_change *change = d->kinds + i;
		double percent;

		if (!change->before || change->after)
			continue;
		percent = step_kinds_similarity(&change->before->launched, &kind->launched);
		if (percent < best_pct || (best && percent <= best_pct))
			continue;
		best = change;
		best_pct = percent;
	}
	return best;
}

static struct diff_kind_change *find_named(struct diff *d, const struct diff_kind *kind)
{
	for (size_t i = 0; i < d->kind_count && kind->launched.name[0]; i++)
		if (d->kinds[i].before && !d->kinds[i].after &&
			!strcmp(d->kinds[i].before->launched.name, kind->launched.name))
			return d->kinds + i;
	return NULL;
}

static bool is_paired(const struct diff *d, const struct diff_kind *kind)
{
	for (size_t i = 0; i < d->kind_count; i++)
		if (d->kinds[i].after == kind)
			return true;
	return false;
}

static void pair(struct diff *d, bool by_name)
{
	for (size_t i = 0; i < d->side->kind_count; i++) {
		const struct diff_kind *kind = d->side->kinds + i;
		struct diff_kind_change *change;

		if (!kind->lane_steps || is_paired(d, kind))
			continue;
		change = by_name ? find_named(d, kind) : find_similar(d, kind);
		if (change)
			change->after = kind;
	}
}

static size_t count_kinds(const struct diff_side *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->kind_count; i++)
		count += s->kinds[i].lane_steps > 0;
	return count;
}

double diff_kind_share_pct(const struct diff_side *side, const struct diff_kind *kind)
{
	double all = 0;

	for (size_t i = 0; i < side->kind_count; i++)
		all += side->kinds[i].ns[DIFF_STEP];
	return all > 0 ? 100 * kind->ns[DIFF_STEP] / all : NAN;
}

/* Returns true if the kinds that can be compared have nearly all of the time of both sides. A step
 * that launches other work than before is of a new kind, and may be the one that takes longer. */
static bool has_weight(const struct diff *d)
{
	double before = 0, after = 0;

	for (size_t i = 0; i < d->kind_count; i++) {
		const struct diff_kind_change *change = d->kinds + i;

		if (!change->has_steps)
			continue;
		before += diff_kind_share_pct(d->reference, change->before);
		after += diff_kind_share_pct(d->side, change->after);
	}
	return before >= DIFF_KINDS_PCT && after >= DIFF_KINDS_PCT;
}

void diff_pair_kinds(struct diff *d)
{
	const struct diff_side *a = d->reference, *b = d->side;
	size_t before = count_kinds(a), after = count_kinds(b);

	if (!before || !after || before + after == 2)
		return;
	d->kinds = xcalloc(a->kind_count + b->kind_count, sizeof(*d->kinds));
	for (size_t i = 0; i < a->kind_count; i++)
		if (a->kinds[i].lane_steps)
			d->kinds[d->kind_count++].before = a->kinds + i;
	pair(d, false);
	pair(d, true);
	for (size_t i = 0; i < b->kind_count; i++)
		if (b->kinds[i].lane_steps && !is_paired(d, b->kinds + i))
			d->kinds[d->kind_count++].after = b->kinds + i;
	for (size_t i = 0; i < d->kind_count; i++) {
		struct diff_kind_change *change = d->kinds + i;

		change->has_steps = change->before && change->after &&
				    change->before->samples >= STEP_KINDS_STEPS_LEAST &&
				    change->after->samples >= STEP_KINDS_STEPS_LEAST;
		change->step = diff_kind_part(change, DIFF_STEP);
	}
	d->by_kind = has_weight(d);
}

/* ---- figures ---- */

static double kind_mean(const struct diff_kind *kind, enum diff_part part)
{
	return kind ? kind->ns[part] / (double)kind->lane_steps : NAN;
}

struct diff_change diff_kind_part(const struct diff_kind_change *kind, enum diff_part part)
{
	double before = kind_mean(kind->before, part), after = kind_mean(kind->after, part);

	return (struct diff_change){.before = before,
		.after = after,
		.rank_min = NAN,
		.rank_max = NAN,
		.error = kind->has_steps ? 2 * sqrt(kind->before->error_squared[part] +
						       kind->after->error_squared[part])
					 : NAN};
}

/* Means of several kinds, and the squared standard error of each, times their weights. */
struct weighing {
	double weight, before, after, error_squared;
};

static void weigh(struct weighing *w, double weight, double before, double after, double error)
{
	w->weight += weight;
	w->before += weight * before;
	w->after += weight * after;
	w->error_squared += weight * weight * error;
}

static struct diff_change weighed(const struct weighing *w)
{
	return (struct diff_change){.before = w->weight > 0 ? w->before / w->weight : NAN,
		.after = w->weight > 0 ? w->after / w->weight : NAN,
		.rank_min = NAN,
		.rank_max = NAN,
		.error = w->weight > 0 ? 2 * sqrt(w->error_squared) / w->weight : NAN};
}

void diff_leave_out(struct diff_change *change, bool is_before, bool is_after)
{
	if (is_before)
		change->before = NAN;
	if (is_after)
		change->after = NAN;
	if (is_before || is_after)
		change->error = NAN;
}

struct diff_change diff_weigh(const struct diff *d, enum diff_part part)
{
	struct weighing sum = {0};

	for (size_t i = 0; i < d->kind_count; i++) {
		const struct diff_kind *a = d->kinds[i].before, *b = d->kinds[i].after;

		if (d->kinds[i].has_steps)
			weigh(&sum, (double)a->lane_steps, kind_mean(a, part), kind_mean(b, part),
				a->error_squared[part] + b->error_squared[part]);
	}
	return weighed(&sum);
}

static double sum_error_squared(const struct diff_sum *sum, enum diff_part part)
{
	double n = (double)sum->steps;

	return sum->squares[part] / (n - 1) / n;
}

bool diff_weigh_lane(const struct diff *d, const struct diff_lane *before,
	const struct diff_lane *after, enum diff_part part, struct diff_change *ret)
{
	struct weighing sum = {0};
	double before_ns = 0, after_ns = 0;

	for (size_t i = 0; i < d->kind_count; i++) {
		const struct diff_sum *a, *b;

		if (!d->kinds[i].has_steps)
			continue;
		a = before->kinds + (d->kinds[i].before - d->reference->kinds);
		b = after->kinds + (d->kinds[i].after - d->side->kinds);
		if (a->steps < STEP_KINDS_STEPS_LEAST || b->steps < STEP_KINDS_STEPS_LEAST)
			continue;
		weigh(&sum, (double)a->steps, a->ns[part] / (double)a->steps,
			b->ns[part] / (double)b->steps,
			sum_error_squared(a, part) + sum_error_squared(b, part));
		before_ns += a->ns[DIFF_STEP];
		after_ns += b->ns[DIFF_STEP];
	}
	*ret = weighed(&sum);
	if (part == DIFF_EXPOSED_COPIES)
		diff_leave_out(ret, before->lacks_copies, after->lacks_copies);
	return sum.weight > 0 && before_ns * 100 >= before->all.ns[DIFF_STEP] * DIFF_KINDS_PCT &&
	       after_ns * 100 >= after->all.ns[DIFF_STEP] * DIFF_KINDS_PCT;
}

/* ---- words ---- */

bool diff_has_other_mix(const struct diff *d)
{
	for (size_t i = 0; i < d->kind_count; i++) {
		const struct diff_kind *a = d->kinds[i].before, *b = d->kinds[i].after;
		double before = a ? (double)a->lane_steps / (double)d->reference->lane_steps : 0;
		double after = b ? (double)b->lane_steps / (double)d->side->lane_steps : 0;

		if (!a || !b || fabs(before - after) * 100 >= DIFF_MIX_PCT)
			return true;
	}
	return false;
}

void diff_name_kind(
	const struct diff *d, const struct diff_kind_change *change, char *ret, size_t bytes)
{
	const struct diff_kind *kind = change->before ? change->before : change->after;
	const struct diff_side *side = change->before ? d->reference : d->side;
	const char *name = kind->launched.name;

	snprintf(ret, bytes, "kind %c%s%.40s%s", step_kinds_letter((size_t)(kind - side->kinds)),
		name[0] ? " (" : "", name, name[0] ? ")" : "");
}
