/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/completeness/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/database.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

#define COUNTERS_EVERY_NS 1000000000u
/* rtl_counter_base.queueId for the counters of a whole process. */
#define NO_QUEUE	  LOSSES_NO_QUEUE

/* Values of rtl_loss.reason. losses.c compares reasons by the address of these literals. */
static const char torn_name[] = "torn";
static const char *const loss_name[LEDGER_LOSSES] = {
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

/* True for a counter of dropped dispatches or other dropped records. */
static bool is_drop(const char *counter)
{
	return !strncmp(counter, "dropped_", 8);
}

/*
 * Memory for a queue and for all of its loss entries. All of it is charged at once, because the
 * report of a loss must never be refused.
 */
static size_t queue_bytes(void)
{
	unsigned reasons = LEDGER_QUEUE_LOSSES + RTL_UNTIMED_COUNT + 1; /* and "torn" */

	for (unsigned i = 0; i < RTL_Q_COUNT; i++)
		reasons += is_drop(rtl_queue_counter_name[i]);
	return sizeof(struct ledger_queue) + reasons * losses_entry_bytes();
}

void ledger_done(struct ledger *ledger)
{
	struct ledger_queue *queue, *next;

	HASH_ITER (hh, ledger->queues, queue, next) {
		HASH_DEL(ledger->queues, queue);
		free(queue);
		quota_charge(ledger->account, -(int64_t)queue_bytes());
	}
	losses_done(&ledger->losses);
}

/*
 * Returns NULL if there is none. Checks the first entry first, because hundreds of shapes ask for
 * the same queue.
 */
static struct ledger_queue *find_queue(const struct ledger *ledger, uint32_t id)
{
	struct ledger_queue *queue = ledger->queues;

	if (!queue || queue->queue != id)
		HASH_FIND(hh, ledger->queues, &id, sizeof(id), queue);
	return queue;
}

bool ledger_has_room(const struct ledger *ledger, uint32_t id)
{
	return find_queue(ledger, id) ||
	       quota_has_memory(ledger->account, queue_bytes(), QUOTA_TABLES);
}

struct ledger_queue *ledger_queue(struct ledger *ledger, uint32_t id)
{
	struct ledger_queue *queue = find_queue(ledger, id);

	if (queue)
		return queue;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return NULL;
	queue->queue = id;
	queue->is_dirty = true;
	HASH_ADD(hh, ledger->queues, queue, sizeof(queue->queue), queue);
	if (queue->is_lost) {
		free(queue);
		return NULL;
	}
	quota_charge(ledger->account, (int64_t)queue_bytes());
	return queue;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool is_skip(unsigned counter)
{
	/* Barrier packets are not dispatches, so they are not part of the sum. */
	return !strncmp(rtl_queue_counter_name[counter], "skipped_", 8) &&
	       counter != RTL_Q_skipped_not_kernel;
}

/*
 * True for a counter of the process that means a loss: host records that were dropped, queues and
 * libraries that were not watched, and what did not fit in its define log.
 */
static bool is_loss(enum rtl_process_counter counter)
{
	return is_drop(rtl_process_counter_name[counter]) || counter == RTL_P_queues_coop ||
	       counter == RTL_P_queues_ineligible || counter == RTL_P_copy_queues_unseen ||
	       counter == RTL_P_runtimes_ignored || counter == RTL_P_names_overflowed ||
	       counter == RTL_P_shapes_coarse || counter == RTL_P_unwrapped_roctx ||
	       counter == RTL_P_unwrapped_rccl || counter == RTL_P_unwrapped_hip;
}

uint64_t ledger_queue_skipped(const struct ledger_queue *queue)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < RTL_Q_COUNT; i++)
		if (is_skip(i))
			sum += queue->counter[i];
	return max_u64(sum, queue->skipped_before);
}

uint64_t ledger_queue_dropped(const struct ledger_queue *queue)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LEDGER_QUEUE_LOSSES; i++)
		sum += queue->lost[i];
	for (unsigned i = 0; i < RTL_Q_COUNT; i++)
		if (is_drop(rtl_queue_counter_name[i]))
			sum += queue->counter[i];
	return max_u64(sum, queue->dropped_before);
}

uint64_t ledger_queue_accounted(const struct ledger_queue *queue)
{
	return ledger_queue_skipped(queue) + queue->stored + queue->outstanding +
	       ledger_queue_dropped(queue) + queue->torn;
}

/*
 * Counters travel apart from the rows, so they may be older than the rows of the same transaction.
 */
