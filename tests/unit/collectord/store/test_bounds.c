// SPDX-License-Identifier: MIT
/*
 * Where one process or one file could harm others: figures that no sum holds, a database that
 * cannot be written while the queue is full, a session that comes back while it is closed.
 */
#include <malloc.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/db/rows/writer.h"
#include "proto/names/control.h"
#include "proto/base/limits.h"
#include "tests/unit/collectord/store/harness.h"
#include "tests/unit/collectord/store/recorder.h"

#define FULL_PROCESSES (STORE_QUEUE_BYTES_MAX / STORE_QUEUE_PROCESS_BYTES_MAX + 1)
#define FIGURE_MAX     (INT64_MAX - 1)

/* The next answer, of any kind. */
static void next_answer(struct harness *h)
{
	struct pollfd poller = {.fd = store_answer_fd(h->store), .events = POLLIN};

	store_answer_done(&h->answer);
	while (!store_next_answer(h->store, &h->answer)) {
		memset(&h->answer, 0, sizeof(h->answer));
		assert_int_equal(poll(&poller, 1, HARNESS_WAIT_MS), 1);
	}
}

/* Waits for @kind of @owner (NULL: any); returns the number of @counted answers on the way. */
static unsigned wait_counting(struct harness *h, enum store_answer_kind kind, const void *owner,
	enum store_answer_kind counted)
{
	unsigned n = 0;

	do {
		next_answer(h);
		n += h->answer.kind == counted;
	} while (h->answer.kind != kind || (owner && h->answer.owner != owner));
	return n;
}

static sqlite3 *lock(const char *path)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	return db;
}

STORE_CASE(figures_beyond_any_sum)
{
	struct frames f = {0};

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, FIGURE_MAX, 1);
	peer_add_dispatches(&f, 2, 2, FIGURE_MAX, 1);
	harness_send(h, &f);
	harness_wait_commit(h, 2);
	/* Fails on DEGRADED: the session closes, and at the first try. */
	harness_close(h);
	assert_false(h->answer.complete);
	assert_number(h->path, "SELECT count(*) FROM rtl_session WHERE end_ns IS NOT NULL", 1);
}

static void fill_queue(struct harness *h)
{
	struct frames f = {0};
	size_t count;
	uint8_t *bytes, *copy;

	/* The same frame again and again: only the first is more than a duplicate. */
	peer_add_defines(&f);
	while (f.count < STORE_QUEUE_PROCESS_BYTES_MAX)
		peer_add_dispatches(&f, 1, 1, 0, FRAME_RECORDS_MAX);
	bytes = frames_take(&f, &count);
	for (unsigned i = 0; i < FULL_PROCESSES; i++) {
		size_t hello_count;
		uint8_t *hello = peer_hello((uint8_t)(10 + i), 0, &hello_count);
		struct store_process *process;

		assert_int_equal(store_process_open(h->session, hello, hello_count, getuid(),
					 100 + (int)i, 4242, h, &process),
			0);
		copy = malloc(count);
		assert_non_null(copy);
		memcpy(copy, bytes, count);
		assert_int_equal(store_process_frames(process, copy, count), 1);
	}
	free(bytes);
}

STORE_CASE(a_flood_of_many_processes_fills_the_queue)
{
	const size_t each = STORE_QUEUE_PROCESS_BYTES_MAX - 4096;
	struct store_process *process;
	unsigned taken = 0;
	size_t count;
	uint8_t *bytes;
	sqlite3 *db;

	harness_open_session(h, STORE_NEW);
	db = lock(h->path);
	do {
		bytes = peer_hello((uint8_t)(10 + taken), 0, &count);
		assert_int_equal(store_process_open(h->session, bytes, count, getuid(),
					 100 + (int)taken, 4242, h, &process),
			0);
		taken++;
	} while (!store_process_frames(process, calloc(1, each), each));
	assert_in_range(taken * each, STORE_QUEUE_BYTES_MAX, STORE_QUEUE_BYTES_MAX + each);
	assert_int_equal(store_process_room(process), 0);
	sqlite3_close(db);
}

