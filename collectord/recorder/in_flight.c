/* SPDX-License-Identifier: MIT */
#include "collectord/recorder/in_flight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/db/database.h"
#include "collectord/recorder/counters.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

struct scan {
	struct writer *writer;
	struct process *process;
	struct recorder_reader reader;
	struct recorder_queue *queues;
	uint64_t queue_count;
	bool *is_chosen;	     /* by queue: its slots are examined */
	struct recorder_slot *slots; /* slots in flight, of those queues */
	size_t slot_count;
	uint64_t taken_ns;
	bool has_new_defines; /* the definitions were read for this scan */
};

static void scan_done(struct scan *scan)
{
	free(scan->queues);
	free(scan->is_chosen);
	free(scan->slots);
}

void in_flight_init(struct in_flight *watch, int memfd)
{
	in_flight_done(watch);
	/* An earlier run of the collector may have left rows. */
	*watch = (struct in_flight){.memfd = memfd, .may_have_rows = true};
}

void in_flight_done(struct in_flight *watch)
{
	if (watch->memfd >= 0)
		close(watch->memfd);
	free(watch->finished);
	*watch = (struct in_flight){.memfd = -1};
}

/* ---- which queues -------------------------------------------------------------------------- */

static uint64_t sum(const _Atomic uint64_t *value, unsigned count)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < count; i++)
		all += value[i];
	return all;
}

/* Sums up all counters that the harvester of the shim writes. */
static uint64_t finished(const struct recorder_queue *queue)
{
	return sum(queue->harvester, RTL_Q_COUNT - RTL_Q_HARVESTER_FIRST);
}

/* May be true without need: a dispatch that has ended may be counted under two names, so only one
 * of these is subtracted. */
static bool may_wait(const struct recorder_queue *queue)
{
	uint64_t gone =
		queue->producer[RTL_Q_skipped_shutdown] + queue->producer[RTL_Q_skipped_filter] +
		queue->producer[RTL_Q_skipped_coop] + queue->producer[RTL_Q_skipped_no_queue_info] +
		queue->producer[RTL_Q_dropped_recorder_full] +
		queue->harvester[RTL_Q_recorded - RTL_Q_HARVESTER_FIRST];

	return queue->producer[RTL_Q_dispatched] > gone;
}

/* 1: some queue is examined; 0: none is; -ENOMEM. */
static int choose_queues(struct scan *scan, struct in_flight *watch, bool is_asked)
{
	uint64_t *now = calloc(scan->queue_count + 1, sizeof(*now));
	int is_any = 0;

	scan->is_chosen = calloc(scan->queue_count + 1, sizeof(*scan->is_chosen));
	if (!now || !scan->is_chosen) {
		free(now);
		return -ENOMEM;
	}
	for (uint64_t q = 0; q < scan->queue_count; q++) {
		const struct recorder_queue *queue = &scan->queues[q];
		bool is_stuck;

		now[q] = finished(queue);
		is_stuck = q < watch->queues && watch->finished[q] == now[q];
		scan->is_chosen[q] = may_wait(queue) && (is_stuck || is_asked) &&
				     queue->gpu < scan->process->gpus;
		is_any |= scan->is_chosen[q];
	}
	free(watch->finished);
	watch->finished = now;
	watch->queues = scan->queue_count;
	return is_any;
}

/* ---- their slots ----------------------------------------------------------------------------- */

static bool is_waiting(const struct scan *scan, const struct recorder_slot *slot)
{
	return slot->state == SLOT_SUBMITTED && slot->queue < scan->queue_count &&
	       scan->is_chosen[slot->queue] && slot->seq < INT64_MAX && slot->marker <= INT64_MAX;
}

