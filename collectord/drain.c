/* SPDX-License-Identifier: MIT */
#include "collectord/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/database.h"
#include "collectord/drain_events.h"
#include "collectord/hash.h"
#include "collectord/ingest.h"
#include "collectord/recorder_books.h"
#include "proto/checksum.h"
#include "proto/cleanup.h"
#include "proto/clock.h"
#include "proto/frame.h"
#include "proto/limits.h"

/* A slot of a process that still writes, until a later frame is seen to hold its record. */
struct flight {
	UT_hash_handle hh;
	bool is_lost;
	struct {
		uint64_t seq;
		uint64_t queue;
	} key;
};

struct drain {
	struct writer *writer;
	struct process *process;
	struct recorder_reader reader;
	struct recorder_queue *queues; /* header.queues_used of them */
	struct recorder_slot *slots;   /* header.slots_used */
	uint64_t queue_count;
	uint64_t slot_count;
	uint64_t last_unreadable; /* number of the last frame, when it is; else 0 */
	bool is_alive;
	struct flight *flights; /* only with is_alive */
};

static void drain_done(struct drain *drain)
{
	struct flight *flight, *next;

	HASH_ITER (hh, drain->flights, flight, next) {
		HASH_DEL(drain->flights, flight);
		free(flight);
	}
	free(drain->queues);
	free(drain->slots);
}

/* ---- slots, as they were at one moment -------------------------------------------------- */

static int note_flights(struct drain *drain)
{
	for (uint64_t i = 0; drain->is_alive && i < drain->slot_count; i++) {
		const struct recorder_slot *slot = &drain->slots[i];
		struct flight *flight;

		if (slot->state == SLOT_FREE)
			continue;
		flight = calloc(1, sizeof(*flight));
		if (!flight)
			return -ENOMEM;
		flight->key.seq = slot->seq;
		flight->key.queue = slot->queue;
		HASH_ADD(hh, drain->flights, key, sizeof(flight->key), flight);
		if (flight->is_lost) {
			free(flight);
			return -ENOMEM;
		}
	}
	return 0;
}

static int get_slots(struct drain *drain)
{
	const struct recorder_header *h = &drain->reader.header;
	int r;

	drain->queue_count = h->queues_used;
	drain->slot_count = h->slots_used;
	r = recorder_books_read(&drain->reader, &h->slots, drain->slot_count, &drain->slots);
	if (r == 0)
		r = recorder_books_read(
			&drain->reader, &h->queues, drain->queue_count, &drain->queues);
	return r < 0 ? r : note_flights(drain);
}

/* ---- definitions and anchors ------------------------------------------------------------- */

static int take_defines(struct drain *drain)
{
	int r = recorder_books_defines(drain->writer, drain->process, &drain->reader);

	if (r != -EBADMSG && r != -EDQUOT)
		return r;
	drain->process->ledger
		.loss[r == -EDQUOT ? LEDGER_QUOTA_DEFINES : LEDGER_CORRUPT_DEFINES] = 1;
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
	/* The oldest of a full ring may be half overwritten by one that was not counted. */
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

static void forget_flights(struct drain *drain, const Rtl__Dispatches *d)
{
	int64_t seq = -1;

	for (uint32_t i = 0; drain->flights && i < d->n; i++) {
		const struct define_shape *shape =
			defines_shape(&drain->process->defines, d->shape[i]);
		struct flight key = {0}, *flight;

		seq += d->seq[i] + 1; /* in range: the frame was taken */
		key.key.seq = (uint64_t)seq;
		key.key.queue = shape->queue;
		HASH_FIND(hh, drain->flights, &key.key, sizeof(key.key), flight);
		if (!flight)
			continue;
		HASH_DEL(drain->flights, flight);
		free(flight);
	}
}

/* 1: whole. 0: not of this number, or torn. */
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
		forget_flights(drain, frame->dispatches);
	return r;
}

static void count_unreadable(struct drain *drain, const struct recorder_cell *cell)
{
	struct ledger *ledger = &drain->process->ledger;

	ledger->loss[LEDGER_CORRUPT_FRAMES]++;
	ledger->unreadable += cell->records < FRAME_RECORDS_MAX ? cell->records : FRAME_RECORDS_MAX;
}

/*
 * A frame that cannot be read. Its records are lost unless it is the last one, whose slots may
 * not have been freed yet: then it does not count as published. 1: go on behind it.
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

/* Where the file has lost what it acknowledged, what the recorder still has begins later. */
static int pass_gap(struct drain *drain, struct recorder_cell *cell)
{
	struct process *process = drain->process;
	uint64_t number;
	int r;

	if (!drain->writer->is_resumed || process->frame >= drain->reader.header.published)
		return 0;
	r = recorder_reader_find_cell(&drain->reader, process->frame, cell, &number);
	/* As of a frame that is sent: the file has no greater number. */
	if (r < 0 || !number || number > INT64_MAX)
		return r;
	process->ledger.loss[LEDGER_MISSING_FRAMES] += number - process->frame - 1;
	process->frame = number - 1;
	return 0;
}

