// SPDX-License-Identifier: MIT
/*
 * JSON of PyTorch's profiler (Kineto), one file per rank, for TraceLens, HTA and TensorBoard. Their
 * readers find a kernel by the call that launched it. If no call was recorded, the doorbell that
 * submitted the kernel takes its place and says so. docs/formats.md has the fields and the tools
 * that read them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/base/array.h"
#include "cli/base/wrapping.h"
#include "cli/export/rows/launches.h"
#include "cli/export/rows/rank_files.h"
#include "cli/export/rows/tracks.h"
#include "proto/base/cleanup.h"

#define SUFFIX	       "_trace.json"
#define SCHEMA_IMPORTS 14

/* Correlations: calls have their own numbers, which are below 2^40. A double holds all of them
 * exactly. */
#define KERNEL_NUMBERS ((int64_t)1 << 41)
#define COPY_NUMBERS   ((int64_t)1 << 42)
#define NUMBER(id)     ((id) & (((int64_t)1 << 40) - 1))

/* A stream is a queue. What overlaps on a queue, copies and free ranges have larger numbers. */
#define COPY_STREAM   900000
#define LANE_STREAMS  1000000
#define RANGE_STREAMS 2000000
#define QUEUES_MAX    ((int64_t)1 << 30)

enum track_kind { TRACK_QUEUE, TRACK_COPIES, TRACK_RANGES };

/* A communicator and its known ranks, as the text "[0, 1]" without brackets. */
struct group {
	int64_t comm;
	char *ranks;
};

struct torch {
	struct rank_files files;
	struct tracks tracks;
	struct launches launches;
	struct idmap named;	   /* pids and tids that have been named */
	struct idmap stream_index; /* maps a process and queue to its index in streams */
	int64_t *streams;	   /* the numbers that another tool gave the queues of an import */
	size_t stream_count;
	struct group *groups;
	size_t group_count;
	int64_t base_ns;
};

/* ---- the head of a file --------------------------------------------------------------------- */

static int load_groups(struct export_writer *w)
{
	struct torch *state = w->state;
	int r = 0;

	QUERY_EACH (r, w->source->query, "export_groups", rows) {
		int64_t comm = query_integer(rows, 0), rank = query_integer(rows, 2);
		struct group *group =
			state->group_count ? state->groups + state->group_count - 1 : NULL;
		char *ranks;

		if (!group || group->comm != comm) {
			group = grow_by_one(state->groups, state->group_count, sizeof(*group));
			if (!group)
				return -ENOMEM;
			state->groups = group;
			group += state->group_count++;
			*group = (struct group){.comm = comm};
		}
		if (asprintf(&ranks, "%s%s%" PRId64, group->ranks ? group->ranks : "",
			    group->ranks ? ", " : "", rank) < 0)
			return -ENOMEM;
		free(group->ranks);
		group->ranks = ranks;
	}
	return r;
}

static int64_t queue_key(int64_t process_id, int64_t queue)
{
	return (int64_t)((uint64_t)process_id << 32 ^ (uint64_t)queue);
}

static int load_streams(struct export_writer *w)
{
	struct torch *state = w->state;
	int r = 0;

	QUERY_EACH (r, w->source->query, "export_streams", rows) {
		int64_t *grown = grow_by_one(state->streams, state->stream_count, sizeof(*grown));
		uint32_t *at = idmap_at(&state->stream_index,
			queue_key(query_integer(rows, 0), query_integer(rows, 1)));

		if (grown)
			state->streams = grown;
		if (!grown || !at)
			return -ENOMEM;
		*at = (uint32_t)state->stream_count;
		state->streams[state->stream_count++] = query_integer(rows, 2);
	}
	return r;
}

static int64_t queue_of(const struct torch *state, const struct export_kernel *kernel)
{
	uint32_t at =
		idmap_find(&state->stream_index, queue_key(kernel->process->id, kernel->queue));

	return at == IDMAP_NONE ? kernel->queue : state->streams[at];
}

static const char *find_ranks(const struct torch *state, int64_t comm)
{
	size_t low = 0, high = state->group_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (state->groups[middle].comm < comm)
			low = middle + 1;
		else
			high = middle;
	}
	return low < state->group_count && state->groups[low].comm == comm
		       ? state->groups[low].ranks
		       : NULL;
}

