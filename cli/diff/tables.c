// SPDX-License-Identifier: MIT
/* The tables of a comparison: their columns and the values of each row. */
#include "cli/diff/diff.h"

#include <math.h>
#include <stdio.h>

#include "cli/output/table.h"
#include "proto/names/collectives.h"

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

/* The texts of the current row. Each row overwrites those of the row before. */
static char text[4][48];

static struct render_value real(double value)
{
	return isnan(value) ? render_null() : render_real(value);
}

/* Rounds to whole ns, because the table converts ns to other units and takes integers only. */
static struct render_value ns(double value)
{
	return isnan(value) ? render_null() : render_integer((int64_t)llround(value));
}

static struct render_value ratio_text(double value, char ret[48])
{
	if (isnan(value))
		return render_null();
	snprintf(ret, 48, "%.3f", value);
	return render_text(ret);
}

static struct render_value range_text(double min, double max, char ret[48])
{
	if (isnan(min))
		return render_null();
	snprintf(ret, 48, "%.2f-%.2f", min, max);
	return render_text(ret);
}

static struct render_value delta_text(double delta_ns, double unit, char ret[48])
{
	if (isnan(delta_ns))
		return render_null();
	snprintf(ret, 48, "%+.3f", delta_ns / unit);
	return render_text(ret);
}

/* ---- the step and its parts ---- */

static const struct render_column part_columns[] = {
	{"figure", NULL, RENDER_TEXT},
	{NULL, "OF A STEP", RENDER_TEXT},
	{"reference_ns", "REF ms", RENDER_NS_IN_MS},
	{"candidate_ns", "NEW ms", RENDER_NS_IN_MS},
	{"delta_ns", NULL, RENDER_ID},
	{NULL, "DELTA ms", RENDER_ANY},
	{"ratio", NULL, RENDER_ANY},
	{NULL, "RATIO", RENDER_ANY},
	{"rank_ratio_min", NULL, RENDER_ANY},
	{"rank_ratio_max", NULL, RENDER_ANY},
	{NULL, "OF RANKS", RENDER_ANY},
	{"error_ns", "+- ms", RENDER_NS_IN_MS},
	{"clear", "CLEAR", RENDER_BOOL},
};

static size_t part_rows(const struct diff *diff)
{
	(void)diff;
	return DIFF_PARTS;
}

static void part_row(const struct diff *d, size_t i, struct render_value *ret)
{
	const struct diff_change *change = d->parts + i;
	enum diff_clarity clarity = diff_clarity(change);
	double ratio = diff_ratio(change->before, change->after);

	snprintf(text[0], sizeof(text[0]), "%s%s",
		i == DIFF_STEP	 ? ""
		: i <= DIFF_IDLE ? "  "
				 : "    ",
		diff_part_words((enum diff_part)i));
	*ret++ = render_text(diff_part_name((enum diff_part)i));
	*ret++ = render_text(text[0]);
	*ret++ = ns(change->before);
	*ret++ = ns(change->after);
	*ret++ = ns(change->after - change->before);
	*ret++ = delta_text(change->after - change->before, 1e6, text[1]);
	*ret++ = real(ratio);
	*ret++ = ratio_text(ratio, text[2]);
	*ret++ = real(change->rank_min);
	*ret++ = real(change->rank_max);
	*ret++ = range_text(change->rank_min, change->rank_max, text[3]);
	*ret++ = ns(change->error);
	*ret++ = clarity == DIFF_UNKNOWN ? render_null() : render_integer(clarity == DIFF_CLEAR);
}

/* ---- kinds of steps ---- */

