// SPDX-License-Identifier: MIT
/* A job that finds files of its name: it goes on with its own, and changes no other. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collectord/db/migrate.h"
#include "tests/unit/collectord/store/life.h"

#define FEW	      6u
#define MANY	      1100u
#define HEAD_BYTES    4096
#define LOCKED	      16u
/* A file is looked at and then opened, with STORE_BUSY_SHARED_MS each. */
#define WAITED_US_MAX (LOCKED * 2u * 500000u)

static sqlite3_vfs counting, *below;
static atomic_uint opened; /* databases, by SQLite */

static int open_and_count(
	sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *ret)
{
	(void)vfs;
	atomic_fetch_add(&opened, (flags & SQLITE_OPEN_MAIN_DB) != 0);
	return below->xOpen(below, path, file, flags, ret);
}

static atomic_uint_fast64_t slept_us;
static atomic_bool is_awake; /* the test does not really sleep */

static int sleep_and_count(sqlite3_vfs *vfs, int us)
{
	(void)vfs;
	atomic_fetch_add(&slept_us, (uint64_t)us);
	return atomic_load(&is_awake) ? us : below->xSleep(below, us);
}

static void count_opened_files(void)
{
	below = sqlite3_vfs_find(NULL);
	counting = *below;
	counting.zName = "counting";
	counting.xOpen = open_and_count;
	counting.xSleep = sleep_and_count;
	(void)sqlite3_vfs_register(&counting, 1); /* else nothing is counted, which the test sees */
}

static size_t read_whole(const char *path, char **ret)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	*ret = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, *ret, (size_t)st.st_size), st.st_size);
	close(fd);
	return (size_t)st.st_size;
}

/* A look into the file of an earlier job of that name leaves it as it is: one file, and its
 * verdict. */
STORE_CASE(a_job_leaves_the_files_of_others_alone)
{
	struct store_session_params params = {
		.name = "job", .job = "1", .dir = h->dir, .uid = getuid(), .create = STORE_RESUME};
	char first[160], *before, *after;
	size_t bytes;

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	snprintf(first, sizeof(first), "%s", h->answer.database);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	assert_number(first, "SELECT value FROM rtl_meta WHERE key = 'complete'", 1);
	bytes = read_whole(first, &before);
	params.job = "2";
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	assert_string_equal(h->answer.name, "job-2");
	assert_int_equal(read_whole(first, &after), bytes);
	assert_memory_equal(before, after, bytes);
	free(before);
	free(after);
}

/* Another process reads the first file of that name, which is closed: the store does not wait for
 * it. */
STORE_CASE(a_job_continues_while_another_process_reads_an_older_file)
{
	struct store_session_params params = {
		.name = "job", .job = "1", .dir = h->dir, .uid = getuid(), .create = STORE_NEW};
	char first[160], want[160], index[96];
	const struct store_config service = {.index_path = index};
	sqlite3 *reader;

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	snprintf(first, sizeof(first), "%s", h->answer.database);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	/* Of the same job, and open: it goes on with this. */
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	assert_string_equal(h->answer.name, "job-2");
	store_answer_done(&h->answer);
	h->store = store_free(h->store);
	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	assert_int_equal(store_new(&service, &h->store), 0);
	assert_int_equal(sqlite3_open(first, &reader), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM rtl_meta", NULL, NULL, NULL),
		SQLITE_OK);
	params.create = STORE_RESUME;
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	snprintf(want, sizeof(want), "%s/%u/job-2.db", h->dir, (unsigned)getuid());
	assert_string_equal(h->answer.database, want);
	assert_int_equal(sqlite3_close(reader), SQLITE_OK);
}

/* The store again, with an index; with a @folder whose files it looks after, too. */
static void start_in(struct harness *h, const char *folder)
{
	char index[96];
	const struct store_config service = {.index_path = index, .folder = folder};

	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	store_answer_done(&h->answer);
	h->store = store_free(h->store);
	assert_int_equal(store_new(&service, &h->store), 0);
}

static void start_service(struct harness *h)
{
	start_in(h, NULL);
}

