// SPDX-License-Identifier: MIT
/* What rtl says on stderr: messages, the verdict in colour, and the bar of a long task. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/color.h"
#include "cli/base/command.h"
#include "cli/base/memory.h"
#include "cli/base/message.h"
#include "cli/base/progress.h"
#include "cli/base/user_name.h"
#include "tests/lib/child_output.h"
#include "tests/lib/test.h"

#define COLUMNS 40u

static void say_text(void *text)
{
	say("%s", (const char *)text);
}

TEST_CASE(a_message_is_one_line_without_control_bytes)
{
	static const char *const texts[][2] = {
		{"a.db: no such file", "rtl: a.db: no such file\n"},
		{"a\033[31m\nb", "rtl: a\\x1b[31m\\nb\n"},
		{"", "rtl: \n"},
	};
	struct child_output found;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		child_output_of(say_text, (void *)texts[i][0], 0, &found);
		assert_string_equal(found.text, texts[i][1]);
	}
}

TEST_CASE(a_long_message_is_broken_between_words_on_a_terminal)
{
	static char text[] = "the first words of a message that is longer than a terminal is wide";
	struct child_output found;
	char whole[256] = "";

	child_output_of(say_text, text, COLUMNS, &found);
	for (char *line = strtok(found.text, "\n"); line; line = strtok(NULL, "\n")) {
		assert_in_range(strlen(line), 1, COLUMNS);
		line += strspn(line, " ");
		snprintf(whole + strlen(whole), sizeof(whole) - strlen(whole), "%s%s",
			whole[0] ? " " : "", line);
	}
	assert_string_equal(whole,
		"rtl: the first words of a message that is longer than a terminal "
		"is wide");
	child_output_of(say_text, (char[]){"short"}, COLUMNS, &found);
	assert_string_equal(found.text, "rtl: short\n");
}

TEST_CASE(the_nearest_name_is_what_was_meant)
{
	static const char *const names[] = {"summary", "stat", "timeline", "tree", "ls"};
	static const struct {
		const char *word, *nearest;
	} cases[] = {
		{"sumary", "summary"},	 /* a letter is missing */
		{"summarry", "summary"}, /* one is too many */
		{"sttas", NULL},	 /* two mistakes in a short word */
		{"satt", "stat"},	 /* neighbours are swapped */
		{"timelime", "timeline"},
		{"time", "timeline"}, /* a beginning */
		{"t", NULL},
		{"ls", "ls"},
		{"xx", NULL}, /* as far away as the whole name */
		{"collectives", NULL},
		{"a-word-of-more-than-64-letters-a-word-of-more-than-64-letters-more-a", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *nearest = say_nearest(cases[i].word, names, 5);

		if (!nearest != !cases[i].nearest ||
			(nearest && strcmp(nearest, cases[i].nearest) != 0))
			fail_msg("%s: %s", cases[i].word, nearest ? nearest : "none");
	}
}

static void put_verdict(const char *line, char ret[256])
{
	char *text;
	FILE *to = xmemstream(&text);

	color_put_verdict(to, line);
	xfclose(to);
	snprintf(ret, 256, "%s", text);
	free(text);
}

TEST_CASE(the_word_of_the_verdict_is_coloured_where_colour_is_wanted)
{
	static const char *const lines[][2] = {
		{"complete: 5 dispatched", "\033[32mcomplete\033[0m: 5 dispatched\n"},
		{"SIMULATED RUNNING: 5", "SIMULATED \033[36mRUNNING\033[0m: 5\n"},
		{"INCOMPLETE: 5", "\033[1;31mINCOMPLETE\033[0m: 5\n"},
		{"imported: 5", "imported: 5\n"},
	};
	char found[256], plain[256];

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		color_choose(COLOR_ALWAYS);
		put_verdict(lines[i][0], found);
		assert_string_equal(found, lines[i][1]);
		snprintf(plain, sizeof(plain), "%s\n", lines[i][0]);
		color_choose(COLOR_NEVER);
		put_verdict(lines[i][0], found);
		assert_string_equal(found, plain);
		/* This is no terminal. */
		color_choose(COLOR_AUTO);
		put_verdict(lines[i][0], found);
		assert_string_equal(found, plain);
	}
}

static void export_half(void *data)
{
	(void)data;
	progress_begin("export");
	progress_set(1, 2);
	progress_end();
	progress_end();
}

TEST_CASE(a_bar_is_drawn_on_a_terminal_alone_and_leaves_an_empty_line)
{
	static const char end[] = "\r\033[K";
	struct child_output found;

	setenv("TERM", "xterm", 1);
	child_output_of(export_half, NULL, COLUMNS, &found);
	assert_int_equal(strncmp(found.text, "\rrtl: export [   ", 17), 0);
	assert_string_equal(found.text + strlen(found.text) - strlen(end), end);
	child_output_of(export_half, NULL, 0, &found);
	assert_string_equal(found.text, "");
	setenv("TERM", "dumb", 1);
	child_output_of(export_half, NULL, COLUMNS, &found);
	assert_string_equal(found.text, "");
}

TEST_CASE(a_user_without_a_name_has_its_number)
{
	char name[USER_NAME_BYTES];

	assert_string_equal(user_name(0, name), "root");
	assert_string_equal(user_name(4123456789u, name), "4123456789");
}

static void remove_unfinished(void)
{
	fputs("removed\n", stderr);
}

static void run_out_of_memory(void *has_duty)
{
	memory_on_failure(has_duty ? remove_unfinished : NULL);
	memory_fail();
}

TEST_CASE(an_answer_without_memory_ends_after_its_last_duty)
{
	struct child_output found;

	child_output_of(run_out_of_memory, &found, 0, &found);
	assert_int_equal(found.status, CMD_BAD_INPUT);
	assert_string_equal(found.text, "rtl: out of memory\nremoved\n");
	child_output_of(run_out_of_memory, NULL, 0, &found);
	assert_int_equal(found.status, CMD_BAD_INPUT);
	assert_string_equal(found.text, "rtl: out of memory\n");
}
