// SPDX-License-Identifier: MIT
/*
 * What a thread of the program has seen to end is in the recorder without a harvest: with its times
 * if they are there, and whatever happens to that thread meanwhile.
 */
#include "tests/shim/capture/fixture.h"

#include <hsa/amd_hsa_signal.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/base/clock.h"
#include "shim/capture/capture_internal.h"
#include "shim/capture/ends.h"
#include "shim/capture/harvest.h"
#include "tests/shim/capture/system_calls.h"

/* One test jumps out of a signal handler for good; TSan does not know the state after that. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "report_signal_unsafe=0";
}

/* Reads the memory of a process as if it had died now. */
static struct reader *died_now(struct fixture *f)
{
	struct reader *reader = reader_new();

	reader->hw = f->reader->hw;
	reader_drain(reader, f->recorder->fd);
	if (reader->has_failed)
		fail_msg("reader: %s", reader->why);
	return reader;
}

static const struct reader_row *row_of(struct fixture *f, struct reader *reader, uint64_t seq)
{
	const struct reader_row *row = reader_row(reader, f->queue->block, seq);

	assert_non_null(row);
	return row;
}

static void assert_timed(struct fixture *f, struct reader *reader, uint64_t seq)
{
	const struct reader_row *row = row_of(f, reader, seq);

	assert_int_equal(row->state, ROW_STORED);
	assert_int_equal(row->untimed, RTL_TIMED);
	assert_int_equal(row->start, f->queue->exec[seq].start);
	assert_int_equal(row->end, f->queue->exec[seq].end);
}

CAPTURE_CASE(end_that_was_seen_has_its_times_without_a_harvest)
{
	struct reader *reader;

	for (int i = 0; i < 5; i++)
		fixture_dispatch(f, 0);
	f->queue->holds = 3;
	fixture_step(f);
	ends_look(f->capture);
	reader = died_now(f);
	for (uint64_t seq = 0; seq < 3; seq++)
		assert_timed(f, reader, seq);
	assert_int_equal(row_of(f, reader, 3)->state, ROW_OUTSTANDING);
	assert_int_equal(row_of(f, reader, 4)->state, ROW_OUTSTANDING);
	reader_free(reader);
	/* The harvester finds the dispatches as if they had not been seen. */
	f->queue->holds = SYNTH_HOLD_NONE;
	fixture_settle(f);
	check_against_device(f->capture, f->reader, f->queue, 0);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 5);
}

CAPTURE_CASE(end_between_two_calls_is_found_by_the_second)
{
	struct reader *reader;

	for (uint64_t seq = 0; seq < 200; seq++) {
		fixture_dispatch(f, 0);
		fixture_step(f);
		ends_look(f->capture);
		if (seq % 50 == 20)
			fixture_harvest(f, 100 * MS);
	}
	reader = died_now(f);
	for (uint64_t seq = 0; seq < 200; seq++)
		if (!fixture_row(f, seq))
			assert_timed(f, reader, seq);
	reader_free(reader);
	fixture_settle(f);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

/* Kernels of two streams in one queue: the first still runs while the others end. */
CAPTURE_CASE(long_kernel_without_barriers_hides_none_behind_it)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};
	struct capture *c = f->capture;
	struct reader *reader;
	uint64_t running;

	for (int i = 0; i < 10; i++)
		synth_submit(c, f->queue, &packet);
	running = slot_private_of(c, c->queues[f->queue->block].first)->injected;
	fixture_step(f);
	/* As if it had not ended yet. */
	__atomic_store_n(&((amd_signal_t *)(uintptr_t)running)->value, 1, __ATOMIC_RELEASE);
	ends_look(c);
	reader = died_now(f);
	assert_int_equal(row_of(f, reader, 0)->state, ROW_OUTSTANDING);
	for (uint64_t seq = 1; seq < 10; seq++)
		assert_timed(f, reader, seq);
	reader_free(reader);
	/* The others leave the chain, which still leads over this one and to what follows. */
	fixture_harvest(f, 100 * MS);
	fixture_harvest(f, 100 * MS);
	synth_submit(c, f->queue, &packet);
	fixture_step(f);
	__atomic_store_n(&((amd_signal_t *)(uintptr_t)running)->value, 0, __ATOMIC_RELEASE);
	ends_look(c);
	reader = died_now(f);
	assert_timed(f, reader, 0);
	assert_timed(f, reader, 10);
	reader_free(reader);
	fixture_settle(f);
	check_against_device(c, f->reader, f->queue, 0);
}

