// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/find.h"
#include "cli/opts.h"
#include "cli/say.h"
#include "cli/summary.h"
#include "proto/cleanup.h"

#define SUMMARY_KERNELS 20

enum { KEY_BY = 0x500, KEY_CATEGORIES };

static const struct argp_option options[] = {
	{"top", 'n', "COUNT", 0, "so many kernels in the table (20); 0: all", 0},
	{"strict", 's', NULL, 0, "exit 3 when anything is missing, or nothing was dispatched", 0},
	{"by", KEY_BY, "category", 0, "kernels summed by what kind of work they are", 0},
	{"categories", KEY_CATEGORIES, "FILE", 0,
		"rules that say so, before those of the session (else RTL_CATEGORIES)", 0},
	{"json", 'j', NULL, 0, "one document with everything", 0},
	{"csv", 'c', "TABLE", OPTION_ARG_OPTIONAL,
		"one table: kernels (default), ranks, gpus, losses, copies, metrics, host_calls, "
		"collectives, categories or reason",
		0},
	{0},
};

struct summary_cmd {
	struct summary_options show;
	const char *name, *categories;
	bool is_strict;
};

static enum summary_table parse_table(const char *text)
{
	static const char *const names[] = {"kernels", "ranks", "gpus", "losses", "copies",
		"metrics", "host_calls", "collectives", "categories", "reason"};

	for (size_t i = 0; text && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(text, names[i]))
			return (enum summary_table)i;
	if (text)
		opts_error("--csv=%s: not kernels, ranks, gpus, losses, copies, metrics, "
			   "host_calls, collectives, categories or reason",
			text);
	return SUMMARY_KERNEL_TABLE;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct summary_cmd *o = state->input;

	switch (key) {
	case 'n':
		o->show.kernels = opts_u64("top", arg, 0, UINT32_MAX);
		return 0;
	case KEY_BY:
		if (strcmp(arg, "category"))
			opts_error("--by %s: only category", arg);
		o->show.by_category = true;
		return 0;
	case KEY_CATEGORIES:
		o->categories = arg;
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
	case ARGP_KEY_ARG:
		if (o->name)
			opts_error("one FILE or SESSION at a time");
		o->name = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->name)
			opts_error("needs FILE or SESSION; rtl ls lists sessions");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp parser = {options, parse, "FILE|SESSION",
	"Whether everything was recorded, the top kernels, every rank and GPU, what is missing, "
	"and "
	"in one sentence why the job is slow.",
	NULL, NULL, NULL};

int cmd_summary(int argc, char **argv)
{
	struct summary_cmd o = {.show = {.format = RENDER_TABLE, .kernels = SUMMARY_KERNELS}};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(summary_free_p) struct summary *summary = NULL;
	char error[QUERY_ERROR_BYTES];

	opts_parse(&parser, argc, argv, 0, &o);
	if (find_open(o.name, error, &query)) {
		say("%s", error);
		return CMD_BAD_INPUT;
	}
	if (summary_new(query, &summary)) {
		say("%s", query_error(query)[0] ? query_error(query) : "out of memory");
		return CMD_BAD_INPUT;
	}
	if (summary_add_categories(query, o.categories, summary, error) ||
		summary_add_reason(query, o.categories, summary, error)) {
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