/* Lists all GPUs of the node, because readers tell nodes apart by the number of GPUs. */
static int put_devices(FILE *to, const struct export_source *source)
{
	fputs("\"deviceProperties\":[", to);
	for (size_t i = 0; i < source->gpu_count; i++) {
		CLEANUP(free_p) char *name = export_json(source->gpus[i].name);

		if (!name)
			return -ENOMEM;
		fprintf(to, "%s{\"id\":%" PRId64 ",\"name\":%s}", i ? "," : "", source->gpus[i].id,
			name);
	}
	fputs("],\n", to);
	return 0;
}

static int put_head(struct export_writer *w, const struct rank_file *file)
{
	const struct export_process *process = file->process;
	const struct torch *state = w->state;
	int r;

	fputs("{\"schemaVersion\":1,\n", file->to);
	r = put_devices(file->to, w->source);
	if (r)
		return r;
	/* HTA searches the text for "rank" followed by a blank. */
	if (process->has_rank)
		fprintf(file->to,
			"\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %" PRId64
			", \"world_size\": %" PRId64 "},\n",
			process->rank, process->has_world_size ? process->world_size : 0);
	fputs("\"rtl\":", file->to);
	r = export_put_metadata(file->to, w, false);
	fprintf(file->to,
		",\n\"baseTimeNanoseconds\":%" PRId64
		",\n\"displayTimeUnit\":\"ms\",\n\"traceName\":\"%s\",\n\"traceEvents\":[",
		wrap_plus(state->base_ns, export_realtime_offset(w->source)), file->name);
	return r;
}

static void begin_event(struct rank_file *file)
{
	fputs(file->has_rows ? ",\n" : "\n", file->to);
	file->has_rows = true;
}

/* Writes once what a pid stands for. */
static int name_process(struct export_writer *w, struct rank_file *file, int64_t pid,
	const char *name, int64_t gpu_id)
{
	struct torch *state = w->state;
	uint32_t *at = idmap_at(&state->named, ((int64_t)file->process->index << 32) | pid);
	CLEANUP(free_p) char *json = export_json(name);
	char label[EXPORT_LABEL_BYTES];

	if (!at || !json)
		return -ENOMEM;
	if (*at != IDMAP_NONE)
		return 0;
	*at = 0;
	export_label(w->source, file->process, label);
	begin_event(file);
	fprintf(file->to,
		"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRId64
		",\"tid\":0,\"args\":{\"name\":\"%s%.*s\"}}",
		pid, label, (int)strlen(json) - 2, json + 1);
	begin_event(file);
	fprintf(file->to,
		"{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%" PRId64
		",\"tid\":0,\"args\":{\"labels\":\"",
		pid);
	if (gpu_id < 0)
		fputs("CPU\"}}", file->to);
	else
		fprintf(file->to, "GPU %" PRId64 "\"}}", gpu_id);
	return 0;
}

static void name_thread(struct rank_file *file, int64_t pid, int64_t tid, const char *name)
{
	begin_event(file);
	fprintf(file->to,
		"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
		",\"args\":{\"name\":\"%s\"}}",
		pid, tid, name);
}

static int get_file(
	struct export_writer *w, const struct export_process *process, struct rank_file **ret)
{
	struct torch *state = w->state;
	int r = rank_files_get(w, &state->files, process, SUFFIX, ret);

	if (r > 0)
		r = put_head(w, *ret);
	if (!r)
		r = name_process(
			w, *ret, process->pid, *process->exe ? process->exe : "process", -1);
	return r;
}

/* ---- events --------------------------------------------------------------------------------- */

static void put_time(struct export_writer *w, FILE *to, int64_t start_ns, int64_t end_ns)
{
	const struct torch *state = w->state;

	fputs(",\"ts\":", to);
	export_put_us(to, wrap_minus(start_ns, state->base_ns));
	fputs(",\"dur\":", to);
	export_put_us(to, end_ns - start_ns);
}

/* Writes the arrow that readers follow from a call to what it did on a GPU. */
static void put_link(struct export_writer *w, struct rank_file *file, int64_t correlation,
	int64_t call_tid, int64_t call_ns, int64_t gpu_id, int64_t stream, int64_t start_ns)
{
	const struct torch *state = w->state;

	begin_event(file);
	fprintf(file->to,
		"{\"ph\":\"s\",\"id\":%" PRId64 ",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":",
		correlation, file->process->pid, call_tid);
	export_put_us(file->to, wrap_minus(call_ns, state->base_ns));
	fputs(",\"cat\":\"ac2g\",\"name\":\"ac2g\"}", file->to);
	begin_event(file);
	fprintf(file->to,
		"{\"ph\":\"f\",\"id\":%" PRId64 ",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":",
		correlation, gpu_id, stream);
	export_put_us(file->to, wrap_minus(start_ns, state->base_ns));
	fputs(",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"}", file->to);
}

