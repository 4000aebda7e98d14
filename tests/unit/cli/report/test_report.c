// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "cli/report/bins.h"
#include "cli/report/detail.h"
#include "tests/lib/test.h"
#include "tests/unit/cli/timeline/stage.h"

static void check_bin(const struct report_bins *bins, const struct timeline_lane *lane, size_t bin,
	double compute, double hidden, double exposed, double copy)
{
	const float *at = report_bins_of(bins, lane);

	assert_non_null(at);
	assert_float_equal(at[bin * REPORT_CLASSES + REPORT_COMPUTE], compute, 1e-6);
	assert_float_equal(at[bin * REPORT_CLASSES + REPORT_HIDDEN], hidden, 1e-6);
	assert_float_equal(at[bin * REPORT_CLASSES + REPORT_EXPOSED], exposed, 1e-6);
	assert_float_equal(at[bin * REPORT_CLASSES + REPORT_COPY], copy, 1e-6);
}

TEST_CASE(bins_are_shares_of_their_time)
{
	struct report_bins bins;
	struct stage s;

	stage_begin(&s);
	scene_dispatch(&s.scene, s.gemm, 0, 100, 0);
	scene_dispatch(&s.scene, s.ring, 50, 150, 0);
	scene_dispatch(&s.scene, s.copy, 210, 220, 0);
	/* Longer than a bin, and out of order in the file. */
	scene_dispatch(&s.scene, s.gemm, 225, 400, 0);
	scene_dispatch(&s.scene, s.copy, 160, 170, 0);
	report_bins_init(&bins, 4, REPORT_BINS_MAX);
	s.options.taker = &bins.taker;
	stage_ask(&s);
	assert_int_equal(bins.count, 4);
	assert_float_equal(bins.bin_ns, 100, 1e-9);
	check_bin(&bins, s.timeline->lanes, 0, 0.5, 0.5, 0, 0);
	check_bin(&bins, s.timeline->lanes, 1, 0, 0, 0.5, 0.1);
	check_bin(&bins, s.timeline->lanes, 2, 0.75, 0, 0, 0.1);
	check_bin(&bins, s.timeline->lanes, 3, 1, 0, 0, 0);
	stage_end(&s);
	report_bins_done(&bins);
}

/* A file too far out of order is read again: nothing counts twice. */
TEST_CASE(bins_begin_again_with_the_file)
{
	const struct timeline_lane lane = {.process_id = 7,
		.gpu_id = 1,
		.process = &(struct steps_process){.first_ns = 0, .last_ns = 10}};
	const struct breakdown_segment segment = {0, 10, 1u << BREAKDOWN_COMPUTE};
	struct report_bins bins;

	report_bins_init(&bins, 1, REPORT_BINS_MAX);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(bins.taker.begin(bins.taker.taker, &lane, 1), 0);
		assert_int_equal(bins.taker.take(bins.taker.taker, 0, &segment), 0);
	}
	check_bin(&bins, &lane, 0, 1, 0, 0, 0);
	assert_null(report_bins_of(&bins, &(struct timeline_lane){.process_id = 7, .gpu_id = 2}));
	report_bins_done(&bins);
}

TEST_CASE(many_lanes_share_the_bins)
{
	static struct timeline_lane lanes[1000];
	const struct steps_process process = {.first_ns = 5, .last_ns = 5};
	struct report_bins bins;

	for (int i = 0; i < 1000; i++)
		lanes[i] = (struct timeline_lane){.process_id = i, .process = &process};
	report_bins_init(&bins, REPORT_BINS_LANE_MAX, REPORT_BINS_MAX);
	assert_int_equal(bins.taker.begin(bins.taker.taker, lanes, 1000), 0);
	assert_true(bins.count * 1000 <= REPORT_BINS_MAX);
	assert_true(bins.count >= REPORT_BINS_LANE_MIN);
	assert_non_null(report_bins_of(&bins, lanes + 999));
	/* And files share what the page has. */
	bins.all_max /= 2;
	assert_int_equal(bins.taker.begin(bins.taker.taker, lanes, 1000), 0);
	assert_true(bins.count * 1000 <= REPORT_BINS_MAX / 2);
	assert_int_equal(bins.taker.begin(bins.taker.taker, NULL, 0), 0);
	assert_null(report_bins_of(&bins, lanes));
	report_bins_done(&bins);
}

static void read_detail(struct stage *s, size_t events, uint64_t has, struct report_detail *ret)
{
	const struct collectives none = {0};
	const struct collectives_report no_report = {0};

	stage_ask(s);
	*ret = (struct report_detail){0};
	assert_int_equal(report_detail_read(scene_trace(&s->scene, s->query), s->timeline, &none,
				 &no_report, events, has, ret),
		0);
}

