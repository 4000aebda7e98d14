/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/ingest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "collectord/ingest/calls.h"
#include "collectord/ingest/copies.h"
#include "collectord/ingest/markers.h"
#include "collectord/ingest/process/ranks.h"
#include "collectord/ingest/process/recording_intervals.h"
#include "proto/base/fault.h"
#include "proto/base/limits.h"
#include "proto/recorder/layout.h"

#define LONG_DURATION UINT32_MAX
#define LONG_SUBMIT   INT32_MIN
#define NO_RECORDS    UINT64_MAX

/* The message for a process whose definitions exceed the memory quota. */
static const char no_memory[] =
	"this user's processes have more queues and kernels than the collector keeps in memory";

static int bad(char why[INGEST_WHY_BYTES], const char *text)
{
	snprintf(why, INGEST_WHY_BYTES, "%s", text);
	return -EBADMSG;
}

int ingest_reserve(struct writer *writer, uint32_t rows)
{
	if (writer->feed->count + rows <= FEED_ROWS_MAX)
		return 0;
	return feed_flush(writer->feed);
}

/* Sets start and duration. Returns the reason if the dispatch has no time. */
static uint32_t put_times(int64_t *row, struct tick_line *line, const struct ingest_dispatch *d)
{
	uint32_t untimed = d->untimed;
	int64_t start, duration;

	if (!untimed && (tick_line_convert(line, d->start_tick, &start) < 0 ||
				tick_line_duration(line, d->ticks, &duration) < 0 ||
				duration > INT64_MAX - start))
		untimed = RTL_UNTIMED_TIMESTAMP_INVALID;
	if (untimed)
		start = duration = FEED_NULL;
	row[FEED_START] = start;
	row[FEED_DURATION] = duration;
	row[FEED_UNTIMED] = untimed ? untimed : FEED_NULL;
	return untimed;
}

static int64_t submit_of(int64_t start, uint64_t submit_ns)
{
	if (!submit_ns || submit_ns > INT64_MAX)
		return FEED_NULL;
	return start == FEED_NULL ? (int64_t)submit_ns : start - (int64_t)submit_ns;
}

static void count_row(const struct ingest_dispatch *d, const int64_t *row, uint32_t untimed)
{
	struct ledger_queue *books = d->books;
	uint64_t end_ns;

	books->stored++;
	books->is_dirty = true;
	if (d->seq >= books->next_seq)
		books->next_seq = d->seq + 1;
	if (untimed) {
		ledger_count_untimed(
			books, untimed, d->seq, d->submit_ns <= INT64_MAX ? d->submit_ns : 0);
		return;
	}
	books->busy_ns += (uint64_t)row[FEED_DURATION];
	end_ns = (uint64_t)(row[FEED_START] + row[FEED_DURATION]);
	if (end_ns < books->last_end_ns)
		return;
	books->last_end_ns = end_ns;
	books->last_shape = d->shape_id;
	books->last_seq = d->seq;
}

static void put_dispatch(
	struct writer *writer, struct process *process, const struct ingest_dispatch *d)
{
	struct process_clock *clock = &process->clock[d->gpu];
	int64_t row[FEED_COLUMNS];
	uint32_t untimed = put_times(row, &clock->line, d);

	row[FEED_SHAPE] = d->shape_id;
	row[FEED_SEQ] = (int64_t)d->seq;
	row[FEED_SUBMIT] = submit_of(row[FEED_START], d->submit_ns);
	row[FEED_TID] = d->tid ? d->tid : FEED_NULL;
	row[FEED_MARKER] = d->marker ? (int64_t)d->marker : FEED_NULL;
	row[FEED_CALL] = d->call ? (int64_t)d->call : FEED_NULL;
	row[FEED_NODE] = d->call && d->node != RECORDER_NODE_UNKNOWN ? d->node : FEED_NULL;
	if (!untimed)
		process_clock_check(clock, d->start_tick, d->submit_ns, (uint64_t)row[FEED_START]);
	count_row(d, row, untimed);
	feed_put(writer->feed, row);
}

