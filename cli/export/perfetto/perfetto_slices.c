// SPDX-License-Identifier: MIT
/* The host's part of the format perfetto: host calls, ranges and copies between hosts, which are
 * slices of tracks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/export/perfetto/perfetto_private.h"
#include "proto/base/cleanup.h"

enum track_kind { TRACK_CALLS, TRACK_RANGES, TRACK_FREE_RANGES, TRACK_HOST_COPIES };

/* A lane in which slices nest. BEGIN and END are written in the order of time. */
struct lane {
	size_t process;
	uint64_t uuid;
	size_t open;
	int64_t ends[TRACK_DEPTH];
};

/* ---- tracks of slices ----------------------------------------------------------------------- */

static int put_slice_event(
	struct export_writer *w, const struct lane *lane, int type, int64_t time_ns)
{
	RtlPerfetto__TracePacket packet = perfetto_event(lane->process, time_ns);
	RtlPerfetto__TrackEvent event = RTL_PERFETTO__TRACK_EVENT__INIT;

	event.has_type = event.has_track_uuid = true;
	event.type = type;
	event.track_uuid = lane->uuid;
	packet.track_event = &event;
	return perfetto_put(w, &packet);
}

/* Ends the slices that end no later than @time_ns, inner ones first. */
static int close_slices(struct export_writer *w, struct lane *lane, int64_t time_ns)
{
	int r = 0;

	while (!r && lane->open && lane->ends[lane->open - 1] <= time_ns)
		r = put_slice_event(w, lane, EVENT_END, lane->ends[--lane->open]);
	return r;
}

/* Writes the track of the thread, which shows its calls. Further lanes and ranges are below it. */
static int put_thread(struct export_writer *w, const struct export_process *process, int64_t tid,
	uint64_t *ret_uuid)
{
	struct perfetto *state = w->state;
	int64_t key = ((int64_t)process->index << 32) | tid;
	uint32_t *at = idmap_at(&state->thread_index, key);
	RtlPerfetto__TrackDescriptor track = RTL_PERFETTO__TRACK_DESCRIPTOR__INIT;
	RtlPerfetto__ThreadDescriptor thread = RTL_PERFETTO__THREAD_DESCRIPTOR__INIT;

	if (!at)
		return -ENOMEM;
	if (*at != IDMAP_NONE) {
		*ret_uuid = perfetto_process_uuid(process->index) | *at;
		return 0;
	}
	*ret_uuid = perfetto_next_uuid(state, process->index);
	*at = (uint32_t)*ret_uuid;
	thread.has_pid = thread.has_tid = true;
	thread.pid = perfetto_pid(process);
	thread.tid = (int32_t)tid;
	track.has_uuid = true;
	track.uuid = *ret_uuid;
	track.thread = &thread;
	return perfetto_put_track(w, process->index, &track);
}

static int put_lane(struct export_writer *w, const struct export_process *process,
	enum track_kind kind, int64_t number, int at, struct lane *lane)
{
	static const char *const names[] = {
		[TRACK_CALLS] = "calls",
		[TRACK_RANGES] = "roctx ranges",
		[TRACK_FREE_RANGES] = "roctx start/stop ranges",
		[TRACK_HOST_COPIES] = "copies between hosts",
	};
	RtlPerfetto__TrackDescriptor track = RTL_PERFETTO__TRACK_DESCRIPTOR__INIT;
	uint64_t thread = 0;
	char name[64];
	int r = 0;

	lane->process = process->index;
	if (kind == TRACK_CALLS || kind == TRACK_RANGES)
		r = put_thread(w, process, number, &thread);
	if (r)
		return r;
	if (kind == TRACK_CALLS && !at) {
		lane->uuid = thread;
		return 0;
	}
	lane->uuid = perfetto_next_uuid(w->state, process->index);
	if (at)
		snprintf(name, sizeof(name), "%s (overlapping %d)", names[kind], at);
	else
		snprintf(name, sizeof(name), "%s", names[kind]);
	track.has_uuid = track.has_parent_uuid = true;
	track.uuid = lane->uuid;
	track.parent_uuid = thread ? thread : perfetto_process_uuid(process->index);
	track.name = name;
	return perfetto_put_track(w, process->index, &track);
}

