// SPDX-License-Identifier: MIT
/*
 * CSV for data frames, spreadsheets and DuckDB: one file per kind of row, with the columns of the
 * database's views. Times are ns; unknown values are empty; texts are quoted as in RFC 4180.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/rows/format.h"

enum {
	CSV_KERNELS,
	CSV_COPIES,
	CSV_CALLS,
	CSV_RANGES,
	CSV_METRICS,
	CSV_PROCESSES,
	CSV_GPUS,
	CSV_FILES
};

static const struct {
	const char *name, *columns;
} files[CSV_FILES] = {
	[CSV_KERNELS] = {"kernels.csv", "dispatch,process_id,rank,pid,gpuId,queueId,sequenceId,"
					"name,start_ns,end_ns,submit_ns,tid,"
					"roctxId,correlation_id,workgroupX,workgroupY,workgroupZ,"
					"gridX,gridY,gridZ,lds,scratch,"
					"graph_exec,graph_launch,collective,comm,seq,bytes"},
	[CSV_COPIES] = {"copies.csv", "copy,process_id,rank,pid,direction,source_gpuId,target_"
				      "gpuId,bytes,start_ns,end_ns,"
				      "submit_ns,tid,roctxId,correlation_id,how"},
	[CSV_CALLS] = {"calls.csv",
		"correlation_id,process_id,rank,pid,tid,name,start_ns,end_ns,result,parent_id,"
		"roctxId,"
		"arguments,comm,comm_rank,comm_size,seq,count,bytes,datatype,peer"},
	[CSV_RANGES] = {"ranges.csv",
		"roctxId,process_id,rank,pid,tid,kind,text,start_ns,end_ns,parent"},
	[CSV_METRICS] = {"metrics.csv", "roctxId,process_id,rank,pid,name,time_ns,value"},
	[CSV_PROCESSES] = {"processes.csv", "process_id,rank,world_size,pid,host,exe,command,start_"
					    "ns,simulated,complete,completeness"},
	[CSV_GPUS] = {"gpus.csv", "gpuId,kfd_node,bdf,unique_id,gfx,name"},
};

struct csv {
	FILE *to[CSV_FILES];
};

static FILE *file_of(const struct export_writer *w, int file)
{
	return ((const struct csv *)w->state)->to[file];
}

static void put_text(FILE *to, const char *text)
{
	putc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', to);
		putc(*text, to);
	}
	putc('"', to);
}

static void put_cell(FILE *to, bool has_value, int64_t value)
{
	putc(',', to);
	if (has_value)
		fprintf(to, "%" PRId64, value);
}

static void put_text_cell(FILE *to, const char *text)
{
	putc(',', to);
	if (text)
		put_text(to, text);
}

/* Writes the columns that begin all rows: the number of the row, and its process. */
static void put_process(FILE *to, int64_t number, const struct export_process *process)
{
	fprintf(to, "%" PRId64 ",%" PRId64, number, process->id);
	put_cell(to, process->has_rank, process->rank);
	put_cell(to, true, process->pid);
}

static void put_comm(FILE *to, const struct export_collective *collective)
{
	putc(',', to);
	if (collective && collective->has_comm)
		fprintf(to, "0x%" PRIx64, (uint64_t)collective->comm);
}

static int put_kernel(struct export_writer *w, const struct export_kernel *kernel)
{
	const struct export_collective *collective = kernel->collective;
	FILE *to = file_of(w, CSV_KERNELS);

	put_process(to, kernel->id, kernel->process);
	fprintf(to, ",%" PRId64 ",%" PRId64 ",%" PRId64, kernel->gpu_id, kernel->queue,
		kernel->sequence);
	put_text_cell(to, kernel->name->text);
	fprintf(to, ",%" PRId64 ",%" PRId64, kernel->start_ns, kernel->end_ns);
	put_cell(to, kernel->has_submit, kernel->submit_ns);
	put_cell(to, kernel->has_tid, kernel->tid);
	put_cell(to, kernel->range, kernel->range);
	put_cell(to, kernel->call, kernel->call);
	for (int i = 0; i < 3; i++)
		put_cell(to, true, kernel->workgroup[i]);
	for (int i = 0; i < 3; i++)
		put_cell(to, true, kernel->grid[i]);
	put_cell(to, true, kernel->lds);
	put_cell(to, true, kernel->scratch);
	put_cell(to, kernel->has_graph, kernel->graph_exec);
	put_cell(to, kernel->has_graph, kernel->graph_launch);
	put_text_cell(to, collective ? collective->function->text : NULL);
	put_comm(to, collective);
	put_cell(to, collective && collective->has_seq, collective ? collective->seq : 0);
	put_cell(to, collective, collective ? collective->bytes : 0);
	putc('\n', to);
	return 0;
}

static int put_copy(struct export_writer *w, const struct export_copy *copy)
{
	FILE *to = file_of(w, CSV_COPIES);

	put_process(to, copy->number, copy->process);
	put_text_cell(to, copy->direction);
	put_cell(to, copy->has_source, copy->source);
	put_cell(to, copy->has_target, copy->target);
	put_cell(to, true, copy->bytes);
	put_cell(to, true, copy->start_ns);
	put_cell(to, true, copy->end_ns);
	put_cell(to, true, copy->submit_ns);
	put_cell(to, true, copy->tid);
	put_cell(to, copy->range, copy->range);
	put_cell(to, copy->call, copy->call);
	put_text_cell(to, copy->how);
	putc('\n', to);
	return 0;
}

