// SPDX-License-Identifier: MIT
#include "cli/export/chrome_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/export/tracks.h"
#include "cli/output/table.h"
#include "proto/base/cleanup.h"

/*
 * pid: process * 1024 for the host, + 1 + gpuId for a GPU; tid: track * 64 + lane + 1. A track of a
 * GPU is a queue, or its copies; one of a host a thread's calls, its ranges (+ RANGES), the ranges
 * that may end on another thread, or copies. So all tids are below 10^9, above which TraceLens
 * drops events.
 */
#define PID_STEP      1024
#define PROCESSES_MAX ((int64_t)1 << 20)
#define TRACKS_MAX    ((int64_t)1 << 22) /* also Linux's limit of a tid */
#define RANGES	      TRACKS_MAX
#define FREE_RANGES   (2 * TRACKS_MAX)
#define COPIES	      (2 * TRACKS_MAX + 1)
#define NO_GPU	      (-1)

/* Of a process: calls have their own number; kernels and copies without a call get one above. */
#define CALL_BITS	40
#define KERNEL_NUMBERS	((int64_t)1 << 36)
#define COPY_NUMBERS	((int64_t)1 << 37)
#define CALL_NUMBER(id) ((id) & (((int64_t)1 << CALL_BITS) - 1))

/* Names that many events have, as JSON. */
struct names {
	struct idmap index;
	char **texts;
	size_t count;
};

struct writer {
	struct query *query;
	FILE *to;
	struct export_processes processes;
	struct names kernels, functions;
	struct tracks tracks;
	struct idmap pids; /* that have their name */
	const struct verdict *verdict;
	struct chrome_json_left_out left_out;
	bool has_events;
};

/* Where an event stands, and when. */
struct place {
	const struct export_process *process;
	int64_t gpu_id; /* NO_GPU: the host */
	int64_t track;
	bool may_nest;
	int64_t start_ns, end_ns;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->texts[i]);
	free(names->texts);
	idmap_done(&names->index);
}

static void writer_done(struct writer *w)
{
	export_processes_done(&w->processes);
	names_done(&w->kernels);
	names_done(&w->functions);
	tracks_done(&w->tracks);
	idmap_done(&w->pids);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* malloc'ed; NULL: no memory. */
static char *make_json(const char *text)
{
	json_t *value = render_json_text(text, text ? strlen(text) : 0);
	char *json = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;

	json_decref(value);
	return json;
}

static int load_names(struct query *query, const char *question, struct names *names)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, question, &rows);

	while (!r && (r = query_next(rows)) > 0) {
		uint32_t *at = idmap_at(&names->index, query_integer(rows, 0));
		char **grown = grow_by_one(names->texts, names->count, sizeof(*grown));

		if (grown)
			names->texts = grown;
		if (!at || !grown)
			return -ENOMEM;
		grown[names->count] = make_json(query_text(rows, 1));
		if (!grown[names->count])
			return -ENOMEM;
		*at = (uint32_t)names->count++;
		r = 0;
	}
	return r;
}

static const char *name_of(const struct names *names, int64_t id, const char *otherwise)
{
	uint32_t at = idmap_find(&names->index, id);

	return at == IDMAP_NONE || !strcmp(names->texts[at], "null") ? otherwise : names->texts[at];
}

/* ---- places --------------------------------------------------------------------------------- */

