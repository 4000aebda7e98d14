/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/ingest/ledger_private.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

/*
 * Memory for a queue and for all of its loss entries. All of it is charged at once, because the
 * report of a loss must never be refused.
 */
static size_t queue_bytes(void)
{
	unsigned reasons = LEDGER_QUEUE_LOSSES + RTL_UNTIMED_COUNT + 1; /* and "torn" */

	for (unsigned i = 0; i < RTL_Q_COUNT; i++)
		reasons += ledger_is_drop(rtl_queue_counter_name[i]);
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

bool ledger_is_drop(const char *counter)
{
	return !strncmp(counter, "dropped_", 8);
}

/*
 * True for a counter of the process that means a loss: host records that were dropped, queues and
 * libraries that were not watched, and what did not fit in its define log.
 */
static bool is_loss(enum rtl_process_counter counter)
{
	return ledger_is_drop(rtl_process_counter_name[counter]) || counter == RTL_P_queues_coop ||
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
		if (ledger_is_drop(rtl_queue_counter_name[i]))
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
		if (ledger_is_drop(rtl_queue_counter_name[i]))
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

static void befall(struct ledger_befallen *befallen, uint64_t seq, uint64_t submit_ns)
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
	befall(&queue->untimed_by[why], seq, submit_ns);
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
	befall(&queue->over_quota, seq, submit_ns);
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
