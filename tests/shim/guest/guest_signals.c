/* SPDX-License-Identifier: MIT
 *
 * Programs full of signals: each of them has to reach the program's own threads, and interrupt
 * what it interrupted before.
 */
#include "tests/shim/guest/guest.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_uint handled, on_foreign;

static void count(int signal)
{
	(void)signal;
	atomic_fetch_add(&handled, 1);
	if (guest_is_on_foreign_thread())
		atomic_fetch_add(&on_foreign, 1);
}

static void handle(int signal, int flags)
{
	struct sigaction action = {.sa_handler = count, .sa_flags = flags};

	sigaction(signal, &action, NULL);
}

static bool has_handled(void *argument)
{
	return atomic_load(&handled) >= *(unsigned *)argument;
}

static void *stay_busy(void *argument)
{
	unsigned enough = 100;

	(void)argument;
	while (!has_handled(&enough))
		;
	return NULL;
}

/* A profiling timer at one kilohertz while the GPU is used. */
static int signals_prof(char **arguments)
{
	const struct itimerval timer = {{.tv_usec = 1000}, {.tv_usec = 1000}};
	const struct itimerval off = {{0}, {0}};
	pthread_t thread;

	(void)arguments;
	guest_open();
	handle(SIGPROF, SA_RESTART);
	setitimer(ITIMER_PROF, &timer, NULL);
	guest_require(!pthread_create(&thread, NULL, stay_busy, NULL), "no thread");
	guest_dispatch(200);
	pthread_join(thread, NULL);
	setitimer(ITIMER_PROF, &off, NULL);
	printf("foreign %u\n", atomic_load(&on_foreign));
	guest_tell();
	guest_close();
	return 0;
}

static void *receive(void *argument)
{
	const sigset_t *set = argument;
	uintptr_t received = 0;
	int signal;

	while (received < 500 && !sigwait(set, &signal))
		received++;
	return (void *)received; // NOLINT: a count
}

/*
 * All threads of the program block the signals, and one waits for them. A thread that did not block
 * them would get them, and their default action ends the process.
 */
static int signals_sigwait(char **arguments)
{
	sigset_t set;
	pthread_t thread;
	void *received;

	(void)arguments;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	/* Before the signals are blocked, so that a thread made now does not inherit that. */
	guest_open();
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	guest_require(!pthread_create(&thread, NULL, receive, &set), "no thread");
	for (int i = 0; i < 500; i++) {
		union sigval value = {.sival_int = i};

		while (sigqueue(getpid(), SIGRTMIN + 3, value))
			guest_require(errno == EAGAIN, "sigqueue");
		guest_dispatch(i % 50 == 0);
	}
	pthread_join(thread, &received);
	printf("received %u\n", (unsigned)(uintptr_t)received);
	guest_tell();
	guest_close();
	return 0;
}

static int signals_signalfd(char **arguments)
{
	struct signalfd_siginfo info;
	unsigned received = 0;
	sigset_t set;
	int fd;

	(void)arguments;
	guest_open();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	for (int i = 0; i < 100; i++) {
		kill(getpid(), SIGUSR1);
		guest_dispatch(1);
		received += read(fd, &info, sizeof(info)) == sizeof(info);
	}
	close(fd);
	printf("received %u\n", received);
	guest_tell();
	guest_close();
	return 0;
}

/* Interrupted calls return EINTR without SA_RESTART, and do not with it. */
static int signals_eintr(char **arguments)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	const struct timespec day = {86400, 0};
	int pipe_fd[2], r;
	char byte;

	(void)arguments;
	guest_open();
	guest_dispatch(3);
	guest_require(!pipe(pipe_fd), "no pipe");
	handle(SIGALRM, 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	r = read(pipe_fd[0], &byte, 1) < 0 ? errno : 0;
	printf("read %s\n", r == EINTR ? "EINTR" : "otherwise");
	setitimer(ITIMER_REAL, &soon, NULL);
	r = nanosleep(&day, NULL) < 0 ? errno : 0;
	printf("nanosleep %s\n", r == EINTR ? "EINTR" : "otherwise");
	setitimer(ITIMER_REAL, &soon, NULL);
	r = poll(NULL, 0, -1) < 0 ? errno : 0;
	printf("poll %s\n", r == EINTR ? "EINTR" : "otherwise");
	printf("foreign %u\n", atomic_load(&on_foreign));
	guest_dispatch(3);
	guest_tell();
	guest_close();
	return 0;
}

/* Frequent alarms interrupt a program that dispatches: no dispatch is lost or delayed for ever. */
static int signals_storm(char **arguments)
{
	const struct itimerval timer = {{.tv_usec = 500}, {.tv_usec = 500}};
	const struct itimerval off = {{0}, {0}};
	unsigned enough = 50;

	(void)arguments;
	guest_open();
	handle(SIGALRM, 0);
	setitimer(ITIMER_REAL, &timer, NULL);
	guest_dispatch(300);
	guest_require(wait_for(has_handled, &enough), "no alarms");
	setitimer(ITIMER_REAL, &off, NULL);
	printf("foreign %u\n", atomic_load(&on_foreign));
	guest_tell();
	guest_close();
	return 0;
}

const struct guest_mode guest_signals[] = {
	{"sigprof", signals_prof},
	{"sigwait", signals_sigwait},
	{"signalfd", signals_signalfd},
	{"eintr", signals_eintr},
	{"alarms", signals_storm},
	{NULL, NULL},
};