static void put_us(FILE *to, int64_t ns)
{
	fprintf(to, "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
}

static int64_t pid_of(const struct place *place)
{
	return place->process->id * PID_STEP + place->gpu_id + 1;
}

static void begin_event(struct writer *w)
{
	fputs(w->has_events ? ",\n" : "\n", w->to);
	w->has_events = true;
}

static void put_who(FILE *to, const struct export_process *process)
{
	if (process->has_rank)
		fprintf(to, "rank %" PRId64 " ", process->rank);
}

static int name_process(struct writer *w, const struct place *place)
{
	uint32_t *at = idmap_at(&w->pids, pid_of(place));

	if (!at)
		return -ENOMEM;
	if (*at != IDMAP_NONE)
		return 0;
	*at = 0;
	begin_event(w);
	fprintf(w->to,
		"{\"ph\":\"M\",\"pid\":%" PRId64
		",\"name\":\"process_name\",\"args\":{\"name\":\"%s%s",
		pid_of(place), w->verdict->is_simulated ? "SIMULATED " : "",
		w->verdict->is_complete ? "" : "INCOMPLETE ");
	put_who(w->to, place->process);
	if (place->gpu_id == NO_GPU)
		fputs("host", w->to);
	else
		fprintf(w->to, "GPU %" PRId64, place->gpu_id);
	fprintf(w->to, " (pid %" PRId64 ")\"}}", place->process->pid);
	return 0;
}

static void name_lane(struct writer *w, const struct place *place, int lane)
{
	int64_t track = place->track;

	begin_event(w);
	fprintf(w->to,
		"{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
		",\"name\":\"thread_name\",\"args\":{\"name\":\"",
		pid_of(place), track * TRACK_LANES + lane + 1);
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

static bool is_possible(const struct place *place)
{
	return place->process->id > 0 && place->process->id < PROCESSES_MAX &&
	       place->gpu_id >= NO_GPU && place->gpu_id < PID_STEP - 1 && place->start_ns >= 0 &&
	       place->end_ns >= place->start_ns;
}

/* From `{"ph"` to the name, which follows. 1; 0: it is left out, and counted; -ENOMEM. */
static int begin_slice(struct writer *w, const struct place *place, const char *phase)
{
	bool is_new;
	int lane, r;

	if (!is_possible(place)) {
		w->left_out.impossible++;
		return 0;
	}
	lane = tracks_place(&w->tracks, pid_of(place) * (4 * TRACKS_MAX) + place->track,
		place->may_nest, place->start_ns, place->end_ns, &is_new);
	if (lane == -EXFULL) {
		w->left_out.crossing++;
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
		pid_of(place), place->track * TRACK_LANES + lane + 1);
	put_us(w->to, place->start_ns);
	if (*phase == 'X') {
		fputs(",\"dur\":", w->to);
		put_us(w->to, place->end_ns - place->start_ns);
	}
	return 1;
}

/* The arguments that all events have; others follow, or "}}". */
static void put_args(struct writer *w, const struct place *place)
{
	fprintf(w->to,
		",\"args\":{\"begin_ns\":%" PRId64 ",\"end_ns\":%" PRId64 ",\"delta_ns\":%" PRId64,
		place->start_ns, place->end_ns, place->end_ns - place->start_ns);
	if (place->process->has_rank)
		fprintf(w->to, ",\"rank\":%" PRId64, place->process->rank);
	if (place->gpu_id != NO_GPU)
		fprintf(w->to, ",\"agent\":\"GPU %" PRId64 "\"", place->gpu_id);
}

/* The end of an event that began @duration_ns before; before the event where that is no time. */
static int64_t end_of(int64_t start_ns, int64_t duration_ns)
{
	int64_t end;

	return __builtin_add_overflow(start_ns, duration_ns, &end) ? -1 : end;
}

static int64_t correlation_of(
	const struct export_process *process, bool has_call, int64_t call, int64_t otherwise)
{
	return (process->id << CALL_BITS) + CALL_NUMBER(has_call ? call : otherwise);
}

/* The process of a row, where it was asked for; NULL: it was not, or there is none (counted). */
static const struct export_process *find_process(struct writer *w, int64_t id)
{
	const struct export_process *process = export_processes_find(&w->processes, id);

	if (!process)
		w->left_out.impossible++;
	return process && export_has_process(&w->processes, process) ? process : NULL;
}

static bool is_track(struct writer *w, int64_t number)
{
	if (number >= 0 && number < TRACKS_MAX)
		return true;
	w->left_out.impossible++;
	return false;
}

/* ---- kernels -------------------------------------------------------------------------------- */

static int put_kernel(struct writer *w, const struct query_rows *row)
{
	struct place place = {
		.process = find_process(w, query_integer(row, 1)),
		.gpu_id = query_integer(row, 2),
		.track = query_integer(row, 3),
		.start_ns = query_integer(row, 5),
		.end_ns = end_of(query_integer(row, 5), query_integer(row, 6)),
	};
	int r;

	if (!place.process || !export_has_gpu(&w->processes, true, place.gpu_id))
		return 0;
	if (query_is_null(row, 5)) {
		w->left_out.untimed_kernels++;
		return 0;
	}
	if (!is_track(w, place.track))
		return 0;
	r = begin_slice(w, &place, "X");
	if (r <= 0)
		return r;
	fprintf(w->to, ",\"cat\":\"kernel_dispatch\",\"name\":%s",
		name_of(&w->kernels, query_integer(row, 4), "\"kernel\""));
	put_args(w, &place);
	fprintf(w->to,
		",\"queue\":%" PRId64 ",\"stream_ID\":%" PRId64 ",\"dispatch\":%" PRId64
		",\"sequence\":%" PRId64 ",\"kernel_id\":%" PRId64 ",\"corr_id\":%" PRId64
		",\"grid_size\":%" PRId64 ",\"workgroup_size\":%" PRId64,
		place.track, place.track, query_integer(row, 0), query_integer(row, 7),
		query_integer(row, 4),
		correlation_of(place.process, !query_is_null(row, 9), query_integer(row, 9),
			KERNEL_NUMBERS + CALL_NUMBER(query_integer(row, 0))),
		query_integer(row, 10), query_integer(row, 11));
	if (!query_is_null(row, 8))
		fprintf(w->to, ",\"submit_tid\":%" PRId64, query_integer(row, 8));
	fputs("}}", w->to);
	return 0;
}

/* ---- copies --------------------------------------------------------------------------------- */

static const char *copy_name(const char *direction)
{
	static const char *const names[][2] = {
		{"h2d", "MEMORY_COPY_HOST_TO_DEVICE"},
		{"d2h", "MEMORY_COPY_DEVICE_TO_HOST"},
		{"d2d", "MEMORY_COPY_DEVICE_TO_DEVICE"},
		{"p2p", "MEMORY_COPY_DEVICE_TO_DEVICE"},
		{"h2h", "MEMORY_COPY_HOST_TO_HOST"},
	};

	for (size_t i = 0; direction && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i][0], direction))
			return names[i][1];
	return "MEMORY_COPY_UNKNOWN";
}

