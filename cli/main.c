// SPDX-License-Identifier: MIT
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/escape.h"
#include "cli/base/memory.h"
#include "cli/base/message.h"
#include "cli/output/recording.h"
#include "proto/base/clock.h"
#include "proto/base/standard_fds.h"

static int cmd_help(int argc, char **argv);

static const struct cmd commands[] = {
	{ "run", cmd_run, "[-o FILE] [-f] [--strict] [--device soft] [--] COMMAND [ARGUMENT...]",
		"run a command and record it" },
	{ "trace", cmd_run, NULL, NULL },
	{ "stat", cmd_stat, "[-n COUNT] [-i SECONDS] [-b|--json] [--outstanding] [SESSION]",
		"live table of ranks and GPUs" },
	{ "ls", cmd_ls, "[--user USER] [--since TIME] [--failed] [--json|--csv]", "sessions, live and stored" },
	{ "rm", cmd_rm, "[-f] SESSION|FILE...", "remove sessions of yours" },
	{ "keep", cmd_keep, "[--off] SESSION|FILE...", "keep sessions of yours from retention" },
	{ "summary", cmd_summary, "[--by category] [--ranks LIST] [--kernels REGEX] [--sort WHAT] [--json|--csv] [FILE|SESSION]",
		"completeness, top kernels, ranks and GPUs, losses" },
	{ "timeline", cmd_timeline, "[--steps REGEX] [--ranks LIST] [--gpus LIST] [--step N] [--json|--csv] [FILE|SESSION]",
		"computation, communication, copies, idle time: ranks, GPUs, steps" },
	{ "info", cmd_info, "[--counters|--clocks] [--json|--csv] [FILE|SESSION]",
		"session, processes, GPUs, clocks, counters" },
	{ "collectives", cmd_collectives, "[--ranks LIST] [--json|--csv] [FILE|SESSION]",
		"collectives across ranks: bandwidth, skew, late ranks and why" },
	{ "outstanding", cmd_outstanding, "[--json|--csv] [FILE|SESSION]",
		"what each rank waits in, and which is the odd one out" },
	{ "tree", cmd_tree, "[--by merged|rank] [--json|--csv|--folded] [FILE|SESSION]",
		"ranges and host calls, with the GPU time of their kernels" },
	{ "whatif", cmd_whatif, "[--rank N|all] [--host N] [--kernel GLOB] [--comm ID] [--transfer 0.5x] [--json|--csv] [FILE|SESSION]",
		"what a step takes if a rank, kernel or link is as the others" },
	{ "report", cmd_report, "[FILE|SESSION...] [--html OUT] [--open] [-f] [--label TEXT] [--steps REGEX]",
		"one page with all of that, to look at in a browser" },
	{ "export", cmd_export, "[-f] --FORMAT OUT... [--from S] [--to S] [--ranks LIST] [--gpus LIST] [FILE|SESSION...]",
		"in others' formats: Perfetto, Chrome, PyTorch, rocprofv3, RPD, CSV" },
	{ "import", cmd_import, "[-f|--append] [--rank-from REGEX] [--keep-going] -o OUT.db FILE...",
		"what others recorded, as a database: PyTorch, rocprofv3, RPD, ..." },
	{ "convert", cmd_export, NULL, NULL },
	{ "diff", cmd_diff, "FILE|SESSION... [--reference LABEL] [--allow WHAT] [--threshold PCT] [--json|--csv]",
		"what changed between runs; refuses those that cannot be compared" },
	{ "diagnose", cmd_diagnose, "[--strict] [--json|--csv] [FILE|SESSION|FILE...]",
		"did all ranks do alike?" },
	{ "query", cmd_query, "[-f FILE] [--json|--csv] [FILE|SESSION] ['SQL']",
		"read-only SQL; without SQL the views that there are" },
	{ "env", cmd_env, "[--device soft] [--socket PATH]",
		"what a job must export to be recorded without rtl run" },
	{ "doctor", cmd_doctor, "[--device soft] [--json]", "why are there no kernels?" },
	{ "config", cmd_config, "[--show-origin]", "what rtl.conf says, and where" },
	{ "ctl", cmd_ctl, "start|stop|status|flush [--ranks LIST] [--duration TIME] [SESSION]",
		"start and stop recording while jobs run, ask the collectors" },
	{"help", cmd_help, "[VERB]", "this list, or what VERB --help says"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* All that a verb may return; docs/commands.md contains the same table. */
static const struct {
	const char *status, *meaning;
} exits[] = {
	{"0", "done"},
	{"1", "bad input: no such file or session, no collector, a failed query"},
	{"2", "usage: an option or argument that the verb does not take"},
	{"3", "--strict, and something is missing, or nothing was dispatched"},
	{"4", "diff: the runs cannot be compared; whatif: no prediction"},
	{"5", "diff: worse by more than --threshold"},
	{"125", "run: rtl failed before the command started; usage, too"},
	{"126", "run: the command cannot be executed"},
	{"127", "run: the command is not found"},
	{"other", "run: the command's own, 128+N when signal N ended it"},
};

/* Prints a usage line, wrapped between words at the width of a terminal. */
static void show_usage(const struct cmd *cmd)
{
	size_t column = (size_t)printf("  rtl %s", cmd->name);

	for (const char *at = cmd->usage; *at;) {
		/* A part in brackets is not split. */
		size_t length = *at == '[' ? strcspn(at, "]") : strcspn(at, " ");

		length += strcspn(at + length, " ");
		if (column + 1 + length > 79)
			column = (size_t)printf("\n       ") - 1;
		column += (size_t)printf(" %.*s", (int)length, at);
		at += length + strspn(at + length, " ");
	}
	printf("\n        ");
	render_put_sentence(stdout, cmd->summary, 8, 79);
}

static void show_help(bool is_short)
{
	printf("usage: rtl VERB [options]\n\n");
	for (size_t i = 0; i < COMMANDS; i++) {
		if (!commands[i].summary)
			continue;
		if (is_short)
			printf("  %-11s %s\n", commands[i].name, commands[i].summary);
		else
			show_usage(commands + i);
	}
	printf("\nrtl VERB --help, or rtl help VERB, tells more; rtl --version names the "
	       "version.\n");
	if (is_short)
		return;
	printf("\nA session name works wherever FILE does. stdout is data, stderr is talk.\n"
	       "\nExit status:\n");
	for (size_t i = 0; i < sizeof(exits) / sizeof(*exits); i++)
		printf("  %-6s %s\n", exits[i].status, exits[i].meaning);
}

/* What others call a verb, where that is not near enough to its name. */
static const struct {
	const char *word, *verb;
} other_names[] = {
	{"list", "ls"}, {"remove", "rm"}, {"delete", "rm"}, {"record", "run"}, {"compare", "diff"}};

/* What takes the place of a verb. */
static const char *const own_options[] = {"--help", "--version"};

static int refuse(const char *word)
{
	const char *names[COMMANDS];
	const char *nearest;

	if (*word == '-') {
		nearest = strncmp(word, "--", 2) ? NULL : say_nearest(word, own_options, 2);
		say("unknown option %s; %s%s%s", word, nearest ? "did you mean " : "see rtl --help",
			nearest ? nearest : "", nearest ? "?" : "");
		return CMD_USAGE;
	}
	if (is_recording(word)) {
		say("%s is a database, not a verb; did you mean rtl summary %s?", word, word);
		return CMD_USAGE;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	nearest = say_nearest(word, names, COMMANDS);
	for (size_t i = 0; i < sizeof(other_names) / sizeof(*other_names); i++)
		if (!strcmp(word, other_names[i].word))
			nearest = other_names[i].verb;
	if (nearest)
		say("unknown verb %s; did you mean %s?", word, nearest);
	else
		say("unknown verb %s; see rtl --help", word);
	return CMD_USAGE;
}

static int cmd_help(int argc, char **argv)
{
	static char option[] = "--help";

	if (argc < 2) {
		show_help(false);
		return CMD_OK;
	}
	if (argc > 2) {
		say("help: one verb, not %s too; rtl help VERB", argv[2]);
		return CMD_USAGE;
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		char *asked[] = {argv[1], option, NULL};

		if (strcmp(argv[1], commands[i].name))
			continue;
		if (commands[i].run != cmd_help)
			return commands[i].run(2, asked);
		show_help(false);
		return CMD_OK;
	}
	return refuse(argv[1]);
}

/* A full disk or a closed pipe must not look like success. */
static int finish(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		say("cannot write to stdout: %m");
		return status ? status : CMD_BAD_INPUT;
	}
	return status;
}

int main(int argc, char **argv)
{
	standard_fds_hold();
	clock_find_shift();
	json_set_alloc_funcs(xmalloc, free);
	if (argc < 2) {
		show_help(true);
		return finish(CMD_USAGE);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return finish(cmd_help(1, argv));
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("rtl %s\n", RTL_VERSION);
		return finish(CMD_OK);
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return finish(commands[i].run(argc - 1, argv + 1));
	return refuse(argv[1]);
}
