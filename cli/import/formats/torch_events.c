// SPDX-License-Identifier: MIT
/* Interprets the events of PyTorch's profiler. docs/formats.md has the table. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/import/formats/torch.h"
#include "proto/base/cleanup.h"

enum category {
	CATEGORY_KERNEL,
	CATEGORY_COPY,
	CATEGORY_MEMSET,
	CATEGORY_CALL,
	CATEGORY_OP,
	CATEGORY_RANGE,
	CATEGORY_PYTHON,
	CATEGORY_INSTANT,
	CATEGORY_OTHER,
};

/* Names before PyTorch 1.13 begin with capitals. */
static const struct {
	const char *name;
	enum category category;
} categories[] = {
	{"cpu_op", CATEGORY_OP},
	{"kernel", CATEGORY_KERNEL},
	{"cuda_runtime", CATEGORY_CALL},
	{"python_function", CATEGORY_PYTHON},
	{"cuda_driver", CATEGORY_CALL},
	{"gpu_memcpy", CATEGORY_COPY},
	{"gpu_memset", CATEGORY_MEMSET},
	{"user_annotation", CATEGORY_RANGE},
	{"cpu_instant_event", CATEGORY_INSTANT},
	{"Kernel", CATEGORY_KERNEL},
	{"Memcpy", CATEGORY_COPY},
	{"Memset", CATEGORY_MEMSET},
	{"Runtime", CATEGORY_CALL},
	{"Operator", CATEGORY_OP},
	{"hip_runtime", CATEGORY_CALL},
};

struct text {
	const char *at;
	size_t length;
};

static struct text text_of(
	const struct torch *t, const struct torch_event *event, enum torch_text which)
{
	return (struct text){t->text + event->at[which], event->length[which]};
}

static bool is_text(struct text text, const char *wanted)
{
	return strlen(wanted) == text.length && !memcmp(text.at, wanted, text.length);
}

static bool contains(struct text text, const char *part)
{
	return memmem(text.at, text.length, part, strlen(part)) != NULL;
}

static enum category category_of(struct text text)
{
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++)
		if (is_text(text, categories[i].name))
			return categories[i].category;
	return CATEGORY_OTHER;
}

static int refuse(struct torch *t, const char *why)
{
	t->why = why;
	return -EBADMSG;
}

/* AORTA's script puts "[R3] " before the names when it merges traces. */
static struct text name_of(const struct torch *t, const struct torch_event *event)
{
	struct text name = text_of(t, event, TORCH_NAME);
	char prefix[32];
	int n;

	if (!torch_has(event, TORCH_RANK))
		return name;
	n = snprintf(prefix, sizeof(prefix), "[R%" PRId64 "] ", event->number[TORCH_RANK]);
	if (n > 0 && name.length >= (size_t)n && !memcmp(name.at, prefix, (size_t)n))
		return (struct text){name.at + n, name.length - (size_t)n};
	return name;
}

static int check_times(struct torch *t, const struct torch_event *event)
{
	if (!event->has_ts || !event->has_dur)
		return refuse(t, "an event has no time or no duration");
	if (event->dur_ns < 0)
		return refuse(t, "a duration is negative");
	if (event->ts_ns > t->latest_ns)
		t->latest_ns = event->ts_ns;
	return 0;
}

/* Returns the number that links a call and what it launches. TraceFuse keeps the original number as
 * _raw. */
static int64_t link_of(const struct torch_event *event)
{
	static const enum torch_number keys[] = {TORCH_CORRELATION_RAW, TORCH_CORRELATION,
		TORCH_EXTERNAL_ID_RAW, TORCH_EXTERNAL_ID, TORCH_EXTERNAL_ID_OLD};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (torch_has(event, keys[i]))
			return event->number[keys[i]];
	return TRACE_NO_NUMBER;
}

static int64_t gpu_of(const struct torch_event *event)
{
	return torch_number(event, TORCH_DEVICE,
		torch_number(event, TORCH_PID_RAW, torch_number(event, TORCH_PID, 0)));
}

/* ---- collectives ---- */

