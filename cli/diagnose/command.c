// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "cli/base/color.h"
#include "cli/base/command.h"
#include "cli/base/progress.h"
#include "cli/diagnose/diagnose.h"
#include "cli/import/import.h"
#include "cli/database/session/verb.h"
#include "cli/trace/steps/steps.h"
#include "proto/base/cleanup.h"

enum table {
	FINDING_TABLE,
	PROCESS_TABLE,
};

static const char *const table_names[] = {
	[FINDING_TABLE] = "findings", [PROCESS_TABLE] = "processes"};

struct diagnose_cmd {
	struct verb verb;
	char **files; /* several, of other tools or of rtl */
	size_t file_count;
	enum table csv_table;
};

static const struct argp_option options[] = {
	VERB_JSON,
	VERB_CSV_TABLE("one table: findings (default) or processes"),
	{"strict", 's', NULL, 0, "exit 3 when a rank is missing or low", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct diagnose_cmd *o = state->input;

	if (key == 'c' && arg)
		o->csv_table = (enum table)opts_choice("csv", arg, table_names, 2);
	if (key == ARGP_KEY_ARG && state->next < state->argc) {
		o->files = state->argv + state->next - 1;
		o->file_count = (size_t)(state->argc - state->next) + 1;
		state->next = state->argc;
		return 0;
	}
	return verb_parse(key, arg, &o->verb);
}

static const struct argp parser = {options, parse, "[FILE|SESSION]\nFILE FILE...",
	"Whether the ranks of a session did alike, in all and kernel by kernel: MISSING has none, "
	"LOW less than half of the rank with most, NOTE over 5 % less, or 5 % more or less work "
	"than the rank in the middle; and why, as far as the file tells. Of several processes of a "
	"rank one leads and is judged: by its steps, collectives, kernel time, attempt. Several "
	"FILEs, as "
	"rocm-trace-lite leaves one a process, are imported into a temporary database first."
	"\vBUSY: the union of the times of kernels. WORK: BUSY without communication, in which "
	"ranks wait. LEADS: the process of its rank that is compared.",
	NULL, NULL, NULL};

static const struct render_column columns[] = {
	{"level", "FINDING", RENDER_TEXT},
	{"rank", "RANK", RENDER_ID},
	{"pid", "PID", RENDER_ID},
	{"process_id", NULL, RENDER_ID},
	{"kernels", "KERNELS", RENDER_COUNT},
	{"of_kernels", NULL, RENDER_BOOL},
	{"text", "WHY", RENDER_NOTE},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void fill_row(const struct diagnose_finding *f, struct render_value ret[COLUMNS])
{
	*ret++ = render_text(diagnose_level_name(f->level));
	*ret++ = render_optional(f->has_rank, f->rank);
	*ret++ = render_optional(f->has_process, f->pid);
	*ret++ = render_optional(f->has_process, f->process_id);
	*ret++ = render_optional(f->has_process, (int64_t)f->kernels);
	*ret++ = render_integer(f->is_of_kernels);
	*ret++ = render_text(f->text);
}

static const struct render_column process_columns[] = {
	{"rank", "RANK", RENDER_ID},
	{"pid", "PID", RENDER_ID},
	{"process_id", NULL, RENDER_ID},
	{"kernels", "KERNELS", RENDER_COUNT},
	{"untimed", "UNTIMED", RENDER_COUNT},
	{"busy_ns", "BUSY ms", RENDER_NS_IN_MS},
	{"work_ns", "WORK ms", RENDER_NS_IN_MS},
	{"gpus", "GPUS", RENDER_TEXT},
	{"state", "STATE", RENDER_TEXT},
	{"leads", "LEADS", RENDER_BOOL},
	{"exe", "PROGRAM", RENDER_TEXT},
};

#define PROCESS_COLUMNS (sizeof(process_columns) / sizeof(process_columns[0]))

static void fill_process(const struct diagnose_process *p, struct render_value ret[PROCESS_COLUMNS])
{
	*ret++ = render_optional(p->first->has_rank, p->first->rank);
	*ret++ = render_integer(p->first->pid);
	*ret++ = render_integer(p->first->process_id);
	*ret++ = render_integer((int64_t)p->kernels);
	*ret++ = render_integer((int64_t)p->untimed);
	*ret++ = render_integer((int64_t)p->busy_ns);
	*ret++ = render_integer((int64_t)p->work_ns);
	*ret++ = render_text(p->gpus);
	*ret++ = render_text(p->first->state);
	*ret++ = render_integer(p->leads);
	*ret++ = render_text(p->first->exe);
}

static void put_processes(
	const struct diagnose *d, const struct verdict *verdict, enum render_format format)
{
	CLEANUP(render_free_p)
	struct render *render = render_new(stdout, format, process_columns, PROCESS_COLUMNS);
	struct render_value row[PROCESS_COLUMNS];

	render_set_width(render, render_terminal_width(STDOUT_FILENO, 0));
	render_tell_simulated(render, verdict->is_simulated);
	for (size_t i = 0; i < d->process_count; i++) {
		fill_process(d->processes + i, row);
		render_row(render, row);
	}
	render_finish(render);
}

static void put_findings(
	const struct diagnose *d, const struct verdict *verdict, enum render_format format)
{
	CLEANUP(render_free_p) struct render *render = render_new(stdout, format, columns, COLUMNS);
	struct render_value row[COLUMNS];

	render_set_width(render, render_terminal_width(STDOUT_FILENO, 0));
	render_tell_simulated(render, verdict->is_simulated);
	for (size_t i = 0; i < d->count; i++) {
		fill_row(d->findings + i, row);
		render_row(render, row);
	}
	render_finish(render);
}

static json_t *processes_json(const struct diagnose *d)
{
	struct render_value row[PROCESS_COLUMNS];
	json_t *array = json_array();

	for (size_t i = 0; i < d->process_count; i++) {
		fill_process(d->processes + i, row);
		json_array_append_new(
			array, render_json_row(process_columns, PROCESS_COLUMNS, row));
	}
	return array;
}

static void show_json(const struct diagnose *d, const struct verdict *verdict)
{
	struct render_value row[COLUMNS];
	json_t *document = json_object(), *findings = json_array();

	json_object_set_new(document, "schema", json_integer(1));
	json_object_set_new(document, "alike_pct", json_integer(DIAGNOSE_ALIKE_PCT));
	json_object_set_new(document, "processes", processes_json(d));
	json_object_set(document, "findings", findings);
	verdict_put_json(verdict, document);
	for (size_t i = 0; i < d->count; i++) {
		fill_row(d->findings + i, row);
		json_array_append_new(findings, render_json_row(columns, COLUMNS, row));
	}
	render_json(stdout, document, false);
	json_decref(findings);
	json_decref(document);
}

/* Prints what was compared, and how closely. */
static void put_alike(const struct diagnose *d)
{
	if (d->ranks < 2)
		puts("no finding: there are not two ranks to compare");
	else
		printf("all ranks did alike: kernels%s within %d %%%s\n",
			d->ranks_with_work == d->ranks ? " and work" : "", DIAGNOSE_ALIKE_PCT,
			d->ranks_with_work == d->ranks ? "" : "; their work is not known");
}

static void show_text(const struct diagnose *d, const struct verdict *verdict)
{

	color_put_verdict(stdout, verdict->line);
	if (d->process_count) {
		putchar('\n');
		put_processes(d, verdict, RENDER_TABLE);
	}
	if (d->others)
		printf("%zu process%s not lead %s rank: shown, not judged\n", d->others,
			d->others == 1 ? " does" : "es do", d->others == 1 ? "its" : "their");
	putchar('\n');
	if (d->count)
		put_findings(d, verdict, RENDER_TABLE);
	else
		put_alike(d);
}

static void show(
	const struct diagnose_cmd *o, const struct diagnose *d, const struct verdict *verdict)
{
	switch (o->verb.format) {
	case RENDER_JSON:
		show_json(d, verdict);
		break;
	case RENDER_CSV:
		if (o->csv_table == PROCESS_TABLE)
			put_processes(d, verdict, RENDER_CSV);
		else
			put_findings(d, verdict, RENDER_CSV);
		break;
	default:
		show_text(d, verdict);
	}
}

static bool has_missing_or_low(const struct diagnose *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->findings[i].level >= DIAGNOSE_LOW && !d->findings[i].is_of_kernels)
			return true;
	return false;
}

int cmd_diagnose(int argc, char **argv)
{
	struct diagnose_cmd o = {.verb.format = RENDER_TABLE};
	CLEANUP(import_temporary_done) struct import_temporary temporary = {0};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(summary_free_p) struct summary *summary = NULL;
	CLEANUP(steps_free_p) struct steps *steps = NULL;
	CLEANUP(leaders_free_p) struct leaders *leaders = NULL;
	CLEANUP(diagnose_free_p) struct diagnose *diagnose = NULL;
	char error[QUERY_ERROR_BYTES] = "";
	int r;

	opts_parse(&parser, argc, argv, OPTS_TABLE, &o);
	if (o.file_count) {
		if (import_temporary_make(o.files, o.file_count, &temporary) < 0)
			return CMD_BAD_INPUT;
		o.verb.name = temporary.path;
	}
	r = verb_open(&o.verb, &query);
	if (r)
		return r;
	r = trace_open(query, NULL, error, &trace);
	if (!r)
		trace_begin_progress(trace, "diagnose", 1);
	if (!r)
		r = summary_new(
			trace, &(struct summary_wishes){.measure.wants_work = true}, &summary);
	if (!r)
		r = steps_new_marked(query, NULL, error, &steps);
	if (!r)
		r = leaders_new(trace, summary->measure, steps, &leaders);
	if (r)
		return verb_fail(query, error);
	diagnose = diagnose_new(summary, leaders);
	progress_end();
	show(&o, diagnose, summary->verdict);
	return o.verb.is_strict && has_missing_or_low(diagnose) ? CMD_LOSSY : CMD_OK;
}
