/* SPDX-License-Identifier: MIT */
/* Reads the ledger from the database and saves it. */
#include <errno.h>
#include <string.h>

#include "collectord/db/database.h"
#include "collectord/ingest/ledger.h"
#include "collectord/ingest/ledger_private.h"
#include "proto/base/clock.h"

#define COUNTERS_EVERY_NS 1000000000u
/* rtl_counter_base.queueId for the counters of a whole process. */
#define NO_QUEUE	  LOSSES_NO_QUEUE

const char ledger_torn_name[] = "torn";
const char *const ledger_loss_name[LEDGER_LOSSES] = {
	[LEDGER_MALFORMED] = "dropped_malformed",
	[LEDGER_CORRUPT_FRAMES] = "corrupt_frames",
	[LEDGER_CORRUPT_SLOT] = "corrupt_slot",
	[LEDGER_CORRUPT_DEFINES] = "corrupt_defines",
	[LEDGER_BAD_RECORDER] = "bad_recorder",
	[LEDGER_UNKNOWN_TAIL] = "unknown_tail",
	[LEDGER_DISK_FULL] = "dropped_disk_full",
	[LEDGER_DB_ERROR] = "dropped_db_error",
	[LEDGER_QUOTA] = "dropped_quota",
	[LEDGER_MISSING_FRAMES] = "missing_frames",
	[LEDGER_QUOTA_MARKERS] = "quota_markers",
	[LEDGER_QUOTA_CALLS] = "quota_calls",
	[LEDGER_QUOTA_COPIES] = "quota_copies",
	[LEDGER_QUOTA_DEFINES] = "quota_definitions",
	[LEDGER_NAMES] = "names_left_out",
};

/* ---- reading back ---------------------------------------------------------------------- */

static int load_queues(struct ledger *ledger, sqlite3_stmt *all)
{
	int r = 0, step;

	sqlite3_bind_int64(all, 1, ledger->process_id);
	while ((step = sqlite3_step(all)) == SQLITE_ROW && r == 0) {
		struct ledger_queue *q =
			ledger_queue(ledger, (uint32_t)sqlite3_column_int64(all, 0));

		if (!q) {
			r = -ENOMEM;
			continue;
		}
		q->has_gpu = sqlite3_column_type(all, 1) != SQLITE_NULL;
		q->gpu_id = (uint32_t)sqlite3_column_int64(all, 1);
		q->dispatched_before = (uint64_t)sqlite3_column_int64(all, 2);
		q->skipped_before = (uint64_t)sqlite3_column_int64(all, 3);
		q->stored = (uint64_t)sqlite3_column_int64(all, 4);
		q->untimed = (uint64_t)sqlite3_column_int64(all, 5);
		q->outstanding = (uint64_t)sqlite3_column_int64(all, 6);
		q->dropped_before = (uint64_t)sqlite3_column_int64(all, 7);
		q->torn = (uint64_t)sqlite3_column_int64(all, 8);
		q->busy_ns = (uint64_t)sqlite3_column_int64(all, 9);
		q->last_end_ns = (uint64_t)sqlite3_column_int64(all, 10);
		q->last_shape = sqlite3_column_int64(all, 11);
		q->last_seq = (uint64_t)sqlite3_column_int64(all, 12);
		q->is_dirty = false;
	}
	sqlite3_reset(all);
	return r < 0 ? r : database_errno(step);
}

