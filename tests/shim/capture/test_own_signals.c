// SPDX-License-Identifier: MIT
/* The application's own signals: read, reused, shared, set again, destroyed; never changed. */
#include "tests/shim/capture/fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/capture/app_signals.h"
#include "shim/capture/capture_internal.h"
#include "shim/capture/harvest.h"
#include "tests/lib/seen_yield.h"

CAPTURE_CASE(own_signal_is_read_and_never_changed)
{
	hsa_signal_t signal = synth_signal_new(2);

	fixture_dispatch(f, signal.handle);
	assert_int_equal(f->queue->ring[0].completion_signal.handle, signal.handle);
	assert_int_equal(synth_signal_load(signal), 2);
	fixture_settle(f);
	assert_int_equal(synth_signal_load(signal), 1);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_seen), 1);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_read), 1);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(signal);
}

CAPTURE_CASE(own_signal_armed_again_was_read_before)
{
	hsa_signal_t signal = synth_signal_new(1);

	for (int i = 0; i < 30; i++) {
		fixture_dispatch(f, signal.handle);
		fixture_step(f);
		synth_store(f->capture, signal, 1);
	}
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_read), 30);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(signal);
}

CAPTURE_CASE(own_signal_set_past_the_hooks_loses_only_the_time)
{
	hsa_signal_t signal = synth_signal_new(1);

	for (int i = 0; i < 3; i++) {
		fixture_dispatch(f, signal.handle);
		fixture_step(f);
		__atomic_store_n(
			&((amd_signal_t *)(uintptr_t)signal.handle)->value, 1, __ATOMIC_RELEASE);
	}
	/* For a while, the last one looks like a device that is between its two stores. */
	fixture_settle(f);
	fixture_harvest(f, 3000 * MS);
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_read), 0);
	assert_int_equal(fixture_count(f, RTL_Q_untimed_early), 3);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(signal);
}

/* The process ends and cannot wait: whatever has fired counts as finished. */
CAPTURE_CASE(the_last_pass_decides_what_has_finished_and_nothing_else)
{
	hsa_signal_t armed = synth_signal_new(1), running = synth_signal_new(1);

	f->queue->has_no_times = true;
	fixture_dispatch(f, 0);
	fixture_step(f);
	f->queue->has_no_times = false;
	fixture_dispatch(f, armed.handle);
	fixture_step(f);
	synth_signal_store(armed, 1);
	fixture_dispatch(f, running.handle);
	fixture_harvest(f, MS);
	(void)harvest_flush(f->capture, f->now_ns);
	assert_int_equal(capture_pending(f->capture), 3);
	(void)harvest_last(f->capture, f->now_ns);
	assert_int_equal(capture_pending(f->capture), 1);
	assert_int_equal(fixture_count(f, RTL_Q_untimed_timestamp_invalid), 1);
	assert_int_equal(fixture_count(f, RTL_Q_untimed_early), 1);
	fixture_settle(f);
	assert_int_equal(fixture_row(f, 2)->untimed, RTL_TIMED);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(armed);
	synth_signal_free(running);
}

CAPTURE_CASE(own_signal_between_the_devices_two_stores_is_waited_for)
{
	hsa_signal_t signal = synth_signal_new(1);
	amd_signal_t *raw = (amd_signal_t *)(uintptr_t)signal.handle;

	for (int i = 0; i < 3; i++) {
		fixture_dispatch(f, signal.handle);
		__atomic_store_n(&raw->start_ts, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&raw->end_ts, 2, __ATOMIC_RELEASE);
		fixture_harvest(f, 0);
		fixture_harvest(f, 1000 * MS); /* the device has lost its processor there */
		fixture_step(f);
		fixture_harvest(f, 0);
		synth_store(f->capture, signal, 1);
	}
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_read), 3);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(signal);
}

/*
 * A dispatch that finds no slot harvests with its own clock, which may be ahead of the pass of the
 * shim thread.
 */
