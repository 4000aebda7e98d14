// SPDX-License-Identifier: MIT
/*
 * JSON of rocprofv3, one file per rank because TraceLens's generate_perf_report_rocprof reads only
 * the first process of a file. Times are ns.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/rows/rank_files.h"
#include "proto/base/cleanup.h"

#define SUFFIX "_results.json"

/* rocprofiler-sdk's numbers of buffered records and of their operations. */
enum { KIND_HIP_RUNTIME = 4, KIND_COPY = 10, KIND_DISPATCH = 11 };
enum { OPERATION_DISPATCH_COMPLETE = 2, OPERATION_HOST_TO_HOST = 1 };
enum { AGENT_CPU = 1, AGENT_GPU = 2 };
#define DISPATCH_BYTES 184

/* The arrays of buffer_records, in their order. */
enum { SECTION_NONE, SECTION_KERNELS, SECTION_COPIES, SECTION_CALLS, SECTION_END };
static const char *const section_names[] = {"", "kernel_dispatch", "memory_copy", "hip_api"};

/* Agents: the host is 1, GPU n is n + 2. */
#define AGENT_HOST	     1
#define AGENT_OF_GPU(gpu_id) ((gpu_id) + 2)

struct rocprofv3 {
	struct rank_files files;
};

static int put_metadata(struct export_writer *w, const struct rank_file *file)
{
	const struct export_process *process = file->process;
	CLEANUP(free_p) char *host = export_json(process->host);
	CLEANUP(free_p) char *command = export_json(process->command);

	if (!host || !command)
		return -ENOMEM;
	fprintf(file->to,
		"\"metadata\":{\"pid\":%" PRId64 ",\"init_time\":%" PRId64 ",\"fini_time\":%" PRId64
		",\"node\":{\"hostname\":%s},\"command\":[%s]},\n",
		process->pid, process->start_ns,
		process->has_end ? process->end_ns : w->source->end_ns, host, command);
	return 0;
}

static int put_agents(struct export_writer *w, FILE *to)
{
	fprintf(to, "\"agents\":[{\"id\":{\"handle\":%d},\"type\":%d,\"name\":\"host\"}",
		AGENT_HOST, AGENT_CPU);
	for (size_t i = 0; i < w->source->gpu_count; i++) {
		const struct export_gpu *gpu = w->source->gpus + i;
		CLEANUP(free_p) char *name = export_json(gpu->gfx);
		CLEANUP(free_p) char *product = export_json(gpu->name);

		if (!name || !product)
			return -ENOMEM;
		fprintf(to,
			",\n{\"id\":{\"handle\":%" PRId64 "},\"type\":%d,\"node_id\":%" PRId64
			",\"logical_node_type_id\":%" PRId64 ",\"name\":%s,\"product_name\":%s}",
			AGENT_OF_GPU(gpu->id), AGENT_GPU, gpu->kfd_node, gpu->id, name, product);
	}
	fputs("],\n", to);
	return 0;
}

/* TraceLens shows the truncated name, so that field has the whole name. */
static int put_symbols(struct export_writer *w, FILE *to)
{
	fputs("\"kernel_symbols\":[", to);
	for (size_t i = 0; i < w->source->kernels.count; i++) {
		const struct export_name *kernel = w->source->kernels.items + i;
		CLEANUP(free_p) char *symbol = export_json(kernel->symbol);

		if (!symbol)
			return -ENOMEM;
		fprintf(to,
			"%s{\"kernel_id\":%" PRId64 ",\"kernel_name\":%s,\"formatted_kernel_name\":"
			"%s,\"demangled_kernel_name\":%s"
			",\"truncated_kernel_name\":%s}",
			i ? ",\n" : "\n", kernel->id, symbol, kernel->json, kernel->json,
			kernel->json);
	}
	fputs("],\n", to);
	return 0;
}

/* Indexed by the number of the kind, and within it by that of the operation. */
static void put_strings(struct export_writer *w, FILE *to)
{
	const struct export_names *functions = &w->source->functions;

	fputs("\"strings\":{\"buffer_records\":[", to);
	for (int kind = 0; kind < KIND_HIP_RUNTIME; kind++)
		fprintf(to, "{\"kind\":\"%d\",\"operations\":[]},\n", kind);
	fputs("{\"kind\":\"HIP_RUNTIME_API\",\"operations\":[", to);
	for (size_t i = 0; i < functions->count; i++)
		fprintf(to, "%s%s", i ? "," : "", functions->items[i].json);
	fputs("]}]},\n", to);
}

static int put_head(struct export_writer *w, const struct rank_file *file)
{
	int r;

	fputs("{\"rtl\":", file->to);
	r = export_put_metadata(file->to, w, false);
	fputs(",\n\"rocprofiler-sdk-tool\":[{", file->to);
	if (!r)
		r = put_metadata(w, file);
	if (!r)
		r = put_agents(w, file->to);
	if (!r)
		r = put_symbols(w, file->to);
	put_strings(w, file->to);
	fputs("\"buffer_records\":{\"hsa_api\":[]", file->to);
	return r;
}

/* Ends the arrays before @section, including those without rows, and begins @section. */
static void enter(struct rank_file *file, int section)
{
	while (file->section < section) {
		if (file->section > SECTION_NONE)
			fputs("]", file->to);
		file->section++;
		file->has_rows = false;
		if (file->section < SECTION_END)
			fprintf(file->to, ",\n\"%s\":[", section_names[file->section]);
	}
}

static int begin_record(struct export_writer *w, const struct export_process *process, int section,
	struct rank_file **ret)
{
	struct rocprofv3 *state = w->state;
	int r = rank_files_get(w, &state->files, process, SUFFIX, ret);

