// SPDX-License-Identifier: MIT
/* What is missing, how lanes are identified, and how many there are. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/test.h"
#include "tests/unit/cli/timeline/stage.h"

/* Steps are those of the markers, though one record of the second is missing. */
STAGE_CASE(a_dropped_record_moves_nothing)
{
	for (int64_t i = 0; i < 3; i++) {
		char text[16];

		snprintf(text, sizeof(text), "step %d", (int)i);
		scene_range(&s->scene, 1, text, i * 1000, i * 1000 + 990);
		for (int64_t k = 0; k < 4; k++)
			if (i != 1 || k != 2)
				scene_dispatch(&s->scene, k < 3 ? s->gemm : s->ring,
					i * 1000 + k * 200, i * 1000 + k * 200 + 200, i * 1000);
	}
	scene_sql(&s->scene, "UPDATE rtl_queue SET dispatched = dispatched + 1, dropped = 1 WHERE "
			     "queueId = 0");
	stage_ask(s);
	stage_check(stage_row(s, 0, 0), 990, 600, 200, 0, 190);
	stage_check(stage_row(s, 0, 1), 990, 400, 200, 0, 390);
	stage_check(stage_row(s, 0, 2), 990, 600, 200, 0, 190);
	assert_false(s->timeline->verdict->is_complete);
	assert_int_equal(s->timeline->outside_ns, 20);
}

STAGE_CASE(untimed_kernels_are_counted_where_they_were_submitted)
{
	scene_range(&s->scene, 1, "step 5", 0, 100);
	scene_range(&s->scene, 1, "step 6", 100, 200);
	scene_dispatch(&s->scene, s->gemm, 0, 50, 0);
	scene_dispatch(&s->scene, s->gemm, SCENE_NONE, 0, 120);
	scene_dispatch(&s->scene, s->gemm, SCENE_NONE, 0, 130);
	scene_dispatch(&s->scene, s->gemm, SCENE_NONE, 0, 500);
	scene_copy(&s->scene, 1, SCENE_NONE, 0, SCENE_NONE, SCENE_NONE, 5);
	stage_ask(s);
	assert_int_equal(stage_row(s, 0, 0)->untimed, 0);
	assert_int_equal(stage_row(s, 0, 1)->untimed, 2);
	assert_int_equal(stage_row(s, 0, 1)->kernels, 0);
	assert_int_equal(s->timeline->lanes[0].outside.untimed, 1);
	assert_int_equal(s->timeline->untimed, 3);
	assert_int_equal(s->timeline->untimed_copies, 1);
	s->options.has_step = true;
	s->options.step = 6;
	stage_ask(s);
	assert_int_equal(s->timeline->total.wall_ns, 100);
	assert_int_equal(s->timeline->lanes[0].shown, 1);
}

/* The second rank's clock is an hour ahead: its figures are the first one's. */
STAGE_CASE(ranks_have_their_own_time)
{
	static const int64_t offset = 3600000000000;
	struct breakdown_row a, b;

	scene_process(&s->scene, 2, 1);
	for (int64_t p = 1; p <= 2; p++) {
		int64_t at = (p - 1) * offset;
		int64_t k = p == 1 ? s->gemm
				   : scene_shape(&s->scene, 2, 0, 0, scene_kernel(&s->scene, GEMM));

		scene_range(&s->scene, p, "step 0", at, at + 1000);
		scene_dispatch(&s->scene, k, at + 100, at + 300, at + 10);
		scene_dispatch(&s->scene, k, at + 500, at + 1300, at + 400);
	}
	stage_ask(s);
	a = *stage_row(s, 0, 0);
	b = *stage_row(s, 1, 0);
	stage_check(&a, 1300, 1000, 0, 0, 300);
	b.start_ns -= offset;
	b.end_ns -= offset;
	assert_memory_equal(&a, &b, sizeof(a));
}