static const struct render_column kind_columns[] = {
	{"reference_kind", "REF", RENDER_TEXT},
	{"candidate_kind", "NEW", RENDER_TEXT},
	{"reference_steps", NULL, RENDER_COUNT},
	{"candidate_steps", "STEPS", RENDER_COUNT},
	{"reference_share_pct", "REF %", RENDER_TENTHS},
	{"candidate_share_pct", "NEW %", RENDER_TENTHS},
	{"reference_ns", "REF ms", RENDER_NS_IN_MS},
	{"candidate_ns", "NEW ms", RENDER_NS_IN_MS},
	{"ratio", NULL, RENDER_ANY},
	{NULL, "RATIO", RENDER_ANY},
	{"error_ns", "+- ms", RENDER_NS_IN_MS},
	{"clear", "CLEAR", RENDER_BOOL},
	{"regression", NULL, RENDER_BOOL},
	{"name", "NAME", RENDER_TEXT},
};

static size_t kind_rows(const struct diff *diff)
{
	return diff->kind_count;
}

static struct render_value kind_letter(
	const struct diff_side *side, const struct diff_kind *kind, char ret[48])
{
	if (!kind)
		return render_null();
	snprintf(ret, 48, "%c", step_kinds_letter((size_t)(kind - side->kinds)));
	return render_text(ret);
}

static void kind_row(const struct diff *d, size_t i, struct render_value *ret)
{
	const struct diff_kind_change *change = d->kinds + i;
	const struct diff_kind *a = change->before, *b = change->after;
	const char *name = (a ? a : b)->launched.name;
	double ratio = diff_ratio(change->step.before, change->step.after);
	enum diff_clarity clarity = diff_clarity(&change->step);

	*ret++ = kind_letter(d->reference, a, text[0]);
	*ret++ = kind_letter(d->side, b, text[1]);
	*ret++ = render_integer(a ? (int64_t)a->lane_steps : 0);
	*ret++ = render_integer(b ? (int64_t)b->lane_steps : 0);
	*ret++ = real(a ? diff_kind_share_pct(d->reference, a) : 0);
	*ret++ = real(b ? diff_kind_share_pct(d->side, b) : 0);
	*ret++ = ns(change->step.before);
	*ret++ = ns(change->step.after);
	*ret++ = real(ratio);
	*ret++ = ratio_text(ratio, text[2]);
	*ret++ = ns(change->step.error);
	*ret++ = clarity == DIFF_UNKNOWN ? render_null() : render_integer(clarity == DIFF_CLEAR);
	*ret++ = render_integer(change->is_regression);
	*ret++ = render_text(name[0] ? name : NULL);
}

/* ---- ranks ---- */

static const struct render_column rank_columns[] = {
	{"rank", "RANK", RENDER_ID},
	{"gpuId", "GPU", RENDER_ID},
	{"reference_steps", NULL, RENDER_COUNT},
	{"candidate_steps", "STEPS", RENDER_COUNT},
	{"reference_step_ns", "REF ms", RENDER_NS_IN_MS},
	{"candidate_step_ns", "NEW ms", RENDER_NS_IN_MS},
	{"ratio", NULL, RENDER_ANY},
	{NULL, "RATIO", RENDER_ANY},
	{"delta_computation_ns", "COMP +ms", RENDER_NS_IN_MS},
	{"delta_exposed_communication_ns", "COMM +ms", RENDER_NS_IN_MS},
	{"delta_exposed_copies_ns", "COPY +ms", RENDER_NS_IN_MS},
	{"delta_idle_ns", "IDLE +ms", RENDER_NS_IN_MS},
	{"step_error_ns", NULL, RENDER_ID},
	{"computation_error_ns", NULL, RENDER_ID},
	{"regression", NULL, RENDER_BOOL},
};

static size_t rank_rows(const struct diff *diff)
{
	return diff->side->lane_count;
}

