// SPDX-License-Identifier: MIT
/* Computes how one session differs from another. docs/commands.md has the formulas. */
#include "cli/base/memory.h"
#include "cli/diff/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/cleanup.h"

const char *diff_part_name(enum diff_part part)
{
	static const char *const names[] = {"step", "computation", "exposed_communication",
		"exposed_copies", "idle", "communication", "hidden_communication",
		"hidden_allreduce", "hidden_reducescatter"};

	return names[part];
}

const char *diff_part_words(enum diff_part part)
{
	static const char *const words[] = {"step", "computation", "exposed communication",
		"exposed copies", "idle", "communication", "hidden communication",
		"hidden all-reduce", "hidden reduce-scatter"};

	return words[part];
}

void diff_free_p(struct diff **diff)
{
	if (!*diff)
		return;
	free((*diff)->ranks);
	free((*diff)->kinds);
	free((*diff)->kernels);
	free((*diff)->groups);
	diff_replacements_done(*diff);
	free(*diff);
	*diff = NULL;
}

double diff_ratio(double before, double after)
{
	return before > 0 ? after / before : NAN;
}

/* ---- identity across runs ---- */

void diff_number(const struct diff_key *before, struct diff_key *key)
{
	key->process_nth = key->gpu_nth = 0;
	if (!before || before->has_rank != key->has_rank ||
		(key->has_rank && before->rank != key->rank))
		return;
	if (before->process_id == key->process_id) {
		key->process_nth = before->process_nth;
		key->gpu_nth = before->gpu_nth + 1;
	} else {
		key->process_nth = before->process_nth + 1;
	}
}

int diff_key_order(const struct diff_key *a, const struct diff_key *b)
{
	if (a->has_rank != b->has_rank)
		return a->has_rank ? -1 : 1;
	if (a->has_rank && a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->process_nth != b->process_nth)
		return a->process_nth < b->process_nth ? -1 : 1;
	return (a->gpu_nth > b->gpu_nth) - (a->gpu_nth < b->gpu_nth);
}

static int compare_lane(const void *key, const void *lane)
{
	return diff_key_order(key, &((const struct diff_lane *)lane)->key);
}

static int compare_straggler(const void *key, const void *straggler)
{
	return diff_key_order(key, &((const struct diff_straggler *)straggler)->key);
}

const struct diff_lane *diff_find_lane(const struct diff_side *side, const struct diff_key *key)
{
	return bsearch(key, side->lanes, side->lane_count, sizeof(*side->lanes), compare_lane);
}

const struct diff_straggler *diff_find_straggler(
	const struct diff_side *side, const struct diff_key *key)
{
	return bsearch(key, side->stragglers, side->straggler_count, sizeof(*side->stragglers),
		compare_straggler);
}

/* ---- the step and its parts ---- */

double diff_lane_mean(const struct diff_lane *lane, enum diff_part part)
{
	if (part == DIFF_EXPOSED_COPIES && lane->lacks_copies)
		return NAN;
	return lane->all.steps ? lane->all.ns[part] / (double)lane->all.steps : NAN;
}

double diff_side_mean(const struct diff_side *side, enum diff_part part)
{
	double sum = 0;

	for (size_t i = 0; i < side->lane_count; i++)
		sum += side->lanes[i].all.ns[part];
	if (part == DIFF_EXPOSED_COPIES && side->lacks_copies)
		return NAN;
	return side->lane_steps ? sum / (double)side->lane_steps : NAN;
}

static void widen(double value, double *min, double *max)
{
	if (isnan(value))
		return;
	if (isnan(*min) || value < *min)
		*min = value;
	if (isnan(*max) || value > *max)
		*max = value;
}

static struct diff_change change_of_part(const struct diff *d, enum diff_part part)
{
	const struct diff_side *a = d->reference, *b = d->side;

