// SPDX-License-Identifier: MIT
#include <string.h>

#include "proto/names/completeness.h"
#include "tests/lib/test.h"

static void check(const struct completeness *c, bool is_complete, const char *want)
{
	char line[COMPLETENESS_LINE_BYTES];

	assert_string_equal(completeness_format(c, line, sizeof(line)), want);
	assert_int_equal(completeness_is_complete(c), is_complete);
}

TEST_CASE(all_stored_is_complete)
{
	struct completeness c = {.dispatched = 12, .stored = 12};

	check(&c, true, "complete: 12 dispatched, 12 stored");
	c.simulated = true;
	check(&c, true, "SIMULATED complete: 12 dispatched, 12 stored");
	c.live = true;
	check(&c, false,
		"SIMULATED INCOMPLETE: 12 dispatched, 12 stored, 0 dropped, 0 untimed, "
		"0 outstanding, not closed");
}

TEST_CASE(what_is_written_and_lacks_nothing_is_running)
{
	struct completeness c = {.dispatched = 12, .stored = 10, .pending = 2, .undrained = 1};

	c.live = c.written = true;
	check(&c, false, "RUNNING: 12 dispatched, 10 stored so far");
	assert_true(completeness_is_running(&c));
	c.simulated = true;
	check(&c, false, "SIMULATED RUNNING: 12 dispatched, 10 stored so far");
	/* What a filter leaves out is no loss, what rtl leaves out is. */
	c.skipped = 3;
	completeness_add(&c.skipped_by, "skipped_filter", 3);
	check(&c, false,
		"SIMULATED RUNNING: 12 dispatched, 10 stored so far, 3 skipped (filter 3)");
	c.skipped = 4;
	assert_false(completeness_is_running(&c));
	c.skipped = 3;
	c.dropped = 1;
	assert_false(completeness_is_running(&c));
	check(&c, false,
		"SIMULATED INCOMPLETE: 12 dispatched, 10 stored, 1 dropped, 0 untimed, "
		"0 outstanding, 3 skipped (filter 3), 2 pending, not closed");
	/* Its collector has died. */
	c.dropped = 0;
	c.written = false;
	assert_false(completeness_is_running(&c));
	c.written = true;
	c.live = false;
	assert_false(completeness_is_running(&c));
}

TEST_CASE(reasons_stand_behind_their_sum)
{
	struct completeness c = {.dispatched = 30,
		.stored = 20,
		.dropped = 7,
		.untimed = 4,
		.outstanding = 2,
		.torn = 1};

	completeness_add(&c.dropped_by, "dropped_recorder_full", 5);
	completeness_add(&c.dropped_by, "dropped_malformed", 1);
	completeness_add(&c.dropped_by, "dropped_malformed", 1);
	completeness_add(&c.untimed_by, "untimed_ipc", 4);
	completeness_add(&c.untimed_by, "untimed_early", 0);
	check(&c, false,
		"INCOMPLETE: 30 dispatched, 20 stored, 7 dropped (recorder_full 5, malformed 2), "
		"4 untimed (ipc 4), 2 outstanding, 1 torn");
}

TEST_CASE(drops_say_where_and_when)
{
	struct completeness c = {.dispatched = 30, .stored = 18, .dropped = 12};
	struct completeness_place place = {.processes = 1,
		.has_rank = true,
		.rank = 3,
		.has_queue = true,
		.queue = 5,
		.from_ns = 1700000000250000000,
		.to_ns = 1700000001999000000};

	completeness_add(&c.dropped_by, "dropped_recorder_full", 12);
	completeness_locate(&c, "dropped_quota", &place);
	check(&c, false,
		"INCOMPLETE: 30 dispatched, 18 stored, 12 dropped (recorder_full 12), 0 untimed, "
		"0 outstanding");
	completeness_locate(&c, "dropped_recorder_full", &place);
	check(&c, false,
		"INCOMPLETE: 30 dispatched, 18 stored, 12 dropped (recorder_full 12: rank 3 queue "
		"5, 22:13:20.2-22:13:21.9 UTC), 0 untimed, 0 outstanding");
	place.processes = 4;
	place.has_rank = place.has_queue = false;
	place.from_ns = 0;
	completeness_locate(&c, "dropped_recorder_full", &place);
	check(&c, false,
		"INCOMPLETE: 30 dispatched, 18 stored, 12 dropped (recorder_full 12: 4 processes), "
		"0 untimed, 0 outstanding");
}