static int name_index(const char *const *names, unsigned count, const char *name)
{
	for (unsigned i = 0; name && i < count; i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}

static int load_counters(struct ledger *ledger, sqlite3_stmt *all)
{
	int r = 0, step, i;

	sqlite3_bind_int64(all, 1, ledger->process_id);
	while ((step = sqlite3_step(all)) == SQLITE_ROW && r == 0) {
		int64_t id = sqlite3_column_int64(all, 0);
		const char *name = (const char *)sqlite3_column_text(all, 1);
		uint64_t value = (uint64_t)sqlite3_column_int64(all, 2);
		struct ledger_queue *queue;

		if (id == NO_QUEUE) {
			i = name_index(rtl_process_counter_name, RTL_P_COUNT, name);
			if (i >= 0)
				ledger->process[i] = ledger->process_saved[i] = value;
			continue;
		}
		queue = ledger_queue(ledger, (uint32_t)id);
		i = name_index(rtl_queue_counter_name, RTL_Q_COUNT, name);
		if (!queue)
			r = -ENOMEM;
		else if (i >= 0)
			queue->counter[i] = queue->counter_saved[i] = value;
	}
	sqlite3_reset(all);
	return r < 0 ? r : database_errno(step);
}

/* Returns the literal, because losses.c compares reasons by address. */
static const char *known_reason(const char *reason)
{
	int i = name_index(ledger_loss_name, LEDGER_LOSSES, reason);

	if (i >= 0)
		return ledger_loss_name[i];
	i = name_index(rtl_queue_counter_name, RTL_Q_COUNT, reason);
	/* The untimed_* reasons are in a table of their own, below. */
	if (i >= 0 && ledger_is_drop(reason))
		return rtl_queue_counter_name[i];
	i = name_index(rtl_process_counter_name, RTL_P_COUNT, reason);
	if (i >= 0)
		return rtl_process_counter_name[i];
	for (unsigned why = 1; why < RTL_UNTIMED_COUNT; why++)
		if (!strcmp(reason, rtl_untimed_name(why)))
			return rtl_untimed_name(why);
	return strcmp(reason, ledger_torn_name) ? NULL : ledger_torn_name;
}

static void load_sums(struct ledger *ledger)
{
	const struct losses *losses = &ledger->losses;
	struct ledger_queue *queue, *next;

	for (unsigned i = LEDGER_QUEUE_LOSSES; i < LEDGER_LOSSES; i++)
		ledger->loss[i] = losses_total(losses, NO_QUEUE, ledger_loss_name[i]);
	HASH_ITER (hh, ledger->queues, queue, next) {
		queue->seq_before = ledger_queue_dispatched(queue);
		for (unsigned i = 0; i < LEDGER_QUEUE_LOSSES; i++)
			queue->lost[i] = losses_total(losses, queue->queue, ledger_loss_name[i]);
		queue->over_quota.count = queue->over_quota.noted = queue->lost[LEDGER_QUOTA];
		for (unsigned why = 1; why < RTL_UNTIMED_COUNT; why++)
			queue->untimed_by[why].count = queue->untimed_by[why].noted =
				losses_total(losses, queue->queue, rtl_untimed_name(why));
	}
}

int ledger_load(struct ledger *ledger, struct statements *statements)
{
	const struct loss_span reading = ledger->reading;
	uint64_t next_from_ns = ledger->next_from_ns;
	int64_t id = ledger->process_id;
	int r;

	ledger_done(ledger);
	*ledger = (struct ledger){.process_id = id,
		.account = ledger->account,
		.reading = reading,
		.next_from_ns = next_from_ns};
	r = load_queues(ledger, statements->at[ST_QUEUE_ALL]);
	if (r == 0)
		r = load_counters(ledger, statements->at[ST_COUNTER_ALL]);
	if (r == 0)
		r = losses_load(&ledger->losses, id, statements, known_reason);
	if (r == 0)
		load_sums(ledger);
	return r;
}

/* ---- saving ---------------------------------------------------------------------------- */

static int save_queue(
	const struct ledger *ledger, const struct ledger_queue *queue, sqlite3_stmt *put)
{
	sqlite3_bind_int64(put, 1, ledger->process_id);
	sqlite3_bind_int64(put, 2, queue->queue);
	database_bind_optional(put, 3, queue->has_gpu, queue->gpu_id);
	sqlite3_bind_int64(put, 4, (int64_t)ledger_queue_dispatched(queue));
	sqlite3_bind_int64(put, 5, (int64_t)ledger_queue_skipped(queue));
	sqlite3_bind_int64(put, 6, (int64_t)queue->stored);
	sqlite3_bind_int64(put, 7, (int64_t)queue->untimed);
	sqlite3_bind_int64(put, 8, (int64_t)queue->outstanding);
	sqlite3_bind_int64(put, 9, (int64_t)ledger_queue_dropped(queue));
	sqlite3_bind_int64(put, 10, (int64_t)queue->torn);
	sqlite3_bind_int64(put, 11, (int64_t)queue->busy_ns);
	database_bind_optional(put, 12, queue->last_end_ns > 0, (int64_t)queue->last_end_ns);
	database_bind_optional(put, 13, queue->last_shape > 0, queue->last_shape);
	database_bind_optional(put, 14, queue->last_shape > 0, (int64_t)queue->last_seq);
	return database_run(put);
}

/* Returns LEDGER_MORE if *@rows is used up. */
static int save_values(const struct ledger *ledger, int64_t queue, const char *const *names,
	const uint64_t *value, uint64_t *saved, unsigned count, sqlite3_stmt *put, uint64_t *rows)
{
	int r;

	for (unsigned i = 0; i < count; i++) {
		if (value[i] == saved[i])
			continue;
		if (!*rows)
			return LEDGER_MORE;
		sqlite3_bind_int64(put, 1, ledger->process_id);
		sqlite3_bind_int64(put, 2, queue);
		sqlite3_bind_text(put, 3, names[i], -1, SQLITE_STATIC);
		sqlite3_bind_int64(put, 4, (int64_t)value[i]);
		r = database_run(put);
		if (r < 0)
			return r;
		saved[i] = value[i];
		--*rows;
	}
	return 0;
}

static int save_counters(struct ledger *ledger, sqlite3_stmt *put, uint64_t *rows)
{
	struct ledger_queue *queue, *next;
	int r = save_values(ledger, NO_QUEUE, rtl_process_counter_name, ledger->process,
		ledger->process_saved, RTL_P_COUNT, put, rows);

	HASH_ITER (hh, ledger->queues, queue, next) {
		if (r != 0)
			break;
		r = save_values(ledger, queue->queue, rtl_queue_counter_name, queue->counter,
			queue->counter_saved, RTL_Q_COUNT, put, rows);
	}
	return r;
}

/* These dispatches have their own times. */
static int note_befallen(struct ledger *ledger, const struct ledger_queue *queue,
	const char *reason, struct ledger_befallen *befallen)
{
	int r;

	if (befallen->count == befallen->noted)
		return 0;
	r = losses_note(&ledger->losses, queue->queue, reason, befallen->count, &befallen->span);
	if (r == 0)
		befallen->noted = befallen->count;
	return r;
}

/*
 * Notes the losses that a row, the drain or the end of the process showed; drops were noted when
 * the counters were read.
 */
static int note_queue(struct ledger *ledger, struct ledger_queue *queue)
{
	int r = losses_note(
		&ledger->losses, queue->queue, ledger_torn_name, queue->torn, &ledger->reading);

	for (unsigned i = 0; r == 0 && i < LEDGER_QUEUE_LOSSES; i++)
		if (i != LEDGER_QUOTA)
			r = losses_note(&ledger->losses, queue->queue, ledger_loss_name[i],
				queue->lost[i], &ledger->reading);
	if (r == 0)
		r = note_befallen(
			ledger, queue, ledger_loss_name[LEDGER_QUOTA], &queue->over_quota);
	/*
	 * Dispatches that the user's mode leaves untimed are not a loss; a counter holds their
	 * number.
	 */
	for (unsigned i = 1; r == 0 && i < RTL_UNTIMED_COUNT; i++)
		if (i != RTL_UNTIMED_MODE)
			r = note_befallen(
				ledger, queue, rtl_untimed_name(i), &queue->untimed_by[i]);
	return r;
}

/* The losses happened after the last reading of the counters and before now. */
static int note_process(struct ledger *ledger)
{
	struct loss_span span = {.from_ns = ledger->reading.from_ns, .to_ns = clock_boottime_ns()};
	int r = 0;

	for (unsigned i = LEDGER_QUEUE_LOSSES; r == 0 && i < LEDGER_LOSSES; i++)
		r = losses_note(
			&ledger->losses, NO_QUEUE, ledger_loss_name[i], ledger->loss[i], &span);
	return r;
}

static int save_losses(struct ledger *ledger, struct statements *statements, uint64_t *rows)
{
	int r = note_process(ledger);

	return r < 0 ? r
		     : losses_save(&ledger->losses, ledger->process_id, statements,
			       ledger_loss_name[LEDGER_UNKNOWN_TAIL], rows);
}

static int save_queues(struct ledger *ledger, struct statements *statements, uint64_t *rows)
{
	struct ledger_queue *queue, *next;

	HASH_ITER (hh, ledger->queues, queue, next) {
		int r;

		if (!queue->is_dirty)
			continue;
		if (!*rows)
			return LEDGER_MORE;
		r = note_queue(ledger, queue);
		if (r == 0)
			r = save_queue(ledger, queue, statements->at[ST_QUEUE_PUT]);
		if (r < 0)
			return r;
		--*rows;
		queue->is_dirty = false;
	}
	return 0;
}

static int save(struct ledger *ledger, struct statements *statements, bool all, uint64_t *rows)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = save_queues(ledger, statements, rows);

	if (r == 0)
		r = save_losses(ledger, statements, rows);
	if (r != 0 || (!all && now_ns - ledger->counters_saved_ns < COUNTERS_EVERY_NS))
		return r;
	r = save_counters(ledger, statements->at[ST_COUNTER_PUT], rows);
	if (r == 0)
		ledger->counters_saved_ns = now_ns;
	return r;
}

int ledger_save(struct ledger *ledger, struct statements *statements, bool all)
{
	uint64_t rows = UINT64_MAX;

	return save(ledger, statements, all, &rows);
}

int ledger_save_part(struct ledger *ledger, struct statements *statements, uint64_t *rows)
{
	return save(ledger, statements, true, rows);
}
