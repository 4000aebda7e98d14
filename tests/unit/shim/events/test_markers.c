/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/wire/frame.h"
#include "proto/wire/msg.h"
#include "shim/capture/front_ends/create.h"
#include "shim/capture/capture.h"
#include "shim/events/frames.h"
#include "shim/events/events.h"
#include "shim/events/markers.h"
#include "shim/record/strings.h"
#include "shim/base/thread.h"
#include "tests/lib/test.h"

#define DEADLINE_NS 300000000000ull

struct seen {
	uint32_t kind, text;
	uint64_t id, parent;
	char inline_text[32]; /* its beginning */
};

static struct capture *capture;
static struct strings strings;
static struct msg_arena arena;
static struct seen seen[16384];
static uint32_t seen_count;

static hsa_status_t no_signal(hsa_signal_value_t initial, uint32_t consumers,
	const hsa_agent_t *agents, uint64_t attributes, hsa_signal_t *signal)
{
	(void)initial, (void)consumers, (void)agents, (void)attributes, (void)signal;
	return HSA_STATUS_ERROR;
}

static void see(const Rtl__Markers *markers)
{
	size_t inlined = 0;

	for (uint32_t i = 0; i < markers->n; i++) {
		struct seen *one = &seen[seen_count++];

		*one = (struct seen){
			markers->kind[i], markers->text[i], markers->id[i], markers->parent[i], ""};
		if (one->text != RTL_MARKER_TEXT_INLINE)
			continue;
		snprintf(one->inline_text, sizeof(one->inline_text), "%.*s",
			(int)markers->inline_text[inlined].len,
			(const char *)markers->inline_text[inlined].data);
		inlined++;
	}
}

/* Drains into frames, reads them as the connection does, and acknowledges them. */
static void collect(void)
{
	struct recorder *recorder = capture_recorder(capture);
	const uint8_t *bytes;
	uint64_t number;
	size_t length;

	(void)event_frames_run(capture, &strings, clock_boottime_ns(), true);
	while (recorder_next_unsent(recorder, &number, &bytes, &length)) {
		Rtl__Frame *frame;

		assert_int_equal(msg_unpack(&arena, bytes + FRAME_PREFIX_BYTES,
					 length - FRAME_PREFIX_BYTES, &frame),
			0);
		assert_int_equal(frame->number, number);
		see(frame->markers);
		recorder_sent(recorder, number);
		assert_int_equal(recorder_acked(recorder, number), 0);
	}
}

static uint64_t counter(enum rtl_process_counter what)
{
	return atomic_load(&capture_recorder(capture)->header->process[what]);
}

static int setup(void **state)
{
	struct recorder_identity identity = {.pid = 1};
	struct capture_hsa hsa = {.signal_create = no_signal};

	(void)state;
	if (capture_create(&identity, &hsa, &capture))
		return -1;
	strings_init(&strings, capture_recorder(capture));
	msg_arena_init(&arena, ARENA_BYTES_MAX);
	event_frames_reset();
	if (events_start(capture_recorder(capture)))
		return -1;
	seen_count = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_true(events_stop(clock_monotonic_ns() + DEADLINE_NS));
	strings_done(&strings);
	msg_arena_done(&arena);
	capture = capture_free(capture);
	return 0;
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, setup, teardown)

/*
 * The program may load a library in the middle: from then on the numbers are its. This test is the
 * first, before the numbers of others have gone past a library's.
 */
CASE(a_library_that_comes_late_counts_from_one)
{
	uint64_t own[4];

	for (unsigned i = 0; i < 4; i++) {
		own[i] = markers_start_id();
		assert_true(own[i] <= INT32_MAX);
		markers_start(own[i], "ours");
	}
	for (uint64_t id = 1; id <= 2000; id++)
		markers_start(id, "the library's");
	for (unsigned i = 0; i < 4; i++)
		markers_stop(own[i]);
	collect();
	assert_int_equal(seen_count, 2008);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(seen[2004 + i].id, seen[i].id);
		for (unsigned k = 4; k < 2004; k++)
			assert_int_not_equal(seen[k].id, seen[i].id);
	}
}

