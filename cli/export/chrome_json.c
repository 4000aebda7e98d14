// SPDX-License-Identifier: MIT
/*
 * Chrome's trace event format (JSON), which Perfetto's UI, chrome://tracing and TraceLens's
 * commands for pftrace read: one file for all ranks. docs/formats.md describes its contents.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/export/rows/format.h"
#include "cli/export/rows/launches.h"
#include "cli/export/rows/tracks.h"
#include "proto/base/cleanup.h"

/*
 * pid: process * 1024 for the host, plus 1 + gpuId for a GPU. tid: track * 64 + lane + 1. A track
 * of a GPU is a queue or its copies. A track of a host is a thread's calls, a thread's ranges (+
 * RANGES), the ranges that may end on another thread, or copies. All tids are therefore below 10^9,
 * above which TraceLens drops events.
 */
#define PID_STEP      1024
#define PROCESSES_MAX ((int64_t)1 << 20)
#define TRACKS_MAX    ((int64_t)1 << 22) /* also Linux's limit of a tid */
#define RANGES	      TRACKS_MAX
#define FREE_RANGES   (2 * TRACKS_MAX)
#define COPIES	      (2 * TRACKS_MAX + 1)
#define NO_GPU	      (-1)

/* Correlation numbers within a process: calls have their own number; kernels and copies without a
 * call get a larger one. */
#define CALL_BITS	40
#define KERNEL_NUMBERS	((int64_t)1 << 36)
#define COPY_NUMBERS	((int64_t)1 << 37)
#define CALL_NUMBER(id) ((id) & (((int64_t)1 << CALL_BITS) - 1))

struct chrome_json {
	struct tracks tracks;
	struct idmap pids; /* pids that have been named */
	struct launches launches;
	bool has_events;
};

/* Track and time of an event. */
struct place {
	const struct export_process *process;
	int64_t gpu_id; /* NO_GPU: the host */
	int64_t track;
	bool may_nest;
	int64_t start_ns, end_ns;
};

/* ---- places --------------------------------------------------------------------------------- */

static int64_t pid_of(const struct place *place)
{
	return place->process->id * PID_STEP + place->gpu_id + 1;
}

static int64_t tid_of(int64_t track, int lane)
{
	return track * TRACK_LANES + lane + 1;
}

static void begin_event(struct export_writer *w)
{
	struct chrome_json *state = w->state;

	fputs(state->has_events ? ",\n" : "\n", w->to);
	state->has_events = true;
}

static int name_process(struct export_writer *w, const struct place *place)
{
	struct chrome_json *state = w->state;
	uint32_t *at = idmap_at(&state->pids, pid_of(place));
	char label[EXPORT_LABEL_BYTES];

	if (!at)
		return -ENOMEM;
	if (*at != IDMAP_NONE)
		return 0;
	*at = 0;
	export_label(w->source, place->process, label);
	begin_event(w);
	fprintf(w->to,
		"{\"ph\":\"M\",\"pid\":%" PRId64
		",\"name\":\"process_name\",\"args\":{\"name\":\"%s",
		pid_of(place), label);
	if (place->gpu_id == NO_GPU)
		fputs("host", w->to);
	else
		fprintf(w->to, "GPU %" PRId64, place->gpu_id);
	fprintf(w->to, " (pid %" PRId64 ")\"}}", place->process->pid);
	return 0;
}

static void name_lane(struct export_writer *w, const struct place *place, int lane)
{
	int64_t track = place->track;

	begin_event(w);
	fprintf(w->to,
		"{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
		",\"name\":\"thread_name\",\"args\":{\"name\":\"",
		pid_of(place), tid_of(track, lane));
	if (track == COPIES)
		fputs("copies", w->to);
	else if (place->gpu_id != NO_GPU)
		fprintf(w->to, "queue %" PRId64, track);
	else if (track == FREE_RANGES)
		fputs("roctx start/stop ranges", w->to);
	else if (track >= RANGES)
		fprintf(w->to, "thread %" PRId64 " roctx ranges", track - RANGES);
	else
		fprintf(w->to, "thread %" PRId64 " calls", track);
	if (lane)
		fprintf(w->to, " (overlapping %d)", lane);
	fputs("\"}}", w->to);
}