CAPTURE_CASE(pass_with_an_older_clock_ends_no_wait)
{
	hsa_signal_t signal = synth_signal_new(1);
	amd_signal_t *raw = (amd_signal_t *)(uintptr_t)signal.handle;

	fixture_dispatch(f, signal.handle);
	__atomic_store_n(&raw->start_ts, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&raw->end_ts, 2, __ATOMIC_RELEASE);
	(void)harvest_run(f->capture, f->now_ns + 10 * MS);
	(void)harvest_run(f->capture, f->now_ns);
	fixture_step(f);
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_read), 1);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(signal);
}

/* For instance by hsa_signal_subtract(): not by its device. */
CAPTURE_CASE(signal_lowered_by_the_host_marks_no_device_as_late)
{
	hsa_signal_t own = synth_signal_new(1), other = synth_signal_new(1);
	hsa_signal_t of[] = {other, own, own};
	enum rtl_untimed why[] = {RTL_TIMED, RTL_UNTIMED_EARLY, RTL_TIMED};

	f->queue->has_no_times = true;
	fixture_dispatch(f, own.handle);
	synth_signal_store(own, 0);
	synth_store(f->capture, own, 2);
	fixture_settle(f);
	assert_int_equal(fixture_row(f, 0)->untimed, RTL_UNTIMED_EARLY);
	f->queue->has_no_times = false;
	for (int i = 0; i < 3; i++) {
		amd_signal_t *raw = (amd_signal_t *)(uintptr_t)of[i].handle;

		/* A destroyed signal is forgotten. */
		if (i == 2)
			harvest_signal_destroy(f->capture, of[i]);
		synth_signal_store(of[i], 1);
		fixture_dispatch(f, of[i].handle);
		__atomic_store_n(&raw->start_ts, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&raw->end_ts, 2, __ATOMIC_RELEASE);
		fixture_harvest(f, MS);
		fixture_settle(f);
		assert_int_equal(fixture_row(f, (uint64_t)i + 1)->untimed, why[i]);
	}
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(own);
	synth_signal_free(other);
}

CAPTURE_CASE(own_signal_stored_to_while_it_runs_loses_only_the_time)
{
	hsa_signal_t signal = synth_signal_new(1);

	fixture_dispatch(f, signal.handle);
	synth_store(f->capture, signal, 5);
	fixture_settle(f);
	assert_int_equal(fixture_row(f, 0)->untimed, RTL_UNTIMED_EARLY);
	assert_int_equal(synth_signal_load(signal), 4);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(signal);
}

/* The first packet was given up but still runs, and the signal falls when it ends. */
CAPTURE_CASE(next_packet_of_a_stored_signal_does_not_get_the_first_one_s_times)
{
	hsa_signal_t signal = synth_signal_new(1);

	fixture_dispatch(f, signal.handle);
	synth_store(f->capture, signal, 2);
	fixture_dispatch(f, signal.handle);
	assert_true(synth_step(f->queue, SYNTH_DOORBELL));
	fixture_harvest(f, MS);
	fixture_settle(f);
	assert_int_equal(fixture_row(f, 0)->untimed, RTL_UNTIMED_EARLY);
	assert_int_equal(fixture_row(f, 1)->untimed, RTL_UNTIMED_SHARED);
	check_against_device(f->capture, f->reader, f->queue, 0);
	harvest_signal_destroy(f->capture, signal);
	synth_signal_free(signal);
}

CAPTURE_CASE(counting_signal_of_several_packets_is_untimed_shared)
{
	hsa_signal_t signal = synth_signal_new(20);

	for (int i = 0; i < 20; i++)
		fixture_dispatch(f, signal.handle);
	fixture_harvest(f, FIXTURE_SETTLE_NS);
	assert_int_equal(f->reader->records, fixture_count(f, RTL_Q_untimed_shared));
	fixture_settle(f);
	assert_int_equal(synth_signal_load(signal), 0);
	assert_int_equal(fixture_count(f, RTL_Q_untimed_shared), 20);
	check_against_device(f->capture, f->reader, f->queue, 0);
	/* Free again: a single later use is timed. */
	synth_store(f->capture, signal, 1);
	fixture_dispatch(f, signal.handle);
	fixture_settle(f);
	assert_int_equal(fixture_row(f, 20)->untimed, RTL_TIMED);
	synth_signal_free(signal);
}

