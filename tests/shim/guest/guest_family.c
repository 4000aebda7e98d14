/* SPDX-License-Identifier: MIT
 *
 * Children, in every way that a program can make one.
 */
#include "tests/shim/guest/guest.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A child may query its parent's runtime and end by exit(). */
static void child_looks_and_exits(int status)
{
	(void)hsa_queue_load_write_index_relaxed(guest_queue());
	exit(status);
}

static int family_fork(char **arguments)
{
	(void)arguments;
	guest_open();
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (!pid)
			child_looks_and_exits(10 + i);
		printf("child %d\n", guest_reap(pid));
		guest_dispatch(5);
	}
	guest_tell();
	guest_close();
	return 0;
}

static int family_fork_among_threads(char **arguments)
{
	int ok = 0;

	(void)arguments;
	guest_open();
	guest_threads_start(3);
	guest_threads_wait();
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(20);
		ok += guest_reap(pid) == 20;
	}
	guest_threads_stop();
	printf("children %d\n", ok);
	guest_close();
	return 0;
}

/* A child that neither fork()'s handlers nor libc know of. */
static int family_raw_clone(char **arguments)
{
	(void)arguments;
	guest_open();
	guest_dispatch(5);
	for (int i = 0; i < 3; i++) {
		long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

		if (!pid) {
			(void)hsa_queue_load_write_index_relaxed(guest_queue());
			(void)hsa_queue_add_write_index_relaxed(guest_queue(), 0);
			_exit(30 + i);
		}
		printf("child %d\n", guest_reap((int)pid));
	}
	/* A child that runs the handlers registered for exit. */
	fflush(stdout);
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		child_looks_and_exits(33);
	printf("child %d\n", guest_reap((int)pid));
	guest_dispatch(5);
	guest_tell();
	guest_close();
	return 0;
}

/* Exec: the same process becomes another GPU program. */
static int family_exec(char **arguments)
{
	guest_open();
	guest_dispatch(7);
	guest_tell();
	execl("/proc/self/exe", arguments[0], "return", (char *)NULL);
	return 99;
}

static int family_vfork(char **arguments)
{
	guest_open();
	guest_dispatch(3);
	for (int i = 0; i < 3; i++) {
		fflush(stdout);
		pid_t pid = vfork();

		if (!pid) {
			execl("/proc/self/exe", arguments[0], "return", (char *)NULL);
			_exit(99);
		}
		printf("child %d\n", guest_reap(pid));
		guest_dispatch(3);
	}
	guest_tell();
	guest_close();
	return 0;
}

static int family_spawn(char **arguments)
{
	char *child[] = {arguments[0], (char *)(uintptr_t) "return", NULL};
	pid_t pid = -1;

	guest_open();
	guest_dispatch(3);
	guest_require(!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, child, environ), "no child");
	printf("child %d\n", guest_reap(pid));
	fflush(stdout);
	printf("system %d\n", WEXITSTATUS(system("exit 41")));
	guest_dispatch(3);
	guest_tell();
	guest_close();
	return 0;
}

/* The classical daemon: two forks and a new session before the runtime starts. */
static int family_daemon(char **arguments)
{
	int pipe_fd[2], status = -1;
	char byte = 0;

	(void)arguments;
	guest_require(!pipe(pipe_fd), "no pipe");
	if (!fork()) {
		setsid();
		if (fork())
			_exit(0);
		close(pipe_fd[0]);
		guest_open();
		guest_dispatch(20);
		guest_tell();
		guest_close();
		status = write(pipe_fd[1], "k", 1) == 1 ? 0 : 1;
		exit(status);
	}
	close(pipe_fd[1]);
	guest_require(wait(&status) > 0 && !status, "the daemon's parent died");
	guest_require(read(pipe_fd[0], &byte, 1) == 1 && byte == 'k', "the daemon died");
	/* The daemon closes its end of the pipe when it ends. */
	guest_require(read(pipe_fd[0], &byte, 1) == 0, "the daemon talks");
	return 0;
}

/* A child that inherits a runtime and starts a new program. */
static int family_fork_exec(char **arguments)
{
	guest_open();
	guest_dispatch(4);
	fflush(stdout);
	pid_t pid = fork();

	if (!pid) {
		execl("/proc/self/exe", arguments[0], "return", (char *)NULL);
		_exit(99);
	}
	printf("child %d\n", guest_reap(pid));
	guest_tell();
	guest_close();
	return 0;
}

const struct guest_mode guest_family[] = {
	{"fork", family_fork},
	{"fork_among_threads", family_fork_among_threads},
	{"raw_clone", family_raw_clone},
	{"exec", family_exec},
	{"vfork", family_vfork},
	{"spawn", family_spawn},
	{"daemon", family_daemon},
	{"fork_exec", family_fork_exec},
	{NULL, NULL},
};
