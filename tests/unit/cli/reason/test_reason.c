// SPDX-License-Identifier: MIT
/* Each rule at its threshold, and the order of them, on figures made by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/reason/reason.h"
#include "tests/lib/test.h"

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

TEST_CASE(a_job_without_a_cause_says_why_there_is_none)
{
	struct scene s;

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

TEST_CASE(a_rank_that_others_wait_for_comes_before_what_they_show)
{
	struct scene s;
	struct reason_straggler *late = &s.reason.figures.straggler;

	begin(&s);
	for (size_t i = 0; i < LANES; i++)
		set(&s, i, 600, 380, 0);
	*late = (struct reason_straggler){.is_found = true,
		.count = 1,
		.at = {{4, 3}},
		.reference = {2, 1},
		.cost_pct = 5,
		.windows = 10,
		.cause = STRAGGLER_COMPUTE,
		.compute_ratio = 1.31,
		.pace = 1.3,
		.pace_names = 3,
		.is_pace_slow = true};
	check(&s, REASON_IS_SLOW_RANK,
		"Rank 3 is waited for, which costs 5 % of the step: a slow GPU, the same kernels "
		"take 1.30x the median GPU's");
	assert_ptr_equal(s.reason.lane, s.lanes + 3);
	/* More of the same kernels. */
	late->pace = 1;
	late->is_pace_slow = false;
	check(&s, REASON_IS_SLOW_RANK,
		"more work, it computes 1.31x as long as rank 1 and the same kernels take 1.00x");
	/* One name alone does not tell the two apart. */
	late->pace_names = 1;
	late->pace_kernel_ratio = 1.5;
	snprintf(late->pace_kernel, sizeof(late->pace_kernel), "paged_attention");
	check(&s, REASON_IS_SLOW_RANK,
		"paged_attention takes 1.50x: more work in it, or a slow GPU");
	late->pace = 0;
	check(&s, REASON_IS_SLOW_RANK, "it computes 1.31x as long as rank 1");
	late->compute_ratio = 0;
	check(&s, REASON_IS_SLOW_RANK, "it computes longer than rank 1");
	late->cause = STRAGGLER_HOST;
	late->part_ns[STRAGGLER_HOST] = 90e6;
	check(&s, REASON_IS_LATE_RANK, "its host submits late (9.0 ms each time)");
	assert_string_equal(s.reason.hint, "rtl run --mode hip records what its host does then");
	late->is_at_most = true;
	late->cause = STRAGGLER_SEVERAL;
	check(&s, REASON_IS_LATE_RANK, "which costs at most 5 % of the step: several things");
	late->cost_pct = 4.9;
	check(&s, REASON_IS_EXPOSED_COMM, "communication is 38 % of the step, 100 % of it exposed");
}

TEST_CASE(ranks_that_are_late_together_or_in_turn_are_all_named)
{
	struct scene s;
	struct reason_straggler *late = &s.reason.figures.straggler;

	begin(&s);
	*late = (struct reason_straggler){.is_found = true,
		.count = 2,
		.at = {{1, 0}, {3, 2}},
		.cost_pct = 15,
		.windows = 1,
		.cause = STRAGGLER_TRANSFER};
	check(&s, REASON_IS_LATE_RANK, "Ranks 0 and 2 are waited for, which costs 15 %");
	late->is_in_turn = true;
	check(&s, REASON_IS_LATE_RANK, "Ranks 0 and 2 are in turn waited for");
	late->count = REASON_NAMED_MAX + 3;
	check(&s, REASON_IS_LATE_RANK, " and 3 others are in turn waited for");
	s.reason.figures.waiting = (struct reason_waiting){
		.has_change = true, .change_number = 20, .change_ratio = 1.15};
	check(&s, REASON_IS_LATE_RANK, "of the step, since step 20 (1.15x): ");
	/* Without such a rank it is told of all, if all are connected. */
	late->is_found = false;
	s.reason.figures.waiting.is_change_of_all = true;
	check(&s, REASON_IS_NONE, "; since step 20 steps take 1.15x as long as before");
	s.reason.figures.waiting.is_change_of_all = false;
	check(&s, REASON_IS_NONE, "");
	assert_null(strstr(s.reason.text, "since"));
}

