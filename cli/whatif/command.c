// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/base/progress.h"
#include "cli/database/session/verb.h"
#include "cli/whatif/whatif.h"
#include "proto/base/cleanup.h"

enum { KEY_RANK = 0x500, KEY_HOST, KEY_KERNEL, KEY_COMM, KEY_TRANSFER };

static const struct argp_option options[] = {
	{"rank", KEY_RANK, "N|all", 0,
		"this rank, or each by itself, what gains most first (default)", 0},
	{"host", KEY_HOST, "N", 0, "the host of this rank alone", 0},
	{"kernel", KEY_KERNEL, "GLOB", 0, "kernels whose name matches, on all ranks", 0},
	{"comm", KEY_COMM, "ID", 0,
		"the transfers of one communicator, as rtl collectives names it", 0},
	{"transfer", KEY_TRANSFER, "FACTOR", 0, "all transfers, times this: 0.5x", 0},
	{"categories", 'C', "FILE", 0, "rules that say what communication is (RTL_CATEGORIES)", 0},
	VERB_JSON,
	VERB_CSV("comma-separated values with a title line"),
	{0},
};

struct whatif_cmd {
	struct verb verb;
	const char *categories, *pattern;
	bool has_question, is_all;
	enum whatif_kind kind;
	int64_t number; /* rank or communicator */
	double factor;
};

static void take(struct whatif_cmd *o, enum whatif_kind kind)
{
	if (o->has_question)
		opts_error("one of --rank, --host, --kernel, --comm and --transfer at a time");
	o->has_question = true;
	o->kind = kind;
	o->is_all = false;
}

static void parse_comm(struct whatif_cmd *o, const char *text)
{
	char *end;

	errno = 0;
	o->number = (int64_t)strtoull(text, &end, 16);
	if (errno || !*text || *end || strchr(text, '-'))
		opts_error("--comm=%s: not a communicator; rtl collectives shows them", text);
}