CASE(ranges_nest_and_come_in_two_halves)
{
	assert_int_equal(thread_state()->marker, 0);
	assert_int_equal(markers_push("outer"), 0);
	assert_int_equal(markers_push("inner"), 1);
	markers_mark("here");
	assert_int_equal(markers_pop(), 1);
	assert_int_equal(markers_pop(), 0);
	assert_int_equal(markers_pop(), -1);
	assert_int_equal(thread_state()->marker, 0);
	collect();
	assert_int_equal(seen_count, 5);
	assert_int_equal(seen[0].kind, RTL_MARKER_BEGIN_PUSH);
	assert_int_equal(seen[0].parent, 0);
	assert_int_equal(seen[1].parent, seen[0].id);
	assert_int_equal(seen[2].kind, RTL_MARKER_MARK);
	assert_int_equal(seen[2].parent, seen[1].id);
	assert_int_equal(seen[3].kind, RTL_MARKER_END);
	assert_int_equal(seen[3].id, seen[1].id);
	assert_int_equal(seen[3].text, 0);
	assert_int_equal(seen[4].id, seen[0].id);
	assert_string_equal(seen[0].inline_text, "outer");
	assert_string_equal(seen[1].inline_text, "inner");
	assert_int_equal(counter(RTL_P_markers_begun), 2);
	assert_int_equal(counter(RTL_P_markers_ended), 2);
}

/* The define log is for what comes again: a job says its loss a million times, never the same. */
CASE(a_text_is_defined_when_it_comes_again)
{
	struct recorder *recorder = capture_recorder(capture);
	char text[64];
	uint64_t defined;

	for (int i = 0; i < 3; i++)
		markers_mark("again and again");
	collect();
	assert_int_equal(seen[0].text, RTL_MARKER_TEXT_INLINE);
	assert_int_not_equal(seen[1].text, RTL_MARKER_TEXT_INLINE);
	assert_int_equal(seen[2].text, seen[1].text);
	defined = recorder->header->define_bytes;
	for (int i = 0; i < 8000; i++) {
		snprintf(text, sizeof(text), "a text that is marked once only, loss=%d.%d", i, i);
		markers_mark(text);
		if (i % 1000 == 999)
			collect();
	}
	assert_int_equal(seen_count, 8003);
	assert_int_equal(recorder->header->define_bytes, defined);
}

/* Kernels may have taken all of it: a text needs none. */
CASE(a_text_that_comes_again_to_a_full_log_is_whole)
{
	uint8_t frame[64] = {0};

	frame_put_length(frame, sizeof(frame) - FRAME_PREFIX_BYTES);
	while (!recorder_define(
		capture_recorder(capture), frame, sizeof(frame), RECORDER_DEFINE_WAIT))
		;
	for (int i = 0; i < 3; i++)
		markers_mark(
			"the forward pass of a model whose kernels have long names, all of it");
	collect();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(seen[i].text, RTL_MARKER_TEXT_INLINE);
		assert_string_equal(seen[i].inline_text, "the forward pass of a model who");
	}
	assert_int_equal(counter(RTL_P_names_overflowed), 0);
}

CASE(an_open_range_is_known_before_it_ends)
{
	markers_push("open");
	collect();
	assert_int_equal(seen_count, 1);
	assert_int_equal(thread_state()->marker, seen[0].id);
	markers_pop();
	collect();
	assert_int_equal(seen_count, 2);
	assert_int_equal(seen[1].id, seen[0].id);
}