static void put_copy_agent(FILE *to, const char *key, const struct query_rows *row, int column)
{
	if (query_is_null(row, column))
		fprintf(to, ",\"%s\":null", key);
	else
		fprintf(to, ",\"%s\":\"GPU %" PRId64 "\"", key, query_integer(row, column));
}

/* Drawn once: at its source, else at its target, else at the host. */
static int put_copy(struct writer *w, const struct query_rows *row)
{
	int at = !query_is_null(row, 6) ? 6 : 7;
	struct place place = {
		.process = find_process(w, query_integer(row, 0)),
		.gpu_id = query_is_null(row, at) ? NO_GPU : query_integer(row, at),
		.track = COPIES,
		.start_ns = query_integer(row, 2),
		.end_ns = query_integer(row, 3),
	};
	int r;

	if (!place.process ||
		(!export_has_gpu(&w->processes, !query_is_null(row, 6), query_integer(row, 6)) &&
			!export_has_gpu(
				&w->processes, !query_is_null(row, 7), query_integer(row, 7))))
		return 0;
	if (query_is_null(row, 2) || query_is_null(row, 3)) {
		w->left_out.untimed_copies++;
		return 0;
	}
	r = begin_slice(w, &place, "X");
	if (r <= 0)
		return r;
	fprintf(w->to, ",\"cat\":\"memory_copy\",\"name\":\"%s\"", copy_name(query_text(row, 5)));
	put_args(w, &place);
	put_copy_agent(w->to, "src_agent", row, 6);
	put_copy_agent(w->to, "dst_agent", row, 7);
	fprintf(w->to, ",\"copy_bytes\":%" PRId64 ",\"copy\":%" PRId64 ",\"corr_id\":%" PRId64 "}}",
		query_integer(row, 4), query_integer(row, 1),
		correlation_of(place.process, !query_is_null(row, 8), query_integer(row, 8),
			COPY_NUMBERS + CALL_NUMBER(query_integer(row, 1))));
	return 0;
}

/* ---- host calls and ranges ------------------------------------------------------------------ */

static int put_call(struct writer *w, const struct query_rows *row)
{
	const char *name = name_of(&w->functions, query_integer(row, 3), "\"call\"");
	struct place place = {
		.process = find_process(w, query_integer(row, 1)),
		.gpu_id = NO_GPU,
		.track = query_integer(row, 2),
		.may_nest = true,
		.start_ns = query_integer(row, 4),
		.end_ns = query_integer(row, 5),
	};
	int r;

	if (!place.process || !is_track(w, place.track))
		return 0;
	r = begin_slice(w, &place, "X");
	if (r <= 0)
		return r;
	fprintf(w->to, ",\"cat\":\"%s\",\"name\":%s",
		strncmp(name, "\"nccl", 5) ? "hip_api" : "rccl_api", name);
	put_args(w, &place);
	fprintf(w->to, ",\"result\":%" PRId64 ",\"corr_id\":%" PRId64 "}}", query_integer(row, 6),
		query_integer(row, 0));
	return 0;
}