uint64_t ledger_queue_dispatched(const struct ledger_queue *queue)
{
	uint64_t counted = max_u64(queue->counter[RTL_Q_dispatched], queue->dispatched_before);

	return max_u64(max_u64(counted, queue->next_seq), ledger_queue_accounted(queue));
}

/* ---- counters -------------------------------------------------------------------------- */

static bool take_values(
	uint64_t *counter, unsigned known, uint64_t max, const uint64_t *value, size_t n)
{
	bool changed = false;

	/* A newer shim may send more counters than we know. */
	for (size_t i = 0; i < n && i < known; i++) {
		/*
		 * A greater value must be false, and a sum of such values would overflow an integer
		 * of SQLite.
		 */
		if (value[i] <= counter[i] || value[i] > max)
			continue;
		counter[i] = value[i];
		changed = true;
	}
	return changed;
}

void ledger_begin_reading(struct ledger *ledger, uint64_t begun_ns, uint64_t ended_ns)
{
	uint64_t now_ns = clock_boottime_ns();

	/*
	 * The times come from the shim, so they are limited to what is possible. Without times, now
	 * counts.
	 */
	if (!ended_ns || ended_ns < begun_ns || ended_ns > now_ns)
		ended_ns = now_ns;
	if (!begun_ns || begun_ns > ended_ns)
		begun_ns = ended_ns;
	if (begun_ns > ledger->next_from_ns) {
		ledger->reading.from_ns = ledger->next_from_ns;
		ledger->next_from_ns = begun_ns;
	}
	if (ended_ns > ledger->reading.to_ns)
		ledger->reading.to_ns = ended_ns;
}

int ledger_take_process(struct ledger *ledger, const uint64_t *value, unsigned count)
{
	int r = 0;

	take_values(ledger->process, RTL_P_COUNT, COUNTER_PROCESS_MAX, value, count);
	/* This one is a state, all others are counters. */
	if (count > RTL_P_is_recording)
		ledger->process[RTL_P_is_recording] = value[RTL_P_is_recording] != 0;
	for (unsigned i = 0; r == 0 && i < RTL_P_COUNT; i++)
		if (is_loss(i))
			r = losses_note(&ledger->losses, LOSSES_NO_QUEUE,
				rtl_process_counter_name[i], ledger->process[i], &ledger->reading);
	return r;
}

/* Each dispatch had a number before it was dropped. */
static int note_drops(struct ledger *ledger, struct ledger_queue *queue)
{
	struct loss_span span = ledger->reading;
	uint64_t dispatched = queue->counter[RTL_Q_dispatched];
	int r = 0;

	span.has_seq = dispatched > 0;
	/* The last dispatch that was numbered may have been dropped after the previous reading. */
	span.first_seq = queue->seq_before ? queue->seq_before - 1 : 0;
	span.last_seq = dispatched ? dispatched - 1 : 0;
	for (unsigned i = 0; r == 0 && i < RTL_Q_COUNT; i++)
		if (is_drop(rtl_queue_counter_name[i]))
			r = losses_note(&ledger->losses, queue->queue, rtl_queue_counter_name[i],
				queue->counter[i], &span);
	if (r == 0 && dispatched > queue->seq_before)
		queue->seq_before = dispatched;
	return r;
}

int ledger_take_queue(struct ledger *ledger, uint32_t id, bool has_gpu, uint32_t gpu_id,
	const uint64_t *value, unsigned count)
{
	struct ledger_queue *queue = ledger_queue(ledger, id);

	if (!queue)
		return -ENOMEM;
	if (has_gpu && !queue->has_gpu) {
		queue->has_gpu = true;
		queue->gpu_id = gpu_id;
		queue->is_dirty = true;
	}
	if (!take_values(queue->counter, RTL_Q_COUNT, COUNTER_QUEUE_MAX, value, count))
		return 0;
	queue->is_dirty = true;
	return note_drops(ledger, queue);
}

int ledger_take_counters(struct ledger *ledger, const Rtl__Counters *counters, const uint32_t *gpus,
	unsigned gpu_count)
{
	uint64_t begun_ns = counters->has_time_ns ? counters->time_ns : 0;
	uint64_t took_ns = counters->has_took_ns ? counters->took_ns : 0;
	int r;

	ledger_begin_reading(ledger, begun_ns, begun_ns + took_ns);
	r = ledger_take_process(ledger, counters->process, (unsigned)counters->n_process);
	for (size_t i = 0; r == 0 && i < counters->n_queues; i++) {
		const Rtl__QueueCounters *from = counters->queues[i];
		bool has_gpu = from->has_gpu && from->gpu < gpu_count;

		if (!from->has_queue || from->queue >= RECORDER_QUEUES ||
			!ledger_has_room(ledger, from->queue))
			return -EBADMSG;
		r = ledger_take_queue(ledger, from->queue, has_gpu, has_gpu ? gpus[from->gpu] : 0,
			from->value, (unsigned)from->n_value);
	}
	return r;
}