/* Numbers of calls are of their process: the same one is another operation on each rank. */
STAGE_CASE(equal_ids_of_two_ranks_never_mix)
{
	static const char *const ops[] = {"ncclAllReduce", "ncclReduceScatter"};

	scene_process(&s->scene, 2, 1);
	for (int64_t p = 1; p <= 2; p++) {
		int64_t k = p == 1 ? s->some
				   : scene_shape(&s->scene, 2, 0, 1, scene_kernel(&s->scene, SOME));

		scene_call(&s->scene, p, 5, ops[p - 1], 0, 50, 0);
		scene_collective(&s->scene, p, 5, 7, 0);
		scene_call(&s->scene, p, 6, "hipLaunchKernel", 10, 20, 5); /* within it */
		scene_dispatch(&s->scene, k, 100, 110, 15);
		scene_link(&s->scene, 6);
		scene_dispatch(&s->scene, k, 200, 220, 120);
		scene_link(&s->scene, 5);
		scene_dispatch(&s->scene, k, 300, 340, 150);
		scene_link(&s->scene, 9); /* of nothing that moves data */
	}
	stage_ask(s);
	assert_int_equal(stage_row(s, 0, 0)->stream_ns[BREAKDOWN_ALLREDUCE], 30);
	assert_int_equal(stage_row(s, 0, 0)->stream_ns[BREAKDOWN_REDUCESCATTER], 0);
	assert_int_equal(stage_row(s, 1, 0)->stream_ns[BREAKDOWN_ALLREDUCE], 0);
	assert_int_equal(stage_row(s, 1, 0)->stream_ns[BREAKDOWN_REDUCESCATTER], 30);
	assert_int_equal(stage_row(s, 0, 0)->stream_ns[BREAKDOWN_COMMUNICATION], 40);
	assert_int_equal(stage_row(s, 1, 0)->stream_ns[BREAKDOWN_COMMUNICATION], 40);
}

STAGE_CASE(a_group_of_several_is_communication)
{
	scene_call(&s->scene, 1, 1, "ncclAllReduce", 0, 1, 0);
	scene_call(&s->scene, 1, 2, "ncclReduceScatter", 1, 2, 0);
	scene_call(&s->scene, 1, 3, "ncclGroupEnd", 2, 9, 0);
	scene_collective(&s->scene, 1, 1, 7, 0);
	scene_collective(&s->scene, 1, 2, 7, 1);
	scene_sql(&s->scene, "UPDATE rtl_collective_base SET launch_id = (1 << 40) | 3");
	scene_dispatch(&s->scene, s->some, 10, 20, 5);
	scene_link(&s->scene, 3);
	stage_ask(s);
	assert_int_equal(stage_row(s, 0, 0)->stream_ns[BREAKDOWN_COMMUNICATION], 10);
}

STAGE_CASE(copies_belong_to_the_gpus_that_compute)
{
	scene_process(&s->scene, 2, 1);
	scene_dispatch(&s->scene, s->gemm, 0, 10, 0);
	scene_copy(&s->scene, 1, 0, 5, 20, 30, 0);	    /* to a GPU it does not compute on */
	scene_copy(&s->scene, 1, 0, SCENE_NONE, 15, 18, 0); /* out of order */
	scene_copy(&s->scene, 2, 4, 6, 100, 120, 50);	    /* computes nowhere */
	stage_ask(s);
	assert_int_equal(s->timeline->lane_count, 2);
	stage_check(stage_row(s, 0, 0), 30, 10, 0, 13, 7);
	assert_int_equal(s->timeline->lanes[1].gpu_id, 6);
	stage_check(stage_row(s, 1, 0), 20, 0, 0, 20, 0);
}

TEST_CASE(nothing_and_one_kernel_are_sensible)
{
	char *reading;
	struct stage s;

	stage_begin(&s);
	stage_ask(&s);
	assert_int_equal(s.timeline->lane_count, 0);
	reading = timeline_reading(s.timeline);
	assert_string_equal(reading, "nothing to read: no time was recorded");
	free(reading);
	stage_end(&s);
	stage_begin(&s);
	scene_dispatch(&s.scene, s.gemm, 7, 9, 3);
	stage_ask(&s);
	stage_check(stage_row(&s, 0, 0), 2, 2, 0, 0, 0);
	reading = timeline_reading(s.timeline);
	assert_non_null(strstr(reading, "computation is 100 %"));
	free(reading);
	stage_end(&s);
}