STAGE_CASE(all_kernels_are_there_when_they_fit)
{
	struct report_detail detail;

	scene_process(&s->scene, 2, 1);
	scene_dispatch(&s->scene, s->gemm, 100, 200, 0);
	scene_dispatch(&s->scene, s->ring, 40, 50, 0);
	scene_dispatch(&s->scene, s->gemm, SCENE_NONE, 0, 60);
	scene_dispatch(&s->scene, scene_shape(&s->scene, 2, 3, 0, scene_kernel(&s->scene, "other")),
		30, 30, 0);
	scene_copy(&s->scene, 1, SCENE_NONE, 0, 210, 220, 200);
	read_detail(s, 10, 5, &detail);
	assert_int_equal(detail.window_count, 1);
	assert_true(detail.windows[0].is_all && !detail.windows[0].is_cut);
	assert_int_equal(detail.windows[0].count, 4);
	/* By lane, then start; a copy among the kernels; no length is a length. */
	assert_int_equal(detail.windows[0].events[0].start_ns, 40);
	assert_int_equal(detail.windows[0].events[1].length_ns, 100);
	assert_string_equal(detail.names[detail.windows[0].events[0].name].text, RING);
	assert_string_equal(detail.names[detail.windows[0].events[1].name].category, "gemm");
	assert_int_equal(detail.names[detail.windows[0].events[2].name].class, CATEGORY_COPY);
	assert_int_equal(detail.windows[0].events[3].lane, 1);
	assert_int_equal(detail.windows[0].events[3].length_ns, 0);
	report_detail_done(&detail);
}

/* In whatever order kernels come, a window that is cut has every kernel before its end. */
STAGE_CASE(a_cut_window_has_every_kernel_before_its_end)
{
	struct report_detail detail;
	const struct report_window *window;
	size_t wanted = 0;

	/* Without a period, or it would be the steps that are shown. */
	for (unsigned i = 0; i < 100; i++)
		scene_dispatch(&s->scene, i * 2654435761u >> 31 ? s->gemm : s->ring,
			i * 37 % 100 * 10, i * 37 % 100 * 10 + 25, 0);
	read_detail(s, 16, 100, &detail);
	assert_int_equal(detail.window_count, 1);
	window = detail.windows;
	assert_string_equal(window->label, "the beginning");
	assert_true(window->is_cut && !window->is_all);
	for (int start = 0; start < 1000; start += 10)
		wanted += start < window->to_ns;
	assert_true(wanted >= 8 && wanted <= 16);
	assert_int_equal(window->count, wanted);
	for (size_t i = 0; i < wanted; i++)
		assert_int_equal(window->events[i].start_ns, i * 10);
	report_detail_done(&detail);
}

/* More at one instant than there is room for: none of them, rather than some. */
STAGE_CASE(kernels_that_start_at_once_are_all_in_a_window_or_none)
{
	struct report_detail detail;

	for (int i = 0; i < 50; i++)
		scene_dispatch(&s->scene, s->gemm, 0, 10 + i, 0);
	read_detail(s, 8, 50, &detail);
	assert_int_equal(detail.windows[0].count, 0);
	assert_true(detail.windows[0].is_cut);
	report_detail_done(&detail);
}

STAGE_CASE(the_longest_step_and_a_usual_one_are_shown)
{
	/* The first is longest, and warms up. */
	static const int lengths[] = {900, 100, 110, 400, 105, 100};
	struct report_detail detail;
	int64_t at = 0;

	for (int i = 0; i < 6; i++) {
		char text[32];

		snprintf(text, sizeof(text), "step %d", i);
		scene_range(&s->scene, 1, text, at, at + lengths[i]);
		scene_dispatch(&s->scene, s->gemm, at, at + lengths[i], at);
		at += lengths[i];
	}
	read_detail(s, 4, 6, &detail);
	assert_int_equal(detail.window_count, 2);
	assert_string_equal(detail.windows[0].label, "longest step: rank 0, step 3, 0.000 ms");
	assert_int_equal(detail.windows[0].from_ns, 1110);
	assert_int_equal(detail.windows[0].to_ns, 1510);
	assert_int_equal(detail.windows[0].count, 1);
	assert_int_equal(detail.windows[1].from_ns, 1510);
	assert_false(detail.windows[1].is_cut);
	report_detail_done(&detail);
	/* Where all fits they are places of the whole. */
	read_detail(s, 100, 6, &detail);
	assert_int_equal(detail.window_count, 3);
	assert_int_equal(detail.windows[0].count, 6);
	assert_true(detail.windows[1].is_place && !detail.windows[1].count);
	assert_int_equal(detail.windows[1].from_ns, 1110);
	report_detail_done(&detail);
}