	if (d->by_kind)
		return diff_weigh(d, part);
	return (struct diff_change){.before = diff_side_mean(a, part),
		.after = diff_side_mean(b, part),
		.rank_min = NAN,
		.rank_max = NAN,
		.error = 2 * sqrt(diff_error_squared(a->steps, a->step_count, part) +
				     diff_error_squared(b->steps, b->step_count, part))};
}

static void compare_part(struct diff *d, enum diff_part part)
{
	struct diff_change *change = d->parts + part;

	*change = change_of_part(d, part);
	if (part == DIFF_EXPOSED_COPIES)
		diff_leave_out(change, d->reference->lacks_copies, d->side->lacks_copies);
	for (size_t i = 0; i < d->side->lane_count; i++) {
		const struct diff_lane *lane = d->side->lanes + i;
		const struct diff_lane *before = diff_find_lane(d->reference, &lane->key);

		if (before)
			widen(diff_lane_change(d, before, lane, part).rank_min, &change->rank_min,
				&change->rank_max);
	}
}

enum diff_clarity diff_clarity(const struct diff_change *change)
{
	if (isnan(change->error))
		return DIFF_UNKNOWN;
	return fabs(change->after - change->before) > change->error ? DIFF_CLEAR : DIFF_WITHIN;
}

/* ---- kernels ---- */

double diff_of_step(const struct diff_side *side, int64_t total_ns)
{
	return side->all_lane_steps ? (double)total_ns / (double)side->all_lane_steps : 0;
}

static double rank_mean(const struct diff_kernel_rank *rank)
{
	return (double)rank->total_ns / (double)rank->timed;
}

