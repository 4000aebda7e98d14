// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/collectives/show.h"
#include "cli/base/message.h"
#include "cli/base/progress.h"
#include "cli/database/session/verb.h"
#include "proto/base/cleanup.h"

#define COLLECTIVES_TOP	  20
#define COLLECTIVES_LATEST 5
#define COLLECTIVES_WIDTH 100

enum { KEY_COMM = 0x500, KEY_OPERATION };

static const struct argp_option options[] = {
	{"top", 'n', "COUNT", 0,
		"number of rows of each table (default 20, of the latest arrivals 5; 0: all)", 0},
	{"ranks", 'r', "LIST", 0, "rows about these ranks only: 0,3-5", 0},
	{"comm", KEY_COMM, "ID", 0, "one communicator, as the tables name it", 0},
	{"operation", KEY_OPERATION, "TEXT", 0, "operations whose name contains TEXT", 0},
	{"categories", 'C', "FILE", 0,
		"rules that tell communication kernels (default: RTL_CATEGORIES)", 0},
	{"strict", 's', NULL, 0, "exit 3 when anything is missing, or matched by order only", 0},
	VERB_JSON,
	VERB_CSV_TABLE("one table: groups (default), ranks, operations or missing"),
	{0},
};

struct collectives_cmd {
	struct verb verb;
	struct collectives_options show;
	struct collectives_filter filter;
	const char *categories;
};

static enum collectives_table parse_table(const char *text)
{
	static const char *const names[] = {"groups", "ranks", "operations", "missing"};

	return (enum collectives_table)opts_choice(
		"csv", text, names, sizeof(names) / sizeof(*names));
}

static void parse_comm(struct collectives_filter *filter, const char *text)
{
	char *end;

	errno = 0;
	filter->comm = (int64_t)strtoull(text, &end, 16);
	filter->has_comm = true;
	if (errno || !*text || *end || strchr(text, '-'))
		opts_error("--comm=%s: not a communicator; the tables show them", text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct collectives_cmd *o = state->input;

	switch (key) {
	case 'n':
		o->show.top = opts_u64("top", arg, 0, UINT32_MAX);
		o->show.latest = o->show.top;
		return 0;
	case 'r':
		opts_list("ranks", arg, &o->show.ranks);
		return 0;
	case KEY_COMM:
		parse_comm(&o->filter, arg);
		return 0;
	case KEY_OPERATION:
		o->filter.op = arg;
		return 0;
	case 'C':
		o->categories = arg;
		return 0;
	case 'c':
		if (arg)
			o->show.csv_table = parse_table(arg);
		return verb_parse(key, arg, &o->verb);
	default:
		return verb_parse(key, arg, &o->verb);
	}
}

static const struct argp parser = {options, parse, "[FILE|SESSION]",
	"Collectives, matched across ranks: latency, bandwidth, skew; which rank arrives last, and "
	"why."
	"\v" COLLECTIVES_TITLES " \"-\": not known, which is never 0.",
	NULL, NULL, NULL};

static int check_strict(const struct collectives *c, const struct verdict *verdict)
{
	const char *why = !verdict->is_complete || verdict->is_empty ? verdict->line
			  : c->missing_total			     ? "ranks lack collectives"
			  : c->mismatched ? "collectives are not the same on all ranks"
			  : c->by_kernels ? "matched by kernels only"
			  : c->by_order || (c->matched == COLLECTIVES_BY_ORDER && c->comm_kernels)
				  ? "matched by order only"
				  : NULL;

	if (!why)
		return CMD_OK;
	say("--strict: %s", why);
	return CMD_LOSSY;
}

/* An empty table would look like a job without collectives. Returns false after printing the
 * reason. */
static bool check_choice(const struct collectives *c, const struct collectives_cmd *o)
{
	if ((!o->filter.has_comm && !o->filter.op) || c->operation_count)
		return true;
	say("no collective of that %s%s%s could be matched; rtl collectives without it shows what "
	    "there is",
		o->filter.has_comm ? "communicator" : "",
		o->filter.has_comm && o->filter.op ? " and " : "", o->filter.op ? "operation" : "");
	return false;
}

int cmd_collectives(int argc, char **argv)
{
	struct collectives_cmd o = {.verb.format = RENDER_TABLE, .show.top = COLLECTIVES_TOP,
		.show.latest = COLLECTIVES_LATEST};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(verdict_free_p) struct verdict *verdict = NULL;
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(collectives_free_p) struct collectives *collectives = NULL;
	CLEANUP(steps_free_p) struct steps *steps = NULL;
	CLEANUP(waiting_free_p) struct waiting *waiting = NULL;
	CLEANUP(stragglers_done) struct stragglers found = {0};
	CLEANUP(collectives_report_free_p) struct collectives_report *report = NULL;
	char error[QUERY_ERROR_BYTES] = "";
	int r;

	opts_parse(&parser, argc, argv, OPTS_TABLE, &o);
	if (verb_open(&o.verb, &query) || verb_check_ranks(query, "ranks", &o.show.ranks))
		return CMD_BAD_INPUT;
	o.show.format = o.verb.format;
	r = trace_open(query, o.categories, error, &trace);
	if (!r)
		trace_begin_progress(trace, "collectives", 2);
	if (!r)
		r = verdict_new(query, NULL, &verdict);
	if (!r)
		r = collectives_new(trace, &o.filter, &collectives);
	if (!r && !check_choice(collectives, &o))
		return CMD_BAD_INPUT;
	if (!r)
		r = steps_new(trace, NULL, error, &steps);
	if (!r)
		r = waiting_new(trace, collectives, steps, &waiting);
	if (!r)
		r = stragglers_find(waiting, &found);
	if (!r)
		collectives_report_new(collectives, &found, &report);
	if (r)
		return verb_fail(query, error);
	progress_end();
	o.show.width = render_terminal_width(STDOUT_FILENO, COLLECTIVES_WIDTH);
	collectives_show(&(struct collectives_view){collectives, report, verdict, &o.show}, stdout);
	return o.verb.is_strict ? check_strict(collectives, verdict) : CMD_OK;
}
