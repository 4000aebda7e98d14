// SPDX-License-Identifier: MIT
#include <poll.h>
#include <pty.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/message.h"
#include "cli/base/progress.h"
#include "tests/lib/test.h"

#define ROWS	    1000000u
#define DEADLINE_MS 60000

struct screen {
	int stderr_copy, terminal;
};

static void screen_begin(struct screen *screen)
{
	int other;

	assert_int_equal(setenv("TERM", "xterm", 1), 0);
	assert_int_equal(openpty(&screen->terminal, &other, NULL, NULL, NULL), 0);
	screen->stderr_copy = dup(STDERR_FILENO);
	assert_int_equal(dup2(other, STDERR_FILENO), STDERR_FILENO);
	close(other);
}

static void screen_end(struct screen *screen)
{
	assert_int_equal(dup2(screen->stderr_copy, STDERR_FILENO), STDERR_FILENO);
	close(screen->stderr_copy);
	close(screen->terminal);
}

static bool has_output(const struct screen *screen, int timeout_ms)
{
	struct pollfd entry = {.fd = screen->terminal, .events = POLLIN};

	return poll(&entry, 1, timeout_ms) == 1;
}

/* Until @end stands at the end of what was written, all of which is in @ret. */
static void read_until(const struct screen *screen, const char *end, char *ret, size_t bytes)
{
	size_t at = 0;

	do {
		ssize_t got;

		assert_true(has_output(screen, DEADLINE_MS));
		got = read(screen->terminal, ret + at, bytes - at - 1);
		assert_true(got > 0);
		at += (size_t)got;
		ret[at] = '\0';
	} while (at < strlen(end) || strcmp(ret + at - strlen(end), end) != 0);
}

TEST_CASE(a_bar_by_rows_is_drawn_after_a_while_and_is_wiped_before_a_message)
{
	struct screen screen;
	char text[4096];

	screen_begin(&screen);
	progress_begin_rows("timeline", ROWS);
	progress_add(ROWS / 2);
	for (int ms = 0; ms < DEADLINE_MS && !has_output(&screen, 1); ms++)
		progress_add(0);
	read_until(&screen, " %\033[K", text, sizeof(text));
	assert_non_null(strstr(text, "rtl: timeline [###############               ]  50 %"));
	say("done");
	read_until(&screen, "rtl: done\r\n", text, sizeof(text));
	assert_memory_equal(text, "\r\033[K", 4);
	progress_add(ROWS);
	progress_end();
	assert_false(has_output(&screen, 0));
	screen_end(&screen);
}

TEST_CASE(a_bar_is_wiped_where_a_task_without_one_begins)
{
	struct screen screen;
	char text[4096];

	screen_begin(&screen);
	progress_begin("report");
	read_until(&screen, " %\033[K", text, sizeof(text));
	progress_begin_rows("diff", 1000);
	read_until(&screen, "\r\033[K", text, sizeof(text));
	progress_begin("report");
	read_until(&screen, " %\033[K", text, sizeof(text));
	progress_begin("diff");
	read_until(&screen, " %\033[K", text, sizeof(text));
	assert_memory_equal(text, "\r\033[K", 4);
	progress_end();
	screen_end(&screen);
}

TEST_CASE(a_few_rows_and_a_terminal_without_escape_sequences_have_no_bar)
{
	struct screen screen;

	screen_begin(&screen);
	progress_begin_rows("timeline", 1000);
	progress_add(1000);
	progress_end();
	assert_int_equal(setenv("TERM", "dumb", 1), 0);
	progress_begin("report");
	progress_set(1, 2);
	progress_end();
	assert_false(has_output(&screen, 0));
	screen_end(&screen);
}
