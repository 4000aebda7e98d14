/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "shim/base/gate.h"
#include "shim/record/recorder.h"
#include "shim/record/recording_intervals.h"
#include "tests/lib/test.h"

#define SECOND 1000000000ull

static bool is_open(void)
{
	return gate_is_open(gate_load(&gate_word));
}

/* Always from a fresh start: the state of the process stays from test to test. */
static void begin(const struct choice *choice, uint64_t now_ns)
{
	gate_choose(choice);
	gate_begin(true, 3, now_ns);
}

/* The changes taken since the last begin(), as "+start -time ..."; times must rise. */
static const char *changes(void)
{
	static char text[256];
	struct gate_change change;
	uint64_t last_ns = 0;
	size_t used = 0;

	text[0] = '\0';
	while (gate_take_change(&change)) {
		assert_true(change.at_ns > last_ns);
		last_ns = change.at_ns;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%c%s",
			used ? " " : "", change.is_recording ? '+' : '-',
			control_why_name(change.why));
	}
	return text;
}

/* The gate closes @duration_ns after it opened, which was before now. */
static void ends_in(uint64_t duration_ns)
{
	uint64_t now_ns = clock_boottime_ns();

	assert_true(gate_next_ns() <= now_ns + duration_ns);
	assert_true(gate_next_ns() + 30 * SECOND > now_ns + duration_ns);
}

/* The gate when the clock was read last. */
static _Atomic bool was_open;
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	atomic_store(&was_open, is_open());
	return __real_clock_gettime(clock, ret);
}

/* What is dispatched between two looks at an open gate has a time between these. */
TEST_CASE(the_time_of_a_change_is_read_while_the_gate_is_closed)
{
	begin(&(struct choice){0}, 0);
	gate_pause();
	assert_false(was_open);
	gate_resume();
	assert_false(was_open);
	assert_string_equal(changes(), "+start -program +program");
}

TEST_CASE(nothing_chosen_records_from_the_start)
{
	begin(&(struct choice){0}, 100);
	assert_true(is_open());
	assert_int_equal(gate_load(gate_of_gpu(5)) & ~(0xffffffffull << 32), 0);
	assert_int_equal(gate_next_ns(), UINT64_MAX);
	assert_false(gate_is_never_open());
	assert_false(gate_region_matches("anything"));
	assert_true(gate_wants_kernel("anything", 8));
	assert_string_equal(changes(), "+start");
}

TEST_CASE(a_rank_that_is_left_out_never_records)
{
	struct choice choice = {.ranks = {.count = 1, .range = {{0, 2}}}};

	begin(&choice, 100);
	assert_false(is_open());
	assert_true(gate_is_never_open());
	assert_true(gate_control(1, true, 0));
	assert_false(is_open());
	assert_string_equal(changes(), "");
	/* A process that does not know its rank is none of the chosen ranks. */
	gate_begin(false, 0, 100);
	assert_false(is_open());
	gate_begin(true, 1, 100);
	assert_true(is_open());
}

static _Atomic bool is_asked, is_left_out;

static void *ask_without_end(void *nothing)
{
	while (is_asked)
		is_left_out |= gate_is_never_open();
	return nothing;
}

/* What the rank records meanwhile is neither stored nor counted. */
TEST_CASE(a_rank_that_begins_is_not_left_out_for_a_moment)
{
	struct choice choice = {0};
	pthread_t thread;

	begin(&choice, 100);
	is_asked = true;
	assert_int_equal(pthread_create(&thread, NULL, ask_without_end, NULL), 0);
	for (unsigned i = 0; i < 300000; i++)
		gate_begin(true, 3, 100);
	is_asked = false;
	pthread_join(thread, NULL);
	assert_false(is_left_out);
}

TEST_CASE(a_gpu_that_is_left_out_has_a_gate_of_its_own)
{
	struct choice choice = {.gpus = {.count = 1, .range = {{1, 1}}}};

	begin(&choice, 100);
	assert_true(gate_is_open(gate_load(gate_of_gpu(1))));
	assert_false(gate_is_open(gate_load(gate_of_gpu(0))));
}

TEST_CASE(dormant_waits_for_the_control)
{
	struct choice choice = {.is_dormant = true};

	begin(&choice, 100);
	assert_false(is_open());
	assert_false(gate_is_never_open());
	assert_true(gate_control(10, true, 0));
	assert_true(is_open());
	assert_int_equal(gate_control_seq(), 10);
	/* Said again after a reconnect, or late. */
	assert_false(gate_control(10, false, 0));
	assert_false(gate_control(9, false, 0));
	assert_true(is_open());
	assert_true(gate_control(11, false, 0));
	assert_false(is_open());
	assert_string_equal(changes(), "+control -control");
}

