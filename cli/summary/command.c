// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/base/progress.h"
#include "cli/summary/summary.h"
#include "cli/summary/summary_show.h"
#include "cli/database/session/verb.h"
#include "proto/settings/selection.h"
#include "proto/base/cleanup.h"

#define SUMMARY_KERNELS	      20
#define SUMMARY_GROUP_KERNELS 5

enum { KEY_BY = 0x500, KEY_CATEGORY, KEY_KERNELS, KEY_SORT, KEY_STEPS };

static const struct argp_option options[] = {
	{"top", 'n', "COUNT", 0, "number of kernels to list (default 20, with --by 5 each; 0: all)",
		0},
	VERB_STRICT,
	{"by", KEY_BY, "WHAT", 0,
		"list kernels by rank, gpu, queue, marker (the innermost roctx range) or category "
		"(kind of work)",
		0},
	{"steps", KEY_STEPS, "REGEX", 0,
		"with --by marker: ranges that differ in the number at the end of the match are "
		"one "
		"(ProfilerStep#N, step N, iteration N)",
		0},
	{"ranks", 'r', "LIST", 0, "list kernels of these ranks only: 0,3-5", 0},
	{"kernels", KEY_KERNELS, "REGEX", 0,
		"list kernels whose name or symbol matches (POSIX extended) only", 0},
	{"category", KEY_CATEGORY, "NAME", 0, "list kernels of this kind of work only, as gemm", 0},
	{"sort", KEY_SORT, "WHAT", 0,
		"sort the table of kernels by total time (default), calls, avg, max or name", 0},
	{"categories", 'C', "FILE", 0,
		"rules for categories, before those of the session (default: RTL_CATEGORIES)", 0},
	VERB_JSON,
	VERB_CSV_TABLE(
		"one table: kernels (default), ranks, gpus, losses, copies, metrics, host_calls, "
		"collectives, categories, reason or (with --by) groups"),
	{0},
};

struct summary_cmd {
	struct verb verb;
	struct summary_options show;
	struct summary_wishes wishes;
	const char *categories, *step_text;
	regex_t steps;
	bool has_steps;
};

static void summary_cmd_done(struct summary_cmd *o)
{
	if (o->has_steps)
		regfree(&o->steps);
	if (o->wishes.choice.has_kernels)
		regfree(&o->wishes.choice.kernels);
}

static enum summary_by parse_by(const char *text)
{
	const char *names[SUMMARY_BYS];

	for (int by = SUMMARY_BY_RANK; by < SUMMARY_BYS; by++)
		names[by - SUMMARY_BY_RANK] = summary_by_name((enum summary_by)by);
	return (enum summary_by)(
		SUMMARY_BY_RANK + opts_choice("by", text, names, SUMMARY_BYS - SUMMARY_BY_RANK));
}

static enum summary_sort parse_sort(const char *text)
{
	const char *names[SUMMARY_SORTS];

	for (int sort = 0; sort < SUMMARY_SORTS; sort++)
		names[sort] = summary_sort_name((enum summary_sort)sort);
	return (enum summary_sort)opts_choice("sort", text, names, SUMMARY_SORTS);
}

static void parse_steps(struct summary_cmd *o)
{
	opts_regex("steps", o->step_text ? o->step_text : CHOICE_STEP_MARKER_DEFAULT, &o->has_steps,
		&o->steps);
	o->wishes.measure.steps = &o->steps;
}

/* Rejects options that do not go together, then derives what has to be measured. */
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

	return (enum summary_table)opts_choice("csv", text, names, sizeof(names) / sizeof(*names));
}

static error_t parse_choice(int key, char *arg, struct summary_choice *choice)
{
	switch (key) {
	case 'r':
		opts_list("ranks", arg, &choice->ranks);
		choice->has_ranks = true;
		return 0;
	case KEY_KERNELS:
		opts_regex("kernels", arg, &choice->has_kernels, &choice->kernels);
		return 0;
	case KEY_CATEGORY:
		choice->category = arg;
		return 0;
	case KEY_SORT:
		choice->sort = parse_sort(arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
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
	case 'C':
		o->categories = arg;
		return 0;
	case 'c':
		if (arg)
			o->show.csv_table = parse_table(arg);
		return verb_parse(key, arg, &o->verb);
	case ARGP_KEY_END:
		(void)verb_parse(key, arg, &o->verb);
		o->show.format = o->verb.format;
		check_choices(o);
		return 0;
	default:
		return parse_choice(key, arg, &o->wishes.choice) == ARGP_ERR_UNKNOWN
			       ? verb_parse(key, arg, &o->verb)
			       : 0;
	}
}

static const struct argp parser = {options, parse, "[FILE|SESSION]",
	"Whether everything was recorded, the top kernels, every rank and GPU, what is missing, "
	"and "
	"in one sentence why the job is slow."
	"\v" SUMMARY_TITLES " \"-\": not known, which is never 0.",
	NULL, NULL, NULL};

int cmd_summary(int argc, char **argv)
{
	CLEANUP(summary_cmd_done)
	struct summary_cmd o = {.verb.format = RENDER_TABLE,
		.show = {.kernels = SUMMARY_KERNELS, .group_kernels = SUMMARY_GROUP_KERNELS}};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(summary_free_p) struct summary *summary = NULL;
	char error[QUERY_ERROR_BYTES];

	opts_parse(&parser, argc, argv, OPTS_TABLE, &o);
	if (verb_open(&o.verb, &query) ||
		verb_check_ranks(query, "ranks", &o.wishes.choice.ranks))
		return CMD_BAD_INPUT;
	if (trace_open(query, o.categories, error, &trace))
		return verb_fail(query, error);
	trace_begin_progress(trace, "summary", 2.5);
	if (summary_new(trace, &o.wishes, &summary))
		return verb_fail(query, error);
	progress_end();
	if (summary->is_chosen && !summary->measure->kernel_count) {
		say("no kernel here is of%s%s%s; rtl summary %s shows what there is",
			o.wishes.choice.has_ranks ? " --ranks" : "",
			o.wishes.choice.has_kernels ? " --kernels" : "",
			o.wishes.choice.category ? " --category" : "",
			o.wishes.choice.category ? "--by category" : "without that");
		return CMD_BAD_INPUT;
	}
	o.show.width = render_terminal_width(STDOUT_FILENO, 200);
	summary_show(summary, &o.show, stdout);
	return verb_check(&o.verb, summary->verdict);
}