static const struct {
	const char *torch, *nccl;
} operations[] = {
	{"allreduce", "ncclAllReduce"},
	{"all_reduce", "ncclAllReduce"},
	{"allreduce_coalesced", "ncclAllReduce"},
	{"_allgather_base", "ncclAllGather"},
	{"allgather", "ncclAllGather"},
	{"all_gather", "ncclAllGather"},
	{"allgather_into_tensor_coalesced", "ncclAllGather"},
	{"_reduce_scatter_base", "ncclReduceScatter"},
	{"reduce_scatter", "ncclReduceScatter"},
	{"reduce_scatter_tensor_coalesced", "ncclReduceScatter"},
	{"all_to_all", "ncclAllToAll"},
	{"all_to_allv", "ncclAllToAllv"},
	{"broadcast", "ncclBroadcast"},
	{"_broadcast_oop", "ncclBroadcast"},
	{"reduce", "ncclReduce"},
	{"gather", "ncclGather"},
	{"scatter", "ncclScatter"},
	{"send", "ncclSend"},
	{"recv", "ncclRecv"},
};

static const struct datatype {
	const char *torch, *nccl;
	int64_t bytes;
} datatypes[] = {
	{"Float", "float32", 4},
	{"Half", "float16", 2},
	{"BFloat16", "bfloat16", 2},
	{"Double", "float64", 8},
	{"Int", "int32", 4},
	{"Long", "int64", 8},
	{"Byte", "uint8", 1},
	{"Char", "int8", 1},
	{"Bool", "uint8", 1},
	{"Short", "int16", 2},
	{"Float8_e4m3fn", "float8e4m3", 1},
	{"Float8_e4m3fnuz", "float8e4m3", 1},
	{"Float8_e5m2", "float8e5m2", 1},
	{"Float8_e5m2fnuz", "float8e5m2", 1},
};

static const struct datatype *datatype_of(struct text text)
{
	for (size_t i = 0; i < sizeof(datatypes) / sizeof(*datatypes); i++)
		if (is_text(text, datatypes[i].torch))
			return datatypes + i;
	return NULL;
}

/* FNV-1a. The communicator's number must be the same on all ranks of the group, and above 0. */
static uint64_t hash_text(uint64_t hash, struct text text)
{
	for (size_t i = 0; i < text.length; i++)
		hash = (hash ^ (unsigned char)text.at[i]) * 0x100000001b3;
	return hash;
}

static int put_operation(struct torch *t, struct text name, uint32_t *ret)
{
	int64_t id;
	int r;

	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (is_text(name, operations[i].torch))
			name = (struct text){operations[i].nccl, strlen(operations[i].nccl)};
	r = import_store_text(t->store, name.at, name.length, &id);
	*ret = (uint32_t)id;
	return r;
}

/* Returns the number of elements as the call was given it; the profiler has those of both sides. */
static int64_t count_of(const struct torch_event *event, struct text op, int64_t size)
{
	int64_t in = torch_number(event, TORCH_IN_NELEMS, TRACE_NO_NUMBER);
	int64_t out = torch_number(event, TORCH_OUT_NELEMS, TRACE_NO_NUMBER);

	if (contains(op, "reduce_scatter"))
		return out;
	if (is_text(op, "all_to_all") && in != TRACE_NO_NUMBER && size > 0)
		return in / size;
	return in == TRACE_NO_NUMBER ? out : in;
}

/* Reads "0x" and the number of a communicator, as rtl export writes it. */
static bool is_communicator(struct text name, int64_t *ret)
{
	char digits[20];
	char *end;

	if (name.length < 3 || name.length >= sizeof(digits) || memcmp(name.at, "0x", 2) != 0)
		return false;
	memcpy(digits, name.at, name.length);
	digits[name.length] = 0;
	*ret = (int64_t)strtoull(digits + 2, &end, 16);
	return !*end;
}

static int set_group(struct torch *t, struct trace_process *p, const struct torch_event *event,
	struct trace_collective *c)
{
	struct text name = text_of(t, event, TORCH_GROUP_NAME);
	struct text ranks = text_of(t, event, TORCH_GROUP_RANKS);
	CLEANUP(free_p) char *copy = NULL;

