// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/base/options.h"
#include "cli/database/verb.h"
#include "cli/export/chrome_json.h"
#include "cli/output/output_file.h"
#include "proto/base/cleanup.h"

enum { KEY_CHROME_JSON = 0x500, KEY_RANKS, KEY_GPUS };

static const struct argp_option options[] = {
	{"chrome-json", KEY_CHROME_JSON, "OUT", 0,
		"Chrome's trace event format, for Perfetto's UI, chrome://tracing and TraceLens; - "
		"is "
		"stdout",
		0},
	{"force", 'f', NULL, 0, "overwrite OUT", 0},
	{"ranks", KEY_RANKS, "LIST", 0, "these ranks only: 0,3-5", 0},
	{"gpus", KEY_GPUS, "LIST", 0, "kernels and copies of these GPUs only, by gpuId: 0-3", 0},
	VERB_STRICT,
	{0},
};

struct export_cmd {
	struct verb verb;
	struct export_options what;
	const char *out;
	bool is_forced;
};

static void take_list(const char *name, const char *text, struct choice_list *ret)
{
	if (choice_parse_list(text, ret))
		opts_error("--%s=%s: not a list of numbers, as in 0,3-5", name, text);
}

static void take_out(const char *out, struct export_cmd *o)
{
	size_t length = strlen(out);

	if (length > 3 && !strcmp(out + length - 3, ".gz"))
		opts_error("--chrome-json=%s: is not written compressed; name it without .gz, then "
			   "gzip it",
			out);
	o->out = out;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct export_cmd *o = state->input;

	switch (key) {
	case KEY_CHROME_JSON:
		take_out(arg, o);
		return 0;
	case 'f':
		o->is_forced = true;
		return 0;
	case KEY_RANKS:
		take_list("ranks", arg, &o->what.ranks);
		return 0;
	case KEY_GPUS:
		take_list("gpus", arg, &o->what.gpus);
		return 0;
	case ARGP_KEY_END:
		(void)verb_parse(key, arg, &o->verb);
		if (!o->out || !*o->out)
			opts_error("needs --chrome-json OUT");
		return 0;
	default:
		return verb_parse(key, arg, &o->verb);
	}
}

static const struct argp parser = {options, parse, "[FILE|SESSION]",
	"What was recorded, in a format that others read: kernels, copies, host calls and roctx "
	"ranges, to the nanosecond. What the format has no place for is counted on stderr.",
	NULL, NULL, NULL};

/* A document must not take the place of what it is made of. */
static int check_output(const struct export_cmd *o, const struct query *query)
{
	struct stat out, in;
	int r = output_file_check(o->out, o->is_forced, &out);

	if (r <= 0)
		return r;
	if (stat(query_path(query), &in) || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
		return 0;
	say("%s: is the database; name another file", o->out);
	return -EEXIST;
}

/* Before the first row, as it stands in the names of the processes. */
static int make_verdict(struct query *query, struct verdict **ret)
{
	int64_t count = 0;
	int r = query_number(query, "export_dispatch_count", 0, &count);
	uint64_t rows = (uint64_t)count;

	return r ? r : verdict_new(query, &rows, ret);
}

static void tell_left_out(const struct chrome_json_left_out *left_out)
{
	const struct {
		uint64_t count;
		const char *what;
	} parts[] = {
		{left_out->untimed_kernels, "kernels without times"},
		{left_out->outstanding, "kernels that had not ended"},
		{left_out->untimed_copies, "copies without times"},
		{left_out->open_ranges, "ranges that had not ended"},
		{left_out->impossible, "rows with impossible times or numbers"},
		{left_out->crossing, "events that overlap more than 64 others"},
	};
	char line[512];
	size_t fill = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i].count)
			fill += (size_t)snprintf(line + fill, sizeof(line) - fill,
				"%s%" PRIu64 " %s", fill ? ", " : "", parts[i].count,
				parts[i].what);
	if (fill)
		say("left out: %s", line);
}

int cmd_export(int argc, char **argv)
{
	struct export_cmd o = {0};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(verdict_free_p) struct verdict *verdict = NULL;
	CLEANUP(output_file_done) struct output_file output = {0};
	struct chrome_json_left_out left_out = {0};
	uint64_t bytes;

	opts_parse(&parser, argc, argv, 0, &o);
	if (verb_open(&o.verb, &query) || check_output(&o, query))
		return CMD_BAD_INPUT;
	if (make_verdict(query, &verdict))
		return verb_fail(query, NULL);
	if (output_file_open(o.out, &output))
		return CMD_BAD_INPUT;
	if (chrome_json_write(query, verdict, &o.what, output.to, &left_out))
		return verb_fail(query, NULL);
	if (output_file_publish(&output, &bytes))
		return CMD_BAD_INPUT;
	tell_left_out(&left_out);
	if (!verdict->is_complete)
		say("%s", verdict->line);
	if (output.to != stdout)
		say("wrote %s (%.1f MB): open it in ui.perfetto.dev or chrome://tracing", o.out,
			(double)bytes / 1e6);
	return verb_check(&o.verb, verdict);
}