CAPTURE_CASE(counter_set_past_the_hooks_does_not_block_the_harvest)
{
	hsa_signal_t signal = synth_signal_new(4);
	bool has_own[] = {true, false};

	for (int n = 0; n < 2; n++) {
		/* Like hsa_signal_add(): the end of these four can never be seen. */
		synth_signal_store(signal, 4);
		for (int i = 0; i < 4; i++)
			fixture_dispatch(f, signal.handle);
		fixture_step(f);
		assert_int_equal(synth_signal_load(signal), 0);
		synth_signal_store(signal, 4);
		/* The packets behind have their own signals, or ours. */
		for (int i = 0; i < 8; i++) {
			hsa_signal_t own = has_own[n] ? synth_signal_new(1) : (hsa_signal_t){0};

			fixture_dispatch(f, own.handle);
			fixture_step(f);
			fixture_settle(f);
			if (has_own[n])
				harvest_signal_destroy(f->capture, own);
			if (has_own[n])
				synth_signal_free(own);
		}
		fixture_settle(f);
		assert_int_equal(capture_pending(f->capture), 0);
	}
	assert_int_equal(fixture_count(f, RTL_Q_untimed_shared), 8);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 16);
	assert_int_equal(fixture_count(f, RTL_Q_missed), 0);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(signal);
}

/* A single packet whose times were not written looks like a kernel that is running. */
CAPTURE_CASE(signal_set_again_without_times_is_given_up_after_a_later_barrier)
{
	hsa_signal_t signal = synth_signal_new(1);

	f->queue->has_no_times = true;
	fixture_dispatch(f, signal.handle);
	fixture_step(f);
	synth_signal_store(signal, 1);
	f->queue->has_no_times = false;
	fixture_settle(f);
	assert_int_equal(capture_pending(f->capture), 1);
	fixture_dispatch(f, 0);
	fixture_settle(f);
	assert_int_equal(capture_pending(f->capture), 0);
	assert_int_equal(fixture_row(f, 0)->untimed, RTL_UNTIMED_EARLY);
	assert_int_equal(fixture_row(f, 1)->untimed, RTL_TIMED);
	assert_int_equal(fixture_count(f, RTL_Q_missed), 0);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(signal);
}

/* Twice in a row: between the second fall and the second times, the signal has the first ones. */
CAPTURE_CASE(own_signal_with_late_times_does_not_get_the_earlier_ones)
{
	hsa_signal_t signal = synth_signal_new(1);

	f->queue->has_late_times = true;
	for (int i = 0; i < 3; i++) {
		synth_store(f->capture, signal, 1);
		fixture_dispatch(f, signal.handle);
		assert_true(synth_step(f->queue, SYNTH_DOORBELL));
		fixture_harvest(f, MS);
	}
	/* The last one is left alone as long as times may be late. */
	fixture_settle(f);
	assert_int_equal(fixture_row(f, 0)->untimed, RTL_UNTIMED_EARLY);
	assert_int_equal(fixture_row(f, 1)->untimed, RTL_UNTIMED_EARLY);
	assert_int_equal(fixture_row(f, 2)->untimed, RTL_TIMED);
	check_against_device(f->capture, f->reader, f->queue, 0);
	harvest_signal_destroy(f->capture, signal);
	synth_signal_free(signal);
}

/* Runs until the signal has fallen to 0. Late times are not written yet. */
static void run_to_the_fall(struct fixture *f, hsa_signal_t signal)
{
	while (synth_signal_load(signal) > 0)
		assert_true(synth_step(f->queue, SYNTH_DOORBELL));
	fixture_harvest(f, MS);
}

/*
 * Two packets that count with the signal have no times; times of a third one must not be used for
 * them.
 */
