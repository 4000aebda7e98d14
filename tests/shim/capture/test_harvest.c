// SPDX-License-Identifier: MIT
/* Our signals: fired, late, silent, abandoned. */
#include "tests/shim/capture/fixture.h"

#include "shim/capture/capture_internal.h"
#include "shim/capture/harvest.h"

CAPTURE_CASE(long_kernel_delays_no_other_queue_and_no_later_kernel)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};

	/* The first keeps running; those behind it have no barrier bit and complete before it. */
	f->queue->has_reordering = true;
	for (int i = 0; i < 10; i++)
		synth_submit(f->capture, f->queue, &packet);
	f->queue->holds = SYNTH_HOLD_NONE;
	fixture_step(f);
	/* Undoes the first, which was the last to complete: now this kernel is still running. */
	__atomic_store_n(
		&((amd_signal_t *)(uintptr_t)f->queue->exec[0].signal)->value, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		fixture_harvest(f, 30 * MS);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 9);
	assert_null(fixture_row(f, 0));
	assert_int_equal(capture_pending(f->capture), 1);
	__atomic_store_n(
		&((amd_signal_t *)(uintptr_t)f->queue->exec[0].signal)->value, 0, __ATOMIC_RELEASE);
	fixture_settle(f);
	check_against_device(f->capture, f->reader, f->queue, 0);
	assert_int_equal(fixture_count(f, RTL_Q_missed), 0);
}

/*
 * A queue with thousands of slots and little in flight uses few of them: those returned last are
 * still in the cache.
 */
CAPTURE_CASE(returned_slots_are_used_before_fresh_ones)
{
	unsigned used = 0;

	for (int i = 0; i < 64; i++) {
		for (int k = 0; k < 32; k++)
			fixture_dispatch(f, 0);
		fixture_settle(f);
	}
	check_against_device(f->capture, f->reader, f->queue, 0);
	for (uint32_t i = 0; i < recorder_slots_used(f->recorder); i++)
		used += f->recorder->slots[i].submit_ns != 0;
	assert_in_range(used, 32, 512);
}

CAPTURE_CASE(times_that_come_late_are_waited_for)
{
	f->queue->has_late_times = true;
	fixture_dispatch(f, 0);
	assert_true(synth_step(f->queue, SYNTH_DOORBELL));
	fixture_harvest(f, 30 * MS);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 0);
	assert_false(synth_step(f->queue, SYNTH_DOORBELL)); /* writes them */
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 1);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

/* A job that its scheduler suspends for most of an hour, at this moment. */
CAPTURE_CASE(process_stopped_for_an_hour_waits_no_hour_for_times)
{
	f->queue->has_no_times = true;
	fixture_dispatch(f, 0);
	fixture_step(f);
	fixture_harvest(f, MS);
	assert_int_equal(capture_pending(f->capture), 1);
	fixture_harvest(f, 3000 * 1000 * MS);
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_untimed_timestamp_invalid), 1);
	assert_int_equal(capture_pending(f->capture), 0);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

CAPTURE_CASE(times_that_never_come_make_the_record_untimed)
{
	f->queue->has_no_times = true;
	fixture_dispatch(f, 0);
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_untimed_timestamp_invalid), 1);
	assert_int_equal(fixture_row(f, 0)->untimed, RTL_UNTIMED_TIMESTAMP_INVALID);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

CAPTURE_CASE(signal_that_may_still_be_written_to_is_not_used_again_soon)
{
	uint64_t doubtful;

	f->queue->has_no_times = true;
	fixture_dispatch(f, 0);
	doubtful = f->queue->ring[0].completion_signal.handle;
	fixture_settle(f);
	f->queue->has_no_times = false;
	for (int i = 0; i < 5000; i++) {
		fixture_dispatch(f, 0);
		fixture_step(f);
		if (i % 50 == 0)
			fixture_harvest(f, 1);
	}
	for (size_t i = 1; i < f->queue->execs; i++)
		assert_int_not_equal(f->queue->exec[i].signal, doubtful);
	fixture_settle(f);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

CAPTURE_CASE(kernel_that_ran_without_our_signal_is_found_by_the_barrier_rule)
{
	uint64_t ours;

	fixture_dispatch(f, 0);
	/* As if the device had fetched the packet before we could store into it. */
	ours = f->queue->ring[0].completion_signal.handle;
	f->queue->ring[0].completion_signal.handle = 0;
	fixture_step(f);
	fixture_harvest(f, FIXTURE_SETTLE_NS);
	fixture_harvest(f, FIXTURE_SETTLE_NS);
	/* So far nothing proves that it has ended. */
	assert_int_equal(fixture_count(f, RTL_Q_missed), 0);
	fixture_dispatch(f, 0);
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_missed), 1);
	assert_int_equal(fixture_row(f, 0)->untimed, RTL_UNTIMED_TIMESTAMP_FAILED);
	assert_int_equal(fixture_row(f, 1)->untimed, RTL_TIMED);
	assert_int_not_equal(ours, 0);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

