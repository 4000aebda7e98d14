// SPDX-License-Identifier: MIT
/*
 * Checks whether two sessions can be compared. Tools that skip this check report an empty capture
 * as a speedup, a lost rank as half the time saved, and the cost of another recording mode as a
 * regression.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/diff/diff.h"

const char *diff_obstacle_name(enum diff_obstacle what)
{
	static const char *const names[] = {"ranks", "coverage", "steps", "modes", "losses",
		"device", "categories", "kernels", "empty"};

	return names[what];
}

__attribute__((format(printf, 3, 4))) static void refuse(
	struct diff_gate *gate, enum diff_obstacle what, const char *format, ...)
{
	struct diff_refusal *refusal = gate->at + gate->count++;
	va_list arguments;

	refusal->what = what;
	va_start(arguments, format);
	vsnprintf(refusal->why, sizeof(refusal->why), format, arguments);
	va_end(arguments);
}

/* Compares two lists such as the modes. An unknown list equals only another unknown one. */
static bool is_same(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static const char *known(const char *text)
{
	return text && *text ? text : "unknown";
}

/* Returns the first lane of @side that @other lacks. */
static const struct diff_lane *find_odd(const struct diff_side *side, const struct diff_side *other)
{
	for (size_t i = 0; i < side->lane_count; i++)
		if (!diff_find_lane(other, &side->lanes[i].key))
			return side->lanes + i;
	return NULL;
}

static uint64_t count_odd(const struct diff_side *side, const struct diff_side *other)
{
	uint64_t count = 0;

	for (size_t i = 0; i < side->lane_count; i++)
		count += !diff_find_lane(other, &side->lanes[i].key);
	return count;
}

static void check_lanes(const struct diff_side *has, const struct diff_side *lacks,
	size_t reference_lanes, size_t side_lanes, struct diff_gate *ret)
{
	const struct diff_lane *odd = find_odd(has, lacks);
	uint64_t others = odd ? count_odd(has, lacks) - 1 : 0;
	char rank[64], more[32] = "";

	if (!odd)
		return;
	if (!odd->key.has_rank)
		snprintf(rank, sizeof(rank), "a process without a rank");
	else if (odd->key.gpu_nth)
		snprintf(rank, sizeof(rank), "GPU number %u of rank %" PRId64, odd->key.gpu_nth + 1,
			odd->key.rank);
	else
		snprintf(rank, sizeof(rank), "rank %" PRId64, odd->key.rank);
	if (others)
		snprintf(more, sizeof(more), " and %" PRIu64 " more", others);
	refuse(ret, DIFF_RANKS, "%zu ranks and GPUs against %zu: %.60s has no kernels of %s%s",
		reference_lanes, side_lanes, lacks->label, rank, more);
}

static void check_ranks(const struct diff_side *a, const struct diff_side *b, struct diff_gate *ret)
{
	size_t before = ret->count;

	check_lanes(a, b, a->lane_count, b->lane_count, ret);
	if (ret->count == before)
		check_lanes(b, a, a->lane_count, b->lane_count, ret);
}

static double coverage_pct(const struct diff_side *s)
{
	return s->recorded ? 100.0 * (double)s->timed / (double)s->recorded : 0;
}

static void check_coverage(
	const struct diff_side *a, const struct diff_side *b, struct diff_gate *ret)
{
	double before = coverage_pct(a), after = coverage_pct(b);

	if (fabs(before - after) > DIFF_COVERAGE_PCT)
		refuse(ret, DIFF_COVERAGE, "%.1f %% of the dispatches have times against %.1f %%",
			before, after);
	else if (a->is_partial != b->is_partial)
		refuse(ret, DIFF_COVERAGE, "only %.60s was not recorded all the time",
			a->is_partial ? a->label : b->label);
}

static bool is_far(double a, double b, double percent)
{
	return fabs(a - b) * 100 > percent * (a > b ? a : b);
}

/* Returns the first lane of @b whose number of steps differs from that of its counterpart in @a, or
 * NULL if there is none. */
static const struct diff_lane *find_other_steps(
	const struct diff_side *a, const struct diff_side *b, double tolerance)
{
	for (size_t i = 0; i < b->lane_count; i++) {
		const struct diff_lane *like = diff_find_lane(a, &b->lanes[i].key);

		if (like &&
			is_far((double)like->all_steps, (double)b->lanes[i].all_steps, tolerance))
			return b->lanes + i;
	}
	return NULL;
}

static void check_steps(const struct diff_side *a, const struct diff_side *b, struct diff_gate *ret)
{
	static const char *const sources[] = {"by markers", "inferred", "none"};
	/* An inferred number of steps is not exact. */
	double tolerance = a->source == STEPS_INFERRED ? DIFF_INFERRED_PCT : 0;
	const struct diff_lane *odd = find_other_steps(a, b, tolerance);
	char rank[40] = "a process";

	if (a->source != b->source)
		refuse(ret, DIFF_STEPS, "steps %s against %s", sources[a->source],
			sources[b->source]);
	else if (a->source == STEPS_INFERRED &&
		 is_far((double)a->period, (double)b->period, DIFF_INFERRED_PCT))
		refuse(ret, DIFF_STEPS, "an inferred step has %zu kernels against %zu", a->period,
			b->period);
	else if (odd) {
		if (odd->key.has_rank)
			snprintf(rank, sizeof(rank), "rank %" PRId64, odd->key.rank);
		refuse(ret, DIFF_STEPS, "%s has %zu steps against %zu", rank,
			diff_find_lane(a, &odd->key)->all_steps, odd->all_steps);
	}
}

static void check_modes(const struct diff_side *a, const struct diff_side *b, struct diff_gate *ret)
{
	if (!is_same(a->ways, b->ways))
		refuse(ret, DIFF_MODES, "mode %.60s against %.60s", known(a->ways), known(b->ways));
	else if (!is_same(a->front_ends, b->front_ends))
		refuse(ret, DIFF_MODES, "front end %.60s against %.60s", known(a->front_ends),
			known(b->front_ends));
}

static void check_losses(
	const struct diff_side *a, const struct diff_side *b, struct diff_gate *ret)
{
	/* It is not known what another tool lost, so the user may judge. */
	bool is_a = a->verdict->is_complete || a->verdict->is_unknown;
	bool is_b = b->verdict->is_complete || b->verdict->is_unknown;
	const struct diff_side *lossy = is_a ? b : a;

	if (is_a && is_b)
		return;
	refuse(ret, DIFF_LOSSES, "%.60s%s: %s", lossy->label,
		is_a || is_b ? "" : " and the other, too", lossy->verdict->line);
}

static void check_device(
	const struct diff_side *a, const struct diff_side *b, struct diff_gate *ret)
{
	if (a->verdict->is_simulated != b->verdict->is_simulated)
		refuse(ret, DIFF_DEVICE, "only %.60s is of a software GPU",
			a->verdict->is_simulated ? a->label : b->label);
	else if (!is_same(a->gpus, b->gpus))
		refuse(ret, DIFF_DEVICE, "GPUs %.60s against %.60s", known(a->gpus),
			known(b->gpus));
}

static void check_rules(const struct diff_side *a, const struct diff_side *b, struct diff_gate *ret)
{
	if (!is_same(a->rules, b->rules))
		refuse(ret, DIFF_CATEGORIES,
			"other rules say what is communication; --categories FILE, its last line "
			"\"other *\" brings the same");
}

/* Returns the percentage of @side's kernel time in kernels that @other has as well. The kernels of
 * both sides are sorted by name. */
static double common_pct(const struct diff_side *side, const struct diff_side *other)
{
	uint64_t timed = 0;
	double ns = 0;

	for (size_t i = 0, k = 0; i < side->kernel_count && k < other->kernel_count;) {
		int order = strcmp(side->kernels[i].name, other->kernels[k].name);

		if (!order) {
			ns += (double)side->kernels[i].total_ns;
			timed += side->kernels[i].timed;
		}
		i += order <= 0;
		k += order >= 0;
	}
	/* If all kernels take no time, the launches are counted instead. */
	return side->kernel_ns > 0 ? 100 * ns / (double)side->kernel_ns
				   : 100 * (double)timed / (double)side->timed;
}

/* Two programs remain two even if both have a few kernels of the runtime, such as its fills. */
static void check_kernels(
	const struct diff_side *a, const struct diff_side *b, struct diff_gate *ret)
{
	double before = common_pct(a, b), after = common_pct(b, a);

	if (before < DIFF_COMMON_PCT && after < DIFF_COMMON_PCT)
		refuse(ret, DIFF_KERNELS,
			"kernels that both have take %.1f %% of the time of kernels against %.1f "
			"%%: two programs?",
			before, after);
}

void diff_check(const struct diff_side *a, const struct diff_side *b, struct diff_gate *ret)
{
	*ret = (struct diff_gate){0};
	if (a->is_empty || b->is_empty) {
		refuse(ret, DIFF_EMPTY, "%.60s has no kernel with a time",
			a->is_empty ? a->label : b->label);
		return;
	}
	check_ranks(a, b, ret);
	check_coverage(a, b, ret);
	check_steps(a, b, ret);
	check_modes(a, b, ret);
	check_losses(a, b, ret);
	check_device(a, b, ret);
	check_rules(a, b, ret);
	check_kernels(a, b, ret);
}

char *diff_refusals(const struct diff *diff, const bool allowed[DIFF_OBSTACLES])
{
	char *text = NULL;
	FILE *to = xmemstream(&text);
	const char *before = "";

	for (size_t i = 0; i < diff->gate.count; i++) {
		const struct diff_refusal *refusal = diff->gate.at + i;

		if (allowed && allowed[refusal->what])
			continue;
		fprintf(to, "%s%s: %s", before, diff_obstacle_name(refusal->what), refusal->why);
		before = "; ";
	}
	xfclose(to);
	return text;
}
