// SPDX-License-Identifier: MIT
/*
 * A program floods its queue while the shim thread has no processor: nothing is lost, and no thread
 * waits. Here the test itself is that thread, and stops where it wants.
 */
#include "tests/shim/capture/fixture.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "shim/capture/capture_internal.h"
#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/shadow.h"
#include "tests/shim/capture/system_calls.h"

#define RING	     4096u
#define FLOOD	     100000u
#define BEYOND_CELLS ((uint64_t)RECORDER_CELLS * FRAME_RECORDS_MAX + FLOOD)

/* The device runs what the ring holds whenever it is full, so no more is ever in flight. */
static void flood(struct fixture *f, uint64_t dispatches)
{
	for (uint64_t i = 0; i < dispatches; i++) {
		if (i % RING == 0)
			fixture_step(f);
		fixture_dispatch(f, 0);
	}
	fixture_step(f);
}

static void thread_wakes_and_finds_all(struct fixture *f)
{
	assert_int_equal(fixture_count(f, RTL_Q_dropped_recorder_full), 0);
	/* Once to see the last of them end, and until a partial frame is due. */
	for (int i = 0; i < 5; i++)
		fixture_harvest(f, FLUSH_NS);
	assert_int_equal(capture_pending(f->capture), 0);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), f->queue->execs);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

static int flood_setup(void **state)
{
	static struct fixture fixture;

	fixture_init(&fixture, RING);
	*state = &fixture;
	return 0;
}

static int flood_teardown(void **state)
{
	fixture_done(*state);
	return 0;
}

#define CASE(claim) TEST_CASE_WITH(claim, flood_setup, flood_teardown, struct fixture *f)

CASE(flood_while_the_shim_thread_stops_in_a_pass_loses_nothing)
{
	uint32_t before = recorder_slots_used(f->recorder);

	harvest_lock_wait(f->capture);
	flood(f, FLOOD);
	harvest_lock_release(f->capture);
	assert_int_equal(recorder_process_value(f->recorder, RTL_P_slots_grown),
		recorder_slots_used(f->recorder) - before);
	thread_wakes_and_finds_all(f);
}

/*
 * The thread stops between two periods, so dispatches harvest themselves as long as there are
 * cells.
 */
CASE(flood_while_the_shim_thread_stops_between_passes_loses_nothing)
{
	bool is_long = getenv("RTL_TEST_LONG") != NULL;

	flood(f, is_long ? BEYOND_CELLS : FLOOD);
	assert_int_equal(recorder_process_value(f->recorder, RTL_P_slots_grown) != 0, is_long);
	if (is_long)
		assert_int_equal(recorder_unacked(f->recorder), RECORDER_CELLS);
	thread_wakes_and_finds_all(f);
}

struct trapped {
	struct fixture *f;
	int error;
};

static void *dispatch_trapped(void *data)
{
	struct trapped *trapped = data;

	trapped->error = system_calls_trap();
	for (unsigned i = 0; i < FLOOD; i++) {
		if (i % RING == 0)
			fixture_step(trapped->f);
		system_calls_enter();
		fixture_dispatch(trapped->f, 0);
		system_calls_leave();
	}
	fixture_step(trapped->f);
	return NULL;
}

static void flood_trapped(struct fixture *f)
{
	struct trapped trapped = {.f = f};
	pthread_t thread;

	assert_int_equal(system_calls_thread(&thread, dispatch_trapped, &trapped), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(trapped.error, 0);
	assert_int_equal(system_calls.futex, 0);
	assert_int_equal(system_calls.others, 0);
}

/* Whatever it has to do itself: harvest, with full frames, or make slots. */
CASE(dispatch_makes_no_system_call)
{
#ifdef __SANITIZE_THREAD__ /* which makes calls of its own, with signals blocked */
	skip();
#endif
	flood_trapped(f);
	assert_true(recorder_process_value(f->recorder, RTL_P_frames_published) > 0);
	assert_int_equal(recorder_process_value(f->recorder, RTL_P_slots_grown), 0);
	harvest_lock_wait(f->capture);
	flood_trapped(f);
	harvest_lock_release(f->capture);
	assert_true(recorder_process_value(f->recorder, RTL_P_slots_grown) > 0);
	thread_wakes_and_finds_all(f);
}

CASE(slots_made_by_a_dispatch_are_reused)
{
	uint32_t used;

	harvest_lock_wait(f->capture);
	flood(f, 8 * RING);
	harvest_lock_release(f->capture);
	thread_wakes_and_finds_all(f);
	used = recorder_slots_used(f->recorder);
	harvest_lock_wait(f->capture);
	flood(f, 4 * RING);
	harvest_lock_release(f->capture);
	assert_int_equal(recorder_slots_used(f->recorder), used);
	thread_wakes_and_finds_all(f);
}

/* A queue that has enough leaves the last slots to queues that have few. */
CASE(queue_that_floods_leaves_slots_for_another)
{
	struct synth_queue *hungry = f->queue;

	harvest_lock_wait(f->capture);
	flood(f, RECORDER_SLOTS);
	harvest_lock_release(f->capture);
	assert_true(fixture_count(f, RTL_Q_dropped_recorder_full) > 0);
	f->queue = synth_queue_new(RING);
	assert_int_equal(synth_adopt(f->capture, f->queue, 1), 0);
	harvest_lock_wait(f->capture);
	flood(f, 2 * RING);
	harvest_lock_release(f->capture);
	assert_int_equal(fixture_count(f, RTL_Q_dropped_recorder_full), 0);
	thread_wakes_and_finds_all(f);
	check_against_device(f->capture, f->reader, hungry,
		recorder_queue_value(
			&f->recorder->queues[hungry->block], RTL_Q_dropped_recorder_full));
	synth_queue_free(hungry);
}

/* Sum over all queues. */
static uint64_t recorder_dropped(const struct fixture *f)
{
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < recorder_queues_used(f->recorder); i++)
		dropped +=
			recorder_queue_value(&f->recorder->queues[i], RTL_Q_dropped_recorder_full);
	return dropped;
}