static void widen_loss(struct ledger_befallen *befallen, uint64_t seq, uint64_t submit_ns)
{
	struct loss_span *span = &befallen->span;

	if (befallen->count++ == befallen->noted)
		*span = (struct loss_span){submit_ns, submit_ns, true, seq, seq};
	if (seq < span->first_seq)
		span->first_seq = seq;
	if (seq > span->last_seq)
		span->last_seq = seq;
	if (submit_ns < span->from_ns)
		span->from_ns = submit_ns;
	if (submit_ns > span->to_ns)
		span->to_ns = submit_ns;
}

void ledger_count_untimed(
	struct ledger_queue *queue, unsigned why, uint64_t seq, uint64_t submit_ns)
{
	widen_loss(&queue->untimed_by[why], seq, submit_ns);
	queue->untimed++;
}

static void lose(struct ledger_queue *queue, enum ledger_loss why, uint64_t count)
{
	/* dropped_before grows as well, so that ledger_queue_dropped() does in every case. */
	queue->lost[why] += count;
	queue->dropped_before += count;
}

void ledger_count_over_quota(struct ledger_queue *queue, uint64_t seq, uint64_t submit_ns)
{
	widen_loss(&queue->over_quota, seq, submit_ns);
	lose(queue, LEDGER_QUOTA, 1);
	if (seq >= queue->next_seq)
		queue->next_seq = seq + 1;
	queue->is_dirty = true;
}

void ledger_settle(struct ledger *ledger, bool is_alive)
{
	struct ledger_queue *queue, *next;

	HASH_ITER (hh, ledger->queues, queue, next) {
		uint64_t pending = ledger_queue_dispatched(queue) - ledger_queue_accounted(queue);
		uint64_t malformed = pending < ledger->unreadable ? pending : ledger->unreadable;

		if (!pending)
			continue;
		ledger->unreadable -= malformed;
		lose(queue, LEDGER_MALFORMED, malformed);
		pending -= malformed;
		if (ledger->loss[LEDGER_MISSING_FRAMES])
			lose(queue, LEDGER_DB_ERROR, pending);
		else if (is_alive)
			queue->outstanding += pending;
		else
			queue->torn += pending;
		queue->is_dirty = true;
	}
}

void ledger_give_up(struct ledger *ledger, enum ledger_loss why)
{
	struct ledger_queue *queue, *next;

	HASH_ITER (hh, ledger->queues, queue, next) {
		uint64_t pending = ledger_queue_dispatched(queue) - ledger_queue_accounted(queue);

		if (!pending)
			continue;
		lose(queue, why, pending);
		queue->is_dirty = true;
	}
}

int ledger_move(struct ledger *ledger, uint64_t frames)
{
	struct ledger_queue *queue, *next;
	int r = 0;

	losses_done(&ledger->losses);
	memset(ledger->process_saved, 0, sizeof(ledger->process_saved));
	memset(ledger->loss, 0, sizeof(ledger->loss));
	ledger->loss[LEDGER_MISSING_FRAMES] = frames;
	ledger->unreadable = 0;
	HASH_ITER (hh, ledger->queues, queue, next) {
		memset(queue->counter_saved, 0, sizeof(queue->counter_saved));
		memset(queue->lost, 0, sizeof(queue->lost));
		memset(queue->untimed_by, 0, sizeof(queue->untimed_by));
		memset(&queue->over_quota, 0, sizeof(queue->over_quota));
		queue->stored = queue->untimed = queue->outstanding = queue->torn = 0;
		queue->dropped_before = queue->seq_before = 0;
		queue->busy_ns = queue->last_end_ns = 0;
		queue->is_dirty = true;
		if (r == 0)
			r = note_drops(ledger, queue);
	}
	/* Takes the same values again, so that their losses are noted in the new file. */
	return r < 0 ? r : ledger_take_process(ledger, ledger->process, RTL_P_COUNT);
}

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
	int i = name_index(loss_name, LEDGER_LOSSES, reason);

	if (i >= 0)
		return loss_name[i];
	i = name_index(rtl_queue_counter_name, RTL_Q_COUNT, reason);
	/* The untimed_* reasons are in a table of their own, below. */
	if (i >= 0 && is_drop(reason))
		return rtl_queue_counter_name[i];
	i = name_index(rtl_process_counter_name, RTL_P_COUNT, reason);
	if (i >= 0)
		return rtl_process_counter_name[i];
	for (unsigned why = 1; why < RTL_UNTIMED_COUNT; why++)
		if (!strcmp(reason, rtl_untimed_name(why)))
			return rtl_untimed_name(why);
	return strcmp(reason, torn_name) ? NULL : torn_name;
}