/* Stands for an unknown call at the known time of submission. Readers need "launch" in its name. */
static void put_submission(struct export_writer *w, struct rank_file *file, const char *name,
	int64_t correlation, int64_t tid, int64_t submit_ns)
{
	begin_event(file);
	fprintf(file->to,
		"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"%s (no launch call "
		"recorded)\",\"pid\":%" PRId64 ",\"tid\":%" PRId64,
		name, file->process->pid, tid);
	put_time(w, file->to, submit_ns, submit_ns);
	fprintf(file->to, ",\"args\":{\"External id\":%" PRId64 ",\"correlation\":%" PRId64 "}}",
		correlation, correlation);
}

/* Returns the stream that shows the event: the queue, or a number of its own if the queue is
 * busy. */
static int64_t find_stream(struct export_writer *w, struct rank_file *file, enum track_kind kind,
	int64_t number, int64_t pid, int64_t start_ns, int64_t end_ns)
{
	struct torch *state = w->state;
	int64_t key = (((int64_t)file->process->index << 2 | kind) << 30) | number;
	bool is_new;
	int lane =
		tracks_place(&state->tracks, key, kind == TRACK_RANGES, start_ns, end_ns, &is_new);
	int64_t stream;
	char name[64];

	if (lane == -EXFULL) {
		w->lost[EXPORT_CROSSING]++;
		return -EXFULL;
	}
	if (lane < 0)
		return lane;
	if (kind == TRACK_RANGES)
		stream = RANGE_STREAMS + lane;
	else if (kind == TRACK_COPIES)
		stream = COPY_STREAM + lane;
	else
		stream = lane ? LANE_STREAMS + number * TRACK_LANES + lane : number;
	if (is_new) {
		if (kind == TRACK_QUEUE)
			snprintf(name, sizeof(name), "stream %" PRId64 "%s", number,
				lane ? " (overlapping)" : "");
		else
			snprintf(name, sizeof(name), "%s",
				kind == TRACK_COPIES ? "copies" : "ranges");
		name_thread(file, pid, stream, name);
	}
	return stream;
}

/* ---- kernels -------------------------------------------------------------------------------- */

static const char *torch_type(const char *type)
{
	static const char *const names[][2] = {
		{"float32", "Float"},
		{"float16", "Half"},
		{"bfloat16", "BFloat16"},
		{"float64", "Double"},
		{"int32", "Int"},
		{"int64", "Long"},
		{"int8", "Byte"},
		{"uint8", "Byte"},
		{"float8e4m3", "Float8_e4m3fn"},
		{"float8e5m2", "Float8_e5m2"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i][0], type))
			return names[i][1];
	return type;
}

/* Wraps, because a damaged file may hold any numbers. */
static int64_t times(int64_t count, int64_t size)
{
	return (int64_t)((uint64_t)count * (uint64_t)size);
}

/* RCCL's count is that of this rank; PyTorch gives the counts of the whole operation. */
static void put_collective(
	const struct torch *state, FILE *to, const struct export_collective *collective)
{
	const char *name = export_collective_name(collective->function);
	int64_t size = collective->has_size ? collective->comm_size : 1;
	bool is_gather = !strcmp(name, "_allgather_base"),
	     is_all = !strncmp(name, "all_to_all", 10);
	bool is_scatter = !strcmp(name, "_reduce_scatter_base");
	const char *ranks = collective->has_comm ? find_ranks(state, collective->comm) : NULL;

	fprintf(to,
		",\"Collective name\":\"%s\",\"In msg nelems\":%" PRId64
		",\"Out msg nelems\":%" PRId64 ",\"Group size\":%" PRId64
		",\"dtype\":\"%s\",\"In split size\":\"[]\""
		",\"Out split size\":\"[]\"",
		name, times(collective->count, is_scatter || is_all ? size : 1),
		times(collective->count, is_gather || is_all ? size : 1), size,
		collective->datatype ? torch_type(collective->datatype) : "");
	if (collective->has_comm)
		fprintf(to, ",\"Process Group Name\":\"0x%" PRIx64 "\"",
			(uint64_t)collective->comm);
	if (ranks)
		fprintf(to, ",\"Process Group Ranks\":\"[%s]\"", ranks);
	if (collective->has_seq)
		fprintf(to, ",\"Seq\":%" PRId64, collective->seq);
	if (collective->in_launch > 1)
		fprintf(to, ",\"rtl collectives in group\":%u", collective->in_launch);
}