CAPTURE_CASE(late_times_of_a_counting_signal_are_not_given_to_another_packet)
{
	hsa_signal_t signal = synth_signal_new(2);

	f->queue->has_late_times = true;
	/* This makes the device known for late times. */
	fixture_dispatch(f, 0);
	assert_true(synth_step(f->queue, SYNTH_DOORBELL));
	fixture_harvest(f, MS);
	fixture_dispatch(f, signal.handle);
	fixture_dispatch(f, signal.handle);
	run_to_the_fall(f, signal);
	synth_store(f->capture, signal, 1);
	fixture_dispatch(f, signal.handle);
	run_to_the_fall(f, signal);
	fixture_settle(f);
	assert_int_equal(fixture_row(f, 1)->untimed, RTL_UNTIMED_SHARED);
	assert_int_equal(fixture_row(f, 2)->untimed, RTL_UNTIMED_SHARED);
	assert_int_equal(fixture_row(f, 3)->untimed, RTL_TIMED);
	check_against_device(f->capture, f->reader, f->queue, 0);
	harvest_signal_destroy(f->capture, signal);
	synth_signal_free(signal);
}

CAPTURE_CASE(own_signal_destroyed_at_once_was_read_before)
{
	for (int i = 0; i < 20; i++) {
		hsa_signal_t signal = synth_signal_new(1);

		fixture_dispatch(f, signal.handle);
		fixture_step(f);
		harvest_signal_destroy(f->capture, signal);
		synth_signal_free(signal);
	}
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_read), 20);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

/*
 * A signal in a page of its own without read access: a reader is stopped just before its first load
 * until it is released, as if it had lost its processor there.
 */
static struct {
	_Atomic bool is_held, may_go;
} hold;

static void on_fault(int number)
{
	(void)number;
	hold.is_held = true;
	while (!hold.may_go)
		sched_yield();
}

static void hold_readers(amd_signal_t **ret)
{
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};

	hold.is_held = hold.may_go = false;
	assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
	*ret = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(*ret, MAP_FAILED);
	(*ret)->kind = AMD_SIGNAL_KIND_USER;
	(*ret)->value = 1;
}

static void *harvest_main(void *data)
{
	struct fixture *f = data;

	(void)harvest_run(f->capture, f->now_ns);
	return NULL;
}

/* The kernel with @signal has ended; a thread that runs @reader is about to read that. */
static void hold_reader(struct fixture *f, amd_signal_t *signal, void *(*reader)(void *),
	void *data, pthread_t *ret)
{
	fixture_dispatch(f, (uint64_t)(uintptr_t)signal);
	fixture_step(f);
	assert_int_equal(signal->value, 0);
	f->now_ns += MS;
	assert_int_equal(mprotect(signal, 4096, PROT_NONE), 0);
	assert_int_equal(pthread_create(ret, NULL, reader, data), 0);
	while (!hold.is_held)
		sched_yield();
	assert_int_equal(mprotect(signal, 4096, PROT_READ | PROT_WRITE), 0);
}

static void let_go(struct fixture *f, amd_signal_t *signal, pthread_t reader)
{
	hold.may_go = true;
	assert_int_equal(pthread_join(reader, NULL), 0);
	(void)sigaction(SIGSEGV, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	fixture_settle(f);
	assert_int_equal(fixture_row(f, 0)->untimed, RTL_TIMED);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_read), 1);
	check_against_device(f->capture, f->reader, f->queue, 0);
	assert_int_equal(munmap(signal, 4096), 0);
}

CAPTURE_CASE(own_signal_armed_again_while_our_thread_reads_it_keeps_its_times)
{
	amd_signal_t *signal;
	pthread_t harvester;

	hold_readers(&signal);
	hold_reader(f, signal, harvest_main, f, &harvester);
	synth_store(f->capture, (hsa_signal_t){(uint64_t)(uintptr_t)signal}, 1);
	signal->start_ts = signal->end_ts = 0;
	let_go(f, signal, harvester);
}

struct use {
	struct fixture *f;
	amd_signal_t *signal;
};

static void *use_main(void *data)
{
	struct use *use = data;

	harvest_signal_store(use->f->capture, (hsa_signal_t){(uint64_t)(uintptr_t)use->signal});
	return NULL;
}

