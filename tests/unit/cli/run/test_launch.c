// SPDX-License-Identifier: MIT
/*
 * What rtl run takes from its command line, its environment and its launcher before it starts the
 * command, and the signals that come meanwhile.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/run/job/launcher.h"
#include "cli/run/job/options.h"
#include "cli/run/job/selection_options.h"
#include "cli/run/job/signals.h"
#include "cli/run/output/output.h"
#include "tests/lib/child_output.h"
#include "tests/lib/test.h"

/* ---- the launch -------------------------------------------------------------------------------
 */

#define ENTRIES_MAX 6

/* Detects in an environment of @entries alone. */
static void detect(const char *const entries[ENTRIES_MAX], const char *name, struct run_launch *ret)
{
	char *environment[ENTRIES_MAX + 1] = {NULL}, **ours = environ;

	for (size_t i = 0; i < ENTRIES_MAX && entries[i]; i++)
		environment[i] = (char *)entries[i];
	environ = environment;
	*ret = (struct run_launch){0};
	run_launch_detect(ret, "/bin/train.py", name);
	environ = ours;
}

/* Replaces LAUNCHER in @pattern by the pid and start of that process, SELF by our pid. */
static void expand(const char *pattern, const struct run_launch *launch, char ret[LABEL_BYTES_MAX])
{
	const char *at = strstr(pattern, "LAUNCHER"), *self = strstr(pattern, "SELF");

	if (at)
		snprintf(ret, LABEL_BYTES_MAX, "%.*s%d-%llu", (int)(at - pattern), pattern,
			(int)launch->launcher, launch->launcher_start);
	else if (self)
		snprintf(ret, LABEL_BYTES_MAX, "%.*s%d", (int)(self - pattern), pattern,
			(int)getpid());
	else
		snprintf(ret, LABEL_BYTES_MAX, "%s", pattern);
}