/* The owner of a handle frees it with the last answer. */
STORE_CASE(last_answer_is_the_last)
{
	struct store_session_params params = {
		.name = "other", .uid = getuid(), .create = STORE_NEW};
	struct store_session *session;
	struct store_process *process;
	struct frames f = {0};
	char path[112], other;
	size_t count;
	uint8_t *bytes;
	sqlite3 *db;

	harness_open_session(h, STORE_NEW);
	db = lock(h->path);
	fill_queue(h);
	snprintf(path, sizeof(path), "%s/other.db", h->dir);
	params.path = path;
	assert_int_equal(store_session_open(h->store, &params, &other, &session), 0);
	bytes = peer_hello(1, 0, &count);
	assert_int_equal(
		store_process_open(session, bytes, count, getuid(), 1001, 4242, &other, &process),
		0);
	peer_add_bye(&f);
	bytes = frames_take(&f, &count);
	assert_int_equal(store_process_frames(process, bytes, count), 1);
	assert_int_equal(store_process_end(process, -1, STORE_ENDED_EXITED, 0), 0);
	wait_counting(h, STORE_PROCESS_ENDED, &other, STORE_ROOM);
	assert_int_equal(store_session_close(session, 0), 0);
	wait_counting(h, STORE_CLOSED, &other, STORE_ROOM);
	sqlite3_close(db);
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, NULL), 0);
	do {
		next_answer(h);
		assert_ptr_not_equal(h->answer.owner, &other);
	} while (h->answer.kind != STORE_RECOVERED);
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, h), 0);
	do {
		next_answer(h);
		assert_ptr_not_equal(h->answer.owner, &other);
	} while (h->answer.kind != STORE_FLUSHED || h->answer.owner != h);
}

STORE_CASE(trouble_ends_before_the_session)
{
	sqlite3 *db;

	harness_open(h);
	db = lock(h->path);
	assert_int_equal(store_process_end(h->process, -1, STORE_ENDED_EXITED, 0), 0);
	wait_counting(h, STORE_DEGRADED, NULL, STORE_DEGRADED);
	sqlite3_close(db);
	assert_int_equal(store_session_close(h->session, 0), 0);
	assert_int_equal(wait_counting(h, STORE_CLOSED, NULL, STORE_RECOVERED), 1);
}

/* A latecomer's session is open, whatever of its predecessor was still to be done. */
STORE_CASE(opened_behind_a_close)
{
	struct store_session_params params = {
		.name = "job", .job = "job-1", .uid = getuid(), .create = STORE_RESUME};
	struct store_session *again;
	struct frames f = {0};
	char second;

	harness_open(h);
	params.path = h->path;
	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	for (uint64_t n = 1; n <= 200; n++)
		peer_add_dispatches(&f, n, 1, (n - 1) * 500, 500);
	peer_add_bye(&f);
	harness_send(h, &f);
	assert_int_equal(store_process_end(h->process, -1, STORE_ENDED_EXITED, 0), 0);
	/* Both while the thread is at work, so that they are found together. */
	assert_int_equal(store_session_close(h->session, 0), 0);
	assert_int_equal(store_session_open(h->store, &params, &second, &again), 0);
	wait_counting(h, STORE_OPENED, &second, STORE_ROOM);
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, h), 0);
	wait_counting(h, STORE_FLUSHED, h, STORE_ROOM);
	assert_number(h->path, "SELECT count(*) FROM rtl_session WHERE end_ns IS NULL", 1);
	assert_int_equal(store_session_close(again, 0), 0);
	wait_counting(h, STORE_CLOSED, &second, STORE_ROOM);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 100000);
}

STORE_CASE(cells_at_odd_places)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	r->header.cells.stride = sizeof(struct recorder_cell) + 1;
	r->queue[0].producer[RTL_Q_dispatched] = 5;
	assert_int_equal(
		store_process_end(h->process, hand_recorder_memfd(r), STORE_ENDED_KILLED, -1), 0);
	free(r);
	harness_wait(h, STORE_PROCESS_ENDED);
	assert_number(h->path, "SELECT count(*) FROM rtl_loss WHERE reason = 'bad_recorder'", 1);
}

/* Thousands of processes may come and go in a session. */
STORE_CASE(the_ended_take_no_memory)
{
	struct intern_shape_key key = {.process_id = 1, .kernel_id = 1};
	struct msg_arena arena;
	struct writer *writer;
	int64_t first, second;

	harness_open(h);
	harness_close(h);
	msg_arena_init(&arena, ARENA_BYTES_MAX);
	assert_int_equal(writer_open(h->path, &arena, NULL, &writer), 0);
	assert_int_equal(intern_put_shape(&writer->intern, &key, &first), 0);
	/* The caller has the id. */
	assert_null(writer->intern.processes);
	assert_int_equal(intern_keep_shape(&writer->intern, &key, first), 0);
	key.process_id = 2;
	assert_int_equal(intern_put_shape(&writer->intern, &key, &second), 0);
	assert_int_equal(intern_keep_shape(&writer->intern, &key, second), 0);
	intern_forget_process(&writer->intern, 2);
	key.process_id = 1;
	assert_int_equal(intern_put_shape(&writer->intern, &key, &second), 0);
	assert_int_equal(first, second);
	intern_forget_process(&writer->intern, 1);
	assert_null(writer->intern.processes);
	/* Process 1 has ended in the file. */
	assert_int_equal(intern_load(&writer->intern), 0);
	assert_null(writer->intern.processes);
	writer_free(writer);
	msg_arena_done(&arena);
}

