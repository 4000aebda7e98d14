/* SPDX-License-Identifier: MIT */
/* A restarted collector and the processes that were open when the one before died. */
#include "tests/unit/collectord/daemon.h"

#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

#define DISPATCHES 10
#define FRAMES	   3
#define TAILS	   "SELECT count(*) FROM rtl_loss WHERE reason = 'unknown_tail' AND count IS NULL"
#define COMPLETE   "SELECT value FROM rtl_meta WHERE key = 'complete'"
#define CLOSED	   " closed: "

/* Every test runs with --db FILE and with --db-dir. */
struct life {
	struct place place;
	bool has_file;
	char file[256];
	struct daemon daemon;
	struct fake_shim shim;
};

static int setup(void **state, bool has_file)
{
	struct life *life = calloc(1, sizeof(*life));
	struct place *place;

	assert_non_null(life);
	place_setup((void **)&place);
	life->place = *place;
	free(place);
	life->has_file = has_file;
	snprintf(life->file, sizeof(life->file), "%s/all.db", life->place.dir);
	*state = life;
	return 0;
}

static int setup_file(void **state)
{
	return setup(state, true);
}

static int setup_dir(void **state)
{
	return setup(state, false);
}

static int teardown(void **state)
{
	struct life *life = *state;
	struct place *place = malloc(sizeof(*place));

	assert_non_null(place);
	*place = life->place;
	free(life);
	return place_teardown((void **)&place);
}

static void start_program(struct life *life, const char *program)
{
	const char *arguments[] = {program, "--socket", life->place.socket,
		life->has_file ? "--db" : "--db-dir",
		life->has_file ? life->file : life->place.store, NULL};

	daemon_start(&life->daemon, arguments, -1, (uid_t)-1);
	daemon_wait_for_line(&life->daemon, life->place.socket);
}

static void start(struct life *life)
{
	start_program(life, COLLECTORD);
}

static void kill_daemon(struct life *life)
{
	daemon_signal(&life->daemon, SIGKILL);
	(void)daemon_wait(&life->daemon);
}

static void send_frames(struct life *life)
{
	for (unsigned i = 0; i < FRAMES; i++)
		assert_int_equal(fake_shim_dispatch(&life->shim, DISPATCHES, false), 0);
}

/* A child with three acknowledged frames. */
static void run_shim(struct life *life)
{
	assert_int_equal(fake_shim_init(&life->shim, "job"), 0);
	daemon_welcome_child(&life->shim, life->place.socket);
	assert_int_equal(fake_shim_define(&life->shim), 0);
	send_frames(life);
	daemon_expect_ack(&life->shim, FRAMES);
	if (!life->has_file)
		find_database(&life->place, geteuid(), life->file);
}

static bool exists(const struct life *life, const char *suffix)
{
	char path[272];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", life->file, suffix);
	return lstat(path, &st) == 0;
}

static void expect_unknown_tail(struct life *life, const char *ended)
{
	char sql[128];

	daemon_wait_for_line(&life->daemon, CLOSED);
	snprintf(sql, sizeof(sql),
		"SELECT count(*) FROM rtl_process WHERE ended = '%s' AND NOT drained", ended);
	assert_number(life->file, sql, 1);
	assert_number(life->file, TAILS, 1);
	assert_number(life->file, COMPLETE, 0);
	assert_number(life->file, "SELECT count(*) FROM rocpd_op", FRAMES * DISPATCHES);
	assert_number(life->file, "SELECT hw_frame FROM rtl_process", FRAMES);
	assert_number(life->file, "SELECT count(end_ns) FROM rtl_session", 1);
	assert_false(exists(life, "-wal"));
}

/* The last frame that the collector has. */
static uint64_t come_back(struct fake_shim *shim)
{
	Rtl__Frame *frame = NULL;

	assert_int_equal(fake_shim_reconnect_child(shim), 0);
	assert_int_equal(fake_shim_send_hello(shim, 1), 0);
	assert_int_equal(fake_receive(shim, FAKE_WAIT_MS, &frame), 0);
	assert_int_equal(frame->body_case, RTL__FRAME__BODY_WELCOME);
	return frame->welcome->last_frame;
}

