/* SPDX-License-Identifier: MIT */
#include "collectord/recorder/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/database.h"
#include "collectord/recorder/drain_internal.h"
#include "collectord/ingest/ingest.h"
#include "collectord/recorder/counters.h"
#include "proto/recorder/checksum.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/wire/frame.h"
#include "proto/base/limits.h"

static void drain_done(struct drain *drain)
{
	drain_slots_done(drain);
	drain_events_done(&drain->events);
	recorder_log_done(&drain->defines);
	free(drain->queues);
	free(drain->cell);
}

/* ---- slices ------------------------------------------------------------------------------- */

static void begin_slice(struct drain *drain)
{
	drain->left = DRAIN_SLICE_RECORDS;
	drain->until_ns = clock_monotonic_ns() + DRAIN_SLICE_NS;
}

bool drain_spend(struct drain *drain, uint64_t records)
{
	drain->left -= records < drain->left ? records : drain->left;
	return !drain->left || clock_monotonic_ns() >= drain->until_ns;
}

/*
 * True if a dead process sent its Bye. Before that the shim published its last frame and freed the
 * slots and ring entries in it, and recorded nothing afterwards. So the slots and rings, most of a
 * recorder, hold nothing. A process that lies about this loses only its own records, and the
 * counters show it.
 */
static bool has_ended_well(const struct drain *drain)
{
	return drain->reader.header.bye && !drain->is_alive;
}

static int begin(struct drain *drain)
{
	const struct recorder_header *h = &drain->reader.header;

	/* Slots that are ready but were never used lie in pages that were never written. */
	if (!has_ended_well(drain))
		drain->slot_count =
			recorder_reader_written(&drain->reader, &h->slots, h->slots_used);
	return drain_begin_slots(drain);
}

/* Runs after the slots were copied: a dispatch that is in a slot is then counted here. */
static int read_queues(struct drain *drain)
{
	const struct recorder_header *h = &drain->reader.header;
	int r;

	drain->queue_count = h->queues_used;
	r = recorder_books_read(&drain->reader, &h->queues, drain->queue_count, &drain->queues);
	return r == 0 ? recorder_reader_refresh(&drain->reader) : r;
}

/* ---- definitions and anchors ------------------------------------------------------------- */

/* A definition takes about 64 bytes and costs as much as a record. */
#define DEFINE_BYTES 64u

static int take_defines(struct drain *drain)
{
	struct recorder_log *log = &drain->defines;
	uint64_t before;
	int r = log->bytes ? 0 : recorder_log_read(log, &drain->reader);

	if (r < 0)
		return r;
	do {
		before = log->at;
		r = recorder_log_take(log, drain->writer, drain->process);
	} while (r == 1 && !drain_spend(drain, 1 + (log->at - before) / DEFINE_BYTES));
	if (r == 1)
		return DRAIN_MORE;
	recorder_log_done(log);
	if (r != -EBADMSG && r != -EDQUOT)
		return r;
	drain->process->ledger.loss[r == -EDQUOT ? LEDGER_QUOTA_DEFINES : LEDGER_CORRUPT_DEFINES] =
		1;
	return 0;
}

static int take_anchors_of(struct drain *drain, unsigned gpu)
{
	struct process *process = drain->process;
	struct recorder_anchors anchors;
	uint64_t first;
	int r = recorder_reader_get(
		&drain->reader, &drain->reader.header.anchors, gpu, 1, &anchors);

	if (r < 0)
		return r;
	process_clock_set_rate(&process->clock[gpu], anchors.tick_hz);
	/* The oldest anchor of a full ring may be half overwritten by one that is not counted
	 * yet. */
	first = anchors.count < RECORDER_ANCHORS ? 0 : anchors.count - RECORDER_ANCHORS + 1;
	for (uint64_t i = first; r == 0 && i < anchors.count; i++) {
		const struct recorder_anchor *from = &anchors.entry[i % RECORDER_ANCHORS];
		struct tick_anchor anchor = {
			from->tick, from->boottime_ns, from->realtime_ns, from->error_ns};

		r = process_clock_take(process, drain->writer, gpu, &anchor);
	}
	return r;
}

