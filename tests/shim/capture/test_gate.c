// SPDX-License-Identifier: MIT
/* How the capture path handles dispatches that the user left out, step by step. */
#include "tests/shim/capture/fixture.h"

#include <string.h>

#include "shim/base/gate.h"
#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/base/thread.h"

#define UNWANTED_KERNEL 40u

static uint32_t symbol_of(uint64_t kernel_object)
{
	return (uint32_t)kernel_object | (kernel_object == UNWANTED_KERNEL ? SYMBOL_UNWANTED : 0);
}

static const _Atomic uint64_t *gate_of(uint32_t gpu)
{
	return gpu ? &gate_shut : &gate_word;
}

static struct fixture *begin(const struct choice *choice)
{
	static struct fixture f;
	struct capture_hsa hsa;

	memset(&f, 0, sizeof(f));
	synth_hsa(&hsa);
	hsa.symbol_of = symbol_of;
	hsa.gate_of = gate_of;
	gate_choose(choice);
	gate_begin(true, 0, 1);
	fixture_init_with(&f, 64, &hsa);
	return &f;
}

static int setup(void **state)
{
	*state = begin(&(struct choice){0});
	return 0;
}

static int setup_dormant(void **state)
{
	*state = begin(&(struct choice){.is_dormant = true});
	return 0;
}

static int teardown(void **state)
{
	fixture_done(*state);
	thread_state()->region = 0;
	return 0;
}

static hsa_kernel_dispatch_packet_t *packet_at(struct fixture *f, uint64_t index)
{
	return &f->queue->ring[index & (f->queue->amd.hsa_queue.size - 1)];
}

static void submit(struct fixture *f, uint64_t kernel_object, uint64_t signal)
{
	const struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH,
		.has_barrier = true,
		.kernel_object = kernel_object,
		.signal = signal};

	(void)synth_submit(f->capture, f->queue, &packet);
}

static void settle(struct fixture *f, uint64_t skipped)
{
	fixture_step(f);
	fixture_harvest(f, 1);
	fixture_harvest(f, 30 * MS);
	assert_int_equal(fixture_count(f, RTL_Q_skipped_filter), skipped);
	check_against_device(f->capture, f->reader, f->queue, skipped);
}

#define CASE(claim) TEST_CASE_WITH(claim, setup, teardown, struct fixture *f)

CASE(dormant_leaves_packets_alone_and_counts_them)
{
	gate_pause();
	submit(f, 1, 0);
	submit(f, 1, 0);
	assert_int_equal(packet_at(f, 0)->completion_signal.handle, 0);
	assert_int_equal(packet_at(f, 1)->completion_signal.handle, 0);
	/* The index stays virtual, and the device gets it. */
	assert_int_equal(synth_wdid(f->queue), 2);
	assert_int_equal(fixture_count(f, RTL_Q_signals_injected), 0);
	assert_int_equal(fixture_count(f, RTL_Q_intercept_calls), 0);
	settle(f, 2);
	gate_resume();
	submit(f, 1, 0);
	assert_int_not_equal(packet_at(f, 2)->completion_signal.handle, 0);
	settle(f, 2);
	assert_null(fixture_row(f, 1));
	assert_non_null(fixture_row(f, 2));
}

CASE(packet_published_after_the_stop_is_skipped_on_any_thread)
{
	const struct synth_packet kernel = {
		.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .has_barrier = true, .kernel_object = 1};
	uint64_t first = synth_add_index(f->capture, f->queue, 2);

	/* Reserved while recording; one of the two is published then. */
	synth_put(f->queue, first, &kernel);
	synth_ring(f->capture, f->queue, first);
	gate_pause();
	synth_put(f->queue, first + 1, &kernel);
	synth_ring(f->capture, f->queue, first + 1);
	settle(f, 1);
	assert_non_null(fixture_row(f, 0));
	assert_null(fixture_row(f, 1));
	gate_resume();
}