static void finish(struct life *life)
{
	daemon_stop(&life->daemon);
	fake_shim_done(&life->shim);
}

/* A test that has a life, once in one file of all sessions and once in a folder of them. */
#define BOTH(claim)                                                                                \
	static void claim(struct life *life);                                                      \
	TEST_CASE_WITH(claim##_in_one_file, setup_file, teardown, struct life *life)               \
	{                                                                                          \
		claim(life);                                                                       \
	}                                                                                          \
	TEST_CASE_WITH(claim##_in_a_folder, setup_dir, teardown, struct life *life)                \
	{                                                                                          \
		claim(life);                                                                       \
	}                                                                                          \
	static void claim(struct life *life)

BOTH(a_process_that_died_meanwhile_has_an_unknown_tail)
{
	start(life);
	run_shim(life);
	kill_daemon(life);
	assert_true(exists(life, "-wal"));
	fake_shim_kill(&life->shim);
	start(life);
	expect_unknown_tail(life, "unknown");
	finish(life);
}

BOTH(after_sigterm_it_is_the_same)
{
	start(life);
	run_shim(life);
	daemon_stop(&life->daemon);
	fake_shim_kill(&life->shim);
	start(life);
	expect_unknown_tail(life, "unknown");
	finish(life);
}

/* The collector opens the session by itself, and waits for the process that still lives. */
BOTH(a_process_that_lives_but_never_reconnects_is_waited_for)
{
	start(life);
	run_shim(life);
	kill_daemon(life);
	start(life);
	daemon_wait_for_line(&life->daemon, " of uid ");
	assert_number(life->file, "SELECT count(ended) FROM rtl_process", 0);
	fake_shim_kill(&life->shim);
	expect_unknown_tail(life, "killed");
	finish(life);
}

BOTH(a_process_that_reconnects_is_stored_completely)
{
	struct fake_shim *shim = &life->shim;

	start(life);
	run_shim(life);
	kill_daemon(life);
	start(life);
	daemon_wait_for_line(&life->daemon, " of uid ");
	assert_int_equal(come_back(shim), FRAMES);
	assert_int_equal(fake_shim_define(shim), 0);
	assert_int_equal(fake_shim_dispatch(shim, DISPATCHES, false), 0);
	daemon_expect_ack(shim, FRAMES + 1);
	assert_int_equal(fake_shim_dispatch(shim, DISPATCHES, true), 0);
	fake_shim_kill(shim);
	daemon_wait_for_line(&life->daemon, CLOSED);
	assert_number(life->file, TAILS, 0);
	assert_number(life->file, "SELECT count(*) FROM rtl_process", 1);
	assert_number(life->file,
		"SELECT count(*) FROM rtl_process WHERE ended = 'killed' AND drained", 1);
	assert_number(life->file, "SELECT count(*) FROM rocpd_op", (FRAMES + 2) * DISPATCHES);
	/* The frames come without anchors here: without times, but all of them. */
	assert_number(
		life->file, "SELECT count(*) FROM rtl_loss WHERE reason NOT GLOB 'untimed_*'", 0);
	assert_number(life->file, "SELECT sum(dispatched - stored) FROM rtl_account", 0);
	finish(life);
}

/* exec: same pid and start time, another token. No process has the first one's recorder any
 * more. */
BOTH(a_process_that_reconnects_after_exec_leaves_an_unknown_tail)
{
	struct fake_shim *shim = &life->shim;

	start(life);
	run_shim(life);
	kill_daemon(life);
	start(life);
	shim->recorder->token[0] ^= 0xff;
	shim->next = 1;
	assert_int_equal(come_back(shim), 0);
	fake_shim_kill(shim);
	daemon_wait_for_line(&life->daemon, CLOSED);
	assert_number(life->file, "SELECT count(*) FROM rtl_process WHERE ended = 'exec'", 1);
	assert_number(life->file, TAILS, 1);
	assert_number(life->file, "SELECT count(*) FROM rtl_process", 2);
	finish(life);
}

static void overwrite(const char *path)
{
	CLEANUP(close_p) int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "not a database, but long enough to be asked", 43), 43);
}