static int put_call(struct export_writer *w, const struct export_call *call)
{
	const struct export_collective none = {0};
	const struct export_collective *collective = call->collective ? call->collective : &none;
	FILE *to = file_of(w, CSV_CALLS);

	put_process(to, call->number, call->process);
	put_cell(to, true, call->tid);
	put_text_cell(to, call->function->text);
	put_cell(to, true, call->start_ns);
	put_cell(to, true, call->end_ns);
	put_cell(to, true, call->result);
	put_cell(to, call->parent, call->parent);
	put_cell(to, call->range, call->range);
	put_text_cell(to, call->arguments);
	put_comm(to, call->collective);
	put_cell(to, collective->has_size, collective->comm_rank);
	put_cell(to, collective->has_size, collective->comm_size);
	put_cell(to, collective->has_seq, collective->seq);
	put_cell(to, call->collective, collective->count);
	put_cell(to, call->collective, collective->bytes);
	put_text_cell(to, collective->datatype);
	put_cell(to, collective->has_peer, collective->peer);
	putc('\n', to);
	return 0;
}

static int put_range(struct export_writer *w, const struct export_range *range)
{
	static const char *const kinds[] = {"push", "start", "mark"};
	FILE *to = file_of(w, CSV_RANGES);

	put_process(to, range->id, range->process);
	put_cell(to, range->has_tid, range->tid);
	put_text_cell(to, kinds[range->kind]);
	put_text_cell(to, range->text);
	put_cell(to, true, range->start_ns);
	put_cell(to, true, range->end_ns);
	put_cell(to, range->parent, range->parent);
	putc('\n', to);
	return 0;
}

static int put_metric(struct export_writer *w, const struct export_metric *metric)
{
	FILE *to = file_of(w, CSV_METRICS);

	put_process(to, metric->id, metric->process);
	put_text_cell(to, metric->name);
	put_cell(to, true, metric->time_ns);
	fprintf(to, ",%.17g\n", metric->value);
	return 0;
}

static void put_processes(const struct export_writer *w)
{
	const struct export_source *source = w->source;
	FILE *to = file_of(w, CSV_PROCESSES);

	for (size_t i = 0; i < source->process_count; i++) {
		const struct export_process *process = source->processes + i;

		if (!export_has_process(source, process))
			continue;
		fprintf(to, "%" PRId64, process->id);
		put_cell(to, process->has_rank, process->rank);
		put_cell(to, process->has_world_size, process->world_size);
		put_cell(to, true, process->pid);
		put_text_cell(to, process->host);
		put_text_cell(to, process->exe);
		put_text_cell(to, process->command);
		put_cell(to, true, process->start_ns);
		put_cell(to, true, source->verdict->is_simulated);
		put_cell(to, !source->verdict->is_unknown, source->verdict->is_complete);
		put_text_cell(to, source->verdict->line);
		putc('\n', to);
	}
}

static void put_gpus(const struct export_writer *w)
{
	FILE *to = file_of(w, CSV_GPUS);

	for (size_t i = 0; i < w->source->gpu_count; i++) {
		const struct export_gpu *gpu = w->source->gpus + i;

		if (!export_has_gpu(w->source, true, gpu->id))
			continue;
		fprintf(to, "%" PRId64, gpu->id);
		put_cell(to, gpu->has_node, gpu->kfd_node);
		put_text_cell(to, gpu->bdf);
		put_text_cell(to, gpu->unique_id);
		put_text_cell(to, gpu->gfx);
		put_text_cell(to, gpu->name);
		putc('\n', to);
	}
}

static int begin(struct export_writer *w)
{
	struct csv *state = w->state;

	for (int i = 0; i < CSV_FILES; i++) {
		state->to[i] = output_folder_create(&w->folder, files[i].name);
		if (!state->to[i])
			return -EIO;
		fprintf(state->to[i], "%s\n", files[i].columns);
	}
	put_processes(w);
	put_gpus(w);
	return 0;
}

static int end(struct export_writer *w)
{
	struct csv *state = w->state;
	int r = 0;

	for (int i = 0; i < CSV_FILES; i++) {
		if (output_folder_close(&w->folder, state->to[i], files[i].name))
			r = -EIO;
		state->to[i] = NULL;
	}
	return r;
}

static void done(struct export_writer *w)
{
	struct csv *state = w->state;

	for (int i = 0; i < CSV_FILES; i++)
		if (state->to[i])
			fclose(state->to[i]);
}

const struct export_format export_csv = {
	.option = "csv",
	.argument = "DIR",
	.help = "a CSV file for each kind of row, for data frames and DuckDB",
	.use = "docs/formats.md has the columns",
	.kind = EXPORT_FOLDER,
	.files = (const char *const[]){"kernels.csv", "copies.csv", "calls.csv", "ranges.csv",
		"metrics.csv", "processes.csv", "gpus.csv", NULL},
	.state_bytes = sizeof(struct csv),
	.begin = begin,
	.kernel = put_kernel,
	.copy = put_copy,
	.call = put_call,
	.range = put_range,
	.metric = put_metric,
	.end = end,
	.done = done,
};
