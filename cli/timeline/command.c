// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/base/progress.h"
#include "cli/timeline/timeline.h"
#include "cli/database/session/verb.h"
#include "proto/base/cleanup.h"

#define TIMELINE_ROWS 5

enum {
	KEY_BY = 0x500,
	KEY_STEPS,
	KEY_STEP,
	KEY_MICRO,
	KEY_SEGMENTS,
};

static const struct argp_option options[] = {
	{"steps", KEY_STEPS, "REGEX", 0,
		"roctx ranges and marks that begin a step (POSIX extended; default: "
		"ProfilerStep#N, "
		"step N, iteration N)",
		0},
	{"by", KEY_BY, "WHAT", 0,
		"step (default): the longest steps; kind: steps that launch the same together", 0},
	{"ranks", 'r', "RANK", 0, "only this rank", 0},
	{"gpus", 'g', "GPU", 0, "only this GPU, by gpuId", 0},
	{"step", KEY_STEP, "NUMBER", 0, "only this step of each rank", 0},
	{"categories", 'C', "FILE", 0,
		"rules that say what kind of work a kernel is, before the built-in ones (else "
		"RTL_CATEGORIES)",
		0},
	{"micro-idle", KEY_MICRO, "US", 0, "idle times shorter than US count as micro (default 10)",
		0},
	{"top", 'n', "COUNT", 0,
		"rows of longest steps, equal ones in one row (default 5; 0: every step)", 0},
	{"segments", KEY_SEGMENTS, NULL, 0, "with --json: the segments of each step", 0},
	VERB_STRICT,
	VERB_JSON,
	VERB_CSV("one row a rank, GPU and step, in ns"),
	{0},
};

struct timeline_cmd {
	struct verb verb;
	const char *categories;
	struct timeline_options what;
	struct timeline_show show;
};

static error_t parse_choice(int key, char *arg, struct timeline_options *o)
{
	static const char *const by[] = {"step", "kind"};

	switch (key) {
	case KEY_BY:
		o->by_kind = opts_choice("by", arg, by, 2) == 1;
		return 0;
	case KEY_STEPS:
		o->steps = arg;
		return 0;
	case 'r':
		opts_list("ranks", arg, &o->ranks);
		return 0;
	case 'g':
		opts_list("gpus", arg, &o->gpus);
		return 0;
	case KEY_STEP:
		o->step = (int64_t)opts_u64("step", arg, 0, INT64_MAX);
		o->has_step = true;
		return 0;
	case KEY_MICRO:
		o->micro_idle_ns = (int64_t)opts_u64("micro-idle", arg, 0, 1000000000) * 1000;
		return 0;
	case KEY_SEGMENTS:
		o->wants_segments = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct timeline_cmd *o = state->input;

	switch (key) {
	case 'n':
		o->show.rows = opts_u64("top", arg, 0, UINT32_MAX);
		return 0;
	case 'C':
		o->categories = arg;
		return 0;
	case ARGP_KEY_END:
		(void)verb_parse(key, arg, &o->verb);
		o->show.format = o->verb.format;
		if (o->what.wants_segments && o->show.format != RENDER_JSON)
			opts_error("--segments is a part of --json");
		return 0;
	default:
		return parse_choice(key, arg, &o->what) == ARGP_ERR_UNKNOWN
			       ? verb_parse(key, arg, &o->verb)
			       : 0;
	}
}

static const struct argp parser = {options, parse, "[FILE|SESSION]",
	"Where the time of each rank goes, on each GPU and in each step: computation, "
	"communication and copies that nothing hides, and idle time with its cause."
	"\v" TIMELINE_TITLES,
	NULL, NULL, NULL};

/* An empty table for a choice that matches nothing would look like a rank that did nothing. */
static bool has_rows(const struct timeline *timeline, const struct timeline_options *o)
{
	for (size_t i = 0; i < timeline->lane_count; i++)
		if (timeline->lanes[i].shown || timeline_shows_outside(o, timeline->lanes + i))
			return true;
	return !o->ranks.count && !o->gpus.count && !o->has_step;
}

static void say_nothing(const struct timeline_options *o)
{
	say("nothing here is of%s%s%s; rtl timeline without it shows what there is",
		o->ranks.count ? " --ranks" : "", o->gpus.count ? " --gpus" : "",
		o->has_step ? " --step" : "");
}

int cmd_timeline(int argc, char **argv)
{
	struct timeline_cmd o = {.verb.format = RENDER_TABLE,
		.what = {.micro_idle_ns = BREAKDOWN_MICRO_IDLE_NS},
		.show.rows = TIMELINE_ROWS};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(timeline_free_p) struct timeline *timeline = NULL;
	char error[QUERY_ERROR_BYTES];

	opts_parse(&parser, argc, argv, OPTS_TABLE, &o);
	if (verb_open(&o.verb, &query) || verb_check_ranks(query, "ranks", &o.what.ranks))
		return CMD_BAD_INPUT;
	if (trace_open(query, o.categories, error, &trace))
		return verb_fail(query, error);
	trace_begin_progress(trace, "timeline", 2);
	if (timeline_new(trace, &o.what, error, &timeline))
		return verb_fail(query, error);
	progress_end();
	if (!has_rows(timeline, &o.what)) {
		say_nothing(&o.what);
		return CMD_BAD_INPUT;
	}
	o.show.width = render_terminal_width(STDOUT_FILENO, 200);
	timeline_show(timeline, &o.what, &o.show, stdout);
	return verb_check(&o.verb, timeline->verdict);
}
