// SPDX-License-Identifier: MIT
/*
 * One thread stores for all databases: how much it does for one of them before the turn of another
 * one comes. Counted in records and by the order of answers, not in time.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/store/thread/thread.h"
#include "proto/base/limits.h"
#include "tests/unit/collectord/store/harness.h"
#include "tests/unit/collectord/store/recorder.h"

#define SLOTS 20480u

/* ---- between databases ------------------------------------------------------------------------
 */

/* A session with one process, in a file of its own. */
struct tenant {
	struct store_session *session;
	struct store_process *process;
	char path[112];
};

/* Takes the next answer: its kind, and the owner that it is for. */
static enum store_answer_kind next_kind(struct harness *h, const void **ret_owner)
{
	struct pollfd poller = {.fd = store_answer_fd(h->store), .events = POLLIN};
	struct store_answer answer;

	while (!store_next_answer(h->store, &answer))
		assert_int_equal(poll(&poller, 1, HARNESS_WAIT_MS), 1);
	*ret_owner = answer.owner;
	store_answer_done(&answer);
	return answer.kind;
}

static void wait_kind(struct harness *h, const void *owner, enum store_answer_kind kind)
{
	const void *got;

	while (next_kind(h, &got) != kind || got != owner)
		;
}

static void tenant_open(struct harness *h, struct tenant *t, unsigned number, uid_t uid)
{
	struct store_session_params params = {
		.name = "job", .uid = uid, .create = STORE_NEW, .path = t->path};
	size_t count;
	uint8_t *hello = peer_hello((uint8_t)(10 + number), 0, &count);

	snprintf(t->path, sizeof(t->path), "%s/%u.db", h->dir, number);
	assert_int_equal(store_session_open(h->store, &params, t, &t->session), 0);
	wait_kind(h, t, STORE_OPENED);
	assert_int_equal(store_process_open(t->session, hello, count, uid, 100 + (int)number, 4242,
				 t, &t->process),
		0);
	wait_kind(h, t, STORE_PROCESS_OPENED);
}

/* Into the queue, of which nothing is taken while it is held. */
static void queue(struct harness *h, struct command *command)
{
	assert_non_null(command);
	command_list_add(&h->store->queue, command);
}

static void queue_end(struct harness *h, struct tenant *t, int memfd)
{
	struct command *command = command_new(COMMAND_PROCESS_END, t->session, t->process);

	command->memfd = memfd;
	command->how = STORE_ENDED_KILLED;
	command->exit_status = 137;
	queue(h, command);
}

/* Its bytes. */
static size_t queue_frames(struct harness *h, struct store_process *process, struct frames *frames)
{
	struct command *command = command_new(COMMAND_PROCESS_FRAMES, process->session, process);

	command->bytes = frames_take(frames, &command->count);
	process->queued_bytes += command_bytes(command);
	h->store->queued_bytes += command_bytes(command);
	queue(h, command);
	return command->count;
}

/* Its dispatches are @n, as those of all before it were. */
static size_t queue_number(
	struct harness *h, struct store_process *process, uint64_t number, uint32_t n)
{
	struct frames f = {0};

	if (number == 1)
		peer_add_defines(&f);
	if (number == 1)
		peer_add_anchors(&f, 1000000);
	peer_add_dispatches(&f, number, 1, (number - 1) * n, n);
	return queue_frames(h, process, &f);
}

static void queue_frame(struct harness *h, struct tenant *t)
{
	(void)queue_number(h, t->process, 1, 10);
}

static int recorder_of(unsigned number)
{
	struct hand_recorder *r = hand_recorder_new((uint8_t)(10 + number));
	int fd = hand_recorder_memfd_slots(r, SLOTS);

	free(r);
	return fd;
}

static struct command *command_to_open(
	struct harness *h, struct tenant *t, unsigned number, uid_t uid)
{
	struct store_session_params params = {
		.name = "job", .uid = uid, .create = STORE_NEW, .path = t->path};

	snprintf(t->path, sizeof(t->path), "%s/%u.db", h->dir, number);
	assert_int_equal(store_session_new(h->store, &params, t, &t->session), 0);
	return command_new(COMMAND_SESSION_OPEN, t->session, NULL);
}

/* What came for a session before its file was there is done afterwards, in order. */
STORE_CASE(what_waits_for_a_session_is_done)
{
	struct tenant t;
	size_t count;
	uint8_t *hello = peer_hello(10, 0, &count);
	struct command *open = command_to_open(h, &t, 0, getuid());
	struct frames f = {0};

	assert_int_equal(store_post(h->store, open), 0);
	assert_int_equal(
		store_process_open(t.session, hello, count, getuid(), 100, 4242, &t, &t.process),
		0);
	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	hello = frames_take(&f, &count);
	assert_int_equal(store_process_frames(t.process, hello, count), 0);
	assert_int_equal(store_flush(h->store, getuid(), h), 0);
	wait_kind(h, &t, STORE_OPENED);
	wait_kind(h, &t, STORE_PROCESS_OPENED);
	wait_kind(h, &t, STORE_COMMITTED);
	wait_kind(h, h, STORE_FLUSHED);
	assert_number(t.path, "SELECT count(*) FROM rocpd_op", 10);
}

/* ---- within one file
 * ------------------------------------------------------------------------------- */

