// SPDX-License-Identifier: MIT
/* The outputs of the formats, and the texts that several formats share. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/message.h"
#include "cli/export/rows/format.h"
#include "cli/output/gzip_stream.h"
#include "cli/output/table.h"
#include "proto/base/cleanup.h"

/* ---- outputs -------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), ending = strlen(end);

	return length > ending && !strcmp(text + length - ending, end);
}

int export_writer_open(struct export_writer *writer)
{
	const struct export_format *format = writer->format;
	int r;

	writer->state = calloc(1, format->state_bytes + 1);
	if (!writer->state) {
		say("out of memory");
		return -ENOMEM;
	}
	if (format->kind == EXPORT_FOLDER)
		return output_folder_open(writer->out, &writer->folder);
	r = output_file_open(writer->out, &writer->file);
	if (r)
		return r;
	writer->to = writer->file.to;
	if (!format->is_compressible || !ends_with(writer->out, ".gz"))
		return 0;
	writer->to = gzip_stream_open(writer->file.to);
	if (writer->to)
		return 0;
	say("out of memory");
	return -ENOMEM;
}

int export_writer_close(struct export_writer *writer)
{
	FILE *to = writer->to;
	bool is_bad;

	if (!to || to == writer->file.to)
		return 0;
	is_bad = ferror(to);
	writer->to = NULL;
	if (!fclose(to) && !is_bad)
		return 0;
	say("%s: cannot write: %m", writer->out);
	return -EIO;
}

int export_writer_publish(struct export_writer *writer)
{
	if (writer->format->kind == EXPORT_FOLDER) {
		writer->bytes = writer->folder.bytes;
		return output_folder_publish(&writer->folder);
	}
	if (writer->format->kind == EXPORT_DATABASE)
		(void)fseek(writer->file.to, 0, SEEK_END); /* SQLite wrote the file */
	return output_file_publish(&writer->file, &writer->bytes);
}

void export_writer_done(struct export_writer *writer)
{
	/* Without a source the format has not begun. */
	if (writer->state && writer->source && writer->format->done)
		writer->format->done(writer);
	if (writer->to && writer->to != writer->file.to)
		fclose(writer->to);
	output_file_done(&writer->file);
	output_folder_done(&writer->folder);
	free(writer->state);
}

/* ---- losses --------------------------------------------------------------------------------- */

static const struct {
	const char *key, *words;
} losses[EXPORT_LOSSES] = {
	[EXPORT_UNTIMED_KERNELS] = {"untimed_kernels", "kernels without times"},
	[EXPORT_OUTSTANDING] = {"outstanding_kernels", "kernels that had not ended"},
	[EXPORT_UNTIMED_COPIES] = {"untimed_copies", "copies without times"},
	[EXPORT_OPEN_RANGES] = {"open_ranges", "ranges that had not ended"},
	[EXPORT_IMPOSSIBLE] = {"impossible", "rows with impossible times or numbers"},
	[EXPORT_CROSSING] = {"crossing", "events that overlap more than 64 others"},
	[EXPORT_COPIES] = {"copies", "copies"},
	[EXPORT_CALLS] = {"host_calls", "host calls"},
	[EXPORT_RANGES] = {"ranges", "ranges and marks"},
	[EXPORT_OPS] = {"operations", "operations of a framework"},
	[EXPORT_METRICS] = {"metrics", "metrics"},
	[EXPORT_COLLECTIVES] = {"collectives", "collectives that share a launch with another one"},
	[EXPORT_RANKS] = {"processes_without_rank", "processes without a rank"},
	[EXPORT_OUTSIDE] = {"outside", "times outside of all steps"},
	[EXPORT_RENAMED] = {"renamed", "names whose quotes or backslashes were replaced"},
};

const char *export_loss_key(enum export_loss loss)
{
	return losses[loss].key;
}

const char *export_loss_words(enum export_loss loss)
{
	return losses[loss].words;
}

/* ---- texts ---------------------------------------------------------------------------------- */

void export_put_us(FILE *to, int64_t ns)
{
	fprintf(to, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
}

void export_label(const struct export_source *source, const struct export_process *process,
	char ret[EXPORT_LABEL_BYTES])
{
	const char *label = verdict_label(source->verdict);
	char rank[32] = "";

	if (process->has_rank)
		snprintf(rank, sizeof(rank), "rank %" PRId64 " ", process->rank);
	snprintf(ret, EXPORT_LABEL_BYTES, "%s%s%s%s",
		source->verdict->is_simulated ? "SIMULATED " : "", label ? label : "",
		label ? " " : "", rank);
}

static json_t *left_out_json(const uint64_t lost[EXPORT_LOSSES])
{
	json_t *object = json_object();
	int bad = !object;

	/* The first losses apply to every format and are always listed; the others only if they
	 * occurred. */
	for (int i = 0; i < EXPORT_LOSSES && !bad; i++)
		if (i < EXPORT_COPIES || lost[i])
			bad = json_object_set_new(
				object, losses[i].key, json_integer((json_int_t)lost[i]));
	if (!bad)
		return object;
	json_decref(object);
	return NULL;
}

int export_put_left_out(FILE *to, const struct export_writer *writer)
{
	json_t *object = left_out_json(writer->lost);

	if (object)
		render_json_value(to, object, JSON_COMPACT);
	json_decref(object);
	return object ? 0 : -ENOMEM;
}

int export_put_metadata(FILE *to, const struct export_writer *writer, bool has_left_out)
{
	const struct export_source *source = writer->source;
	json_t *object = json_object();
	const char *name = source->session;
	int bad = json_object_set_new(object, "session", render_json_text(name, strlen(name)));

	bad |= json_object_set_new(object, "start_ns", json_integer(source->start_ns));
	bad |= json_object_set_new(
		object, "start_realtime_ns", json_integer(source->start_realtime_ns));
	bad |= json_object_set_new(object, "rtl_version", json_string(RTL_VERSION));
	if (has_left_out)
		bad |= json_object_set_new(object, "left_out", left_out_json(writer->lost));
	verdict_put_json(source->verdict, object);
	render_json_value(to, object, JSON_COMPACT);
	json_decref(object);
	return bad ? -ENOMEM : 0;
}

int64_t export_workgroups(int64_t grid, int64_t workgroup)
{
	return workgroup > 0 ? grid / workgroup + (grid % workgroup > 0) : grid;
}

const char *export_collective_name(const struct export_name *function)
{
	static const char *const names[][2] = {
		{"ncclAllReduce", "allreduce"},
		{"ncclReduceScatter", "_reduce_scatter_base"},
		{"ncclAllGather", "_allgather_base"},
		{"ncclAllToAll", "all_to_all"},
		{"ncclAlltoAll", "all_to_all"},
		{"ncclAllToAllv", "all_to_allv"},
		{"ncclAlltoAllv", "all_to_allv"},
		{"ncclBroadcast", "broadcast"},
		{"ncclBcast", "broadcast"},
		{"ncclReduce", "reduce"},
		{"ncclSend", "send"},
		{"ncclRecv", "recv"},
		{"ncclGather", "gather"},
		{"ncclScatter", "scatter"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i][0], function->text))
			return names[i][1];
	return function->text;
}