static int take_anchors(struct drain *drain)
{
	unsigned gpus = drain->process->gpus;
	int r = 0;

	if (gpus > drain->reader.header.anchors.count)
		gpus = drain->reader.header.anchors.count;
	for (unsigned gpu = 0; r == 0 && gpu < gpus; gpu++)
		r = take_anchors_of(drain, gpu);
	return r;
}

/* ---- cells -------------------------------------------------------------------------------- */

/* 1: @cell is whole. 0: it has another number, or it is torn. */
static int get_cell(const struct drain *drain, uint64_t number, struct recorder_cell *cell)
{
	const struct recorder_region *cells = &drain->reader.header.cells;
	int r = recorder_reader_get(&drain->reader, cells, number % cells->count, 1, cell);

	return r < 0 ? r : cell->number == number;
}

static bool cell_is_whole(const struct drain *drain, const struct recorder_cell *cell)
{
	size_t room = drain->reader.header.cells.stride - sizeof(*cell);
	const uint8_t *bytes = (const uint8_t *)(cell + 1);

	return cell->length > FRAME_PREFIX_BYTES && cell->length <= room &&
	       frame_get_length(bytes) == cell->length - FRAME_PREFIX_BYTES &&
	       checksum32(bytes, cell->length, cell->number) == cell->checksum;
}

static int take_cell(struct drain *drain, const struct recorder_cell *cell)
{
	const uint8_t *bytes = (const uint8_t *)(cell + 1);
	char why[INGEST_WHY_BYTES];
	Rtl__Frame *frame;
	int r = msg_unpack(drain->writer->arena, bytes + FRAME_PREFIX_BYTES,
		cell->length - FRAME_PREFIX_BYTES, &frame);

	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	r = -EBADMSG;
	if (frame->has_number && frame->number == cell->number)
		r = ingest_frame(drain->writer, drain->process, frame,
			cell->length - FRAME_PREFIX_BYTES, why);
	if (r == 0 && frame->body_case == RTL__FRAME__BODY_DISPATCHES)
		drain_forget_flights(drain, frame->dispatches);
	return r;
}

static void count_unreadable(struct drain *drain, const struct recorder_cell *cell)
{
	struct ledger *ledger = &drain->process->ledger;

	ledger->loss[LEDGER_CORRUPT_FRAMES]++;
	ledger->unreadable += cell->records < FRAME_RECORDS_MAX ? cell->records : FRAME_RECORDS_MAX;
}

/*
 * Passes over a frame that cannot be read. Its records are lost, unless it is the last frame, whose
 * slots may not have been freed yet: that one does not count as published. 1: go on with the next
 * frame.
 */
static int pass_unreadable(
	struct drain *drain, const struct recorder_cell *cell, struct recorder_cell *after)
{
	int r = get_cell(drain, cell->number + 1, after);

	if (r < 0)
		return r;
	count_unreadable(drain, cell);
	if (r == 0)
		drain->last_unreadable = cell->number;
	else
		drain->process->frame++;
	return r;
}

/* If the file has lost acknowledged frames, the first frame that the recorder still has comes
 * later. */
static int pass_gap(struct drain *drain, struct recorder_cell *cell)
{
	struct process *process = drain->process;
	uint64_t number;
	int r;

	if (!drain->writer->is_resumed || process->frame >= drain->reader.header.published)
		return 0;
	r = recorder_reader_find_cell(&drain->reader, process->frame, cell, &number);
	/* The limit for frames that are sent, too: the database stores no greater number. */
	if (r < 0 || !number || number > INT64_MAX)
		return r;
	process->ledger.loss[LEDGER_MISSING_FRAMES] += number - process->frame - 1;
	process->frame = number - 1;
	return 0;
}

