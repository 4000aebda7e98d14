// SPDX-License-Identifier: MIT
/*
 * Perfetto's protobuf: one file for all ranks. Kernels and copies are GpuRenderStageEvents, which
 * have a duration, so that those of a queue may overlap. Host calls, ranges and counters are
 * TrackEvents. docs/formats.md has the rules of Perfetto's importer for them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/export/perfetto/perfetto_private.h"
#include "proto/base/cleanup.h"

static const char *const category_names[] = {"", "hip", "rccl", "roctx", "copy"};
static const char *const arg_names[] = {
	"", "result", "collective", "bytes", "datatype", "comm", "seq", "comm_size", "roctx_id"};
static const char *const copy_directions[] = {"h2d", "d2h", "d2d", "p2p", "h2h", "unknown"};
#define COPY_DIRECTIONS (sizeof(copy_directions) / sizeof(*copy_directions))

/* ---- packets -------------------------------------------------------------------------------- */

int perfetto_put(struct export_writer *w, const RtlPerfetto__TracePacket *packet)
{
	struct perfetto *state = w->state;
	size_t bytes = rtl_perfetto__trace_packet__get_packed_size(packet);
	uint8_t head[1 + 10] = {PACKET_TAG};
	size_t fill = 1;

	if (bytes > state->packed_bytes) {
		uint8_t *grown = realloc(state->packed, bytes * 2);

		if (!grown)
			return -ENOMEM;
		state->packed = grown;
		state->packed_bytes = bytes * 2;
	}
	rtl_perfetto__trace_packet__pack(packet, state->packed);
	for (size_t left = bytes;; left >>= 7) {
		head[fill++] = (uint8_t)(left < 0x80 ? left : (left & 0x7f) | 0x80);
		if (left < 0x80)
			break;
	}
	fwrite(head, 1, fill, w->to);
	fwrite(state->packed, 1, bytes, w->to);
	return 0;
}

static RtlPerfetto__TracePacket make_packet(size_t process)
{
	RtlPerfetto__TracePacket packet = RTL_PERFETTO__TRACE_PACKET__INIT;

	packet.has_trusted_packet_sequence_id = true;
	packet.trusted_packet_sequence_id = (uint32_t)process + 1;
	packet.has_sequence_flags = true;
	packet.sequence_flags = SEQUENCE_NEEDS;
	return packet;
}

RtlPerfetto__TracePacket perfetto_event(size_t process, int64_t time_ns)
{
	RtlPerfetto__TracePacket packet = make_packet(process);

	packet.has_timestamp = true;
	packet.timestamp = (uint64_t)time_ns;
	return packet;
}

int perfetto_put_track(
	struct export_writer *w, size_t process, RtlPerfetto__TrackDescriptor *descriptor)
{
	RtlPerfetto__TracePacket packet = make_packet(process);

	descriptor->has_sibling_merge_behavior = true;
	descriptor->sibling_merge_behavior = MERGE_NONE;
	packet.track_descriptor = descriptor;
	return perfetto_put(w, &packet);
}

uint64_t perfetto_process_uuid(size_t process)
{
	return ((uint64_t)process + 1) << 32;
}

uint64_t perfetto_next_uuid(struct perfetto *state, size_t process)
{
	return perfetto_process_uuid(process) | ++state->sequences[process].last_uuid;
}

int32_t perfetto_pid(const struct export_process *process)
{
	return (int32_t)(process->pid + (int64_t)process->node * PID_STEP);
}

/* ---- sequences ------------------------------------------------------------------------------ */

/* The importer takes the context of the first process for those of all others with its number. */
static uint64_t context_id(const struct export_process *process)
{
	return process->index + 1;
}

static int put_first(
	struct export_writer *w, const struct export_process *process, const char *name)
{
	RtlPerfetto__TracePacket packet = make_packet(process->index);
	RtlPerfetto__TracePacketDefaults defaults = RTL_PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	RtlPerfetto__InternedData interned = RTL_PERFETTO__INTERNED_DATA__INIT;
	RtlPerfetto__EventText texts[CATEGORIES + ARGS];
	RtlPerfetto__EventText *categories[CATEGORIES], *args[ARGS];
	RtlPerfetto__GraphicsContext context = RTL_PERFETTO__GRAPHICS_CONTEXT__INIT;
	RtlPerfetto__GraphicsContext *contexts[] = {&context};
	RtlPerfetto__TrackDescriptor track = RTL_PERFETTO__TRACK_DESCRIPTOR__INIT;
	RtlPerfetto__ProcessDescriptor descriptor = RTL_PERFETTO__PROCESS_DESCRIPTOR__INIT;
	char *labels[2], *command[] = {process->command};
	size_t label_count = 0;