static void open_two(struct harness *h, struct tenant *t, struct store_process *ret[2])
{
	size_t count;
	uint8_t *hello = peer_hello(50, 1, &count);

	tenant_open(h, t, 0, getuid());
	ret[0] = t->process;
	assert_int_equal(
		store_process_open(t->session, hello, count, getuid(), 200, 4242, t, &ret[1]), 0);
	wait_kind(h, t, STORE_PROCESS_OPENED);
}

/* Whose dispatch each @n-th row is. */
static const char *order(struct harness *h, const struct tenant *t, uint32_t n)
{
	char sql[256];

	assert_int_equal(store_flush(h->store, getuid(), h), 0);
	wait_kind(h, h, STORE_FLUSHED);
	snprintf(sql, sizeof(sql),
		"SELECT group_concat(process_id, '') FROM (SELECT process_id FROM rtl_dispatch d "
		"JOIN rtl_shape s ON s.id = shape_id WHERE seq %% %u = 0 ORDER BY d.rowid)",
		n);
	return sql_text(t->path, sql);
}

STORE_CASE(frames_of_a_process_are_taken_in_a_row)
{
	struct store_process *process[2];
	struct tenant t;

	open_two(h, &t, process);
	pthread_mutex_lock(&h->store->lock);
	for (unsigned number = 1; number <= 3; number++)
		for (unsigned i = 0; i < 2; i++)
			(void)queue_number(h, process[i], number, 10);
	pthread_cond_signal(&h->store->wake);
	pthread_mutex_unlock(&h->store->lock);
	assert_string_equal(order(h, &t, 10), "111222");
	harness_check_books(t.path);
}

/* Those of the first, but not all of them. */
STORE_CASE(a_process_that_sends_much_lets_others_pass)
{
	struct store_process *process[2];
	size_t bytes = 0;
	struct tenant t;
	const char *all;

	open_two(h, &t, process);
	pthread_mutex_lock(&h->store->lock);
	bytes += queue_number(h, process[0], 1, FRAME_RECORDS_MAX);
	(void)queue_number(h, process[1], 1, FRAME_RECORDS_MAX);
	for (unsigned number = 2; bytes <= 2 * STORE_LOT_BYTES; number++)
		bytes += queue_number(h, process[0], number, FRAME_RECORDS_MAX);
	pthread_cond_signal(&h->store->wake);
	pthread_mutex_unlock(&h->store->lock);
	all = order(h, &t, FRAME_RECORDS_MAX);
	assert_memory_equal(all, "11", 2);
	assert_true(strcspn(all, "2") <= strlen(all) / 2);
	harness_check_books(t.path);
}

/* Frames that it sent before it reconnected stay behind its reopening, whichever frames came
 * between. */
STORE_CASE(frames_stay_behind_the_return_of_their_process)
{
	static const char rubbish[] = {1, 0, 0, 0, (char)0xff};
	struct store_process *process[2];
	struct frames bad = {.bytes = malloc(sizeof(rubbish)), .count = sizeof(rubbish)};
	struct tenant t;

	open_two(h, &t, process);
	memcpy(bad.bytes, rubbish, sizeof(rubbish));
	pthread_mutex_lock(&h->store->lock);
	(void)queue_frames(h, process[0], &bad);
	(void)queue_number(h, process[1], 1, 10);
	queue(h, command_new(COMMAND_PROCESS_REOPEN, t.session, process[0]));
	(void)queue_number(h, process[0], 1, 10);
	pthread_cond_signal(&h->store->wake);
	pthread_mutex_unlock(&h->store->lock);
	wait_kind(h, &t, STORE_BAD_FRAME);
	assert_string_equal(order(h, &t, 10), "21");
	harness_check_books(t.path);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void queue_flush(struct harness *h, uid_t uid, void *owner, bool is_scan_first)
{
	struct command *command = command_new(COMMAND_FLUSH, NULL, NULL);
	struct flush *flush = calloc(1, sizeof(*flush));

	assert_non_null(flush);
	*flush = (struct flush){.store = h->store,
		.owner = owner,
		.uid = uid,
		.is_scan_first = is_scan_first,
		.parts = 1};
	command->flush = flush;
	queue(h, command);
}

STORE_CASE(a_flush_waits_for_its_user_alone)
{
	struct tenant dead, other;
	const void *got;
	char all;

	tenant_open(h, &dead, 0, getuid());
	tenant_open(h, &other, 1, getuid() + 1);
	pthread_mutex_lock(&h->store->lock);
	queue_end(h, &dead, recorder_of(0));
	queue_flush(h, STORE_EVERYBODY, &all, false);
	queue_frame(h, &other);
	queue_flush(h, getuid() + 1, h, false);
	pthread_cond_signal(&h->store->wake);
	pthread_mutex_unlock(&h->store->lock);
	assert_int_equal(next_kind(h, &got), STORE_COMMITTED);
	assert_ptr_equal(got, &other);
	assert_int_equal(next_kind(h, &got), STORE_FLUSHED);
	assert_ptr_equal(got, h);
	assert_int_equal(next_kind(h, &got), STORE_PROCESS_ENDED);
	assert_int_equal(next_kind(h, &got), STORE_FLUSHED);
	assert_ptr_equal(got, &all);
}