/* Returns true if pids and tids have room for the place. */
static bool is_possible(const struct place *place)
{
	return place->process->id > 0 && place->process->id < PROCESSES_MAX &&
	       place->gpu_id >= NO_GPU && place->gpu_id < PID_STEP - 1 && place->track >= 0 &&
	       place->track <= COPIES;
}

/* Writes an event from `{"ph"` up to the name. Returns 1, 0 if it is left out (counted), or
 * -errno. */
static int begin_slice(
	struct export_writer *w, const struct place *place, const char *phase, int *ret_lane)
{
	struct chrome_json *state = w->state;
	bool is_new;
	int lane, r;

	if (!is_possible(place)) {
		w->lost[EXPORT_IMPOSSIBLE]++;
		return 0;
	}
	lane = tracks_place(&state->tracks, pid_of(place) * (4 * TRACKS_MAX) + place->track,
		place->may_nest, place->start_ns, place->end_ns, &is_new);
	if (lane == -EXFULL) {
		w->lost[EXPORT_CROSSING]++;
		return 0;
	}
	if (lane < 0)
		return lane;
	r = name_process(w, place);
	if (r)
		return r;
	if (is_new)
		name_lane(w, place, lane);
	begin_event(w);
	fprintf(w->to, "{\"ph\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":", phase,
		pid_of(place), tid_of(place->track, lane));
	export_put_us(w->to, place->start_ns);
	if (*phase == 'X') {
		fputs(",\"dur\":", w->to);
		export_put_us(w->to, place->end_ns - place->start_ns);
	}
	*ret_lane = lane;
	return 1;
}

/* Writes the arguments that all events have. The caller adds more, or "}}". */
static void put_args(struct export_writer *w, const struct place *place)
{
	fprintf(w->to,
		",\"args\":{\"begin_ns\":%" PRId64 ",\"end_ns\":%" PRId64 ",\"delta_ns\":%" PRId64,
		place->start_ns, place->end_ns, place->end_ns - place->start_ns);
	if (place->process->has_rank)
		fprintf(w->to, ",\"rank\":%" PRId64, place->process->rank);
	if (place->gpu_id != NO_GPU)
		fprintf(w->to, ",\"agent\":\"GPU %" PRId64 "\"", place->gpu_id);
}

static int64_t correlation_of(const struct export_process *process, int64_t call, int64_t otherwise)
{
	return (process->id << CALL_BITS) + CALL_NUMBER(call ? call : otherwise);
}

/*
 * Writes one end of an arrow from a call to the @node-th thing that it caused: phase "s" at the
 * call, "f" at the other end.
 */
static void put_arrow(struct export_writer *w, const char *phase, const struct place *place,
	int lane, int64_t call, int64_t node)
{
	begin_event(w);
	fprintf(w->to,
		"{\"ph\":\"%s\"%s,\"cat\":\"launch\",\"name\":\"launch\",\"id\":\"%" PRId64
		".%" PRId64 ".%" PRId64 "\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":",
		phase, *phase == 'f' ? ",\"bp\":\"e\"" : "", place->process->id, call, node,
		pid_of(place), tid_of(place->track, lane));
	export_put_us(w->to, place->start_ns);
	fputs("}", w->to);
}

/* Writes the end of the arrow at a kernel or copy. The call comes later and writes its ends
 * then. */