	for (size_t i = 1; i < CATEGORIES + ARGS; i++) {
		bool is_category = i < CATEGORIES;
		size_t at = is_category ? i : i - CATEGORIES;

		rtl_perfetto__event_text__init(texts + i);
		texts[i].has_iid = true;
		texts[i].iid = at;
		texts[i].name = (char *)(is_category ? category_names[at] : arg_names[at]);
		if (at)
			*(is_category ? categories + at - 1 : args + at - 1) = texts + i;
	}
	interned.event_categories = categories;
	interned.n_event_categories = CATEGORIES - 1;
	interned.debug_annotation_names = args;
	interned.n_debug_annotation_names = ARGS - 1;
	context.has_iid = context.has_pid = context.has_api = true;
	context.iid = context_id(process);
	context.pid = perfetto_pid(process);
	context.api = API_HIP;
	interned.graphics_contexts = contexts;
	interned.n_graphics_contexts = 1;
	if (w->source->verdict->is_simulated)
		labels[label_count++] = (char *)"SIMULATED";
	if (verdict_label(w->source->verdict))
		labels[label_count++] = (char *)verdict_label(w->source->verdict);
	descriptor.has_pid = true;
	descriptor.pid = perfetto_pid(process);
	descriptor.process_name = (char *)name;
	descriptor.cmdline = command;
	descriptor.n_cmdline = *process->command ? 1 : 0;
	descriptor.process_labels = labels;
	descriptor.n_process_labels = label_count;
	descriptor.has_start_timestamp_ns = true;
	descriptor.start_timestamp_ns = process->start_ns;
	track.has_uuid = true;
	track.uuid = perfetto_process_uuid(process->index);
	track.process = &descriptor;
	track.description = (char *)w->source->verdict->line;
	defaults.has_timestamp_clock_id = true;
	defaults.timestamp_clock_id = CLOCK_ID_BOOTTIME;
	packet.trace_packet_defaults = &defaults;
	packet.interned_data = &interned;
	packet.track_descriptor = &track;
	packet.sequence_flags = SEQUENCE_CLEARED | SEQUENCE_NEEDS;
	packet.has_first_packet_on_sequence = packet.first_packet_on_sequence = true;
	return perfetto_put(w, &packet);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Returns the number of names; the last one is for kernels without a name. */
static size_t name_count(const struct export_source *source)
{
	return source->kernels.count + source->functions.count + COPY_DIRECTIONS + 1;
}

int perfetto_begin_process(struct export_writer *w, const struct export_process *process)
{
	struct perfetto *state = w->state;
	struct sequence *sequence = state->sequences + process->index;
	CLEANUP(free_p) char *name = NULL;
	char label[EXPORT_LABEL_BYTES];
	int r;

	if (process->index >= PROCESSES_MAX) {
		w->lost[EXPORT_IMPOSSIBLE]++;
		return 0;
	}
	if (sequence->is_begun)
		return 1;
	sequence->named = calloc(name_count(w->source) / 64 + 1, sizeof(*sequence->named));
	export_label(w->source, process, label);
	if (!sequence->named || asprintf(&name, "%s%s", label,
					*process->exe ? base_name(process->exe) : "process") < 0) {
		name = NULL;
		return -ENOMEM;
	}
	sequence->is_begun = true;
	r = put_first(w, process, name);
	return r ? r : 1;
}

bool perfetto_must_name(struct perfetto *state, size_t process, size_t name)
{
	uint64_t *word = state->sequences[process].named + name / 64;
	uint64_t bit = (uint64_t)1 << (name % 64);
	bool is_new = !(*word & bit);

	*word |= bit;
	return is_new;
}

/* Interned ids: names have those of the source's order; stages have twice that, and queues the odd
 * numbers between. */
uint64_t perfetto_name_iid(size_t name)
{
	return name + 1;
}

static uint64_t stage_iid(size_t name)
{
	return 2 * (name + 1);
}

/* ---- queues --------------------------------------------------------------------------------- */

static int put_depth_track(
	struct export_writer *w, const struct export_kernel *kernel, struct gpu_queue *queue)
{
	RtlPerfetto__TrackDescriptor track = RTL_PERFETTO__TRACK_DESCRIPTOR__INIT;
	RtlPerfetto__CounterDescriptor counter = RTL_PERFETTO__COUNTER_DESCRIPTOR__INIT;
	char name[96];