static int take_cells(struct drain *drain)
{
	const struct recorder_region *cells = &drain->reader.header.cells;
	CLEANUP(free_p) struct recorder_cell *cell = calloc(2, cells->stride);
	struct recorder_cell *after;
	int r;

	if (!cell)
		return -ENOMEM;
	after = (struct recorder_cell *)((uint8_t *)cell + cells->stride);
	r = pass_gap(drain, cell);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < cells->count; i++) {
		uint64_t number = drain->process->frame + 1;

		r = get_cell(drain, number, cell);
		if (r <= 0)
			return r;
		r = cell_is_whole(drain, cell) ? take_cell(drain, cell) : -EBADMSG;
		if (r == -EBADMSG) {
			r = pass_unreadable(drain, cell, after);
			if (r <= 0)
				return r;
		} else if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* ---- slots -------------------------------------------------------------------------------- */

static bool slot_is_valid(const struct drain *drain, const struct recorder_slot *slot)
{
	return slot->queue < drain->queue_count &&
	       drain->queues[slot->queue].gpu < drain->process->gpus && slot->seq < INT64_MAX &&
	       slot->marker <= INT64_MAX &&
	       (slot->state != SLOT_DONE || slot->untimed < RTL_UNTIMED_COUNT);
}

static int find_books(struct drain *drain, const struct recorder_slot *slot, unsigned gpu,
	struct ledger_queue **ret)
{
	struct ledger_queue *books = ledger_queue(&drain->process->ledger, slot->queue);

	if (!books)
		return -ENOMEM;
	books->has_gpu = true;
	books->gpu_id = drain->process->gpu_id[gpu];
	*ret = books;
	return 0;
}

/* The host call of a slot; 0: none, or its counter or the slot is torn. */
static uint64_t call_of(const struct drain *drain, const struct recorder_slot *slot)
{
	uint64_t call =
		recorder_call_id(slot->call, drain->reader.header.process[RTL_P_calls_begun]);

	return call <= PROCESS_CALL_MAX ? call : 0;
}

static int store_slot(struct drain *drain, const struct recorder_slot *slot)
{
	struct process *process = drain->process;
	struct ingest_dispatch row = {
		.gpu = drain->queues[slot->queue].gpu,
		.seq = slot->seq,
		.start_tick = slot->start_tick,
		.ticks = slot->end_tick - slot->start_tick,
		.submit_ns = slot->submit_ns,
		.tid = slot->tid,
		.marker = slot->marker,
		.call = call_of(drain, slot),
		.node = slot->node,
		.untimed = slot->untimed,
	};
	struct intern_shape_key key = {
		.process_id = process->id,
		.gpu_id = process->gpu_id[row.gpu],
		.queue = slot->queue,
		.lds = slot->lds,
		.scratch = slot->scratch,
	};
	int r;

	if (!row.untimed && slot->end_tick < slot->start_tick)
		row.untimed = RTL_UNTIMED_TIMESTAMP_INVALID;
	for (int i = 0; i < 3; i++) {
		key.workgroup[i] = slot->workgroup[i];
		key.grid[i] = slot->grid[i];
	}
	r = find_books(drain, slot, row.gpu, &row.books);
	if (r == 0)
		r = defines_kernel_row(
			&process->defines, &drain->writer->intern, slot->symbol, 0, &key.kernel_id);
	if (r == 0)
		r = intern_put_shape(&drain->writer->intern, &key, &row.shape_id);
	if (r == 0)
		r = ingest_reserve(drain->writer, 1);
	if (r == 0)
		ingest_put_dispatch(drain->writer, process, &row);
	return r;
}

static int store_outstanding(struct drain *drain, const struct recorder_slot *slot)
{
	struct process *process = drain->process;
	sqlite3_stmt *put = drain->writer->statements.at[ST_OUTSTANDING_PUT];
	unsigned gpu = drain->queues[slot->queue].gpu;
	struct ledger_queue *books;
	int64_t kernel_id;
	int r = find_books(drain, slot, gpu, &books);

	/* Until it is done, a slot without a symbol holds its kernel object in start_tick. */
	if (r == 0)
		r = defines_kernel_row(&process->defines, &drain->writer->intern, slot->symbol,
			slot->symbol ? 0 : slot->start_tick, &kernel_id);
	if (r < 0)
		return r;
	sqlite3_bind_int64(put, 1, process->id);
	sqlite3_bind_int64(put, 2, process->gpu_id[gpu]);
	sqlite3_bind_int64(put, 3, slot->queue);
	sqlite3_bind_int64(put, 4, (int64_t)slot->seq);
	sqlite3_bind_int64(put, 5, kernel_id);
	database_bind_optional(
		put, 6, slot->submit_ns && slot->submit_ns <= INT64_MAX, (int64_t)slot->submit_ns);
	database_bind_optional(put, 7, slot->tid, slot->tid);
	database_bind_optional(put, 8, slot->marker, (int64_t)slot->marker);
	database_bind_optional(put, 9, call_of(drain, slot) > 0, (int64_t)call_of(drain, slot));
	r = database_run(put);
	if (r < 0)
		return r;
	books->outstanding++;
	books->is_dirty = true;
	if (slot->seq >= books->next_seq)
		books->next_seq = slot->seq + 1;
	return 0;
}

/* Its tenant may not store it: nor would it be outstanding for ever. */
static int drop_slot(struct drain *drain, const struct recorder_slot *slot)
{
	unsigned gpu = drain->queues[slot->queue].gpu;
	struct ledger_queue *books;
	int r = find_books(drain, slot, gpu, &books);

	if (r == 0)
		ledger_count_over_quota(
			books, slot->seq, slot->submit_ns <= INT64_MAX ? slot->submit_ns : 0);
	return r;
}

/* Has a frame taken over this record since the slots were copied? */
static bool flight_is_over(const struct drain *drain, const struct recorder_slot *slot)
{
	struct flight key = {0}, *flight;

	if (!drain->is_alive)
		return false;
	key.key.seq = slot->seq;
	key.key.queue = slot->queue;
	HASH_FIND(hh, drain->flights, &key.key, sizeof(key.key), flight);
	return !flight;
}

static int take_slot(struct drain *drain, const struct recorder_slot *slot)
{
	uint64_t last = drain->process->frame;
	uint32_t state = slot->state;

	if (state == SLOT_FREE)
		return 0;
	/* It is in a frame, and every frame up to the last published is stored. */
	if (slot->frame > 0 && slot->frame <= last)
		return 0;
	if (state > SLOT_DONE || !slot_is_valid(drain, slot)) {
		drain->process->ledger.loss[LEDGER_CORRUPT_SLOT]++;
		return 0;
	}
	if (flight_is_over(drain, slot))
		return 0;
	if (!quota_take(&drain->writer->quota, 1, sizeof(*slot)))
		return drop_slot(drain, slot);
	return state == SLOT_DONE ? store_slot(drain, slot) : store_outstanding(drain, slot);
}

static int take_slots(struct drain *drain)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < drain->slot_count; i++)
		r = take_slot(drain, &drain->slots[i]);
	return r;
}

