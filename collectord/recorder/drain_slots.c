/* SPDX-License-Identifier: MIT */
/* Stores the dispatches that were in flight, and those that are finished but in no frame. */
#include <errno.h>
#include <stdlib.h>

#include "collectord/db/database.h"
#include "collectord/recorder/drain_internal.h"
#include "collectord/db/hash.h"
#include "collectord/db/watched_vfs.h"
#include "collectord/ingest/ingest.h"
#include "proto/base/limits.h"

/* ---- slots at one moment ------------------------------------------------------------------- */

static size_t first_place(const struct drain *drain, uint64_t seq, uint64_t queue)
{
	const uint64_t key[2] = {seq, queue};

	return hash_bytes(key, sizeof(key)) & drain->flights_mask;
}

/* Finds the place where slot @seq of @queue is noted, or would be. There is always a free place. */
static uint32_t *find_flight(const struct drain *drain, uint64_t seq, uint64_t queue)
{
	size_t place = first_place(drain, seq, queue);

	for (; drain->flights[place]; place = (place + 1) & drain->flights_mask) {
		const struct recorder_slot *slot = &drain->slots[drain->flights[place] - 1];

		if (slot->seq == seq && slot->queue == queue)
			break;
	}
	return &drain->flights[place];
}

/* Notes a used slot; drain_forget_flights() frees it if a later frame holds its record. */
static void note_flight(struct drain *drain, uint32_t i)
{
	struct recorder_slot *slot = &drain->slots[i];
	uint32_t *place;

	if (slot->state == SLOT_FREE)
		return;
	place = find_flight(drain, slot->seq, slot->queue);
	if (!*place) {
		*place = i + 1;
		return;
	}
	/* A dispatch never has two slots. */
	slot->state = SLOT_FREE;
	drain->process->ledger.loss[LEDGER_CORRUPT_SLOT]++;
}

static int new_flights(struct drain *drain)
{
	size_t places = 2;

	while (places < 2 * drain->slot_count)
		places *= 2;
	drain->flights = calloc(places, sizeof(*drain->flights));
	drain->flights_mask = places - 1;
	return drain->flights ? 0 : -ENOMEM;
}

static int get_slots(struct drain *drain, uint64_t from, struct recorder_slot *ret)
{
	uint64_t count = drain->slot_count - from;

	pace_beat();
	if (count > RECORDER_SLOT_CHUNK)
		count = RECORDER_SLOT_CHUNK;
	drain->slots_to = from + count;
	return recorder_reader_get(&drain->reader, &drain->reader.header.slots, from, count, ret);
}

int drain_copy_slots(struct drain *drain)
{
	const struct recorder_header *h = &drain->reader.header;
	uint64_t most;
	int r;

	/* Slots that are ready but were never used lie in pages that were never written. */
	drain->slot_count = recorder_reader_written(&drain->reader, &h->slots, h->slots_used);
	most = drain->is_alive ? drain->slot_count : RECORDER_SLOT_CHUNK;
	/* Not zeroed: a slot is read from the recorder before it is used. */
	drain->slots = malloc((most ? most : 1) * sizeof(*drain->slots));
	if (!drain->slots)
		return -ENOMEM;
	if (!drain->is_alive)
		return 0;
	r = new_flights(drain);
	while (r == 0 && drain->slots_to < drain->slot_count) {
		uint64_t from = drain->slots_to;

		r = get_slots(drain, from, &drain->slots[from]);
		for (uint64_t i = from; r == 0 && i < drain->slots_to; i++)
			note_flight(drain, (uint32_t)i);
	}
	return r;
}

void drain_slots_done(struct drain *drain)
{
	free(drain->flights);
	free(drain->slots);
}

