// SPDX-License-Identifier: MIT
#include <unistd.h>

#include "cli/base/color.h"
#include "cli/base/command.h"
#include "cli/info/counters.h"
#include "cli/database/query_table.h"
#include "cli/database/session/verb.h"
#include "proto/base/cleanup.h"

struct info_options {
	struct verb verb;
	bool has_counters, has_clocks;
};

enum { KEY_COUNTERS = 0x500, KEY_CLOCKS };

static const struct argp_option options[] = {
	{"counters", KEY_COUNTERS, NULL, 0,
		"the diagnostic counters of each process, what differs between them, and their "
		"check",
		0},
	{"clocks", KEY_CLOCKS, NULL, 0, "the error of the clock of each process and GPU", 0},
	{"json", 'j', NULL, 0, "one document with everything, counters included", 0},
	{"csv", 'c', NULL, 0, "comma-separated values with a title line; with --clocks", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct info_options *o = state->input;

	switch (key) {
	case KEY_COUNTERS:
		o->has_counters = true;
		return 0;
	case KEY_CLOCKS:
		o->has_clocks = true;
		return 0;
	case 'j':
		verb_take_format(&o->verb.format, RENDER_JSON);
		return 0;
	case 'c':
		verb_take_format(&o->verb.format, RENDER_CSV);
		return 0;
	case ARGP_KEY_END:
		(void)opts_file(key, arg, &o->verb.name);
		if (o->has_counters && o->has_clocks)
			opts_error("--counters and --clocks do not go together: give one of them");
		if (o->verb.format == RENDER_CSV && !o->has_clocks)
			opts_error("--csv goes with --clocks");
		return 0;
	default:
		return opts_file(key, arg, &o->verb.name);
	}
}

static const struct argp parser = {options, parse, "[FILE|SESSION]",
	"What a session database says of its session, processes, GPUs and clocks.", NULL, NULL,
	NULL};

/* Same order as the columns of sql/<name>.sql. */
static const struct render_column meta_columns[] = {
	{"key", "KEY", RENDER_TEXT},
	{"value", "VALUE", RENDER_TEXT},
};

static const struct render_column session_columns[] = {
	{"name", "NAME", RENDER_TEXT},
	{"job", "JOB", RENDER_TEXT},
	{"uid", "USER", RENDER_USER},
	{"command", NULL, RENDER_TEXT},
	{"host", "HOST", RENDER_TEXT},
	{"start_ns", NULL, RENDER_ID},
	{"start_realtime_ns", NULL, RENDER_ID},
	{"end_ns", NULL, RENDER_ID},
	{"exit_status", "EXIT", RENDER_ID},
	{"started", "STARTED (UTC)", RENDER_TEXT},
	{"took_ns", "TOOK s", RENDER_NS_IN_S},
};

static const struct render_column process_columns[] = {
	{"process_id", NULL, RENDER_ID},
	{"rank", "RANK", RENDER_ID},
	{"local_rank", "LOCAL", RENDER_ID},
	{"world_size", "WORLD", RENDER_ID},
	{"pid", "PID", RENDER_ID},
	{"launcher", "LAUNCHER", RENDER_TEXT},
	{"attempt", NULL, RENDER_ID},
	{"exe", NULL, RENDER_TEXT},
	{"host", NULL, RENDER_TEXT},
	{"uid", NULL, RENDER_ID},
	{"ended", "ENDED", RENDER_TEXT},
	{"exit_status", "EXIT", RENDER_ID},
	{"drained", "DRAINED", RENDER_BOOL},
	{"mode", "MODE", RENDER_TEXT},
	{"front_end", "FRONT END", RENDER_TEXT},
	{"runtime", NULL, RENDER_TEXT},
	{"shim_version", "SHIM", RENDER_TEXT},
	{"start_ns", NULL, RENDER_ID},
	{"hw_frame", "FRAMES", RENDER_COUNT},
	{"duplicate_frames", "AGAIN", RENDER_COUNT},
	{"job", NULL, RENDER_TEXT},
	{"command", "COMMAND", RENDER_TEXT},
	{"queues_created", NULL, RENDER_COUNT},
	{"dispatched", NULL, RENDER_COUNT},
};

static const struct render_column gpu_columns[] = {
	{"gpuId", "GPU", RENDER_ID},
	{"kfd_node", "KFD NODE", RENDER_ID},
	{"kfd_gpu_id", "KFD ID", RENDER_ID},
	{"domain", NULL, RENDER_ID},
	{"bdf", "BDF", RENDER_TEXT},
	{"unique_id", "UNIQUE ID", RENDER_TEXT},
	{"partition", "PART", RENDER_ID},
	{"gfx", "GFX", RENDER_TEXT},
	{"name", "NAME", RENDER_TEXT},
};

static const struct render_column clock_columns[] = {
	{"process_id", NULL, RENDER_ID},
	{"rank", "RANK", RENDER_ID},
	{"gpuId", "GPU", RENDER_ID},
	{"anchors", "ANCHORS", RENDER_COUNT},
	{"anchors_kept", NULL, RENDER_COUNT},
	{"tick_hz", "TICK Hz", RENDER_COUNT},
	{"span_ns", "SPAN s", RENDER_NS_IN_S},
	{"measured_hz", "MEASURED Hz", RENDER_COUNT},
	{"drift_ppm", "PPM", RENDER_TENTHS},
	{"residual_ns", "RESIDUAL us", RENDER_NS_IN_US},
	{"error_ns", "ERROR us", RENDER_NS_IN_US},
	{"realtime_offset_ns", "REALTIME - BOOTTIME ns", RENDER_ID},
	{"realtime_moved_ns", "MOVED us", RENDER_NS_IN_US},
	{"steps", "STEPS", RENDER_COUNT},
	{"regressions", "BACK", RENDER_COUNT},
	{"refused", "REFUSED", RENDER_COUNT},
	{"early", "EARLY", RENDER_COUNT},
	{"early_max_ns", "EARLY MAX us", RENDER_NS_IN_US},
};

static const struct render_column copy_columns[] = {
	{"process_id", NULL, RENDER_ID},
	{"rank", "RANK", RENDER_ID},
	{"direction", "DIRECTION", RENDER_TEXT},
	{"source_gpuId", "FROM GPU", RENDER_ID},
	{"target_gpuId", "TO GPU", RENDER_ID},
	{"how", "HOW", RENDER_TEXT},
	{"calls", "COPIES", RENDER_COUNT},
	{"bytes", "BYTES", RENDER_COUNT},
	{"timed", "TIMED", RENDER_COUNT},
	{"total_ns", "TOTAL ms", RENDER_NS_IN_MS},
	{"gb_per_s", "GB/s", RENDER_TENTHS},
};

static const struct render_column metric_columns[] = {
	{"process_id", NULL, RENDER_ID},
	{"rank", "RANK", RENDER_ID},
	{"name", "METRIC", RENDER_TEXT},
	{"count", "MARKS", RENDER_COUNT},
	{"last", "LAST", RENDER_ANY},
	{"min", "MIN", RENDER_ANY},
	{"max", "MAX", RENDER_ANY},
};

static const struct render_column name_columns[] = {
	{"process_id", NULL, RENDER_ID},
	{"rank", "RANK", RENDER_ID},
	{"kind", "OF", RENDER_TEXT},
	{"subject", "WHICH", RENDER_ID},
	{"name", "NAME", RENDER_TEXT},
};

static const struct render_column recording_columns[] = {
	{"process_id", NULL, RENDER_ID},
	{"rank", "RANK", RENDER_ID},
	{"pid", "PID", RENDER_ID},
	{"from_ns", NULL, RENDER_ID},
	{"to_ns", NULL, RENDER_ID},
	{"after_ns", "AFTER s", RENDER_NS_IN_S},
	{"for_ns", "FOR s", RENDER_NS_IN_S},
	{"why", "BEGUN BY", RENDER_TEXT},
	{"end_why", "ENDED BY", RENDER_TEXT},
};

static const struct render_column loss_columns[] = {
	{"process_id", NULL, RENDER_ID},
	{"rank", "RANK", RENDER_ID},
	{"pid", "PID", RENDER_ID},
	{"reason", "REASON", RENDER_TEXT},
	{"count", "COUNT", RENDER_COUNT},
	{"from_ns", NULL, RENDER_ID},
	{"to_ns", NULL, RENDER_ID},
};

static const struct render_column loss_interval_columns[] = {
	{"process_id", NULL, RENDER_ID},
	{"rank", "RANK", RENDER_ID},
	{"pid", "PID", RENDER_ID},
	{"gpuId", "GPU", RENDER_ID},
	{"queueId", "QUEUE", RENDER_ID},
	{"reason", "REASON", RENDER_TEXT},
	{"count", "COUNT", RENDER_COUNT},
	{"from_ns", NULL, RENDER_ID},
	{"to_ns", NULL, RENDER_ID},
	{"from", "FROM (UTC)", RENDER_TEXT},
	{"for_ns", "WITHIN s", RENDER_NS_IN_S},
	{"first_seq", "FIRST #", RENDER_ID},
	{"last_seq", "LAST #", RENDER_ID},
};

#define CLOCK_COLUMNS (sizeof(clock_columns) / sizeof(clock_columns[0]))

static const struct {
	const char *query, *key, *title;
	const struct render_column *columns;
	size_t count;
} parts[] = {
#define PART(query, key, title, columns)                                                           \
	{                                                                                          \
		query, key, title, columns, sizeof(columns) / sizeof(columns[0])                   \
	}
	PART("losses", "losses", "LOSSES", loss_columns),
	PART("loss_intervals", "loss_intervals", "LOSSES BY QUEUE AND TIME", loss_interval_columns),
	PART("sessions", "sessions", "SESSION", session_columns),
	PART("meta", "meta", "META", meta_columns),
	PART("processes", "processes", "PROCESSES", process_columns),
	PART("gpus", "gpus", "GPUS", gpu_columns),
	PART("clocks", "clocks", "CLOCKS", clock_columns),
	PART("recordings", "recordings", "RECORDING", recording_columns),
	PART("copies_of_ranks", "copies", "COPIES", copy_columns),
	PART("metrics", "metrics", "METRICS", metric_columns),
	PART("names", "names", "NAMES", name_columns),
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static void json_free_p(json_t **document)
{
	json_decref(*document);
}

static int show_json(struct query *query, const struct verdict *verdict)
{
	json_t *document = json_object();
	int r = 0;

	json_object_set_new(document, "schema", json_integer(1));
	verdict_put_json(verdict, document);
	for (size_t i = 0; !r && i < PARTS; i++)
		r = question_put_json(query, parts[i].query, parts[i].key, parts[i].columns,
			parts[i].count, document);
	if (!r)
		r = diagnostic_put_json(query, document);
	if (!r)
		render_json(stdout, document, false);
	json_decref(document);
	return r;
}

static int show_tables(struct query *query, const struct verdict *verdict)
{
	size_t width = render_terminal_width(STDOUT_FILENO, 160);
	int r = 0;

	color_put_verdict(stdout, verdict->line);
	for (size_t i = 0; !r && i < PARTS; i++)
		r = question_show(query, parts[i].query, parts[i].title, parts[i].columns,
			parts[i].count, width, stdout);
	return r;
}

static int show_clocks(
	struct query *query, const struct verdict *verdict, const struct info_options *o)
{
	CLEANUP(json_free_p) json_t *document = NULL;
	int r;

	if (o->verb.format == RENDER_CSV)
		return question_put_csv(query, "clocks", clock_columns, CLOCK_COLUMNS,
			verdict->is_simulated, stdout);
	if (o->verb.format != RENDER_JSON) {
		color_put_verdict(stdout, verdict->line);
		return question_show(query, "clocks", "CLOCKS", clock_columns, CLOCK_COLUMNS,
			render_terminal_width(STDOUT_FILENO, 200), stdout);
	}
	document = json_object();
	json_object_set_new(document, "schema", json_integer(1));
	verdict_put_json(verdict, document);
	r = question_put_json(query, "clocks", "clocks", clock_columns, CLOCK_COLUMNS, document);
	if (!r)
		render_json(stdout, document, false);
	return r;
}

static int show(struct query *query, const struct verdict *verdict, const struct info_options *o)
{
	if (o->has_clocks)
		return show_clocks(query, verdict, o);
	if (o->verb.format == RENDER_JSON)
		return show_json(query, verdict);
	if (!o->has_counters)
		return show_tables(query, verdict);
	color_put_verdict(stdout, verdict->line);
	return diagnostic_show(query, render_terminal_width(STDOUT_FILENO, 0), stdout);
}

int cmd_info(int argc, char **argv)
{
	struct info_options o = {0};
	CLEANUP(query_free_p) struct query *query = NULL;
	CLEANUP(verdict_free_p) struct verdict *verdict = NULL;
	int r;

	opts_parse(&parser, argc, argv, OPTS_TABLE, &o);
	if (verb_open(&o.verb, &query))
		return CMD_BAD_INPUT;
	r = verdict_new(query, NULL, &verdict);
	if (!r)
		r = show(query, verdict, &o);
	return r ? verb_fail(query, NULL) : CMD_OK;
}