TEST_CASE(a_control_with_a_duration_ends_by_itself)
{
	struct choice choice = {.is_dormant = true};

	begin(&choice, 100);
	assert_true(gate_control(1, true, 5 * SECOND));
	ends_in(5 * SECOND);
	gate_tick(gate_next_ns() - 1);
	assert_true(is_open());
	gate_tick(gate_next_ns());
	assert_false(is_open());
	assert_int_equal(gate_next_ns(), UINT64_MAX);
	/* And a stop begins again by itself. */
	assert_true(gate_control(2, true, 0));
	assert_true(gate_control(3, false, SECOND));
	assert_false(is_open());
	gate_tick(gate_next_ns());
	assert_true(is_open());
	/* A stop takes back what was to come. */
	assert_true(gate_control(4, true, SECOND));
	assert_true(gate_control(5, false, 0));
	gate_tick(clock_boottime_ns() + 20 * SECOND);
	assert_false(is_open());
}

TEST_CASE(a_start_time_and_a_duration_open_and_close_the_gate)
{
	struct choice choice = {.start_after_ns = 2 * SECOND, .duration_ns = 3 * SECOND};

	begin(&choice, SECOND);
	assert_false(is_open());
	gate_tick(3 * SECOND - 1);
	assert_false(is_open());
	gate_tick(3 * SECOND);
	assert_true(is_open());
	ends_in(3 * SECOND);
	gate_tick(gate_next_ns());
	assert_false(is_open());
	assert_string_equal(changes(), "+time -time");
	/* By hand it begins anew: at once, and for as long. */
	assert_true(gate_control(1, true, 0));
	assert_true(is_open());
	ends_in(3 * SECOND);
	gate_tick(gate_next_ns());
	assert_false(is_open());
	assert_string_equal(changes(), "+control -time");
}

/* One character for each step: whether its dispatches are recorded. */
static const char *steps_taken(unsigned count)
{
	static char text[64];
	char marker[32];

	for (unsigned i = 0; i < count; i++) {
		snprintf(marker, sizeof(marker), "ProfilerStep#%u", i);
		gate_step("forward");
		gate_step(marker);
		text[i] = is_open() ? 'r' : '.';
		gate_step("backward");
		assert_int_equal(is_open(), text[i] == 'r');
	}
	text[count] = '\0';
	return text;
}

TEST_CASE(steps_are_scheduled_as_torch_does)
{
	struct choice choice = {.steps = {1, 1, 2, 2}};

	begin(&choice, 100);
	assert_false(is_open());
	assert_string_equal(steps_taken(12), "..rr..rr....");
	assert_string_equal(changes(), "+steps -steps +steps -steps");
	/* A start begins them anew. */
	assert_true(gate_control(1, true, 0));
	assert_string_equal(steps_taken(5), "..rr.");
	choice.steps = (struct choice_steps){2, 0, 1, 0};
	begin(&choice, 100);
	assert_string_equal(steps_taken(12), "..r..r..r..r");
	choice.steps = (struct choice_steps){0, 0, 1, 0};
	begin(&choice, 100);
	assert_false(is_open()); /* before the first step */
	assert_string_equal(steps_taken(3), "rrr");
	choice.steps = (struct choice_steps){0, 0, 2, 1};
	choice.step_marker = "^ProfilerStep#[24]";
	begin(&choice, 100);
	assert_string_equal(steps_taken(6), "..rrrr");
}

TEST_CASE(steps_count_from_the_start_of_a_dormant_process)
{
	struct choice choice = {.steps = {1, 0, 1, 1}, .is_dormant = true};

	begin(&choice, 100);
	assert_string_equal(steps_taken(5), ".....");
	assert_true(gate_control(1, true, 0));
	assert_string_equal(steps_taken(4), ".r..");
}

TEST_CASE(a_runtime_that_comes_up_within_a_step_records_it)
{
	struct choice choice = {.steps = {0, 0, 2, 1}};

	gate_choose(&choice);
	gate_step("step 0");
	gate_begin(true, 0, 100);
	assert_true(is_open());
	gate_step("step 1");
	assert_true(is_open());
	gate_step("step 2");
	assert_false(is_open());
	assert_string_equal(changes(), "+start -steps");
}