/*
 * A process has had a thousand queues. Records of one wait for a collector that is away; when it is
 * back, their slots go to queues that need them.
 */
CASE(slots_of_a_destroyed_queue_go_to_other_queues)
{
	struct synth_queue *former = f->queue, *idle = synth_queue_new(RING);
	uint64_t dropped = 0;
	uint32_t block;

	for (unsigned i = 0; i < RECORDER_CELLS; i++) {
		fixture_dispatch(f, 0);
		fixture_step(f);
		(void)harvest_flush(f->capture, f->now_ns += MS);
	}
	flood(f, RECORDER_SLOTS / 2);
	(void)harvest_run(f->capture, f->now_ns += MS);
	fixture_destroy_queue(f);
	synth_queue_free(former);
	f->queue = synth_queue_new(RING);
	for (uint32_t i = 1; i < RECORDER_QUEUES; i++) {
		assert_int_equal(synth_adopt(f->capture, f->queue, 0), 0);
		shadow_front_end.release(f->capture, synth_hsa_queue(f->queue), &block);
		shadow_front_end.retire(f->capture, block);
	}
	assert_int_equal(synth_adopt(f->capture, idle, 0), 0);
	assert_int_equal(synth_adopt(f->capture, f->queue, 0), 0);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 5; i++)
			fixture_harvest(f, FLUSH_NS);
		dropped = recorder_dropped(f);
		harvest_lock_wait(f->capture);
		flood(f, RECORDER_SLOTS / 4 * 3);
		harvest_lock_release(f->capture);
	}
	assert_int_equal(recorder_dropped(f), dropped);
	synth_queue_free(idle);
}

static hsa_status_t signal_refuse(hsa_signal_value_t initial, uint32_t num_consumers,
	const hsa_agent_t *consumers, uint64_t attributes, hsa_signal_t *signal)
{
	(void)initial;
	(void)num_consumers;
	(void)consumers;
	(void)attributes;
	(void)signal;
	return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static long faults(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_minflt;
}

/* As many as the recorder has places for, none of them busy. */
CASE(each_of_a_thousand_queues_has_slots)
{
	static struct synth_queue *queue[RECORDER_QUEUES - 1];
	const struct synth_packet kernel = {
		.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .has_barrier = true, .kernel_object = 1};
	uint64_t recorded = 0, dropped = 0;

	for (unsigned i = 0; i < RECORDER_QUEUES - 1; i++) {
		queue[i] = synth_queue_new(64);
		assert_int_equal(synth_adopt(f->capture, queue[i], 0), 0);
	}
	for (unsigned i = 0; i < RECORDER_QUEUES - 1; i++) {
		for (unsigned n = 0; n < 32; n++)
			(void)synth_submit(f->capture, queue[i], &kernel);
		while (synth_step(queue[i], SYNTH_DOORBELL))
			;
	}
	thread_wakes_and_finds_all(f);
	/* No queue gives up slots that another then needs, so this comes to an end. */
	for (unsigned n = 0; pool_provide(f->capture); n++)
		assert_in_range(n, 0, RECORDER_QUEUES);
	for (unsigned i = 0; i < RECORDER_QUEUES - 1; i++) {
		const struct recorder_queue *block = &f->recorder->queues[queue[i]->block];

		recorded += recorder_queue_value(block, RTL_Q_recorded);
		dropped += recorder_queue_value(block, RTL_Q_dropped_recorder_full);
	}
	assert_int_equal(dropped, 0);
	assert_int_equal(recorded, 32 * (RECORDER_QUEUES - 1));
	for (unsigned i = 0; i < RECORDER_QUEUES - 1; i++)
		synth_queue_free(queue[i]);
}

/*
 * In a flood there are thousands of pages; a page that is read first has a second, expensive fault.
 */
TEST_CASE(new_slots_cost_one_fault_a_page)
{
	const long pages = (long)(RECORDER_SLOT_CHUNK * sizeof(struct slot_private) / 4096);
	struct capture_hsa hsa;
	struct fixture f;
	long before;

#ifdef __SANITIZE_THREAD__ /* whose shadow is four times as large */
	skip();
#endif
	synth_hsa(&hsa);
	/* The memory of signals would count, too. */
	hsa.signal_memory_get = NULL;
	hsa.signal_create = signal_refuse;
	fixture_init_with(&f, RING, &hsa);
	before = faults();
	assert_true(pool_provide(f.capture));
	/* A sanitizer's shadow adds fewer faults than a second one per page would. */
	assert_in_range(faults() - before, 1, pages + pages / 2);
	fixture_done(&f);
}
