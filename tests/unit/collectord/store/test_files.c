// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/names/schema.h"
#include "tests/unit/collectord/store/harness.h"

static void restart(struct harness *h)
{
	struct store_config config = {0};

	store_answer_done(&h->answer);
	h->store = store_free(h->store);
	assert_int_equal(store_new(&config, &h->store), 0);
}

static void send_ten(struct harness *h, uint64_t number, uint64_t seq)
{
	struct frames f = {0};

	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	peer_add_dispatches(&f, number, 1, seq, 10);
	harness_send(h, &f);
	harness_wait_commit(h, number);
}

STORE_CASE(a_restarted_collector_goes_on)
{
	harness_open(h);
	send_ten(h, 1, 0);
	restart(h);
	assert_text(h->path, "SELECT coalesce(end_ns, 'open') FROM rtl_session", "open");
	harness_open_session(h, STORE_RESUME);
	harness_open_process(h, 1, 0);
	assert_int_equal(h->answer.frame, 1);
	assert_int_equal(h->answer.process_id, 1);
	send_ten(h, 2, 10);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 20);
	assert_number(h->path, "SELECT count(*) FROM rtl_shape", 1);
	assert_number(h->path, "SELECT count(*) FROM rtl_process", 1);
	assert_number(h->path, "SELECT stored FROM rtl_queue", 20);
	harness_check_books(h->path);
	harness_close(h);
	assert_string_equal(h->answer.text, "complete: 20 dispatched, 20 stored");
}

STORE_CASE(a_process_that_never_reconnects_has_an_unknown_tail)
{
	struct frames counters = {0};

	harness_open(h);
	send_ten(h, 1, 0);
	peer_add_counters(&counters, 0, RTL_Q_dispatched, 10, -1);
	harness_send(h, &counters);
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, NULL), 0);
	harness_wait(h, STORE_FLUSHED);
	restart(h);
	harness_open_session(h, STORE_RESUME);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	assert_non_null(strstr(h->answer.text, "1 process with an unknown tail"));
	assert_text(h->path, "SELECT ended || drained FROM rtl_process", "unknown0");
	/* Lost since its books were last written. */
	assert_number(h->path,
		"SELECT count(*) FROM rtl_loss_interval l JOIN rtl_process p ON p.id = "
		"l.process_id WHERE l.reason = 'unknown_tail' AND l.from_ns = p.counted_ns AND "
		"l.to_ns >= l.from_ns",
		1);
	/* Late, but alive: nothing is unknown any more. */
	store_session_free(h->session);
	harness_open_session(h, STORE_RESUME);
	harness_open_process(h, 1, 0);
	assert_int_equal(h->answer.frame, 1);
	send_ten(h, 2, 10);
	harness_close(h);
	assert_string_equal(h->answer.text, "complete: 20 dispatched, 20 stored");
}

STORE_CASE(a_process_read_to_its_end_does_not_come_back)
{
	size_t count;
	uint8_t *hello;

	harness_open(h);
	harness_close(h);
	harness_open_session(h, STORE_RESUME);
	hello = peer_hello(1, 0, &count);
	assert_int_equal(
		store_process_open(h->session, hello, count, getuid(), 1001, 4242, h, &h->process),
		0);
	harness_wait(h, STORE_PROCESS_FAILED);
	assert_string_equal(h->answer.text, "this process was read to its end already");
	assert_number(h->path, "SELECT count(*) FROM rtl_process", 1);
}

static void try_open(struct harness *h, const char *path, enum store_create create)
{
	struct store_session_params params = {
		.name = "job", .path = path, .uid = getuid(), .create = create};

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
}

static void make_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void read_file(const char *path, char *text, size_t bytes)
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, bytes - 1, file)] = 0;
	fclose(file);
}

