// SPDX-License-Identifier: MIT
/* Each rule at its threshold, and the order of them, on figures made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reason/reason.h"

#define LANES 4
#define KINDS 3

/* Four ranks on a GPU each, all alike: 1000 ns, of which 950 are GEMMs and 50
 * idle time. */
struct scene {
	struct reason reason;
	struct reason_lane lanes[LANES];
	struct reason_sum sums[LANES][KINDS];
	struct reason_kind kinds[KINDS];
};

enum { GEMM, RING, OTHER };

static void set(struct scene *s, size_t lane, uint64_t compute, uint64_t exposed, uint64_t copies)
{
	struct breakdown_row *row = &s->lanes[lane].total;

	*row = (struct breakdown_row){.wall_ns = 1000,
		.stream_ns[BREAKDOWN_COMPUTE] = compute,
		.communication_ns = exposed,
		.exposed_communication_ns = exposed,
		.stream_ns[BREAKDOWN_COPY] = copies,
		.exposed_copy_ns = copies,
		.macro_idle_ns = 1000 - compute - exposed - copies,
		.kernels = 100,
		.gaps = 10};
}

/* All of the idle time of every lane. */
static void set_cause(struct scene *s, enum breakdown_cause cause)
{
	for (size_t i = 0; i < LANES; i++) {
		struct breakdown_row *row = &s->lanes[i].total;

		memset(row->cause_ns, 0, sizeof(row->cause_ns));
		row->cause_ns[cause] = breakdown_idle_ns(row);
	}
}

static void begin(struct scene *s)
{
	static const char *const names[KINDS] = {"gemm", "communication", "other"};

	*s = (struct scene){0};
	s->reason.figures = (struct reason_figures){.dispatched = 400,
		.rows = 400,
		.sample = 400,
		.timed = 400,
		.has_steps = true,
		.kinds = s->kinds,
		.kind_count = KINDS,
		.lanes = s->lanes,
		.lane_count = LANES};
	for (size_t k = 0; k < KINDS; k++) {
		snprintf(s->kinds[k].name, sizeof(s->kinds[k].name), "%s", names[k]);
		s->kinds[k].class = k == RING ? CATEGORY_COMMUNICATION : CATEGORY_COMPUTATION;
	}
	for (size_t i = 0; i < LANES; i++) {
		s->lanes[i] = (struct reason_lane){.process_id = (int64_t)i + 1,
			.gpu_id = (int64_t)i,
			.rank = (int64_t)i,
			.has_rank = true,
			.stored = 100,
			.kinds = s->sums[i]};
		/* 100 us each: not short. */
		s->sums[i][GEMM] = (struct reason_sum){.calls = 100, .ns = 100 * 100e3};
		set(s, i, 950, 0, 0);
	}
	set_cause(s, BREAKDOWN_QUEUE_EMPTY);
}

static void check(struct scene *s, enum reason_code code, const char *text)
{
	struct reason *r = &s->reason;

	memset(&r->figures.total, 0, sizeof(r->figures.total));
	for (size_t i = 0; i < r->figures.lane_count; i++)
		breakdown_sum(&r->figures.total, &s->lanes[i].total);
	r->lane = NULL;
	r->hint[0] = r->text[0] = '\0';
	reason_judge(r);
	assert_string_equal(reason_code_name(r->code), reason_code_name(code));
	if (!strstr(r->text, text))
		fail_msg("'%s' is not in '%s'", text, r->text);
}

static void of_nothing_there_is_no_reason(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	check(&s, REASON_IS_NONE,
		"no single cause: computation is 95 % of the step (100 % of it GEMMs)");
	s.reason.figures.timed = REASON_KERNELS;
	check(&s, REASON_IS_NONE, "");
	s.reason.figures.timed--;
	check(&s, REASON_IS_FEW, "49 kernels are too few");
	s.reason.figures.lane_count = 0;
	check(&s, REASON_IS_FEW, "49 kernels are too few");
	s.reason.figures.timed++;
	check(&s, REASON_IS_NONE, "computation is 0 % of the step");
	s.reason.figures.timed = 0;
	check(&s, REASON_IS_UNTIMED, "no kernel has a time");
	s.reason.figures.rows = 0;
	check(&s, REASON_IS_UNTIMED, "no kernel is stored");
	assert_string_equal(s.reason.hint, "all were left out, as was asked");
	s.reason.figures.missing = 1;
	check(&s, REASON_IS_UNTIMED, "no kernel is stored");
	assert_string_equal(s.reason.hint, "");
	s.reason.figures.dispatched = 0;
	check(&s, REASON_IS_NOTHING, "no kernel was dispatched");
}