static void parse_factor(struct whatif_cmd *o, const char *text)
{
	char *end;

	o->factor = strtod(text, &end);
	if (end == text || (strcmp(end, "x") != 0 && *end) || !isfinite(o->factor) ||
		o->factor < 0 || o->factor > 1000)
		opts_error("--transfer=%s: not a factor like 0.5x", text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct whatif_cmd *o = state->input;

	switch (key) {
	case KEY_RANK:
		take(o, WHATIF_RANK);
		o->is_all = strcmp(arg, "all") == 0;
		if (!o->is_all)
			o->number = (int64_t)opts_u64("rank", arg, 0, UINT32_MAX);
		return 0;
	case KEY_HOST:
		take(o, WHATIF_HOST);
		o->number = (int64_t)opts_u64("host", arg, 0, UINT32_MAX);
		return 0;
	case KEY_KERNEL:
		take(o, WHATIF_KERNEL);
		o->pattern = arg;
		return 0;
	case KEY_COMM:
		take(o, WHATIF_COMM);
		parse_comm(o, arg);
		return 0;
	case KEY_TRANSFER:
		take(o, WHATIF_TRANSFER);
		parse_factor(o, arg);
		return 0;
	case 'C':
		o->categories = arg;
		return 0;
	default:
		return verb_parse(key, arg, &o->verb);
	}
}

static const struct argp parser = {options, parse, "[FILE|SESSION]",
	"What a step would take if a rank, its host, a kernel or a communicator were as the "
	"others: "
	"the recorded job, replayed with the median of the same work at the same place on the "
	"other "
	"ranks."
	"\vSTEP: with that one change. GAIN %: of the step as recorded. TIMES REPLACED: by the "
	"median of their peers. WITHOUT PEER: times that nothing else has the like of; they stay. "
	"Where a rank uses several queues it needs what they wait for: rtl run --mode "
	"barriers, or --mode hip for a program of HIP. Exit status: "
	"0; 1: no such file, or nothing that was asked for; 4: the recording does not allow a "
	"prediction.",
	NULL, NULL, NULL};

/* ---- questions ------------------------------------------------------------------------------ */

static uint32_t find_rank(const struct whatif_job *job, int64_t rank)
{
	for (uint32_t i = 0; i < job->process_count; i++)
		if (job->processes[i].has_rank && job->processes[i].rank == rank)
			return i;
	return WHATIF_NONE;
}

static bool has_kernel(const struct whatif_job *job, const char *pattern)
{
	for (size_t i = 0; i < job->work_count; i++)
		if (query_glob(pattern, job->works[i].name))
			return true;
	return false;
}

/* Returns CMD_OK, or CMD_BAD_INPUT after a line that says which ranks there are. */
static int check_rank(const struct whatif_cmd *o, struct query *query)
{
	bool is_host = o->kind == WHATIF_HOST;
	struct choice_list rank = {
		.count = 1, .range = {{(uint32_t)o->number, (uint32_t)o->number}}};

	if (o->is_all || (o->kind != WHATIF_RANK && !is_host))
		return CMD_OK;
	return verb_check_ranks(query, is_host ? "host" : "rank", &rank);
}

/* Returns false after a line that says why there is no such thing. */
static bool find_question(
	const struct whatif_cmd *o, const struct whatif_job *job, struct whatif_question *ret)
{
	*ret = (struct whatif_question){
		.kind = o->kind, .pattern = o->pattern, .factor = o->factor, .comm = WHATIF_NONE};
	switch (o->kind) {
	case WHATIF_RANK:
	case WHATIF_HOST:
		ret->process = find_rank(job, o->number);
		if (ret->process != WHATIF_NONE)
			return true;
		say("no process of rank %" PRId64 " has a dispatch with times; rtl info has what each did",
			o->number);
		return false;
	case WHATIF_KERNEL:
		if (has_kernel(job, o->pattern))
			return true;
		say("no kernel matches %s; rtl summary lists their names", o->pattern);
		return false;
	case WHATIF_COMM:
		for (uint32_t i = 0; i < job->collectives->comm_count; i++)
			if (job->collectives->comms[i].id == o->number)
				ret->comm = i;
		if (ret->comm != WHATIF_NONE)
			return true;
		say("no communicator %" PRIx64 "; rtl collectives lists them", (uint64_t)o->number);
		return false;
	default:
		return true;
	}
}

static int ask(const struct whatif_cmd *o, struct whatif *w)
{
	CLEANUP(free_p)
	struct whatif_question *questions = calloc(w->job->process_count + 1, sizeof(*questions));

	if (!questions)
		return -ENOMEM;
	if (!o->is_all)
		return find_question(o, w->job, questions) ? whatif_predict(w, questions, 1)
							   : -ENOENT;
	for (uint32_t i = 0; i < w->job->process_count; i++)
		questions[i] = (struct whatif_question){.kind = WHATIF_RANK, .process = i};
	return whatif_predict(w, questions, w->job->process_count);
}

/* A single rank, a kernel that one rank has, or the only communicator of its kind. */
static void check_peers(struct whatif *w)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->predictions[i].replaced)
			return;
	if (!w->refused[0])
		snprintf(w->refused, sizeof(w->refused),
			"nothing else does the same work at the same place of a step, so there is "
			"nothing to compare it with");
}

int cmd_whatif(int argc, char **argv)
{
	struct whatif_cmd o = {.verb.format = RENDER_TABLE, .is_all = true};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(verdict_free_p) struct verdict *verdict = NULL;
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(whatif_done) struct whatif w = {0};
	char error[QUERY_ERROR_BYTES] = "";
	int r;

	opts_parse(&parser, argc, argv, OPTS_TABLE, &o);
	if (verb_open(&o.verb, &query) || check_rank(&o, query))
		return CMD_BAD_INPUT;
	r = trace_open(query, o.categories, error, &trace);
	if (!r)
		trace_begin_progress(trace, "whatif", 3);
	if (!r)
		r = verdict_new(query, NULL, &verdict);
	if (!r)
		r = whatif_job_new(trace, w.refused, &w.job);
	if (!r && !w.refused[0]) {
		r = ask(&o, &w);
		if (r == -ENOENT)
			return CMD_BAD_INPUT;
		if (!r)
			check_peers(&w);
	}
	progress_end();
	if (!r && (!w.refused[0] || o.verb.format == RENDER_JSON))
		whatif_show(&w, verdict, o.verb.format, render_terminal_width(STDOUT_FILENO, 100),
			stdout);
	if (r)
		return verb_fail(query, error);
	if (!w.refused[0])
		return CMD_OK;
	say("%s: %s", query_path(query), w.refused);
	return CMD_NOT_COMPARABLE;
}