/* Databases that are opened for a session that comes. */
static unsigned open_session(struct harness *h, const struct store_session_params *params)
{
	unsigned before = atomic_load(&opened);

	assert_int_equal(store_session_open(h->store, params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	return atomic_load(&opened) - before;
}

/* What a collector that numbered them all left behind: files, of which nothing but the head is
 * needed here, and what its index says of them. */
static void add_history(const char *dir, const char *like, unsigned from, unsigned to)
{
	char path[160], *bytes, *sql;
	sqlite3 *db;

	assert_true(read_whole(like, &bytes) > HEAD_BYTES);

	snprintf(path, sizeof(path), "%s/index.db", dir);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	for (unsigned i = from; i <= to; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%u/job-%u.db", dir, (unsigned)getuid(), i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		assert_int_equal(write(fd, bytes, HEAD_BYTES), HEAD_BYTES);
		close(fd);
		sql = sqlite3_mprintf(
			"INSERT INTO session (database, name, job, command, uid, "
			"start_realtime_ns, end_realtime_ns, complete, completeness, stored, "
			"bytes, kept, tenant) SELECT %Q, 'job-%u', job, command, uid, "
			"start_realtime_ns, end_realtime_ns, complete, completeness, "
			"stored, bytes, kept, tenant FROM session WHERE name = 'job-2'",
			path, i);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
		sqlite3_free(sql);
	}
	assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	free(bytes);
}

static unsigned come_and_go(struct harness *h, const struct store_session_params *params)
{
	unsigned n = open_session(h, params);

	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	return n;
}

/* A nightly job, for three years: what is closed is not looked into, and does not use up names. */
STORE_CASE(a_job_opens_however_many_of_its_sessions_are_closed)
{
	char index[96], second[160], name[128];
	const struct store_session_params params = {
		.name = "job", .job = "1", .dir = h->dir, .uid = getuid(), .create = STORE_RESUME};
	unsigned few = 0, many;

	start_service(h);
	for (unsigned i = 1; i <= FEW; i++) {
		few = come_and_go(h, &params);
		assert_int_equal(few, come_and_go(h, &params));
	}
	snprintf(second, sizeof(second), "%s/%u/job-2.db", h->dir, (unsigned)getuid());
	add_history(h->dir, second, 9, MANY);
	many = come_and_go(h, &params);
	print_message("%u databases opened with %u closed sessions, %u with %u\n", few, 2 * FEW - 1,
		many, MANY + 2 * FEW - 8);
	assert_in_range(few, 1, 2);
	assert_int_equal(many, few);

	/* One that is open is gone on with, whatever it is called. */
	(void)open_session(h, &params);
	snprintf(name, sizeof(name), "%s", h->answer.name);
	assert_int_equal(strncmp(name, "job-2", 5), 0);
	assert_int_equal(strlen(name), strlen("job-20260101T000000.000000000"));
	start_service(h);
	(void)come_and_go(h, &params);
	assert_string_equal(h->answer.name, name);
	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	assert_number(index, "SELECT count(*) FROM session WHERE end_realtime_ns IS NOT NULL",
		MANY + 2 * FEW - 8 + 2);
}

static int64_t open_by_index(const struct harness *h)
{
	char index[96];

	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	return sql_number(index, "SELECT count(*) FROM session WHERE end_realtime_ns IS NULL");
}

/* Rows of the index, all begun later than the real one: open, of files that are not there. */
static void add_gone(const struct harness *h, unsigned count)
{
	char index[96], sql[512];
	sqlite3 *db;

	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	snprintf(sql, sizeof(sql),
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %u) "
		"INSERT INTO session (database, name, job, uid, start_realtime_ns, complete, "
		"tenant) SELECT database || '.gone-' || i, 'job-' || i, job, uid, "
		"start_realtime_ns + i, 0, tenant FROM session, n WHERE name = 'job'",
		count);
	assert_int_equal(sqlite3_open(index, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_changes(db), (int)count);
	sqlite3_close(db);
}

#define GONE 40u

/* However many of a job's files were removed, the job finds its own, and all clients hear of
 * those. */
STORE_CASE(files_that_were_taken_away_are_gone)
{
	const struct store_session_params params = {
		.name = "job", .job = "1", .dir = h->dir, .uid = getuid(), .create = STORE_RESUME};

	start_service(h);
	(void)open_session(h, &params);
	start_service(h);
	add_gone(h, GONE);
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	for (unsigned i = 0; i < GONE; i++) {
		harness_wait(h, STORE_REMOVED);
		assert_string_equal(h->answer.text, "its file was taken away");
		assert_int_equal(h->answer.removed.uid, getuid());
	}
	harness_wait(h, STORE_OPENED);
	assert_string_equal(h->answer.name, "job");
	assert_int_equal(open_by_index(h), 1);

	/* Or at the next start, before any client connects. */
	start_service(h);
	add_gone(h, 3);
	assert_int_equal(store_recover(h->store, NULL), 0);
	harness_wait(h, STORE_LEFT_SESSION);
	assert_string_equal(h->answer.name, "job");
	harness_wait(h, STORE_LEFT_DONE);
	assert_int_equal(open_by_index(h), 1);
}

STORE_CASE(an_index_that_is_taken_away_is_told)
{
	const struct store_session_params params = {
		.name = "job", .job = "1", .dir = h->dir, .uid = getuid(), .create = STORE_RESUME};
	char index[96];

	start_service(h);
	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	assert_int_equal(unlink(index), 0);
	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_KEPT);
	assert_non_null(strstr(h->answer.text, "index.db: No such file"));
	harness_wait(h, STORE_OPENED);
}

/* The power took its log, with all that was ever written of it: its end is not waited for for ever.
 */
STORE_CASE(a_session_that_its_file_does_not_know_ends)
{
	struct store_session_params params = {
		.name = "job", .job = "1", .dir = h->dir, .uid = getuid(), .create = STORE_RESUME};
	char path[160];
	sqlite3 *db;

	start_service(h);
	(void)open_session(h, &params);
	snprintf(path, sizeof(path), "%s", h->answer.database);
	start_service(h);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "DELETE FROM rtl_session", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(store_recover(h->store, NULL), 0);
	harness_wait(h, STORE_CUT);
	harness_wait(h, STORE_LEFT_SESSION);
	assert_string_equal(h->answer.name, "job");
	assert_string_equal(h->answer.job, "1");
	assert_string_equal(h->answer.database, path);
	harness_wait(h, STORE_LEFT_DONE);
	params.path = path;
	params.dir = NULL;
	(void)open_session(h, &params);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	assert_false(h->answer.complete);
	assert_int_equal(open_by_index(h), 0);
	/* Once it is closed it is reported no more. */
	start_service(h);
	assert_int_equal(store_recover(h->store, NULL), 0);
	harness_wait(h, STORE_LEFT_DONE);
	assert_number(path, "SELECT count FROM rtl_loss WHERE reason = 'logs_cut'", 1);
}

/* The store's thread has done once what it does between commands. */
static void go_round(struct harness *h)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(store_flush(h->store, STORE_EVERYBODY, h), 0);
		harness_wait(h, STORE_FLUSHED);
	}
}

