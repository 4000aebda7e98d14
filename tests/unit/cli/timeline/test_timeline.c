// SPDX-License-Identifier: MIT
/* Figures by hand, and the cases of which AORTA and TraceLens make something else. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/test.h"
#include "tests/unit/cli/timeline/stage.h"

static void check_causes(const struct breakdown_row *r, const uint64_t expected[BREAKDOWN_CAUSES])
{
	for (int i = 0; i < BREAKDOWN_CAUSES; i++)
		if (r->cause_ns[i] != expected[i])
			fail_msg("%s: %" PRIu64 ", not %" PRIu64,
				breakdown_cause_name((enum breakdown_cause)i), r->cause_ns[i],
				expected[i]);
}

/* AORTA keys what is active by the stream's name: it has 4 here, and not 10. */
STAGE_CASE(what_runs_twice_at_once_counts_once)
{
	scene_dispatch(&s->scene, s->gemm, 0, 10, 0);
	scene_dispatch(&s->scene, s->gemm, 2, 4, 0);
	stage_ask(s);
	stage_check(stage_row(s, 0, 0), 10, 10, 0, 0, 0);
	assert_int_equal(stage_row(s, 0, 0)->active_segments, 1);
	assert_int_equal(stage_row(s, 0, 0)->kernels, 2);
}

/* AORTA leaves trailing idle time out as soon as there was a gap before: 3, and not 93. */
STAGE_CASE(trailing_idle_time_is_idle_time)
{
	scene_range(&s->scene, 1, "step 0", 0, 100);
	scene_dispatch(&s->scene, s->gemm, 0, 5, 0);
	scene_dispatch(&s->scene, s->gemm, 8, 10, 1);
	stage_ask(s);
	stage_check(stage_row(s, 0, 0), 100, 7, 0, 0, 93);
	assert_int_equal(stage_row(s, 0, 0)->active_segments, 2);
}

/* AORTA's ratio is of the computation; that all communication is hidden is the other one's. */
STAGE_CASE(overlap_has_both_denominators)
{
	const struct breakdown_row *r;

	scene_dispatch(&s->scene, s->gemm, 0, 100, 0);
	scene_dispatch(&s->scene, s->ring, 20, 30, 0);
	stage_ask(s);
	r = stage_row(s, 0, 0);
	stage_check(r, 100, 100, 0, 0, 0);
	assert_int_equal(r->with_communication_ns, 10); /* 0.1 of computation */
	assert_int_equal(r->communication_ns, 10);	/* all of communication */
	assert_int_equal(r->with_allreduce_ns, 10);
	assert_int_equal(r->with_reducescatter_ns, 0);
	assert_int_equal(r->active_segments, 3);
}

/* compute_allreduce is overlap; the time of the all-reduce is another figure. */
STAGE_CASE(collectives_are_told_apart)
{
	const struct breakdown_row *r;

	scene_dispatch(&s->scene, s->gemm, 0, 10, 0);
	scene_dispatch(&s->scene, s->ring, 5, 25, 0);
	scene_dispatch(&s->scene, s->half, 8, 40, 0);
	scene_dispatch(&s->scene, s->some, 35, 50, 0);
	stage_ask(s);
	r = stage_row(s, 0, 0);
	stage_check(r, 50, 10, 40, 0, 0);
	assert_int_equal(r->stream_ns[BREAKDOWN_ALLREDUCE], 20);
	assert_int_equal(r->stream_ns[BREAKDOWN_REDUCESCATTER], 32);
	assert_int_equal(r->stream_ns[BREAKDOWN_COMMUNICATION], 15);
	assert_int_equal(r->communication_ns, 45);
	assert_int_equal(r->with_allreduce_ns, 5);
	assert_int_equal(r->with_reducescatter_ns, 2);
	assert_int_equal(r->with_communication_ns, 5);
}

/* TraceLens's pftrace reports add the overlap of each kernel: -10 would be exposed. */
STAGE_CASE(concurrent_computation_hides_once)
{
	for (int i = 0; i < 3; i++)
		scene_dispatch(&s->scene, s->gemm, 0, 10, 0);
	scene_dispatch(&s->scene, s->ring, 0, 10, 0);
	stage_ask(s);
	stage_check(stage_row(s, 0, 0), 10, 10, 0, 0, 0);
	assert_int_equal(stage_row(s, 0, 0)->with_communication_ns, 10);
}

STAGE_CASE(what_computation_hides_first_communication_hides_next)
{
	scene_dispatch(&s->scene, s->gemm, 0, 10, 0);
	scene_dispatch(&s->scene, s->ring, 5, 20, 0);
	scene_dispatch(&s->scene, s->copy, 8, 15, 0);
	scene_copy(&s->scene, 1, SCENE_NONE, 0, 15, 30, 0);
	stage_ask(s);
	stage_check(stage_row(s, 0, 0), 30, 10, 10, 10, 0);
	assert_int_equal(stage_row(s, 0, 0)->stream_ns[BREAKDOWN_COPY], 22);
	assert_int_equal(stage_row(s, 0, 0)->copies, 1);
	assert_int_equal(stage_row(s, 0, 0)->kernels, 3);
}

