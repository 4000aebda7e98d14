// SPDX-License-Identifier: MIT
#include "cli/timeline/lanes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/trace/sort_buffer.h"
#include "cli/timeline/host_calls.h"
#include "proto/base/cleanup.h"

/* Limits of the events held back, over all lanes and per lane: 64 MiB and 2 MiB. With a thousand
 * lanes each still has 2048. */
#define HELD_MAX      ((size_t)1 << 21)
#define HELD_LANE_MAX ((size_t)1 << 16)
#define HELD_LANE_MIN ((size_t)1 << 10)

#define NO_LANE SIZE_MAX

struct shape {
	size_t lane; /* NO_LANE: not requested */
	enum breakdown_stream stream;
};

/* The state of a lane during the pass; it has the same index as in timeline->lanes. */
struct track {
	struct breakdown breakdown;
	struct reorder reorder;
	struct pass *pass;
	size_t lane;
};

/* The copies of a process, read in step with its dispatches. */
struct copies {
	struct query_rows *rows;
	struct breakdown_event next;
	size_t lane[2]; /* lanes of the next copy, or NO_LANE */
	int64_t process_id;
	size_t first_lane, lane_count; /* lanes of the process */
};

struct pass {
	const struct trace *trace;
	struct timeline *timeline;
	const struct timeline_options *options;
	struct timeline_host host;
	struct shape *shapes; /* as those of the trace */
	struct track *tracks;
	struct copies *copies; /* sorted by process */
	size_t copies_count;
	size_t *copies_of; /* maps a lane to its index in copies */
};

static void pass_done(struct pass *pass)
{
	timeline_host_done(&pass->host);
	free(pass->shapes);
	for (size_t i = 0; pass->tracks && i < pass->timeline->lane_count; i++)
		reorder_done(&pass->tracks[i].reorder);
	free(pass->tracks);
	for (size_t i = 0; i < pass->copies_count; i++)
		query_rows_free_p(&pass->copies[i].rows);
	free(pass->copies);
	free(pass->copies_of);
}

static int64_t plus(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static int64_t minus(int64_t a, int64_t b)
{
	int64_t difference;

	return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : INT64_MIN)
							 : difference;
}

/* ---- lanes, sorted by process and GPU ---------------------------------------------------- */

static size_t find_lane(const struct timeline *t, int64_t process_id, int64_t gpu_id)
{
	const struct timeline_lane *lanes = t->lanes;

	return PARTITION_POINT(t->lane_count, i,
		lanes[i].process_id < process_id ||
			(lanes[i].process_id == process_id && lanes[i].gpu_id < gpu_id));
}

static bool is_lane(const struct timeline *t, size_t at, int64_t process_id, int64_t gpu_id)
{
	return at < t->lane_count && t->lanes[at].process_id == process_id &&
	       t->lanes[at].gpu_id == gpu_id;
}

void timeline_name_lane(const struct timeline_lane *lane, char ret[REPLICA_NAME_BYTES])
{
	if (lane->has_rank)
		snprintf(ret, REPLICA_NAME_BYTES, "rank %" PRId64, lane->rank);
	else if (lane->replica.replica)
		replica_name(&lane->replica, ret);
	else
		snprintf(ret, REPLICA_NAME_BYTES, "process %" PRId64, lane->process_id);
}

static bool is_in(const struct choice_list *list, int64_t number)
{
	return number >= 0 && number <= UINT32_MAX && choice_has(list, (uint32_t)number);
}

static bool is_asked(const struct timeline_options *o, const struct timeline_lane *lane)
{
	return (!o->ranks.count || (lane->has_rank && is_in(&o->ranks, lane->rank))) &&
	       (!o->gpus.count || is_in(&o->gpus, lane->gpu_id));
}

