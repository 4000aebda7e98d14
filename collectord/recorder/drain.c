/* SPDX-License-Identifier: MIT */
#include "collectord/recorder/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/watched_vfs.h"
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
	free(drain->queues);
	free(drain->cell);
}

/*
 * True if a dead process sent its Bye. Before that the shim published its last frame and freed the
 * slots and ring entries in it, and recorded nothing afterwards. So the slots and rings, most of a
 * recorder, hold nothing. A process that lies about this loses only its own records, and the
 * counters show it.
 */
static bool is_over(const struct drain *drain)
{
	return drain->reader.header.bye && !drain->is_alive;
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

static int take_defines(struct drain *drain)
{
	int r = recorder_books_defines(drain->writer, drain->process, &drain->reader);

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

static int take_cells(struct drain *drain)
{
	int r = begin_cells(drain);

	if (r < 0)
		return r;
	r = 1;
	for (uint32_t i = 0; r == 1 && !is_later(drain) && i < drain->reader.header.cells.count;
		i++) {
		pace_beat();
		r = take_next_cell(drain);
	}
	return r < 0 ? r : 0;
}

/* ---- the books ---------------------------------------------------------------------------- */

static int take_counters(struct drain *drain)
{
	int r = recorder_books_process(drain->process, &drain->reader, clock_boottime_ns());

	for (uint32_t q = 0; r == 0 && q < drain->queue_count; q++)
		r = recorder_books_queue(drain->process, &drain->queues[q], q);
	return r;
}

static void settle(struct drain *drain)
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
}

/* ---- the whole ------------------------------------------------------------------------------ */

/*
 * The slots of a living process are copied before anything else is read: a slot's record may be in
 * a frame by the time the cells are read; it is then not in flight.
 */
static int drain_all(struct drain *drain)
{
	bool has_ended_well = is_over(drain);
	int r = has_ended_well ? 0 : drain_copy_slots(drain);

	if (r == 0)
		r = read_queues(drain);
	if (r == 0)
		r = take_defines(drain);
	if (r == 0)
		r = take_anchors(drain);
	if (r == 0)
		r = take_cells(drain);
	if (r == 0 && !has_ended_well)
		r = drain_take_slots(drain);
	if (r == 0 && !has_ended_well)
		r = drain_events_take(
			drain->writer, drain->process, &drain->reader, drain->is_alive);
	if (r == 0)
		r = take_counters(drain);
	if (r == 0)
		settle(drain);
	return r;
}

static int count_only(struct drain *drain, enum ledger_loss why)
{
	const struct recorder_header *header = &drain->reader.header;
	struct ledger *ledger = &drain->process->ledger;
	int r = read_queues(drain);

	if (r == 0)
		r = take_counters(drain);
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

/* @given_up: why records cannot be stored, so that they are only counted; NULL: they can. */
static int read_recorder(struct writer *writer, struct process *process, int memfd, bool is_alive,
	const enum ledger_loss *given_up)
{
	struct drain drain = {.writer = writer, .process = process, .is_alive = is_alive};
	int r = recorder_reader_open(&drain.reader, memfd, process->boot_id, process->token);

	process->is_dirty = true;
	if (r == 0)
		r = given_up ? count_only(&drain, *given_up) : drain_all(&drain);
	else if (r == -ENODATA)
		process->is_drained = true;
	drain_done(&drain);
	return r == -ENODATA ? 0 : bad_recorder(process, r);
}

int drain_recorder(struct writer *writer, struct process *process, int memfd, bool is_alive)
{
	return read_recorder(writer, process, memfd, is_alive, NULL);
}

int drain_give_up(struct writer *writer, struct process *process, int memfd, enum ledger_loss why)
{
	return read_recorder(writer, process, memfd, false, &why);
}
