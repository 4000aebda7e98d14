// SPDX-License-Identifier: MIT
/*
 * One thread stores for all: how much of it one user has before another one's turn comes. Counted
 * in records and by the order of answers, not in time.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/drain.h"
#include "collectord/store_private.h"
#include "proto/limits.h"
#include "proto/msg.h"
#include "tests/unit/store/harness.h"
#include "tests/unit/store/recorder.h"

#define SLOTS (20 * DRAIN_SLICE_RECORDS)

/* ---- a drain by itself --------------------------------------------------------------------------
 */

struct bench {
	struct msg_arena arena;
	struct writer *writer;
	struct process *process;
};

static void bench_open(struct bench *b, const char *path)
{
	Rtl__Frame *frame;
	size_t count;
	uint8_t *hello = peer_hello(7, 0, &count);

	msg_arena_init(&b->arena, ARENA_BYTES_MAX);
	assert_int_equal(writer_open(path, &b->arena, NULL, &b->writer), 0);
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

/* A slice of it, in the open transaction. */
static int slice(struct bench *b, struct drain *drain)
{
	uint64_t before = b->writer->rows;
	int r = drain_go_on(drain);

	assert_in_range(r, 0, DRAIN_MORE);
	assert_in_range(b->writer->rows - before, 0, DRAIN_SLICE_RECORDS);
	return r;
}

static void a_slice_is_bounded_and_the_sum_exact(void **state)
{
	struct harness *h = *state;
	struct hand_recorder *r = hand_recorder_new(7);
	int fd = hand_recorder_memfd_slots(r, SLOTS);
	struct drain *drain;
	struct bench b;
	unsigned slices = 0;

	free(r);
	harness_open(h);
	harness_close(h);
	bench_open(&b, h->path);
	/* Half of it, which goes. */
	assert_int_equal(writer_begin(b.writer), 0);
	assert_int_equal(drain_new(b.writer, b.process, fd, false, &drain), 0);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(slice(&b, drain), DRAIN_MORE);
	drain_free(drain);
	assert_int_equal(writer_rollback(b.writer), 0);
	assert_int_equal(process_reload(b.process, b.writer), 0);
	/* All of it. */
	assert_int_equal(writer_begin(b.writer), 0);
	assert_int_equal(drain_new(b.writer, b.process, fd, false, &drain), 0);
	do
		slices++;
	while (slice(&b, drain) == DRAIN_MORE);
	assert_in_range(slices, SLOTS / DRAIN_SLICE_RECORDS, UINT32_MAX);
	drain_free(drain);
	assert_true(b.process->is_drained);
	assert_int_equal(writer_commit(b.writer), 0);
	assert_int_equal(harness_number(h->path, "SELECT count(*) FROM rocpd_op"), SLOTS);
	bench_close(&b);
	close(fd);
}

/* ---- between users
 * -------------------------------------------------------------------------------- */

/* Of a user of its own, in a file of its own. */
struct tenant {
	struct store_session *session;
	struct store_process *process;
	char path[112];
};

/* Of the next answer, and to whom. */
static enum store_answer_kind next_kind(struct harness *h, const void **ret_owner)
{
	struct pollfd poller = {.fd = store_answer_fd(h->store), .events = POLLIN};
	struct store_answer answer;

	while (!store_next_answer(h->store, &answer))
		assert_int_equal(poll(&poller, 1, 60000), 1);
	*ret_owner = answer.owner;
	store_answer_done(&answer);
	return answer.kind;
}

static void wait_kind(struct harness *h, const void *owner, enum store_answer_kind kind)
{
	const void *who;

	while (next_kind(h, &who) != kind || who != owner)
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

static void queue_frame(struct harness *h, struct tenant *t)
{
	struct command *command = command_new(COMMAND_PROCESS_FRAMES, t->session, t->process);
	struct frames f = {0};

	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	command->bytes = frames_take(&f, &command->count);
	t->process->queued_bytes += command->count;
	t->session->user->queued_bytes += command->count;
	h->store->queued_bytes += command->count;
	queue(h, command);
}

static int recorder_of(unsigned number)
{
	struct hand_recorder *r = hand_recorder_new((uint8_t)(10 + number));
	int fd = hand_recorder_memfd_slots(r, SLOTS);

	free(r);
	return fd;
}

/* Whoever has its turn first. */
static void a_drain_lets_others_pass(void **state)
{
	struct harness *h = *state;
	struct tenant dead, before, after;
	const void *who;

	tenant_open(h, &before, 0, getuid() + 1);
	tenant_open(h, &dead, 1, getuid());
	tenant_open(h, &after, 2, getuid() + 2);
	pthread_mutex_lock(&h->store->lock);
	queue_end(h, &dead, recorder_of(1));
	queue_frame(h, &before);
	queue_frame(h, &after);
	pthread_cond_signal(&h->store->wake);
	pthread_mutex_unlock(&h->store->lock);
	assert_int_equal(next_kind(h, &who), STORE_COMMITTED);
	assert_ptr_not_equal(who, &dead);
	assert_int_equal(next_kind(h, &who), STORE_COMMITTED);
	assert_ptr_not_equal(who, &dead);
	assert_int_equal(next_kind(h, &who), STORE_PROCESS_ENDED);
	assert_ptr_equal(who, &dead);
	assert_int_equal(harness_number(dead.path, "SELECT count(*) FROM rocpd_op"), SLOTS);
	harness_check_books(dead.path);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, harness_setup, harness_teardown)
	const struct CMUnitTest tests[] = {
		T(a_slice_is_bounded_and_the_sum_exact),
		T(a_drain_lets_others_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
