/* SPDX-License-Identifier: MIT */
#include "collectord/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/database.h"
#include "collectord/store.h"
#include "proto/clock.h"
#include "proto/limits.h"

#define COUNTERS_EVERY_NS 1000000000u
#define NO_QUEUE	  LOSSES_NO_QUEUE

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
	[LEDGER_MISSING_FRAMES] = "missing_frames",
};

void ledger_done(struct ledger *ledger)
{
	struct ledger_queue *queue, *next;

	HASH_ITER (hh, ledger->queues, queue, next) {
		HASH_DEL(ledger->queues, queue);
		free(queue);
	}
	losses_done(&ledger->losses);
}

struct ledger_queue *ledger_queue(struct ledger *ledger, uint32_t id)
{
	struct ledger_queue *queue;

	HASH_FIND(hh, ledger->queues, &id, sizeof(id), queue);
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
	return queue;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool is_skip(unsigned counter)
{
	/* Barriers are no dispatches: outside the identity. */
	return !strncmp(rtl_queue_counter_name[counter], "skipped_", 8) &&
	       counter != RTL_Q_skipped_not_kernel;
}

static bool is_drop(const char *counter)
{
	return !strncmp(counter, "dropped_", 8);
}

/* Of a process: host-side records that were dropped, and queues that nobody watched. */
static bool is_loss(enum rtl_process_counter counter)
{
	return is_drop(rtl_process_counter_name[counter]) || counter == RTL_P_queues_coop ||
	       counter == RTL_P_queues_ineligible;
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

static uint64_t accounted(const struct ledger_queue *queue)
{
	return ledger_queue_skipped(queue) + queue->stored + queue->outstanding +
	       ledger_queue_dropped(queue) + queue->torn;
}

/* Counters travel apart from rows and may be older than those of the same transaction. */
uint64_t ledger_queue_dispatched(const struct ledger_queue *queue)
{
	uint64_t counted = max_u64(queue->counter[RTL_Q_dispatched], queue->dispatched_before);

	return max_u64(max_u64(counted, queue->next_seq), accounted(queue));
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

/* The literal, by which losses.c tells reasons apart. */
static const char *known_reason(const char *reason)
{
	int i = name_index(loss_name, LEDGER_LOSSES, reason);

	if (i >= 0)
		return loss_name[i];
	i = name_index(rtl_queue_counter_name, RTL_Q_COUNT, reason);
	/* An untimed_* is known by its own table. */
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
	*ledger =
		(struct ledger){.process_id = id, .reading = reading, .next_from_ns = next_from_ns};
	r = load_queues(ledger, statements->at[ST_QUEUE_ALL]);
	if (r == 0)
		r = load_counters(ledger, statements->at[ST_COUNTER_ALL]);
	if (r == 0)
		r = losses_load(&ledger->losses, id, statements, known_reason);
	if (r == 0)
		load_sums(ledger);
	return r;
}

/* ---- counters -------------------------------------------------------------------------- */

static bool take_values(uint64_t *counter, unsigned known, const uint64_t *value, size_t n)
{
	bool changed = false;

	/* A newer shim may send more than we have names for. */
	for (size_t i = 0; i < n && i < known; i++) {
		/* SQLite's integers are signed: a greater value is a lie and would turn negative.
		 */
		if (value[i] <= counter[i] || value[i] > INT64_MAX / 4)
			continue;
		counter[i] = value[i];
		changed = true;
	}
	return changed;
}

void ledger_begin_reading(struct ledger *ledger, uint64_t begun_ns, uint64_t ended_ns)
{
	uint64_t now_ns = clock_boottime_ns();

	/* A shim's word: only within what we know ourselves. Before it said when: now. */
	if (ended_ns < begun_ns || ended_ns > now_ns)
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

	take_values(ledger->process, RTL_P_COUNT, value, count);
	/* The only one that is a state. */
	if (count > RTL_P_is_recording)
		ledger->process[RTL_P_is_recording] = value[RTL_P_is_recording] != 0;
	for (unsigned i = 0; r == 0 && i < RTL_P_COUNT; i++)
		if (is_loss(i))
			r = losses_note(&ledger->losses, NO_QUEUE, rtl_process_counter_name[i],
				ledger->process[i], &ledger->reading);
	return r;
}

/* Each dispatch had its number before it was dropped. */
static int note_drops(struct ledger *ledger, struct ledger_queue *queue)
{
	struct loss_span span = ledger->reading;
	uint64_t dispatched = queue->counter[RTL_Q_dispatched];
	int r = 0;

	span.has_seq = dispatched > 0;
	/* The last one that was numbered may have been dropped after the reading before. */
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
	if (!take_values(queue->counter, RTL_Q_COUNT, value, count))
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

		if (!from->has_queue || from->queue >= RECORDER_QUEUES)
			return -EBADMSG;
		r = ledger_take_queue(ledger, from->queue, has_gpu, has_gpu ? gpus[from->gpu] : 0,
			from->value, (unsigned)from->n_value);
	}
	return r;
}

void ledger_count_untimed(
	struct ledger_queue *queue, unsigned why, uint64_t seq, uint64_t submit_ns)
{
	struct ledger_untimed *untimed = &queue->untimed_by[why];
	struct loss_span *span = &untimed->span;

	if (untimed->count++ == untimed->noted)
		*span = (struct loss_span){submit_ns, submit_ns, true, seq, seq};
	if (seq < span->first_seq)
		span->first_seq = seq;
	if (seq > span->last_seq)
		span->last_seq = seq;
	if (submit_ns < span->from_ns)
		span->from_ns = submit_ns;
	if (submit_ns > span->to_ns)
		span->to_ns = submit_ns;
	queue->untimed++;
}

static void lose(struct ledger_queue *queue, enum ledger_loss why, uint64_t count)
{
	/* The floor goes up with it, so that ledger_queue_dropped() does in any case. */
	queue->lost[why] += count;
	queue->dropped_before += count;
}

void ledger_settle(struct ledger *ledger, bool is_alive)
{
	struct ledger_queue *queue, *next;

	HASH_ITER (hh, ledger->queues, queue, next) {
		uint64_t pending = ledger_queue_dispatched(queue) - accounted(queue);
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
		uint64_t pending = ledger_queue_dispatched(queue) - accounted(queue);

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
		queue->stored = queue->untimed = queue->outstanding = queue->torn = 0;
		queue->dropped_before = queue->seq_before = 0;
		queue->busy_ns = queue->last_end_ns = 0;
		queue->is_dirty = true;
		if (r == 0)
			r = note_drops(ledger, queue);
	}
	/* The same values again: what they say of losses is noted anew. */
	return r < 0 ? r : ledger_take_process(ledger, ledger->process, RTL_P_COUNT);
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
		if (r < 0)
			break;
		r = save_values(ledger, queue->queue, rtl_queue_counter_name, queue->counter,
			queue->counter_saved, RTL_Q_COUNT, put);
	}
	return r;
}

/* What a row, the drain or the end of the process showed; drops were noted when they were read. */
static int note_queue(struct ledger *ledger, struct ledger_queue *queue)
{
	int r = losses_note(
		&ledger->losses, queue->queue, torn_name, queue->torn, &ledger->reading);

	for (unsigned i = 0; r == 0 && i < LEDGER_QUEUE_LOSSES; i++)
		r = losses_note(&ledger->losses, queue->queue, loss_name[i], queue->lost[i],
			&ledger->reading);
	/* What the user's mode leaves untimed is no loss; its counter says how many. */
	for (unsigned i = 1; r == 0 && i < RTL_UNTIMED_COUNT; i++) {
		struct ledger_untimed *untimed = &queue->untimed_by[i];

		if (i == RTL_UNTIMED_MODE || untimed->count == untimed->noted)
			continue;
		r = losses_note(&ledger->losses, queue->queue, rtl_untimed_name(i), untimed->count,
			&untimed->span);
		if (r == 0)
			untimed->noted = untimed->count;
	}
	return r;
}

/* Since the last reading, when there was none of the end itself. */
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

int ledger_save(struct ledger *ledger, struct statements *statements, bool all)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct ledger_queue *queue, *next;
	int r;