/* TraceLens folds all GPUs of a trace into one: nothing would be idle. */
STAGE_CASE(each_gpu_of_a_rank_has_its_own_line)
{
	scene_dispatch(&s->scene, s->gemm, 0, 50, 0);
	scene_dispatch(&s->scene, scene_shape(&s->scene, 1, 3, 2, scene_kernel(&s->scene, "k")), 50,
		100, 0);
	stage_ask(s);
	assert_int_equal(s->timeline->lane_count, 2);
	stage_check(stage_row(s, 0, 0), 100, 50, 0, 0, 50);
	stage_check(stage_row(s, 1, 0), 100, 50, 0, 0, 50);
	assert_int_equal(s->timeline->lanes[1].gpu_id, 3);
	assert_int_equal(s->timeline->total.wall_ns, 200);
	s->options.gpus = (struct choice_list){.count = 1, .range = {{3, 3}}};
	stage_ask(s);
	assert_int_equal(s->timeline->lane_count, 1);
	stage_check(stage_row(s, 0, 0), 100, 50, 0, 0, 50);
}

STAGE_CASE(what_takes_no_time_neither_works_nor_ends_a_gap)
{
	scene_dispatch(&s->scene, s->gemm, 0, 10, 0);
	scene_dispatch(&s->scene, s->ring, 15, 15, 0);
	scene_dispatch(&s->scene, s->gemm, 16000, 16010, 15000);
	stage_ask(s);
	stage_check(stage_row(s, 0, 0), 16010, 20, 0, 0, 15990);
	assert_int_equal(stage_row(s, 0, 0)->macro_idle_ns, 15990);
	assert_int_equal(stage_row(s, 0, 0)->kernels, 3);
	assert_int_equal(stage_row(s, 0, 0)->communication_ns, 0);
}

STAGE_CASE(micro_idle_times_are_below_the_threshold)
{
	scene_dispatch(&s->scene, s->gemm, 0, 1, 0);
	scene_dispatch(&s->scene, s->gemm, 10000, 10001, 0); /* 9,999 */
	scene_dispatch(&s->scene, s->gemm, 20001, 20002, 0); /* 10,000 */
	stage_ask(s);
	assert_int_equal(stage_row(s, 0, 0)->micro_idle_ns, 9999);
	assert_int_equal(stage_row(s, 0, 0)->macro_idle_ns, 10000);
	s->options.micro_idle_ns = 10001;
	stage_ask(s);
	assert_int_equal(stage_row(s, 0, 0)->micro_idle_ns, 19999);
	s->options.micro_idle_ns = 0;
	stage_ask(s);
	assert_int_equal(stage_row(s, 0, 0)->macro_idle_ns, 19999);
}

/* A gap is of the class of its whole length, in each of the steps in which it lies. */
STAGE_CASE(a_gap_over_two_steps_is_one_gap)
{
	scene_range(&s->scene, 1, "step 0", 0, 16000);
	scene_range(&s->scene, 1, "step 1", 16000, 30000);
	scene_dispatch(&s->scene, s->gemm, 0, 10000, 0);
	scene_dispatch(&s->scene, s->gemm, 22000, 30000, 18000);
	stage_ask(s);
	stage_check(stage_row(s, 0, 0), 16000, 10000, 0, 0, 6000);
	stage_check(stage_row(s, 0, 1), 14000, 8000, 0, 0, 6000);
	assert_int_equal(stage_row(s, 0, 0)->micro_idle_ns, 0);
	assert_int_equal(stage_row(s, 0, 1)->micro_idle_ns, 0);
	assert_int_equal(stage_row(s, 0, 0)->cause_ns[BREAKDOWN_QUEUE_EMPTY], 6000);
	assert_int_equal(stage_row(s, 0, 1)->cause_ns[BREAKDOWN_QUEUE_EMPTY], 2000);
	assert_int_equal(stage_row(s, 0, 1)->cause_ns[BREAKDOWN_LAUNCH], 4000);
}