static void add_lane(struct pass *pass, int64_t process_id, int64_t gpu_id)
{
	struct timeline *t = pass->timeline;
	const struct trace_process *process = trace_process(pass->trace, process_id);
	struct timeline_lane lane = {.process_id = process_id,
		.gpu_id = gpu_id,
		.has_rank = process && process->has_rank,
		.rank = process ? process->rank : 0,
		.replica = process ? process->replica : (struct replica_rank){0},
		.process = steps_of(t->steps, process_id)};
	size_t at = find_lane(t, process_id, gpu_id);
	struct timeline_lane *grown;

	/* A process without any timed event has no time line. */
	if (is_lane(t, at, process_id, gpu_id) || !is_asked(pass->options, &lane) ||
		!lane.process || !lane.process->has_events)
		return;
	grown = grow_by_one(t->lanes, t->lane_count, sizeof(*grown));
	t->lanes = grown;
	memmove(grown + at + 1, grown + at, (t->lane_count - at) * sizeof(*grown));
	grown[at] = lane;
	t->lane_count++;
}

static void load_lanes(struct pass *pass)
{
	const struct trace *trace = pass->trace;

	for (size_t i = 0; i < trace->lane_count; i++)
		add_lane(pass, trace->lanes[i].process_id, trace->lanes[i].gpu_id);
}

static int load_copy_lanes(struct pass *pass)
{
	struct timeline *t = pass->timeline;
	int r = 0;

	QUERY_EACH (r, pass->trace->query, "timeline_copy_lanes", rows) {
		int64_t process_id = query_integer(rows, 0), gpus[2];
		size_t count = trace_copy_gpus(pass->trace, process_id, rows, 1, 2, gpus);

		t->untimed_copies +=
			(uint64_t)query_integer(rows, 3) - (uint64_t)query_integer(rows, 4);
		for (size_t i = 0; i < count && query_integer(rows, 4) && !r; i++)
			add_lane(pass, process_id, gpus[i]);
	}
	return r;
}

static void set_shapes(struct pass *pass)
{
	const struct trace *trace = pass->trace;

	pass->shapes = xcalloc(trace->shape_count + 1, sizeof(*pass->shapes));
	for (size_t i = 0; i < trace->shape_count; i++) {
		const struct trace_shape *from = trace->shapes + i;
		size_t lane = find_lane(pass->timeline, from->process_id, from->gpu_id);

		pass->shapes[i] = (struct shape){
			.lane = is_lane(pass->timeline, lane, from->process_id, from->gpu_id)
					? lane
					: NO_LANE,
			.stream = from->category->class == CATEGORY_COPY ? BREAKDOWN_COPY
				  : from->category->class == CATEGORY_COMPUTATION
					  ? BREAKDOWN_COMPUTE
					  : timeline_stream_of(from->category->collective),
		};
	}
}

/* ---- one lane ------------------------------------------------------------------------------ */

static int take_segment(
	void *taker, const struct breakdown_row *row, const struct breakdown_segment *segment)
{
	struct track *track = taker;
	struct timeline *t = track->pass->timeline;
	struct timeline_lane *lane = t->lanes + track->lane;
	size_t at = row == &lane->outside ? lane->process->count : (size_t)(row - lane->rows);

	if (at < lane->process->count
			? !timeline_shows(track->pass->options, lane->process->at + at)
			: track->pass->options->has_step)
		return 0;
	if (t->segment_count == TIMELINE_SEGMENTS_MAX)
		return -E2BIG;
	if (!(lane->segment_count & (lane->segment_count - 1))) {
		struct timeline_segment *grown = xreallocarray(lane->segments,
			lane->segment_count ? lane->segment_count * 2 : 1, sizeof(*grown));

		lane->segments = grown;
	}
	lane->segments[lane->segment_count++] = (struct timeline_segment){at, *segment};
	t->segment_count++;
	return 0;
}

static int tell_segment(
	void *taker, const struct breakdown_row *row, const struct breakdown_segment *segment)
{
	const struct track *track = taker;
	const struct timeline_taker *to = track->pass->options->taker;

	(void)row; /* a taker of all segments needs no steps */
	return to->take(to->taker, track->lane, segment);
}