TEST_CASE(a_pause_of_the_program_holds)
{
	begin(&(struct choice){0}, 100);
	gate_pause();
	gate_pause();
	assert_false(is_open());
	assert_true(gate_control(1, true, 0));
	assert_false(is_open());
	gate_resume();
	assert_true(is_open());
	assert_string_equal(changes(), "+start -program +program");
}

static _Atomic bool is_over;

static void *match_without_end(void *text)
{
	while (!is_over)
		gate_step(text);
	return NULL;
}

/*
 * A thread that is in an expression when another one forks has its lock, in the child for ever. It
 * is before the other tests with threads, because ThreadSanitizer takes those that have ended for
 * leaks of the child.
 */
TEST_CASE(a_forked_child_matches_by_itself)
{
	struct choice choice = {.steps = {0, 0, 2, 1}, .step_marker = "step.*[0-9]+ of (all|many)"};
	static char text[] = "a long text: step of one of a great many that there are, of many";
	pthread_t thread[2];

	begin(&choice, 100);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, match_without_end, text), 0);
	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			alarm(300);
			gate_forget();
			gate_step("step 1 of all");
			_exit(is_open() ? 0 : 1);
		}
		assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
		assert_int_equal(status, 0);
	}
	is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

TEST_CASE(filters_look_at_texts)
{
	struct choice choice = {.kernels = "^_Z4gemm|\\.kd$", .region = "^forward"};
	char text[32];

	begin(&choice, 100);
	assert_true(gate_load(&gate_word) & GATE_BY_KERNEL);
	assert_true(gate_load(&gate_word) & GATE_BY_REGION);
	assert_true(gate_wants_kernel("_Z4gemmPf", 9));
	assert_true(gate_wants_kernel("add.kd", 6));
	assert_false(gate_wants_kernel("add.kd", 5)); /* so many bytes, no more */
	assert_false(gate_region_matches(NULL));
	/* More texts than are remembered, twice. */
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 6000; i++) {
			snprintf(text, sizeof(text), "%s %u", i % 3 ? "backward" : "forward", i);
			assert_int_equal(gate_region_matches(text), i % 3 == 0);
		}
}

TEST_CASE(more_changes_than_fit_leave_the_latest)
{
	struct gate_change change = {0};
	unsigned taken = 0;

	begin(&(struct choice){0}, 100);
	for (unsigned i = 0; i < 3000; i++) {
		gate_pause();
		gate_resume();
	}
	while (gate_take_change(&change))
		taken++;
	assert_int_equal(taken, 1024);
	assert_true(change.is_recording);
}

/* At so many changes not each has an interval, and the number of those left out is known. */
TEST_CASE(changes_that_are_passed_over_are_counted)
{
	struct recorder_identity identity = {.pid = getpid(), .start_time = 1};
	struct recorder recorder;

	assert_int_equal(recorder_create(&identity, &recorder), 0);
	begin(&(struct choice){0}, 100);
	assert_true(recording_run(&recorder));
	for (unsigned i = 0; i < 3000; i++) {
		gate_pause();
		gate_resume();
	}
	assert_true(recording_run(&recorder));
	assert_int_equal(recorder_process_value(&recorder, RTL_P_controls_applied), 1 + 6000);
	assert_int_equal(recorder_process_value(&recorder, RTL_P_recordings_left_out), 6000 - 1024);
	gate_pause();
	assert_true(recording_run(&recorder));
	assert_int_equal(recorder_process_value(&recorder, RTL_P_recordings_left_out), 6000 - 1024);
	gate_resume();
	recorder_close(&recorder);
}

/* ---- threads ------------------------------------------------------------------------------ */

static _Atomic bool is_over;

static void *toggle(void *argument)
{
	const char *name = "step 1";

	(void)argument;
	while (!atomic_load(&is_over)) {
		gate_pause();
		(void)gate_region_matches(name);
		gate_step(name);
		gate_resume();
	}
	return NULL;
}