void drain_forget_flights(struct drain *drain, const Rtl__Dispatches *d)
{
	int64_t seq = -1;

	/* All values are in range and defined, because the frame was taken. */
	for (uint32_t i = 0; drain->flights && i < d->n; i++) {
		const struct define_shape *shape = &drain->process->defines.shapes[d->shape[i]];
		uint32_t *flight;

		seq += d->seq[i] + 1;
		flight = find_flight(drain, (uint64_t)seq, shape->queue);
		if (*flight)
			drain->slots[*flight - 1].state = SLOT_FREE;
	}
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

/* The host call of a slot. 0: it has none, or the counter or the slot is torn. */
static uint64_t call_of(const struct drain *drain, const struct recorder_slot *slot)
{
	uint64_t call =
		recorder_call_id(slot->call, drain->reader.header.process[RTL_P_calls_begun]);

	return call <= PROCESS_CALL_MAX ? call : 0;
}

/* True if the times of an ended dispatch are there; they may arrive after its end. */
static bool has_ticks(const struct recorder_slot *slot)
{
	return slot->symbol && slot->end_tick && !(slot->end_tick & RECORDER_NO_TICK);
}

/* Counts the dispatch as the shim's harvester does when it makes the slot DONE. */
static void count_ended(struct drain *drain, const struct recorder_slot *slot)
{
	unsigned as = has_ticks(slot) ? RTL_Q_recorded : RTL_Q_untimed_timestamp_invalid;

	drain->queues[slot->queue].harvester[as - RTL_Q_HARVESTER_FIRST]++;
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
	uint64_t kernel_object = 0;
	int r;

	if (slot->state == SLOT_ENDED) {
		row.untimed = has_ticks(slot) ? RTL_TIMED : RTL_UNTIMED_TIMESTAMP_INVALID;
		kernel_object = slot->symbol ? 0 : slot->start_tick;
		count_ended(drain, slot);
	}
	if (!row.untimed && slot->end_tick < slot->start_tick)
		row.untimed = RTL_UNTIMED_TIMESTAMP_INVALID;
	for (int i = 0; i < 3; i++) {
		key.workgroup[i] = slot->workgroup[i];
		key.grid[i] = slot->grid[i];
	}
	r = find_books(drain, slot, row.gpu, &row.books);
	if (r == 0)
		r = defines_kernel_row(&process->defines, &drain->writer->intern, slot->symbol,
			kernel_object, &key.kernel_id);
	if (r == 0)
		r = intern_put_shape(&drain->writer->intern, &key, &row.shape_id);
	if (r == 0)
		r = intern_keep_shape(&drain->writer->intern, &key, row.shape_id);
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

	/* Until a slot is DONE, one without a symbol holds its kernel object in start_tick. */
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

/* The quota does not admit the dispatch: it is counted as dropped, or it would stay outstanding for
 * ever. */
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

static int take_slot(struct drain *drain, const struct recorder_slot *slot)
{
	uint64_t last = drain->process->frame;
	uint32_t state = slot->state;

	if (state == SLOT_FREE)
		return 0;
	/* The record is in a frame, and every frame up to the last published one is stored. */
	if (slot->frame > 0 && slot->frame <= last)
		return 0;
	if (state > SLOT_ENDED || !slot_is_valid(drain, slot)) {
		drain->process->ledger.loss[LEDGER_CORRUPT_SLOT]++;
		return 0;
	}
	if (!quota_take(&drain->writer->quota, 1, sizeof(*slot)))
		return drop_slot(drain, slot);
	return state == SLOT_SUBMITTED ? store_outstanding(drain, slot) : store_slot(drain, slot);
}

/* The slots of a dead process are read chunk by chunk. */
static int get_slot(struct drain *drain, uint64_t at, const struct recorder_slot **ret)
{
	*ret = &drain->slots[drain->is_alive ? at : at % RECORDER_SLOT_CHUNK];
	return !drain->is_alive && at == drain->slots_to ? get_slots(drain, at, drain->slots) : 0;
}

/* A slot holds the values of its shape but no id, so the shapes of the frames are kept for
 * look-up. */
static int keep_shapes(struct drain *drain)
{
	const struct defines *defines = &drain->process->defines;
	int r = 0;

	for (uint32_t i = 0; r == 0 && drain->slot_count && i < defines->shape_count; i++)
		if (defines->shapes[i].shape_id)
			r = ingest_keep_shape(drain->writer, drain->process, &defines->shapes[i]);
	return r;
}

int drain_take_slots(struct drain *drain)
{
	int r = keep_shapes(drain);

	for (uint64_t at = 0; r == 0 && at < drain->slot_count; at++) {
		const struct recorder_slot *slot;

		r = get_slot(drain, at, &slot);
		if (r == 0)
			r = take_slot(drain, slot);
	}
	return r;
}