/* Takes the next cell. 1: go on; 0: there is none. */
static int take_next_cell(struct drain *drain)
{
	int r = get_cell(drain, drain->process->frame + 1, drain->cell);

	if (r <= 0)
		return r;
	r = cell_is_whole(drain, drain->cell) ? take_cell(drain, drain->cell) : -EBADMSG;
	if (r == -EBADMSG)
		return pass_unreadable(drain, drain->cell, drain->after);
	return r < 0 ? r : 1;
}

static int begin_cells(struct drain *drain)
{
	size_t stride = drain->reader.header.cells.stride;

	drain->cell = calloc(2, stride);
	if (!drain->cell)
		return -ENOMEM;
	drain->after = (struct recorder_cell *)((uint8_t *)drain->cell + stride);
	return pass_gap(drain, drain->cell);
}

/*
 * A living process goes on publishing frames, which refer to definitions that were not read. Frames
 * published after the header was read are left out: their records were in slots at that time.
 */
static bool is_later(const struct drain *drain)
{
	return drain->is_alive && drain->process->frame >= drain->reader.header.published;
}

/* A record takes more than 16 bytes of a frame. */
#define CELL_RECORD_BYTES 16u

static int take_cells(struct drain *drain)
{
	int r = drain->cell ? 0 : begin_cells(drain);

	while (r == 0 && !is_later(drain) &&
		drain->cells_passed < drain->reader.header.cells.count) {
		r = take_next_cell(drain);
		if (r <= 0)
			return r;
		drain->cells_passed++;
		r = drain_spend(drain, 1 + drain->cell->length / CELL_RECORD_BYTES) ? DRAIN_MORE
										    : 0;
	}
	return r;
}

/* ---- the rest ------------------------------------------------------------------------------- */

static int take_events(struct drain *drain)
{
	uint64_t records = 0;
	int r;

	if (has_ended_well(drain))
		return 0;
	do
		r = drain_events_take(&drain->events, drain->writer, drain->process, &drain->reader,
			drain->is_alive, &records);
	while (r == 1 && !drain_spend(drain, records));
	return r == 1 ? DRAIN_MORE : r;
}

/* ---- the books ---------------------------------------------------------------------------- */

static int take_counters(struct drain *drain)
{
	return recorder_books_process(drain->process, &drain->reader, clock_boottime_ns());
}

static int take_queue_counters(struct drain *drain)
{
	int r = 0;

	while (r == 0 && drain->queue_at < drain->queue_count) {
		uint32_t queue = (uint32_t)drain->queue_at++;

		r = recorder_books_queue(drain->process, &drain->queues[queue], queue);
		if (r == 0 && drain_spend(drain, 1))
			r = DRAIN_MORE;
	}
	return r;
}

static int settle(struct drain *drain)
{
	struct ledger *ledger = &drain->process->ledger;
	uint64_t last;

	ledger->loss[LEDGER_NAMES] += intern_take_overflowed(&drain->writer->intern) +
				      defines_take_left_out(&drain->process->defines);
	/* A frame that was acknowledged is missing: only a power cut does that. */
	last = drain->process->frame > drain->last_unreadable ? drain->process->frame
							      : drain->last_unreadable;
	/* Nothing records what a living process does from now on, so its tail is unknown. */
	if (drain->is_alive || drain->reader.header.published > last)
		ledger->loss[LEDGER_UNKNOWN_TAIL] = 1;
	ledger_settle(ledger, drain->is_alive);
	drain->process->is_drained = true;
	return 0;
}

/* Number of ledger rows that one step writes at most. */
#define SAVE_ROWS 64u