STORE_CASE(nothing_is_overwritten)
{
	char text[64], other[128], target[128];
	sqlite3 *db;

	make_file(h->path, "precious");
	try_open(h, h->path, STORE_NEW);
	harness_wait(h, STORE_FAILED);
	assert_non_null(strstr(h->answer.text, "exists already"));
	store_session_free(h->session);
	try_open(h, h->path, STORE_RESUME);
	harness_wait(h, STORE_FAILED);
	assert_non_null(strstr(h->answer.text, "not a database of rtl"));
	store_session_free(h->session);
	read_file(h->path, text, sizeof(text));
	assert_string_equal(text, "precious");

	snprintf(other, sizeof(other), "%s/other.db", h->dir);
	assert_int_equal(sqlite3_open(other, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db, "CREATE TABLE t (x); PRAGMA user_version = 1", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	try_open(h, other, STORE_RESUME);
	harness_wait(h, STORE_FAILED);
	assert_non_null(strstr(h->answer.text, "not a database of rtl"));
	assert_text(other, "SELECT group_concat(name) FROM sqlite_master", "t");
	assert_text(other, "PRAGMA journal_mode", "delete");

	snprintf(target, sizeof(target), "%s/link.db", h->dir);
	assert_int_equal(symlink(other, target), 0);
	try_open(h, target, STORE_RESUME);
	harness_wait(h, STORE_FAILED);
	snprintf(target, sizeof(target), "%s/hard.db", h->dir);
	assert_int_equal(link(other, target), 0);
	try_open(h, target, STORE_RESUME);
	harness_wait(h, STORE_FAILED);
	assert_non_null(strstr(h->answer.text, "several links"));
	try_open(h, "/nonexistent/x.db", STORE_NEW);
	harness_wait(h, STORE_FAILED);
	assert_int_equal(h->answer.error, -ENOENT);
}

STORE_CASE(a_newer_schema_is_not_written)
{
	char sql[64], aside[256];
	sqlite3 *db;

	harness_open(h);
	harness_close(h);
	assert_int_equal(sqlite3_open(h->path, &db), SQLITE_OK);
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", SCHEMA_VERSION + 1);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	try_open(h, h->path, STORE_RESUME);
	harness_wait(h, STORE_SET_ASIDE);
	assert_non_null(strstr(h->answer.text, "written by a newer rtl"));
	snprintf(aside, sizeof(aside), "%s", strstr(h->answer.text, "it is /") + strlen("it is "));
	*strchr(aside, ' ') = 0;
	harness_wait(h, STORE_OPENED);
	assert_number(aside, "PRAGMA user_version", SCHEMA_VERSION + 1);
	assert_number(h->path, "PRAGMA user_version", SCHEMA_VERSION);
}

STORE_CASE(sessions_can_share_a_file)
{
	struct store_session *first;
	struct store_process *process;

	harness_open(h);
	send_ten(h, 1, 0);
	first = h->session;
	process = h->process;
	try_open(h, h->path, STORE_NEW);
	harness_wait(h, STORE_OPENED);
	assert_string_equal(h->answer.name, "job-2");
	harness_open_process(h, 2, 1);
	send_ten(h, 1, 0);
	harness_close(h);
	assert_string_equal(h->answer.text, "complete: 10 dispatched, 10 stored");
	/* The file as a whole is not complete: another session still writes. */
	assert_number(h->path, "SELECT value FROM rtl_meta WHERE key='complete'", 0);
	h->session = first;
	h->process = process;
	send_ten(h, 2, 10);
	harness_close(h);
	assert_number(h->path, "SELECT value FROM rtl_meta WHERE key='complete'", 1);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 30);
	assert_number(h->path, "SELECT count(*) FROM rtl_session", 2);
	harness_check_books(h->path);
}

static void open_as(struct harness *h, uid_t uid, const char *job)
{
	const struct store_session_params params = {
		.name = "job", .job = job, .path = h->path, .uid = uid, .create = STORE_RESUME};

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
}

static void close_it(struct harness *h)
{
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	h->session = store_session_free(h->session);
}

/* The name of a job is made of its key alone, and all users choose that. */
STORE_CASE(a_session_is_continued_only_by_its_owner_and_job)
{
	static const char *const names[] = {"job", "job-2", "job-3"};
	const struct {
		uid_t uid;
		const char *job;
	} owners[] = {{getuid(), "1"}, {getuid() + 1, "1"}, {getuid(), "2"}};

	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned i = 0; i < 3; i++) {
			open_as(h, owners[i].uid, owners[i].job);
			assert_string_equal(h->answer.name, names[i]);
			close_it(h); /* a late session continues that of its owner */
		}
	assert_number(h->path, "SELECT count(*) FROM rtl_session", 3);
	assert_text(h->path,
		"SELECT group_concat((uid - (SELECT uid FROM rtl_session WHERE id = 1)) || job) "
		"FROM (SELECT * FROM rtl_session ORDER BY id)",
		"01,11,02");
}