TEST_CASE(ranks_that_are_late_for_different_things_have_one_each)
{
	static const struct {
		enum straggler_cause cause;
		const char *does;
	} cases[] = {
		{STRAGGLER_COMPUTE, "rank 2 computes longer"},
		{STRAGGLER_COPY, "rank 2 copies longer"},
		{STRAGGLER_TRANSFER, "rank 2 transfers longer"},
		{STRAGGLER_HOST, "rank 2 idles, for its host submits late"},
		{STRAGGLER_HELD, "rank 2 idles with work submitted"},
		{STRAGGLER_IDLE, "rank 2 idles"},
	};
	struct scene s;
	struct reason_straggler *late = &s.reason.figures.straggler;

	begin(&s);
	*late = (struct reason_straggler){.is_found = true,
		.count = 2,
		.at = {{1, 0}, {3, 2}},
		.cost_pct = 15,
		.windows = 1,
		.cause = STRAGGLER_SEVERAL,
		.causes = {STRAGGLER_HOST}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[128];

		late->causes[1] = cases[i].cause;
		snprintf(text, sizeof(text), ": rank 0 idles, for its host submits late, %s",
			cases[i].does);
		check(&s, REASON_IS_LATE_RANK, text);
	}
	/* Unless one of them has several itself, or it is not known. */
	late->causes[1] = STRAGGLER_SEVERAL;
	check(&s, REASON_IS_LATE_RANK, "of the step: several things");
	s.reason.figures.filtered = 1;
	check(&s, REASON_IS_LATE_RANK,
		"why is not known, for not all kernels were recorded, as was asked");
	late->causes[1] = STRAGGLER_COMPUTE;
	late->count = 1;
	check(&s, REASON_IS_LATE_RANK, "Rank 0 is waited for");
}

TEST_CASE(a_long_time_that_is_no_step_is_named_by_what_it_is)
{
	struct scene s;
	struct reason_event *event = &s.reason.figures.event;

	begin(&s);
	*event = (struct reason_event){.is_found = true,
		.is_first_meeting = true,
		.count = 1,
		.longest_ns = 2e9,
		.median_ns = 20e6,
		.cost_pct = 90,
		.cause = STRAGGLER_TRANSFER};
	check(&s, REASON_IS_EVENT,
		"one time between collectives takes 2.0 s (the median is 20.0 ms), 90 % of the "
		"time: all GPUs wait in the first collective until the last one comes");
	event->count = 2;
	event->is_first_meeting = false;
	check(&s, REASON_IS_EVENT,
		"2 times between collectives take up to 2.0 s (the median is 20.0 ms), 90 % of the "
		"time: in the longest all GPUs transfer");
	s.reason.figures.filtered = 1;
	event->cause = STRAGGLER_SEVERAL;
	check(&s, REASON_IS_EVENT, "all GPUs did what was not recorded, as was asked");
	/* A process without a rank is named by its GPU. */
	s.reason.figures.filtered = 0;
	s.reason.figures.lane_count = 1;
	s.lanes[0].has_rank = false;
	event->has_place = true;
	event->place = (struct reason_place){1, 0};
	check(&s, REASON_IS_EVENT, "in the longest GPU 0 is late for several things");
	assert_ptr_equal(s.reason.lane, s.lanes);
}