void ingest_put_dispatch(
	struct writer *writer, struct process *process, const struct ingest_dispatch *d)
{
	put_dispatch(writer, process, d);
	writer->rows++;
	process->is_dirty = true;
}

/* ---- dispatches ------------------------------------------------------------------------ */

/*
 * Finds the ledger of the queue of @shape. -ENOMEM; -EDQUOT: the memory quota allows no more of
 * them.
 */
static int find_books(struct process *process, struct define_shape *shape)
{
	uint64_t gpu = 1ull << shape->gpu;

	if (shape->books)
		return 0;
	/*
	 * The GPUs of a process help to decide whether another process with the same rank is a
	 * replica.
	 */
	process->is_rank_new |= !(process->gpus_seen & gpu);
	process->gpus_seen |= gpu;
	if (!ledger_has_room(&process->ledger, shape->queue))
		return -EDQUOT;
	shape->books = ledger_queue(&process->ledger, shape->queue);
	if (!shape->books)
		return -ENOMEM;
	shape->books->has_gpu = true;
	shape->books->gpu_id = process->gpu_id[shape->gpu];
	return 0;
}

static int get_key(struct writer *writer, struct process *process, const struct define_shape *shape,
	struct intern_shape_key *ret)
{
	*ret = (struct intern_shape_key){
		.process_id = process->id,
		.gpu_id = process->gpu_id[shape->gpu],
		.queue = shape->queue,
		.lds = shape->lds,
		.scratch = shape->scratch,
	};
	for (int i = 0; i < 3; i++) {
		ret->workgroup[i] = shape->workgroup[i];
		ret->grid[i] = shape->grid[i];
	}
	return defines_kernel_row(
		&process->defines, &writer->intern, shape->symbol, 0, &ret->kernel_id);
}

int ingest_keep_shape(
	struct writer *writer, struct process *process, const struct define_shape *shape)
{
	struct intern_shape_key key;
	int r = get_key(writer, process, shape, &key);

	return r < 0 ? r : intern_keep_shape(&writer->intern, &key, shape->shape_id);
}

static int resolve_shape(struct writer *writer, struct process *process, struct define_shape *shape)
{
	struct intern_shape_key key;
	int r = get_key(writer, process, shape, &key);

	if (r < 0)
		return r;
	r = find_books(process, shape);
	if (r < 0)
		return r;
	return intern_put_shape(&writer->intern, &key, &shape->shape_id);
}

/* Returns the sequence number of a record from that of the one before; -1 if it is out of range. */
static int64_t next_seq(int64_t before, int64_t delta)
{
	int64_t seq;

	if (__builtin_add_overflow(before, delta, &seq) || __builtin_add_overflow(seq, 1, &seq))
		return -1;
	return seq < 0 || seq == INT64_MAX ? -1 : seq;
}

/*
 * Checks everything that can fail before the first row is written: a frame is taken whole or not at
 * all.
 */
static int check_dispatches(struct writer *writer, struct process *process,
	const Rtl__Dispatches *d, char why[INGEST_WHY_BYTES])
{
	int64_t seq = -1;

	for (uint32_t i = 0; i < d->n; i++) {
		struct define_shape *shape = defines_shape(&process->defines, d->shape[i]);
		int r;

		seq = next_seq(seq, d->seq[i]);
		if (seq < 0)
			return bad(why, "a sequence number is out of range");
		if (!shape)
			return bad(why, "a dispatch has an undefined shape");
		if (shape->shape_id)
			continue;
		r = resolve_shape(writer, process, shape);
		if (r == -EDQUOT)
			return bad(why, no_memory);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < d->n_marker; i++)
		if (d->marker[i] > INT64_MAX)
			return bad(why, "a marker id is out of range");
	for (size_t i = 0; i < d->n_call; i++)
		if (d->call[i] > PROCESS_CALL_MAX)
			return bad(why, "a host call's id is out of range");
	return 0;
}

/* Position in the columns that have escapes and run lengths. */
struct cursor {
	size_t long_duration;
	size_t long_submit;
	size_t tid;
	size_t marker;
	size_t untimed;
	size_t call;
	uint32_t tid_now;
	uint64_t marker_now;
	uint64_t call_now;
	uint32_t node_next;
	uint32_t next_run; /* index of the record at which the next run of tid, marker or call
			    * begins */
};