static void do_nothing(void *data)
{
	(void)data;
}

/* A power failure took all of it but its name, or only its head; or another program has written to
 * it, too. */
static void make_unwritten(const char *path, bool has_rest, bool has_more)
{
	static const char zeros[HEAD_BYTES];
	int fd;

	assert_int_equal(migrate_make_file(path, 0600, do_nothing, NULL), 0);
	fd = open(path, O_RDWR);
	for (off_t at = 0; at < (has_rest ? HEAD_BYTES : (off_t)schema_image_bytes);
		at += HEAD_BYTES)
		assert_int_equal(pwrite(fd, zeros, HEAD_BYTES, at), HEAD_BYTES);
	if (has_more)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)schema_image_bytes - 1), 1);
	close(fd);
}

STORE_CASE(what_the_power_left_unwritten_goes)
{
	char path[4][160];
	unsigned aside = 0;

	start_service(h);
	snprintf(path[3], sizeof(path[3]), "%s/%u", h->dir, (unsigned)getuid());
	assert_int_equal(mkdir(path[3], 0700), 0);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%u/%u.db", h->dir, (unsigned)getuid(), i);
		make_unwritten(path[i], i > 0, i > 1);
	}
	start_in(h, h->dir);
	assert_int_equal(store_recover(h->store, NULL), 0);
	while (life_wait(h) != STORE_LEFT_DONE)
		aside += h->answer.kind == STORE_SET_ASIDE;
	assert_int_equal(access(path[0], F_OK), -1);
	assert_int_equal(access(path[1], F_OK), -1);
	/* What a user may have wanted is kept. */
	assert_int_equal(aside, 1);
	assert_int_equal(access(path[2], F_OK), 0);
}

