// SPDX-License-Identifier: MIT
/* Times of copies from signals that the program and the runtime go on using: each copy ends once,
 * with its own times. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hsa/amd_hsa_signal.h>

#include "proto/base/clock.h"
#include "shim/events/copies.h"
#include "shim/capture/tables/copy_times.h"
#include "shim/events/events.h"
#include "tests/lib/seen_yield.h"
#include "tests/lib/test.h"

#define COPIES	    40000u
#define SUBMITTERS  3u
#define SUBMIT_NS   5000000000ull
#define DURATION_NS 5u

/* A signal and whether it may be read. */
struct signal {
	_Alignas(64) amd_signal_t amd;
	_Atomic bool is_gone;
};

static _Atomic uint32_t ended[SUBMITTERS * COPIES + 1];
static _Atomic uint32_t timed, untimed;
static _Atomic bool is_wrong;

static uint64_t handle_of(struct signal *signal)
{
	return (uint64_t)(uintptr_t)&signal->amd;
}

static uint64_t start_of(uint64_t id)
{
	return SUBMIT_NS + id * 10;
}

/* A reader that loses its processor: he stays in the runtime until he is let go. */
static struct {
	_Atomic bool is_asked, is_held, may_go;
} hold;

static bool read_times(uint64_t handle, uint64_t *ret_start, uint64_t *ret_end)
{
	struct signal *signal = (struct signal *)(uintptr_t)handle;

	while (hold.is_asked && !hold.may_go) {
		hold.is_held = true;
		syscall(SYS_sched_yield);
	}
	if (atomic_load(&signal->is_gone))
		atomic_store(&is_wrong, true);
	*ret_start = __atomic_load_n(&signal->amd.start_ts, __ATOMIC_RELAXED);
	*ret_end = __atomic_load_n(&signal->amd.end_ts, __ATOMIC_RELAXED);
	return *ret_start != 0;
}

static void copy_done(uint64_t id, uint64_t start_ns, uint64_t end_ns)
{
	atomic_fetch_add(&ended[id], 1);
	if (!start_ns) {
		atomic_fetch_add(&untimed, 1);
		return;
	}
	atomic_fetch_add(&timed, 1);
	if (start_ns != start_of(id) || end_ns != start_ns + DURATION_NS)
		atomic_store(&is_wrong, true);
}

static void signal_set(struct signal *signal, int64_t value)
{
	__atomic_store_n(&signal->amd.value, value, __ATOMIC_RELEASE);
}

/* Stores what the device stores at the end of copy @id. */
static void device_finish(struct signal *signal, uint64_t id)
{
	__atomic_store_n(&signal->amd.start_ts, start_of(id), __ATOMIC_RELAXED);
	__atomic_store_n(&signal->amd.end_ts, start_of(id) + DURATION_NS, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&signal->amd.value, 1, __ATOMIC_RELEASE);
}

static int setup(void **state)
{
	static const struct copy_watch_calls calls = {read_times, copy_done};

	(void)state;
	copy_watch_begin(&calls);
	memset((void *)ended, 0, sizeof(ended));
	atomic_store(&timed, 0);
	atomic_store(&untimed, 0);
	atomic_store(&is_wrong, false);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	copy_watch_end();
	return copy_watch_count ? -1 : 0;
}

static void submit(struct signal *signal, uint64_t id)
{
	if (copy_watch(handle_of(signal), id, SUBMIT_NS))
		copy_watch_submitted(handle_of(signal), id, true);
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, setup, teardown)

CASE(the_shim_thread_reads_what_has_fired)
{
	struct signal signal = {.amd.value = 1};

	submit(&signal, 1);
	assert_true(copy_watch_poll());
	assert_int_equal(atomic_load(&ended[1]), 0);
	device_finish(&signal, 1);
	assert_false(copy_watch_poll());
	assert_int_equal(atomic_load(&ended[1]), 1);
	assert_int_equal(timed, 1);
	assert_false(is_wrong);
}

CASE(times_are_read_before_a_signal_is_used_again)
{
	struct signal signal = {.amd.value = 1};

	for (uint64_t id = 1; id <= 10; id++) {
		submit(&signal, id);
		assert_int_equal(timed, id - 1);
		device_finish(&signal, id);
		/* Every other time its value is stored; else the next copy counts it on. */
		if (id % 2) {
			copy_watch_used(handle_of(&signal));
			assert_int_equal(timed, id);
			signal_set(&signal, 1);
		}
	}
	copy_watch_used(handle_of(&signal));
	assert_int_equal(timed, 10);
	assert_int_equal(untimed, 0);
	assert_false(is_wrong);
}

