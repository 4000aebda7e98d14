/* SPDX-License-Identifier: MIT
 *
 * The shim's thread, with a socket that the test plays the collector on.
 */
#include "tests/shim/capture/worker_fixture.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "shim/base/gate.h"
#include "shim/base/process/process_rank.h"
#include "shim/capture/harvest.h"
#include "shim/events/events.h"
#include "shim/events/markers.h"
#include "shim/record/rank_changes.h"
#include "tests/lib/thread_sleeps.h"

/*
 * After this time away, the pause is 200 ms: a connection that comes sooner is not the regular next
 * try.
 */
#define AWAY_NS 1000000000u
#define HOUR_NS 3600000000000ll

/* Closes every connection, for so long that the next try is a while off. */
static void hang_up_on_all(const struct fixture *f)
{
	uint64_t until_ns = clock_monotonic_ns() + AWAY_NS;
	bool is_last;

	do {
		int fd = accept_next(f, WAIT_MS);

		assert_true(fd >= 0);
		is_last = clock_monotonic_ns() > until_ns;
		close(fd);
	} while (!is_last);
}

/* Also waits until the thread has noticed that there is no collector any more. */
static void hang_up(const struct fixture *f)
{
	struct pollfd waiting = {.fd = f->listener, .events = POLLIN};
	uint64_t deadline_ns = clock_monotonic_ns() + DEADLINE_NS;

	hang_up_on_all(f);
	while (count_sockets() > f->sockets && poll(&waiting, 1, 1) == 0)
		assert_true(clock_monotonic_ns() < deadline_ns);
}

static void check_hello(const struct fixture *f)
{
	char byte;
	int fd = accept_next(f, 0);

	assert_true(fd >= 0);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 1);
	close(fd);
}

WORKER_CASE(unload_does_not_wait_for_the_next_connection_attempt)
{
	hang_up(f);
	capture_stop(f->capture);
	assert_true(events_stop(clock_monotonic_ns() + DEADLINE_NS));
	assert_true(worker_stop(true));
	check_hello(f);
}

/* Most programs end like this, without shutting the runtime down. */
WORKER_CASE(exit_does_not_wait_for_the_next_connection_attempt)
{
	hang_up(f);
	worker_settle();
	check_hello(f);
}

/* The thread finds out when it is told to end, or has just done so. */
WORKER_CASE(exit_retries_a_connection_lost_just_now)
{
	hang_up_on_all(f);
	worker_settle();
	check_hello(f);
}

WORKER_CASE(exit_without_a_collector_does_not_wait)
{
	uint64_t start_ns;

	hang_up(f);
	unlink(f->path);
	start_ns = clock_monotonic_ns();
	worker_settle();
	/* It may take four fifths. */
	assert_true(clock_monotonic_ns() < start_ns + DEADLINE_NS / 2);
}

WORKER_CASE(clock_that_goes_back_delays_no_harvest)
{
	markers_mark("before");
	wait_for_frame(f, 1);
	boottime_offset_ns = -HOUR_NS;
	markers_mark("after");
	wait_for_frame(f, 2);
}

static void change_rank(const char *rank)
{
	setenv("RANK", rank, 1);
	setenv("LOCAL_RANK", rank, 1);
	setenv("WORLD_SIZE", "8", 1);
	process_rank_look_again();
}

struct exiting {
	struct recorder *recorder;
	pid_t tid;
	_Atomic pid_t recording;
	_Atomic bool has_settled;
};

static void *record_rank(void *arg)
{
	struct exiting *exiting = arg;

	exiting->recording = gettid();
	rank_changes_run(exiting->recorder);
	return NULL;
}

/* Frees the log when the thread that exits is waiting for it, or has not waited. Reads no clock,
 * for which it would have to wait. */
static void *free_log(void *arg)
{
	struct exiting *exiting = arg;
	unsigned long sleeps = thread_sleeps(exiting->tid);

	while (!exiting->has_settled && thread_sleeps(exiting->tid) < sleeps + THREAD_SLEEPS_MIN)
		sched_yield();
	atomic_store(&exiting->recorder->define_lock, 0);
	return NULL;
}

BRIEF_WORKER_CASE(exit_waits_for_the_thread_that_records_an_earlier_rank)
{
	static struct exiting exiting;
	uint64_t deadline_ns = clock_monotonic_ns() + DEADLINE_NS;
	pthread_t recording, freeing;
	struct rank_info declared;
	size_t none, one, all;
	pid_t tid;

	exiting = (struct exiting){.recorder = capture_recorder(f->capture), .tid = gettid()};
	process_rank_begin(&declared);
	(void)recorder_defines_from(exiting.recorder, 0, &none);
	change_rank("1");
	do {
		assert_true(clock_monotonic_ns() < deadline_ns);
		rank_changes_run(exiting.recorder);
		(void)recorder_defines_from(exiting.recorder, 0, &one);
	} while (one == none);
	has_no_processor = true;
	while (!is_kept) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		sched_yield();
	}
	/* That thread has the next change, and waits to append it. */
	atomic_store(&exiting.recorder->define_lock, 1);
	change_rank("2");
	assert_int_equal(pthread_create(&recording, NULL, record_rank, &exiting), 0);
	while (!(tid = exiting.recording) || thread_sleeps(tid) < THREAD_SLEEPS_MIN) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		sched_yield();
	}
	change_rank("3");
	assert_int_equal(pthread_create(&freeing, NULL, free_log, &exiting), 0);
	worker_settle();
	(void)recorder_defines_from(exiting.recorder, 0, &all);
	exiting.has_settled = true;
	has_no_processor = is_kept = false;
	pthread_join(freeing, NULL);
	pthread_join(recording, NULL);
	assert_int_equal(all - none, 3 * (one - none));
	unsetenv("RANK");
	unsetenv("LOCAL_RANK");
	unsetenv("WORLD_SIZE");
}

