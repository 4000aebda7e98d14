// SPDX-License-Identifier: MIT
/*
 * When the store frees what takes a while. The memory of a recorder that rtl run keeps
 * (cli/run/collector/supervisor.c): the store closes it before it tells that the process is over,
 * so that rtl run frees it. The blocks of a log: after the store told that the session is closed.
 * The test is the store's thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/store/thread/thread.h"
#include "tests/unit/collectord/store/hand.h"
#include "tests/unit/collectord/store/harness.h"
#include "tests/unit/collectord/store/recorder.h"

#define DESCRIPTORS_MAX 1024

/* How often the recorder was held when its end was told. */
static ino_t watched;
static size_t held_at_end = SIZE_MAX;

void __real_answer_process(struct store_process *, enum store_answer_kind, int, const char *);
void __wrap_answer_process(struct store_process *, enum store_answer_kind, int, const char *);

void __real_answer_session(struct store_session *, enum store_answer_kind, int, const char *);
void __wrap_answer_session(struct store_session *, enum store_answer_kind, int, const char *);

/* The log of the database, and how often it was held when its end was told. */
static ino_t log_inode;
static size_t log_held_at_end = SIZE_MAX;

static size_t count_descriptors(ino_t inode)
{
	struct stat st;
	size_t n = 0;

	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
		n += fstat(fd, &st) == 0 && st.st_ino == inode;
	return n;
}

void __wrap_answer_session(
	struct store_session *session, enum store_answer_kind kind, int error, const char *text)
{
	if (kind == STORE_CLOSED)
		log_held_at_end = count_descriptors(log_inode);
	__real_answer_session(session, kind, error, text);
}

void __wrap_answer_process(
	struct store_process *process, enum store_answer_kind kind, int error, const char *text)
{
	if (kind == STORE_PROCESS_ENDED)
		held_at_end = count_descriptors(watched);
	__real_answer_process(process, kind, error, text);
}

HAND_CASE(the_store_lets_go_before_it_tells_of_the_end)
{
	struct hand_recorder *r = hand_recorder_new(10);
	struct command *command;
	struct tenant t;
	struct stat st;

	open_tenant(hand, &t, 0, getuid());
	command = command_new(COMMAND_PROCESS_END, t.session, t.process);
	command->memfd = hand_recorder_memfd(r);
	command->how = STORE_ENDED_KILLED;
	command->exit_status = 137;
	assert_int_equal(fstat(command->memfd, &st), 0);
	watched = st.st_ino;
	/* For looks at what is in flight it has another one. */
	in_flight_init(&t.process->in_flight, dup(command->memfd));
	assert_int_equal(count_descriptors(watched), 2);
	turns_route(&hand->store, command);
	for (unsigned i = 0; !t.process->is_over && i < ROUNDS_MAX; i++)
		turns_round(&hand->store);
	assert_true(t.process->is_over);
	assert_int_equal(held_at_end, 0);
	free(r);
}

HAND_CASE(a_close_is_reported_before_the_blocks_of_the_log_are_freed)
{
	struct tenant t;
	char path[sizeof(t.path) + 4];
	unsigned closed = 0;
	struct stat st;

	open_tenant(hand, &t, 0, getuid());
	send_frame(hand, &t, 1);
	route_all(hand);
	turns_round(&hand->store);
	snprintf(path, sizeof(path), "%s-wal", t.path);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 0);
	log_inode = st.st_ino;
	assert_int_equal(store_session_close(t.session, 0), 0);
	route_all(hand);
	for (unsigned i = 0; !closed && i < ROUNDS_MAX; i++) {
		turns_round(&hand->store);
		closed = answers_of(hand, STORE_CLOSED);
	}
	assert_int_equal(closed, 1);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(log_held_at_end, 1);
	assert_int_equal(count_descriptors(log_inode), 0);
}
