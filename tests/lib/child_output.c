/* SPDX-License-Identifier: MIT */
#include "tests/lib/child_output.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/lib/test.h"

/* @ends: what the parent reads, what the child writes. */
static void open_terminal(unsigned columns, int ends[2])
{
	struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
	struct termios raw;

	ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(ends[0] >= 0);
	assert_int_equal(grantpt(ends[0]), 0);
	assert_int_equal(unlockpt(ends[0]), 0);
	ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(ends[1] >= 0);
	assert_int_equal(tcgetattr(ends[1], &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(ends[1], TCSANOW, &raw), 0);
	assert_int_equal(ioctl(ends[1], TIOCSWINSZ, &size), 0);
}

static void be_child(void (*body)(void *data), void *data, int to)
{
	if (dup2(to, STDOUT_FILENO) < 0 || dup2(to, STDERR_FILENO) < 0)
		_exit(99);
	setvbuf(stdout, NULL, _IONBF, 0);
	body(data);
	exit(0);
}

/* A terminal without a writer is an error to its reader. */
static void read_all(int from, struct child_output *ret)
{
	char rest[512];
	size_t bytes = 0;
	ssize_t n;

	while (bytes + 1 < sizeof(ret->text) &&
		(n = read(from, ret->text + bytes, sizeof(ret->text) - 1 - bytes)) > 0)
		bytes += (size_t)n;
	ret->text[bytes] = '\0';
	while (read(from, rest, sizeof(rest)) > 0)
		;
}

void child_output_of(
	void (*body)(void *data), void *data, unsigned columns, struct child_output *ret)
{
	int ends[2], status;
	pid_t pid;

	if (columns)
		open_terminal(columns, ends);
	else
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		be_child(body, data, ends[1]);
	close(ends[1]);
	read_all(ends[0], ret);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	ret->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