STORE_CASE(a_reader_does_not_stop_the_close)
{
	sqlite3 *db;
	sqlite3_stmt *statement;

	harness_open(h);
	send_ten(h, 1, 0);
	assert_int_equal(sqlite3_open_v2(h->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT * FROM rocpd_op", -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	harness_close(h);
	assert_int_equal(h->answer.error, -EBUSY);
	assert_string_equal(h->answer.text, "complete: 10 dispatched, 10 stored");
	sqlite3_finalize(statement);
	sqlite3_close(db);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 10);
}

/* All is committed then, though the file may yet have to be made one. */
STORE_CASE(a_reader_does_not_make_a_flush_fail)
{
	struct frames frames = {0};
	sqlite3_stmt *statement;
	sqlite3 *db;

	harness_open(h);
	send_ten(h, 1, 0);
	assert_int_equal(sqlite3_open_v2(h->path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT * FROM rocpd_op", -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	peer_add_bye(&frames);
	harness_send(h, &frames);
	assert_int_equal(store_process_end(h->process, -1, STORE_ENDED_EXITED, 0), 0);
	assert_int_equal(store_session_close(h->session, 0), 0);
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, h), 0);
	harness_wait(h, STORE_FLUSHED);
	assert_int_equal(h->answer.error, 0);
	assert_number(h->path, "SELECT count(end_ns) FROM rtl_session", 1);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	harness_wait(h, STORE_CLOSED);
}

/* A process that reads the file at that very moment holds a lock that WAL mode has to wait for. */
STORE_CASE(a_reader_does_not_stop_the_opening)
{
	const struct store_session_params params = {
		.name = "job", .path = h->path, .uid = getuid(), .create = STORE_RESUME};
	struct pollfd answer = {.events = POLLIN};
	sqlite3 *reader;

	harness_open(h);
	send_ten(h, 1, 0);
	harness_close(h);
	for (int i = 0; i < 3; i++) {
		restart(h);
		assert_int_equal(sqlite3_open(h->path, &reader), SQLITE_OK);
		assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM rtl_meta", NULL,
					 NULL, NULL),
			SQLITE_OK);
		assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
		/* The file is neither opened nor given up while a process reads it. */
		answer.fd = store_answer_fd(h->store);
		assert_int_equal(poll(&answer, 1, 50), 0);
		assert_int_equal(sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_close(reader), SQLITE_OK);
		harness_wait(h, STORE_OPENED);
		assert_int_equal(store_session_close(h->session, 0), 0);
		harness_wait(h, STORE_CLOSED);
	}
}

STORE_CASE(a_service_names_its_files)
{
	struct store_session_params params = {
		.name = "../../etc/x y", .job = "none", .dir = h->dir, .uid = getuid()};
	char want[160], folder[128], first[160];

	snprintf(folder, sizeof(folder), "%s/%u", h->dir, (unsigned)getuid());
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	snprintf(first, sizeof(first), "%s/_._.._etc_x_y.db", folder);
	assert_string_equal(h->answer.database, first);
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	snprintf(want, sizeof(want), "%s/_._.._etc_x_y-2.db", folder);
	assert_string_equal(h->answer.database, want);
	assert_string_equal(h->answer.name, "../../etc/x y-2");

	/* After a restart the same job is continued, another one is not. */
	restart(h);
	params.create = STORE_RESUME;
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	assert_string_equal(h->answer.database, first);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	params.job = "another";
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	snprintf(want, sizeof(want), "%s/_._.._etc_x_y-3.db", folder);
	assert_string_equal(h->answer.database, want);
}

/* How many rows does a plain reader see? -1: it may not. */
static int rows_seen(const char *path)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;
	int rows = -1;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
		sqlite3_prepare_v2(db, "SELECT count(*) FROM rocpd_op", -1, &statement, NULL) ==
			SQLITE_OK &&
		sqlite3_step(statement) == SQLITE_ROW)
		rows = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return rows;
}

/* Another user: a process of its own, asked with a path, answering with a number. */
struct reader {
	pid_t pid;
	int ask[2];
	int reply[2];
};