static void put_kernel_event(struct export_writer *w, const struct rank_file *file,
	const struct export_kernel *kernel, int64_t stream, int64_t correlation)
{
	FILE *to = file->to;

	fprintf(to,
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":%s,\"pid\":%" PRId64 ",\"tid\":%" PRId64,
		kernel->name->json, kernel->gpu_id, stream);
	put_time(w, to, kernel->start_ns, kernel->end_ns);
	fprintf(to,
		",\"args\":{\"External id\":%" PRId64 ",\"device\":%" PRId64
		",\"context\":0,\"stream\":%" PRId64 ",\"correlation\":%" PRId64
		",\"grid\":[%" PRId64 ",%" PRId64 ",%" PRId64 "],\"block\":[%" PRId64 ",%" PRId64
		",%" PRId64 "],\"queue\":%" PRId64 ",\"dispatch\":%" PRId64,
		correlation, kernel->gpu_id, stream, correlation,
		export_workgroups(kernel->grid[0], kernel->workgroup[0]),
		export_workgroups(kernel->grid[1], kernel->workgroup[1]),
		export_workgroups(kernel->grid[2], kernel->workgroup[2]), kernel->workgroup[0],
		kernel->workgroup[1], kernel->workgroup[2], queue_of(w->state, kernel), kernel->id);
	if (kernel->has_graph)
		fprintf(to, ",\"graph id\":%" PRId64, kernel->graph_exec);
	if (kernel->has_graph && kernel->has_node)
		fprintf(to, ",\"graph node id\":%" PRId64, kernel->node);
	if (kernel->collective)
		put_collective(w->state, to, kernel->collective);
	fputs("}}", to);
}

/* Readers link one kernel to a call, unless the call launched a graph. Returns 1, 0 or -ENOMEM. */
static int is_linked(struct torch *state, const struct export_kernel *kernel)
{
	int64_t before;

	if (!kernel->function || kernel->call >= LAUNCHES_CALLS_MAX)
		return 0;
	before = launches_add_kernel(&state->launches, kernel->process->index, kernel->call);
	return before < 0 ? (int)before : !before || kernel->has_graph;
}

static int put_kernel(struct export_writer *w, const struct export_kernel *kernel)
{
	struct torch *state = w->state;
	int64_t correlation = KERNEL_NUMBERS + NUMBER(kernel->id);
	int64_t tid = kernel->has_tid ? kernel->tid : kernel->process->pid;
	struct rank_file *file;
	int64_t stream;
	int linked, r = get_file(w, kernel->process, &file);

	if (r)
		return r;
	if (kernel->queue >= QUEUES_MAX || kernel->gpu_id >= kernel->process->pid) {
		w->lost[EXPORT_IMPOSSIBLE]++;
		return 0;
	}
	r = name_process(w, file, kernel->gpu_id, "GPU", kernel->gpu_id);
	if (r)
		return r;
	stream = find_stream(w, file, TRACK_QUEUE, kernel->queue, kernel->gpu_id, kernel->start_ns,
		kernel->end_ns);
	if (stream < 0)
		return stream == -EXFULL ? 0 : (int)stream;
	linked = is_linked(state, kernel);
	if (linked < 0)
		return linked;
	if (linked)
		correlation = kernel->call;
	if (kernel->collective && (linked || !kernel->call))
		w->lost[EXPORT_COLLECTIVES] += kernel->collective->in_launch - 1;
	begin_event(file);
	put_kernel_event(w, file, kernel, stream, correlation);
	if (linked) {
		put_link(w, file, correlation, kernel->call_tid, kernel->call_start_ns,
			kernel->gpu_id, stream, kernel->start_ns);
	} else if (kernel->has_submit) {
		put_submission(w, file, "doorbell", correlation, tid, kernel->submit_ns);
		put_link(w, file, correlation, tid, kernel->submit_ns, kernel->gpu_id, stream,
			kernel->start_ns);
	}
	return 0;
}

/* ---- copies --------------------------------------------------------------------------------- */

static const char *copy_name(const char *direction)
{
	static const char *const names[][2] = {
		{"h2d", "Memcpy HtoD (Host -> Device)"},
		{"d2h", "Memcpy DtoH (Device -> Host)"},
		{"d2d", "Memcpy DtoD (Device -> Device)"},
		{"p2p", "Memcpy PtoP (Device -> Device)"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i][0], direction))
			return names[i][1];
	return "Memcpy";
}