	if (r > 0)
		r = put_head(w, *ret);
	if (r)
		return r;
	enter(*ret, section);
	fputs((*ret)->has_rows ? ",\n" : "\n", (*ret)->to);
	(*ret)->has_rows = true;
	return 0;
}

static int put_kernel(struct export_writer *w, const struct export_kernel *kernel)
{
	struct rank_file *file;
	int r = begin_record(w, kernel->process, SECTION_KERNELS, &file);

	if (r)
		return r;
	fprintf(file->to,
		"{\"size\":%d,\"kind\":%d,\"operation\":%d,\"thread_id\":%" PRId64
		",\"correlation_id\":{\"internal\":%" PRId64
		",\"external\":0},\"start_timestamp\":%" PRId64 ",\"end_timestamp\":%" PRId64
		",\"stream_id\":{\"handle\":%" PRId64 "},",
		DISPATCH_BYTES, KIND_DISPATCH, OPERATION_DISPATCH_COMPLETE,
		kernel->has_tid ? kernel->tid : kernel->process->pid, kernel->call,
		kernel->start_ns, kernel->end_ns, kernel->queue);
	fprintf(file->to,
		"\"dispatch_info\":{\"agent_id\":{\"handle\":%" PRId64
		"},\"queue_id\":{\"handle\":%" PRId64 "},\"kernel_id\":%" PRId64
		",\"dispatch_id\":%" PRId64 ",\"private_segment_size\":%" PRId64
		",\"group_segment_size\":%" PRId64 ",",
		AGENT_OF_GPU(kernel->gpu_id), kernel->queue, kernel->name->id, kernel->id,
		kernel->scratch, kernel->lds);
	fprintf(file->to,
		"\"workgroup_size\":{\"x\":%" PRId64 ",\"y\":%" PRId64 ",\"z\":%" PRId64
		"},\"grid_size\":{\"x\":%" PRId64 ",\"y\":%" PRId64 ",\"z\":%" PRId64 "}}}",
		kernel->workgroup[0], kernel->workgroup[1], kernel->workgroup[2], kernel->grid[0],
		kernel->grid[1], kernel->grid[2]);
	return 0;
}

static int copy_operation(const char *direction)
{
	static const char *const directions[] = {"h2h", "h2d", "d2h", "d2d", "p2p"};

	for (int i = 0; i < 5; i++)
		if (!strcmp(directions[i], direction))
			return OPERATION_HOST_TO_HOST + (i < 4 ? i : 3);
	return 0;
}

static int put_copy(struct export_writer *w, const struct export_copy *copy)
{
	struct rank_file *file;
	int r = begin_record(w, copy->process, SECTION_COPIES, &file);

	if (r)
		return r;
	fprintf(file->to,
		"{\"kind\":%d,\"operation\":%d,\"thread_id\":%" PRId64
		",\"correlation_id\":{\"internal\":%" PRId64
		",\"external\":0},\"start_timestamp\":%" PRId64 ",\"end_timestamp\":%" PRId64
		",\"bytes\":%" PRId64 ",\"src_agent_id\":{\"handle\":%" PRId64
		"},\"dst_agent_id\":{\"handle\":%" PRId64 "},\"stream_id\":{\"handle\":0}}",
		KIND_COPY, copy_operation(copy->direction), copy->tid, copy->call, copy->start_ns,
		copy->end_ns, copy->bytes,
		copy->has_source ? AGENT_OF_GPU(copy->source) : AGENT_HOST,
		copy->has_target ? AGENT_OF_GPU(copy->target) : AGENT_HOST);
	return 0;
}

/* The readers take no RCCL calls, so these are counted as left out. */
static int put_call(struct export_writer *w, const struct export_call *call)
{
	struct rank_file *file;
	int r;

	if (call->is_collective_library) {
		w->lost[EXPORT_CALLS]++;
		return 0;
	}
	r = begin_record(w, call->process, SECTION_CALLS, &file);
	if (r)
		return r;
	fprintf(file->to,
		"{\"kind\":%d,\"operation\":%" PRId64 ",\"name\":%s,\"thread_id\":%" PRId64
		",\"correlation_id\":{\"internal\":%" PRId64
		",\"external\":0},\"start_timestamp\":%" PRId64 ",\"end_timestamp\":%" PRId64 "}",
		KIND_HIP_RUNTIME, (int64_t)(call->function - w->source->functions.items),
		call->function->json, call->tid, call->number, call->start_ns, call->end_ns);
	return 0;
}

static int begin(struct export_writer *w)
{
	return rank_files_begin(w, &((struct rocprofv3 *)w->state)->files);
}

static void end_records(struct rank_file *file)
{
	enter(file, SECTION_END);
	fputs("}}]", file->to);
}

static int end(struct export_writer *w)
{
	return rank_files_end(w, &((struct rocprofv3 *)w->state)->files, end_records);
}

static void done(struct export_writer *w)
{
	rank_files_done(w, &((struct rocprofv3 *)w->state)->files);
}

const struct export_format export_rocprofv3 = {
	.option = "rocprofv3",
	.argument = "DIR",
	.help = "JSON of rocprofv3, a file rank<N>_results.json for each rank, for TraceLens",
	.use = "TraceLens's generate_perf_report_rocprof --profile_json_path FILE",
	.kind = EXPORT_FOLDER,
	.files = (const char *const[]){"rank*" SUFFIX, "pid*" SUFFIX, NULL},
	.state_bytes = sizeof(struct rocprofv3),
	.begin = begin,
	.kernel = put_kernel,
	.copy = put_copy,
	.call = put_call,
	.end = end,
	.done = done,
};