static int64_t lane_begin(const struct timeline_lane *lane)
{
	const struct steps_process *process = lane->process;
	int64_t first = process->first_ns;

	return process->count && process->at[0].start_ns < first ? process->at[0].start_ns : first;
}

static int64_t lane_end(const struct timeline_lane *lane)
{
	const struct steps_process *process = lane->process;
	int64_t last = process->last_ns;

	return process->count && process->at[process->count - 1].end_ns > last
		       ? process->at[process->count - 1].end_ns
		       : last;
}

/* Resets the rows to the windows of the steps, and `outside` to the time between them. */
static void reset_rows(struct timeline_lane *lane)
{
	const struct steps_process *process = lane->process;
	uint64_t inside = 0;

	for (size_t i = 0; i < process->count; i++) {
		const struct step *step = process->at + i;

		lane->rows[i] = (struct breakdown_row){
			.start_ns = step->start_ns,
			.end_ns = step->end_ns,
			.wall_ns = (uint64_t)step->end_ns - (uint64_t)step->start_ns,
		};
		inside += lane->rows[i].wall_ns;
	}
	lane->outside =
		(struct breakdown_row){.start_ns = lane_begin(lane), .end_ns = lane_end(lane)};
	lane->outside.wall_ns = (uint64_t)lane_end(lane) - (uint64_t)lane_begin(lane) - inside;
	lane->segment_count = 0;
}

/* If there are too many steps, the whole run becomes one row, unless the caller requested certain
 * steps. */
static int take_runs(struct pass *pass, size_t rows, char error[QUERY_ERROR_BYTES])
{
	const struct timeline_options *o = pass->options;
	char why[128];

	if (o->steps || o->has_step) {
		snprintf(error, QUERY_ERROR_BYTES,
			"%zu steps of all ranks and GPUs are more than %d: name longer ones with "
			"--steps; rtl timeline also takes --ranks and --gpus",
			rows, TIMELINE_ROWS_MAX);
		return -E2BIG;
	}
	snprintf(why, sizeof(why),
		"%zu of all ranks and GPUs, more than %d (--steps names longer ones)", rows,
		TIMELINE_ROWS_MAX);
	return steps_take_whole(pass->timeline->steps, why);
}

static int make_tracks(struct pass *pass, char error[QUERY_ERROR_BYTES])
{
	struct timeline *t = pass->timeline;
	size_t rows = 0;

	for (size_t i = 0; i < t->lane_count; i++)
		rows += t->lanes[i].process->count;
	if (rows > TIMELINE_ROWS_MAX) {
		int r = take_runs(pass, rows, error);

		if (r)
			return r;
	}
	pass->tracks = xcalloc(t->lane_count + 1, sizeof(*pass->tracks));
	for (size_t i = 0; i < t->lane_count; i++) {
		t->lanes[i].rows =
			xcalloc(t->lanes[i].process->count + 1, sizeof(*t->lanes[i].rows));
	}
	return 0;
}

static size_t held_limit(const struct timeline *t)
{
	size_t limit = HELD_MAX / (t->lane_count ? t->lane_count : 1);

	return limit > HELD_LANE_MAX   ? HELD_LANE_MAX
	       : limit < HELD_LANE_MIN ? HELD_LANE_MIN
				       : limit;
}

static void begin_tracks(struct pass *pass, bool is_sorted)
{
	struct timeline *t = pass->timeline;

	t->segment_count = 0;
	t->untimed = 0;
	for (size_t i = 0; i < t->lane_count; i++) {
		struct timeline_lane *lane = t->lanes + i;
		struct track *track = pass->tracks + i;
		const struct trace_process *process = trace_process(pass->trace, lane->process_id);
		const struct timeline_waits *waits =
			process ? pass->host.waits + (process - pass->trace->processes) : NULL;

		reset_rows(lane);
		reorder_done(&track->reorder);
		*track = (struct track){
			.pass = pass,
			.lane = i,
			.breakdown = {.rows = lane->rows,
				.count = lane->process->count,
				.outside = &lane->outside,
				.waits = waits ? waits->at : NULL,
				.wait_count = waits ? waits->count : 0,
				.has_calls = process && process->has_calls,
				.micro_idle_ns = pass->options->micro_idle_ns},
		};
		if (pass->options->wants_segments || pass->options->taker) {
			track->breakdown.take = pass->options->taker ? tell_segment : take_segment;
			track->breakdown.taker = track;
		}
		reorder_init(&track->reorder, held_limit(t));
		track->reorder.is_sorted = is_sorted;
		breakdown_begin(&track->breakdown, lane_begin(lane));
	}
}

