// SPDX-License-Identifier: MIT
/*
 * A drain by itself: what it stores of a recorder, whatever its size.
 */
#include <stdlib.h>
#include <sqlite3.h>
#include <unistd.h>

#include "collectord/recorder/drain.h"
#include "collectord/ingest/process/process.h"
#include "collectord/db/rows/writer.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "tests/unit/collectord/store/harness.h"
#include "tests/unit/collectord/store/recorder.h"

#define SLOTS 20480u

struct bench {
	struct msg_arena arena;
	struct writer *writer;
	struct process *process;
};

static void bench_open(struct bench *b, struct harness *h)
{
	Rtl__Frame *frame;
	size_t count;
	uint8_t *hello = peer_hello(7, 0, &count);

	harness_open(h);
	harness_close(h);
	msg_arena_init(&b->arena, ARENA_BYTES_MAX);
	assert_int_equal(writer_open(h->path, &b->arena, NULL, &b->writer), 0);
	assert_int_equal(writer_begin(b->writer), 0);
	assert_int_equal(msg_unpack(&b->arena, hello, count, &frame), 0);
	assert_int_equal(
		process_open(b->writer, 1, frame->hello, getuid(), 1007, 4242, &b->process), 0);
	assert_int_equal(writer_commit(b->writer), 0);
	free(hello);
}

static void bench_close(struct bench *b)
{
	process_free(b->process);
	writer_free(b->writer);
	msg_arena_done(&b->arena);
}

/* To its end, not committed. @fd is closed. */
static void drain_all(struct bench *b, int fd, bool is_alive)
{
	assert_int_equal(writer_begin(b->writer), 0);
	assert_int_equal(drain_recorder(b->writer, b->process, fd, is_alive), 0);
	assert_true(b->process->is_drained);
	close(fd);
}

static void commit(struct bench *b)
{
	assert_int_equal(process_save(b->process, b->writer, true), 0);
	assert_int_equal(writer_commit(b->writer), 0);
}

STORE_CASE(what_was_rolled_back_is_drained_again)
{
	struct hand_recorder *r = hand_recorder_new(7);
	int fd = hand_recorder_memfd_slots(r, SLOTS);
	struct bench b;

	free(r);
	bench_open(&b, h);
	drain_all(&b, dup(fd), false);
	assert_int_equal(writer_rollback(b.writer), 0);
	assert_int_equal(process_reload(b.process, b.writer), 0);
	drain_all(&b, fd, false);
	commit(&b);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", SLOTS);
	bench_close(&b);
}

/* All that a living process may have in flight is copied before anything of it is stored. */
STORE_CASE(slots_of_a_live_process_are_copied)
{
	struct hand_recorder *r = hand_recorder_new(7);
	struct recorder_slot *slots = calloc(RECORDER_SLOTS, sizeof(*slots));
	struct bench b;
	int fd;

	assert_non_null(slots);
	hand_recorder_slot(r, 0, SLOT_SUBMITTED, 10, 0);
	hand_recorder_slot(r, 1, SLOT_DONE, 11, 0);
	slots[5] = slots[7] = r->slot[0]; /* a dispatch has one */
	slots[RECORDER_SLOTS - 1] = r->slot[1];
	r->header.slots_used = RECORDER_SLOTS;
	r->queue[0].producer[RTL_Q_dispatched] = 12;
	fd = hand_recorder_memfd_with(r, &r->header.slots, slots, RECORDER_SLOTS, sizeof(slots[0]));
	free(slots);
	free(r);
	bench_open(&b, h);
	drain_all(&b, fd, true);
	commit(&b);
	assert_number(h->path, "SELECT count(*) FROM rtl_outstanding", 1);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 1);
	assert_number(h->path, "SELECT count FROM rtl_loss WHERE reason = 'corrupt_slot'", 1);
	bench_close(&b);
}

/* Frame 2 is whole, and was not published when its process was looked at; what it names is unknown.
 */
static int64_t drain_two_frames(struct harness *h, bool is_alive, int64_t *ret_corrupt)
{
	struct hand_recorder *r = hand_recorder_new(7);
	struct frames f = {0};
	struct bench b;
	int64_t rows;
	int fd;

	peer_add_dispatches(&f, 1, 1, 0, 4);
	hand_recorder_cell(r, 1, &f, 4);
	peer_add_dispatches(&f, 2, 99, 4, 3);
	hand_recorder_cell(r, 2, &f, 3);
	r->header.published = 1;
	for (unsigned i = 0; i < 3; i++)
		hand_recorder_slot(r, i, SLOT_SUBMITTED, 4 + i, 0);
	r->queue[0].producer[RTL_Q_dispatched] = 7;
	fd = hand_recorder_memfd(r);
	free(r);
	bench_open(&b, h);
	drain_all(&b, fd, is_alive);
	commit(&b);
	rows = sql_number(h->path, "SELECT count(*) FROM rocpd_op");
	assert_number(h->path, "SELECT count(*) FROM rtl_outstanding", 3);
	*ret_corrupt = sql_number(h->path,
		"SELECT coalesce(sum(count), 0) FROM rtl_loss WHERE reason LIKE 'corrupt%'");
	bench_close(&b);
	return rows;
}