static void reader_start(struct reader *reader, uid_t uid)
{
	char path[160];
	int rows;

	assert_int_equal(pipe(reader->ask), 0);
	assert_int_equal(pipe(reader->reply), 0);
	reader->pid = fork();
	if (reader->pid)
		return;
	if (uid != geteuid() && (setgid(uid) < 0 || setuid(uid) < 0))
		_exit(1);
	/* The loop ends at an empty path: for end of file all other processes would have to close
	 * their copies. */
	while (read(reader->ask[0], path, sizeof(path)) == sizeof(path) && path[0]) {
		rows = rows_seen(path);
		if (write(reader->reply[1], &rows, sizeof(rows)) < 0)
			_exit(1);
	}
	_exit(0);
}

static int reader_ask(struct reader *reader, const char *database)
{
	char path[160] = "";
	int rows;

	snprintf(path, sizeof(path), "%s", database);
	assert_int_equal(write(reader->ask[1], path, sizeof(path)), sizeof(path));
	assert_int_equal(read(reader->reply[0], &rows, sizeof(rows)), sizeof(rows));
	return rows;
}

static void reader_stop(struct reader *reader)
{
	char path[160] = "";

	assert_int_equal(write(reader->ask[1], path, sizeof(path)), sizeof(path));
	close(reader->ask[0]);
	close(reader->ask[1]);
	close(reader->reply[0]);
	close(reader->reply[1]);
	assert_int_equal(waitpid(reader->pid, NULL, 0), reader->pid);
}

/* Only root can become another user; other users are the owner, and read as such. */
TEST_CASE(only_the_owner_reads_the_database)
{
	uid_t owner = geteuid() ? geteuid() : 54321;
	uid_t other = geteuid() ? geteuid() : 54322;
	struct reader of_owner, of_other;
	struct store_session_params params = {.name = "job", .uid = owner};
	char path[160];
	struct harness *h;

	/* Forked while there is one thread only. */
	reader_start(&of_owner, owner);
	reader_start(&of_other, other);
	harness_setup((void **)&h);
	params.dir = h->dir;
	umask(0077);
	assert_int_equal(chmod(h->dir, 0711), 0);
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	assert_null(h->answer.text);
	snprintf(path, sizeof(path), "%s", h->answer.database);
	harness_open_process(h, 1, 0);
	send_ten(h, 1, 0);
	assert_int_equal(reader_ask(&of_owner, path), 10);
	assert_int_equal(reader_ask(&of_other, path), owner == other ? 10 : -1);
	harness_close(h);
	assert_int_equal(h->answer.error, 0);
	assert_int_equal(reader_ask(&of_owner, path), 10);
	assert_int_equal(reader_ask(&of_other, path), owner == other ? 10 : -1);
	reader_stop(&of_owner);
	reader_stop(&of_other);
	harness_teardown((void **)&h);
}

STORE_CASE(the_index_lists_every_session)
{
	char index[128];
	struct store_config config = {.index_path = index};

	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	store_answer_done(&h->answer);
	h->store = store_free(h->store);
	assert_int_equal(store_new(&config, &h->store), 0);
	harness_open(h);
	assert_text(index,
		"SELECT name || complete || coalesce(end_realtime_ns, 'open') FROM session",
		"job0open");
	harness_close(h);
	assert_text(index, "SELECT database || complete || completeness FROM session",
		strcat(strcpy((char[256]){0}, h->path), "1complete: 0 dispatched, 0 stored"));
}

/* In a child: its files may not grow, then they may again. */
static void run_out_of_disk(void **state)
{
	struct harness *h = *state;
	struct rlimit limit;
	struct stat st;
	char wal[128];

	harness_open(h);
	send_ten(h, 1, 0);
	snprintf(wal, sizeof(wal), "%s-wal", h->path);
	assert_int_equal(stat(wal, &st), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = (rlim_t)st.st_size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	{
		struct frames f = {0};

		peer_add_dispatches(&f, 2, 1, 10, 1000);
		peer_add_dispatches(&f, 3, 1, 1010, 1000);
		harness_send(h, &f);
	}
	harness_wait(h, STORE_DEGRADED);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	harness_wait_commit(h, 3);
	harness_wait(h, STORE_RECOVERED);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 2010);
	harness_check_books(h->path);
	harness_close(h);
	assert_string_equal(h->answer.text, "complete: 2010 dispatched, 2010 stored");
}

TEST_CASE(a_full_disk_loses_and_doubles_nothing)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		const struct CMUnitTest test[] = {cmocka_unit_test_setup_teardown(
			run_out_of_disk, harness_setup, harness_teardown)};

		_exit(cmocka_run_group_tests_name("child", test, NULL, NULL));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