static uint64_t duration_at(const Rtl__Dispatches *d, struct cursor *at, uint32_t i)
{
	if (d->duration_ticks[i] != LONG_DURATION)
		return d->duration_ticks[i];
	return d->long_duration[at->long_duration++];
}

/*
 * Returns the submit time of record @i. *@next counts the escaped times used so far; 0 before the
 * first record.
 */
static uint64_t submit_at(const Rtl__Dispatches *d, uint32_t i, size_t *next)
{
	if (d->submit_delta_ns[i] != LONG_SUBMIT)
		return d->submit_base_ns + (uint64_t)(int64_t)d->submit_delta_ns[i];
	return d->long_submit_ns[(*next)++];
}

static uint32_t untimed_at(const Rtl__Dispatches *d, struct cursor *at, uint32_t i)
{
	if (at->untimed == d->n_untimed_at || d->untimed_at[at->untimed] != i)
		return RTL_TIMED;
	return d->untimed_why[at->untimed++];
}

/* Starts the runs that begin at record @i and finds the next one. */
static void step_runs(const Rtl__Dispatches *d, struct cursor *at, uint32_t i)
{
	if (at->tid < d->n_tid_from && d->tid_from[at->tid] == i)
		at->tid_now = d->tid[at->tid++];
	if (at->marker < d->n_marker_from && d->marker_from[at->marker] == i)
		at->marker_now = d->marker[at->marker++];
	if (at->call < d->n_call_from && d->call_from[at->call] == i) {
		at->call_now = d->call[at->call];
		at->node_next = d->node[at->call++];
	}
	at->next_run = UINT32_MAX;
	if (at->tid < d->n_tid_from)
		at->next_run = d->tid_from[at->tid];
	if (at->marker < d->n_marker_from && d->marker_from[at->marker] < at->next_run)
		at->next_run = d->marker_from[at->marker];
	if (at->call < d->n_call_from && d->call_from[at->call] < at->next_run)
		at->next_run = d->call_from[at->call];
}

static uint32_t node_at(struct cursor *at)
{
	return at->node_next == RECORDER_NODE_UNKNOWN ? RECORDER_NODE_UNKNOWN : at->node_next++;
}

/* Flattened into one loop: a row takes 100 instructions, a call with five arguments 20. */
static __attribute__((flatten)) void put_dispatches(
	struct writer *writer, struct process *process, const Rtl__Dispatches *d)
{
	struct cursor at = {0};
	int64_t seq = -1;

	for (uint32_t i = 0; i < d->n; i++) {
		const struct define_shape *shape = &process->defines.shapes[d->shape[i]];
		struct ingest_dispatch row;

		if (i == at.next_run)
			step_runs(d, &at, i);
		seq = next_seq(seq, d->seq[i]);
		row = (struct ingest_dispatch){
			.shape_id = shape->shape_id,
			.books = shape->books,
			.gpu = shape->gpu,
			.seq = (uint64_t)seq,
			.start_tick = d->start_tick[i],
			.ticks = duration_at(d, &at, i),
			.submit_ns = submit_at(d, i, &at.long_submit),
			.tid = at.tid_now,
			.marker = at.marker_now,
			.call = at.call_now,
			.node = node_at(&at),
			.untimed = untimed_at(d, &at, i),
		};
		put_dispatch(writer, process, &row);
		FAULT_POINT("mid_rows");
	}
	writer->rows += d->n;
	process->is_dirty = true;
}

static int take_dispatches(struct writer *writer, struct process *process, const Rtl__Dispatches *d,
	char why[INGEST_WHY_BYTES])
{
	int r = check_dispatches(writer, process, d, why);

	if (r == 0)
		r = ingest_reserve(writer, d->n);
	if (r == 0)
		put_dispatches(writer, process, d);
	return r;
}

/* ---- frames without a number ------------------------------------------------------------- */