static int put_copy(struct export_writer *w, const struct export_copy *copy)
{
	struct torch *state = w->state;
	int64_t correlation = COPY_NUMBERS + NUMBER(copy->number);
	int64_t gpu_id = copy->has_source ? copy->source : copy->target;
	size_t process = copy->process->index;
	struct rank_file *file;
	int64_t stream;
	int linked = 0, r;

	if (!copy->has_source && !copy->has_target) { /* no stream can show it */
		w->lost[EXPORT_COPIES]++;
		return 0;
	}
	r = get_file(w, copy->process, &file);
	if (r)
		return r;
	if (gpu_id < 0 || gpu_id >= copy->process->pid) {
		w->lost[EXPORT_IMPOSSIBLE]++;
		return 0;
	}
	r = name_process(w, file, gpu_id, "GPU", gpu_id);
	if (r)
		return r;
	stream = find_stream(w, file, TRACK_COPIES, gpu_id, gpu_id, copy->start_ns, copy->end_ns);
	if (stream < 0)
		return stream == -EXFULL ? 0 : (int)stream;
	if (copy->function && copy->call < LAUNCHES_CALLS_MAX &&
		!launches_kernels(&state->launches, process, copy->call))
		linked = launches_add_copy(&state->launches, process, copy->call);
	if (linked < 0)
		return linked;
	if (linked)
		correlation = copy->call;
	begin_event(file);
	fprintf(file->to,
		"{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"%s\",\"pid\":%" PRId64
		",\"tid\":%" PRId64,
		copy_name(copy->direction), gpu_id, stream);
	put_time(w, file->to, copy->start_ns, copy->end_ns);
	fprintf(file->to,
		",\"args\":{\"External id\":%" PRId64 ",\"device\":%" PRId64
		",\"context\":0,\"stream\":%" PRId64 ",\"correlation\":%" PRId64
		",\"bytes\":%" PRId64 ",\"copy\":%" PRId64,
		correlation, gpu_id, stream, correlation, copy->bytes, copy->number);
	if (copy->has_source && copy->has_target && !strcmp(copy->direction, "p2p"))
		fprintf(file->to, ",\"fromDevice\":%" PRId64 ",\"toDevice\":%" PRId64, copy->source,
			copy->target);
	fputs("}}", file->to);
	if (!linked)
		put_submission(w, file, "submit", correlation, copy->tid, copy->submit_ns);
	put_link(w, file, correlation, linked ? copy->call_tid : copy->tid,
		linked ? copy->call_start_ns : copy->submit_ns, gpu_id, stream, copy->start_ns);
	return 0;
}

/* ---- host calls and ranges ------------------------------------------------------------------ */

static int put_call(struct export_writer *w, const struct export_call *call)
{
	struct rank_file *file;
	int r = get_file(w, call->process, &file);

	if (r)
		return r;
	begin_event(file);
	fprintf(file->to,
		"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":%s,\"pid\":%" PRId64
		",\"tid\":%" PRId64,
		call->function->json, call->process->pid, call->tid);
	put_time(w, file->to, call->start_ns, call->end_ns);
	fprintf(file->to, ",\"args\":{\"External id\":%" PRId64 ",\"correlation\":%" PRId64 "}}",
		call->number, call->number);
	return 0;
}

static int put_range(struct export_writer *w, const struct export_range *range)
{
	CLEANUP(free_p) char *text = export_json(range->text);
	bool is_mark = range->kind == EXPORT_MARK;
	int64_t pid = range->process->pid, tid = range->tid;
	struct rank_file *file;
	int r = text ? get_file(w, range->process, &file) : -ENOMEM;

	if (r)
		return r;
	/* The ranges of a thread nest; start/stop ranges come in any order. */
	if (range->kind == EXPORT_START)
		tid = find_stream(w, file, TRACK_RANGES, 0, pid, range->start_ns, range->end_ns);
	if (range->kind == EXPORT_START && tid < 0)
		return tid == -EXFULL ? 0 : (int)tid;
	begin_event(file);
	fprintf(file->to,
		"{\"ph\":\"%s\",\"cat\":\"user_annotation\",\"name\":%s,\"pid\":%" PRId64
		",\"tid\":%" PRId64,
		is_mark ? "i" : "X", text, pid, tid);
	if (is_mark) {
		fputs(",\"s\":\"t\",\"ts\":", file->to);
		export_put_us(file->to, range->start_ns - ((struct torch *)w->state)->base_ns);
	} else {
		put_time(w, file->to, range->start_ns, range->end_ns);
	}
	fprintf(file->to, ",\"args\":{\"roctx id\":%" PRId64 "}}", range->id);
	return 0;
}