	c->group = TRACE_NONE;
	if (!name.length && !ranks.length)
		return 0;
	if (!is_communicator(name, &c->comm))
		c->comm = (int64_t)(hash_text(hash_text(0xcbf29ce484222325, name), ranks) >> 1 | 1);
	copy = strndup(ranks.at, ranks.length);
	return copy ? trace_process_group(p, c->comm, copy, &c->group) : -ENOMEM;
}

static int copy_split(
	struct torch *t, const struct torch_event *event, enum torch_text which, char **ret)
{
	struct text text = text_of(t, event, which);

	if (!text.length || is_text(text, "[]"))
		return 0;
	*ret = strndup(text.at, text.length);
	return *ret ? 0 : -ENOMEM;
}

static int take_collective(
	struct torch *t, struct trace_process *p, const struct torch_event *event, uint32_t *ret)
{
	struct text op = text_of(t, event, TORCH_COLLECTIVE);
	const struct datatype *type = datatype_of(text_of(t, event, TORCH_DTYPE));
	struct trace_collective c = {.comm = TRACE_NO_NUMBER,
		.size = torch_number(event, TORCH_GROUP_SIZE, TRACE_NO_NUMBER),
		.seq = torch_number(event, TORCH_SEQ, TRACE_NO_NUMBER),
		.bytes = TRACE_NO_NUMBER,
		.datatype = type ? type->nccl : NULL,
		.peer = TRACE_NO_NUMBER};
	int r;

	*ret = TRACE_NONE;
	if (!op.length)
		return 0;
	c.count = count_of(event, op, c.size);
	if ((c.size < 0 && c.size != TRACE_NO_NUMBER) ||
		(c.count < 0 && c.count != TRACE_NO_NUMBER))
		return refuse(t, "the size of a collective is negative");
	if (type && c.count != TRACE_NO_NUMBER &&
		__builtin_mul_overflow(c.count, type->bytes, &c.bytes))
		return refuse(t, "the size of a collective is out of range");
	r = set_group(t, p, event, &c);
	if (r == 0)
		r = put_operation(t, op, &c.op);
	if (r == 0)
		r = copy_split(t, event, TORCH_IN_SPLIT, &c.in_split);
	if (r == 0)
		r = copy_split(t, event, TORCH_OUT_SPLIT, &c.out_split);
	if (r == 0)
		r = trace_process_add_collective(p, &c, ret);
	free(c.in_split);
	free(c.out_split);
	return r;
}

/* ---- the GPU ---- */

static uint32_t work_items(uint32_t groups, uint32_t items)
{
	uint64_t product = (uint64_t)groups * items;

	return product > UINT32_MAX ? UINT32_MAX : (uint32_t)product;
}

static int take_kernel(struct torch *t, struct trace_process *p, const struct torch_event *event)
{
	struct text name = name_of(t, event);
	struct trace_geometry geometry = {.gpu = gpu_of(event),
		/* In an export of rtl, kernels that overlap on a queue have their own streams. */
		.stream = torch_number(event, TORCH_QUEUE,
			torch_number(event, TORCH_STREAM, torch_number(event, TORCH_TID, 0)))};
	struct trace_kernel kernel = {.start_ns = event->ts_ns,
		.duration_ns = event->dur_ns,
		.foreign = link_of(event),
		.range = TRACE_NO_NUMBER};
	int64_t lds = torch_number(event, TORCH_SHARED_MEMORY, 0);
	int r = import_store_kernel(t->store, name.at, name.length, &geometry.kernel_id);

	geometry.lds = lds < 0 || lds > UINT32_MAX ? 0 : (uint32_t)lds;
	for (int i = 0; i < 3 && event->blocks == 3 && event->grids == 3; i++) {
		geometry.workgroup[i] = event->block[i];
		geometry.grid[i] = work_items(event->grid[i], event->block[i]);
	}
	if (r == 0)
		r = trace_process_shape(p, &geometry, &kernel);
	if (r == -ERANGE)
		return refuse(t, "the number of a GPU is out of range");
	if (r == 0)
		r = take_collective(t, p, event, &kernel.collective);
	return r ? r : trace_process_add_kernel(p, &kernel);
}