CAPTURE_CASE(kernels_that_ran_without_our_signals_end_no_scan)
{
	for (int i = 0; i < 3; i++) {
		fixture_dispatch(f, 0);
		f->queue->ring[i].completion_signal.handle = 0;
	}
	for (int i = 0; i < 3; i++)
		fixture_dispatch(f, 0);
	fixture_settle(f);
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_missed), 3);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 3);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

CAPTURE_CASE(kernel_still_running_when_the_queue_goes_is_unresolved)
{
	fixture_dispatch(f, 0);
	fixture_dispatch(f, 0);
	f->queue->holds = 1;
	fixture_step(f);
	fixture_destroy_queue(f);
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	assert_int_equal(fixture_count(f, RTL_Q_unresolved), 1);
	assert_int_equal(fixture_row(f, 0)->untimed, RTL_TIMED);
	assert_int_equal(fixture_row(f, 1)->untimed, RTL_UNTIMED_TIMESTAMP_FAILED);
	assert_int_equal(capture_pending(f->capture), 0);
}

CAPTURE_CASE(unknown_kernel_gets_a_symbol_when_it_is_harvested)
{
	struct synth_packet packet = {
		.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 0x7f0000000123};

	synth_submit(f->capture, f->queue, &packet);
	fixture_settle(f);
	assert_int_equal(f->recorder->header->process[RTL_P_symbols_unknown], 1);
	assert_int_equal(reader_shape(f->reader, fixture_row(f, 0)->shape)->symbol,
		1000 + 0x7f0000000123 % 1000);
}

static hsa_status_t no_signal(hsa_signal_value_t initial, uint32_t num_consumers,
	const hsa_agent_t *consumers, uint64_t attributes, hsa_signal_t *signal)
{
	(void)initial, (void)num_consumers, (void)consumers, (void)attributes, (void)signal;
	return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

/* One of many queues that come and go; the next one starts with the slots that this one leaves. */
static void queue_come_and_go(struct fixture *f)
{
	f->queue = synth_queue_new(4096);
	assert_int_equal(synth_adopt(f->capture, f->queue, 0), 0);
	for (int i = 0; i < 10; i++)
		fixture_dispatch(f, 0);
	fixture_settle(f);
	fixture_destroy_queue(f);
	for (int i = 0; i < 4; i++)
		fixture_harvest(f, MS);
	synth_queue_free(f->queue);
}

CAPTURE_CASE(queues_that_come_and_go_use_the_same_slots)
{
	struct synth_queue *first = f->queue;
	uint32_t used;

	for (int i = 0; i < 4; i++)
		queue_come_and_go(f);
	used = recorder_slots_used(f->recorder);
	for (int i = 0; i < 60; i++)
		queue_come_and_go(f);
	f->queue = first;
	assert_int_equal(recorder_slots_used(f->recorder), used);
}

TEST_CASE(runtime_without_signals_leaves_records_without_times)
{
	struct fixture f;
	struct capture_hsa hsa;

	synth_hsa(&hsa);
	hsa.signal_memory_get = NULL;
	hsa.signal_create = no_signal;
	fixture_init_with(&f, 64, &hsa);
	fixture_dispatch(&f, 0);
	assert_int_equal(f.queue->ring[0].completion_signal.handle, 0);
	fixture_settle(&f);
	assert_int_equal(fixture_row(&f, 0)->untimed, RTL_UNTIMED_SIGNAL_POOL);
	check_against_device(f.capture, f.reader, f.queue, 0);
	fixture_done(&f);
}

/* Whether or not the harvester has seen it, the device writes to it when it ends. */
TEST_CASE(signals_of_running_kernels_are_left_to_the_device)
{
	struct capture_hsa hsa;
	struct fixture f;

	synth_hsa(&hsa);
	hsa.signal_memory_get = NULL;
	fixture_init_with(&f, 64, &hsa);
	fixture_dispatch(&f, 0);
	fixture_settle(&f);
	for (int i = 0; i < 3; i++) {
		fixture_dispatch(&f, 0);
		if (i < 2)
			fixture_harvest(&f, MS);
	}
	capture_release_signals(f.capture);
	assert_int_equal(synth.signals_live, 3);
	fixture_step(&f);
	for (int i = 1; i <= 3; i++) {
		hsa_signal_t signal = f.queue->ring[i].completion_signal;

		assert_int_equal(synth_signal_load(signal), 0);
		synth_signal_free(signal);
	}
	fixture_done(&f);
}