static void load_sums(struct ledger *ledger)
{
	const struct losses *losses = &ledger->losses;
	struct ledger_queue *queue, *next;

	for (unsigned i = LEDGER_QUEUE_LOSSES; i < LEDGER_LOSSES; i++)
		ledger->loss[i] = losses_total(losses, NO_QUEUE, loss_name[i]);
	HASH_ITER (hh, ledger->queues, queue, next) {
		queue->seq_before = ledger_queue_dispatched(queue);
		for (unsigned i = 0; i < LEDGER_QUEUE_LOSSES; i++)
			queue->lost[i] = losses_total(losses, queue->queue, loss_name[i]);
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

static int save_values(const struct ledger *ledger, int64_t queue, const char *const *names,
	const uint64_t *value, uint64_t *saved, unsigned count, sqlite3_stmt *put)
{
	int r;

	for (unsigned i = 0; i < count; i++) {
		if (value[i] == saved[i])
			continue;
		sqlite3_bind_int64(put, 1, ledger->process_id);
		sqlite3_bind_int64(put, 2, queue);
		sqlite3_bind_text(put, 3, names[i], -1, SQLITE_STATIC);
		sqlite3_bind_int64(put, 4, (int64_t)value[i]);
		r = database_run(put);
		if (r < 0)
			return r;
		saved[i] = value[i];
	}
	return 0;
}

static int save_counters(struct ledger *ledger, sqlite3_stmt *put)
{
	struct ledger_queue *queue, *next;
	int r = save_values(ledger, NO_QUEUE, rtl_process_counter_name, ledger->process,
		ledger->process_saved, RTL_P_COUNT, put);

	HASH_ITER (hh, ledger->queues, queue, next) {
		if (r != 0)
			break;
		r = save_values(ledger, queue->queue, rtl_queue_counter_name, queue->counter,
			queue->counter_saved, RTL_Q_COUNT, put);
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
		&ledger->losses, queue->queue, torn_name, queue->torn, &ledger->reading);

	for (unsigned i = 0; r == 0 && i < LEDGER_QUEUE_LOSSES; i++)
		if (i != LEDGER_QUOTA)
			r = losses_note(&ledger->losses, queue->queue, loss_name[i], queue->lost[i],
				&ledger->reading);
	if (r == 0)
		r = note_befallen(ledger, queue, loss_name[LEDGER_QUOTA], &queue->over_quota);
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
		r = losses_note(&ledger->losses, NO_QUEUE, loss_name[i], ledger->loss[i], &span);
	return r;
}

static int save_losses(struct ledger *ledger, struct statements *statements)
{
	int r = note_process(ledger);

	return r < 0 ? r
		     : losses_save(&ledger->losses, ledger->process_id, statements,
			       loss_name[LEDGER_UNKNOWN_TAIL]);
}

static int save_queues(struct ledger *ledger, struct statements *statements)
{
	struct ledger_queue *queue, *next;

	HASH_ITER (hh, ledger->queues, queue, next) {
		int r;

		if (!queue->is_dirty)
			continue;
		r = note_queue(ledger, queue);
		if (r == 0)
			r = save_queue(ledger, queue, statements->at[ST_QUEUE_PUT]);
		if (r < 0)
			return r;
		queue->is_dirty = false;
	}
	return 0;
}

int ledger_save(struct ledger *ledger, struct statements *statements, bool all)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = save_queues(ledger, statements);

	if (r == 0)
		r = save_losses(ledger, statements);
	if (r != 0 || (!all && now_ns - ledger->counters_saved_ns < COUNTERS_EVERY_NS))
		return r;
	r = save_counters(ledger, statements->at[ST_COUNTER_PUT]);
	if (r == 0)
		ledger->counters_saved_ns = now_ns;
	return r;
}