/* Rule 6: an application that does not write the signal field publishes our handle again. */
CASE(stale_signal_of_ours_is_removed_while_dormant)
{
	uint64_t stale[2];

	submit(f, 1, 0);
	stale[0] = packet_at(f, 0)->completion_signal.handle;
	submit(f, 1, 0);
	stale[1] = packet_at(f, 1)->completion_signal.handle;
	settle(f, 0);
	gate_pause();
	for (unsigned i = 2; i < 64; i++) {
		submit(f, 1, 0);
		fixture_step(f);
	}
	/* The next use of the ring slots, twice. */
	for (unsigned turn = 0; turn < 2; turn++) {
		for (unsigned i = 0; i < 64; i++) {
			submit(f, 1, turn == 0 && i < 2 ? stale[i] : 0);
			assert_int_equal(packet_at(f, i)->completion_signal.handle, 0);
			fixture_step(f);
		}
	}
	/* Or by a program that copies its packets from each other. */
	submit(f, 1, stale[0]);
	assert_int_equal(packet_at(f, 0)->completion_signal.handle, 0);
	settle(f, 62 + 2 * 64 + 1);
	gate_resume();
}

CASE(only_kernels_that_are_left_out_are_skipped)
{
	gate_choose(&(struct choice){.kernels = "x"});
	gate_begin(true, 0, 1);
	submit(f, 1, 0);
	submit(f, UNWANTED_KERNEL, 0);
	submit(f, 2, 0);
	assert_int_equal(packet_at(f, 1)->completion_signal.handle, 0);
	settle(f, 1);
	assert_null(fixture_row(f, 1));
	/* Without the filter the mark is ignored. */
	gate_choose(&(struct choice){0});
	gate_begin(true, 0, 1);
	submit(f, UNWANTED_KERNEL, 0);
	settle(f, 1);
	assert_non_null(fixture_row(f, 3));
}

CASE(region_is_that_of_the_reservation)
{
	const struct synth_packet kernel = {
		.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .has_barrier = true, .kernel_object = 1};
	uint64_t inside, outside;

	gate_choose(&(struct choice){.region = "x"});
	gate_begin(true, 0, 1);
	thread_state()->region = 1;
	inside = synth_add_index(f->capture, f->queue, 1);
	thread_state()->region = 0;
	outside = synth_add_index(f->capture, f->queue, 1);
	thread_state()->region = 2;
	synth_put(f->queue, inside, &kernel);
	synth_put(f->queue, outside, &kernel);
	synth_ring(f->capture, f->queue, outside);
	settle(f, 1);
	assert_non_null(fixture_row(f, inside));
	assert_null(fixture_row(f, outside));
}

CASE(gpu_that_is_left_out_gets_no_slots)
{
	struct synth_queue *other = synth_queue_new(64);
	const struct synth_packet kernel = {
		.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .has_barrier = true, .kernel_object = 1};
	uint64_t used = f->recorder->header->slots_used;

	assert_int_equal(synth_adopt(f->capture, other, 1), 0);
	assert_int_equal(f->recorder->header->slots_used, used);
	(void)synth_submit(f->capture, other, &kernel);
	assert_int_equal(
		recorder_queue_value(&f->recorder->queues[other->block], RTL_Q_skipped_filter), 1);
	submit(f, 1, 0);
	settle(f, 0);
	while (synth_step(other, SYNTH_EAGER))
		;
	check_against_device(f->capture, f->reader, other, 1);
}

/* The process may never record. If it does, its first dispatches are not lost. */
TEST_CASE_WITH(dormant_makes_no_slots_until_it_records, setup_dormant, teardown, struct fixture *f)
{
	const struct recorder_header *header = f->recorder->header;

	submit(f, 1, 0);
	fixture_harvest(f, MS);
	fixture_harvest(f, MS);
	assert_int_equal(header->slots_used, 0);
	assert_int_equal(recorder_process_value(f->recorder, RTL_P_signals_created), 0);
	assert_true(gate_control(1, true, 0));
	submit(f, 1, 0);
	assert_true(recorder_process_value(f->recorder, RTL_P_slots_grown) > 0);
	fixture_harvest(f, MS);
	assert_true(header->slots_used >= 2 * RECORDER_SLOT_CHUNK);
	settle(f, 1);
	assert_non_null(fixture_row(f, 1));
}