static void a_slow_rank_is_slower_than_the_median(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	s.sums[2][GEMM].ns *= 1.09;
	check(&s, REASON_IS_NONE, "");
	s.sums[2][GEMM].ns = 100 * 100e3 * 1.31;
	/* What it costs is in proportion to the time of its step. */
	s.lanes[2].total.wall_ns = 100 * 131000;
	check(&s, REASON_IS_SLOW_RANK,
		"Rank 2 is slow: its kernels take 1.31x as long as the median rank's "
		"(GEMMs 1.31x");
	assert_ptr_equal(s.reason.lane, s.lanes + 2);
	/* 3.1 ms more, which four standard errors of two such sums would be by chance. */
	s.sums[2][GEMM].spread_ns2 = 3.1e6 * 3.1e6 / (2 * REASON_ERRORS * REASON_ERRORS) * 1.01;
	check(&s, REASON_IS_NONE, "");
	s.sums[2][GEMM].spread_ns2 *= 0.98;
	check(&s, REASON_IS_SLOW_RANK, "");
	/* Who does other work is not slow. */
	s.lanes[2].stored = 94;
	check(&s, REASON_IS_NONE, "");
}

/* The last stage of a pipeline has more of the long kernels, and is as fast in each. */
static void another_mix_of_kernels_is_not_slow(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	for (size_t i = 0; i < LANES; i++) {
		uint64_t gemms = i == 3 ? 90 : 50;

		s.sums[i][GEMM] = (struct reason_sum){.calls = gemms, .ns = (double)gemms * 100e3};
		s.sums[i][OTHER] = (struct reason_sum){
			.calls = 100 - gemms, .ns = (double)(100 - gemms) * 10e3};
		s.lanes[i].total.wall_ns = 10000000;
	}
	check(&s, REASON_IS_NONE, "");
	/* It is slow where a kind is: 9000 us of GEMMs take 11700. */
	s.sums[3][GEMM].ns *= 1.3;
	check(&s, REASON_IS_SLOW_RANK,
		"Rank 3 is slow: its kernels take 1.30x as long as the "
		"median rank's (GEMMs 1.30x");
}

/* How much of it was put in order, by reason_judge() too: the linker has it come by here. */
static size_t sorted;

void __real_qsort(void *at, size_t count, size_t bytes, int (*compare)(const void *, const void *));
void __wrap_qsort(void *at, size_t count, size_t bytes, int (*compare)(const void *, const void *));

void __wrap_qsort(void *at, size_t count, size_t bytes, int (*compare)(const void *, const void *))
{
	sorted += count;
	__real_qsort(at, count, bytes, compare);
}

/* What a rank is held against is found at once for all: twice as many ranks are twice the work. */
static void a_slow_rank_among_many_is_found_in_one_pass(void **state)
{
	enum { MANY = 3000 };
	struct reason_lane *lanes = calloc(MANY, sizeof(*lanes));
	struct reason_sum(*sums)[KINDS] = calloc(MANY, sizeof(*sums));
	struct scene s;

	(void)state;
	assert_true(lanes && sums);
	begin(&s);
	for (size_t i = 0; i < MANY; i++) {
		lanes[i] = s.lanes[0];
		lanes[i].process_id = lanes[i].rank = lanes[i].gpu_id = (int64_t)i;
		lanes[i].kinds = sums[i];
		/* Of each length three, and the median is that of rank 1500. */
		sums[i][GEMM] =
			(struct reason_sum){.calls = 100, .ns = 100 * (100e3 + (double)(i / 3))};
	}
	sums[0][GEMM].ns = 100 * 150750.0;
	s.reason.figures.lanes = lanes;
	s.reason.figures.lane_count = MANY;
	memset(&s.reason.figures.total, 0, sizeof(s.reason.figures.total));
	for (size_t i = 0; i < MANY; i++)
		breakdown_sum(&s.reason.figures.total, &lanes[i].total);
	sorted = 0;
	reason_judge(&s.reason);
	assert_int_equal(s.reason.code, REASON_IS_SLOW_RANK);
	assert_ptr_equal(s.reason.lane, lanes);
	assert_non_null(strstr(s.reason.text, "Rank 0 is slow: its kernels take 1.50x"));
	assert_in_range(sorted, MANY, 4 * KINDS * MANY);
	free(sums);
	free(lanes);
}

