// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/base/clock.h"
#include "proto/names/collectives.h"
#include "shim/base/process/process_rank.h"
#include "shim/record/rank_changes.h"
#include "shim/record/recorder.h"
#include "tests/lib/test.h"
#include "tests/lib/thread_sleeps.h"

static int begin(void **state)
{
	struct rank_info declared;

	(void)state;
	clearenv();
	process_rank_begin(&declared);
	return declared.launcher != NULL;
}

static void set_all(const char *rank)
{
	setenv("RANK", rank, 1);
	setenv("LOCAL_RANK", rank, 1);
	setenv("WORLD_SIZE", "8", 1);
	setenv("MASTER_ADDR", "h", 1);
	setenv("MASTER_PORT", "1", 1);
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, begin, NULL)

CASE(a_rank_that_is_set_later_is_found)
{
	struct process_rank rank;

	process_rank_look(false);
	assert_int_equal(process_rank_take(&rank), 0);
	set_all("3");
	process_rank_look(false);
	assert_int_equal(process_rank_take(&rank), 1);
	assert_true(rank.declared.rank.is_known);
	assert_int_equal(rank.declared.rank.value, 3);
	assert_string_equal(rank.declared.launcher, "pytorch");
	assert_string_equal(rank.declared.job, "h.1");
	assert_int_equal(process_rank_take(&rank), 0);
}

#define DEADLINE_NS 300000000000ull

struct held {
	struct recorder recorder;
	_Atomic pid_t recording;
};

static void *record_change(void *arg)
{
	struct held *held = arg;

	atomic_store(&held->recording, gettid());
	rank_changes_run(&held->recorder);
	return NULL;
}

CASE(the_end_of_a_process_records_the_rank_that_another_thread_kept_from_it)
{
	struct recorder_identity identity = {.pid = getpid(), .start_time = 1};
	static struct held held;
	pthread_t recording;
	uint64_t until_ns;
	size_t one, both;
	pid_t tid;

	assert_int_equal(recorder_create(&identity, &held.recorder), 0);
	set_all("1");
	process_rank_look_again();
	rank_changes_run(&held.recorder);
	(void)recorder_defines_from(&held.recorder, 0, &one);
	assert_true(one > 0);
	/* That thread has the next change and no processor, ... */
	atomic_store(&held.recorder.define_lock, 1);
	set_all("2");
	process_rank_look_again();
	assert_int_equal(pthread_create(&recording, NULL, record_change, &held), 0);
	until_ns = clock_monotonic_ns() + DEADLINE_NS;
	while (!(tid = atomic_load(&held.recording)) || thread_sleeps(tid) < THREAD_SLEEPS_MIN) {
		assert_true(clock_monotonic_ns() < until_ns);
		sched_yield();
	}
	/* ... so this one can't record what has changed since, ... */
	set_all("3");
	process_rank_look_again();
	assert_false(rank_changes_end(&held.recorder));
	/* ... until that thread has come back. */
	atomic_store(&held.recorder.define_lock, 0);
	pthread_join(recording, NULL);
	assert_true(rank_changes_end(&held.recorder));
	(void)recorder_defines_from(&held.recorder, 0, &both);
	assert_int_equal(both, 3 * one);
	recorder_close(&held.recorder);
}

CASE(a_change_of_rank_is_recorded_when_the_log_is_free_again)
{
	struct recorder_identity identity = {.pid = getpid(), .start_time = 1};
	struct recorder recorder;
	unsigned long sleeps;
	size_t none, one;

	assert_int_equal(recorder_create(&identity, &recorder), 0);
	assert_true(rank_changes_end(&recorder));
	(void)recorder_defines_from(&recorder, 0, &none);
	atomic_store(&recorder.define_lock, 1);
	set_all("5");
	process_rank_look_again();
	/* The thread that ends the process waits between its attempts, not in them. */
	sleeps = thread_sleeps(gettid());
	assert_false(rank_changes_end(&recorder));
	assert_false(rank_changes_end(&recorder));
	assert_true(thread_sleeps(gettid()) < sleeps + THREAD_SLEEPS_MIN);
	atomic_store(&recorder.define_lock, 0);
	assert_true(rank_changes_end(&recorder));
	(void)recorder_defines_from(&recorder, 0, &one);
	assert_true(one > none);
	recorder_close(&recorder);
}