static struct lane *find_lane(struct export_writer *w, const struct export_process *process,
	enum track_kind kind, int64_t number, int at)
{
	struct perfetto *state = w->state;
	int64_t key = ((((int64_t)process->index << 2 | kind) << 28) | number) * TRACK_LANES + at;
	uint32_t *index = idmap_at(&state->lane_index, key);
	struct lane *grown;

	if (!index)
		return NULL;
	if (*index != IDMAP_NONE)
		return state->lanes + *index;
	grown = grow_by_one(state->lanes, state->lane_count, sizeof(*grown));
	if (!grown)
		return NULL;
	state->lanes = grown;
	*index = (uint32_t)state->lane_count;
	grown[state->lane_count] = (struct lane){0};
	if (put_lane(w, process, kind, number, at, grown + state->lane_count))
		return NULL;
	return grown + state->lane_count++;
}

/*
 * Opens a slice in its lane, after ending all slices that end before it. Returns 1, 0 if it is left
 * out (counted), or -errno. The caller closes the slice of a mark, which has no end.
 */
static int open_slice(struct export_writer *w, const struct export_process *process,
	enum track_kind kind, int64_t number, int64_t start_ns, int64_t end_ns, struct lane **ret)
{
	struct perfetto *state = w->state;
	bool is_new;
	int at, r = perfetto_begin_process(w, process);

	if (r <= 0)
		return r;
	if (number < 0 || number >= NUMBERS_MAX) {
		w->lost[EXPORT_IMPOSSIBLE]++;
		return 0;
	}
	at = tracks_place(&state->tracks, (((int64_t)process->index << 2 | kind) << 28) | number,
		true, start_ns, end_ns, &is_new);
	if (at == -EXFULL) {
		w->lost[EXPORT_CROSSING]++;
		return 0;
	}
	if (at < 0)
		return at;
	*ret = find_lane(w, process, kind, number, at);
	if (!*ret)
		return -ENOMEM;
	r = close_slices(w, *ret, start_ns);
	if (r)
		return r;
	(*ret)->ends[(*ret)->open++] = end_ns;
	return 1;
}

/* Writes a copy between two places of the host, which no GPU's queue can show. */
int perfetto_put_host_copy(struct export_writer *w, const struct export_copy *copy)
{
	RtlPerfetto__TrackEvent event = RTL_PERFETTO__TRACK_EVENT__INIT;
	RtlPerfetto__TracePacket packet;
	uint64_t category = CATEGORY_COPY;
	struct lane *lane;
	int r = open_slice(
		w, copy->process, TRACK_HOST_COPIES, 0, copy->start_ns, copy->end_ns, &lane);

	if (r <= 0)
		return r;
	packet = perfetto_event(copy->process->index, copy->start_ns);
	event.has_type = event.has_track_uuid = true;
	event.type = EVENT_BEGIN;
	event.track_uuid = lane->uuid;
	event.name = (char *)"copy";
	event.category_iids = &category;
	event.n_category_iids = 1;
	packet.track_event = &event;
	return perfetto_put(w, &packet);
}

/* ---- host calls and ranges ------------------------------------------------------------------ */

struct annotations {
	RtlPerfetto__DebugAnnotation at[ARGS_MAX], *pointers[ARGS_MAX];
	size_t count;
	char comm[24];
};

static RtlPerfetto__DebugAnnotation *annotate(struct annotations *annotations, uint64_t name)
{
	RtlPerfetto__DebugAnnotation *at = annotations->at + annotations->count;

	rtl_perfetto__debug_annotation__init(at);
	at->has_name_iid = true;
	at->name_iid = name;
	annotations->pointers[annotations->count++] = at;
	return at;
}

static void annotate_number(struct annotations *annotations, uint64_t name, int64_t value)
{
	RtlPerfetto__DebugAnnotation *at = annotate(annotations, name);

	at->has_int_value = true;
	at->int_value = value;
}