static int keep(struct scan *scan, size_t *room, const struct recorder_slot *slot)
{
	if (scan->slot_count == *room) {
		size_t more = *room ? *room * 2 : 64;
		struct recorder_slot *grown = reallocarray(scan->slots, more, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		scan->slots = grown;
		*room = more;
	}
	memcpy(&scan->slots[scan->slot_count++], slot, sizeof(*slot));
	return 0;
}

/* Reads the slots twice: one that is equal in both readings was not written in between, nor half
 * copied. */
static int read_slots(struct scan *scan)
{
	const struct recorder_header *h = &scan->reader.header;
	CLEANUP(free_p)
	struct recorder_slot *first = calloc(2 * RECORDER_SLOT_CHUNK, sizeof(*first));
	struct recorder_slot *second;
	size_t room = 0;
	int r = first ? 0 : -ENOMEM;

	second = first + RECORDER_SLOT_CHUNK;
	for (uint64_t at = 0; r == 0 && at < h->slots_used; at += RECORDER_SLOT_CHUNK) {
		uint64_t n = h->slots_used - at;

		if (n > RECORDER_SLOT_CHUNK)
			n = RECORDER_SLOT_CHUNK;
		r = recorder_reader_get(&scan->reader, &h->slots, at, n, first);
		if (r == 0)
			r = recorder_reader_get(&scan->reader, &h->slots, at, n, second);
		for (uint64_t i = 0; r == 0 && i < n; i++)
			if (is_waiting(scan, &first[i]) &&
				!memcmp(&first[i], &second[i], sizeof(first[i])))
				r = keep(scan, &room, &first[i]);
	}
	return r;
}

static int compare_slots(const void *a, const void *b)
{
	const struct recorder_slot *x = a, *y = b;

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* Finds the row of the kernel. The shim sends the definition of a symbol only with a record that
 * uses it, and a kernel that hangs has no record yet: then the definitions are read from the
 * recorder. */
static int find_kernel(struct scan *scan, const struct recorder_slot *slot, int64_t *ret_id)
{
	const struct defines *defines = &scan->process->defines;
	bool is_known = !slot->symbol || (slot->symbol < defines->symbol_count &&
						 defines->symbols[slot->symbol].is_defined);
	int r = 0;

	if (!is_known && !scan->has_new_defines) {
		scan->has_new_defines = true;
		r = recorder_books_defines(scan->writer, scan->process, &scan->reader);
	}
	/* A kernel that has no definition because its user has no memory for it stays unnamed. */
	if (r < 0 && r != -EBADMSG && r != -EDQUOT)
		return r;
	/* Until a slot is DONE, one without a symbol holds its kernel object in start_tick. */
	return defines_kernel_row(&scan->process->defines, &scan->writer->intern, slot->symbol,
		slot->symbol ? 0 : slot->start_tick, ret_id);
}

static int put_slot(struct scan *scan, const struct recorder_slot *slot, uint64_t behind)
{
	sqlite3_stmt *put = scan->writer->statements.at[ST_IN_FLIGHT_PUT];
	uint64_t call =
		recorder_call_id(slot->call, scan->reader.header.process[RTL_P_calls_begun]);
	int64_t kernel_id;
	int r = find_kernel(scan, slot, &kernel_id);

	if (r < 0)
		return r;
	sqlite3_bind_int64(put, 1, scan->process->id);
	sqlite3_bind_int64(put, 2, slot->queue);
	sqlite3_bind_int64(put, 3, (int64_t)slot->seq);
	sqlite3_bind_int64(put, 4, scan->process->gpu_id[scan->queues[slot->queue].gpu]);
	sqlite3_bind_int64(put, 5, kernel_id);
	database_bind_optional(
		put, 6, slot->submit_ns && slot->submit_ns <= INT64_MAX, (int64_t)slot->submit_ns);
	database_bind_optional(put, 7, slot->tid, slot->tid);
	database_bind_optional(put, 8, slot->marker, (int64_t)slot->marker);
	database_bind_optional(put, 9, call && call <= PROCESS_CALL_MAX, (int64_t)call);
	sqlite3_bind_int64(put, 10, (int64_t)behind);
	sqlite3_bind_int64(put, 11, (int64_t)scan->taken_ns);
	return database_run(put);
}

/* The most rows of one queue. The slots are sorted by queue. */
static size_t rows_of_each(const struct scan *scan)
{
	size_t queues = 1, rows;

	for (size_t i = 1; i < scan->slot_count; i++)
		queues += scan->slots[i].queue != scan->slots[i - 1].queue;
	rows = IN_FLIGHT_PROCESS_ROWS_MAX / queues;
	return rows < IN_FLIGHT_ROWS_MAX ? rows : IN_FLIGHT_ROWS_MAX;
}

static int put_slots(struct scan *scan)
{
	size_t begin = 0, end, most;
	int r = 0;

	if (scan->slot_count)
		qsort(scan->slots, scan->slot_count, sizeof(*scan->slots), compare_slots);
	most = rows_of_each(scan);
	for (; r == 0 && begin < scan->slot_count; begin = end) {
		for (end = begin; end < scan->slot_count &&
				  scan->slots[end].queue == scan->slots[begin].queue;)
			end++;
		for (size_t i = begin; r == 0 && i < end && i - begin < most; i++)
			r = put_slot(scan, &scan->slots[i], end - 1 - i);
	}
	return r;
}

int in_flight_forget(struct writer *writer, int64_t process_id)
{
	sqlite3_stmt *drop = writer->statements.at[ST_IN_FLIGHT_DROP];

	sqlite3_bind_int64(drop, 1, process_id);
	return database_run(drop);
}

/* ---- the whole scan ------------------------------------------------------------------------ */

static int scan_slots(struct scan *scan, struct in_flight *watch, bool is_asked)
{
	int r = recorder_books_read(&scan->reader, &scan->reader.header.queues,
		scan->reader.header.queues_used, &scan->queues);
	int is_any;

	if (r < 0)
		return r;
	scan->queue_count = scan->reader.header.queues_used;
	is_any = choose_queues(scan, watch, is_asked);
	if (is_any < 0 || (!is_any && !watch->may_have_rows))
		return is_any;
	if (is_any) {
		r = recorder_books_counters(scan->process, &scan->reader, scan->queues,
			scan->queue_count, scan->taken_ns);
		if (r == 0)
			r = read_slots(scan);
	}
	if (r == 0)
		r = writer_begin(scan->writer);
	if (r == 0)
		r = in_flight_forget(scan->writer, scan->process->id);
	if (r == 0)
		r = put_slots(scan);
	if (r < 0)
		return r;
	scan->process->is_dirty = true;
	watch->may_have_rows = scan->slot_count > 0;
	return 1;
}

int in_flight_look(
	struct in_flight *watch, struct writer *writer, struct process *process, bool is_asked)
{
	struct scan scan = {.writer = writer, .process = process, .taken_ns = clock_boottime_ns()};
	int r;

	if (watch->memfd < 0)
		return 0;
	r = recorder_reader_open(&scan.reader, watch->memfd, process->boot_id, process->token);
	if (r == 0)
		r = scan_slots(&scan, watch, is_asked);
	scan_done(&scan);
	return r == -ENODATA || r == -EBADMSG ? 0 : r;
}