/* ---- operations ----------------------------------------------------------------------------- */

static const char *comma(bool *is_first)
{
	bool was_first = *is_first;

	*is_first = false;
	return was_first ? "" : ",";
}

/* Writes the text as the database has it. The database may hold anything, so a text that is not
 * JSON is left out. */
static void put_json(FILE *to, const char *key, const char *text, bool *is_first)
{
	json_t *value = text ? json_loads(text, 0, NULL) : NULL;

	if (value)
		fprintf(to, "%s\"%s\":%s", comma(is_first), key, text);
	json_decref(value);
}

static int put_op(struct export_writer *w, const struct export_op *op)
{
	CLEANUP(free_p) char *name = export_json(op->name);
	struct rank_file *file;
	bool is_first = true;
	int r = name ? get_file(w, op->process, &file) : -ENOMEM;

	if (r)
		return r;
	begin_event(file);
	fprintf(file->to,
		"{\"ph\":\"X\",\"cat\":\"%s\",\"name\":%s,\"pid\":%" PRId64 ",\"tid\":%" PRId64,
		op->is_python ? "python_function" : "cpu_op", name, op->process->pid, op->tid);
	put_time(w, file->to, op->start_ns, op->end_ns);
	fputs(",\"args\":{", file->to);
	if (op->has_external)
		fprintf(file->to, "%s\"External id\":%" PRId64, comma(&is_first), op->external);
	if (op->has_sequence)
		fprintf(file->to, "%s\"Sequence number\":%" PRId64, comma(&is_first), op->sequence);
	if (op->has_forward)
		fprintf(file->to, "%s\"Fwd thread id\":%" PRId64, comma(&is_first),
			op->forward_tid);
	put_json(file->to, "Input Dims", op->shapes, &is_first);
	put_json(file->to, "Input type", op->types, &is_first);
	put_json(file->to, "Concrete Inputs", op->inputs, &is_first);
	fputs("}}", file->to);
	return 0;
}

/* ---- the files ------------------------------------------------------------------------------ */

static int begin(struct export_writer *w)
{
	struct torch *state = w->state;
	int64_t first = 0, first_op = INT64_MAX;
	int r = rank_files_begin(w, &state->files);

	if (!r)
		r = query_number(w->source->query, "export_first", w->source->start_ns, &first);
	if (!r && query_schema(w->source->query) >= SCHEMA_IMPORTS)
		r = query_number(w->source->query, "export_first_op", first, &first_op);
	if (first_op < first)
		first = first_op;
	if (!r && query_schema(w->source->query) >= SCHEMA_IMPORTS)
		r = load_streams(w);
	/* Readers add times as doubles, which are exact to the ns only for small times. */
	state->base_ns = first > 0 ? first - first % 1000 : 0;
	return r ? r : load_groups(w);
}

static void end_events(struct rank_file *file)
{
	fputs("\n]", file->to);
}

static int end(struct export_writer *w)
{
	return rank_files_end(w, &((struct torch *)w->state)->files, end_events);
}

static void done(struct export_writer *w)
{
	struct torch *state = w->state;

	rank_files_done(w, &state->files);
	tracks_done(&state->tracks);
	launches_done(&state->launches);
	idmap_done(&state->named);
	idmap_done(&state->stream_index);
	free(state->streams);
	for (size_t i = 0; i < state->group_count; i++)
		free(state->groups[i].ranks);
	free(state->groups);
}

const struct export_format export_torch = {
	.option = "torch",
	.argument = "DIR",
	.help = "JSON of PyTorch's profiler, a file rank<N>_trace.json for each rank, for "
		"TraceLens "
		"and HTA",
	.use = "TraceLens --trace_dir, HTA's TraceAnalysis(trace_dir=...)",
	.kind = EXPORT_FOLDER,
	.files = (const char *const[]){"rank*" SUFFIX, "pid*" SUFFIX, NULL},
	.state_bytes = sizeof(struct torch),
	.begin = begin,
	.kernel = put_kernel,
	.copy = put_copy,
	.call = put_call,
	.range = put_range,
	.op = put_op,
	.end = end,
	.done = done,
};