/*
 * Neither thread waits for the other or costs the other the times, even if the first reader has
 * lost its processor.
 */
CAPTURE_CASE(own_signal_that_another_thread_is_reading_keeps_its_times)
{
	struct use use = {.f = f};
	pthread_t other;

	hold_readers(&use.signal);
	hold_reader(use.f, use.signal, use_main, &use, &other);
	synth_store(use.f->capture, (hsa_signal_t){(uint64_t)(uintptr_t)use.signal}, 1);
	use.signal->start_ts = use.signal->end_ts = 0;
	let_go(use.f, use.signal, other);
}

struct destroyer {
	struct fixture *f;
	amd_signal_t *signal;
	_Atomic bool is_done;
};

static void *destroy_main(void *data)
{
	struct destroyer *d = data;

	is_destroyer = true;
	harvest_signal_destroy(d->f->capture, (hsa_signal_t){(uint64_t)(uintptr_t)d->signal});
	d->is_done = true;
	return NULL;
}

CAPTURE_CASE(own_signal_is_not_freed_while_our_thread_reads_it)
{
	struct destroyer d = {.f = f};
	pthread_t harvester, destroyer;

	is_waiting = false;
	hold_readers(&d.signal);
	hold_reader(d.f, d.signal, harvest_main, d.f, &harvester);
	assert_int_equal(pthread_create(&destroyer, NULL, destroy_main, &d), 0);
	while (!is_waiting && !d.is_done)
		sched_yield();
	assert_false(d.is_done);
	/* Everything it could have waited for is over, except the shim thread. */
	assert_false(appsig_is_watched(d.f->capture, (uint64_t)(uintptr_t)d.signal));
	hold.may_go = true;
	assert_int_equal(pthread_join(destroyer, NULL), 0);
	let_go(d.f, d.signal, harvester);
}

CAPTURE_CASE(copy_with_the_same_signal_reads_it_first)
{
	hsa_signal_t signal = synth_signal_new(1);

	fixture_dispatch(f, signal.handle);
	fixture_step(f);
	harvest_signal_reuse(f->capture, signal);
	memset((void *)(uintptr_t) & ((amd_signal_t *)(uintptr_t)signal.handle)->start_ts, 0, 16);
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_read), 1);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(signal);
}

static bool all_are_ipc(uint64_t handle)
{
	return handle != 0;
}

TEST_CASE(ipc_signals_are_not_read)
{
	struct fixture f;
	struct capture_hsa hsa;
	hsa_signal_t signal;

	synth_hsa(&hsa);
	hsa.signal_is_ipc = all_are_ipc;
	fixture_init_with(&f, 64, &hsa);
	signal = synth_signal_new(1);
	fixture_dispatch(&f, signal.handle);
	fixture_settle(&f);
	assert_int_equal(fixture_row(&f, 0)->untimed, RTL_UNTIMED_IPC);
	check_against_device(f.capture, f.reader, f.queue, 0);
	synth_signal_free(signal);
	fixture_done(&f);
}

TEST_CASE(more_signals_than_can_be_watched_lose_only_times)
{
	enum { N = 60000 };
	struct fixture f;
	hsa_signal_t *signal = calloc(N, sizeof(*signal));

	fixture_init(&f, 65536);
	for (int i = 0; i < N; i++)
		signal[i] = synth_signal_new(1);
	for (int i = 0; i < N; i++) {
		fixture_dispatch(&f, signal[i].handle);
		if (i % 500 == 0)
			fixture_harvest(&f, 1);
	}
	fixture_settle(&f);
	assert_true(fixture_count(&f, RTL_Q_untimed_early) > 0);
	assert_true(fixture_count(&f, RTL_Q_own_signals_read) > N / 4);
	check_against_device(f.capture, f.reader, f.queue, 0);
	for (int i = 0; i < N; i++) {
		assert_int_equal(synth_signal_load(signal[i]), 0);
		synth_signal_free(signal[i]);
	}
	free(signal);
	fixture_done(&f);
}
