// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/find.h"
#include "cli/opts.h"
#include "cli/outstanding.h"
#include "cli/say.h"
#include "proto/cleanup.h"

struct outstanding_cmd {
	const char *name;
	enum render_format format;
};

static const struct argp_option options[] = {
	{"json", 'j', NULL, 0, "one document with everything", 0},
	{"csv", 'c', NULL, 0, "comma-separated values with a title line", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct outstanding_cmd *o = state->input;

	switch (key) {
	case 'j':
		o->format = RENDER_JSON;
		return 0;
	case 'c':
		o->format = RENDER_CSV;
		return 0;
	default:
		return opts_file(key, arg, &o->name);
	}
}

static const struct argp parser = {options, parse, "FILE|SESSION",
	"What each rank waits in, while it lives or when it died: kernel or collective, queue, since "
	"when; and who is the odd one out."
	"\vThe first line names it, with what was seen of it. A wait counts from one second on. \">\": "
	"a rank that stands out. #: the number of the dispatch in its queue. BEHIND: dispatches that "
	"wait for it there. Of a job that runs the file has what has not got on for a second; rtl stat "
	"--outstanding has the collector look now. Exit status: 0; 1: no such file or session.",
	NULL, NULL, NULL};

int cmd_outstanding(int argc, char **argv)
{
	struct outstanding_cmd o = {.format = RENDER_TABLE};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(outstanding_free_p) struct outstanding *outstanding = NULL;
	char error[QUERY_ERROR_BYTES];

	opts_parse(&parser, argc, argv, 0, &o);
	if (find_open(o.name, error, &query)) {
		say("%s", error);
		return CMD_BAD_INPUT;
	}
	if (outstanding_new(query, error, &outstanding)) {
		say("%s", error[0]		     ? error
			  : query_error(query)[0] ? query_error(query)
						     : "out of memory");
		return CMD_BAD_INPUT;
	}
	if (outstanding_show(outstanding, o.format, render_terminal_width(STDOUT_FILENO, 100),
		    stdout)) {
		say("out of memory");
		return CMD_BAD_INPUT;
	}
	return CMD_OK;
}