BOTH(a_damaged_file_is_one_line_and_not_the_end)
{
	start(life);
	run_shim(life);
	kill_daemon(life);
	fake_shim_kill(&life->shim);
	overwrite(life->file);
	start(life);
	/* A file that the user named is the user's. */
	daemon_wait_for_line(&life->daemon, life->has_file ? "left alone: " : "set aside: ");
	if (!life->has_file)
		daemon_wait_for_line(&life->daemon, "1 damaged database set aside");
	finish(life);
}

/* No shim is let in before recovery is over, so an answer shows that it is. */
static void wait_for_recovery(struct life *life)
{
	struct fake_shim other;
	Rtl__Frame *frame = NULL;

	assert_int_equal(fake_shim_init(&other, NULL), 0);
	assert_int_equal(fake_shim_connect(&other, life->place.socket), 0);
	assert_int_equal(fake_shim_send_hello(&other, 0), 0);
	assert_int_equal(fake_receive(&other, FAKE_WAIT_MS, &frame), 0);
	assert_int_equal(frame->body_case, RTL__FRAME__BODY_REFUSAL);
	fake_shim_done(&other);
}

BOTH(a_closed_session_is_made_one_file)
{
	char index[128];

	setenv("RTL_FAULT", "checkpoint:1:group", 1);
	start_program(life, COLLECTORD_FAULTS);
	unsetenv("RTL_FAULT");
	run_shim(life);
	fake_shim_kill(&life->shim);
	(void)daemon_wait(&life->daemon); /* all is committed, and it dies before the checkpoint */
	assert_true(exists(life, "-wal"));
	start(life);
	wait_for_recovery(life);
	assert_false(exists(life, "-wal"));
	assert_number(life->file, "SELECT count(end_ns) FROM rtl_session", 1);
	assert_number(life->file, TAILS, 0);
	finish(life);
	snprintf(index, sizeof(index), "%s/index.db", life->place.store);
	if (!life->has_file)
		assert_number(
			index, "SELECT count(*) FROM session WHERE end_realtime_ns IS NULL", 0);
}

/* A reader keeps it from being made one file; no session is there to wait for the reader. */
BOTH(a_closed_session_is_made_one_file_when_its_reader_goes)
{
	sqlite3_stmt *row = NULL;
	uint64_t deadline_ns;
	sqlite3 *db = NULL;

	setenv("RTL_FAULT", "checkpoint:1:group", 1);
	start_program(life, COLLECTORD_FAULTS);
	unsetenv("RTL_FAULT");
	run_shim(life);
	fake_shim_kill(&life->shim);
	(void)daemon_wait(&life->daemon);
	assert_int_equal(sqlite3_open_v2(life->file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT id FROM rtl_process", -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	start(life);
	wait_for_recovery(life);
	assert_true(exists(life, "-wal"));
	sqlite3_finalize(row);
	sqlite3_close(db);
	deadline_ns = clock_monotonic_ns() + FAKE_WAIT_MS * 1000000ull;
	while (exists(life, "-wal")) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		(void)poll(NULL, 0, 5); /* the interval of a wait with a deadline */
	}
	finish(life);
}

BOTH(a_file_that_is_gone_is_not_made_again)
{
	start(life);
	run_shim(life);
	kill_daemon(life);
	fake_shim_kill(&life->shim);
	assert_int_equal(unlink(life->file), 0);
	start(life);
	wait_for_recovery(life);
	assert_false(exists(life, ""));
	finish(life);
}

int main(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	return test_run(NULL, NULL);
}