STAGE_CASE(a_thousand_ranks_are_in_order)
{
	scene_sql(&s->scene,
		"WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
		"INSERT INTO rtl_process (id, session_id, pid, start_ns, rank, boot_id, uid, "
		"drained, token, start_time) SELECT i, 1, i, 0, 1000 - i, 'b', 0, 1, '', 0 FROM n");
	scene_sql(&s->scene, "UPDATE rtl_process SET rank = 999 WHERE id = 1");
	scene_sql(&s->scene, "INSERT INTO rtl_shape SELECT 1000 + id, id, CASE id WHEN 1 THEN 0 "
			     "ELSE id %% 8 END, 0, (SELECT min(id) FROM "
			     "rtl_kernel_base), 1, 1, 1, 1, 1, 1, 0, 0 FROM rtl_process");
	scene_sql(&s->scene,
		"INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit) SELECT 1000 + "
		"p.id, n.i, n.i * 1000, 100 + p.rank / 2, 10 FROM rtl_process p, (SELECT value AS "
		"i "
		"FROM json_each('[0,1,2,3]')) n ORDER BY n.i");
	stage_ask(s);
	assert_int_equal(s->timeline->lane_count, 1000);
	for (size_t i = 0; i < 1000; i++) {
		assert_int_equal(s->timeline->lanes[i].rank, i);
		stage_check(stage_row(s, i, 0), 3100 + i / 2, 4 * (100 + i / 2), 0, 0,
			2700 - 3 * (i / 2));
	}
}

static int by_name(const void *a, const void *b)
{
	const struct timeline_segment *x = a, *y = b;

	return (x->segment.start_ns > y->segment.start_ns) -
	       (x->segment.start_ns < y->segment.start_ns);
}

STAGE_CASE(segments_say_what_was_under_way)
{
	static const unsigned compute = 1u << BREAKDOWN_COMPUTE, ring = 1u << BREAKDOWN_ALLREDUCE;
	const struct timeline_segment expected[] = {{0, {0, 5, compute}},
		{0, {5, 10, compute | ring}}, {0, {10, 15, ring}}, {0, {15, 20, compute | ring}},
		{1, {20, 25, ring}}, {1, {30, 40, 1u << BREAKDOWN_COPY}}};
	const struct timeline_lane *lane;

	scene_range(&s->scene, 1, "step 0", 0, 2);
	scene_range(&s->scene, 1, "step 1", 2, 40);
	scene_dispatch(&s->scene, s->gemm, 0, 10, 0);
	scene_dispatch(&s->scene, s->gemm, 15, 20, 1);
	scene_dispatch(&s->scene, s->ring, 5, 25, 3);
	scene_dispatch(&s->scene, s->copy, 30, 40, 25);
	s->options.wants_segments = true;
	stage_ask(s);
	lane = s->timeline->lanes;
	assert_int_equal(lane->segment_count, 6);
	qsort(lane->segments, 6, sizeof(*lane->segments), by_name);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(lane->segments[i].row, expected[i].row);
		assert_int_equal(lane->segments[i].segment.start_ns, expected[i].segment.start_ns);
		assert_int_equal(lane->segments[i].segment.end_ns, expected[i].segment.end_ns);
		assert_int_equal(lane->segments[i].segment.streams, expected[i].segment.streams);
	}
	assert_int_equal(stage_row(s, 0, 0)->active_segments, 4);
	assert_int_equal(stage_row(s, 0, 1)->active_segments, 2);
}

STAGE_CASE(bad_rules_and_patterns_are_refused)
{
	char error[QUERY_ERROR_BYTES];
	struct trace *none = NULL;

	scene_dispatch(&s->scene, s->gemm, 7, 9, 3);
	stage_ask(s);
	timeline_free_p(&s->timeline);
	assert_int_equal(trace_open(s->query, "/nonexistent/rules", error, &none), -ENOENT);
	assert_non_null(strstr(error, "/nonexistent/rules"));
	s->options.steps = "[";
	assert_int_equal(
		timeline_new(scene_trace(&s->scene, s->query), &s->options, error, &s->timeline),
		-EINVAL);
	assert_non_null(strstr(error, "--steps"));
	assert_null(s->timeline);
	assert_null(none);
}