static int take_anchors(struct writer *writer, struct process *process, const Rtl__Anchors *anchors,
	char why[INGEST_WHY_BYTES])
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < anchors->n_anchors; i++) {
		const Rtl__Anchor *from = anchors->anchors[i];
		struct tick_anchor anchor = {
			from->tick, from->boottime_ns, from->realtime_ns, from->error_ns};

		if (from->gpu >= process->gpus)
			return bad(why, "an anchor is of no GPU");
		process_clock_set_rate(&process->clock[from->gpu], from->tick_hz);
		r = process_clock_take(process, writer, from->gpu, &anchor);
	}
	return r;
}

static int take_unnumbered(struct writer *writer, struct process *process, const Rtl__Frame *frame,
	char why[INGEST_WHY_BYTES])
{
	int r;

	switch (frame->body_case) {
	case RTL__FRAME__BODY_DEFINES:
		r = defines_take(&process->defines, frame->defines, process->gpus);
		if (r == 0)
			r = recording_take(writer, process, frame->defines);
		if (r == 0)
			r = ranks_take(writer, process, frame->defines);
		process->ledger.loss[LEDGER_NAMES] += defines_take_left_out(&process->defines);
		process->is_dirty = true;
		if (r == -EDQUOT)
			return bad(why, no_memory);
		return r == -EBADMSG ? bad(why, "a definition is out of bounds") : r;
	case RTL__FRAME__BODY_ANCHORS:
		return take_anchors(writer, process, frame->anchors, why);
	case RTL__FRAME__BODY_COUNTERS:
		process->is_dirty = true;
		r = ledger_take_counters(
			&process->ledger, frame->counters, process->gpu_id, process->gpus);
		return r == -EBADMSG ? bad(why, "counters are of no queue") : r;
	case RTL__FRAME__BODY_CONTROL_DONE:
		return 0; /* the loop thread has handled it */
	case RTL__FRAME__BODY_BYE:
		process->said_bye = true;
		return 0;
	default:
		return bad(why, "a frame that no shim sends");
	}
}

/* ---- frames over the quota ------------------------------------------------------------- */

/*
 * Number of records for which a numbered frame is charged; NO_RECORDS for a frame that has no
 * number. So a type of records that is missing here is refused, not stored without a charge.
 */
static uint64_t record_count(const Rtl__Frame *frame)
{
	switch (frame->body_case) {
	case RTL__FRAME__BODY_DISPATCHES:
		return frame->dispatches->n;
	case RTL__FRAME__BODY_MARKERS:
		return frame->markers->n;
	case RTL__FRAME__BODY_COPIES:
		return frame->copies->n;
	case RTL__FRAME__BODY_HOST_CALLS:
		return frame->host_calls->n;
	case RTL__FRAME__BODY_COLLECTIVES:
		return frame->collectives->n;
	default:
		return NO_RECORDS;
	}
}

/* Checks everything that can fail before the first dispatch is counted. */
static int check_dropped(
	struct process *process, const Rtl__Dispatches *d, char why[INGEST_WHY_BYTES])
{
	int64_t seq = -1;
	int r;

	for (uint32_t i = 0; i < d->n; i++) {
		struct define_shape *shape = defines_shape(&process->defines, d->shape[i]);

		seq = next_seq(seq, d->seq[i]);
		if (seq < 0)
			return bad(why, "a sequence number is out of range");
		if (!shape)
			return bad(why, "a dispatch has an undefined shape");
		r = find_books(process, shape);
		if (r < 0)
			return r == -EDQUOT ? bad(why, no_memory) : r;
	}
	return 0;
}

static int drop_dispatches(
	struct process *process, const Rtl__Dispatches *d, char why[INGEST_WHY_BYTES])
{
	int64_t seq = -1;
	size_t next = 0;
	int r = check_dropped(process, d, why);

	for (uint32_t i = 0; r == 0 && i < d->n; i++) {
		const struct define_shape *shape = &process->defines.shapes[d->shape[i]];
		uint64_t submit_ns = submit_at(d, i, &next);

		seq = next_seq(seq, d->seq[i]);
		ledger_count_over_quota(
			shape->books, (uint64_t)seq, submit_ns <= INT64_MAX ? submit_ns : 0);
	}
	return r;
}