static int link_to_call(struct export_writer *w, const struct place *place, int lane,
	const struct export_name *function, int64_t call)
{
	struct chrome_json *state = w->state;
	int64_t node;

	if (!function || call >= LAUNCHES_CALLS_MAX)
		return 0;
	node = launches_add_kernel(&state->launches, place->process->index, call);
	if (node < 0)
		return (int)node;
	put_arrow(w, "f", place, lane, call, node);
	return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int64_t product(const int64_t sizes[3])
{
	return (int64_t)((uint64_t)sizes[0] * (uint64_t)sizes[1] * (uint64_t)sizes[2]);
}

static int put_kernel(struct export_writer *w, const struct export_kernel *kernel)
{
	const struct place place = {
		.process = kernel->process,
		.gpu_id = kernel->gpu_id,
		.track = kernel->queue < TRACKS_MAX ? kernel->queue : -1,
		.start_ns = kernel->start_ns,
		.end_ns = kernel->end_ns,
	};
	int64_t number = KERNEL_NUMBERS + CALL_NUMBER(kernel->id);
	int lane, r = begin_slice(w, &place, "X", &lane);

	if (r <= 0)
		return r;
	fprintf(w->to, ",\"cat\":\"kernel_dispatch\",\"name\":%s", kernel->name->json);
	put_args(w, &place);
	fprintf(w->to,
		",\"queue\":%" PRId64 ",\"stream_ID\":%" PRId64 ",\"dispatch\":%" PRId64
		",\"sequence\":%" PRId64 ",\"kernel_id\":%" PRId64 ",\"corr_id\":%" PRId64
		",\"grid_size\":%" PRId64 ",\"workgroup_size\":%" PRId64,
		place.track, place.track, kernel->id, kernel->sequence, kernel->name->id,
		correlation_of(place.process, kernel->call, number), product(kernel->grid),
		product(kernel->workgroup));
	if (kernel->has_tid)
		fprintf(w->to, ",\"submit_tid\":%" PRId64, kernel->tid);
	fputs("}}", w->to);
	return link_to_call(w, &place, lane, kernel->function, kernel->call);
}

static const char *copy_name(const char *direction)
{
	static const char *const names[][2] = {
		{"h2d", "MEMORY_COPY_HOST_TO_DEVICE"},
		{"d2h", "MEMORY_COPY_DEVICE_TO_HOST"},
		{"d2d", "MEMORY_COPY_DEVICE_TO_DEVICE"},
		{"p2p", "MEMORY_COPY_DEVICE_TO_DEVICE"},
		{"h2h", "MEMORY_COPY_HOST_TO_HOST"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i][0], direction))
			return names[i][1];
	return "MEMORY_COPY_UNKNOWN";
}

static void put_copy_agent(FILE *to, const char *key, bool has_gpu, int64_t gpu_id)
{
	if (has_gpu)
		fprintf(to, ",\"%s\":\"GPU %" PRId64 "\"", key, gpu_id);
	else
		fprintf(to, ",\"%s\":null", key);
}

/* A copy is drawn once: at its source, else at its target, else at the host. */
static int put_copy(struct export_writer *w, const struct export_copy *copy)
{
	const struct place place = {
		.process = copy->process,
		.gpu_id = copy->has_source   ? copy->source
			  : copy->has_target ? copy->target
					     : NO_GPU,
		.track = COPIES,
		.start_ns = copy->start_ns,
		.end_ns = copy->end_ns,
	};
	int64_t number = COPY_NUMBERS + CALL_NUMBER(copy->number);
	int lane, r = begin_slice(w, &place, "X", &lane);

	if (r <= 0)
		return r;
	fprintf(w->to, ",\"cat\":\"memory_copy\",\"name\":\"%s\"", copy_name(copy->direction));
	put_args(w, &place);
	put_copy_agent(w->to, "src_agent", copy->has_source, copy->source);
	put_copy_agent(w->to, "dst_agent", copy->has_target, copy->target);
	fprintf(w->to, ",\"copy_bytes\":%" PRId64 ",\"copy\":%" PRId64 ",\"corr_id\":%" PRId64 "}}",
		copy->bytes, copy->number, correlation_of(place.process, copy->call, number));
	return link_to_call(w, &place, lane, copy->function, copy->call);
}