static void rank_row(const struct diff *d, size_t i, struct render_value *ret)
{
	const struct diff_rank_change *change = d->ranks + i;
	const struct diff_lane *after = change->after, *before = change->before;
	double was = before ? change->step.before : NAN;
	double is = before ? change->step.after : diff_lane_mean(after, DIFF_STEP);

	*ret++ = render_optional(after->key.has_rank, after->key.rank);
	*ret++ = render_integer(after->key.gpu_id);
	*ret++ = render_optional(before != NULL, before ? (int64_t)before->all.steps : 0);
	*ret++ = render_integer((int64_t)after->all.steps);
	*ret++ = ns(was);
	*ret++ = ns(is);
	*ret++ = real(diff_ratio(was, is));
	*ret++ = ratio_text(diff_ratio(was, is), text[0]);
	for (int part = DIFF_COMPUTATION; part <= DIFF_IDLE; part++) {
		struct diff_change of_part = {.before = NAN, .after = NAN};

		if (before)
			of_part = diff_lane_change(d, before, after, (enum diff_part)part);
		*ret++ = ns(of_part.after - of_part.before);
	}
	*ret++ = ns(before ? change->step.error : NAN);
	*ret++ = ns(before ? change->computation.error : NAN);
	*ret++ = render_integer(change->is_step_regression || change->is_computation_regression);
}

/* ---- kernels ---- */

static const struct render_column kernel_columns[] = {
	{"reference_calls", "REF CALLS", RENDER_COUNT},
	{"candidate_calls", "NEW CALLS", RENDER_COUNT},
	{"reference_total_ns", NULL, RENDER_ID},
	{"candidate_total_ns", NULL, RENDER_ID},
	{"reference_mean_ns", "REF us", RENDER_NS_IN_US},
	{"candidate_mean_ns", "NEW us", RENDER_NS_IN_US},
	{"reference_p50_ns", NULL, RENDER_ID},
	{"candidate_p50_ns", NULL, RENDER_ID},
	{"mean_ratio", NULL, RENDER_ANY},
	{NULL, "RATIO", RENDER_ANY},
	{"rank_ratio_min", NULL, RENDER_ANY},
	{"rank_ratio_max", NULL, RENDER_ANY},
	{NULL, "OF RANKS", RENDER_ANY},
	{"delta_of_step_ns", NULL, RENDER_ANY},
	{NULL, "ms A STEP", RENDER_ANY},
	{"regression", NULL, RENDER_BOOL},
	{"name", "KERNEL", RENDER_TEXT},
};

static size_t kernel_rows(const struct diff *diff)
{
	return diff->kernel_count;
}

static double kernel_mean(const struct diff_kernel *k)
{
	return k && k->timed ? (double)k->total_ns / (double)k->timed : NAN;
}

static struct render_value calls_of(const struct diff_kernel *k)
{
	return render_integer(k ? (int64_t)k->calls : 0);
}

static void kernel_row(const struct diff *d, size_t i, struct render_value *ret)
{
	const struct diff_kernel_change *change = d->kernels + i;
	const struct diff_kernel *before = change->before, *after = change->after;
	double ratio = diff_ratio(kernel_mean(before), kernel_mean(after));

	*ret++ = calls_of(before);
	*ret++ = calls_of(after);
	*ret++ = render_integer(before ? before->total_ns : 0);
	*ret++ = render_integer(after ? after->total_ns : 0);
	*ret++ = ns(kernel_mean(before));
	*ret++ = ns(kernel_mean(after));
	*ret++ = render_optional(before && before->timed, before ? before->p50_ns : 0);
	*ret++ = render_optional(after && after->timed, after ? after->p50_ns : 0);
	*ret++ = real(ratio);
	*ret++ = ratio_text(ratio, text[0]);
	*ret++ = real(change->rank_min);
	*ret++ = real(change->rank_max);
	*ret++ = range_text(change->rank_min, change->rank_max, text[1]);
	*ret++ = real(change->delta_ns);
	*ret++ = delta_text(change->delta_ns, 1e6, text[2]);
	*ret++ = render_integer(change->is_regression);
	*ret++ = render_text((after ? after : before)->name);
}

/* ---- replaced kernels ---- */

static const struct render_column replacement_columns[] = {
	{"reference_calls", "REF CALLS", RENDER_COUNT},
	{"candidate_calls", "NEW CALLS", RENDER_COUNT},
	{"reference_of_step_ns", "REF ms A STEP", RENDER_NS_IN_MS},
	{"candidate_of_step_ns", "NEW ms A STEP", RENDER_NS_IN_MS},
	{"ratio", NULL, RENDER_ANY},
	{NULL, "RATIO", RENDER_ANY},
	{"regression", NULL, RENDER_BOOL},
	{"name", "KERNEL", RENDER_TEXT},
	{"replaced_by", "REPLACED BY", RENDER_TEXT},
};