static void annotate_collective(
	struct annotations *annotations, const struct export_collective *collective)
{
	annotate(annotations, ARG_COLLECTIVE)->string_value =
		(char *)export_collective_name(collective->function);
	annotate_number(annotations, ARG_BYTES, collective->bytes);
	if (collective->datatype)
		annotate(annotations, ARG_DATATYPE)->string_value = (char *)collective->datatype;
	if (collective->has_comm) {
		snprintf(annotations->comm, sizeof(annotations->comm), "0x%" PRIx64,
			(uint64_t)collective->comm);
		annotate(annotations, ARG_COMM)->string_value = annotations->comm;
	}
	if (collective->has_seq)
		annotate_number(annotations, ARG_SEQ, collective->seq);
	if (collective->has_size)
		annotate_number(annotations, ARG_COMM_SIZE, collective->comm_size);
}

/* Lists the event ids of what the call launched. The caller frees *@ret. Returns 0 or -ENOMEM. */
static int list_launched(
	struct perfetto *state, const struct export_call *call, uint64_t **ret, size_t *ret_count)
{
	size_t process = call->process->index;
	int64_t kernels;
	bool has_copy;

	*ret_count = 0;
	if (call->number >= LAUNCHES_CALLS_MAX)
		return 0;
	kernels = launches_kernels(&state->launches, process, call->number);
	has_copy = launches_has_copy(&state->launches, process, call->number);
	if (!kernels && !has_copy)
		return 0;
	*ret = malloc(((size_t)kernels + has_copy) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (int64_t node = 0; node < kernels && node < NODES_MAX; node++)
		(*ret)[(*ret_count)++] = perfetto_linked_event(process, call->number, node);
	if (has_copy)
		(*ret)[(*ret_count)++] = perfetto_linked_event(process, call->number, NODE_COPY);
	return 0;
}

int perfetto_put_call(struct export_writer *w, const struct export_call *call)
{
	struct perfetto *state = w->state;
	size_t function = (size_t)(call->function - w->source->functions.items);
	size_t name = w->source->kernels.count + function;
	RtlPerfetto__TrackEvent event = RTL_PERFETTO__TRACK_EVENT__INIT;
	RtlPerfetto__GpuCorrelation correlation = RTL_PERFETTO__GPU_CORRELATION__INIT;
	RtlPerfetto__InternedData interned = RTL_PERFETTO__INTERNED_DATA__INIT;
	RtlPerfetto__EventText text, *texts[] = {&text};
	RtlPerfetto__TracePacket packet;
	struct annotations annotations;
	CLEANUP(free_p) uint64_t *launched = NULL;
	uint64_t category = call->is_collective_library ? CATEGORY_RCCL : CATEGORY_HIP;
	struct lane *lane;
	int r = open_slice(
		w, call->process, TRACK_CALLS, call->tid, call->start_ns, call->end_ns, &lane);

	if (r <= 0)
		return r;
	packet = perfetto_event(call->process->index, call->start_ns);
	if (function >= w->source->functions.count) { /* a function without a name */
		event.name = (char *)call->function->text;
	} else {
		event.has_name_iid = true;
		event.name_iid = perfetto_name_iid(name);
		if (perfetto_must_name(state, call->process->index, name)) {
			perfetto_fill_text(&text, name, call->function->text);
			perfetto_add_names(&interned, texts, NULL);
			packet.interned_data = &interned;
		}
	}
	r = list_launched(state, call, &launched, &correlation.n_render_stage_submission_event_ids);
	if (r)
		return r;
	correlation.render_stage_submission_event_ids = launched;
	if (launched)
		event.gpu_correlation = &correlation;
	annotations.count = 0;
	if (call->result)
		annotate_number(&annotations, ARG_RESULT, call->result);
	if (call->collective)
		annotate_collective(&annotations, call->collective);
	event.debug_annotations = annotations.pointers;
	event.n_debug_annotations = annotations.count;
	event.has_type = event.has_track_uuid = event.has_correlation_id = true;
	event.type = EVENT_BEGIN;
	event.track_uuid = lane->uuid;
	event.correlation_id = (uint64_t)call->number;
	event.category_iids = &category;
	event.n_category_iids = 1;
	if (!call->is_collective_library) {
		event.has_gpu_api = true;
		event.gpu_api = API_HIP;
	}
	packet.track_event = &event;
	return perfetto_put(w, &packet);
}

int perfetto_put_range(struct export_writer *w, const struct export_range *range)
{
	bool is_mark = range->kind == EXPORT_MARK, is_free = range->kind == EXPORT_START;
	RtlPerfetto__TrackEvent event = RTL_PERFETTO__TRACK_EVENT__INIT;
	RtlPerfetto__TracePacket packet;
	struct annotations annotations = {.count = 0};
	uint64_t category = CATEGORY_ROCTX;
	struct lane *lane;
	int r = open_slice(w, range->process, is_free ? TRACK_FREE_RANGES : TRACK_RANGES,
		is_free ? 0 : range->tid, range->start_ns, range->end_ns, &lane);

	if (r <= 0)
		return r;
	if (is_mark) /* a mark has a place in its lane and no end */
		lane->open--;
	packet = perfetto_event(range->process->index, range->start_ns);
	annotate_number(&annotations, ARG_ROCTX_ID, range->id);
	event.debug_annotations = annotations.pointers;
	event.n_debug_annotations = annotations.count;
	event.has_type = event.has_track_uuid = true;
	event.type = is_mark ? EVENT_INSTANT : EVENT_BEGIN;
	event.track_uuid = lane->uuid;
	event.name = (char *)range->text;
	event.category_iids = &category;
	event.n_category_iids = 1;
	packet.track_event = &event;
	return perfetto_put(w, &packet);
}

/* Writes the track of a metric of a process, once. Returns 0 or -errno. */
static int find_counter(
	struct export_writer *w, const struct export_metric *metric, uint64_t *ret_uuid)
{
	struct perfetto *state = w->state;
	size_t process = metric->process->index;
	uint32_t *at = idmap_at(&state->metric_index, ((int64_t)process << 32) | metric->name_id);
	RtlPerfetto__TrackDescriptor track = RTL_PERFETTO__TRACK_DESCRIPTOR__INIT;
	RtlPerfetto__CounterDescriptor counter = RTL_PERFETTO__COUNTER_DESCRIPTOR__INIT;

