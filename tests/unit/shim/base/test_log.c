// SPDX-License-Identifier: MIT
/* Lines of the shim on the program's stderr: few, whole, and never at the program's cost. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "tests/lib/child_output.h"
#include "tests/lib/test.h"

static void tell_twice(void *debug)
{
	slog_init(debug ? 1 : 0);
	errno = EDOM;
	slog_tell("the first %d", 1);
	slog_tell("the second");
	slog_debug(1, "a detail");
	slog_debug(2, "another");
	printf("%s", errno == EDOM ? "errno is kept" : "errno is changed");
}

TEST_CASE(a_process_has_one_line_unless_more_is_asked_for)
{
	struct child_output found;

	child_output_of(tell_twice, NULL, 0, &found);
	assert_string_equal(found.text, "rtl: the first 1\nerrno is kept");
	child_output_of(tell_twice, &found, 0, &found);
	assert_string_equal(
		found.text, "rtl: the first 1\nrtl: the second\nrtl: a detail\nerrno is kept");
}

static void tell_much(void *data)
{
	char text[2000];

	(void)data;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	slog_tell("%s", text);
}

TEST_CASE(a_long_line_is_cut_and_stays_a_line)
{
	struct child_output found;

	child_output_of(tell_much, NULL, 0, &found);
	assert_int_equal(strlen(found.text), 511);
	assert_string_equal(found.text + 509, "x\n");
	assert_int_equal(strspn(found.text + 5, "x"), 505);
}

/* What becomes of stderr before the line is written. */
enum { NO_READER, IS_FULL, IS_CLOSED, WAYS };

static void tell_in_vain(void *data)
{
	int ends[2], way = *(const int *)data;
	char page[4096] = {0};

	if (pipe(ends) || dup2(ends[1], STDERR_FILENO) < 0)
		_exit(99);
	if (way == NO_READER)
		close(ends[0]);
	(void)fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
	while (way == IS_FULL && write(STDERR_FILENO, page, sizeof(page)) > 0)
		;
	(void)fcntl(STDERR_FILENO, F_SETFL, 0);
	if (way == IS_CLOSED)
		close(STDERR_FILENO);
	slog_tell("a line that is lost");
	printf("goes on");
}

TEST_CASE(a_line_that_cannot_be_written_costs_the_program_nothing)
{
	struct child_output found;

	for (int way = 0; way < WAYS; way++) {
		child_output_of(tell_in_vain, &way, 0, &found);
		assert_string_equal(found.text, "goes on");
		assert_int_equal(found.status, 0);
	}
}

static void ignore_and_tell(void *data)
{
	(void)data;
	signal(SIGPIPE, SIG_IGN);
	tell_in_vain(&(int){NO_READER});
}

TEST_CASE(a_program_that_ignores_the_signal_of_a_broken_pipe_goes_on_too)
{
	struct child_output found;

	child_output_of(ignore_and_tell, NULL, 0, &found);
	assert_string_equal(found.text, "goes on");
}