CAPTURE_CASE(end_without_times_is_untimed_and_gets_them_later)
{
	struct reader *reader;

	f->queue->has_late_times = true;
	fixture_dispatch(f, 0);
	(void)synth_step(f->queue, SYNTH_DOORBELL);
	ends_look(f->capture);
	reader = died_now(f);
	assert_int_equal(row_of(f, reader, 0)->state, ROW_STORED);
	assert_int_equal(row_of(f, reader, 0)->untimed, RTL_UNTIMED_TIMESTAMP_INVALID);
	assert_int_equal(row_of(f, reader, 0)->start, 0);
	reader_free(reader);
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 1);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

CAPTURE_CASE(end_by_the_application_s_signal_has_its_times)
{
	hsa_signal_t signal = synth_signal_new(1);
	struct reader *reader;

	fixture_dispatch(f, signal.handle);
	ends_look(f->capture);
	reader = died_now(f);
	assert_int_equal(row_of(f, reader, 0)->state, ROW_OUTSTANDING);
	reader_free(reader);
	fixture_step(f);
	ends_look(f->capture);
	assert_int_equal(synth_signal_load(signal), 0);
	reader = died_now(f);
	assert_timed(f, reader, 0);
	reader_free(reader);
	/* The program knows that it has ended and sets the signal again: its times stay. */
	synth_store(f->capture, signal, 1);
	ends_look(f->capture);
	reader = died_now(f);
	assert_timed(f, reader, 0);
	reader_free(reader);
	harvest_signal_destroy(f->capture, signal);
	fixture_settle(f);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(signal);
}

static uint32_t symbol_unknown(uint64_t kernel_object)
{
	(void)kernel_object;
	return 0;
}

TEST_CASE(unnamed_kernel_that_ended_keeps_its_object)
{
	struct fixture f;
	struct capture_hsa hsa;
	struct reader *reader;

	synth_hsa(&hsa);
	hsa.symbol_of = symbol_unknown;
	hsa.symbols = NULL;
	fixture_init_with(&f, 64, &hsa);
	fixture_dispatch(&f, 0);
	fixture_step(&f);
	ends_look(f.capture);
	reader = died_now(&f);
	assert_int_equal(row_of(&f, reader, 0)->state, ROW_STORED);
	assert_int_equal(row_of(&f, reader, 0)->kernel_object, 1);
	reader_free(reader);
	fixture_settle(&f);
	assert_int_equal(fixture_row(&f, 0)->untimed, RTL_TIMED);
	assert_int_equal(recorder_process_value(f.recorder, RTL_P_symbols_unknown), 1);
	fixture_done(&f);
}

/* ---- a thread that never returns from ends_look() -------------------------------------- */

static sigjmp_buf way_out;
static _Atomic bool is_held, may_go;

static void leave(int number)
{
	(void)number;
	siglongjmp(way_out, 1);
}

static void hold(int number)
{
	(void)number;
	atomic_store(&is_held, true);
	while (!atomic_load(&may_go))
		sched_yield();
}

static void on_usr1(void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

/* A fault point counts its passings from when it is enabled. */
static void fault_at(const char *name, unsigned passing)
{
	char fault[64];

	snprintf(fault, sizeof(fault), "%s:%u:usr1", name, passing);
	setenv("RTL_FAULT", fault, 1);
}

/* Uses all slots of this queue many times. */
static void go_on(struct fixture *f, unsigned dispatches)
{
	for (unsigned i = 0; i < dispatches; i++) {
		fixture_dispatch(f, 0);
		fixture_step(f);
		ends_look(f->capture);
		if (i % 32 == 31)
			fixture_harvest(f, 100 * MS);
	}
	fixture_settle(f);
}

CAPTURE_CASE(thread_that_jumps_out_of_ends_look_holds_no_slot)
{
	static const char *const points[] = {"end_seen", "end_ticks", "end_written"};
	uint32_t used;

	on_usr1(leave);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		fault_at(points[i], 1);
		fixture_dispatch(f, 0);
		fixture_step(f);
		if (!sigsetjmp(way_out, 1)) {
			ends_look(f->capture);
			fail_msg("%s was not passed", points[i]);
		}
		unsetenv("RTL_FAULT");
		fixture_settle(f);
	}
	go_on(f, 4000);
	used = recorder_slots_used(f->recorder);
	go_on(f, 4000);
	assert_int_equal(recorder_slots_used(f->recorder), used);
	assert_int_equal(fixture_count(f, RTL_Q_dropped_recorder_full), 0);
	check_against_device(f->capture, f->reader, f->queue, 0);
	/* It cannot be known that the thread will not read a signal any more. */
	assert_false(ends_stop(f->capture, clock_monotonic_ns() + MS));
}

