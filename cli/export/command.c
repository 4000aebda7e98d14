// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/message.h"
#include "cli/base/wrapping.h"
#include "cli/base/options.h"
#include "cli/database/session/verb.h"
#include "cli/export/rows/pass.h"
#include "proto/base/cleanup.h"

/* There are fewer formats, and each may be given once. */
#define FORMATS_MAX 16
#define FILES_MAX   16
#define TIME_MAX_NS ((uint64_t)INT64_MAX / 4)

enum { KEY_FORMAT = 0x500, KEY_FROM = KEY_FORMAT + FORMATS_MAX, KEY_TO, KEY_LABEL };

static const struct argp_option common_options[] = {
	{"force", 'f', NULL, 0, "overwrite what is there", 0},
	{"ranks", 'r', "LIST", 0, "these ranks only: 0,3-5", 0},
	{"gpus", 'g', "LIST", 0, "kernels and copies of these GPUs only, by gpuId: 0-3", 0},
	{"from", KEY_FROM, "SECONDS", 0,
		"only what ends at or after this time, in seconds since the session began", 0},
	{"to", KEY_TO, "SECONDS", 0, "only what begins until this time", 0},
	{"label", KEY_LABEL, "TEXT", 0,
		"of --aorta: what to call a FILE, in their order (default: its session)", 0},
	VERB_STRICT,
	{0},
};
#define COMMON_OPTIONS (sizeof(common_options) / sizeof(*common_options))

/* A database and what is known of it before its first row. */
struct input {
	struct query *query;
	struct verdict *verdict;
	struct export_source source;
};

struct export_cmd {
	struct verb verb;
	const char *names[FILES_MAX], *labels[FILES_MAX];
	size_t name_count, label_count;
	struct input inputs[FILES_MAX];
	size_t input_count;
	struct export_options what;
	struct export_writer writers[FORMATS_MAX];
	size_t count;
	bool is_forced;
};

static void take_time(const char *name, const char *text, bool *has, int64_t *ret)
{
	*ret = (int64_t)opts_seconds(name, text, 0, TIME_MAX_NS);
	*has = true;
}

static void take_out(struct export_cmd *o, const struct export_format *format, const char *out)
{
	size_t length = strlen(out);
	bool is_stream = format->kind == EXPORT_FILE;

	if (!length)
		opts_error("--%s: the name is empty", format->option);
	if (!strcmp(out, "-") && !is_stream)
		opts_error("--%s=-: writes more than a stream; name a %s", format->option,
			format->kind == EXPORT_FOLDER ? "folder" : "file");
	if (!is_stream && length > 3 && !strcmp(out + length - 3, ".gz"))
		opts_error("--%s=%s: is not written compressed; name it without .gz",
			format->option, out);
	for (size_t i = 0; i < o->count; i++) {
		if (o->writers[i].format == format)
			opts_error("--%s: is given twice", format->option);
		if (!strcmp(o->writers[i].out, out))
			opts_error("--%s=%s: is the output of --%s, too", format->option, out,
				o->writers[i].format->option);
	}
	o->writers[o->count++] = (struct export_writer){.format = format, .out = out};
}

static void refuse_no_format(void)
{
	char names[256];
	size_t fill = 0;

	for (size_t i = 0; i < export_format_count; i++)
		fill += (size_t)snprintf(names + fill, sizeof(names) - fill, "%s--%s %s",
			i ? ", " : "", export_formats[i]->option, export_formats[i]->argument);
	opts_error("needs a format: %s", names);
}

static void take_label(struct export_cmd *o, const char *label)
{
	if (o->label_count == FILES_MAX)
		opts_error("at most %d FILEs", FILES_MAX);
	if (!*label || *label == '.' || strchr(label, '/'))
		opts_error("--label=%s: is to be the beginning of a file's name", label);
	for (size_t i = 0; i < o->label_count; i++)
		if (!strcmp(o->labels[i], label))
			opts_error("--label=%s: is given twice", label);
	o->labels[o->label_count++] = label;
}

static void take_name(struct export_cmd *o, const char *name)
{
	if (o->name_count == FILES_MAX)
		opts_error("at most %d FILEs", FILES_MAX);
	o->names[o->name_count++] = name;
}