static const struct diff_kernel_rank *find_kernel_rank(
	const struct diff_kernel *kernel, const struct diff_side *side, const struct diff_lane *as)
{
	const struct diff_lane *lane = diff_find_lane(side, &as->key);
	size_t at = lane ? (size_t)(lane - side->lanes) : 0, from = 0, to = kernel->rank_count;

	while (lane && from < to) {
		size_t middle = from + (to - from) / 2;

		if (kernel->ranks[middle].lane == at)
			return kernel->ranks + middle;
		if (kernel->ranks[middle].lane > at)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

static void compare_kernel_ranks(const struct diff *d, struct diff_kernel_change *change)
{
	change->rank_min = change->rank_max = NAN;
	if (!change->before || !change->after)
		return;
	for (size_t i = 0; i < change->after->rank_count; i++) {
		const struct diff_kernel_rank *after = change->after->ranks + i;
		const struct diff_kernel_rank *before = find_kernel_rank(
			change->before, d->reference, d->side->lanes + after->lane);

		if (before)
			widen(diff_ratio(rank_mean(before), rank_mean(after)), &change->rank_min,
				&change->rank_max);
	}
}

static bool is_kernel_regression(
	const struct diff *d, const struct diff_kernel_change *change, double percent)
{
	const struct diff_replacement *replacement =
		change->after ? diff_find_replacement(d, change->after) : NULL;
	double before = change->before ? diff_of_step(d->reference, change->before->total_ns) : 0;
	double whole = diff_of_step(d->reference, d->reference->kernel_ns);

	/* A kernel that replaces another one is judged together with its replacement. */
	if (replacement)
		return false;
	/* A new kernel has grown from zero. */
	return !isnan(percent) && change->delta_ns > before * percent / 100 &&
	       (before + change->delta_ns) * 100 >= whole * DIFF_KERNEL_PCT;
}

static int compare_changes(const void *a, const void *b)
{
	const struct diff_kernel_change *x = a, *y = b;
	double left = fabs(x->delta_ns), right = fabs(y->delta_ns);

	if (left > right || left < right)
		return left < right ? 1 : -1;
	return strcmp(
		(x->after ? x->after : x->before)->name, (y->after ? y->after : y->before)->name);
}

static int compare_kernels(struct diff *d, double percent)
{
	const struct diff_side *a = d->reference, *b = d->side;
	size_t i = 0, k = 0;

	d->kernels = xcalloc(a->kernel_count + b->kernel_count + 1, sizeof(*d->kernels));
	while (i < a->kernel_count || k < b->kernel_count) {
		struct diff_kernel_change *change = d->kernels + d->kernel_count++;
		int order = i == a->kernel_count   ? 1
			    : k == b->kernel_count ? -1
						   : strcmp(a->kernels[i].name, b->kernels[k].name);

		if (order <= 0)
			change->before = a->kernels + i++;
		if (order >= 0)
			change->after = b->kernels + k++;
		change->delta_ns = (change->after ? diff_of_step(b, change->after->total_ns) : 0) -
				   (change->before ? diff_of_step(a, change->before->total_ns) : 0);
		compare_kernel_ranks(d, change);
		change->is_regression = is_kernel_regression(d, change, percent);
		d->kernel_regressions += change->is_regression;
	}
	qsort(d->kernels, d->kernel_count, sizeof(*d->kernels), compare_changes);
	for (size_t n = 0; n < d->replacement_count; n++) {
		struct diff_replacement *replacement = d->replacements + n;
		double whole = diff_of_step(a, a->kernel_ns);

		replacement->is_regression =
			!isnan(percent) &&
			replacement->after_ns > replacement->before_ns * (1 + percent / 100) &&
			replacement->after_ns * 100 >= whole * DIFF_KERNEL_PCT;
		d->kernel_regressions += replacement->is_regression;
	}
	return 0;
}

/* ---- collectives ---- */

int diff_group_order(const struct diff_group *x, const struct diff_group *y)
{
	int order = strcmp(x->op, y->op);

	if (!order)
		order = (x->datatype > y->datatype) - (x->datatype < y->datatype);
	if (!order)
		order = (x->bucket > y->bucket) - (x->bucket < y->bucket);
	return order ? order : (x->ranks > y->ranks) - (x->ranks < y->ranks);
}

static int compare_groups(struct diff *d)
{
	const struct diff_side *a = d->reference, *b = d->side;
	size_t i = 0, k = 0;

	d->groups = xcalloc(a->group_count + b->group_count + 1, sizeof(*d->groups));
	while (i < a->group_count || k < b->group_count) {
		struct diff_group_change *change = d->groups + d->group_count++;
		int order = i == a->group_count	  ? 1
			    : k == b->group_count ? -1
						  : diff_group_order(a->groups + i, b->groups + k);

		if (order <= 0)
			change->before = a->groups + i++;
		if (order >= 0)
			change->after = b->groups + k++;
	}
	return 0;
}

/* ---- ranks ---- */

void diff_name_lane(
	const struct diff_side *side, const struct diff_key *key, char *ret, size_t bytes)
{
	char rank[48];
	bool has_several = false;

	for (size_t i = 0; i < side->lane_count && !has_several; i++)
		has_several = side->lanes[i].key.process_id == key->process_id &&
			      side->lanes[i].key.gpu_id != key->gpu_id;
	snprintf(rank, sizeof(rank), "%s %" PRId64, key->has_rank ? "rank" : "process",
		key->has_rank ? key->rank : key->process_id);
	if (has_several)
		snprintf(ret, bytes, "GPU %" PRId64 " of %s", key->gpu_id, rank);
	else
		snprintf(ret, bytes, "%s", rank);
}

/* Returns the squared standard error of the mean of a lane's steps; NAN for a single step. */
static double lane_error_squared(const struct diff_lane *lane, enum diff_part part)
{
	double n = (double)lane->all.steps;

	return lane->all.steps < 2 ? NAN : lane->all.squares[part] / (n - 1) / n;
}

struct diff_change diff_lane_change(const struct diff *d, const struct diff_lane *before,
	const struct diff_lane *after, enum diff_part part)
{
	struct diff_change change;

	if (!d->by_kind || !diff_weigh_lane(d, before, after, part, &change)) {
		change.before = diff_lane_mean(before, part);
		change.after = diff_lane_mean(after, part);
		change.error = 2 * sqrt(lane_error_squared(before, part) +
					   lane_error_squared(after, part));
	}
	change.rank_min = change.rank_max = diff_ratio(change.before, change.after);
	return change;
}

static bool is_regression(const struct diff_change *change, double percent)
{
	return !isnan(percent) && change->after > change->before * (1 + percent / 100) &&
	       diff_clarity(change) != DIFF_WITHIN;
}

static double regression_ratio(bool is_regression, const struct diff_change *change)
{
	return is_regression ? diff_ratio(change->before, change->after) : 0;
}

bool diff_slower_is_step(const struct diff_rank_change *rank)
{
	return rank->is_step_regression &&
	       regression_ratio(true, &rank->step) >=
		       regression_ratio(rank->is_computation_regression, &rank->computation);
}

static double slowness(const struct diff_rank_change *rank)
{
	return fmax(regression_ratio(rank->is_step_regression, &rank->step),
		regression_ratio(rank->is_computation_regression, &rank->computation));
}

/*
 * Judges each rank alone, because the mean of all ranks hides it. A rank regresses if its step
 * grows, or if its computation does: while the other ranks have slack or wait for it, their steps
 * are as long as its own.
 */
static int compare_ranks(struct diff *d, double percent)
{
	d->ranks = xcalloc(d->side->lane_count + 1, sizeof(*d->ranks));
	for (size_t i = 0; i < d->side->lane_count; i++) {
		struct diff_rank_change *rank = d->ranks + i;
		const struct diff_change *c = &rank->computation;

		rank->after = d->side->lanes + i;
		rank->before = diff_find_lane(d->reference, &rank->after->key);
		if (!rank->before)
			continue;
		rank->step = diff_lane_change(d, rank->before, rank->after, DIFF_STEP);
		rank->computation =
			diff_lane_change(d, rank->before, rank->after, DIFF_COMPUTATION);
		rank->is_step_regression = is_regression(&rank->step, percent);
		rank->is_computation_regression =
			is_regression(c, percent) &&
			(c->after - c->before) * 100 >= rank->step.before * DIFF_KERNEL_PCT;
		if (!rank->is_step_regression && !rank->is_computation_regression)
			continue;
		d->rank_regressions++;
		if (!d->slowest || slowness(rank) > slowness(d->slowest))
			d->slowest = rank;
	}
	return 0;
}

/* Judges each kind of steps alone, because the mean of all kinds hides it. */
static void judge_kinds(struct diff *d, double percent)
{
	for (size_t i = 0; i < d->kind_count; i++) {
		struct diff_kind_change *kind = d->kinds + i;
		double whole =
			diff_side_mean(d->reference, DIFF_STEP) * (double)d->reference->lane_steps;

		kind->is_regression = kind->has_steps && is_regression(&kind->step, percent) &&
				      (kind->step.after - kind->step.before) *
						      (double)kind->before->lane_steps * 100 >=
					      whole * DIFF_KERNEL_PCT;
		d->kind_regressions += kind->is_regression;
	}
}

bool diff_is_regression(const struct diff *diff)
{
	return diff->is_step_regression || diff->kind_regressions || diff->kernel_regressions ||
	       diff->rank_regressions;
}

int diff_new(const struct diff_side *reference, const struct diff_side *side,
	const struct diff_thresholds *thresholds, struct diff **ret)
{
	CLEANUP(diff_free_p) struct diff *d = xcalloc(1, sizeof(*d));
	int r;

	d->reference = reference;
	d->side = side;
	diff_check(reference, side, &d->gate);
	diff_pair_kinds(d);
	judge_kinds(d, thresholds->step_pct);
	for (int i = 0; i < DIFF_PARTS; i++)
		compare_part(d, (enum diff_part)i);
	r = compare_ranks(d, thresholds->rank_pct);
	if (!r)
		diff_replace(d);
	if (!r)
		r = compare_kernels(d, thresholds->kernel_pct);
	if (!r)
		r = compare_groups(d);
	if (r)
		return r;
	d->is_step_regression = is_regression(d->parts + DIFF_STEP, thresholds->step_pct);
	diff_read(d);
	*ret = TAKE(d);
	return 0;
}