static int take_copy(struct torch *t, struct trace_process *p, const struct torch_event *event)
{
	struct text name = name_of(t, event);
	int64_t gpu = gpu_of(event);
	struct trace_copy copy = {.start_ns = event->ts_ns,
		.duration_ns = event->dur_ns,
		.foreign = link_of(event),
		.bytes = torch_number(event, TORCH_BYTES, TRACE_NO_NUMBER),
		.source_gpu = TRACE_NO_NUMBER,
		.target_gpu = TRACE_NO_NUMBER,
		.direction = "unknown"};

	if (gpu < 0 || gpu > INT32_MAX)
		return refuse(t, "the number of a GPU is out of range");
	if (copy.bytes != TRACE_NO_NUMBER && copy.bytes < 0)
		return refuse(t, "the size of a copy is negative");
	if (contains(name, "HtoD") || contains(name, "AtoD") || contains(name, "HtoA")) {
		copy.direction = "h2d";
		copy.target_gpu = gpu;
	} else if (contains(name, "DtoH")) {
		copy.direction = "d2h";
		copy.source_gpu = gpu;
	} else if (contains(name, "DtoD")) {
		copy.direction = "d2d";
		copy.source_gpu = copy.target_gpu = gpu;
	} else if (contains(name, "PtoP")) {
		copy.direction = "p2p";
		copy.source_gpu = torch_number(event, TORCH_FROM_DEVICE, gpu);
		copy.target_gpu = torch_number(event, TORCH_TO_DEVICE, TRACE_NO_NUMBER);
	} else {
		copy.source_gpu = gpu;
	}
	return trace_process_add_copy(p, &copy);
}

/* ---- the host ---- */

static int put_optional(struct torch *t, struct text text, uint32_t *ret)
{
	int64_t id = 0;
	int r = text.length ? import_store_text(t->store, text.at, text.length, &id) : 0;

	*ret = (uint32_t)id;
	return r;
}

/* Returns the values of an operation's inputs; nothing if all are tensors, whose texts are empty.
 */
static struct text inputs_of(const struct torch *t, const struct torch_event *event)
{
	struct text text = text_of(t, event, TORCH_INPUTS);

	for (size_t i = 0; i < text.length; i++)
		if (!strchr("[]\", ", text.at[i]))
			return text;
	return (struct text){0};
}

static int take_host(struct torch *t, struct trace_process *p, const struct torch_event *event,
	enum trace_host_kind kind)
{
	struct text name = name_of(t, event);
	struct trace_host host = {.start_ns = event->ts_ns,
		.end_ns = event->ts_ns + event->dur_ns,
		.tid = torch_number(event, TORCH_TID, 0),
		.foreign = kind == TRACE_CALL ? link_of(event) : TRACE_NO_NUMBER,
		.kind = (uint8_t)kind,
		.is_mark = kind == TRACE_RANGE && !event->has_dur};
	struct trace_detail detail = {
		.external = torch_number(event, TORCH_EXTERNAL_ID,
			torch_number(event, TORCH_EXTERNAL_ID_OLD, TRACE_NO_NUMBER)),
		.sequence = torch_number(event, TORCH_SEQUENCE, TRACE_NO_NUMBER),
		.forward_tid = torch_number(event, TORCH_FORWARD_TID, TRACE_NO_NUMBER),
		.stream = torch_number(event, TORCH_STREAM, TRACE_NO_NUMBER)};
	int64_t id = 0;
	int r;