/* The median of the others, whoever the lane is: one without its own, of however many. */
static void the_median_is_of_the_others(void **state)
{
	static const struct {
		double us[LANES]; /* 0: has none of it */
		enum reason_code code;
		const char *text;
	} cases[] = {
		{{150, 100, 0, 0}, REASON_IS_SLOW_RANK, "Rank 0 is slow: its kernels take 1.50x"},
		{{100, 150, 0, 0}, REASON_IS_SLOW_RANK, "Rank 1 is slow: its kernels take 1.50x"},
		/* Of two others the lower, of three the one in the middle. */
		{{100, 120, 180, 0}, REASON_IS_SLOW_RANK, "Rank 2 is slow: its kernels take 1.80x"},
		{{180, 120, 100, 0}, REASON_IS_SLOW_RANK, "Rank 0 is slow: its kernels take 1.80x"},
		{{100, 120, 150, 180}, REASON_IS_SLOW_RANK,
			"Rank 3 is slow: its kernels take 1.50x"},
		{{180, 180, 120, 100}, REASON_IS_SLOW_RANK,
			"Rank 0 is slow: its kernels take 1.50x"},
		{{100, 100, 100, 0}, REASON_IS_NONE, "no single cause"},
		{{0, 0, 0, 150}, REASON_IS_NONE, "no single cause"},
	};
	struct scene s;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(&s);
		for (size_t k = 0; k < LANES; k++) {
			s.sums[k][GEMM] = (struct reason_sum){.calls = cases[i].us[k] > 0 ? 100 : 0,
				.ns = cases[i].us[k] * 100e3};
			s.lanes[k].total.wall_ns = 10000000;
		}
		check(&s, cases[i].code, cases[i].text);
	}
}

static void who_arrives_last_comes_before_what_others_show(void **state)
{
	struct scene s;
	struct reason_straggler *late = &s.reason.figures.straggler;

	(void)state;
	begin(&s);
	for (size_t i = 0; i < LANES; i++)
		set(&s, i, 600, 380, 0);
	*late = (struct reason_straggler){.is_found = true,
		.process_id = 4,
		.gpu_id = 3,
		.last = 96,
		.count = 100,
		.late_ns = 9.8e6,
		.late_pct = 5,
		.cause = COLLECTIVES_COMPUTE,
		.ratio = 1.31};
	s.sums[3][GEMM].ns *= 1.05;
	check(&s, REASON_IS_SLOW_RANK,
		"Rank 3 arrives last in 96 % of collectives, 9.8 ms late, because its "
		"compute is "
		"slower (GEMMs 1.05x the median rank's)");
	/* More of the same kernels; or where others have none at all. */
	s.sums[3][GEMM].ns = s.sums[2][GEMM].ns;
	check(&s, REASON_IS_SLOW_RANK, "because it computes 1.31x as long as the median rank");
	late->ratio = 0;
	check(&s, REASON_IS_SLOW_RANK, "late, because it computes longer");
	late->cause = COLLECTIVES_HOST;
	late->cause_ns = 9e6;
	check(&s, REASON_IS_LATE_RANK, "because its host submits late (9.0 ms each time)");
	late->cause = COLLECTIVES_CAUSES;
	check(&s, REASON_IS_LATE_RANK, "because of several things");
	/* That has a reason of its own. */
	late->cause = COLLECTIVES_EARLIER;
	check(&s, REASON_IS_EXPOSED_COMM, "communication is 38 % of the step, 100 % of it exposed");
	late->cause = COLLECTIVES_COMPUTE;
	late->late_pct = 4.9;
	check(&s, REASON_IS_EXPOSED_COMM, "");
}

