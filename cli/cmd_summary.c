// SPDX-License-Identifier: MIT
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/find.h"
#include "cli/opts.h"
#include "cli/say.h"
#include "cli/summary.h"
#include "proto/choice.h"
#include "proto/cleanup.h"

#define SUMMARY_KERNELS	      20
#define SUMMARY_GROUP_KERNELS 5

enum { KEY_BY = 0x500, KEY_CATEGORIES, KEY_STEPS };

static const struct argp_option options[] = {
	{"top", 'n', "COUNT", 0, "so many kernels in the table (20; --by: 5 of each); 0: all", 0},
	{"strict", 's', NULL, 0, "exit 3 when anything is missing, or nothing was dispatched", 0},
	{"by", KEY_BY, "WHAT", 0,
		"kernels apart by rank, gpu, queue, marker (the innermost roctx range) or category "
		"(what kind of work they are)",
		0},
	{"steps", KEY_STEPS, "REGEX", 0,
		"with --by marker: ranges that differ in the number at the end of the match are "
		"one "
		"(ProfilerStep#N, step N, iteration N)",
		0},
	{"categories", KEY_CATEGORIES, "FILE", 0,
		"rules that say so, before those of the session (else RTL_CATEGORIES)", 0},
	{"json", 'j', NULL, 0, "one document with everything", 0},
	{"csv", 'c', "TABLE", OPTION_ARG_OPTIONAL,
		"one table: kernels (default), ranks, gpus, losses, copies, metrics, host_calls, "
		"collectives, categories, reason or (with --by) groups",
		0},
	{0},
};

struct summary_cmd {
	struct summary_options show;
	struct summary_wishes wishes;
	const char *name, *step_text;
	regex_t steps;
	bool is_strict;
};

static void summary_cmd_done(struct summary_cmd *o)
{
	if (o->wishes.measure.steps)
		regfree(&o->steps);
}

static enum summary_by parse_by(const char *text)
{
	for (int by = SUMMARY_BY_RANK; by < SUMMARY_BYS; by++)
		if (!strcmp(text, summary_by_name((enum summary_by)by)))
			return (enum summary_by)by;
	opts_error("--by %s: not rank, gpu, queue, marker or category", text);
	return SUMMARY_BY_NOTHING;
}

static void parse_steps(struct summary_cmd *o)
{
	const char *text = o->step_text ? o->step_text : CHOICE_STEP_MARKER_DEFAULT;
	char why[128];
	int r = regcomp(&o->steps, text, REG_EXTENDED);

	if (!r) {
		o->wishes.measure.steps = &o->steps;
		return;
	}
	regerror(r, &o->steps, why, sizeof(why));
	opts_error("--steps=%s: %s", text, why);
}

/* What belongs together; then what is to be measured for it. */
static void check_choices(struct summary_cmd *o)
{
	struct summary_wishes *w = &o->wishes;

	if (o->step_text && w->by != SUMMARY_BY_MARKER)
		opts_error("--steps goes with --by marker");
	if (o->show.format == RENDER_CSV && o->show.csv_table == SUMMARY_GROUP_TABLE &&
		w->by == SUMMARY_BY_NOTHING)
		opts_error("--csv=groups needs --by");
	w->measure.by_marker = w->by == SUMMARY_BY_MARKER;
	if (w->measure.by_marker)
		parse_steps(o);
	w->measure.wants_percentiles = w->measure.wants_calls = true;
	w->reason = true;
	w->categories =
		o->show.format == RENDER_JSON ||
		(o->show.format == RENDER_CSV && o->show.csv_table == SUMMARY_CATEGORY_TABLE);
}

static enum summary_table parse_table(const char *text)
{
	static const char *const names[] = {"kernels", "ranks", "gpus", "losses", "copies",
		"metrics", "host_calls", "collectives", "categories", "reason", "groups"};

	for (size_t i = 0; text && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(text, names[i]))
			return (enum summary_table)i;
	if (text)
		opts_error("--csv=%s: not kernels, ranks, gpus, losses, copies, metrics, "
			   "host_calls, collectives, categories, reason or groups",
			text);
	return SUMMARY_KERNEL_TABLE;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct summary_cmd *o = state->input;

	switch (key) {
	case 'n':
		o->show.kernels = o->show.group_kernels = opts_u64("top", arg, 0, UINT32_MAX);
		return 0;
	case KEY_BY:
		o->wishes.by = parse_by(arg);
		return 0;
	case KEY_STEPS:
		o->step_text = arg;
		return 0;
	case KEY_CATEGORIES:
		o->wishes.category_file = arg;
		return 0;
	case 's':
		o->is_strict = true;
		return 0;
	case 'j':
		o->show.format = RENDER_JSON;
		return 0;
	case 'c':
		o->show.format = RENDER_CSV;
		o->show.csv_table = parse_table(arg);
		return 0;
	case ARGP_KEY_END:
		(void)opts_file(key, arg, &o->name);
		check_choices(o);
		return 0;
	default:
		return opts_file(key, arg, &o->name);
	}
}

static const struct argp parser = {options, parse, "FILE|SESSION",
	"Whether everything was recorded, the top kernels, every rank and GPU, what is missing, "
	"and "
	"in one sentence why the job is slow.",
	NULL, NULL, NULL};

int cmd_summary(int argc, char **argv)
{
	CLEANUP(summary_cmd_done)
	struct summary_cmd o = {.show = {.format = RENDER_TABLE,
					.kernels = SUMMARY_KERNELS,
					.group_kernels = SUMMARY_GROUP_KERNELS}};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(summary_free_p) struct summary *summary = NULL;
	char error[QUERY_ERROR_BYTES];

	opts_parse(&parser, argc, argv, 0, &o);
	if (find_open(o.name, error, &query)) {
		say("%s", error);
		return CMD_BAD_INPUT;
	}
	if (summary_new(query, &o.wishes, error, &summary)) {
		say("%s", error[0]		  ? error
			  : query_error(query)[0] ? query_error(query)
						  : "out of memory");
		return CMD_BAD_INPUT;
	}
	o.show.width = render_terminal_width(STDOUT_FILENO, 200);
	if (summary_show(summary, &o.show, stdout)) {
		say("out of memory");
		return CMD_BAD_INPUT;
	}
	if (o.is_strict && (!summary->verdict->is_complete || summary->verdict->is_empty)) {
		say("--strict: %s", summary->verdict->is_empty ? "nothing was dispatched"
							       : summary->verdict->line);
		return CMD_LOSSY;
	}
	return CMD_OK;
}
