// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/base/progress.h"
#include "cli/tree/show.h"
#include "cli/database/session/verb.h"
#include "proto/base/cleanup.h"

#define TREE_WIDTH	 100
#define TREE_MIN_PERCENT 0.5

enum { KEY_BY = 0x500, KEY_DEPTH, KEY_MIN, KEY_FOLDED, KEY_NO_KERNELS, KEY_STEPS, KEY_EACH_STEP };

static const struct argp_option options[] = {
	{"by", KEY_BY, "WHAT", 0,
		"merged (default): all ranks as one; rank: each process and thread", 0},
	{"depth", KEY_DEPTH, "LEVELS", 0, "show at most LEVELS levels", 0},
	{"min-percent", KEY_MIN, "PERCENT", 0,
		"of the GPU time; smaller rows are summed (0.5 in the text, else 0)", 0},
	{"ranks", 'r', "LIST", 0, "these ranks only: 0,3-5", 0},
	{"no-kernels", KEY_NO_KERNELS, NULL, 0, "ranges and calls without their kernels", 0},
	{"steps", KEY_STEPS, "REGEX", 0,
		"ranges that differ in the number at the end of the match are one "
		"(ProfilerStep#N, "
		"step N, iteration N)",
		0},
	{"each-step", KEY_EACH_STEP, NULL, 0, "do not merge steps", 0},
	VERB_JSON,
	VERB_CSV("a line a node"),
	{"folded", KEY_FOLDED, NULL, 0, "stacks and ns of GPU time, for flame graphs", 0},
	{0},
};

struct tree_cmd {
	struct verb verb;
	struct tree_options show;
	struct choice_list ranks;
	bool has_min;
	regex_t steps;
	bool has_steps, is_each_step;
};

static void tree_cmd_done(struct tree_cmd *o)
{
	if (o->has_steps)
		regfree(&o->steps);
}

static double parse_percent(const char *text)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (errno || !*text || *end || !(value >= 0 && value <= 100))
		opts_error("--min-percent=%s: not a number from 0 to 100", text);
	return value;
}

static void parse_by(struct tree_cmd *o, const char *text)
{
	static const char *const names[] = {"merged", "rank"};

	o->show.is_merged = !opts_choice("by", text, names, 2);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct tree_cmd *o = state->input;

	switch (key) {
	case KEY_BY:
		parse_by(o, arg);
		return 0;
	case KEY_DEPTH:
		o->show.depth = opts_u64("depth", arg, 1, TREE_DEPTH_MAX);
		return 0;
	case KEY_MIN:
		o->show.min_percent = parse_percent(arg);
		o->has_min = true;
		return 0;
	case 'r':
		opts_list("ranks", arg, &o->ranks);
		return 0;
	case KEY_STEPS:
		opts_regex("steps", arg, &o->has_steps, &o->steps);
		return 0;
	case KEY_EACH_STEP:
		o->is_each_step = true;
		return 0;
	case KEY_NO_KERNELS:
		o->show.has_kernels = false;
		return 0;
	case KEY_FOLDED:
		o->show.is_folded = true;
		return 0;
	case ARGP_KEY_END:
		if (o->show.is_folded && o->verb.format != RENDER_TABLE)
			opts_error("--folded and --%s do not go together: give one of them",
				o->verb.format == RENDER_JSON ? "json" : "csv");
		return verb_parse(key, arg, &o->verb);
	default:
		return verb_parse(key, arg, &o->verb);
	}
}

static const struct argp parser = {options, parse, "[FILE|SESSION]",
	"Roctx ranges and host calls as a tree, with the GPU time of the kernels "
	"submitted in "
	"them."
	"\vGPU ms: the sum of the kernels here and below. GPU %: of all that is shown. SELF ms: of "
	"the kernels right here. LAUNCH us: from the begin of the host call to the kernel's start. "
	"QUEUE us: from its submission to its start. TFLOP/s, GB/s: what products, attentions and "
	"convolutions of an import had to compute and to move, by the time of their kernels; PEAK "
	"%: the least time that the GPU could take for it, of that it took. WORST: the slowest "
	"rank, and its time to the mean, from 1.2 on; without communication, in which the others "
	"wait for it. \"-\": not known, which is never 0.",
	NULL, NULL, NULL};

int cmd_tree(int argc, char **argv)
{
	CLEANUP(tree_cmd_done)
	struct tree_cmd o = {
		.verb.format = RENDER_TABLE, .show = {.is_merged = true, .has_kernels = true}};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(verdict_free_p) struct verdict *verdict = NULL;
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(tree_free_p) struct tree *tree = NULL;
	CLEANUP(tree_free_p) struct tree *merged = NULL;
	char error[QUERY_ERROR_BYTES] = "";
	int r;

	opts_parse(&parser, argc, argv, OPTS_TABLE, &o);
	if (!o.has_steps)
		opts_regex("steps", CHOICE_STEP_MARKER_DEFAULT, &o.has_steps, &o.steps);
	if (verb_open(&o.verb, &query) || verb_check_ranks(query, "ranks", &o.ranks))
		return CMD_BAD_INPUT;
	o.show.format = o.verb.format;
	if (!o.has_min && o.show.format == RENDER_TABLE)
		o.show.min_percent = TREE_MIN_PERCENT;
	o.show.width = render_terminal_width(STDOUT_FILENO, TREE_WIDTH);
	r = verdict_new(query, NULL, &verdict);
	if (!r)
		r = trace_open(query, NULL, error, &trace);
	if (!r)
		trace_begin_progress(trace, "tree", 1);
	if (!r)
		r = tree_new(trace, &o.ranks, o.is_each_step ? NULL : &o.steps, &tree);
	if (r)
		return verb_fail(query, error);
	if (o.show.is_merged)
		merged = tree_merge(tree);
	progress_end();
	tree_show(&(struct tree_view){merged ? merged : tree, tree, verdict, &o.show}, stdout);
	return CMD_OK;
}