/* @n intervals of a microsecond each, from number @first on. */
static void send_recordings(struct harness *h, uint64_t first, uint32_t n)
{
	static Rtl__RecordingDef changes[2 * FRAME_RECORDS_MAX];
	static Rtl__RecordingDef *list[2 * FRAME_RECORDS_MAX];
	Rtl__Frame frame = RTL__FRAME__INIT;
	Rtl__Defines defines = RTL__DEFINES__INIT;
	struct frames f = {0};

	for (uint32_t i = 0; i < 2 * n; i++) {
		rtl__recording_def__init(&changes[i]);
		changes[i].has_at_ns = changes[i].has_is_recording = changes[i].has_why = 1;
		changes[i].at_ns = PEER_ZERO_NS + first * 2000 + i * 1000;
		changes[i].is_recording = i % 2 == 0;
		changes[i].why = CONTROL_WHY_STEPS;
		list[i] = &changes[i];
	}
	defines.recordings = list;
	defines.n_recordings = 2 * n;
	frame.body_case = RTL__FRAME__BODY_DEFINES;
	frame.defines = &defines;
	frames_add(&f, &frame);
	harness_send(h, &f);
}

/* What comes again with each connection is no further interval; one too many ends the connection.
 */
STORE_CASE(recordings_beyond_their_number)
{
	harness_open(h);
	for (int connection = 0; connection < 2; connection++)
		for (uint32_t i = 0; i < RECORDINGS_MAX; i += FRAME_RECORDS_MAX)
			send_recordings(h, i, FRAME_RECORDS_MAX);
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, h), 0);
	harness_wait(h, STORE_FLUSHED);
	assert_number(h->path, "SELECT count(*) FROM rtl_recording WHERE to_ns = from_ns + 1000",
		RECORDINGS_MAX);
	send_recordings(h, RECORDINGS_MAX, 1);
	harness_wait(h, STORE_BAD_FRAME);
	harness_close(h);
	assert_number(h->path, "SELECT count(*) FROM rtl_recording", RECORDINGS_MAX);
}

#define TEXT_BYTES 6000
#define TEXTS	   2000u

/* Told again and again while the file cannot be written: one is in line, and the last one counts.
 */
STORE_CASE(texts_do_not_pile_up)
{
	size_t before;
	sqlite3 *db;
	char *text;

	harness_open(h);
	db = lock(h->path);
	assert_int_equal(store_process_end(h->process, -1, STORE_ENDED_EXITED, 0), 0);
	wait_counting(h, STORE_DEGRADED, NULL, STORE_DEGRADED);
	before = mallinfo2().uordblks;
	for (unsigned i = 0; i < TEXTS; i++) {
		assert_true(asprintf(&text, "%*u", TEXT_BYTES, i) > 0);
		assert_int_equal(store_session_controls(h->session, text), 0);
		free(text);
		/* Heard of when it is in line. */
		if (i % 100 == 0) {
			assert_int_equal(store_flush(h->store, STORE_EVERYBODY, &db), 0);
			wait_counting(h, STORE_FLUSHED, &db, STORE_FLUSHED);
		}
	}
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, &db), 0);
	wait_counting(h, STORE_FLUSHED, &db, STORE_FLUSHED);
	assert_true(mallinfo2().uordblks < before + 100 * TEXT_BYTES);
	sqlite3_close(db);
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, h), 0);
	wait_counting(h, STORE_RECOVERED, NULL, STORE_RECOVERED);
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, &db), 0);
	wait_counting(h, STORE_FLUSHED, &db, STORE_FLUSHED);
	assert_number(h->path,
		"SELECT count(*) FROM rtl_meta WHERE key GLOB 'controls*' AND value GLOB '* 1999'",
		1);
}

/* Frames of a few bytes each take what their commands do. */
STORE_CASE(tiny_frames_fill_the_queue)
{
	unsigned taken = 1;
	sqlite3 *db;

	harness_open(h);
	db = lock(h->path);
	while (!store_process_frames(h->process, calloc(1, 8), 8))
		taken++;
	assert_in_range(taken, 1, STORE_QUEUE_PROCESS_BYTES_MAX / 100);
	sqlite3_close(db);
}

#define PROCESSES     64u
#define PROCESS_BYTES (32u << 10)

static size_t heap_bytes(void)
{
	struct mallinfo2 heap = mallinfo2();

	return heap.uordblks + heap.hblkhd;
}

/* A node has a thousand of them, and each of them the GPU that it sees. */
STORE_CASE(a_process_takes_what_its_gpus_do)
{
	size_t before, each;

	harness_open(h);
	before = heap_bytes();
	for (unsigned i = 0; i < PROCESSES; i++)
		harness_open_process(h, (uint8_t)(2 + i), -1);
	each = (heap_bytes() - before) / PROCESSES;
	if (each > PROCESS_BYTES)
		fail_msg("%zu bytes for each process", each);
}