static void check_options(const struct export_cmd *o)
{
	if (!o->count)
		refuse_no_format();
	if (o->what.has_from && o->what.has_to && o->what.to_ns < o->what.from_ns)
		opts_error("--to lies before --from");
	if (o->label_count && o->label_count != (o->name_count ? o->name_count : 1))
		opts_error("--label: one for each FILE, or none");
	for (size_t i = 0; i < o->count && o->name_count > 1; i++)
		if (!o->writers[i].format->takes_several)
			opts_error("one FILE or SESSION at a time; --aorta alone compares several");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct export_cmd *o = state->input;

	if (key >= KEY_FORMAT && (size_t)(key - KEY_FORMAT) < export_format_count) {
		take_out(o, export_formats[key - KEY_FORMAT], arg);
		return 0;
	}
	switch (key) {
	case 'f':
		o->is_forced = true;
		return 0;
	case 'r':
		opts_list("ranks", arg, &o->what.ranks);
		return 0;
	case 'g':
		opts_list("gpus", arg, &o->what.gpus);
		return 0;
	case KEY_FROM:
		take_time("from", arg, &o->what.has_from, &o->what.from_ns);
		return 0;
	case KEY_TO:
		take_time("to", arg, &o->what.has_to, &o->what.to_ns);
		return 0;
	case KEY_LABEL:
		take_label(o, arg);
		return 0;
	case ARGP_KEY_ARG:
		take_name(o, arg);
		return 0;
	case ARGP_KEY_END:
		check_options(o);
		return 0;
	default:
		return verb_parse(key, arg, &o->verb);
	}
}

static void parse_options(int argc, char **argv, struct export_cmd *o)
{
	struct argp_option options[FORMATS_MAX + COMMON_OPTIONS] = {0};
	const struct argp parser = {options, parse, "[FILE|SESSION...]",
		"What was recorded, in formats that others read, to the nanosecond; several at "
		"once are written in one reading of the file. What a format has no place for is "
		"counted on stderr.",
		NULL, NULL, NULL};

	for (size_t i = 0; i < export_format_count; i++)
		options[i] = (struct argp_option){.name = export_formats[i]->option,
			.key = KEY_FORMAT + (int)i,
			.arg = export_formats[i]->argument,
			.doc = export_formats[i]->help};
	memcpy(options + export_format_count, common_options, sizeof(common_options));
	opts_parse(&parser, argc, argv, 0, o);
}

/* An output must not replace the database that it is made from. */
static int check_output(
	const struct export_writer *writer, bool is_forced, const struct query *query)
{
	struct stat out, in;

	if (writer->format->kind == EXPORT_FOLDER)
		return output_folder_check(writer->out, is_forced, writer->format->files);
	if (strcmp(writer->out, "-") && !lstat(writer->out, &out) &&
		!stat(query_path(query), &in) && in.st_dev == out.st_dev &&
		in.st_ino == out.st_ino) {
		say("%s: is the database; name another file", writer->out);
		return -EEXIST;
	}
	return output_file_check_document(writer->out, is_forced);
}

/* The verdict is needed before the first row, because the names of the processes contain it. */
static int make_verdict(struct query *query, struct verdict **ret)
{
	int64_t count = 0;
	int r = query_number(query, "export_dispatch_count", 0, &count);
	uint64_t rows = (uint64_t)count;

	return r ? r : verdict_new(query, &rows, ret);
}

static void tell_left_out(const struct export_cmd *o, const struct export_writer *writer)
{
	char line[1024];
	size_t fill = 0;

	for (int i = 0; i < EXPORT_LOSSES; i++)
		if (writer->lost[i])
			fill += (size_t)snprintf(line + fill, sizeof(line) - fill,
				"%s%" PRIu64 " %s", fill ? ", " : "", writer->lost[i],
				export_loss_words((enum export_loss)i));
	if (fill && o->count > 1)
		say("--%s: left out: %s", writer->format->option, line);
	else if (fill)
		say("left out: %s", line);
}

static void export_cmd_done(struct export_cmd *o)
{
	for (size_t i = 0; i < o->input_count; i++) {
		export_source_done(&o->inputs[i].source);
		verdict_free_p(&o->inputs[i].verdict);
		query_free_p(&o->inputs[i].query);
	}
	for (size_t i = 0; i < o->count; i++)
		export_writer_done(o->writers + i);
}