TEST_CASE(other_losses_say_where_too)
{
	struct completeness c = {.dispatched = 9, .stored = 8, .untimed = 2, .torn = 1};
	struct completeness_place queue = {
		.processes = 1, .has_rank = true, .rank = 3, .has_queue = true, .queue = 5};
	struct completeness_place process = {.processes = 1,
		.has_rank = true,
		.rank = 4,
		.from_ns = 1700000000250000000,
		.to_ns = 1700000001999000000};

	c.tails_unknown = 1;
	completeness_add(&c.untimed_by, "untimed_early", 2);
	completeness_locate(&c, "untimed_early", &queue);
	completeness_locate(&c, "torn", &queue);
	completeness_locate(&c, "unknown_tail", &process);
	check(&c, false,
		"INCOMPLETE: 9 dispatched, 8 stored, 0 dropped, 2 untimed (early 2: rank 3 queue "
		"5), 0 outstanding, 1 torn (rank 3 queue 5), 1 process with an unknown tail (rank "
		"4, 22:13:20.2-22:13:21.9 UTC)");
	/* Their number has been said. */
	c.tails_unknown = process.processes = 2;
	c.untimed = c.torn = 0;
	c.untimed_by.count = 0;
	completeness_locate(&c, "unknown_tail", &process);
	check(&c, false,
		"INCOMPLETE: 9 dispatched, 8 stored, 0 dropped, 0 untimed, 0 outstanding, 2 "
		"processes with an unknown tail (22:13:20.2-22:13:21.9 UTC)");
	process.from_ns = 0;
	completeness_locate(&c, "unknown_tail", &process);
	check(&c, false,
		"INCOMPLETE: 9 dispatched, 8 stored, 0 dropped, 0 untimed, 0 outstanding, 2 "
		"processes with an unknown tail");
}

TEST_CASE(only_the_filter_may_skip)
{
	struct completeness c = {.dispatched = 9, .stored = 5, .skipped = 4};

	completeness_add(&c.skipped_by, "skipped_filter", 4);
	check(&c, true, "complete: 9 dispatched, 5 stored, 4 skipped (filter 4)");
	c.skipped = 5;
	c.dispatched = 10;
	completeness_add(&c.skipped_by, "skipped_coop", 1);
	check(&c, false,
		"INCOMPLETE: 10 dispatched, 5 stored, 0 dropped, 0 untimed, 0 outstanding, "
		"5 skipped (filter 4, coop 1)");
}

TEST_CASE(what_a_mode_leaves_untimed_is_stated_and_no_loss)
{
	struct completeness c = {.dispatched = 9, .stored = 9, .untimed = 4, .untimed_by_mode = 4};

	check(&c, true, "complete: 9 dispatched, 9 stored (lite: 5 timed)");
	assert_int_equal(completeness_lost(&c), 0);
	c.untimed = 6;
	completeness_add(&c.untimed_by, "untimed_signal_pool", 2);
	check(&c, false,
		"INCOMPLETE: 9 dispatched, 9 stored (lite: 3 timed), 0 dropped, "
		"2 untimed (signal_pool 2), 0 outstanding");
	assert_int_equal(completeness_lost(&c), 2);
}

static struct completeness with_one(struct completeness c, size_t at)
{
	uint64_t one = 1;

	memcpy((char *)&c + at, &one, sizeof(one));
	return c;
}

/* Each count alone makes a session incomplete, live or not. What is on its way is not missing, nor
 * what was not requested. */
TEST_CASE(what_no_frame_brings_is_missing)
{
	static const size_t missing[] = {offsetof(struct completeness, processes_unseen),
		offsetof(struct completeness, unwatched), offsetof(struct completeness, untimed),
		offsetof(struct completeness, outstanding), offsetof(struct completeness, dropped),
		offsetof(struct completeness, torn), offsetof(struct completeness, frames_missing),
		offsetof(struct completeness, markers_dropped),
		offsetof(struct completeness, calls_dropped),
		offsetof(struct completeness, copies_dropped),
		offsetof(struct completeness, queues_coop),
		offsetof(struct completeness, queues_ineligible),
		offsetof(struct completeness, copy_queues_unseen),
		offsetof(struct completeness, runtimes_ignored),
		offsetof(struct completeness, tails_unknown),
		offsetof(struct completeness, rows_missing),
		offsetof(struct completeness, names_left_out),
		offsetof(struct completeness, shapes_coarse),
		offsetof(struct completeness, unseen_of_users),
		offsetof(struct completeness, unwrapped_roctx),
		offsetof(struct completeness, unwrapped_rccl),
		offsetof(struct completeness, unwrapped_hip),
		offsetof(struct completeness, logs_cut),
		offsetof(struct completeness, databases_set_aside),
		offsetof(struct completeness, other_losses)};
	const struct completeness none = {0}, coming = {.live = true,
						      .dispatched = 9,
						      .pending = 7,
						      .undrained = 1,
						      .skipped = 2};

	assert_false(completeness_is_missing(&coming));
	assert_true(completeness_is_complete(&none));
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		struct completeness live = with_one(coming, missing[i]);
		struct completeness closed = with_one(none, missing[i]);

		assert_true(completeness_is_missing(&live));
		assert_true(completeness_is_missing(&closed));
		assert_false(completeness_is_complete(&closed));
	}
}