	snprintf(name, sizeof(name), "GPU %" PRId64 " queue %" PRId64 " depth", kernel->gpu_id,
		kernel->queue);
	counter.has_unit = true;
	counter.unit = UNIT_COUNT;
	queue->depth_uuid = perfetto_next_uuid(w->state, queue->process);
	track.has_uuid = track.has_parent_uuid = true;
	track.uuid = queue->depth_uuid;
	track.parent_uuid = perfetto_process_uuid(queue->process);
	track.name = name;
	track.counter = &counter;
	return perfetto_put_track(w, queue->process, &track);
}

/* Readers identify a queue of a GPU by its name, so the name contains the process. */
static int put_queue(struct export_writer *w, const struct export_process *process,
	const struct gpu_queue *queue, const char *what)
{
	RtlPerfetto__TracePacket packet = make_packet(process->index);
	RtlPerfetto__InternedData interned = RTL_PERFETTO__INTERNED_DATA__INIT;
	RtlPerfetto__GpuSpecification spec = RTL_PERFETTO__GPU_SPECIFICATION__INIT;
	RtlPerfetto__GpuSpecification *specs[] = {&spec};
	char name[128], label[EXPORT_LABEL_BYTES];

	export_label(w->source, process, label);
	if (process->has_rank)
		snprintf(name, sizeof(name), "%s%s", label, what);
	else
		snprintf(name, sizeof(name), "%spid %" PRId64 " %s", label, process->pid, what);
	spec.has_iid = true;
	spec.iid = queue->iid;
	spec.name = name;
	interned.gpu_specifications = specs;
	interned.n_gpu_specifications = 1;
	packet.interned_data = &interned;
	return perfetto_put(w, &packet);
}

/* @key is a number within the process. *@ret_is_new: the queue's name has not been written yet. */
static struct gpu_queue *find_queue(
	struct perfetto *state, size_t process, int64_t key, bool *ret_is_new)
{
	uint32_t *at = idmap_at(&state->queue_index, ((int64_t)process << 32) | key);
	struct gpu_queue *grown;

