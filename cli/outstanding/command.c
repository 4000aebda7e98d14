// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/outstanding/outstanding.h"
#include "cli/database/session/verb.h"
#include "proto/base/cleanup.h"

static const struct argp_option options[] = {
	VERB_JSON,
	VERB_CSV("comma-separated values with a title line"),
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return verb_parse(key, arg, state->input);
}

static const struct argp parser = {options, parse, "[FILE|SESSION]",
	"What each rank waits in, while it lives or when it died: kernel or collective, queue, "
	"since "
	"when; and which rank is the odd one out."
	"\vThe first line names it, with what was seen of it. A wait counts from one second on. "
	"\">\": "
	"a rank that stands out. #: the number of the dispatch in its queue. BEHIND: dispatches "
	"that "
	"wait for it there. Of a job that runs the file has what has not got on for a second; rtl "
	"stat "
	"--outstanding has the collector look now. Exit status: 0; 1: no such file or session.",
	NULL, NULL, NULL};

int cmd_outstanding(int argc, char **argv)
{
	struct verb o = {.format = RENDER_TABLE};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(trace_free_p) struct trace *trace = NULL;
	CLEANUP(outstanding_free_p) struct outstanding *outstanding = NULL;
	char error[QUERY_ERROR_BYTES] = "";

	opts_parse(&parser, argc, argv, OPTS_TABLE, &o);
	if (verb_open(&o, &query))
		return CMD_BAD_INPUT;
	if (trace_open(query, NULL, error, &trace) || outstanding_new(trace, &outstanding))
		return verb_fail(query, error);
	outstanding_show(outstanding, o.format, render_terminal_width(STDOUT_FILENO, 100), stdout);
	return CMD_OK;
}
