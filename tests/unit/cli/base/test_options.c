// SPDX-License-Identifier: MIT
/* Options of a verb: what is taken, and the one line that each mistake is answered with. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/options.h"
#include "tests/lib/child_output.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

/* ---- a verb with an option of every kind ------------------------------------------------------
 */

struct taken {
	uint64_t number, ns;
	const char *file, *mode, *socket;
	struct choice_list list;
	regex_t regex;
	bool has_regex, is_flag, is_soft, is_command;
	char **command;
};

enum { KEY_NAME = 0x100, KEY_LIST, KEY_REGEX, KEY_SECONDS, KEY_DEVICE, KEY_MODE };

static const struct argp_option verb_options[] = {
	{"number", 'n', "N", 0, "a number", 0},
	{"name", KEY_NAME, "NAME", 0, "a name", 0},
	{"flag", 'f', NULL, 0, "a flag", 0},
	{"optional", 'o', "TEXT", OPTION_ARG_OPTIONAL, "a text or none", 0},
	{"list", KEY_LIST, "LIST", 0, "numbers", 0},
	{"regex", KEY_REGEX, "REGEX", 0, "an expression", 0},
	{"seconds", KEY_SECONDS, "SECONDS", 0, "seconds", 0},
	{"device", KEY_DEVICE, "real|soft", 0, "the device", 0},
	{"mode", KEY_MODE, "MODE", 0, "the mode", 0},
	{"socket", 'S', "PATH", 0, "the socket", 0},
	{0},
};

static error_t take(int key, char *value, struct argp_state *state)
{
	struct taken *taken = state->input;

	switch (key) {
	case 'n':
		taken->number = opts_u64("number", value, 1, 100);
		return 0;
	case 'f':
		taken->is_flag = true;
		return 0;
	case 'o':
	case KEY_NAME:
		return 0;
	case KEY_LIST:
		opts_list("list", value, &taken->list);
		return 0;
	case KEY_REGEX:
		opts_regex("regex", value, &taken->has_regex, &taken->regex);
		return 0;
	case KEY_SECONDS:
		taken->ns = opts_seconds("seconds", value, 0, 10000000000u);
		return 0;
	case KEY_DEVICE:
		taken->is_soft = opts_is_soft(value);
		return 0;
	case KEY_MODE:
		taken->mode = opts_mode(value);
		return 0;
	case 'S':
		taken->socket = opts_socket(value);
		return 0;
	case ARGP_KEY_ARGS:
		taken->command = state->argv + state->next;
		return 0;
	default:
		return taken->is_command ? ARGP_ERR_UNKNOWN : opts_file(key, value, &taken->file);
	}
}

static error_t take_no_argument(int key, char *value, struct argp_state *state)
{
	return key == ARGP_KEY_ARG || key == ARGP_KEY_ARGS ? ARGP_ERR_UNKNOWN
							   : take(key, value, state);
}

#define WORDS_MAX 8

struct call {
	const char *words[WORDS_MAX];
	unsigned flags;
	int status;
	const char *text; /* part of what is printed */
};

/* Prints what was taken and differs from the default. */
static void parse(void *data)
{
	const struct call *call = data;
	struct argp argp = {.options = verb_options,
		.parser = strcmp(call->words[0], "bare") ? take : take_no_argument,
		.doc = "Does this and that."};
	struct taken taken = {.is_command = call->flags & (OPTS_RUN | OPTS_COMMAND)};
	char *words[WORDS_MAX + 1] = {NULL};
	int count = 0;

	for (; count < WORDS_MAX && call->words[count]; count++)
		words[count] = strdup(call->words[count]);
	opts_parse(&argp, count, words, call->flags, &taken);
	opts_check_variables(taken.mode);
	if (taken.number)
		printf("number %" PRIu64 ";", taken.number);
	if (taken.ns)
		printf("%" PRIu64 " ns;", taken.ns);
	if (taken.file)
		printf("file %s;", taken.file);
	if (taken.mode)
		printf("mode %s;", taken.mode);
	if (taken.socket)
		printf("socket %s;", taken.socket);
	if (taken.has_regex)
		printf("abc %s;", regexec(&taken.regex, "abc", 0, NULL, 0) ? "differs" : "matches");
	if (taken.list.count && choice_has(&taken.list, 4))
		printf("4 is in the list;");
	if (taken.command)
		printf("command %s;", taken.command[0]);
	printf("%s%s", taken.is_flag ? "flag;" : "", taken.is_soft ? "soft;" : "");
	if (taken.has_regex)
		regfree(&taken.regex);
	for (int i = 0; i < count; i++)
		free(words[i]);
}

static void check(const struct call *call)
{
	struct child_output found;

	child_output_of(parse, (void *)call, 0, &found);
	if (found.status != call->status || !strstr(found.text, call->text))
		fail_msg("%s %s %s: status %d and '%s', not %d and '%s'", call->words[0],
			call->words[1] ? call->words[1] : "", call->words[2] ? call->words[2] : "",
			found.status, found.text, call->status, call->text);
}