TEST_CASE(a_launch_is_named_by_its_launcher_or_by_the_process_of_it)
{
	static const struct {
		const char *claim, *entries[ENTRIES_MAX], *name;
		bool is_shared, has_launcher;
		const char *job, *service_job;
	} cases[] = {
		{"one process", {NULL}, NULL, false, false, "train.py-SELF", "train.py-SELF"},
		{"one process with a name", {NULL}, "mine", false, false, "mine", "mine"},
		{"a launcher with a key", {"OMPI_COMM_WORLD_RANK=0", "PMIX_NAMESPACE=ns"}, NULL,
			true, true, "ns", "ns"},
		{"a name stands over the key", {"OMPI_COMM_WORLD_RANK=0", "PMIX_NAMESPACE=ns"},
			"mine", true, true, "mine", "mine"},
		{"a launcher without a key", {"PMI_RANK=1", "PMI_SIZE=2"}, NULL, true, true,
			"hydra-LAUNCHER", "hydra-LAUNCHER"},
		{"a key that comes again",
			{"RANK=0", "LOCAL_RANK=0", "WORLD_SIZE=2", "MASTER_ADDR=h",
				"MASTER_PORT=1"},
			NULL, true, true, "h.1", "h.1-LAUNCHER"},
		{"a rendezvous without a rank", {"MASTER_ADDR=h", "MASTER_PORT=1"}, NULL, false,
			false, "train.py-SELF", "train.py-SELF"},
		{"ranks that the user numbers", {"RTL_RANK=1", "RTL_JOB_ID=job"}, NULL, true, false,
			"job", "job"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char job[LABEL_BYTES_MAX], service_job[LABEL_BYTES_MAX];
		struct run_launch launch;

		detect(cases[i].entries, cases[i].name, &launch);
		expand(cases[i].job, &launch, job);
		expand(cases[i].service_job, &launch, service_job);
		if (strcmp(launch.job, job) != 0 || strcmp(launch.service_job, service_job) != 0)
			fail_msg("%s: %s and %s", cases[i].claim, launch.job, launch.service_job);
		if (launch.is_shared != cases[i].is_shared ||
			(launch.launcher > 0) != cases[i].has_launcher ||
			(launch.launcher_start > 0) != cases[i].has_launcher ||
			launch.is_named != (cases[i].name != NULL))
			fail_msg("%s: launcher %d", cases[i].claim, (int)launch.launcher);
	}
}

/* The pid of what ranks numbered by their user have in common is the shell's. */
TEST_CASE(ranks_of_a_shell_without_a_key_are_named_by_their_parent)
{
	static const char *const entries[ENTRIES_MAX] = {"RTL_RANK=1"};
	struct run_launch launch;
	char begin[64];

	detect(entries, NULL, &launch);
	snprintf(begin, sizeof(begin), "user-%d-", (int)getppid());
	assert_int_equal(strncmp(launch.job, begin, strlen(begin)), 0);
	assert_int_equal(launch.launcher, 0);
}

/* This program again, as a rank: it starts @argument, and prints its launcher without one. */
static int be_rank(char *argument)
{
	char *arguments[] = {argument, NULL};
	struct run_launch launch = {0};
	pid_t pid;

	if (argument) {
		pid = fork();
		if (pid == 0)
			execv("/proc/self/exe", arguments);
		return pid < 0 || waitpid(pid, NULL, 0) != pid;
	}
	run_launch_detect(&launch, "train.py", NULL);
	printf("%d", (int)launch.launcher);
	return 0;
}

static void start_ranks(void *data)
{
	char outer[] = "rank", inner[] = "rank";
	char *arguments[] = {outer, inner, NULL};

	(void)data;
	setenv("PMI_RANK", "3", 1);
	execv("/proc/self/exe", arguments);
}

TEST_CASE(the_launcher_is_the_nearest_ancestor_that_is_no_part_of_a_rank)
{
	struct child_output found;

	child_output_of(start_ranks, NULL, 0, &found);
	assert_int_equal(atoi(found.text), getpid());
}

/* ---- options ----------------------------------------------------------------------------------
 */

#define WORDS_MAX 8

struct call {
	const char *words[WORDS_MAX], *variable, *value;
	int status;
	const char *text;
};

static void parse(void *data)
{
	const struct call *call = data;
	struct run_options options;
	char *words[WORDS_MAX + 1] = {NULL};
	int count = 0;

	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	unsetenv("RTL_SOCKET");
	unsetenv("RTL_OUTPUT");
	if (call->variable)
		setenv(call->variable, call->value, 1);
	for (; count < WORDS_MAX && call->words[count]; count++)
		words[count] = (char *)call->words[count];
	run_options_parse(&options, count, words);
	printf("%s%s%s%s%s%s", options.is_private ? "private;" : "",
		options.is_forced ? "forced;" : "", options.is_aside ? "aside;" : "",
		options.is_strict ? "strict;" : "", options.is_soft ? "soft;" : "",
		options.is_quiet ? "quiet;" : "");
	if (options.output)
		printf("output %s;", options.output);
	if (options.socket)
		printf("socket %s;", options.socket);
	if (options.name)
		printf("name %s;", options.name);
	if (options.mode)
		printf("mode %s;", options.mode);
	if (options.choices.text[CHOICE_RANKS])
		printf("ranks %s;", options.choices.text[CHOICE_RANKS]);
	if (options.choices.text[CHOICE_DORMANT])
		printf("dormant %s;", options.choices.text[CHOICE_DORMANT]);
	printf("command %s", options.command[0]);
}

TEST_CASE(rtl_run_takes_its_options_before_the_command_and_refuses_what_does_not_go_together)
{
	static const struct call calls[] = {
		{{"run", "a"}, NULL, NULL, 0, "command a"},
		{{"run", "-fsq", "-o", "x.db", "--", "a", "-s"}, NULL, NULL, 0,
			"forced;strict;quiet;output x.db;command a"},
		{{"trace", "--device=soft", "--mode=full", "a"}, NULL, NULL, 0,
			"aside;soft;mode full;command a"},
		{{"run", "--private", "--name=mine", "a"}, NULL, NULL, 0,
			"private;name mine;command a"},
		{{"run", "-r0-3", "--dormant", "a"}, NULL, NULL, 0,
			"ranks 0-3;dormant 1;command a"},
		{{"run", "-S", "/s", "a"}, NULL, NULL, 0, "socket /s;command a"},
		{{"run", "a"}, "RTL_OUTPUT", "x.db", 0, "output x.db;command a"},
		{{"run", "-o", "y.db", "a"}, "RTL_OUTPUT", "x.db", 0, "output y.db;command a"},
		/* A socket of the command line is no output. */
		{{"run", "-S", "/s", "a"}, "RTL_OUTPUT", "x.db", 0, "socket /s;command a"},
		{{"run"}, NULL, NULL, CMD_RUN_FAILED, "no command to run; rtl run [options] [--]"},
		{{"run", "-o", "", "a"}, NULL, NULL, CMD_RUN_FAILED, "--output: the name is empty"},
		{{"run", "-S", "/s", "-o", "x.db", "a"}, NULL, NULL, CMD_RUN_FAILED,
			"--socket names a collector, -o and --private make one: choose"},
		{{"run", "-S", "/s", "--private", "a"}, NULL, NULL, CMD_RUN_FAILED, "choose"},
		{{"run", "--ranks=", "a"}, NULL, NULL, CMD_RUN_FAILED,
			"--ranks: the value is empty"},
		{{"run", "--ranks=x", "a"}, NULL, NULL, CMD_RUN_FAILED, "--ranks "},
		{{"run", "a"}, "RTL_RANKS", "x", CMD_RUN_FAILED, "RTL_RANKS="},
		{{"run", "a"}, "RTL_DEBUG", "x", CMD_RUN_FAILED, "correct or unset it"},
		{{"run", "-C", "/nonexistent/rules", "a"}, NULL, NULL, CMD_RUN_FAILED,
			"/nonexistent/rules"},
		{{"run", "a"}, "RTL_CATEGORIES", "/nonexistent/rules", CMD_RUN_FAILED,
			"/nonexistent/rules"},
	};
	struct child_output found;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		child_output_of(parse, (void *)(calls + i), 0, &found);
		if (found.status != calls[i].status || !strstr(found.text, calls[i].text))
			fail_msg("%s: status %d and '%s'", calls[i].text, found.status, found.text);
	}
}