static void add_marks(struct stage *s, int count)
{
	scene_sql(&s->scene,
		"INSERT INTO rocpd_string (string) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL "
		"SELECT i + 1 FROM n WHERE i < %d) SELECT 'step ' || i FROM n",
		count - 1);
	scene_sql(&s->scene, "INSERT INTO rtl_marker_base SELECT 1, id, NULL, 7, 'mark', id, id, "
			     "id FROM rocpd_string WHERE string GLOB 'step *'");
	scene_dispatch(&s->scene, s->gemm, 0, 10, 0);
	scene_dispatch(&s->scene, s->gemm, 90, 100, 0);
}

static void refuse(struct stage *s, const char *part)
{
	char error[QUERY_ERROR_BYTES];

	timeline_free_p(&s->timeline);
	assert_true(timeline_new(scene_trace(&s->scene, s->query), &s->options, error,
			    &s->timeline) < 0);
	if (!strstr(error, part))
		fail_msg("%s", error);
}

/* The whole run is shown instead, with a note, unless the user named these steps. */
STAGE_CASE(more_rows_than_fit_are_the_run)
{
	add_marks(s, TIMELINE_ROWS_MAX + 1);
	stage_ask(s);
	assert_int_equal(s->timeline->steps->source, STEPS_WHOLE);
	assert_string_equal(s->timeline->steps->line,
		"steps: 500001 of all ranks and GPUs, more than 500000 (--steps names longer "
		"ones): the run of each rank is taken for one");
	stage_check(stage_row(s, 0, 0), 100, 20, 0, 0, 80);
	assert_int_equal(s->timeline->lanes[0].process->count, 1);
	assert_int_equal(s->timeline->outside_ns, 0);
	s->options.steps = "step";
	refuse(s, "500001 steps of all ranks and GPUs are more than 500000: name longer ones");
	s->options.steps = "step [0-9]*000$";
	stage_ask(s);
	assert_int_equal(s->timeline->steps->source, STEPS_MARKERS);
	assert_int_equal(s->timeline->lanes[0].process->count, 500);
}

/* Also for steps that were not named: one queue's steps are those of the process on all its
 * GPUs. */
STAGE_CASE(more_inferred_rows_than_fit_are_the_run)
{
	scene_sql(&s->scene,
		"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 56999) "
		"INSERT INTO rtl_dispatch (shape_id, seq, start, duration, submit) SELECT CASE i "
		"%% 3 WHEN 0 THEN %d WHEN 1 THEN %d ELSE %d END, i, i * 100 + (i / 3) * 50, 90, 10 "
		"FROM n",
		(int)s->gemm, (int)s->copy,
		(int)scene_shape(&s->scene, 1, 0, 0, scene_kernel(&s->scene, "third")));
	for (int64_t gpu = 1; gpu < 30; gpu++)
		scene_dispatch(&s->scene,
			scene_shape(&s->scene, 1, gpu, gpu + 1, scene_kernel(&s->scene, "other")),
			0, 10, 0);
	scene_sql(&s->scene, "UPDATE rtl_queue SET stored = 57000 WHERE queueId = 0");
	stage_ask(s);
	assert_int_equal(s->timeline->lane_count, 30);
	assert_int_equal(s->timeline->steps->source, STEPS_WHOLE);
	assert_non_null(strstr(s->timeline->steps->line, "more than 500000"));
	stage_check(stage_row(s, 0, 0), 6649940, 3420000, 0, 1710000, 1519940);
	s->options.gpus =
		(struct choice_list){.count = 1}; /* of GPU 0 alone there are not too many */
	stage_ask(s);
	assert_int_equal(s->timeline->steps->source, STEPS_INFERRED);
	assert_true(s->timeline->lanes[0].process->count >= 18999);
}