	/* rtl export writes this for a submission whose call was not recorded. */
	if (kind == TRACE_CALL && contains(name, "(no launch call recorded)"))
		host.kind = TRACE_SUBMIT;
	host.is_graph_launch = host.kind == TRACE_CALL && contains(name, "GraphLaunch");
	if (p->pid == TRACE_NO_NUMBER)
		p->pid = torch_number(
			event, TORCH_PID_RAW, torch_number(event, TORCH_PID, TRACE_NO_NUMBER));
	r = import_store_text(t->store, name.at, name.length, &id);
	host.name = (uint32_t)id;
	if (r == 0 && kind == TRACE_OP)
		r = put_optional(t, text_of(t, event, TORCH_SHAPES), &detail.shapes);
	if (r == 0 && kind == TRACE_OP)
		r = put_optional(t, text_of(t, event, TORCH_TYPES), &detail.types);
	if (r == 0 && kind == TRACE_OP)
		r = put_optional(t, inputs_of(t, event), &detail.inputs);
	if (r < 0)
		return r;
	return trace_process_add_host(p, &host,
		kind == TRACE_OP || (kind == TRACE_CALL && detail.stream != TRACE_NO_NUMBER)
			? &detail
			: NULL);
}

static int add_level(struct torch *t, struct trace_process *p, const struct torch_event *event,
	enum torch_number which, const char *what)
{
	struct trace_mark mark = {.time_ns = event->ts_ns, .step = TRACE_NO_NUMBER};
	char name[96];
	int64_t id;
	int r;

	if (!torch_has(event, which))
		return 0;
	mark.value = (double)event->number[which];
	snprintf(name, sizeof(name), "torch_%s_bytes_device_%" PRId64, what,
		torch_number(event, TORCH_DEVICE_ID, -1));
	r = import_store_text(t->store, name, strlen(name), &id);
	mark.name = (uint32_t)id;
	return r ? r : trace_process_add_mark(p, &mark);
}

/* Takes the memory that PyTorch's allocator has after a change. */
static int take_memory(struct torch *t, struct trace_process *p, const struct torch_event *event)
{
	int r;

	if (!event->has_ts)
		return refuse(t, "an event has no time");
	/* 0 is the host. */
	if (torch_number(event, TORCH_DEVICE_TYPE, 0) == 0)
		return 0;
	r = add_level(t, p, event, TORCH_ALLOCATED, "allocated");
	return r ? r : add_level(t, p, event, TORCH_RESERVED, "reserved");
}

/* Takes a roctx mark as rtl export writes it. */
static int take_mark(struct torch *t, struct trace_process *p, const struct torch_event *event)
{
	struct torch_event mark = *event;

	if (!mark.has_ts)
		return refuse(t, "an event has no time");
	mark.dur_ns = 0;
	return take_host(t, p, &mark, TRACE_RANGE);
}

static int take_python(struct torch *t, struct trace_process *p, const struct torch_event *event)
{
	static const char module[] = "nn.Module: ";
	struct text name = name_of(t, event);

	if (!t->has_python && (name.length < sizeof(module) - 1 ||
				      memcmp(name.at, module, sizeof(module) - 1) != 0)) {
		t->store->counts.skipped++;
		return 0;
	}
	return take_host(t, p, event, TRACE_PYTHON);
}

int torch_take(struct torch *torch, struct trace_process *process, const struct torch_event *event)
{
	enum category category = category_of(text_of(torch, event, TORCH_CAT));
	bool is_instant = torch->text[event->at[TORCH_PH]] == 'i';
	int r;

	if (is_instant && category == CATEGORY_INSTANT &&
		is_text(name_of(torch, event), "[memory]"))
		return take_memory(torch, process, event);
	if (is_instant && category == CATEGORY_RANGE)
		return take_mark(torch, process, event);
	if (is_instant || category == CATEGORY_OTHER || category == CATEGORY_INSTANT) {
		torch->store->counts.skipped++;
		return 0;
	}
	r = check_times(torch, event);
	if (r < 0)
		return r;
	switch (category) {
	case CATEGORY_KERNEL:
	case CATEGORY_MEMSET:
		return take_kernel(torch, process, event);
	case CATEGORY_COPY:
		return take_copy(torch, process, event);
	case CATEGORY_CALL:
		return take_host(torch, process, event, TRACE_CALL);
	case CATEGORY_OP:
		return take_host(torch, process, event, TRACE_OP);
	case CATEGORY_RANGE:
		return take_host(torch, process, event, TRACE_RANGE);
	default:
		return take_python(torch, process, event);
	}
}