/* Changes come in order, each the opposite of the one before, unless some were passed over. */
TEST_CASE(threads_change_the_gate_in_one_order)
{
	struct choice choice = {.region = "a", .steps = {0, 0, 1, 0}};
	uint64_t end_ns = clock_monotonic_ns() + SECOND / 2, seq = 0, taken = 0, last_ns = 0;
	pthread_t threads[3];

	begin(&choice, 100);
	atomic_store(&is_over, false);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, toggle, NULL), 0);
	while (clock_monotonic_ns() < end_ns || taken < 1000) {
		struct gate_change change;

		seq++;
		gate_control(seq, seq % 2, seq % 3);
		gate_tick(clock_boottime_ns());
		while (gate_take_change(&change)) {
			assert_true(change.at_ns > last_ns);
			last_ns = change.at_ns;
			taken++;
		}
	}
	atomic_store(&is_over, true);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* The log is for names, too: what is not in it is counted. */
TEST_CASE(changes_beyond_the_log_are_counted)
{
	struct recorder_identity identity = {.pid = getpid(), .start_time = 1};
	struct recorder recorder;
	size_t bytes;

	assert_int_equal(recorder_create(&identity, &recorder), 0);
	begin(&(struct choice){0}, 100);
	for (uint32_t i = 1; i < RECORDINGS_MAX; i++) {
		(i % 2 ? gate_pause : gate_resume)();
		assert_true(recording_run(&recorder));
	}
	assert_int_equal(recorder_process_value(&recorder, RTL_P_recordings_left_out), 0);
	(void)recorder_defines_from(&recorder, 0, &bytes);
	gate_resume();
	assert_true(recording_run(&recorder));
	gate_pause();
	assert_true(recording_run(&recorder));
	gate_resume();
	assert_true(recording_run(&recorder));
	assert_int_equal(
		recorder_process_value(&recorder, RTL_P_controls_applied), RECORDINGS_MAX + 3);
	assert_int_equal(recorder_process_value(&recorder, RTL_P_recordings_left_out), 3);
	assert_true(bytes && bytes < RECORDER_DEFINE_BYTES / 8);
	recorder_close(&recorder);
}

/* Names may have filled it. */
TEST_CASE(changes_that_find_the_log_full_are_counted)
{
	struct recorder_identity identity = {.pid = getpid(), .start_time = 1};
	static const char names[4096];
	struct recorder recorder;

	assert_int_equal(recorder_create(&identity, &recorder), 0);
	begin(&(struct choice){0}, 100);
	assert_true(recording_run(&recorder));
	assert_int_equal(recorder_process_value(&recorder, RTL_P_recordings_left_out), 0);
	for (size_t bytes = sizeof(names); bytes; bytes /= 2)
		while (recorder_define(&recorder, names, bytes, RECORDER_DEFINE_WAIT) == 0)
			;
	gate_pause();
	assert_true(recording_run(&recorder));
	assert_int_equal(recorder_process_value(&recorder, RTL_P_recordings_left_out), 1);
	assert_int_equal(recorder_process_value(&recorder, RTL_P_controls_applied), 2);
	gate_resume();
	recorder_close(&recorder);
}

/* False: it had to be killed. */
static bool reap_in_time(pid_t pid, int *ret_status)
{
	uint64_t deadline_ns = clock_monotonic_ns() + 30 * SECOND;
	pid_t reaped = 0;

	while (!reaped && clock_monotonic_ns() < deadline_ns) {
		reaped = waitpid(pid, ret_status, WNOHANG);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	if (reaped == pid)
		return true;
	kill(pid, SIGKILL);
	waitpid(pid, ret_status, 0);
	return false;
}

static void choose_in_handler(int signal)
{
	(void)signal;
	(void)gate_choice(NULL);
}

/* A handler that opens a range may come while the thread reads what the user chose. */
TEST_CASE(a_handler_does_not_wait_for_its_thread)
{
	struct sigaction action = {.sa_handler = choose_in_handler};
	static char region[2000] = "(a";
	const struct choice choice = {.region = region};

	/* Takes its time to compile. */
	for (int i = 0; i < 60; i++)
		strcat(region, "|(b{1,200}c)");
	strcat(region, ")");
	begin(&choice, 100);
	for (int i = 1; i <= 10; i++) {
		/* Not before: then it would be the handler that reads. */
		const struct itimerval often = {{0, 20}, {0, 500 * i}};
		int status = -1;
		pid_t pid = fork();

		if (!pid) {
			gate_forget();
			sigaction(SIGALRM, &action, NULL);
			setitimer(ITIMER_REAL, &often, NULL);
			(void)gate_region_matches("first");
			_exit(0);
		}
		assert_true(pid > 0 && reap_in_time(pid, &status));
		assert_int_equal(status, 0);
	}
}