static int put_marker(struct writer *w, const struct query_rows *row)
{
	const char *kind = query_text(row, 3) ? query_text(row, 3) : "";
	CLEANUP(free_p) char *text = NULL;
	bool is_mark = !strcmp(kind, "mark"), is_free = !strcmp(kind, "start");
	struct place place = {
		.process = find_process(w, query_integer(row, 0)),
		.gpu_id = NO_GPU,
		.track = FREE_RANGES,
		.may_nest = true,
		.start_ns = query_integer(row, 5),
		.end_ns = query_integer(row, is_mark ? 5 : 6),
	};
	int r;

	if (!place.process)
		return 0;
	if (query_is_null(row, 5) || (!is_mark && query_is_null(row, 6))) {
		w->left_out.open_ranges++;
		return 0;
	}
	if (!is_free) {
		if (!is_track(w, query_integer(row, 2)))
			return 0;
		place.track = RANGES + query_integer(row, 2);
	}
	text = make_json(query_text(row, 4) ? query_text(row, 4) : "");
	if (!text)
		return -ENOMEM;
	r = begin_slice(w, &place, is_mark ? "i" : "X");
	if (r <= 0)
		return r;
	fprintf(w->to, "%s,\"cat\":\"roctx\",\"name\":%s", is_mark ? ",\"s\":\"t\"" : "", text);
	put_args(w, &place);
	fprintf(w->to, ",\"roctx_id\":%" PRId64 "}}", query_integer(row, 1));
	return 0;
}

/* ---- the document --------------------------------------------------------------------------- */

static int put_rows(struct writer *w, const char *question,
	int (*put)(struct writer *w, const struct query_rows *row))
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(w->query, question, &rows);

	while (!r && (r = query_next(rows)) > 0)
		r = put(w, rows);
	return r;
}

static int count_outstanding(struct writer *w, const struct query_rows *row)
{
	const struct export_process *process = find_process(w, query_integer(row, 0));

	if (process && export_has_gpu(&w->processes, !query_is_null(row, 1), query_integer(row, 1)))
		w->left_out.outstanding += (uint64_t)query_integer(row, 2);
	return 0;
}

static int put_left_out(json_t *to, const struct chrome_json_left_out *left_out)
{
	json_t *object = json_object();
	int bad = json_object_set_new(to, "left_out", object);

	bad |= json_object_set_new(
		object, "untimed_kernels", json_integer((json_int_t)left_out->untimed_kernels));
	bad |= json_object_set_new(
		object, "untimed_copies", json_integer((json_int_t)left_out->untimed_copies));
	bad |= json_object_set_new(
		object, "outstanding_kernels", json_integer((json_int_t)left_out->outstanding));
	bad |= json_object_set_new(
		object, "open_ranges", json_integer((json_int_t)left_out->open_ranges));
	bad |= json_object_set_new(
		object, "impossible", json_integer((json_int_t)left_out->impossible));
	bad |= json_object_set_new(
		object, "crossing", json_integer((json_int_t)left_out->crossing));
	return bad;
}

static int put_session(struct query *query, json_t *to)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	const char *name;
	int r = query_ask(query, "sessions", &rows);

	if (!r)
		r = query_next(rows);
	if (r <= 0)
		return r;
	name = query_text(rows, 0);
	r = json_object_set_new(to, "session", render_json_text(name, name ? strlen(name) : 0));
	r |= json_object_set_new(to, "start_ns", json_integer(query_integer(rows, 5)));
	r |= json_object_set_new(to, "start_realtime_ns", json_integer(query_integer(rows, 6)));
	return r ? -ENOMEM : 0;
}

static int put_other_data(struct writer *w)
{
	json_t *object = json_object();
	int r = put_session(w->query, object);

	if (!r && (json_object_set_new(object, "rtl_version", json_string(RTL_VERSION)) ||
			  put_left_out(object, &w->left_out)))
		r = -ENOMEM;
	if (!r)
		r = verdict_put_json(w->verdict, object);
	if (!r)
		r = render_json_value(w->to, object, JSON_COMPACT);
	json_decref(object);
	return r;
}

static int load(struct writer *w, const struct export_options *options)
{
	int r = export_processes_load(w->query, options, &w->processes);

	if (!r)
		r = load_names(w->query, "kernels", &w->kernels);
	if (!r)
		r = load_names(w->query, "api_names", &w->functions);
	return r;
}

int chrome_json_write(struct query *query, const struct verdict *verdict,
	const struct export_options *options, FILE *to, struct chrome_json_left_out *ret)
{
	CLEANUP(writer_done) struct writer w = {.query = query, .to = to, .verdict = verdict};
	int r = load(&w, options);

	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", to);
	if (!r)
		r = put_rows(&w, "export_dispatches", put_kernel);
	if (!r)
		r = put_rows(&w, "export_copies", put_copy);
	if (!r)
		r = put_rows(&w, "export_calls", put_call);
	if (!r)
		r = put_rows(&w, "export_markers", put_marker);
	if (!r)
		r = put_rows(&w, "export_outstanding", count_outstanding);
	fputs("\n],\"otherData\":", to);
	if (!r)
		r = put_other_data(&w);
	fputs("}\n", to);
	*ret = w.left_out;
	return r;
}