CASE(deep_nesting_keeps_its_levels)
{
	uint64_t dropped, current;

	collect();
	seen_count = 0;
	dropped = counter(RTL_P_dropped_markers);
	for (unsigned i = 0; i < MARKER_DEPTH_MAX + 8; i++)
		assert_int_equal(markers_push("deep"), i);
	current = thread_state()->marker;
	for (unsigned i = MARKER_DEPTH_MAX + 8; i-- > 0;) {
		assert_int_equal(markers_pop(), i);
		if (i >= MARKER_DEPTH_MAX)
			assert_int_equal(thread_state()->marker, current);
	}
	assert_int_equal(thread_state()->marker, 0);
	collect();
	assert_int_equal(seen_count, 2 * MARKER_DEPTH_MAX);
	assert_int_equal(counter(RTL_P_dropped_markers) - dropped, 8);
}

CASE(a_full_ring_drops_and_counts)
{
	uint64_t dropped;

	collect();
	seen_count = 0;
	dropped = counter(RTL_P_dropped_markers);
	for (int i = 0; i < 20000; i++)
		markers_mark("flood");
	collect();
	assert_int_equal(seen_count + counter(RTL_P_dropped_markers) - dropped, 20000);
	assert_true(seen_count >= 1024 && seen_count < 20000);
}

CASE(started_ranges_end_by_their_number)
{
	uint64_t one, two;

	one = markers_start_id();
	markers_start(one, "one");
	two = markers_start_id();
	markers_start(two, "two");
	assert_int_not_equal(one, two);
	markers_stop(one);
	markers_stop(two);
	collect();
	assert_int_equal(seen_count, 4);
	assert_int_equal(seen[0].kind, RTL_MARKER_BEGIN_START);
	assert_int_equal(seen[2].id, seen[0].id);
	assert_int_equal(seen[3].id, seen[1].id);
	assert_int_equal(thread_state()->marker, 0);
}

CASE(long_texts_are_cut_and_none_is_no_crash)
{
	static char text[4 * MARKER_BYTES_MAX];

	memset(text, 'm', sizeof(text) - 1);
	markers_mark(text);
	markers_mark(NULL);
	collect();
	assert_int_equal(seen_count, 2);
}

CASE(markers_set_before_a_recorder_exists_are_kept)
{
	assert_true(events_stop(clock_monotonic_ns() + DEADLINE_NS));
	markers_push("before");
	markers_mark("also before");
	assert_int_equal(counter(RTL_P_markers_begun), 0);
	assert_int_equal(events_start(capture_recorder(capture)), 0);
	markers_pop();
	collect();
	assert_int_equal(seen_count, 3);
	assert_int_equal(seen[0].kind, RTL_MARKER_BEGIN_PUSH);
	assert_int_equal(seen[1].parent, seen[0].id);
	assert_int_equal(seen[2].kind, RTL_MARKER_END);
	assert_int_equal(seen[2].id, seen[0].id);
	assert_int_equal(counter(RTL_P_markers_begun), 1);
	assert_int_equal(counter(RTL_P_markers_ended), 1);
}

CASE(markers_without_a_free_cell_stay_in_the_ring)
{
	struct recorder *recorder = capture_recorder(capture);

	/* The collector acknowledges nothing: one frame each. */
	for (unsigned i = 0; i < RECORDER_CELLS; i++) {
		markers_mark("one frame");
		(void)event_frames_run(capture, &strings, clock_boottime_ns(), true);
	}
	assert_int_equal(recorder_unacked(recorder), RECORDER_CELLS);
	for (int i = 0; i < 7; i++)
		markers_mark("waits");
	(void)event_frames_run(capture, &strings, clock_boottime_ns(), true);
	assert_int_equal(recorder_published(recorder), RECORDER_CELLS);
	assert_false(event_frames_is_done(recorder));
	collect();
	collect();
	assert_int_equal(seen_count, RECORDER_CELLS + 7);
	assert_true(event_frames_is_done(recorder));
	assert_int_equal(counter(RTL_P_dropped_markers), 0);
}