	if (!at)
		return -ENOMEM;
	*ret_uuid = perfetto_process_uuid(process) | *at;
	if (*at != IDMAP_NONE)
		return 0;
	*ret_uuid = perfetto_next_uuid(state, process);
	*at = (uint32_t)*ret_uuid;
	counter.has_unit = strstr(metric->name, "_bytes") != NULL;
	counter.unit = UNIT_BYTES;
	track.has_uuid = track.has_parent_uuid = true;
	track.uuid = *ret_uuid;
	track.parent_uuid = perfetto_process_uuid(process);
	track.name = (char *)metric->name;
	track.counter = &counter;
	return perfetto_put_track(w, process, &track);
}

int perfetto_put_metric(struct export_writer *w, const struct export_metric *metric)
{
	RtlPerfetto__TrackEvent event = RTL_PERFETTO__TRACK_EVENT__INIT;
	RtlPerfetto__TracePacket packet;
	int r = perfetto_begin_process(w, metric->process);

	if (r <= 0)
		return r;
	r = find_counter(w, metric, &event.track_uuid);
	if (r)
		return r;
	packet = perfetto_event(metric->process->index, metric->time_ns);
	event.has_type = event.has_track_uuid = event.has_double_counter_value = true;
	event.type = EVENT_COUNTER;
	event.double_counter_value = metric->value;
	packet.track_event = &event;
	return perfetto_put(w, &packet);
}

int perfetto_end_slices(struct export_writer *w)
{
	struct perfetto *state = w->state;
	int r = 0;

	for (size_t i = 0; i < state->lane_count && !r; i++)
		r = close_slices(w, state->lanes + i, INT64_MAX);
	return r;
}
