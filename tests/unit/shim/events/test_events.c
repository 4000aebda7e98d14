/* SPDX-License-Identifier: MIT */
/* Host calls, collectives and copies on their way into frames, when many come at once. */
#include <pthread.h>
#include <string.h>

#include "proto/base/clock.h"
#include "proto/names/copies.h"
#include "proto/wire/frame.h"
#include "proto/wire/msg.h"
#include "shim/capture/front_ends/create.h"
#include "shim/capture/capture.h"
#include "shim/events/frames.h"
#include "shim/events/events.h"
#include "shim/record/strings.h"
#include "tests/lib/test.h"

#define DEADLINE_NS 300000000000ull
#define FLOOD	    100000u
/* Room for calls while no thread takes any: half of their ring, one more, and the spare one. */
#define CALLS_ROOM  (RECORDER_CALLS / 2 + 1 + RECORDER_CALLS_SPARE)
#define THREADS	    4u

static struct capture *capture;
static struct strings strings;
static struct msg_arena arena;
static uint8_t calls[CALLS_ROOM + RECORDER_CALLS]; /* how often a call of that id came */
static uint64_t calls_seen, copies_seen, times_seen, times_too_early;

static hsa_status_t no_signal(hsa_signal_value_t initial, uint32_t consumers,
	const hsa_agent_t *agents, uint64_t attributes, hsa_signal_t *signal)
{
	(void)initial, (void)consumers, (void)agents, (void)attributes, (void)signal;
	return HSA_STATUS_ERROR;
}

static void see(const Rtl__Frame *frame)
{
	if (frame->body_case == RTL__FRAME__BODY_HOST_CALLS) {
		calls_seen += frame->host_calls->n;
		for (uint32_t i = 0; i < frame->host_calls->n; i++)
			calls[frame->host_calls->id[i]]++;
	}
	if (frame->body_case == RTL__FRAME__BODY_COPIES) {
		for (uint32_t i = 0; i < frame->copies->n; i++) {
			if (frame->copies->how[i] == RTL_COPY_TIMES)
				times_too_early += ++times_seen > copies_seen;
			else
				copies_seen++;
		}
	}
}

/* Does the work of the shim's thread, the connection and a collector. */
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
		see(frame);
		recorder_sent(recorder, number);
		assert_int_equal(recorder_acked(recorder, number), 0);
	}
}

static void collect_all(void)
{
	while (!event_frames_is_done(capture_recorder(capture)))
		collect();
}

static bool make(enum recorder_call_kind kind, uint64_t id)
{
	struct recorder_call *call = event_call_take(kind);

	if (!call)
		return false;
	call->id = id;
	call->api = RTL_COPY_ASYNC; /* as a host call some other function */
	event_call_publish(call);
	return true;
}

static uint64_t counter(enum rtl_process_counter what)
{
	return recorder_process_value(capture_recorder(capture), what);
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
	memset(calls, 0, sizeof(calls));
	calls_seen = copies_seen = times_seen = times_too_early = 0;
	return events_start(capture_recorder(capture));
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

/* Each exactly once. */
static void check_calls(uint64_t first, uint64_t end)
{
	for (uint64_t id = first; id < end; id++)
		assert_int_equal(calls[id], 1);
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, setup, teardown)

CASE(calls_of_a_flood_wait_for_a_thread_without_a_processor)
{
	for (int lap = 0; lap < 3; lap++) {
		memset(calls, 0, sizeof(calls));
		for (uint64_t id = 0; id < FLOOD; id++)
			assert_true(make(RECORDER_CALL_HOST, id));
		assert_int_equal(counter(RTL_P_dropped_calls), 0);
		collect_all();
		check_calls(0, FLOOD);
	}
	assert_int_equal(calls_seen, 3 * FLOOD);
	assert_int_equal(counter(RTL_P_calls_recorded), 3 * FLOOD);
}

CASE(without_a_flood_the_spare_ring_is_not_touched)
{
	struct recorder *recorder = capture_recorder(capture);

	for (uint64_t id = 0; id < FLOOD; id++) {
		assert_true(make(RECORDER_CALL_HOST, id));
		if (id % (RECORDER_CALLS / 2) == 0)
			collect();
	}
	collect_all();
	check_calls(0, FLOOD);
	assert_int_equal(recorder->header->spare_calls_used, 0);
}

CASE(beyond_the_room_there_is_calls_are_dropped_and_counted)
{
	uint64_t id = 0;

	while (make(RECORDER_CALL_HOST, id))
		id++;
	assert_int_equal(id, CALLS_ROOM);
	assert_int_equal(capture_recorder(capture)->header->spare_calls_used, RECORDER_CALLS_SPARE);
	assert_int_equal(counter(RTL_P_dropped_calls), 1);
	collect_all();
	assert_true(make(RECORDER_CALL_HOST, id));
	collect_all();
	check_calls(0, CALLS_ROOM + 1);
}

CASE(copies_keep_room_and_their_order_in_a_flood_of_calls)
{
	uint64_t copies = 0;

	for (uint64_t id = 0; id < FLOOD; id++) {
		assert_true(make(RECORDER_CALL_HOST, id));
		if (id % 64 == 0) {
			assert_true(make(RECORDER_CALL_COPY, ++copies));
			assert_true(make(RECORDER_CALL_COPY_TIMES, copies));
		}
		if (id % 10000 == 0)
			collect();
	}
	collect_all();
	check_calls(0, FLOOD);
	assert_int_equal(copies_seen, copies);
	assert_int_equal(times_seen, copies);
	assert_int_equal(times_too_early, 0);
	assert_int_equal(counter(RTL_P_dropped_copies), 0);
}

static _Atomic unsigned running;

static void *flooder(void *argument)
{
	uint64_t first = (uintptr_t)argument * (FLOOD / THREADS);

	for (uint64_t id = first; id < first + FLOOD / THREADS; id++)
		(void)make(RECORDER_CALL_HOST, id);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

CASE(threads_that_flood_together_lose_none)
{
	pthread_t thread[THREADS];

	atomic_store(&running, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, flooder, (void *)i), 0);
	while (atomic_load(&running))
		collect();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	collect_all();
	assert_int_equal(counter(RTL_P_dropped_calls), 0);
	check_calls(0, FLOOD);
}