CASE(a_part_of_a_frame_waits_for_more_but_not_long)
{
	struct recorder *recorder = capture_recorder(capture);
	uint64_t now_ns = clock_boottime_ns();

	markers_mark("first");
	assert_true(event_frames_run(capture, &strings, now_ns, false));
	markers_mark("second");
	assert_true(event_frames_run(capture, &strings, now_ns + FLUSH_NS - 1, false));
	assert_int_equal(recorder_published(recorder), 0);
	assert_true(event_frames_run(capture, &strings, now_ns + FLUSH_NS, false));
	assert_int_equal(recorder_published(recorder), 1);
	/* A full one does not wait. */
	for (unsigned i = 0; i < EVENT_FRAME_RECORDS_MAX; i++)
		markers_mark("many");
	(void)event_frames_run(capture, &strings, now_ns + FLUSH_NS, false);
	assert_int_equal(recorder_published(recorder), 2);
}

/* At the rate at which the ring filled, half of the rest would be full before HARVEST_NS. */
CASE(a_ring_that_fills_is_read_in_time)
{
	uint64_t now_ns = clock_boottime_ns();

	(void)event_frames_run(capture, &strings, now_ns, false);
	markers_mark("one");
	(void)event_frames_run(capture, &strings, now_ns += HARVEST_NS, false);
	assert_int_equal(event_frames_pause_ns(), HARVEST_NS);
	for (unsigned i = 0; i < RECORDER_MARKERS - 1; i++)
		markers_mark("many");
	(void)event_frames_run(capture, &strings, now_ns += HARVEST_NS, true);
	assert_int_equal(event_frames_pause_ns(),
		(uint64_t)HARVEST_NS * (RECORDER_MARKERS / 2) / (RECORDER_MARKERS - 1));
	(void)event_frames_run(capture, &strings, now_ns += HARVEST_NS, true);
	assert_int_equal(event_frames_pause_ns(), HARVEST_NS);
}

/* The recorder is not in the child's memory at all. */
CASE(a_forked_child_touches_nothing_of_its_parent)
{
	pid_t pid;
	int status;

	markers_push("the parent's");
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct event_ring ring;

		markers_push("the child's");
		markers_pop();
		_exit(events_early(RECORDER_RING_MARKERS, &ring) && event_ring_tail(&ring) == 2
				? 0
				: 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	markers_pop();
	collect();
	assert_int_equal(seen_count, 2);
}

#define THREADS 4
#define PAIRS	200

static void *pusher(void *argument)
{
	(void)argument;
	for (int i = 0; i < PAIRS; i++) {
		markers_push("work");
		markers_pop();
	}
	return NULL;
}

CASE(threads_have_their_own_stacks)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, pusher, NULL), 0);
	for (int i = 0; i < 50; i++)
		collect();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	collect();
	assert_int_equal(seen_count, 2 * THREADS * PAIRS);
	for (uint32_t i = 0; i < seen_count; i++)
		assert_int_equal(seen[i].parent, 0);
	assert_int_equal(counter(RTL_P_markers_begun), THREADS * PAIRS);
	assert_int_equal(counter(RTL_P_markers_ended), THREADS * PAIRS);
}

#define FLOOD_THREADS 8
#define FLOOD_MARKS   1500

static void *flooder(void *argument)
{
	(void)argument;
	for (int i = 0; i < FLOOD_MARKS; i++)
		markers_mark("flood");
	return NULL;
}

/* Also while the recorder is replaced. */
CASE(a_flood_is_counted_to_the_last_mark)
{
	pthread_t threads[FLOOD_THREADS];

	for (int i = 0; i < FLOOD_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, flooder, NULL), 0);
	for (int i = 0; i < 50; i++) {
		collect();
		assert_true(events_stop(clock_monotonic_ns() + DEADLINE_NS));
		assert_int_equal(events_start(capture_recorder(capture)), 0);
	}
	for (int i = 0; i < FLOOD_THREADS; i++)
		pthread_join(threads[i], NULL);
	collect();
	collect();
	assert_int_equal(seen_count + counter(RTL_P_dropped_markers), FLOOD_THREADS * FLOOD_MARKS);
}