static void *look_once(void *capture)
{
	ends_look(capture);
	return NULL;
}

/*
 * The thread has seen a dispatch end, and is stopped until the slot belongs to another dispatch
 * that is running. What it then writes must not change that one.
 */
CAPTURE_CASE(delayed_ends_look_does_not_change_the_slot_s_next_dispatch)
{
	static const char *const points[] = {"end_seen", "end_ticks"};
	struct capture *c = f->capture;

	on_usr1(hold);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		slot_ref ref = c->queues[f->queue->block].free;
		struct reader *reader;
		pthread_t looker;
		uint64_t seq;

		if (!ref)
			ref = c->queues[f->queue->block].returned;
		atomic_store(&is_held, false);
		atomic_store(&may_go, false);
		fault_at(points[i], 2);
		fixture_dispatch(f, 0);
		fixture_step(f);
		assert_int_equal(pthread_create(&looker, NULL, look_once, c), 0);
		while (!atomic_load(&is_held))
			sched_yield();
		unsetenv("RTL_FAULT");
		seq = slot_of(c, ref)->seq;
		/* Nothing waits for it: the queue goes on, and the slot is used again. */
		for (unsigned n = 0;
			slot_of(c, ref)->state != SLOT_SUBMITTED || slot_of(c, ref)->seq == seq;
			n++) {
			fixture_step(f);
			if (n % 32 == 31)
				fixture_harvest(f, 100 * MS);
			assert_true(n < 100000);
			fixture_dispatch(f, 0);
		}
		seq = slot_of(c, ref)->seq;
		atomic_store(&may_go, true);
		pthread_join(looker, NULL);
		reader = died_now(f);
		assert_int_equal(row_of(f, reader, seq)->state, ROW_OUTSTANDING);
		reader_free(reader);
		fixture_step(f);
		ends_look(c);
		reader = died_now(f);
		assert_timed(f, reader, seq);
		reader_free(reader);
		fixture_settle(f);
	}
	check_against_device(c, f->reader, f->queue, 0);
	assert_true(ends_stop(c, clock_monotonic_ns() + MS));
}

CAPTURE_CASE(ends_look_reads_no_signal_after_ends_stop)
{
	struct reader *reader;

	fixture_dispatch(f, 0);
	fixture_step(f);
	assert_true(ends_stop(f->capture, clock_monotonic_ns() + MS));
	ends_look(f->capture);
	reader = died_now(f);
	assert_int_equal(row_of(f, reader, 0)->state, ROW_OUTSTANDING);
	reader_free(reader);
	fixture_settle(f);
}

static void *look_trapped(void *data)
{
	struct fixture *f = data;

#ifndef __SANITIZE_THREAD__ /* which makes calls of its own, with signals blocked */
	assert_int_equal(system_calls_trap(), 0);
#endif
	system_calls_enter();
	ends_look(f->capture);
	system_calls_leave();
	return NULL;
}

CAPTURE_CASE(ends_look_makes_no_system_call)
{
	hsa_signal_t signal = synth_signal_new(1);
	struct reader *reader;
	pthread_t thread;

	for (int i = 0; i < 20; i++)
		fixture_dispatch(f, i == 10 ? signal.handle : 0);
	fixture_step(f);
	/* As if the holder of the lock had no processor. */
	assert_true(harvest_lock_try(f->capture));
	assert_int_equal(system_calls_thread(&thread, look_trapped, f), 0);
	pthread_join(thread, NULL);
	assert_int_equal(system_calls.futex, 0);
	assert_int_equal(system_calls.others, 0);
	reader = died_now(f);
	for (uint64_t seq = 0; seq < 20; seq++)
		assert_timed(f, reader, seq);
	reader_free(reader);
	harvest_lock_release(f->capture);
	fixture_settle(f);
	harvest_signal_destroy(f->capture, signal);
	synth_signal_free(signal);
}