CASE(a_packet_takes_the_times_away)
{
	struct signal signal = {.amd.value = 1};

	submit(&signal, 1);
	device_finish(&signal, 1);
	copy_watch_packet(handle_of(&signal));
	assert_int_equal(untimed, 1);
	assert_int_equal(copy_watch_count, 0);
}

CASE(copies_that_share_a_signal_have_no_times)
{
	struct signal signal = {.amd.value = 3};

	for (uint64_t id = 1; id <= 3; id++)
		submit(&signal, id);
	for (uint64_t id = 1; id <= 2; id++)
		device_finish(&signal, id);
	/* Two of three have ended, but nothing tells which copies' times these are. */
	assert_true(copy_watch_poll());
	device_finish(&signal, 3);
	assert_false(copy_watch_poll());
	assert_int_equal(untimed, 3);
	assert_int_equal(timed, 0);
	signal_set(&signal, 1);
	submit(&signal, 4);
	device_finish(&signal, 4);
	assert_false(copy_watch_poll());
	assert_int_equal(timed, 1);
}

/* A kernel that copy_watch does not know of decrements the signal first. */
CASE(a_copy_that_is_not_all_a_signal_counts_has_no_times)
{
	struct signal signal = {.amd.value = 2};

	submit(&signal, 1);
	device_finish(&signal, 7);
	(void)copy_watch_poll();
	copy_watch_used(handle_of(&signal));
	assert_int_equal(atomic_load(&ended[1]), 1);
	assert_int_equal(untimed, 1);
	assert_int_equal(copy_watch_count, 0);
	/* The last of them, once the others have come. */
	submit(&signal, 2);
	device_finish(&signal, 2);
	assert_false(copy_watch_poll());
	assert_int_equal(timed, 1);
	assert_false(is_wrong);
}

CASE(a_copy_whose_times_were_not_written_has_none)
{
	struct signal signal = {
		.amd.value = 1, .amd.start_ts = start_of(1), .amd.end_ts = start_of(1)};

	/* What the signal held before is not taken for the copy's. */
	submit(&signal, 1);
	signal_set(&signal, 0);
	assert_false(copy_watch_poll());
	assert_int_equal(untimed, 1);
	signal_set(&signal, 1);
	if (copy_watch(handle_of(&signal), 2, SUBMIT_NS + (1ull << 40)))
		copy_watch_submitted(handle_of(&signal), 2, true);
	device_finish(&signal, 2);
	assert_false(copy_watch_poll());
	assert_int_equal(untimed, 2);
	/* One that the runtime refused never was. */
	signal_set(&signal, 1);
	assert_true(copy_watch(handle_of(&signal), 3, SUBMIT_NS));
	copy_watch_submitted(handle_of(&signal), 3, false);
	assert_int_equal(ended[3], 0);
	assert_int_equal(copy_watch_count, 0);
}

/* ---- threads ------------------------------------------------------------------------------- */

static _Atomic bool is_over;
static _Atomic(struct signal *) shown[SUBMITTERS];

static void *poller(void *arg)
{
	(void)arg;
	while (!atomic_load(&is_over)) {
		(void)copy_watch_poll();
		sched_yield();
	}
	return NULL;
}

/* A signal serves one copy after the other, then goes; now and then a packet has it meanwhile. */
static void *submitter(void *arg)
{
	unsigned me = *(unsigned *)arg;
	struct signal *signals = aligned_alloc(64, 16 * sizeof(*signals));
	uint64_t first = (uint64_t)me * COPIES + 1;

	memset((void *)signals, 0, 16 * sizeof(*signals));
	for (uint32_t i = 0; i < COPIES; i++) {
		struct signal *signal = &signals[i % 16];
		uint64_t handle = handle_of(signal), id = first + i;
		bool is_early = i % 3 == 0;

		copy_watch_used(handle);
		atomic_store(&signal->is_gone, false);
		signal_set(signal, 1);
		if (!copy_watch(handle, id, SUBMIT_NS))
			continue;
		if (is_early)
			device_finish(signal, id);
		copy_watch_submitted(handle, id, true);
		if (!is_early)
			device_finish(signal, id);
		atomic_store(&shown[me], signal);
		if (i % 7 == 0)
			copy_watch_packet(handle);
		if (i % 5 == 0) {
			copy_watch_destroyed(handle);
			atomic_store(&signal->is_gone, true);
		}
	}
	for (unsigned i = 0; i < 16; i++)
		copy_watch_destroyed(handle_of(&signals[i]));
	return signals;
}