TEST_CASE(idle_time_has_its_cause)
{
	static const uint64_t with_calls[BREAKDOWN_CAUSES] = {[BREAKDOWN_HOST_LATE] = 40000,
		[BREAKDOWN_SYNCHRONISATION] = 30000,
		[BREAKDOWN_PEER] = 20000,
		[BREAKDOWN_LAUNCH] = 10000,
		[BREAKDOWN_DEPENDENCY] = 50000,
		[BREAKDOWN_UNKNOWN] = 5000};
	static const uint64_t without[BREAKDOWN_CAUSES] = {[BREAKDOWN_QUEUE_EMPTY] = 90000,
		[BREAKDOWN_LAUNCH] = 10000,
		[BREAKDOWN_DEPENDENCY] = 50000,
		[BREAKDOWN_UNKNOWN] = 5000};

	for (int has_calls = 0; has_calls < 2; has_calls++) {
		struct stage s;

		stage_begin(&s);
		if (has_calls) {
			scene_sql(&s.scene, "UPDATE rtl_process SET mode = 'hip'");
			/* Two threads wait; the one within the other adds what is left. */
			scene_call(&s.scene, 1, 1, "hipStreamSynchronize", 500, 1020000, 0);
			scene_call(&s.scene, 1, 2, "hipMemcpy", 1010000, 1030000, 0);
			scene_call(&s.scene, 1, 3, "ncclGroupEnd", 1050000, 1070000, 0);
			/* These do not wait. */
			scene_call(&s.scene, 1, 4, "hipMemcpyAsync", 1030000, 1050000, 0);
			scene_call(&s.scene, 1, 5, "hipFreeAsync", 1030000, 1050000, 0);
		}
		scene_dispatch(&s.scene, s.gemm, 0, 1000000, 0);
		/* Nothing submitted for 90 us, of which 30 sync, 20 in RCCL; 10 us to begin. */
		scene_dispatch(&s.scene, s.gemm, 1100000, 1200000, 1090000);
		/* Submitted long before. */
		scene_dispatch(&s.scene, s.gemm, 1250000, 1300000, 1092000);
		scene_dispatch(&s.scene, s.gemm, 1305000, 1400000, SCENE_NONE);
		stage_ask(&s);
		check_causes(stage_row(&s, 0, 0), has_calls ? with_calls : without);
		stage_end(&s);
	}
}

/* On another queue, submitted at 150 us, and held back to 330: the host is late only before that.
 */
STAGE_CASE(queues_that_are_not_empty_are_held_back)
{
	static const uint64_t causes[BREAKDOWN_CAUSES] = {
		/* 100 to 150; of the second gap, 200 to 300, nothing. */
		[BREAKDOWN_QUEUE_EMPTY] = 50000,
		/* 150 to 190 and 200 to 300, though what ends them is submitted at 180 and 290. */
		[BREAKDOWN_DEPENDENCY] = 140000,
		/* 310 to 330: as long as it takes to begin. */
		[BREAKDOWN_LAUNCH] = 20000};

	scene_dispatch(&s->scene, s->gemm, 0, 100000, 0);
	scene_dispatch(&s->scene, s->gemm, 190000, 200000, 180000);
	scene_dispatch(&s->scene, s->gemm, 300000, 310000, 290000);
	scene_dispatch(&s->scene, s->ring, 330000, 340000, 150000);
	stage_ask(s);
	check_causes(stage_row(s, 0, 0), causes);
	assert_int_equal(stage_row(s, 0, 0)->gaps, 3);
}

/* It ends where the host is asked about: synchronisation counts only while nothing is queued. */
STAGE_CASE(a_wait_for_work_that_is_held_back_is_no_synchronisation)
{
	static const uint64_t causes[BREAKDOWN_CAUSES] = {
		[BREAKDOWN_SYNCHRONISATION] = 40000, [BREAKDOWN_DEPENDENCY] = 60000};

	scene_sql(&s->scene, "UPDATE rtl_process SET mode = 'hip'");
	scene_call(&s->scene, 1, 1, "hipDeviceSynchronize", 50000, 195000, 0);
	scene_dispatch(&s->scene, s->gemm, 0, 100000, 0);
	scene_dispatch(&s->scene, s->gemm, 200000, 210000, 196000);
	scene_dispatch(&s->scene, s->ring, 210000, 220000, 140000);
	stage_ask(s);
	check_causes(stage_row(s, 0, 0), causes);
}

/* With more gaps than the buffer holds, the first ones keep the causes seen so far. */
STAGE_CASE(a_kernel_that_waits_through_many_gaps_explains_only_the_last_ones)
{
	enum { GAPS = BREAKDOWN_GAPS_HELD + 44, SETTLED = BREAKDOWN_GAPS_HELD / 2 };

	for (int64_t i = 0; i <= GAPS; i++)
		scene_dispatch(&s->scene, s->gemm, i * 100000, i * 100000 + 50000, i * 100000);
	scene_dispatch(&s->scene, s->ring, GAPS * 100000 + 50000, GAPS * 100000 + 60000, 1);
	stage_ask(s);
	assert_int_equal(
		stage_row(s, 0, 0)->cause_ns[BREAKDOWN_QUEUE_EMPTY], SETTLED * INT64_C(50000));
	assert_int_equal(stage_row(s, 0, 0)->cause_ns[BREAKDOWN_DEPENDENCY],
		(GAPS - SETTLED) * INT64_C(50000));
}

int main(void)
{
	unsetenv("RTL_CATEGORIES");
	return test_run(NULL, NULL);
}
