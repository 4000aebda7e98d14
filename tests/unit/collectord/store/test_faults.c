// SPDX-License-Identifier: MIT
/*
 * The collector is killed at each place where that could cost or double something; the next one
 * is sent everything that was not acknowledged. The store here is built with its fault points.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/limits.h"
#include "tests/unit/collectord/store/harness.h"
#include "tests/unit/collectord/store/recorder.h"

#define FRAMES 40u
#define EACH   50u

/* A first life: sends all frames, reports each Ack through @report, drains, dies on the way. */
static void live_and_die(struct harness *h, const char *fault, int report)
{
	struct hand_recorder *r = hand_recorder_new(1);
	struct frames f = {0};
	int fd;

	setenv("RTL_FAULT", fault, 1);
	harness_open_timed(h, &f);
	for (uint64_t n = 1; n <= FRAMES; n++) {
		peer_add_dispatches(&f, n, 1, (n - 1) * EACH, EACH);
		harness_send(h, &f);
		if (n % 10)
			continue;
		harness_wait_commit(h, n);
		if (write(report, &h->answer.frame, sizeof(h->answer.frame)) < 0)
			_exit(2);
	}
	r->queue[0].producer[RTL_Q_dispatched] = FRAMES * EACH;
	fd = hand_recorder_memfd(r);
	store_process_end(h->process, fd, STORE_ENDED_KILLED, -1);
	harness_wait(h, STORE_PROCESS_ENDED);
	store_session_close(h->session, 0);
	harness_wait(h, STORE_CLOSED);
	_exit(3); /* the fault was never passed */
}

