/* SPDX-License-Identifier: MIT
 *
 * Programs that go out of the runtime's calls and do not come back to them: a signal handler jumps
 * out of a doorbell or a wait, or the thread ends in there. HSA does not allow it, and it goes
 * well.
 */
#include "tests/shim/guest/guest.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define KERNELS	    20000u
#define BATCH	    8u
/* Most of the time is spent in doorbells; otherwise no signal would ever interrupt one. */
#define RINGS	    400u
#define STACK_BYTES 65536
#define THREADS	    1000u

static sigjmp_buf out;
static volatile sig_atomic_t is_armed;
static atomic_bool is_over;
static atomic_uint jumps;

static void leave(int signal)
{
	(void)signal;
	if (!is_armed)
		return;
	is_armed = 0;
	siglongjmp(out, 1);
}

static void end_here(int signal)
{
	(void)signal;
	if (is_armed)
		pthread_exit(NULL);
}

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(signal, &action, NULL);
}

/* A doorbell may be rung again for packets that are there already. */
static void ring_often(uint64_t first)
{
	if (sigsetjmp(out, 1)) {
		atomic_fetch_add(&jumps, 1);
		return;
	}
	is_armed = 1;
	for (unsigned i = 0; i < RINGS; i++)
		queue_ring(guest_queue(), first + i % BATCH);
	is_armed = 0;
}

/*
 * Submits kernels without waiting for them; any of their doorbells may be left by a jump. Returns
 * the first one's index.
 */
static uint64_t launch(unsigned number)
{
	hsa_queue_t *queue = guest_queue();
	uint64_t first = hsa_queue_add_write_index_relaxed(queue, BATCH);

	while (first + BATCH - hsa_queue_load_read_index_scacquire(queue) > queue->size)
		sched_yield();
	for (unsigned i = 0; i < BATCH; i++) {
		struct packet packet =
			packet_dispatch(guest_kernel((number + i) % 4), (hsa_signal_t){0});

		packet_store(queue, first + i, &packet);
	}
	ring_often(first);
	return first;
}

/* The queue still works: waits for a kernel that comes after all others. */
static int go_on(unsigned kernels)
{
	is_armed = 0;
	guest_require(atomic_load(&jumps) > 0, "nothing was left");
	guest_dispatch(1);
	guest_count(kernels);
	guest_tell();
	guest_close();
	return 0;
}

static int launch_all(void)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < KERNELS; i += BATCH)
		last = launch(i);
	while (!atomic_load(&jumps))
		ring_often(last);
	return go_on(KERNELS);
}

/*
 * Calls each function once, because a thread must not jump out of the loader while it resolves one.
 */
static void begin(void)
{
	sigjmp_buf here;

	guest_open();
	if (!sigsetjmp(here, 1)) {
		guest_dispatch(1);
		siglongjmp(here, 1);
	}
	guest_forget_count();
}

/* A timer for this thread, on CPU time or another clock. */
static int under_timer(clockid_t clock, int signal)
{
	const struct itimerspec often = {{.tv_nsec = 20000}, {.tv_nsec = 20000}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};
	timer_t timer;
	int status;

	begin();
	event._sigev_un._tid = gettid();
	handle(signal, leave, SA_RESTART);
	guest_require(!timer_create(clock, &event, &timer), "no timer");
	guest_require(!timer_settime(timer, 0, &often, NULL), "no timer");
	status = launch_all();
	timer_delete(timer);
	return status;
}

static int jumps_alarm(char **arguments)
{
	(void)arguments;
	return under_timer(CLOCK_MONOTONIC, SIGALRM);
}

static int jumps_prof(char **arguments)
{
	(void)arguments;
	return under_timer(CLOCK_THREAD_CPUTIME_ID, SIGPROF);
}

/* Sends signals one after the other to a thread. */
static void *storm(void *argument)
{
	const pthread_t *at = argument;

	while (!atomic_load(&is_over)) {
		pthread_kill(*at, SIGUSR1);
		sched_yield();
	}
	return NULL;
}

static int under_storm(int flags, int (*run)(void))
{
	pthread_t self = pthread_self(), thread;
	int status;

	begin();
	handle(SIGUSR1, leave, flags);
	guest_require(!pthread_create(&thread, NULL, storm, &self), "no thread");
	status = run();
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	return status;
}

static int jumps_storm(char **arguments)
{
	(void)arguments;
	return under_storm(0, launch_all);
}

/* Handlers on a stack of their own. */
static int jumps_own_stack(char **arguments)
{
	stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};

	(void)arguments;
	guest_require(!sigaltstack(&stack, NULL), "no stack");
	return under_storm(SA_ONSTACK, launch_all);
}

/* ---- threads that end inside a doorbell ------------------------------------------------ */

static atomic_bool is_ringing;

/*
 * The end of a thread is an exception in C++, which does not pass through functions of the runtime.
 */
static void *ring_until_the_end(void *argument)
{
	uint64_t first = *(const uint64_t *)argument;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	is_armed = 1;
	atomic_store(&is_ringing, true);
	for (;;)
		queue_ring(guest_queue(), first);
	return NULL;
}

/*
 * Most of these end the program. In the others the thread was not inside a function of the runtime.
 */
static int end_threads(void (*end)(pthread_t thread))
{
	const struct rlimit none = {0, 0};

	begin();
	setrlimit(RLIMIT_CORE, &none);
	for (unsigned i = 0; i < THREADS; i++) {
		uint64_t first = launch(0);
		pthread_t thread;

		atomic_store(&is_ringing, false);
		guest_require(
			!pthread_create(&thread, NULL, ring_until_the_end, &first), "no thread");
		while (!atomic_load(&is_ringing))
			sched_yield();
		end(thread);
		pthread_join(thread, NULL);
		guest_dispatch(1);
	}
	guest_require(false, "no thread ended in the runtime");
	return 0;
}

static void cancel(pthread_t thread)
{
	pthread_cancel(thread);
}

static void exit_in_handler(pthread_t thread)
{
	pthread_kill(thread, SIGUSR1);
}

static int thread_cancelled(char **arguments)
{
	(void)arguments;
	return end_threads(cancel);
}

static int thread_exits(char **arguments)
{
	(void)arguments;
	handle(SIGUSR1, end_here, 0);
	return end_threads(exit_in_handler);
}

const struct guest_mode guest_jumps[] = {
	{"jumps_alarm", jumps_alarm},
	{"jumps_prof", jumps_prof},
	{"jumps_storm", jumps_storm},
	{"jumps_own_stack", jumps_own_stack},
	{"thread_cancelled", thread_cancelled},
	{"thread_exits", thread_exits},
	{NULL, NULL},
};