static int put_call(struct export_writer *w, const struct export_call *call)
{
	const struct place place = {
		.process = call->process,
		.gpu_id = NO_GPU,
		.track = call->tid < TRACKS_MAX ? call->tid : -1,
		.may_nest = true,
		.start_ns = call->start_ns,
		.end_ns = call->end_ns,
	};
	struct chrome_json *state = w->state;
	int64_t caused;
	int lane, r = begin_slice(w, &place, "X", &lane);

	if (r <= 0)
		return r;
	fprintf(w->to, ",\"cat\":\"%s\",\"name\":%s",
		call->is_collective_library ? "rccl_api" : "hip_api", call->function->json);
	put_args(w, &place);
	fprintf(w->to, ",\"result\":%" PRId64 ",\"corr_id\":%" PRId64 "}}", call->result, call->id);
	if (call->number >= LAUNCHES_CALLS_MAX)
		return 0;
	caused = launches_kernels(&state->launches, call->process->index, call->number);
	for (int64_t node = 0; node < caused; node++)
		put_arrow(w, "s", &place, lane, call->number, node);
	return 0;
}

static int put_range(struct export_writer *w, const struct export_range *range)
{
	CLEANUP(free_p) char *text = export_json(range->text);
	bool is_mark = range->kind == EXPORT_MARK;
	const struct place place = {
		.process = range->process,
		.gpu_id = NO_GPU,
		.track = range->kind == EXPORT_START		      ? FREE_RANGES
			 : range->tid >= 0 && range->tid < TRACKS_MAX ? RANGES + range->tid
								      : -1,
		.may_nest = true,
		.start_ns = range->start_ns,
		.end_ns = range->end_ns,
	};
	int lane, r;

	if (!text)
		return -ENOMEM;
	r = begin_slice(w, &place, is_mark ? "i" : "X", &lane);
	if (r <= 0)
		return r;
	fprintf(w->to, "%s,\"cat\":\"roctx\",\"name\":%s", is_mark ? ",\"s\":\"t\"" : "", text);
	put_args(w, &place);
	fprintf(w->to, ",\"roctx_id\":%" PRId64 "}}", range->id);
	return 0;
}

static int put_metric(struct export_writer *w, const struct export_metric *metric)
{
	CLEANUP(free_p) char *name = export_json(metric->name);
	const struct place place = {.process = metric->process,
		.gpu_id = NO_GPU,
		.start_ns = metric->time_ns,
		.end_ns = metric->time_ns};
	int r;

	if (!name)
		return -ENOMEM;
	if (!is_possible(&place) || !isfinite(metric->value)) {
		w->lost[EXPORT_IMPOSSIBLE]++;
		return 0;
	}
	r = name_process(w, &place);
	if (r)
		return r;
	begin_event(w);
	fprintf(w->to, "{\"ph\":\"C\",\"pid\":%" PRId64 ",\"tid\":0,\"ts\":", pid_of(&place));
	export_put_us(w->to, metric->time_ns);
	fprintf(w->to, ",\"name\":%s,\"args\":{\"value\":%.17g}}", name, metric->value);
	return 0;
}

/* ---- the document --------------------------------------------------------------------------- */

static int begin(struct export_writer *w)
{
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", w->to);
	return 0;
}

static int end(struct export_writer *w)
{
	int r;

	fputs("\n],\"otherData\":", w->to);
	r = export_put_metadata(w->to, w, true);
	fputs("}\n", w->to);
	return r;
}

static void done(struct export_writer *w)
{
	struct chrome_json *state = w->state;

	tracks_done(&state->tracks);
	idmap_done(&state->pids);
	launches_done(&state->launches);
}

const struct export_format export_chrome_json = {
	.option = "chrome-json",
	.argument = "OUT",
	.help = "Chrome's trace event format, for Perfetto's UI, chrome://tracing and TraceLens; - "
		"is stdout",
	.use = "open it in ui.perfetto.dev or chrome://tracing",
	.kind = EXPORT_FILE,
	.is_compressible = true,
	.state_bytes = sizeof(struct chrome_json),
	.begin = begin,
	.kernel = put_kernel,
	.copy = put_copy,
	.call = put_call,
	.range = put_range,
	.metric = put_metric,
	.end = end,
	.done = done,
};
