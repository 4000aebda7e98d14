/* SPDX-License-Identifier: MIT
 *
 * Programs full of signals: each of them has to reach the program's own threads, and interrupt
 * what it interrupted before.
 */
#include "tests/shim/guest/guest.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static atomic_uint handled, on_foreign;
static sigset_t blocked;

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

/* ---- signals that all threads block ------------------------------------------------------- */

struct thread {
	int id;
	char name[64];
	unsigned long long blocked;
};

static bool does_block(const struct thread *thread, int signal)
{
	return thread->blocked >> (signal - 1) & 1;
}

/* On a thread that is being made, glibc blocks even its own signals, which a mask cannot hold. */
static bool is_being_made(const struct thread *thread)
{
	return does_block(thread, 32);
}

static bool thread_read(const char *id, struct thread *ret)
{
	char path[64], line[128];
	FILE *file;

	*ret = (struct thread){.id = atoi(id)};
	snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", id);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "Name: %63s", ret->name);
		sscanf(line, "SigBlk: %llx", &ret->blocked);
	}
	fclose(file);
	return ret->id;
}

/* Finds a thread that @signal may come to, one of the profiler's or one of all others. */
static bool taker_find(int signal, bool is_profilers, struct thread *ret)
{
	DIR *threads = opendir("/proc/self/task");
	struct dirent *entry;
	bool is_found = false;

	while (threads && !is_found && (entry = readdir(threads)))
		is_found = thread_read(entry->d_name, ret) &&
			   is_profilers == !strncmp(ret->name, "rtl", 3) &&
			   (!does_block(ret, signal) || is_being_made(ret));
	if (threads)
		closedir(threads);
	return is_found;
}

/* From the handler's return on, the thread blocks the signal. */
static void block_here(int signal, siginfo_t *info, void *context)
{
	(void)info;
	sigaddset(&((ucontext_t *)context)->uc_sigmask, signal);
}

static bool runtime_blocks(void *argument)
{
	int signal = *(int *)argument;
	struct thread taker;

	if (!taker_find(signal, false, &taker))
		return true;
	/* A thread that is being made has neither its own mask nor its own name yet. */
	if (!is_being_made(&taker))
		syscall(SYS_tgkill, getpid(), taker.id, signal);
	return false;
}

/*
 * Opens the GPU, then blocks @signal on this thread and on the runtime's threads, which have our
 * mask of before. The profiler's could have inherited that mask too, and has to block the signal by
 * itself: the default action would end the process, and not tell on which thread.
 */
static void open_and_block(int signal)
{
	struct sigaction action = {.sa_sigaction = block_here, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct thread taker;

	guest_open();
	sigemptyset(&blocked);
	sigaddset(&blocked, signal);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	sigaction(signal, &action, NULL);
	guest_require(wait_for(runtime_blocks, &signal), "the runtime's threads take the signal");
	action = (struct sigaction){.sa_handler = SIG_DFL};
	sigaction(signal, &action, NULL);
	if (taker_find(signal, true, &taker)) {
		fprintf(stderr, "shim-guest: thread %s takes signal %d\n", taker.name, signal);
		_exit(99);
	}
}

static void *receive(void *argument)
{
	uintptr_t received = 0;
	int signal;

	(void)argument;
	while (received < 500 && !sigwait(&blocked, &signal))
		received++;
	return (void *)received; // NOLINT: a count
}

static void send(int value)
{
	while (sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = value}))
		guest_require(errno == EAGAIN, "sigqueue");
	guest_dispatch(value % 50 == 0);
}

/*
 * One thread of those that block the signals waits for them. Not for the first: a thread that
 * waits would get it before one that takes it.
 */
static int signals_sigwait(char **arguments)
{
	pthread_t thread;
	void *received;

	(void)arguments;
	open_and_block(SIGRTMIN + 3);
	send(0);
	guest_require(!pthread_create(&thread, NULL, receive, NULL), "no thread");
	for (int i = 1; i < 500; i++)
		send(i);
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
	int fd;

	(void)arguments;
	open_and_block(SIGUSR1);
	fd = signalfd(-1, &blocked, SFD_CLOEXEC);
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

/* ---- signals that interrupt --------------------------------------------------------------- */

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