STORE_CASE(what_is_published_meanwhile_is_in_flight)
{
	int64_t corrupt;

	assert_int_equal(drain_two_frames(h, true, &corrupt), 4);
	assert_int_equal(corrupt, 0);
}

/* Nothing comes later there: a frame that cannot be read is said to be one. */
STORE_CASE(what_the_dead_did_not_publish_is_looked_at)
{
	int64_t corrupt;

	assert_int_equal(drain_two_frames(h, false, &corrupt), 4);
	assert_int_equal(corrupt, 1);
}

static struct recorder_call call_at(uint64_t position)
{
	return (struct recorder_call){
		.event.turn = position - position % RECORDER_CALLS_SPARE + 1,
		.id = 1 + position,
		.api = 1,
		.kind = RECORDER_CALL_HOST,
		.start_ns = PEER_ZERO_NS,
		.end_ns = PEER_ZERO_NS + 10,
	};
}

/* Oldest first, wherever they lie. */
static const uint64_t position[] = {RECORDER_CALLS_SPARE / 2, RECORDER_CALLS_SPARE - 1,
	RECORDER_CALLS_SPARE + 3, RECORDER_CALLS_SPARE + 4,
	RECORDER_CALLS_SPARE + RECORDER_CALLS_SPARE / 2 - 1};

static void check_ring(struct harness *h, bool is_alive)
{
	struct hand_recorder *r = hand_recorder_new(7);
	struct recorder_call *calls = calloc(RECORDER_CALLS_SPARE, sizeof(*calls));
	struct bench b;
	int fd;

	assert_non_null(calls);
	for (unsigned i = 0; i < sizeof(position) / sizeof(position[0]); i++)
		calls[position[i] % RECORDER_CALLS_SPARE] = call_at(position[i]);
	r->header.spare_calls_used = RECORDER_CALLS_SPARE;
	fd = hand_recorder_memfd_with(
		r, &r->header.spare_calls, calls, RECORDER_CALLS_SPARE, sizeof(calls[0]));
	free(calls);
	free(r);
	bench_open(&b, h);
	drain_all(&b, fd, is_alive);
	commit(&b);
	assert_text(h->path,
		"SELECT group_concat(id & 0xffffff) FROM "
		"(SELECT id FROM rtl_call_base ORDER BY rowid)",
		"57345,114688,114692,114693,172032");
	bench_close(&b);
}

STORE_CASE(a_ring_is_read_oldest_first)
{
	check_ring(h, false);
}

STORE_CASE(a_ring_of_a_live_process_is_read_oldest_first)
{
	check_ring(h, true);
}

static void fill_queue(struct recorder_queue *queue)
{
	queue->in_use = 1;
	for (unsigned i = 0; i < RTL_Q_PRODUCER_COUNT; i++)
		queue->producer[i] = 1;
	for (unsigned i = RTL_Q_HARVESTER_FIRST; i < RTL_Q_COUNT; i++)
		queue->harvester[i - RTL_Q_HARVESTER_FIRST] = 1;
	queue->producer[RTL_Q_dispatched] = 100;
}

STORE_CASE(books_of_all_queues_are_saved)
{
	struct hand_recorder *r = hand_recorder_new(7);
	struct recorder_queue *queues = calloc(RECORDER_QUEUES, sizeof(*queues));
	struct bench b;
	int fd;

	assert_non_null(queues);
	for (unsigned q = 0; q < RECORDER_QUEUES; q++)
		fill_queue(&queues[q]);
	r->header.queues_used = RECORDER_QUEUES;
	fd = hand_recorder_memfd_with(
		r, &r->header.queues, queues, RECORDER_QUEUES, sizeof(queues[0]));
	free(queues);
	free(r);
	bench_open(&b, h);
	drain_all(&b, fd, false);
	commit(&b);
	assert_int_equal(sql_number(h->path, "SELECT sum(dispatched = 100 AND dropped = 1 AND "
					     "torn + skipped = 99) FROM rtl_account"),
		RECORDER_QUEUES);
	assert_number(h->path, "SELECT sum(count) FROM rtl_loss_interval",
		sql_number(h->path, "SELECT sum(count) FROM rtl_loss"));
	bench_close(&b);
}