static int write_rows(struct export_cmd *o, size_t dataset)
{
	const struct export_source *source = &o->inputs[dataset].source;

	for (size_t i = 0; i < o->count; i++) {
		o->writers[i].source = source;
		o->writers[i].label = o->labels[dataset];
		o->writers[i].dataset = dataset;
		o->writers[i].datasets = o->input_count;
	}
	switch (export_pass(o->writers, o->count)) {
	case 0:
		return 0;
	case -EIO: /* from a format, which has printed it, or from the database */
		return query_error(source->query)[0] ? verb_fail(source->query, NULL)
						     : CMD_BAD_INPUT;
	default:
		return verb_fail(source->query, NULL);
	}
}

/* Completes all outputs before the first one gets its name. Returns 0, or an exit status after
 * printing the reason. */
static int write_all(struct export_cmd *o)
{
	for (size_t i = 0; i < o->count; i++)
		if (export_writer_open(o->writers + i))
			return CMD_BAD_INPUT;
	for (size_t i = 0; i < o->input_count; i++) {
		int r = write_rows(o, i);

		if (r)
			return r;
	}
	for (size_t i = 0; i < o->count; i++)
		if (export_writer_close(o->writers + i))
			return CMD_BAD_INPUT;
	for (size_t i = 0; i < o->count; i++)
		if (export_writer_publish(o->writers + i))
			return CMD_BAD_INPUT;
	return CMD_OK;
}

static void tell(const struct export_cmd *o)
{
	for (size_t i = 0; i < o->count; i++)
		tell_left_out(o, o->writers + i);
	for (size_t i = 0; i < o->input_count; i++)
		if (!o->inputs[i].verdict->is_complete)
			say("%s%s%s", o->input_count > 1 ? o->names[i] : "",
				o->input_count > 1 ? ": " : "", o->inputs[i].verdict->line);
	for (size_t i = 0; i < o->count; i++)
		if (strcmp(o->writers[i].out, "-"))
			say("wrote %s (%.1f MB): %s", o->writers[i].out,
				(double)o->writers[i].bytes / 1e6, o->writers[i].format->use);
}

/* An empty file would look like a job that did nothing. Returns false after printing the reason. */
static bool check_choice(const struct export_source *source)
{
	const struct choice_list *gpus = &source->options->gpus;
	bool has_process = !source->options->ranks.count, has_gpu = !gpus->count;
	int64_t took_ns = wrap_minus(source->end_ns, source->start_ns);

	if (source->options->has_from && took_ns >= 0 && source->options->from_ns > took_ns) {
		say("nothing here is of the time after --from; the session took %.3f s",
			(double)took_ns / 1e9);
		return false;
	}
	for (size_t i = 0; i < source->process_count; i++)
		has_process |= export_has_process(source, source->processes + i);
	for (size_t i = 0; i < source->gpu_count; i++)
		has_gpu |= export_has_gpu(source, true, source->gpus[i].id);
	if (has_process && has_gpu)
		return true;
	say("nothing here is of the %s of --%s; rtl info lists those that there are",
		has_process ? "GPUs" : "ranks", has_process ? "gpus" : "ranks");
	return false;
}

/* Returns 0, or an exit status after printing the reason. */
static int open_input(struct export_cmd *o, const char *name)
{
	struct input *input = o->inputs + o->input_count;

	o->verb.name = name;
	if (verb_open(&o->verb, &input->query))
		return CMD_BAD_INPUT;
	o->input_count++;
	/* Jobs that are compared may have different ranks. */
	if (o->name_count <= 1 && verb_check_ranks(input->query, "ranks", &o->what.ranks))
		return CMD_BAD_INPUT;
	for (size_t i = 0; i < o->count; i++)
		if (check_output(o->writers + i, o->is_forced, input->query))
			return CMD_BAD_INPUT;
	if (make_verdict(input->query, &input->verdict) ||
		export_source_load(input->query, input->verdict, &o->what, &input->source))
		return verb_fail(input->query, NULL);
	return check_choice(&input->source) ? 0 : CMD_BAD_INPUT;
}

int cmd_export(int argc, char **argv)
{
	CLEANUP(export_cmd_done) struct export_cmd o = {0};
	int r = 0;

	parse_options(argc, argv, &o);
	for (size_t i = 0; i < (o.name_count ? o.name_count : 1) && !r; i++)
		r = open_input(&o, o.names[i]);
	if (!r)
		r = write_all(&o);
	if (r)
		return r;
	tell(&o);
	for (size_t i = 0; i < o.input_count && !r; i++)
		r = verb_check(&o.verb, o.inputs[i].verdict);
	return r;
}