/* The number of steps kept is bounded, so that memory suffices. */
STAGE_CASE(more_steps_than_are_kept_are_the_run)
{
	add_marks(s, STEPS_MAX + 1);
	stage_ask(s);
	assert_string_equal(s->timeline->steps->line,
		"steps: more than 1000000: the run of each rank is taken for one");
	stage_check(stage_row(s, 0, 0), 100, 20, 0, 0, 80);
	s->options.steps = "step";
	refuse(s, "--steps step: more than 1000000 match; name longer ones");
}

/* Steps of 100 ns, 30 of them idle. */
static void add_paced(struct stage *s, int64_t count, int64_t period_ns)
{
	for (int64_t i = 0; i < count; i++) {
		int64_t at = i * period_ns;
		char text[16];

		snprintf(text, sizeof(text), "step %d", (int)i);
		scene_range(&s->scene, 1, text, at, at + 100);
		scene_dispatch(&s->scene, s->gemm, at, at + 60, at);
		scene_dispatch(&s->scene, s->gemm, at + 90, at + 100, at + 80);
	}
}

/* rtl summary's reason counts what is between the steps; the sums of ranks do not. */
STAGE_CASE(what_is_between_steps_has_its_own_share)
{
	char *reading;

	add_paced(s, 4, 1000);
	stage_ask(s);
	assert_int_equal(s->timeline->outside_ns, 2700);
	reading = timeline_reading(s->timeline);
	/* 4 x 30 of 400, and with 3 x 900 of 3100. */
	assert_string_equal(reading, "GPUs idle 30 % of the steps (91 % of all the time); 67 % of "
				     "that: nothing was submitted (--mode hip records what the "
				     "host did meanwhile)");
	free(reading);
}

/* The reason of rtl summary is about the steps without the first, unless there is no other. */
TEST_CASE(a_process_that_works_only_in_the_first_step_has_a_time)
{
	static const struct {
		bool in_first, in_second;
		uint64_t wall_ns, compute_ns;
	} cases[] = {{true, true, 50, 50}, {true, false, 390, 360}, {false, false, 40, 30}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stage s;

		stage_begin(&s);
		s.options.joins_steps = true;
		scene_mark(&s.scene, 1, "step 1", 1000);
		scene_mark(&s.scene, 1, "step 2", 2000);
		scene_mark(&s.scene, 1, "step 3", 3000);
		scene_dispatch(&s.scene, s.gemm, 0, 10, 0);
		scene_dispatch(&s.scene, s.gemm, 20, 40, 0);
		for (int64_t at = 1000; at < 1400 && cases[i].in_first; at += 100)
			scene_dispatch(&s.scene, s.gemm, at, at + 90, at);
		if (cases[i].in_second)
			scene_dispatch(&s.scene, s.gemm, 2000, 2050, 2000);
		stage_ask(&s);
		assert_int_equal(s.timeline->steps->source, STEPS_MARKERS);
		stage_check(stage_row(&s, 0, 0), cases[i].wall_ns, cases[i].compute_ns, 0, 0,
			cases[i].wall_ns - cases[i].compute_ns);
		stage_end(&s);
	}
}

/* Kernels of 25 us, queued ahead, with 15 us between them. */
STAGE_CASE(kernels_that_are_slow_to_begin_are_not_called_short)
{
	char *reading;

	for (int64_t i = 0; i < 100; i++)
		scene_dispatch(&s->scene, s->gemm, 1000 + i * 40000, 26000 + i * 40000, 0);
	stage_ask(s);
	reading = timeline_reading(s->timeline);
	assert_string_equal(reading, "GPUs idle 37 % of the time; 100 % of that: kernels are "
				     "submitted, and each takes up to 20 us to begin");
	free(reading);
}

static char *show(const struct stage *s)
{
	const struct timeline_show show = {.format = RENDER_TABLE, .rows = 10, .width = 200};
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	assert_non_null(to);
	timeline_show(s->timeline, &s->options, &show, to);
	assert_int_equal(fclose(to), 0);
	return text;
}

