/* SPDX-License-Identifier: MIT */
/* Whether a process lives, where /proc tells and where it does not; and its exit status if another
 * thread reaps it meanwhile. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectord/loop/sessions/exit_status.h"
#include "tests/lib/test.h"

/* Enough for the parent to be quicker than one look and slower than the other, some times. */
#define ROUNDS	    400
#define EXIT_STATUS 7

static bool lives(pid_t pid, uint64_t start_time)
{
	int pidfd = -1;
	bool is_alive = exit_status_find_living(pid, start_time, &pidfd);

	assert_true(is_alive == (pidfd >= 0)); /* every kernel that we test on has them */
	if (pidfd >= 0)
		close(pidfd);
	return is_alive;
}

static pid_t reaped_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

TEST_CASE(the_start_time_tells_processes_apart)
{
	uint64_t start_time = exit_status_start_time(getpid());

	assert_true(start_time > 0);
	assert_true(lives(getpid(), start_time));
	assert_false(lives(getpid(), start_time + 1));
	assert_false(lives(reaped_child(), start_time));
}

/* In a folder without a /proc, as with hidepid. Bit 0: the live process counts as live, bit 1: the
 * dead one does not. */
static int look_from_elsewhere(const char *folder, pid_t alive, pid_t gone)
{
	int wrong = 0;

	if (geteuid() && unshare(CLONE_NEWUSER) < 0)
		return 4;
	if (chroot(folder) < 0 || chdir("/") < 0 || exit_status_start_time(alive))
		return 8;
	if (!lives(alive, 4242))
		wrong |= 1;
	if (lives(gone, 4242))
		wrong |= 2;
	return wrong;
}

TEST_CASE(the_pid_must_do_where_proc_hides_it)
{
	char folder[] = "/tmp/rtl-exit-status-XXXXXX";
	pid_t self = getpid(), gone = reaped_child(), child;
	int status;

	assert_non_null(mkdtemp(folder));
	child = fork();
	if (!child)
		_exit(look_from_elsewhere(folder, self, gone));
	assert_int_equal(waitpid(child, &status, 0), child);
	rmdir(folder);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void *reap(void *data)
{
	pid_t pid = *(pid_t *)data;

	(void)waitpid(pid, NULL, 0);
	return NULL;
}

/* A child that ends when its pipe does, while a thread waits to reap it. */
static int ask_beside_a_reaper(void)
{
	struct pollfd death = {.fd = -1, .events = POLLIN};
	int end[2], status = 0, r;
	uint64_t start_time;
	pthread_t reaper;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(end), 0);
	pid = fork();
	if (!pid) {
		close(end[1]);
		(void)!read(end[0], &byte, 1);
		_exit(EXIT_STATUS);
	}
	death.fd = exit_status_open_pidfd(pid);
	start_time = exit_status_start_time(pid);
	assert_true(death.fd >= 0);
	assert_int_equal(pthread_create(&reaper, NULL, reap, &pid), 0);
	close(end[1]);
	assert_int_equal(poll(&death, 1, 300000), 1);
	r = exit_status_read(death.fd, pid, start_time, &status);
	pthread_join(reaper, NULL);
	if (r == 0)
		assert_int_equal(WEXITSTATUS(status), EXIT_STATUS);
	/* A kernel that does not keep it has nothing more to say. */
	else if (exit_status_read(death.fd, pid, start_time, &status) == 0)
		fail_msg("known now, and not when it was asked for: %d", r);
	close(death.fd);
	close(end[0]);
	return r;
}

TEST_CASE(a_child_that_is_reaped_meanwhile_is_not_asked_again)
{
	for (int i = 0; i < ROUNDS; i++)
		assert_int_not_equal(ask_beside_a_reaper(), -EAGAIN);
}