static void run_with_name(void *name)
{
	char verb[] = "run", option[] = "--name", command[] = "true";
	char *words[] = {verb, option, name, command, NULL};

	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	exit(cmd_run(4, words));
}

TEST_CASE(a_name_that_would_be_another_one_in_the_list_is_refused_before_the_start)
{
	char texts[][8] = {"", "a/b", ".a", "-a", "a b", "\xc3\xa9"};
	struct child_output found;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		child_output_of(run_with_name, texts[i], 0, &found);
		assert_int_equal(found.status, CMD_RUN_FAILED);
		if (!strstr(found.text, "not letters, digits, . _ and -, the first no . or -"))
			fail_msg("'%s': %s", texts[i], found.text);
	}
}

/* ---- the name of the output -------------------------------------------------------------------
 */

struct pattern {
	const char *pattern, *rank, *text;
	int status;
};

static void print_name(void *data)
{
	const struct pattern *pattern = data;
	struct run_launch launch = {.job = "job/7"};
	char path[PATH_MAX];
	int r;

	if (pattern->rank)
		launch.rank.rank = (struct rank_number){true, (uint32_t)atoi(pattern->rank)};
	setenv("PLACE", "here", 1);
	unsetenv("NOWHERE");
	r = run_output_expand(pattern->pattern, &launch, path);
	printf("%s", r ? "" : path);
	exit(r);
}

TEST_CASE(the_name_of_an_output_is_made_of_its_fields)
{
	static const struct pattern patterns[] = {
		{"x.db", NULL, "x.db", 0},
		{"%r-%q{PLACE}-100%%.db", "3", "3-here-100%.db", 0},
		{"%r.db", NULL, "%r: no launcher gave this rtl run a rank; use %p", CMD_RUN_FAILED},
		{"%q{NOWHERE}", NULL, "%q{NOWHERE}: this environment variable is not set",
			CMD_RUN_FAILED},
		{"%q", NULL, "%q needs the name of a variable in braces", CMD_RUN_FAILED},
		{"%q{}", NULL, "%q needs the name of a variable in braces", CMD_RUN_FAILED},
		{"%q{PLACE", NULL, "%q needs the name of a variable in braces", CMD_RUN_FAILED},
		{"%x.db", NULL, "%x is unknown; known are %p %h %j %r %q{VARIABLE}",
			CMD_RUN_FAILED},
		/* A character of several bytes is whole in the message. */
		{"%\xc3\xa9.db", NULL, "%\xc3\xa9 is unknown", CMD_RUN_FAILED},
		{"50%", NULL, "% is unknown", CMD_RUN_FAILED},
	};
	struct child_output found;
	struct pattern long_one = {.text = "the path is too long", .status = CMD_RUN_FAILED};
	char long_text[PATH_MAX + 2];

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		child_output_of(print_name, (void *)(patterns + i), 0, &found);
		if (found.status != patterns[i].status || !strstr(found.text, patterns[i].text))
			fail_msg("%s: status %d and '%s'", patterns[i].pattern, found.status,
				found.text);
	}
	memset(long_text, 'x', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	long_one.pattern = long_text;
	child_output_of(print_name, &long_one, 0, &found);
	assert_int_equal(found.status, CMD_RUN_FAILED);
	assert_non_null(strstr(found.text, long_one.text));
}

TEST_CASE(the_pid_the_host_and_the_job_in_a_name_are_plain)
{
	struct run_launch launch = {.job = "job/7"};
	char path[PATH_MAX], pid[32];

	assert_int_equal(run_output_expand("%p", &launch, path), 0);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	assert_string_equal(path, pid);
	assert_int_equal(run_output_expand("%h.%j", &launch, path), 0);
	assert_null(strchr(path, '/'));
	assert_non_null(strchr(path, '.'));
}

/* ---- signals ----------------------------------------------------------------------------------
 */

static void hold(void *data)
{
	sigset_t ends;
	int number;

	(void)data;
	signal(SIGHUP, SIG_IGN);
	run_hold();
	run_hold();
	raise(SIGHUP);
	printf("%d ", run_hold_pending());
	raise(SIGTERM);
	printf("%d ", run_hold_pending() == SIGTERM);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	(void)sigwait(&ends, &number);
	printf("%d ", run_hold_pending());
	run_hold_release();
	printf("released ");
	run_hold();
	raise(SIGINT);
	run_hold_release();
	printf("never");
}

TEST_CASE(a_signal_that_ends_a_program_is_held_until_the_command_is_started)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct child_output found;

	child_output_of(hold, NULL, 0, &found);
	assert_string_equal(found.text, "0 1 0 released ");
	assert_int_equal(found.status, 128 + SIGINT);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		assert_true(run_hold_is_end(ends[i]));
	assert_false(run_hold_is_end(SIGUSR1) || run_hold_is_end(SIGKILL));
}

int main(int argc, char **argv)
{
	if (!strcmp(argv[0], "rank"))
		return be_rank(argc > 1 ? argv[1] : NULL);
	return test_run(NULL, NULL);
}