TEST_CASE(pending_records_make_a_session_incomplete)
{
	static const size_t at[] = {offsetof(struct completeness, pending),
		offsetof(struct completeness, undrained), offsetof(struct completeness, skipped)};
	const struct completeness live = {.live = true};

	assert_false(completeness_is_complete(&live));
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct completeness c = with_one((struct completeness){0}, at[i]);

		assert_false(completeness_is_complete(&c));
	}
}

TEST_CASE(other_losses_are_in_the_line_if_there_are_any)
{
	struct completeness c = {.markers_dropped = 1,
		.calls_dropped = 7,
		.copies_dropped = 2,
		.queues_coop = 1,
		.queues_ineligible = 6,
		.copy_queues_unseen = 3,
		.runtimes_ignored = 1,
		.tails_unknown = 2,
		.undrained = 3,
		.processes_unseen = 2,
		.unwrapped_roctx = 2,
		.unwrapped_rccl = 1,
		.unwrapped_hip = 1,
		.unwatched = 1,
		.names_left_out = 1,
		.shapes_coarse = 9,
		.frames_missing = 8,
		.other_losses = 4,
		.pending = 5};

	check(&c, false,
		"INCOMPLETE: 0 dispatched, 0 stored, 0 dropped, 0 untimed, 0 outstanding, "
		"5 pending, 1 marker dropped, 7 calls dropped, 2 copies dropped, "
		"1 cooperative queue not recorded, 6 queues not followed, "
		"1 HSA runtime not followed, "
		"3 copy queues not recorded, "
		"2 processes with an unknown tail, "
		"1 process not read to the end, 2 processes not recorded, "
		"roctx ranges of 2 processes not recorded, RCCL calls of 1 process not recorded, "
		"HIP calls of 1 process not recorded, not watched all the "
		"time, "
		"1 name not kept, 9 shapes not kept, 8 frames missing, 4 other losses");
}

TEST_CASE(processes_of_other_users_are_named_by_their_uid)
{
	struct completeness c = {0};

	*completeness_own_loss(&c, "processes_of_uid_65534") += 1;
	check(&c, false,
		"INCOMPLETE: 0 dispatched, 0 stored, 0 dropped, 0 untimed, 0 outstanding, "
		"1 process of uid 65534 not recorded");
	*completeness_own_loss(&c, "processes_of_uid_1000") += 2;
	check(&c, false,
		"INCOMPLETE: 0 dispatched, 0 stored, 0 dropped, 0 untimed, 0 outstanding, "
		"3 processes of other users not recorded");
}

TEST_CASE(what_another_tool_recorded_is_neither_complete_nor_incomplete)
{
	struct completeness c = {.stored = 12,
		.imported = true,
		.imported_all = true,
		.imported_stored = 12,
		.imported_from = "PyTorch's profiler"};

	assert_true(completeness_is_unknown(&c));
	check(&c, false, "imported: 12 kernels; what PyTorch's profiler lost is unknown");
	c.imported_from[0] = '\0';
	c.simulated = true;
	c.stored = c.imported_stored = 1;
	check(&c, false,
		"SIMULATED imported: 1 kernel; what the tools that recorded them lost is unknown");
}

TEST_CASE(what_is_known_to_be_lost_is_said_beside_imports)
{
	struct completeness c = {.dispatched = 4,
		.stored = 12,
		.imported = true,
		.imported_stored = 8,
		.imported_from = "rocprofv3"};

	assert_true(completeness_is_unknown(&c));
	check(&c, false,
		"imported: 8 kernels; what rocprofv3 lost is unknown; complete: 4 dispatched, 4 "
		"stored");
	c.dispatched = 5;
	c.dropped = 1;
	assert_false(completeness_is_unknown(&c));
	check(&c, false,
		"imported: 8 kernels; what rocprofv3 lost is unknown; INCOMPLETE: 5 dispatched, 4 "
		"stored, 1 dropped, 0 untimed, 0 outstanding");
}

TEST_CASE(a_line_never_leaves_its_room)
{
	struct completeness c = {.dispatched = UINT64_MAX, .stored = UINT64_MAX, .torn = 1};
	char line[40];

	memset(line, '#', sizeof(line));
	completeness_format(&c, line, 32);
	assert_int_equal(strlen(line), 31);
	assert_int_equal(line[32], '#');
	for (int i = 0; i < 40; i++) {
		static const char *const name[] = {"a_1", "a_2", "a_3", "a_4", "a_5", "a_6", "a_7",
			"a_8", "a_9", "a_10", "a_11", "a_12", "a_13", "a_14", "a_15", "a_16",
			"a_17", "a_18", "a_19", "a_20"};

		completeness_add(&c.dropped_by, name[i % 20], 1);
	}
	assert_int_equal(c.dropped_by.count, COMPLETENESS_REASONS_MAX);
}