/* A kernel that has ended, whose signal was set again past the hooks. */
static void kernel_in_doubt(struct fixture *f)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};

	f->queue = synth_queue_new(64);
	f->signal = synth_signal_new(1);
	packet.signal = f->signal.handle;
	assert_int_equal(synth_adopt(f->capture, f->queue, 0), 0);
	synth_submit(f->capture, f->queue, &packet);
	while (synth_step(f->queue, SYNTH_DOORBELL))
		;
	synth_signal_store(f->signal, 1);
	assert_int_equal(capture_pending(f->capture), 1);
}

/*
 * Advances to the last of the time that the end may take, and no further while anything is
 * undecided.
 */
static void *clock_forward(void *data)
{
	struct fixture *f = data;

	while (!has_begun)
		sched_yield();
	standing_ns += BRIEF_NS / 5 * 4 - 1;
	for (int i = 0; i < WAIT_MS && capture_pending(f->capture); i++)
		poll(NULL, 0, 1);
	standing_ns += 1;
	return NULL;
}

static void check_that_it_is_decided(struct fixture *f, void (*end)(void))
{
	pthread_t clock;

	has_begun = false;
	standing_ns = clock_boottime_ns();
	kernel_in_doubt(f);
	assert_int_equal(pthread_create(&clock, NULL, clock_forward, f), 0);
	is_ending = true;
	end();
	is_ending = false;
	assert_int_equal(pthread_join(clock, NULL), 0);
	assert_int_equal(capture_pending(f->capture), 0);
	assert_int_equal(
		recorder_queue_value(&capture_recorder(f->capture)->queues[f->queue->block],
			RTL_Q_untimed_early),
		1);
}

static void stop(void)
{
	assert_true(worker_stop(true));
}

BRIEF_WORKER_CASE(kernel_in_doubt_is_decided_before_unload)
{
	check_that_it_is_decided(f, stop);
}

BRIEF_WORKER_CASE(kernel_in_doubt_is_decided_before_exit)
{
	check_that_it_is_decided(f, worker_settle);
}

static void stop_without_it(void)
{
	if (worker_stop(true))
		_exit(2);
}

/*
 * In a process of its own, which ends without its shim thread. A thread that is interrupted while
 * it appends to the log still holds it.
 */
static void end_without_the_thread(void (*end)(void), bool has_log)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct recorder *recorder;
		struct fixture *f;

		alarm(300);
		fixture_setup_brief((void **)&f);
		recorder = capture_recorder(f->capture);
		has_no_processor = true;
		while (!is_kept) /* ctest has a deadline */
			poll(NULL, 0, 1);
		gate_pause();
		gate_resume();
		gate_pause();
		recorder->define_lock = has_log;
		end();
		if (recorder_process_value(recorder, RTL_P_controls_applied) != gate_changes())
			_exit(1);
		_exit(recorder_process_value(recorder, RTL_P_recordings_left_out) ==
					(has_log ? gate_changes() : 0)
				? 0
				: 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST_CASE(recording_intervals_are_written_without_the_shim_thread)
{
	end_without_the_thread(stop_without_it, false);
	end_without_the_thread(worker_settle, false);
}

/* Without one anchor and the rate, no dispatch would have times. */
TEST_CASE(first_anchor_is_taken_before_the_shim_thread_runs)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		const struct recorder_anchors *anchors;
		struct fixture *f;

		alarm(300);
		has_no_processor = true;
		fixture_setup_brief((void **)&f);
		anchors = &capture_recorder(f->capture)->anchors[0];
		_exit(anchors->count == 1 && anchors->tick_hz == f->agents.gpu[0].tick_hz ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Older runtimes do not report it, and measuring takes a while. */
TEST_CASE(tick_rate_is_known_without_the_shim_thread)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct fixture *f;

		alarm(300);
		has_no_processor = has_no_rate = true;
		fixture_setup_brief((void **)&f);
		while (!is_kept) /* ctest has a deadline */
			poll(NULL, 0, 1);
		stop_without_it();
		if (!harvest_detach(f->capture, clock_monotonic_ns() + DEADLINE_NS))
			_exit(3);
		worker_stand_in();
		_exit(capture_recorder(f->capture)->anchors[0].tick_hz == TICK_HZ ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A handler that ends the process may interrupt a thread anywhere. */
TEST_CASE(exit_does_not_wait_for_the_thread_it_interrupts)
{
	end_without_the_thread(stop_without_it, true);
	end_without_the_thread(worker_settle, true);
}

static void live_twice(void)
{
	struct fixture *f, *again;

	alarm(300);
	fixture_setup_brief((void **)&f);
	has_no_processor = true;
	while (!is_kept)
		poll(NULL, 0, 1);
	stop_without_it();
	if (!worker_is_lost())
		_exit(3);
	has_no_processor = false;
	while (worker_is_lost())
		poll(NULL, 0, 1);
	worker_release();
	fixture_setup((void **)&again);
	check_hello(again);
	_exit(worker_stop(true) ? 0 : 4);
}

/* The runtime may be started again; a thread that was only late must not prevent recording. */
TEST_CASE(late_shim_thread_is_followed_by_another)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		live_twice();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