/* A closed session of a store that lay in another folder and was not opened since it was moved. */
static void make_moved(struct harness *h, const char *index)
{
	struct store_session_params params = {
		.name = "job", .job = "1", .dir = h->dir, .uid = getuid(), .create = STORE_RESUME};
	sqlite3 *db;

	start_service(h);
	(void)open_session(h, &params);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	start_service(h);
	h->store = store_free(h->store);
	assert_int_equal(sqlite3_open(index, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				 "UPDATE session SET bytes = NULL, database = '/before/store' || "
				 "substr(database, length(rtrim(rtrim(rtrim(database, "
				 "replace(database, '/', '')), '/'), '0123456789')))",
				 NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_changes(db), 1);
	sqlite3_close(db);
	start_in(h, h->dir);
}

/* It is asked once: where the index says that its file is before it is told, nothing lies. */
STORE_CASE(a_store_that_was_moved_is_weighed_where_it_is)
{
	char index[96];

	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	make_moved(h, index);
	go_round(h);
	assert_int_equal(store_recover(h->store, NULL), 0);
	harness_wait(h, STORE_LEFT_DONE);
	go_round(h);
	h->store = store_free(h->store);
	assert_true(sql_number(index, "SELECT bytes FROM session") > 0);
}

static int elsewhere(sqlite3 *db)
{
	sqlite3_stmt *row;
	int count;

	assert_int_equal(sqlite3_prepare_v2(db,
				 "SELECT count(*) FROM session WHERE database LIKE '/before/%'", -1,
				 &row, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	count = sqlite3_column_int(row, 0);
	sqlite3_finalize(row);
	return count;
}

/* Another process locks the index, or the disk is full: until the index says where its files are,
 * none counts as missing. */
STORE_CASE(a_store_that_was_moved_is_settled_when_it_can_be)
{
	time_t deadline = time(NULL) + 300;
	char index[96];
	sqlite3 *db;

	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	make_moved(h, index);
	assert_int_equal(sqlite3_open(index, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 300000);
	assert_int_equal(
		sqlite3_exec(db, "UPDATE session SET end_realtime_ns = NULL", NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(store_recover(h->store, NULL), 0);
	while (life_wait(h) != STORE_LEFT_DONE)
		assert_int_not_equal(h->answer.kind, STORE_REMOVED);
	assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	while (elsewhere(db))
		assert_true(time(NULL) < deadline);
	sqlite3_close(db);
	h->store = store_free(h->store);
	assert_number(index, "SELECT count(*) FROM session", 1);
	assert_number(index, "SELECT count(*) FROM removed", 0);
}

/* ---- an owner that locks files it may read ------------------------------------------------ */

static void path_of(const struct harness *h, unsigned i, const char *ending, char ret[160])
{
	snprintf(ret, 160, "%s/%u/job%u.db%s", h->dir, (unsigned)getuid(), i, ending);
}

/* A collector that is killed with LOCKED sessions open. */
static void be_killed(struct harness *h)
{
	char name[16];
	struct store_session_params params = {
		.name = name, .job = name, .dir = h->dir, .uid = getuid(), .create = STORE_RESUME};

	start_service(h);
	for (unsigned i = 0; i < LOCKED; i++) {
		snprintf(name, sizeof(name), "job%u", i);
		(void)open_session(h, &params);
	}
	_exit(0);
}

/* For reading it is enough to open the file; a process that makes the index of the log needs this
 * lock. */
static void hold_logs(const struct harness *h, int ready)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 120, .l_len = 1};
	char path[160];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* of a test that failed nothing stays */
	for (unsigned i = 0; i < LOCKED; i++) {
		path_of(h, i, "-shm", path);
		if (fcntl(open(path, O_RDONLY), F_SETLK, &lock) < 0)
			_exit(1);
	}
	if (write(ready, "", 1) == 1)
		(void)pause();
	_exit(1);
}

static void wait_end(pid_t pid, int want)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, want);
}

static unsigned recover_and_count(struct harness *h, enum store_answer_kind kind)
{
	unsigned count = 0;

	start_in(h, h->dir);
	assert_int_equal(store_recover(h->store, NULL), 0);
	while (life_wait(h) != STORE_LEFT_DONE)
		count += h->answer.kind == kind;
	return count;
}

/* All others wait meanwhile. */
STORE_CASE(locks_on_files_of_a_user_cost_a_short_wait_each)
{
	int ready[2];
	pid_t pid;
	char word;

	h->store = store_free(h->store);
	pid = fork();
	if (!pid)
		be_killed(h);
	wait_end(pid, 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid)
		hold_logs(h, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &word, 1), 1);
	close(ready[0]);
	atomic_store(&slept_us, 0);
	atomic_store(&is_awake, true);
	assert_int_equal(recover_and_count(h, STORE_LEFT_FAILED), LOCKED);
	atomic_store(&is_awake, false);
	assert_true(atomic_load(&slept_us) > 0);
	assert_true(atomic_load(&slept_us) <= WAITED_US_MAX);
	/* As they were: once he lets go they are gone on with. */
	assert_int_equal(kill(pid, SIGKILL), 0);
	wait_end(pid, SIGKILL);
	assert_int_equal(recover_and_count(h, STORE_LEFT_SESSION), LOCKED);
}

int main(void)
{
	count_opened_files(); /* before a store has its way to files */
	return test_run(NULL, NULL);
}