CASE(a_change_that_one_recorder_did_not_get_is_not_in_the_next)
{
	struct recorder_identity identity = {.pid = getpid(), .start_time = 1};
	struct recorder earlier, later;
	struct rank_info declared;
	size_t before, after;

	assert_int_equal(recorder_create(&identity, &earlier), 0);
	assert_true(rank_changes_end(&earlier));
	atomic_store(&earlier.define_lock, 1);
	set_all("5");
	process_rank_look_again();
	assert_false(rank_changes_end(&earlier));
	recorder_close(&earlier);
	set_all("6");
	assert_int_equal(recorder_create(&identity, &later), 0);
	process_rank_begin(&declared);
	rank_changes_begin();
	assert_int_equal(declared.rank.value, 6);
	(void)recorder_defines_from(&later, 0, &before);
	assert_true(rank_changes_end(&later));
	(void)recorder_defines_from(&later, 0, &after);
	assert_int_equal(after, before);
	recorder_close(&later);
}

CASE(a_settled_rank_is_read_again_only_for_a_communicator)
{
	struct process_rank rank;

	set_all("3");
	process_rank_look(false);
	assert_int_equal(process_rank_take(&rank), 1);
	set_all("4");
	process_rank_look(false);
	assert_int_equal(process_rank_take(&rank), 0);
	process_rank_look_again();
	assert_int_equal(process_rank_take(&rank), 1);
	assert_int_equal(rank.declared.rank.value, 4);
}

CASE(a_rank_stays_when_its_variables_are_removed)
{
	struct process_rank rank;

	set_all("3");
	process_rank_look(false);
	assert_int_equal(process_rank_take(&rank), 1);
	clearenv();
	process_rank_look_again();
	assert_int_equal(process_rank_take(&rank), 0);
}

/* A program may leave bad pointers in environ, and another thread's setenv() may just have freed
 * one. */
CASE(an_environment_that_cannot_be_read_is_none)
{
	long page = sysconf(_SC_PAGESIZE);
	char **list = mmap(
		NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *gone = (char *)list + page;
	char **before = environ;
	struct process_rank rank;

	assert_ptr_not_equal(list, MAP_FAILED);
	assert_int_equal(mprotect(gone, (size_t)page, PROT_NONE), 0);
	/* Entries that point nowhere, and one whose end is on the page that is not there. */
	list[0] = gone;
	list[1] = (char *)16;
	list[2] = gone - 4;
	memset(gone - 4, 'x', 4);
	list[3] = (char[]){"RANK=1"};
	list[4] = NULL;
	environ = list;
	process_rank_look_again();
	/* A list without an end, and none at all. */
	environ = (char **)(void *)(gone - 2 * sizeof(char *));
	environ[0] = environ[1] = (char[]){"RANK=1"};
	process_rank_look_again();
	environ = (char **)(void *)gone;
	process_rank_look_again();
	environ = NULL;
	process_rank_look_again();
	environ = before;
	assert_int_equal(process_rank_take(&rank), 0);
	munmap(list, 2 * (size_t)page);
}

static _Atomic bool is_over;

static void *set_without_end(void *argument)
{
	char name[32];

	(void)argument;
	for (unsigned i = 0; !atomic_load(&is_over); i++) {
		/* A larger and larger list, which moves, and at times a small one again. */
		snprintf(name, sizeof(name), "NAME_%u", i % 2000);
		setenv(name, "value", 1);
		if (i % 8000 == 7999)
			clearenv();
	}
	return NULL;
}

CASE(a_thread_that_sets_variables_meanwhile_harms_nothing)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, set_without_end, NULL), 0);
	for (int i = 0; i < 2000; i++)
		process_rank_look_again();
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
}

CASE(the_largest_communicator_is_the_one_of_most_ranks)
{
	struct process_rank rank;

	communicators_count_ranks(&(struct communicator){11, 1, 2});
	communicators_count_ranks(&(struct communicator){12, 5, 8});
	communicators_count_ranks(&(struct communicator){13, 7, 8}); /* as large, and later */
	communicators_count_ranks(&(struct communicator){14, 0, 4});
	communicators_count_ranks(&(struct communicator){COLLECTIVE_NO_COMM, 0, 64});
	communicators_count_ranks(&(struct communicator){15, COLLECTIVE_NO_RANK, 64});
	assert_int_equal(process_rank_take(&rank), 1);
	assert_int_equal(rank.largest.identity, 12);
	assert_int_equal(rank.largest.rank, 5);
	assert_int_equal(rank.largest.size, 8);
	communicators_count_ranks(&(struct communicator){12, 5, 8});
	assert_int_equal(process_rank_take(&rank), 0);
	/* A second rank of it in this process: neither is the process's. */
	communicators_count_ranks(&(struct communicator){12, 6, 8});
	assert_int_equal(process_rank_take(&rank), 1);
	assert_int_equal(rank.largest.identity, 12);
	assert_int_equal(rank.largest.rank, COLLECTIVE_NO_RANK);
}
