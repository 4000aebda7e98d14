/* SPDX-License-Identifier: MIT
 *
 * How a program ends: every way there is, in the middle of its work.
 */
#include "tests/shim/guest/guest.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static void begin(void)
{
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	guest_open();
	guest_dispatch(10);
	guest_tell();
}

static int ends_return(char **arguments)
{
	(void)arguments;
	begin();
	guest_close();
	return 3;
}

static int ends_return_early(char **arguments)
{
	(void)arguments;
	begin();
	return 3; /* without hsa_shut_down */
}

/* With kernels that the program has not waited for. */
static int ends_return_unwaited(char **arguments)
{
	(void)arguments;
	guest_open();
	for (unsigned i = 0; i < 3; i++)
		(void)queue_put(guest_queue(), packet_dispatch(guest_kernel(0), (hsa_signal_t){0}));
	guest_count(3);
	guest_tell();
	return 0;
}

/* Runs until it is killed; its second kernel may never end. */
static int ends_killed_at_work(char **arguments)
{
	hsa_queue_t *queue;

	(void)arguments;
	guest_open();
	queue = guest_queue();
	for (unsigned i = 0;; i++) {
		struct packet packet =
			packet_dispatch(guest_kernel(i % 50 == 30), (hsa_signal_t){0});
		uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);

		while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size)
			sched_yield();
		packet_store(queue, index, &packet);
		queue_ring(queue, index);
	}
	return 0;
}

static int ends_at_once(char **arguments)
{
	(void)arguments;
	guest_require(hsa_init() == HSA_STATUS_SUCCESS, "hsa_init");
	_exit(4);
}

static int ends_killed_at_once(char **arguments)
{
	(void)arguments;
	guest_require(hsa_init() == HSA_STATUS_SUCCESS, "hsa_init");
	raise(SIGKILL);
	return 0;
}

static int ends_without_exit(char **arguments)
{
	(void)arguments;
	begin();
	_exit(5);
}

static int ends_abort(char **arguments)
{
	(void)arguments;
	begin();
	abort();
}

static int ends_segv(char **arguments)
{
	int *volatile nothing = NULL;

	(void)arguments;
	begin();
	*nothing = 1;
	return 0;
}

static void say_goodbye(void)
{
	static const char text[] = "at_quick_exit\n";
	ssize_t written = write(STDOUT_FILENO, text, sizeof(text) - 1);

	(void)written;
}

static int ends_quick_exit(char **arguments)
{
	(void)arguments;
	at_quick_exit(say_goodbye);
	begin();
	quick_exit(6);
}

static void exit_from_handler(int signal)
{
	(void)signal;
	if (guest_is_on_foreign_thread())
		_exit(98);
	exit(7);
}

/* exit() in a handler that has interrupted anything, also a dispatch. */
static int ends_in_handler(char **arguments)
{
	const struct itimerval timer = {.it_value = {.tv_usec = 20000}};

	(void)arguments;
	begin();
	signal(SIGALRM, exit_from_handler);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (hsa_queue_load_write_index_relaxed(guest_queue()))
		;
	return 0;
}

static void *work_alone(void *argument)
{
	(void)argument;
	guest_dispatch(50);
	guest_tell();
	guest_close();
	return NULL;
}

/* The process continues until its last thread ends, also the runtime's; then its status is 0. */
static int ends_pthread_exit(char **arguments)
{
	pthread_t thread;

	(void)arguments;
	begin();
	guest_forget_count();
	guest_require(!pthread_create(&thread, NULL, work_alone, NULL), "no thread");
	pthread_exit(NULL);
}

/* main() returns while other threads dispatch. */
static int ends_among_threads(char **arguments)
{
	(void)arguments;
	guest_open();
	guest_threads_start(3);
	guest_threads_wait();
	return 8;
}

static void *exit_on_thread(void *argument)
{
	(void)argument;
	guest_dispatch(5);
	exit(9);
}

static int ends_exit_on_thread(char **arguments)
{
	pthread_t thread;

	(void)arguments;
	guest_open();
	guest_require(!pthread_create(&thread, NULL, exit_on_thread, NULL), "no thread");
	pthread_join(thread, NULL);
	return 0;
}

/* Starts the runtime and shuts it down, a hundred times. */
static int ends_a_hundred_times(char **arguments)
{
	(void)arguments;
	for (int i = 0; i < 100; i++) {
		guest_open();
		guest_dispatch(2);
		guest_close();
	}
	guest_tell();
	return 0;
}

/* Some threads use the runtime while another shuts down its reference, again and again. */
static int ends_shut_down_among_threads(char **arguments)
{
	(void)arguments;
	guest_open();
	guest_threads_start(3);
	guest_threads_wait();
	for (int i = 0; i < 200; i++) {
		guest_require(hsa_init() == HSA_STATUS_SUCCESS, "hsa_init");
		guest_require(hsa_shut_down() == HSA_STATUS_SUCCESS, "hsa_shut_down");
	}
	guest_threads_stop();
	guest_close();
	return 0;
}

const struct guest_mode guest_ends[] = {
	{"return", ends_return},
	{"return_early", ends_return_early},
	{"return_unwaited", ends_return_unwaited},
	{"killed_at_work", ends_killed_at_work},
	{"at_once", ends_at_once},
	{"killed_at_once", ends_killed_at_once},
	{"_exit", ends_without_exit},
	{"abort", ends_abort},
	{"segv", ends_segv},
	{"quick_exit", ends_quick_exit},
	{"in_handler", ends_in_handler},
	{"pthread_exit", ends_pthread_exit},
	{"among_threads", ends_among_threads},
	{"exit_on_thread", ends_exit_on_thread},
	{"a_hundred_times", ends_a_hundred_times},
	{"shut_down_among_threads", ends_shut_down_among_threads},
	{NULL, NULL},
};