#define CHECK_EACH(calls)                                                                          \
	for (size_t i = 0; i < sizeof(calls) / sizeof(*(calls)); i++)                              \
	check((calls) + i)

TEST_CASE(good_options_are_taken_however_they_are_written)
{
	static const struct call calls[] = {
		{{"verb"}, 0, 0, ""},
		{{"verb", "--number=7", "a.db"}, 0, 0, "number 7;file a.db;"},
		{{"verb", "--num", "100"}, 0, 0, "number 100;"},
		{{"verb", "-fn7"}, 0, 0, "number 7;flag;"},
		{{"verb", "-f", "-n", "7", "-o", "a"}, 0, 0, "number 7;file a;flag;"},
		{{"verb", "-ox", "--optional", "-"}, 0, 0, "file -;"},
		{{"verb", "--", "-x"}, 0, 0, "file -x;"},
		{{"verb", "--device=soft", "--mode=full"}, 0, 0, "mode full;soft;"},
		{{"verb", "--seconds=1.5", "--list=0,3-5"}, 0, 0,
			"1500000000 ns;4 is in the list;"},
		{{"verb", "--regex=x", "--regex=^a.c$"}, 0, 0, "abc matches;"},
		{{"verb", "-S", "/s"}, 0, 0, "socket /s;"},
		{{"run", "-n", "7", "cmd", "--number=0"}, OPTS_RUN, 0, "number 7;command cmd;"},
		{{"env", "--", "-x"}, OPTS_COMMAND, 0, "command -x;"},
		{{"verb", "-w", "--color=never", "-n3"}, OPTS_TABLE, 0, "number 3;"},
	};

	CHECK_EACH(calls);
}

TEST_CASE(a_mistake_ends_the_verb_with_one_line_that_names_it)
{
	static const struct call calls[] = {
		{{"verb", "--numbr", "7"}, 0, CMD_USAGE,
			"rtl: verb: unknown option --numbr; did you mean --number?\n"},
		{{"verb", "--zzzzzzzz=1"}, 0, CMD_USAGE,
			"unknown option --zzzzzzzz; see rtl verb --help\n"},
		{{"verb", "--n=1"}, 0, CMD_USAGE, "option --n is ambiguous\n"},
		{{"verb", "--flag=1"}, 0, CMD_USAGE, "option --flag takes no value\n"},
		{{"verb", "--number"}, 0, CMD_USAGE, "option --number needs N\n"},
		{{"verb", "-fn"}, 0, CMD_USAGE, "option -n needs N\n"},
		{{"verb", "-fx"}, 0, CMD_USAGE, "unknown option -x; see rtl verb --help\n"},
		{{"verb", "a", "b"}, 0, CMD_USAGE, "one FILE or SESSION at a time\n"},
		{{"verb", ""}, 0, CMD_USAGE, "the name of FILE or SESSION is empty\n"},
		{{"bare", "a"}, 0, CMD_USAGE, "unexpected argument; see rtl bare --help\n"},
		{{"verb", "-n101"}, 0, CMD_USAGE, "--number 101: not a number from 1 to 100\n"},
		{{"verb", "-n0"}, 0, CMD_USAGE, "--number 0: not a number"},
		{{"verb", "-n+1"}, 0, CMD_USAGE, "--number +1: not a number"},
		{{"verb", "-n1x"}, 0, CMD_USAGE, "--number 1x: not a number"},
		{{"verb", "-n18446744073709551617"}, 0, CMD_USAGE, "not a number from 1 to 100\n"},
		{{"verb", "--device=hard"}, 0, CMD_USAGE, "--device=hard: not real or soft\n"},
		{{"verb", "--mode=fast"}, 0, CMD_USAGE, "--mode fast: none of lite, standard, "},
		{{"verb", "--mode="}, 0, CMD_USAGE, "--mode : none of lite"},
		{{"verb", "--seconds=11"}, 0, CMD_USAGE,
			"--seconds 11: not seconds from 0 to 10\n"},
		{{"verb", "--seconds=1e1"}, 0, CMD_USAGE, "--seconds 1e1: not seconds"},
		{{"verb", "--seconds=."}, 0, CMD_USAGE, "--seconds .: not seconds"},
		{{"verb", "--list=3-"}, 0, CMD_USAGE,
			"--list=3-: not a list of numbers, as in 0,3-5\n"},
		{{"verb", "--regex=("}, 0, CMD_USAGE, "--regex=(: "},
		{{"verb", "--socket="}, 0, CMD_USAGE, "--socket: the path is empty\n"},
		{{"verb", "--color=blue"}, OPTS_TABLE, CMD_USAGE,
			"--color=blue: not auto, always or never\n"},
		{{"verb", "--color=always"}, 0, CMD_USAGE, "unknown option --color"},
		{{"run", "-n0"}, OPTS_RUN, CMD_RUN_FAILED, "rtl: run: --number 0: not a number"},
	};

	CHECK_EACH(calls);
}

