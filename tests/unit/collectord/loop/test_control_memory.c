// SPDX-License-Identifier: MIT
/* The control of a session, written and read again, and read when another program wrote it. */
#include <stdlib.h>
#include <string.h>

#include "collectord/loop/sessions/control_memory.h"
#include "proto/base/limits.h"
#include "tests/lib/test.h"

TEST_CASE(what_was_told_is_told_again)
{
	const struct control told[] = {
		{.seq = 17, .record = true, .until_ns = UINT64_MAX},
		{.seq = 18, .ranks = {2, {{0, 0}, {3, UINT32_MAX - 1}}}},
		{.seq = UINT64_MAX, .record = true, .ranks = {1, {{1, 2}}}},
	};
	struct control again[CONTROLS_PER_SESSION_MAX];
	char *text = control_memory_write(told, 3);

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

TEST_CASE(no_more_than_there_may_be)
{
	struct control again[CONTROLS_PER_SESSION_MAX];
	char text[4096] = "";

	for (unsigned i = 0; i < CONTROLS_PER_SESSION_MAX + 9; i++)
		strcat(text, "start 1 0\n");
	assert_int_equal(control_memory_read(text, again), CONTROLS_PER_SESSION_MAX);
}

TEST_CASE(what_is_none_of_ours_is_nothing)
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

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(control_memory_read(texts[i], again), 0);
}