	*ret_is_new = false;
	if (!at)
		return NULL;
	if (*at != IDMAP_NONE)
		return state->queues + *at;
	grown = grow_by_one(state->queues, state->queue_count, sizeof(*grown));
	if (!grown)
		return NULL;
	state->queues = grown;
	*at = (uint32_t)state->queue_count;
	grown[state->queue_count] = (struct gpu_queue){
		.process = process,
		.iid = 2 * (uint64_t)state->sequences[process].last_queue++ + 1,
	};
	*ret_is_new = true;
	return grown + state->queue_count++;
}

static int put_depth(void *taker, int64_t time_ns, int64_t depth)
{
	struct export_writer *w = taker;
	const struct gpu_queue *queue = ((struct perfetto *)w->state)->counting;
	RtlPerfetto__TracePacket packet = perfetto_event(queue->process, time_ns);
	RtlPerfetto__TrackEvent event = RTL_PERFETTO__TRACK_EVENT__INIT;

	event.has_type = event.has_track_uuid = event.has_counter_value = true;
	event.type = EVENT_COUNTER;
	event.track_uuid = queue->depth_uuid;
	event.counter_value = depth;
	packet.track_event = &event;
	return perfetto_put(w, &packet);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* The name of a kernel is interned as an event name, as a stage (which older readers show), and as
 * a kernel. */
void perfetto_add_names(RtlPerfetto__InternedData *interned, RtlPerfetto__EventText **text,
	RtlPerfetto__GpuSpecification **spec)
{
	interned->event_names = text;
	interned->n_event_names = 1;
	interned->gpu_specifications = spec;
	interned->n_gpu_specifications = spec ? 1 : 0;
}

void perfetto_fill_text(RtlPerfetto__EventText *text, size_t name, const char *string)
{
	rtl_perfetto__event_text__init(text);
	text->has_iid = true;
	text->iid = perfetto_name_iid(name);
	text->name = (char *)string;
}

static void fill_stage(
	RtlPerfetto__GpuSpecification *spec, size_t name, const char *string, int category)
{
	rtl_perfetto__gpu_specification__init(spec);
	spec->has_iid = spec->has_category = true;
	spec->iid = stage_iid(name);
	spec->name = (char *)string;
	spec->category = category;
}

/* ---- kernels and copies --------------------------------------------------------------------- */

static bool can_link(const struct export_name *function, int64_t call)
{
	return function && call > 0 && call < LAUNCHES_CALLS_MAX;
}

static void set_dim(RtlPerfetto__Dim3 *dim, const int64_t sizes[3], const int64_t units[3])
{
	rtl_perfetto__dim3__init(dim);
	dim->has_x = dim->has_y = dim->has_z = true;
	dim->x = (uint32_t)(sizes[0] / units[0] + (sizes[0] % units[0] > 0));
	dim->y = (uint32_t)(sizes[1] / units[1] + (sizes[1] % units[1] > 0));
	dim->z = (uint32_t)(sizes[2] / units[2] + (sizes[2] % units[2] > 0));
}

struct launch_args {
	RtlPerfetto__ComputeArg at[ARGS_MAX], *pointers[ARGS_MAX];
	size_t count;
	char comm[24];
};

static RtlPerfetto__ComputeArg *add_arg(struct launch_args *args, const char *name)
{
	RtlPerfetto__ComputeArg *arg = args->at + args->count;

	rtl_perfetto__compute_arg__init(arg);
	arg->name = (char *)name;
	args->pointers[args->count++] = arg;
	return arg;
}

static void add_number(struct launch_args *args, const char *name, int64_t value)
{
	RtlPerfetto__ComputeArg *arg = add_arg(args, name);

	arg->has_int_value = true;
	arg->int_value = value;
}

static void add_collective(struct launch_args *args, const struct export_collective *collective)
{
	add_arg(args, "collective")->string_value =
		(char *)export_collective_name(collective->function);
	add_number(args, "bytes", collective->bytes);
	if (collective->datatype)
		add_arg(args, "datatype")->string_value = (char *)collective->datatype;
	if (collective->has_comm) {
		snprintf(args->comm, sizeof(args->comm), "0x%" PRIx64, (uint64_t)collective->comm);
		add_arg(args, "comm")->string_value = args->comm;
	}
	if (collective->has_seq)
		add_number(args, "seq", collective->seq);
	if (collective->has_size)
		add_number(args, "comm_size", collective->comm_size);
}

static int put_kernel_event(struct export_writer *w, const struct export_kernel *kernel,
	const struct gpu_queue *queue, uint64_t event_id)
{
	static const int64_t ones[3] = {1, 1, 1};
	struct perfetto *state = w->state;
	size_t name = (size_t)(kernel->name - w->source->kernels.items);
	RtlPerfetto__TracePacket packet = perfetto_event(kernel->process->index, kernel->start_ns);
	RtlPerfetto__InternedData interned = RTL_PERFETTO__INTERNED_DATA__INIT;
	RtlPerfetto__EventText text, *texts[] = {&text};
	RtlPerfetto__GpuSpecification spec, *specs[] = {&spec};
	RtlPerfetto__ComputeKernel compute = RTL_PERFETTO__COMPUTE_KERNEL__INIT;
	RtlPerfetto__ComputeKernel *computes[] = {&compute};
	RtlPerfetto__GpuRenderStageEvent event = RTL_PERFETTO__GPU_RENDER_STAGE_EVENT__INIT;
	RtlPerfetto__ComputeKernelLaunch launch = RTL_PERFETTO__COMPUTE_KERNEL_LAUNCH__INIT;
	RtlPerfetto__Dim3 grid, workgroup;
	const struct export_gpu *gpu = export_gpu_find(w->source, kernel->gpu_id);
	struct launch_args args;
	int64_t units[3];

	if (name >= w->source->kernels.count) /* a kernel without a name */
		name = name_count(w->source) - 1;
	if (perfetto_must_name(state, kernel->process->index, name)) {
		perfetto_fill_text(&text, name, kernel->name->text);
		fill_stage(&spec, name, kernel->name->text, STAGE_COMPUTE);
		perfetto_add_names(&interned, texts, specs);
		compute.has_iid = true;
		compute.iid = perfetto_name_iid(name);
		compute.name =
			(char *)(*kernel->name->symbol ? kernel->name->symbol : kernel->name->text);
		compute.demangled_name = (char *)kernel->name->text;
		compute.arch = gpu && *gpu->gfx ? gpu->gfx : NULL;
		interned.compute_kernels = computes;
		interned.n_compute_kernels = 1;
		packet.interned_data = &interned;
	}
	for (int i = 0; i < 3; i++)
		units[i] = kernel->workgroup[i] > 0 ? kernel->workgroup[i] : 1;
	set_dim(&grid, kernel->grid, units);
	set_dim(&workgroup, kernel->workgroup, ones);
	args.count = 0;
	add_number(&args, "dispatch", kernel->id);
	if (kernel->has_submit)
		add_number(&args, "queued_ns", kernel->start_ns - kernel->submit_ns);
	if (kernel->collective)
		add_collective(&args, kernel->collective);
	launch.grid_size = &grid;
	launch.workgroup_size = &workgroup;
	launch.args = args.pointers;
	launch.n_args = args.count;
	event.has_event_id = event.has_duration = event.has_context = event.has_gpu_id = true;
	event.has_hw_queue_iid = event.has_stage_iid = event.has_kernel_iid = event.has_name_iid =
		true;
	event.event_id = event_id;
	event.duration = (uint64_t)(kernel->end_ns - kernel->start_ns);
	event.context = context_id(kernel->process);
	event.gpu_id = (int32_t)kernel->gpu_id;
	event.hw_queue_iid = queue->iid;
	event.stage_iid = stage_iid(name);
	event.kernel_iid = event.name_iid = perfetto_name_iid(name);
	event.launch = &launch;
	packet.gpu_render_stage_event = &event;
	return perfetto_put(w, &packet);
}

static int put_kernel(struct export_writer *w, const struct export_kernel *kernel)
{
	struct perfetto *state = w->state;
	size_t process = kernel->process->index;
	uint64_t event_id = EVENT_PROCESS(process) | EVENT_UNLINKED | EVENT_NUMBER(kernel->id);
	struct gpu_queue *queue;
	char what[48];
	bool is_new;
	int r = perfetto_begin_process(w, kernel->process);

	if (r <= 0)
		return r;
	if (kernel->queue >= NUMBERS_MAX || kernel->gpu_id >= NUMBERS_MAX) {
		w->lost[EXPORT_IMPOSSIBLE]++;
		return 0;
	}
	queue = find_queue(state, process, kernel->queue, &is_new);
	if (!queue)
		return -ENOMEM;
	if (is_new) {
		snprintf(what, sizeof(what), "queue %" PRId64, kernel->queue);
		r = put_queue(w, kernel->process, queue, what);
		if (!r)
			r = put_depth_track(w, kernel, queue);
		if (r)
			return r;
	}
	if (can_link(kernel->function, kernel->call)) {
		int64_t node = launches_add_kernel(&state->launches, process, kernel->call);

		if (node < 0)
			return (int)node;
		if (node < NODES_MAX)
			event_id = perfetto_linked_event(process, kernel->call, node);
	}
	r = put_kernel_event(w, kernel, queue, event_id);
	if (r || !kernel->has_submit)
		return r;
	state->counting = queue;
	return queue_depth_add(&queue->depth, kernel->submit_ns, kernel->start_ns, put_depth, w);
}

static size_t copy_name(const struct export_source *source, const char *direction)
{
	size_t at = 0;

	while (at < COPY_DIRECTIONS - 1 && strcmp(copy_directions[at], direction))
		at++;
	return source->kernels.count + source->functions.count + at;
}

static int put_copy_event(struct export_writer *w, const struct export_copy *copy, int64_t gpu_id,
	const struct gpu_queue *queue, uint64_t event_id)
{
	size_t name = copy_name(w->source, copy->direction);
	RtlPerfetto__TracePacket packet = perfetto_event(copy->process->index, copy->start_ns);
	RtlPerfetto__InternedData interned = RTL_PERFETTO__INTERNED_DATA__INIT;
	RtlPerfetto__EventText text, *texts[] = {&text};
	RtlPerfetto__GpuSpecification spec, *specs[] = {&spec};
	RtlPerfetto__GpuRenderStageEvent event = RTL_PERFETTO__GPU_RENDER_STAGE_EVENT__INIT;
	RtlPerfetto__ExtraData extra[2], *extras[2] = {extra, extra + 1};
	char title[32], bytes[24], number[24];

	snprintf(title, sizeof(title), "copy %s", copy->direction);
	if (perfetto_must_name(w->state, copy->process->index, name)) {
		perfetto_fill_text(&text, name, title);
		fill_stage(&spec, name, title, STAGE_OTHER);
		perfetto_add_names(&interned, texts, specs);
		packet.interned_data = &interned;
	}
	snprintf(bytes, sizeof(bytes), "%" PRId64, copy->bytes);
	snprintf(number, sizeof(number), "%" PRId64, copy->number);
	for (int i = 0; i < 2; i++)
		rtl_perfetto__extra_data__init(extra + i);
	extra[0].name = (char *)"bytes";
	extra[0].value = bytes;
	extra[1].name = (char *)"copy";
	extra[1].value = number;
	event.has_event_id = event.has_duration = event.has_context = event.has_gpu_id = true;
	event.has_hw_queue_iid = event.has_stage_iid = event.has_name_iid = true;
	event.event_id = event_id;
	event.duration = (uint64_t)(copy->end_ns - copy->start_ns);
	event.context = context_id(copy->process);
	event.gpu_id = (int32_t)gpu_id;
	event.hw_queue_iid = queue->iid;
	event.stage_iid = stage_iid(name);
	event.name_iid = perfetto_name_iid(name);
	event.extra_data = extras;
	event.n_extra_data = 2;
	packet.gpu_render_stage_event = &event;
	return perfetto_put(w, &packet);
}

/* A copy is drawn once: at its source, else at its target, else at the host. */
static int put_copy(struct export_writer *w, const struct export_copy *copy)
{
	struct perfetto *state = w->state;
	size_t process = copy->process->index;
	int64_t gpu_id = copy->has_source ? copy->source : copy->target;
	uint64_t event_id =
		EVENT_PROCESS(process) | EVENT_UNLINKED | EVENT_COPY | EVENT_NUMBER(copy->number);
	struct gpu_queue *queue;
	bool is_new;
	int r;

	if (!copy->has_source && !copy->has_target)
		return perfetto_put_host_copy(w, copy);
	r = perfetto_begin_process(w, copy->process);
	if (r <= 0)
		return r;
	if (gpu_id < 0 || gpu_id >= NUMBERS_MAX) {
		w->lost[EXPORT_IMPOSSIBLE]++;
		return 0;
	}
	queue = find_queue(state, process, NUMBERS_MAX + gpu_id, &is_new);
	if (!queue)
		return -ENOMEM;
	if (is_new) {
		r = put_queue(w, copy->process, queue, "copies");
		if (r)
			return r;
	}
	if (can_link(copy->function, copy->call)) {
		r = launches_add_copy(&state->launches, process, copy->call);
		if (r < 0)
			return r;
		if (r)
			event_id = perfetto_linked_event(process, copy->call, NODE_COPY);
	}
	return put_copy_event(w, copy, gpu_id, queue, event_id);
}

/* ---- the trace ------------------------------------------------------------------------------ */

/*
 * Tells what the GPUs are. Readers take the place in the list for the number of the GPU, so one
 * that is not known has an entry without a name.
 */
static int put_gpus(struct export_writer *w)
{
	const struct export_source *source = w->source;
	RtlPerfetto__TracePacket packet = RTL_PERFETTO__TRACE_PACKET__INIT;
	RtlPerfetto__GpuInfo info = RTL_PERFETTO__GPU_INFO__INIT;
	CLEANUP(free_p) RtlPerfetto__GpuInfo__Gpu *gpus = NULL;
	CLEANUP(free_p) RtlPerfetto__GpuInfo__Gpu **pointers = NULL;
	int64_t last = source->gpu_count ? source->gpus[source->gpu_count - 1].id : -1;

	if (last < 0 || last >= GPUS_MAX)
		return 0;
	gpus = calloc((size_t)last + 1, sizeof(*gpus));
	pointers = calloc((size_t)last + 1, sizeof(*pointers));
	if (!gpus || !pointers)
		return -ENOMEM;
	for (int64_t i = 0; i <= last; i++) {
		const struct export_gpu *gpu = export_gpu_find(source, i);

		pointers[i] = gpus + i;
		rtl_perfetto__gpu_info__gpu__init(gpus + i);
		if (!gpu)
			continue;
		gpus[i].name = gpus[i].model = *gpu->name ? gpu->name : NULL;
		gpus[i].architecture = *gpu->gfx ? gpu->gfx : NULL;
		gpus[i].pci_bdf = *gpu->bdf ? gpu->bdf : NULL;
		gpus[i].vendor = *gpu->gfx ? (char *)"AMD" : NULL;
	}
	info.gpus = pointers;
	info.n_gpus = (size_t)last + 1;
	packet.has_trusted_packet_sequence_id = true;
	packet.trusted_packet_sequence_id = PROCESSES_MAX + 1;
	packet.gpu_info = &info;
	return perfetto_put(w, &packet);
}

static int begin(struct export_writer *w)
{
	int r;

	struct perfetto *state = w->state;
	RtlPerfetto__TracePacket packet = RTL_PERFETTO__TRACE_PACKET__INIT;
	RtlPerfetto__ClockSnapshot snapshot = RTL_PERFETTO__CLOCK_SNAPSHOT__INIT;
	RtlPerfetto__ClockSnapshot__Clock clocks[2], *pointers[] = {clocks, clocks + 1};

	state->sequences = calloc(w->source->process_count + 1, sizeof(*state->sequences));
	if (!state->sequences)
		return -ENOMEM;
	for (int i = 0; i < 2; i++) {
		rtl_perfetto__clock_snapshot__clock__init(clocks + i);
		clocks[i].has_clock_id = clocks[i].has_timestamp = true;
	}
	clocks[0].clock_id = CLOCK_ID_BOOTTIME;
	clocks[0].timestamp = (uint64_t)w->source->start_ns;
	clocks[1].clock_id = CLOCK_ID_REALTIME;
	clocks[1].timestamp = (uint64_t)w->source->start_realtime_ns;
	snapshot.clocks = pointers;
	snapshot.n_clocks = 2;
	snapshot.has_primary_trace_clock = true;
	snapshot.primary_trace_clock = CLOCK_ID_BOOTTIME;
	packet.has_trusted_packet_sequence_id = true;
	packet.trusted_packet_sequence_id = PROCESSES_MAX + 1;
	packet.clock_snapshot = &snapshot;
	r = perfetto_put(w, &packet);
	return r ? r : put_gpus(w);
}

static int end(struct export_writer *w)
{
	struct perfetto *state = w->state;
	int r = perfetto_end_slices(w);

	for (size_t i = 0; i < state->queue_count && !r; i++) {
		state->counting = state->queues + i;
		r = queue_depth_finish(&state->queues[i].depth, put_depth, w);
	}
	return r;
}

static void done(struct export_writer *w)
{
	struct perfetto *state = w->state;

	for (size_t i = 0; i < w->source->process_count && state->sequences; i++)
		free(state->sequences[i].named);
	for (size_t i = 0; i < state->queue_count; i++)
		queue_depth_done(&state->queues[i].depth);
	free(state->sequences);
	free(state->lanes);
	free(state->queues);
	free(state->packed);
	tracks_done(&state->tracks);
	idmap_done(&state->lane_index);
	idmap_done(&state->queue_index);
	idmap_done(&state->thread_index);
	idmap_done(&state->metric_index);
	launches_done(&state->launches);
}

const struct export_format export_perfetto = {
	.option = "perfetto",
	.argument = "OUT",
	.help = "Perfetto's protobuf, OUT.pftrace or OUT.pftrace.gz, for ui.perfetto.dev; - is "
		"stdout",
	.use = "open it in ui.perfetto.dev",
	.kind = EXPORT_FILE,
	.is_compressible = true,
	.state_bytes = sizeof(struct perfetto),
	.begin = begin,
	.kernel = put_kernel,
	.copy = put_copy,
	.call = perfetto_put_call,
	.range = perfetto_put_range,
	.metric = perfetto_put_metric,
	.end = end,
	.done = done,
};