TEST_CASE(help_is_printed_wherever_it_is_asked_for)
{
	static const struct call calls[] = {
		{{"verb", "--help"}, 0, 0, "Usage: rtl verb"},
		{{"verb", "-h"}, 0, 0, "Does this and that."},
		{{"verb", "-fh", "--number=1000"}, 0, 0, "--number=N"},
		{{"verb", "--hel"}, OPTS_TABLE, 0, "--color=auto|always|never"},
		{{"run", "--help"}, OPTS_RUN, 0, "-h, --help"},
	};

	CHECK_EACH(calls);
}

TEST_CASE(a_variable_that_the_job_would_inherit_is_checked)
{
	static const struct call bad = {{"verb"}, 0, CMD_USAGE,
		"RTL_MODE=fast is not lite, standard, full, hip, barriers, all or off; correct or "
		"unset it\n"};
	/* --mode stands over it. */
	static const struct call good = {{"verb", "--mode=lite"}, 0, 0, "mode lite;"};

	setenv("RTL_MODE", "fast", 1);
	check(&bad);
	check(&good);
	unsetenv("RTL_MODE");
}

/* ---- rtl.conf ---------------------------------------------------------------------------------
 */

static char folder[] = "/tmp/rtl-options-XXXXXX";

/* Makes @text the user's rtl.conf. */
static void configure(const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/rtl/rtl.conf", folder);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

TEST_CASE(settings_come_before_the_options_of_the_command_line)
{
	static const struct call calls[] = {
		{{"stat"}, OPTS_CONFIG, 0, "number 5;flag;"},
		{{"stat", "-n6"}, OPTS_CONFIG, 0, "number 6;flag;"},
		{{"stat", "-ffn6"}, OPTS_CONFIG, 0, "number 6;flag;"},
		{{"run", "cmd"}, OPTS_CONFIG | OPTS_RUN, 0, "mode full;command cmd;"},
		{{"trace", "cmd"}, OPTS_CONFIG | OPTS_RUN, 0, "mode full;command cmd;"},
		{{"stat"}, 0, 0, ""},
	};
	static const struct call over = {{"stat"}, OPTS_CONFIG, 0, "flag;"};
	struct child_output found;

	configure("[run]\nmode = full\nflag = no\n[stat]\nnumber = 5\nflag = yes\n");
	CHECK_EACH(calls);
	/* So does the variable of the option. */
	setenv("RTL_NUMBER", "9", 1);
	child_output_of(parse, (void *)&over, 0, &found);
	assert_string_equal(found.text, "flag;");
	unsetenv("RTL_NUMBER");
}

TEST_CASE(a_wrong_setting_is_named_by_its_line)
{
	static const struct {
		const char *text, *answer;
	} cases[] = {
		{"[stat]\nnumber = 500\n",
			"rtl.conf:2: --number 500: not a number from 1 to 100\n"},
		{"[stat]\n\nnum = 5\n",
			"rtl.conf:3: [stat] has no key num; they are the long options"},
		{"[stat]\nflag = maybe\n", "rtl.conf:2: flag is yes or no, not maybe\n"},
		{"number = 5\n", "rtl.conf:1: it stands before any [section]\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct call call = {{"stat"}, OPTS_CONFIG, CMD_USAGE, cases[i].answer};

		configure(cases[i].text);
		check(&call);
	}
}

static void check_settings(void *data)
{
	struct argp argp = {.options = verb_options, .parser = take};
	struct taken taken = {0};

	(void)data;
	printf("%s", opts_check_settings(&argp, "stat", OPTS_CONFIG, &taken) ? "good" : "bad");
}

TEST_CASE(settings_are_checked_without_running_their_verb)
{
	struct child_output found;

	configure("[stat]\nnumber = 5\n");
	child_output_of(check_settings, NULL, 0, &found);
	assert_string_equal(found.text, "good");
	configure("[stat]\nnumber = 0\n");
	child_output_of(check_settings, NULL, 0, &found);
	assert_int_equal(found.status, 0);
	assert_non_null(strstr(found.text, "rtl.conf:2: --number 0: not a number"));
	assert_string_equal(found.text + strlen(found.text) - 3, "bad");
}

static int make_folder(void **state)
{
	char path[128];

	(void)state;
	if (!mkdtemp(folder) || setenv("XDG_CONFIG_HOME", folder, 1))
		return -1;
	snprintf(path, sizeof(path), "%s/rtl", folder);
	return mkdir(path, 0700);
}

static int remove_folder(void **state)
{
	(void)state;
	return folder_remove(folder);
}

int main(void)
{
	return test_run(make_folder, remove_folder);
}
