// SPDX-License-Identifier: MIT
/* The control of a session, written and read again, and read when another program wrote it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/loop/sessions/control_memory.h"
#include "proto/base/limits.h"

static void what_was_told_is_told_again(void **state)
{
	const struct control told[] = {
		{.seq = 17, .record = true, .until_ns = UINT64_MAX},
		{.seq = 18, .ranks = {2, {{0, 0}, {3, UINT32_MAX - 1}}}},
		{.seq = UINT64_MAX, .record = true, .ranks = {1, {{1, 2}}}},
	};
	struct control again[CONTROLS_PER_SESSION_MAX];
	char *text = control_memory_write(told, 3);

	(void)state;
	assert_string_equal(text, "start 17 18446744073709551615\n"
				  "stop 18 0 0-0,3-4294967294\n"
				  "start 18446744073709551615 0 1-2\n");
	memset(again, 0xee, sizeof(again));
	assert_int_equal(control_memory_read(text, again), 3);
	assert_memory_equal(again, told, sizeof(told));
	free(text);
	text = control_memory_write(NULL, 0);
	assert_int_equal(control_memory_read(text, again), 0);
	free(text);
}

static void no_more_than_there_may_be(void **state)
{
	struct control again[CONTROLS_PER_SESSION_MAX];
	char text[4096] = "";

	(void)state;
	for (unsigned i = 0; i < CONTROLS_PER_SESSION_MAX + 9; i++)
		strcat(text, "start 1 0\n");
	assert_int_equal(control_memory_read(text, again), CONTROLS_PER_SESSION_MAX);
}

static void what_is_none_of_ours_is_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		"start",
		"start 1",
		"pause 1 0",
		"start 1 0\nstop x 0\n",
		"start 1 0 a-b",
		"start 1 0,",
		"startstart 1 0",
	};
	struct control again[CONTROLS_PER_SESSION_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(control_memory_read(texts[i], again), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_told_is_told_again),
		cmocka_unit_test(no_more_than_there_may_be),
		cmocka_unit_test(what_is_none_of_ours_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