/* Dispatches of other threads that complete with the same signals. */
static void *dispatcher(void *arg)
{
	(void)arg;
	for (unsigned i = 0; !atomic_load(&is_over); i++) {
		struct signal *signal = atomic_load(&shown[i % SUBMITTERS]);

		if (signal && i % 64 == 0)
			copy_watch_packet(handle_of(signal));
		sched_yield();
	}
	return NULL;
}

struct destroyer {
	struct signal *signal;
	_Atomic bool is_done;
};

static void *destroyer(void *arg)
{
	struct destroyer *d = arg;

	is_destroyer = true;
	copy_watch_destroyed(handle_of(d->signal));
	atomic_store(&d->signal->is_gone, true);
	d->is_done = true;
	return NULL;
}

static void *poll_once(void *arg)
{
	(void)copy_watch_poll();
	return arg;
}

/* A packet has the signal meanwhile, so that what he reads is not wanted any more: he reads it. */
CASE(a_signal_is_not_freed_while_a_thread_reads_it_in_vain)
{
	struct signal signal = {.amd.value = 1};
	struct destroyer d = {.signal = &signal};
	pthread_t reader, thread;

	submit(&signal, 1);
	device_finish(&signal, 1);
	hold.is_asked = true;
	assert_int_equal(pthread_create(&reader, NULL, poll_once, NULL), 0);
	while (!hold.is_held)
		sched_yield();
	copy_watch_packet(handle_of(&signal));
	assert_int_equal(pthread_create(&thread, NULL, destroyer, &d), 0);
	while (!is_waiting && !d.is_done)
		sched_yield();
	assert_false(d.is_done);
	hold.may_go = true;
	assert_int_equal(pthread_join(reader, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	hold.is_asked = false;
	assert_false(is_wrong);
	assert_int_equal(untimed, 1);
	assert_int_equal(copy_watch_count, 0);
}

static void on_fault(int number)
{
	(void)number;
	hold.is_held = true;
	while (!hold.may_go)
		syscall(SYS_sched_yield);
}

static void *submit_one(void *arg)
{
	submit(arg, 1);
	return NULL;
}

/* A thread that has taken an entry for its copy and was stopped there reads nothing of the copy
 * before. */
CASE(a_signal_is_freed_while_a_thread_only_fills_in_its_entry)
{
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
	struct signal *signal =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct destroyer d = {.signal = signal};
	pthread_t thread[2];

	assert_ptr_not_equal(signal, MAP_FAILED);
	signal_set(signal, 1);
	submit(signal, 2);
	device_finish(signal, 2);
	assert_false(copy_watch_poll());
	hold.is_held = hold.may_go = is_waiting = false;
	assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
	assert_int_equal(mprotect(signal, 4096, PROT_NONE), 0);
	assert_int_equal(pthread_create(&thread[0], NULL, submit_one, signal), 0);
	while (!hold.is_held)
		sched_yield();
	assert_int_equal(mprotect(signal, 4096, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(pthread_create(&thread[1], NULL, destroyer, &d), 0);
	while (!is_waiting && !d.is_done)
		sched_yield();
	assert_false(is_waiting);
	hold.may_go = true;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	(void)sigaction(SIGSEGV, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	copy_watch_destroyed(handle_of(signal));
	assert_int_equal(copy_watch_count, 0);
	assert_int_equal(munmap(signal, 4096), 0);
}

CASE(copies_of_many_threads_at_once_keep_their_own_times)
{
	pthread_t thread[SUBMITTERS], others[2];
	unsigned number[SUBMITTERS];
	void *signals[SUBMITTERS];

	atomic_store(&is_over, false);
	assert_int_equal(pthread_create(&others[0], NULL, poller, NULL), 0);
	assert_int_equal(pthread_create(&others[1], NULL, dispatcher, NULL), 0);
	for (unsigned i = 0; i < SUBMITTERS; i++) {
		number[i] = i;
		assert_int_equal(pthread_create(&thread[i], NULL, submitter, &number[i]), 0);
	}
	for (unsigned i = 0; i < SUBMITTERS; i++)
		assert_int_equal(pthread_join(thread[i], &signals[i]), 0);
	atomic_store(&is_over, true);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(others[i], NULL), 0);
	assert_false(is_wrong);
	for (uint32_t id = 1; id <= SUBMITTERS * COPIES; id++)
		assert_int_equal(ended[id], 1);
	assert_int_equal(timed + untimed, SUBMITTERS * COPIES);
	assert_true(timed > 0);
	assert_int_equal(copy_watch_count, 0);
	for (unsigned i = 0; i < SUBMITTERS; i++)
		free(signals[i]);
}