static uint64_t first_life(struct harness *h, const char *fault)
{
	struct store_config config = {0};
	uint64_t acked = 0, frame;
	int status, report[2];
	pid_t pid;

	/* A fork takes one thread along: there must be no other. */
	h->store = store_free(h->store);
	assert_int_equal(pipe(report), 0);
	pid = fork();
	if (pid == 0) {
		if (store_new(&config, &h->store) < 0)
			_exit(1);
		live_and_die(h, fault, report[1]);
	}
	close(report[1]);
	while (read(report[0], &frame, sizeof(frame)) == sizeof(frame))
		acked = frame;
	close(report[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_msg("%s: not killed, status %x", fault, status);
	assert_int_equal(store_new(&config, &h->store), 0);
	return acked;
}

/* The shim's view: everything above what Welcome says comes again, then the recorder. */
static void second_life(struct harness *h, uint64_t acked)
{
	struct hand_recorder *r = hand_recorder_new(1);
	struct frames f = {0};
	uint64_t hw;

	harness_open_session(h, access(h->path, F_OK) ? STORE_NEW : STORE_RESUME);
	harness_open_process(h, 1, 0);
	hw = h->answer.frame;
	assert_true(hw >= acked);
	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	for (uint64_t n = hw + 1; n <= FRAMES; n++)
		peer_add_dispatches(&f, n, 1, (n - 1) * EACH, EACH);
	harness_send(h, &f);
	if (hw < FRAMES)
		harness_wait_commit(h, FRAMES);
	r->queue[0].producer[RTL_Q_dispatched] = FRAMES * EACH;
	store_process_end(h->process, hand_recorder_memfd(r), STORE_ENDED_KILLED, -1);
	free(r);
	harness_wait(h, STORE_PROCESS_ENDED);
	store_session_close(h->session, 0);
	harness_wait(h, STORE_CLOSED);
	assert_string_equal(h->answer.text, "complete: 2000 dispatched, 2000 stored");
}

static void check_file(struct harness *h)
{
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", FRAMES * EACH);
	assert_number(h->path, "SELECT count(DISTINCT sequenceId) FROM rocpd_op", FRAMES * EACH);
	assert_number(h->path, "SELECT count(*) FROM rtl_process", 1);
	harness_check_books(h->path);
}

static void survive(struct harness *h, const char *fault)
{
	uint64_t acked = first_life(h, fault);

	second_life(h, acked);
	check_file(h);
}

#define SURVIVES(name, fault)                                                                      \
	STORE_CASE(name)                                                                           \
	{                                                                                          \
		survive(h, fault);                                                                 \
	}
SURVIVES(killed_before_begin, "before_begin:4")
SURVIVES(killed_mid_rows, "mid_rows:525")
SURVIVES(killed_mid_rows_later, "mid_rows:1701")
SURVIVES(killed_before_the_first_commit, "before_commit:1")
SURVIVES(killed_before_commit, "before_commit:5")
SURVIVES(killed_after_commit_before_ack, "after_commit:5")
SURVIVES(killed_in_the_drain, "drain_before_commit")

/* The log of a file that was removed; it does not belong to the file that has its name now. */
STORE_CASE(killed_where_another_files_log_lay)
{
	char log[128];

	(void)first_life(h, "after_commit:5");
	assert_int_equal(unlink(h->path), 0);
	snprintf(log, sizeof(log), "%s-wal", h->path);
	assert_int_equal(access(log, F_OK), 0);
	assert_int_equal(first_life(h, "file_made"), 0);
	assert_number(h->path, "SELECT count(*) FROM rtl_session", 0);
	second_life(h, 0);
	check_file(h);
}

/* Drained, not announced: the next one may not store the recorder again. */
STORE_CASE(killed_after_the_drain)
{
	size_t count;
	uint8_t *hello;

	assert_int_equal(first_life(h, "drain_after_commit"), FRAMES);
	harness_open_session(h, STORE_RESUME);
	hello = peer_hello(1, 0, &count);
	store_process_open(h->session, hello, count, getuid(), 1001, 4242, h, &h->process);
	harness_wait(h, STORE_PROCESS_FAILED);
	assert_int_equal(h->answer.error, -EALREADY);
	store_session_close(h->session, 0);
	harness_wait(h, STORE_CLOSED);
	assert_string_equal(h->answer.text, "complete: 2000 dispatched, 2000 stored");
	check_file(h);
}

/* All rows are there, the file only has to be sealed again. */
STORE_CASE(killed_in_the_last_checkpoint)
{
	assert_int_equal(first_life(h, "checkpoint"), FRAMES);
	harness_open_session(h, STORE_RESUME);
	store_session_close(h->session, 0);
	harness_wait(h, STORE_CLOSED);
	assert_string_equal(h->answer.text, "complete: 2000 dispatched, 2000 stored");
	assert_text(h->path, "PRAGMA journal_mode", "delete");
	check_file(h);
}

/* Its end was written: making it one file takes nothing of that back. */
STORE_CASE(killed_in_the_last_checkpoint_and_no_process_reconnects)
{
	assert_int_equal(first_life(h, "checkpoint"), FRAMES);
	assert_int_equal(store_recover(h->store, h->path), 0);
	harness_wait(h, STORE_LEFT_DONE);
	/* The file is sealed and closed in the same turn, as no process reads it. */
	assert_text(h->path, "PRAGMA journal_mode", "delete");
	assert_number(h->path, "SELECT value FROM rtl_meta WHERE key = 'complete'", 1);
	check_file(h);
}

/* More than fits in the cache: nothing of it is there, nor twice afterwards. */
STORE_CASE(killed_in_a_long_drain)
{
	struct hand_recorder *r = hand_recorder_new(1);
	const uint32_t slots = 8192;
	int fd = hand_recorder_memfd_slots(r, slots);
	struct store_config config = {0};
	int status;
	pid_t pid;

	free(r);
	h->store = store_free(h->store);
	pid = fork();
	if (pid == 0) {
		setenv("RTL_FAULT", "drain_before_commit", 1);
		if (store_new(&config, &h->store) < 0)
			_exit(1);
		harness_open(h);
		store_process_end(h->process, dup(fd), STORE_ENDED_KILLED, -1);
		harness_wait(h, STORE_PROCESS_ENDED);
		_exit(3); /* the fault was never passed */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(store_new(&config, &h->store), 0);
	harness_open_session(h, STORE_RESUME);
	harness_open_process(h, 1, 0);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 0);
	store_process_end(h->process, fd, STORE_ENDED_KILLED, -1);
	harness_wait(h, STORE_PROCESS_ENDED);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", slots);
	harness_check_books(h->path);
}