/* A packet recorded earlier still needs the times in it. */
CASE(watched_signal_is_read_before_a_skipped_packet_uses_it)
{
	hsa_signal_t signal = synth_signal_new(1);

	submit(f, 1, signal.handle);
	fixture_step(f);
	synth_store(f->capture, signal, 1);
	gate_pause();
	submit(f, 1, signal.handle);
	settle(f, 1);
	assert_int_equal(fixture_row(f, 0)->untimed, RTL_TIMED);
	gate_resume();
	harvest_signal_destroy(f->capture, signal);
	synth_signal_free(signal);
}

/*
 * The signal counts both packets. It falls for the first, and then contains the times of that one.
 */
CASE(packet_behind_a_skipped_one_does_not_get_its_times)
{
	/* Down to 0, or from there on. */
	static const hsa_signal_value_t value[] = {2, 0, -7};

	f->queue->has_countdowns = true;
	for (unsigned i = 0; i < 3; i++) {
		hsa_signal_t signal = synth_signal_new(value[i]);

		gate_pause();
		submit(f, 1, signal.handle);
		gate_resume();
		submit(f, 1, signal.handle);
		assert_true(synth_step(f->queue, SYNTH_DOORBELL));
		fixture_harvest(f, MS);
		settle(f, i + 1);
		assert_int_equal(fixture_row(f, 3 * i + 1)->untimed, RTL_UNTIMED_SHARED);
		/* Each packet by itself again. */
		synth_store(f->capture, signal, 1);
		submit(f, 1, signal.handle);
		settle(f, i + 1);
		assert_int_equal(fixture_row(f, 3 * i + 2)->untimed, RTL_TIMED);
		harvest_signal_destroy(f->capture, signal);
		synth_signal_free(signal);
	}
}

/*
 * The same with a device that writes times after the signal has fallen, when it is set for the next
 * one.
 */
CASE(packet_after_a_skipped_one_does_not_get_its_late_times)
{
	hsa_signal_t signal = synth_signal_new(1);

	f->queue->has_late_times = true;
	submit(f, 1, 0);
	assert_true(synth_step(f->queue, SYNTH_DOORBELL));
	fixture_harvest(f, MS);
	gate_pause();
	submit(f, 1, signal.handle);
	gate_resume();
	assert_true(synth_step(f->queue, SYNTH_DOORBELL));
	synth_store(f->capture, signal, 1);
	submit(f, 1, signal.handle);
	assert_true(synth_step(f->queue, SYNTH_DOORBELL));
	fixture_harvest(f, MS);
	fixture_settle(f);
	settle(f, 1);
	assert_int_equal(fixture_row(f, 2)->untimed, RTL_TIMED);
	harvest_signal_destroy(f->capture, signal);
	synth_signal_free(signal);
}

/* Signals of the runtime are recognised by the ring slot that they were stored into. */
TEST_CASE(stale_signal_of_the_runtime_is_removed_while_dormant)
{
	struct capture_hsa hsa;
	struct fixture f;
	uint64_t stale;

	synth_hsa(&hsa);
	hsa.signal_memory_get = NULL;
	fixture_init_with(&f, 64, &hsa);
	submit(&f, 1, 0);
	stale = packet_at(&f, 0)->completion_signal.handle;
	assert_int_not_equal(stale, 0);
	gate_pause();
	for (unsigned i = 1; i < 3 * 64; i++) {
		fixture_step(&f);
		submit(&f, 1, i == 64 ? stale : 0);
		assert_int_equal(packet_at(&f, i % 64)->completion_signal.handle, 0);
	}
	gate_resume();
	settle(&f, 3 * 64 - 1);
	fixture_done(&f);
}