static void the_greatest_part_is_the_reason(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	for (size_t i = 0; i < LANES; i++)
		set(&s, i, 700, 99, 99);
	set_cause(&s, BREAKDOWN_UNKNOWN);
	check(&s, REASON_IS_IDLE, "");
	for (size_t i = 0; i < LANES; i++)
		set(&s, i, 702, 99, 100);
	check(&s, REASON_IS_SLOW_COPIES, "copies are 10 % of the step, 100 % of it exposed");
	for (size_t i = 0; i < LANES; i++)
		set(&s, i, 705, 99, 98);
	check(&s, REASON_IS_NONE, "");
	/* One GPU that stands out is named. */
	begin(&s);
	set(&s, 1, 590, 0, 0);
	set_cause(&s, BREAKDOWN_HOST_LATE);
	check(&s, REASON_IS_LATE_HOST, "GPU 1 (rank 1) idles 41 %: the host submits late");
	/* But not one on which next to nothing ran. */
	s.lanes[1].total.kernels = 9;
	check(&s, REASON_IS_LATE_HOST, "GPUs idle 14 %: the host submits late");
}

static void idle_time_has_causes(void **state)
{
	static const struct {
		enum breakdown_cause cause;
		enum reason_code code;
		const char *text;
	} cases[] = {
		{BREAKDOWN_HOST_LATE, REASON_IS_LATE_HOST, "GPUs idle 30 %: the host submits late"},
		{BREAKDOWN_QUEUE_EMPTY, REASON_IS_LATE_HOST, "the host submits late"},
		{BREAKDOWN_SYNCHRONISATION, REASON_IS_HOST_SYNC, "the host waits for it to end"},
		{BREAKDOWN_PEER, REASON_IS_HOST_IN_RCCL, "the host waits inside RCCL"},
		{BREAKDOWN_DEPENDENCY, REASON_IS_HELD_BACK, "submitted and held back"},
		{BREAKDOWN_LAUNCH, REASON_IS_HELD_BACK,
			"GPUs idle 30 %: kernels are submitted, and each takes up to 20 us to "
			"begin"},
		{BREAKDOWN_UNKNOWN, REASON_IS_IDLE, "several causes, unknown the most of them"},
	};
	struct scene s;

	(void)state;
	begin(&s);
	for (size_t i = 0; i < LANES; i++)
		set(&s, i, 700, 0, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_cause(&s, cases[i].cause);
		check(&s, cases[i].code, cases[i].text);
	}
	/* Of two that are one rule's, the larger. */
	for (size_t i = 0; i < LANES; i++) {
		memset(s.lanes[i].total.cause_ns, 0, sizeof(s.lanes[i].total.cause_ns));
		s.lanes[i].total.cause_ns[BREAKDOWN_DEPENDENCY] = 149;
		s.lanes[i].total.cause_ns[BREAKDOWN_LAUNCH] = 151;
	}
	s.reason.figures.untimed_copies = 7;
	check(&s, REASON_IS_HELD_BACK, "each takes up to 20 us to begin");
	assert_string_equal(
		s.reason.hint, "perhaps for copies, of which 7 have no times: rtl run --mode full");
	s.lanes[0].total.cause_ns[BREAKDOWN_DEPENDENCY] += 9;
	s.lanes[0].total.cause_ns[BREAKDOWN_LAUNCH] -= 9;
	check(&s, REASON_IS_HELD_BACK, "submitted and held back");
	assert_string_equal(
		s.reason.hint, "perhaps by copies, of which 7 have no times: rtl run --mode full");
	s.reason.figures.untimed_copies = 0;
	/* Short kernels that each wait come first. */
	set_cause(&s, BREAKDOWN_HOST_LATE);
	for (size_t i = 0; i < LANES; i++) {
		s.sums[i][GEMM].ns = 100 * REASON_SHORT_US * 1e3;
		s.lanes[i].total.gaps = 50;
	}
	check(&s, REASON_IS_LAUNCH_BOUND,
		"launch-bound, kernels are short (20.0 us) and 50 % of them");
	s.lanes[0].total.gaps = 49;
	check(&s, REASON_IS_LATE_HOST, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_nothing_there_is_no_reason),
		cmocka_unit_test(a_slow_rank_is_slower_than_the_median),
		cmocka_unit_test(another_mix_of_kernels_is_not_slow),
		cmocka_unit_test(the_median_is_of_the_others),
		cmocka_unit_test(a_slow_rank_among_many_is_found_in_one_pass),
		cmocka_unit_test(who_arrives_last_comes_before_what_others_show),
		cmocka_unit_test(the_greatest_part_is_the_reason),
		cmocka_unit_test(idle_time_has_causes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
