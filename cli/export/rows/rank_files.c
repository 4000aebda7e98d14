// SPDX-License-Identifier: MIT
#include "cli/export/rows/rank_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/base/message.h"

int rank_files_begin(const struct export_writer *writer, struct rank_files *ret)
{
	struct rlimit limit;

	/* With one file per rank, a thousand ranks need as many open files. */
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* on failure, opening a file reports it */
	}
	ret->items = calloc(writer->source->process_count + 1, sizeof(*ret->items));
	return ret->items ? 0 : -ENOMEM;
}

static bool is_taken(
	const struct export_writer *writer, const struct rank_files *files, const char *name)
{
	for (size_t i = 0; i < writer->source->process_count; i++)
		if (files->items[i].to && !strcmp(files->items[i].name, name))
			return true;
	return false;
}

/* Names the file by its rank. Several processes of a rank also have the pid; several with the same
 * pid, as in imports, also have the number that the database gave them. */
static void name_file(const struct export_writer *writer, const struct rank_files *files,
	struct rank_file *file, const char *suffix)
{
	const struct export_process *process = file->process;
	char rank[32] = "";

	if (process->has_rank) {
		snprintf(
			file->name, sizeof(file->name), "rank%" PRId64 "%s", process->rank, suffix);
		if (!is_taken(writer, files, file->name))
			return;
		snprintf(rank, sizeof(rank), "rank%" PRId64 "_", process->rank);
	}
	snprintf(file->name, sizeof(file->name), "%spid%" PRId64 "%s", rank, process->pid, suffix);
	if (is_taken(writer, files, file->name))
		snprintf(file->name, sizeof(file->name), "%spid%" PRId64 "_p%" PRId64 "%s", rank,
			process->pid, process->id, suffix);
}

int rank_files_get(struct export_writer *writer, struct rank_files *files,
	const struct export_process *process, const char *suffix, struct rank_file **ret)
{
	struct rank_file *file = files->items + process->index;

	*ret = file;
	if (file->to)
		return 0;
	file->process = process;
	name_file(writer, files, file, suffix);
	if (!process->has_rank)
		say("%s/%s: the rank of process %" PRId64 " is not known; the file has its pid",
			writer->out, file->name, process->pid);
	file->to = output_folder_create(&writer->folder, file->name);
	return file->to ? 1 : -EIO;
}

int rank_files_end(struct export_writer *writer, struct rank_files *files,
	void (*last)(struct rank_file *file))
{
	int r = 0;

	for (size_t i = 0; i < writer->source->process_count && !r; i++) {
		struct rank_file *file = files->items + i;
		FILE *to = file->to;

		if (!to)
			continue;
		last(file);
		fputs(",\n\"rtlLeftOut\":", to);
		r = export_put_left_out(to, writer);
		fputs("}\n", to);
		file->to = NULL;
		if (output_folder_close(&writer->folder, to, file->name))
			r = -EIO;
	}
	return r;
}

void rank_files_done(const struct export_writer *writer, struct rank_files *files)
{
	for (size_t i = 0; i < writer->source->process_count && files->items; i++)
		if (files->items[i].to)
			fclose(files->items[i].to);
	free(files->items);
}