static size_t replacement_rows(const struct diff *diff)
{
	return diff->replacement_count;
}

static int64_t calls_in(const struct diff_kernel *const *list, size_t count)
{
	int64_t calls = 0;

	for (size_t i = 0; i < count; i++)
		calls += (int64_t)list[i]->calls;
	return calls;
}

static void replacement_row(const struct diff *d, size_t i, struct render_value *ret)
{
	const struct diff_replacement *pair = d->replacements + i;
	double ratio = diff_ratio(pair->before_ns, pair->after_ns);

	*ret++ = render_integer(calls_in(pair->before, pair->before_count));
	*ret++ = render_integer(calls_in(pair->after, pair->after_count));
	*ret++ = ns(pair->before_ns);
	*ret++ = ns(pair->after_ns);
	*ret++ = real(ratio);
	*ret++ = ratio_text(ratio, text[0]);
	*ret++ = render_integer(pair->is_regression);
	*ret++ = render_text(pair->before_names);
	*ret++ = render_text(pair->after_names);
}

/* ---- collectives ---- */

static const struct render_column group_columns[] = {
	{"operation", NULL, RENDER_TEXT},
	{"datatype", "TYPE", RENDER_TEXT},
	{"size_from_bytes", "BYTES >=", RENDER_COUNT},
	{"ranks", "RANKS", RENDER_COUNT},
	{"reference_count", "REF", RENDER_COUNT},
	{"candidate_count", "NEW", RENDER_COUNT},
	{"reference_latency_ns", "REF us", RENDER_NS_IN_US},
	{"candidate_latency_ns", "NEW us", RENDER_NS_IN_US},
	{"latency_ratio", NULL, RENDER_ANY},
	{NULL, "RATIO", RENDER_ANY},
	{"reference_latency_p95_ns", NULL, RENDER_ID},
	{"candidate_latency_p95_ns", NULL, RENDER_ID},
	{"reference_comm_latency_ns", NULL, RENDER_ID},
	{"candidate_comm_latency_ns", NULL, RENDER_ID},
	{"reference_skew_ns", "REF SKEW", RENDER_NS_IN_US},
	{"candidate_skew_ns", "NEW us", RENDER_NS_IN_US},
	{"reference_busbw_gb_per_s", "REF BUSBW", RENDER_TENTHS},
	{"candidate_busbw_gb_per_s", "NEW GB/s", RENDER_TENTHS},
	/* Behind the figures, because the last column is the one that is cut. */
	{NULL, "OPERATION", RENDER_TEXT},
};

static size_t group_rows(const struct diff *diff)
{
	return diff->group_count;
}

static double when_timed(const struct diff_group *g, double value)
{
	return g && g->timed ? value : NAN;
}

static double bandwidth(const struct diff_group *g)
{
	return g && g->bus_gb_per_s > 0 ? g->bus_gb_per_s : NAN;
}

static void group_row(const struct diff *d, size_t i, struct render_value *ret)
{
	static const struct diff_group none;
	const struct diff_group_change *change = d->groups + i;
	const struct diff_group *a = change->before ? change->before : &none;
	const struct diff_group *b = change->after ? change->after : &none;
	const struct diff_group *any = change->after ? change->after : change->before;
	double ratio = diff_ratio(when_timed(a, a->latency_ns), when_timed(b, b->latency_ns));

	*ret++ = render_text(any->op);
	*ret++ = render_text(collective_type_name(any->datatype));
	*ret++ = render_optional(any->bucket >= 0 && any->bucket < 63,
		any->bucket >= 0 && any->bucket < 63 ? INT64_C(1) << any->bucket : 0);
	*ret++ = render_integer(any->ranks);
	*ret++ = render_integer((int64_t)a->count);
	*ret++ = render_integer((int64_t)b->count);
	*ret++ = ns(when_timed(a, a->latency_ns));
	*ret++ = ns(when_timed(b, b->latency_ns));
	*ret++ = real(ratio);
	*ret++ = ratio_text(ratio, text[0]);
	*ret++ = ns(when_timed(a, a->p95_ns));
	*ret++ = ns(when_timed(b, b->p95_ns));
	*ret++ = ns(when_timed(a, a->comm_latency_ns));
	*ret++ = ns(when_timed(b, b->comm_latency_ns));
	*ret++ = ns(when_timed(a, a->skew_ns));
	*ret++ = ns(when_timed(b, b->skew_ns));
	*ret++ = real(bandwidth(a));
	*ret++ = real(bandwidth(b));
	*ret++ = render_text(any->op);
}