/* Returns the row of the step that contains @time_ns, or `outside`. The counts of a row take no
 * part in the sweep. */
static struct breakdown_row *find_row(struct timeline_lane *lane, int64_t time_ns)
{
	const struct step *step = steps_find(lane->process, time_ns);

	return step ? lane->rows + (step - lane->process->at) : &lane->outside;
}

static int add_event(
	struct pass *pass, size_t lane, const struct breakdown_event *event, bool is_kernel)
{
	struct breakdown_row *row = find_row(pass->timeline->lanes + lane, event->start_ns);

	*(is_kernel ? &row->kernels : &row->copies) += 1;
	return reorder_add(&pass->tracks[lane].reorder, event, &pass->tracks[lane].breakdown);
}

/* ---- copies -------------------------------------------------------------------------------- */

static int next_copy(struct pass *pass, struct copies *copies)
{
	const struct timeline *t = pass->timeline;
	struct query_rows *rows = copies->rows;
	size_t found = 0, count;
	int64_t gpus[2];
	int r;

	while (!found && (r = query_next(rows)) > 0) {
		copies->next = (struct breakdown_event){.start_ns = query_integer(rows, 0),
			.end_ns = query_integer(rows, 1),
			.submit_ns = query_is_null(rows, 2) ? BREAKDOWN_NO_SUBMIT
							    : query_integer(rows, 2),
			.stream = BREAKDOWN_COPY};
		copies->lane[0] = copies->lane[1] = NO_LANE;
		count = trace_copy_gpus(pass->trace, copies->process_id, rows, 3, 4, gpus);
		for (size_t i = 0; i < count; i++) {
			size_t lane = find_lane(t, copies->process_id, gpus[i]);

			if (is_lane(t, lane, copies->process_id, gpus[i]))
				copies->lane[found++] = lane;
		}
	}
	if (found)
		return 0;
	query_rows_free_p(&copies->rows);
	return r;
}

/* Adds all copies that start no later than @until_ns, so that they come before the next
 * dispatch. */
static int add_copies(struct pass *pass, struct copies *copies, int64_t until_ns)
{
	int r = 0;

	while (!r && copies->rows && copies->next.start_ns <= until_ns) {
		for (int i = 0; i < 2 && !r; i++)
			if (copies->lane[i] != NO_LANE)
				r = add_event(pass, copies->lane[i], &copies->next, false);
		if (!r)
			r = next_copy(pass, copies);
	}
	return r;
}

static int open_copies(struct pass *pass, bool is_sorted)
{
	struct timeline *t = pass->timeline;
	int r = 0;

	for (size_t i = 0; i < pass->copies_count; i++)
		query_rows_free_p(&pass->copies[i].rows);
	if (!pass->copies)
		pass->copies = xcalloc(t->lane_count + 1, sizeof(*pass->copies));
	if (!pass->copies_of)
		pass->copies_of = xcalloc(t->lane_count + 1, sizeof(*pass->copies_of));
	pass->copies_count = 0;
	for (size_t i = 0; i < t->lane_count && !r; i++) {
		struct copies *copies = pass->copies + pass->copies_count;

		if (i && t->lanes[i - 1].process_id == t->lanes[i].process_id) {
			pass->copies_of[i] = pass->copies_of[i - 1];
			continue;
		}
		*copies = (struct copies){.process_id = t->lanes[i].process_id};
		pass->copies_of[i] = pass->copies_count++;
		r = query_ask_of(pass->trace->query,
			is_sorted ? "timeline_copies_sorted" : "timeline_copies",
			copies->process_id, &copies->rows);
		if (!r)
			r = next_copy(pass, copies);
	}
	return r;
}