	HASH_ITER (hh, ledger->queues, queue, next) {
		if (!queue->is_dirty)
			continue;
		r = note_queue(ledger, queue);
		if (r == 0)
			r = save_queue(ledger, queue, statements->at[ST_QUEUE_PUT]);
		if (r < 0)
			return r;
		queue->is_dirty = false;
	}
	r = save_losses(ledger, statements);
	if (r < 0)
		return r;
	if (!all && now_ns - ledger->counters_saved_ns < COUNTERS_EVERY_NS)
		return 0;
	ledger->counters_saved_ns = now_ns;
	return save_counters(ledger, statements->at[ST_COUNTER_PUT]);
}

/* ---- statistics ------------------------------------------------------------------------ */

static struct store_gpu_stat *gpu_stat(struct store_process_stat *stat, uint32_t gpu_id)
{
	const unsigned room = sizeof(stat->gpu) / sizeof(stat->gpu[0]);

	for (unsigned i = 0; i < stat->gpus; i++)
		if (stat->gpu[i].gpu_id == gpu_id)
			return &stat->gpu[i];
	if (stat->gpus == room)
		return NULL;
	stat->gpu[stat->gpus] = (struct store_gpu_stat){.gpu_id = gpu_id};
	return &stat->gpu[stat->gpus++];
}

void ledger_fill_stat(const struct ledger *ledger, struct store_process_stat *stat)
{
	stat->gpus = 0;
	for (struct ledger_queue *q = ledger->queues; q; q = q->hh.next) {
		struct store_gpu_stat *gpu = q->has_gpu ? gpu_stat(stat, q->gpu_id) : NULL;
		uint64_t dispatched = ledger_queue_dispatched(q);

		if (!gpu)
			continue;
		gpu->dispatched += dispatched;
		gpu->stored += q->stored;
		gpu->untimed += q->untimed;
		gpu->dropped += ledger_queue_dropped(q);
		gpu->skipped += ledger_queue_skipped(q);
		gpu->outstanding += q->outstanding;
		gpu->torn += q->torn;
		gpu->pending += dispatched - accounted(q);
		gpu->busy_ns += q->busy_ns;
		gpu->last_end_ns = max_u64(gpu->last_end_ns, q->last_end_ns);
	}
}