/*
 * Handles a frame of a tenant that is over its quota: it is checked as if it were stored, then
 * counted instead. Its number counts as taken, in the same transaction. Returns 0 if all its
 * records are counted; -EBADMSG if it is not valid; -ENOMEM: the caller rolls back.
 */
static int drop_over_quota(
	struct process *process, const Rtl__Frame *frame, char why[INGEST_WHY_BYTES])
{
	uint64_t *loss = process->ledger.loss;

	process->is_dirty = true;
	switch (frame->body_case) {
	case RTL__FRAME__BODY_DISPATCHES:
		return drop_dispatches(process, frame->dispatches, why);
	case RTL__FRAME__BODY_MARKERS:
		loss[LEDGER_QUOTA_MARKERS] += record_count(frame);
		return 0;
	case RTL__FRAME__BODY_COPIES:
		loss[LEDGER_QUOTA_COPIES] += record_count(frame);
		return 0;
	case RTL__FRAME__BODY_HOST_CALLS:
	case RTL__FRAME__BODY_COLLECTIVES:
		loss[LEDGER_QUOTA_CALLS] += record_count(frame);
		return 0;
	default:
		return bad(why, "a frame that no shim sends");
	}
}

/* ---- numbered frames --------------------------------------------------------------------- */

static int take_records(struct writer *writer, struct process *process, const Rtl__Frame *frame,
	char why[INGEST_WHY_BYTES])
{
	switch (frame->body_case) {
	case RTL__FRAME__BODY_DISPATCHES:
		return take_dispatches(writer, process, frame->dispatches, why);
	case RTL__FRAME__BODY_MARKERS:
		return ingest_markers(writer, process, frame->markers, why);
	case RTL__FRAME__BODY_COPIES:
		return ingest_copies(writer, process, frame->copies, why);
	case RTL__FRAME__BODY_HOST_CALLS:
		return ingest_host_calls(writer, process, frame->host_calls, why);
	case RTL__FRAME__BODY_COLLECTIVES:
		return ingest_collectives(writer, process, frame->collectives, why);
	default:
		return bad(why, "a frame that no shim sends");
	}
}

static int take_numbered(struct writer *writer, struct process *process, const Rtl__Frame *frame,
	size_t bytes, char why[INGEST_WHY_BYTES])
{
	int r;

	if (frame->number <= process->frame) {
		process->duplicates++;
		process->is_dirty = true;
		return 1;
	}
	/*
	 * The missing frames were acknowledged, but their rows were lost with a part of the file or
	 * with all of it.
	 */
	if (frame->number > process->frame + 1 && writer->is_resumed &&
		frame->number <= INT64_MAX) {
		process->ledger.loss[LEDGER_MISSING_FRAMES] += frame->number - process->frame - 1;
		process->frame = frame->number - 1;
		process->is_dirty = true;
	}
	if (frame->number != process->frame + 1) {
		snprintf(why, INGEST_WHY_BYTES, "frame %" PRIu64 " came after %" PRIu64,
			frame->number, process->frame);
		return -EBADMSG;
	}
	if (quota_take(&writer->quota, record_count(frame), bytes)) {
		r = take_records(writer, process, frame, why);
		/* Every other error rolls back the whole transaction. */
		if (r == -EBADMSG)
			quota_return(&writer->quota, record_count(frame), bytes);
	} else {
		r = drop_over_quota(process, frame, why);
		if (r == -EBADMSG)
			quota_forget_dropped(&writer->quota, record_count(frame));
	}
	if (r == 0)
		process->frame = frame->number;
	return r;
}

int ingest_frame(struct writer *writer, struct process *process, const Rtl__Frame *frame,
	size_t bytes, char why[INGEST_WHY_BYTES])
{
	int r;

	if ((record_count(frame) != NO_RECORDS) != (frame->has_number != 0))
		return bad(why,
			frame->has_number ? "a number on no records" : "records without a number");
	r = frame->has_number ? take_numbered(writer, process, frame, bytes, why)
			      : take_unnumbered(writer, process, frame, why);
	process->ledger.loss[LEDGER_NAMES] += intern_take_overflowed(&writer->intern);
	return r;
}