/* ---- dispatches ---------------------------------------------------------------------------- */

static int add_dispatch(struct pass *pass, const struct query_rows *rows)
{
	size_t at = trace_shape(pass->trace, query_integer(rows, 0));
	const struct shape *shape = pass->shapes + at;
	struct copies *copies;
	struct breakdown_event event;
	int64_t submit;
	int r;

	if (at == pass->trace->shape_count || shape->lane == NO_LANE)
		return 0;
	submit = query_integer(rows, 3);
	if (query_is_null(rows, 1)) {
		find_row(pass->timeline->lanes + shape->lane, submit)->untimed++;
		pass->timeline->untimed++;
		return 0;
	}
	event.start_ns = query_integer(rows, 1);
	event.end_ns = plus(event.start_ns, query_integer(rows, 2));
	event.submit_ns = submit || !query_is_null(rows, 3) ? minus(event.start_ns, submit)
							    : BREAKDOWN_NO_SUBMIT;
	event.stream = shape->stream;
	if (event.stream == BREAKDOWN_COMMUNICATION && pass->host.call_count &&
		!query_is_null(rows, 4))
		event.stream = timeline_host_stream(&pass->host, pass->trace->shapes[at].process_id,
			query_integer(rows, 4),
			query_is_null(rows, 5) ? -1 : query_integer(rows, 5));
	copies = pass->copies + pass->copies_of[shape->lane];
	r = copies->rows ? add_copies(pass, copies, event.start_ns) : 0;
	return r ? r : add_event(pass, shape->lane, &event, true);
}

/* Returns 1 if the events of a lane were too far out of order. */
static int pass_over(struct pass *pass, bool is_sorted)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	struct timeline *t = pass->timeline;
	bool is_inexact = false;
	int r;

	begin_tracks(pass, is_sorted);
	r = pass->options->taker ? pass->options->taker->begin(
					   pass->options->taker->taker, t->lanes, t->lane_count)
				 : 0;
	if (!r)
		r = open_copies(pass, is_sorted);
	if (!r)
		r = query_ask(pass->trace->query,
			is_sorted ? "timeline_dispatches_sorted" : "timeline_dispatches", &rows);
	while (!r && (r = query_next(rows)) > 0)
		r = add_dispatch(pass, rows);
	for (size_t i = 0; i < pass->copies_count && !r; i++)
		r = add_copies(pass, pass->copies + i, INT64_MAX);
	for (size_t i = 0; i < t->lane_count && !r; i++) {
		struct track *track = pass->tracks + i;

		r = reorder_flush(&track->reorder, &track->breakdown);
		if (!r)
			r = breakdown_finish(&track->breakdown, lane_end(t->lanes + i));
		is_inexact |= track->reorder.is_inexact;
	}
	return r ? r : is_inexact;
}

int timeline_pass(const struct trace *trace, struct timeline *timeline,
	const struct timeline_options *options, char error[QUERY_ERROR_BYTES])
{
	CLEANUP(pass_done)
	struct pass pass = {.trace = trace, .timeline = timeline, .options = options};
	int r = timeline_host_load(trace, &pass.host);

	if (!r)
		load_lanes(&pass);
	if (!r)
		r = load_copy_lanes(&pass);
	if (!r)
		set_shapes(&pass);
	if (!r)
		r = make_tracks(&pass, error);
	if (!r)
		r = pass_over(&pass, false);
	if (r == 1)
		r = pass_over(&pass, true);
	if (r == -E2BIG && !error[0])
		snprintf(error, QUERY_ERROR_BYTES,
			"more than %d segments: choose with --ranks, --gpus or --step",
			TIMELINE_SEGMENTS_MAX);
	return r;
}