/* Saves the ledger now, so that little is left to write when the process is ended. */
static int save_books(struct drain *drain)
{
	struct statements *statements = &drain->writer->statements;
	/* The records are written before the counters, as at any commit. */
	int r = feed_flush(drain->writer->feed);
	uint64_t rows;

	if (r < 0)
		return r;
	do {
		rows = SAVE_ROWS;
		r = ledger_save_part(&drain->process->ledger, statements, &rows);
	} while (r == LEDGER_MORE && !drain_spend(drain, SAVE_ROWS - rows));
	return r == LEDGER_MORE ? DRAIN_MORE : r;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* The phases in their order. 0: over; DRAIN_MORE: call again; -ENOMEM, -EBADMSG,
 * database_errno(). */
static int (*const phases[])(struct drain *) = {begin, drain_copy_slots, read_queues, take_defines,
	take_anchors, take_cells, drain_keep_shapes, drain_take_slots, take_events, take_counters,
	take_queue_counters, settle, save_books};

#define PHASES (sizeof(phases) / sizeof(phases[0]))

static int count_only(struct drain *drain, enum ledger_loss why)
{
	const struct recorder_header *header = &drain->reader.header;
	struct ledger *ledger = &drain->process->ledger;
	int r = read_queues(drain);

	if (r == 0)
		r = take_counters(drain);
	for (uint32_t q = 0; r == 0 && q < drain->queue_count; q++)
		r = recorder_books_queue(drain->process, &drain->queues[q], q);
	if (r < 0)
		return r;
	ledger_give_up(ledger, why);
	/* Markers, calls and copies that are lost here are not counted one by one. */
	if (header->process[RTL_P_markers_begun] || header->process[RTL_P_calls_begun] ||
		header->process[RTL_P_copies_recorded])
		ledger->loss[LEDGER_UNKNOWN_TAIL] = 1;
	drain->process->is_drained = true;
	return 0;
}

static int bad_recorder(struct process *process, int r)
{
	if (r != -EBADMSG)
		return r;
	process->ledger.loss[LEDGER_BAD_RECORDER] = 1;
	process->ledger.loss[LEDGER_UNKNOWN_TAIL] = 1;
	return 0;
}

int drain_give_up(struct writer *writer, struct process *process, int memfd, enum ledger_loss why)
{
	struct drain drain = {.writer = writer, .process = process};
	int r = recorder_reader_open(&drain.reader, memfd, process->boot_id, process->token);

	process->is_dirty = true;
	if (r == 0)
		r = count_only(&drain, why);
	else if (r == -ENODATA)
		process->is_drained = true;
	drain_done(&drain);
	return r == -ENODATA ? 0 : bad_recorder(process, r);
}

int drain_new(struct writer *writer, struct process *process, int memfd, bool is_alive,
	struct drain **ret)
{
	struct drain *drain = calloc(1, sizeof(*drain));
	int r;

	if (!drain)
		return -ENOMEM;
	*drain = (struct drain){.writer = writer, .process = process, .is_alive = is_alive};
	process->is_dirty = true;
	r = recorder_reader_open(&drain->reader, memfd, process->boot_id, process->token);
	if (r == -ENODATA)
		process->is_drained = true;
	/* The recorder is empty or invalid, so no phase runs. */
	if (r < 0)
		drain->phase = PHASES;
	r = r == -ENODATA ? 0 : bad_recorder(process, r);
	if (r < 0) {
		drain_free(drain);
		return r;
	}
	*ret = drain;
	return 0;
}

struct drain *drain_free(struct drain *drain)
{
	if (drain)
		drain_done(drain);
	free(drain);
	return NULL;
}

int drain_go_on(struct drain *drain)
{
	int r = 0;

	begin_slice(drain);
	while (r == 0 && drain->phase < PHASES) {
		r = phases[drain->phase](drain);
		if (r == 0)
			drain->phase++;
		if (r == 0 && drain->phase < PHASES && drain_spend(drain, 1))
			r = DRAIN_MORE;
	}
	return r < 0 ? bad_recorder(drain->process, r) : r;
}