/* ---- stragglers ---- */

static const struct render_column straggler_columns[] = {
	{"rank", "RANK", RENDER_ID},
	{"gpuId", "GPU", RENDER_ID},
	{"reference_count", "REF", RENDER_COUNT},
	{"candidate_count", "NEW", RENDER_COUNT},
	{"reference_last_pct", "REF LAST %", RENDER_TENTHS},
	{"candidate_last_pct", "NEW LAST %", RENDER_TENTHS},
	{"reference_late_ns", "REF LATE ms", RENDER_NS_IN_MS},
	{"candidate_late_ns", "NEW LATE ms", RENDER_NS_IN_MS},
	{"reference_wait_ns", "REF WAITED ms", RENDER_NS_IN_MS},
	{"candidate_wait_ns", "NEW WAITED ms", RENDER_NS_IN_MS},
};

static size_t straggler_rows(const struct diff *diff)
{
	return diff->side->straggler_count;
}

static struct render_value last_pct(const struct diff_straggler *s)
{
	return s && s->count ? render_real(100.0 * (double)s->last / (double)s->count)
			     : render_null();
}

static void straggler_row(const struct diff *d, size_t i, struct render_value *ret)
{
	const struct diff_straggler *after = d->side->stragglers + i;
	const struct diff_straggler *before = diff_find_straggler(d->reference, &after->key);

	*ret++ = render_optional(after->key.has_rank, after->key.rank);
	*ret++ = render_integer(after->key.gpu_id);
	*ret++ = render_optional(before != NULL, before ? (int64_t)before->count : 0);
	*ret++ = render_integer((int64_t)after->count);
	*ret++ = last_pct(before);
	*ret++ = last_pct(after);
	*ret++ = ns(before ? before->late_ns : NAN);
	*ret++ = ns(after->late_ns);
	*ret++ = ns(before ? before->wait_ns : NAN);
	*ret++ = ns(after->wait_ns);
}

const struct diff_columns diff_tables[DIFF_TABLES] = {
	[DIFF_TIMELINE_TABLE] = {"timeline", "TIME OF A STEP", part_columns, COUNT(part_columns),
		part_rows, part_row},
	[DIFF_KIND_TABLE] = {"kinds", "KINDS OF STEPS", kind_columns, COUNT(kind_columns),
		kind_rows, kind_row},
	[DIFF_RANK_TABLE] = {"ranks", "RANKS: A STEP", rank_columns, COUNT(rank_columns), rank_rows,
		rank_row},
	[DIFF_KERNEL_TABLE] = {"kernels", "KERNELS", kernel_columns, COUNT(kernel_columns),
		kernel_rows, kernel_row},
	[DIFF_REPLACEMENT_TABLE] = {"replaced", "KERNELS THAT OTHERS REPLACE", replacement_columns,
		COUNT(replacement_columns), replacement_rows, replacement_row},
	[DIFF_COLLECTIVE_TABLE] = {"collectives", "COLLECTIVES", group_columns,
		COUNT(group_columns), group_rows, group_row},
	[DIFF_STRAGGLER_TABLE] = {"stragglers", "RANKS THAT COME LATE TO COLLECTIVES",
		straggler_columns, COUNT(straggler_columns), straggler_rows, straggler_row},
};