static int take_counters(struct drain *drain)
{
	return recorder_books_counters(drain->process, &drain->reader, drain->queues,
		drain->queue_count, clock_boottime_ns());
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int drain_whole(struct drain *drain)
{
	struct ledger *ledger = &drain->process->ledger;
	uint64_t last;
	int r = get_slots(drain);

	if (r == 0)
		r = recorder_reader_refresh(&drain->reader);
	if (r == 0)
		r = take_defines(drain);
	if (r == 0)
		r = take_anchors(drain);
	if (r == 0)
		r = take_cells(drain);
	if (r == 0)
		r = take_slots(drain);
	if (r == 0)
		r = drain_events(drain->writer, drain->process, &drain->reader, drain->is_alive);
	if (r == 0)
		r = take_counters(drain);
	if (r < 0)
		return r;
	ledger->loss[LEDGER_NAMES] += intern_take_overflowed(&drain->writer->intern) +
				      defines_take_left_out(&drain->process->defines);
	/* Acknowledged and lost all the same: only a power cut does that. */
	last = drain->process->frame > drain->last_unreadable ? drain->process->frame
							      : drain->last_unreadable;
	/* And what a living process does from now on nobody records. */
	if (drain->is_alive || drain->reader.header.published > last)
		ledger->loss[LEDGER_UNKNOWN_TAIL] = 1;
	ledger_settle(ledger, drain->is_alive);
	drain->process->is_drained = true;
	return 0;
}

static int count_only(struct drain *drain, enum ledger_loss why)
{
	const struct recorder_header *header = &drain->reader.header;
	struct ledger *ledger = &drain->process->ledger;
	int r = get_slots(drain);

	if (r == 0)
		r = recorder_reader_refresh(&drain->reader);
	if (r == 0)
		r = take_counters(drain);
	if (r < 0)
		return r;
	ledger_give_up(ledger, why);
	/* What the host did is not counted one by one. */
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

int drain_process(struct writer *writer, struct process *process, int memfd, bool is_alive)
{
	struct drain drain = {.writer = writer, .process = process, .is_alive = is_alive};
	int r = recorder_reader_open(&drain.reader, memfd, process->boot_id, process->token);

	process->is_dirty = true;
	if (r == 0)
		r = drain_whole(&drain);
	else if (r == -ENODATA)
		process->is_drained = true;
	drain_done(&drain);
	return r == -ENODATA ? 0 : bad_recorder(process, r);
}