/* A loader that takes as long as the step: whatever the largest part of that is, and if none is. */
TEST_CASE(idle_time_of_a_loader_between_steps_is_shown_for_any_largest_part)
{
	static const char rest[] = "; of all the time GPUs idle 45 %, 96 % of that: nothing was "
				   "submitted (--mode hip records what the host did meanwhile)";
	static const char *const parts[] = {
		"computation is 97 % of the steps; neither communication, copies nor idle time "
		"stand out in them",
		"communication is 49 % of the steps, 100 % of it exposed: 49 % of the steps",
		"copies that nothing hides are 49 % of the steps"};

	for (size_t n = 0; n < sizeof(parts) / sizeof(*parts); n++) {
		char text[256], *reading;
		struct stage s;

		stage_begin(&s);
		for (int64_t i = 0; i < 4; i++) {
			int64_t at = i * 2000, kind = n == 0 ? s.gemm : n == 1 ? s.ring : s.copy;

			snprintf(text, sizeof(text), "step %d", (int)i);
			scene_range(&s.scene, 1, text, at, at + 1000);
			scene_dispatch(&s.scene, s.gemm, at, at + 480, at);
			scene_dispatch(&s.scene, kind, at + 510, at + 1000, at + 480);
		}
		stage_ask(&s);
		/* 4 x 30 of 4000, and with 3 x 1000 of 7000. */
		snprintf(text, sizeof(text), "%s%s", parts[n], rest);
		reading = timeline_reading(s.timeline);
		assert_string_equal(reading, text);
		free(reading);
		/* One step has nothing outside. */
		s.options.has_step = true;
		stage_ask(&s);
		reading = timeline_reading(s.timeline);
		assert_null(strstr(reading, "all the time"));
		free(reading);
		stage_end(&s);
	}
}

/* Neither has any time then: not what was asked for, and not what lies outside of it. */
STAGE_CASE(time_outside_of_steps_is_shown_if_there_is_any)
{
	char *text;

	add_paced(s, 4, 1000);
	stage_ask(s);
	text = show(s);
	assert_non_null(strstr(text, "outside of steps: 0.0 ms, not in the sums of ranks\n"));
	free(text);
	s->options.has_step = true;
	s->options.step = 99;
	stage_ask(s);
	text = show(s);
	assert_null(strstr(text, "outside of steps"));
	free(text);
}

/* Seven steps of 20 us, of which number 3 takes 40 us, and number 5 computes for a longer time. */
STAGE_CASE(steps_that_look_alike_share_a_row_of_the_longest)
{
	struct timeline_show with = {.format = RENDER_TABLE};
	char *text = NULL;
	size_t bytes;
	FILE *to;

	for (int64_t i = 0, at = 0; i < 7; i++) {
		int64_t length = i == 3 ? 40000 : 20000;
		char name[16];

		snprintf(name, sizeof(name), "step %d", (int)i);
		scene_range(&s->scene, 1, name, at, at + length);
		scene_dispatch(&s->scene, s->gemm, at, at + (i == 5 ? 15000 : 5000), at);
		at += length;
	}
	stage_ask(s);
	for (with.rows = 1; with.rows <= 3; with.rows++) {
		to = open_memstream(&text, &bytes);
		timeline_show(s->timeline, &s->options, &with, to);
		fclose(to);
		assert_non_null(
			strstr(text, with.rows > 1 ? "\n   0    0  3 " : "\n   0    0     3 "));
		assert_int_equal(!!strstr(text, "\n   0    0  0-2,4,6 "), with.rows > 1);
		assert_int_equal(!!strstr(text, "\n   0    0  5 "), with.rows > 2);
		assert_int_equal(
			!!strstr(text, "\nLONGEST STEPS: 1 of 7; --top 0"), with.rows == 1);
		assert_int_equal(!!strstr(text, "\nLONGEST STEPS: 6 of 7, equal ones in "
						"one row; --top 0"),
			with.rows == 2);
		free(text);
	}
}

int main(void)
{
	unsetenv("RTL_CATEGORIES");
	return test_run(NULL, NULL);
}
