// SPDX-License-Identifier: MIT
/*
 * A thread of a real-time class waits for one that can only run on the same processor: yielding
 * does not let that one run, so the waiter has to sleep, in each place where the shim waits for
 * another thread. A waiter that only yields succeeds late, when the kernel throttles the real-time
 * thread.
 */
#include "tests/shim/capture/fixture.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "shim/capture/app_signals.h"
#include "shim/capture/capture_internal.h"
#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/capture/front_ends/shadow_queue.h"

#define HANDLE	   4096u
#define DEADLINE_S 300

struct wait {
	const char *name;
	/* The word that is held; 0 if it is not held. */
	_Atomic uint32_t *(*word)(struct fixture *f);
	void (*take)(struct fixture *f); /* called by the thread that has to wait */
};

static _Atomic uint32_t *define_word(struct fixture *f)
{
	return &f->recorder->define_lock;
}

static void define_take(struct fixture *f)
{
	(void)recorder_define(f->recorder, "1234", 4, RECORDER_DEFINE_WAIT);
}

static _Atomic uint32_t *harvest_word(struct fixture *f)
{
	return &f->capture->harvest_lock;
}

static void harvest_take(struct fixture *f)
{
	harvest_lock_wait(f->capture);
	harvest_lock_release(f->capture);
}

static _Atomic uint32_t *pass_word(struct fixture *f)
{
	return &f->capture->pass_lock;
}

static void pass_take(struct fixture *f)
{
	(void)harvest_runtime_hold(f->capture);
	harvest_runtime_release(f->capture);
}

static _Atomic uint32_t *walk_word(struct fixture *f)
{
	/* Its lower half: an address that does not exist, or 0. */
	return (_Atomic uint32_t *)(void *)&shadow_of_queue(f->capture, synth_hsa_queue(f->queue))
		->walk;
}

/* The reader of a signal stores its handle; here the lower half of it. */
static _Atomic uint32_t *reader_word(struct fixture *f)
{
	return (_Atomic uint32_t *)(void *)&f->capture->appsig_read;
}

static void signal_destroy(struct fixture *f)
{
	appsig_used(f->capture, HANDLE, APPSIG_DESTROY);
}

static const struct wait waits[] = {
	{"definitions", define_word, define_take}, {"harvest", harvest_word, harvest_take},
	{"pass", pass_word, pass_take}, {"reader of a signal", reader_word, signal_destroy},
	{"walk of a queue", walk_word, fixture_destroy_queue}, /* must be the last one */
};

struct pair {
	struct fixture *fixture;
	const struct wait *wait;
	_Atomic uint32_t *word;
	_Atomic bool is_waiting;
	long slept;
};

static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void *hold(void *argument)
{
	struct pair *pair = argument;

	while (!atomic_load(&pair->is_waiting))
		sched_yield();
	atomic_store(pair->word, 0);
	return NULL;
}

static void *take(void *argument)
{
	struct pair *pair = argument;
	long before = sleeps();

	atomic_store(&pair->is_waiting, true);
	pair->wait->take(pair->fixture);
	pair->slept = sleeps() - before;
	return NULL;
}

/* 0, or -EPERM if the user may not. */
static int thread_start(
	pthread_t *ret, int policy, void *(*function)(void *argument), struct pair *pair)
{
	const struct sched_param priority = {.sched_priority = policy == SCHED_FIFO ? 1 : 0};
	pthread_attr_t attributes;
	cpu_set_t one;
	int r;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	pthread_attr_init(&attributes);
	pthread_attr_setaffinity_np(&attributes, sizeof(one), &one);
	pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attributes, policy);
	pthread_attr_setschedparam(&attributes, &priority);
	r = pthread_create(ret, &attributes, function, pair);
	pthread_attr_destroy(&attributes);
	return -r;
}

static void thread_end(pthread_t thread, const char *name)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += DEADLINE_S;
	if (pthread_timedjoin_np(thread, NULL, &until))
		fail_msg("%s: still waiting after %d s", name, DEADLINE_S);
}

/* False if this user may not use real-time classes. */
static bool has_let_the_holder_in(struct fixture *f, const struct wait *wait)
{
	struct pair pair = {.fixture = f, .wait = wait, .word = wait->word(f)};
	pthread_t holder, taker;
	cpu_set_t all, one;
	int r;

	/* Both on the processor that runs this thread. */
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	atomic_store(pair.word, wait->take == signal_destroy ? HANDLE : 1);
	assert_int_equal(thread_start(&holder, SCHED_OTHER, hold, &pair), 0);
	r = thread_start(&taker, SCHED_FIFO, take, &pair);
	if (r)
		atomic_store(&pair.is_waiting, true);
	else
		thread_end(taker, wait->name);
	thread_end(holder, wait->name);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	if (r) {
		assert_int_equal(r, -EPERM);
		return false;
	}
	if (!pair.slept)
		fail_msg("%s: it never slept", wait->name);
	return true;
}

CAPTURE_CASE(real_time_waiter_lets_the_holder_in)
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (!has_let_the_holder_in(f, &waits[i]))
			skip();
}