TEST_CASE(one_long_step_is_no_steady_cause)
{
	struct scene s;
	struct reason_event *event = &s.reason.figures.event;

	begin(&s);
	*event = (struct reason_event){.is_found = true,
		.is_step = true,
		.has_place = true,
		.count = 1,
		.number = 20,
		.longest_ns = 30e9,
		.median_ns = 26e6,
		.cost_pct = 97,
		.place = {1, 0},
		.cause = STRAGGLER_HOST};
	check(&s, REASON_IS_EVENT,
		"step 20 takes 30.0 s (the median is 26.0 ms), 97 % of the time: rank 0 idles, its "
		"host submits nothing");
	assert_ptr_equal(s.reason.lane, s.lanes);
	event->has_place = false;
	event->count = 3;
	check(&s, REASON_IS_EVENT,
		"3 steps take up to 30.0 s (the median is 26.0 ms), 97 % of the "
		"time: in step 20 all GPUs idle, their hosts submit nothing");
	assert_null(s.reason.lane);
	/* What costs more is the reason. */
	s.reason.figures.straggler = (struct reason_straggler){
		.is_found = true, .count = 1, .at = {{2, 1}}, .cost_pct = 98, .windows = 1};
	check(&s, REASON_IS_SLOW_RANK, "Rank 1 is waited for");
	s.reason.figures.straggler.is_found = false;
	/* A step in which all compute longer has more work, and hides no rank. */
	event->cause = STRAGGLER_COMPUTE;
	event->cost_pct = 99;
	s.reason.figures.straggler = (struct reason_straggler){.is_found = true,
		.count = 1,
		.at = {{4, 3}},
		.reference = {2, 1},
		.windows = 10,
		.cost_pct = 12,
		.cause = STRAGGLER_COMPUTE};
	check(&s, REASON_IS_SLOW_RANK, "Rank 3 is waited for, which costs 12 % of the step");
	s.reason.figures.straggler.is_found = false;
	check(&s, REASON_IS_EVENT, "all GPUs compute");
	event->cost_pct = 9.9;
	check(&s, REASON_IS_NONE, "");
}

TEST_CASE(what_died_or_hangs_comes_before_all_shares)
{
	struct scene s;
	struct reason_hang *hang = &s.reason.figures.hang;

	begin(&s);
	*hang = (struct reason_hang){.has_process = true, .process_id = s.lanes[1].process_id};
	snprintf(hang->text, sizeof(hang->text), "Rank 1 died (SIGABRT)");
	check(&s, REASON_IS_NONE, "");
	hang->is_fault = true;
	check(&s, REASON_IS_DIED, "Rank 1 died (SIGABRT)");
	assert_ptr_equal(s.reason.lane, s.lanes + 1);
	hang->is_fault = false;
	hang->is_hang = true;
	check(&s, REASON_IS_HANG, "Rank 1 died (SIGABRT)");
	assert_ptr_equal(s.reason.lane, s.lanes + 1);
}

TEST_CASE(waiting_and_transfer_are_told_apart)
{
	struct scene s;

	begin(&s);
	for (size_t i = 0; i < LANES; i++)
		set(&s, i, 600, 380, 0);
	s.reason.figures.waiting = (struct reason_waiting){
		.is_known = true, .wait_pct = 20, .pair_wait_pct = 10, .transfer_pct = 8};
	check(&s, REASON_IS_EXPOSED_COMM,
		"100 % of it exposed; ranks wait for each other 30 %, and transfer 8 %");
	s.reason.figures.waiting.transfer_pct = 31;
	check(&s, REASON_IS_EXPOSED_COMM,
		"100 % of it exposed; ranks transfer 31 %, and wait for each other 30 %");
}

TEST_CASE(the_greatest_part_is_the_reason)
{
	struct scene s;

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
	/* A GPU that idles more than the others is accused of nothing: it may have less to do. */
	begin(&s);
	set(&s, 1, 550, 0, 0);
	set_cause(&s, BREAKDOWN_HOST_LATE);
	check(&s, REASON_IS_LATE_HOST, "GPUs idle 15 %: the host submits late");
	assert_null(s.reason.lane);
}

TEST_CASE(idle_time_has_causes)
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
	/* Short gaps with nothing queued between short kernels come first. */
	set_cause(&s, BREAKDOWN_HOST_LATE);
	for (size_t i = 0; i < LANES; i++) {
		s.sums[i][GEMM].ns = 100 * REASON_SHORT_US * 1e3;
		s.lanes[i].total.short_empty_ns = 150;
		s.lanes[i].total.short_empty_gaps = 5;
	}
	check(&s, REASON_IS_LAUNCH_BOUND,
		"launch-bound, kernels are short (20.0 us), and in 50 % of that time the next "
		"is not launched yet");
	s.lanes[0].total.short_empty_ns = 149;
	check(&s, REASON_IS_LATE_HOST, "");
}
