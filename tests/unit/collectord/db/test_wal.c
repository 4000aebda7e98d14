// SPDX-License-Identifier: MIT
/*
 * A log that breaks off although a commit lies behind has lost something (logs_cut). None of what a
 * writer leaves that fails or is killed at the very end of a commit may look like that: no client
 * was told that it is stored. The moments are microseconds long, so each is made here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/db/rows/checkpoint.h"
#include "collectord/db/watched_vfs.h"
#include "collectord/store/internal.h"
#include "collectord/db/wal.h"
#include "collectord/db/rows/writer.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "tests/unit/collectord/store/harness.h"
#include "tests/reliability/vfs/fault_vfs.h"

/* Two copies of its header, of 48 bytes: what SQLite knows of the log. */
#define INDEX_HEADER_BYTES 96

static const struct fault_vfs none = {.kinds = FAULT_VFS_WRITE};
static struct msg_arena arena;

static void copy_file(const char *from, const char *to, const char *suffix)
{
	char path[160], bytes[65536];
	int in, out;
	ssize_t n;

	snprintf(path, sizeof(path), "%s%s", from, suffix);
	in = open(path, O_RDONLY);
	snprintf(path, sizeof(path), "%s%s", to, suffix);
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(out >= 0);
	while (in >= 0 && (n = read(in, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(out, bytes, (size_t)n), n);
	close(in);
	close(out);
}

/* What the next collector would say of @path if its writer were killed now and no process read it.
 */
static bool is_cut_if_killed(const char *path)
{
	struct writer *writer;
	char copy[128];
	bool is_cut;

	fault_vfs_set(&none);
	snprintf(copy, sizeof(copy), "%s.killed", path);
	copy_file(path, copy, "");
	copy_file(path, copy, "-wal");
	assert_int_equal(writer_open(copy, &arena, NULL, &writer), 0);
	is_cut = writer->was_cut;
	writer_free(writer);
	return is_cut;
}

static void run(struct writer *writer, const char *sql)
{
	assert_int_equal(database_exec(writer->db, sql), 0);
}

/* Some 60 pages; some of them twice. */
static void write_long(struct writer *writer)
{
	assert_int_equal(writer_begin(writer), 0);
	run(writer,
		"INSERT INTO t WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) "
		"SELECT i, zeroblob(100000) FROM n");
	run(writer, "UPDATE t SET x = zeroblob(99999)");
}

static void write_short(struct writer *writer)
{
	assert_int_equal(writer_begin(writer), 0);
	run(writer, "INSERT INTO t VALUES (1, 1)");
	assert_int_equal(writer_commit(writer), 0);
}

/* A database with a table of its own, always the same. */
static struct writer *make(struct harness *h, const char *path)
{
	struct writer *writer;

	(void)h;
	fault_vfs_set(&none);
	(void)unlink(path);
	close(open(path, O_RDWR | O_CREAT | O_EXCL, 0600));
	assert_int_equal(writer_open(path, &arena, NULL, &writer), 0);
	run(writer, "CREATE TABLE t(n, x)");
	assert_int_equal(database_checkpoint(writer->db), 0);
	fault_vfs_set(&none);
	return writer;
}

static uint64_t count_writes(struct harness *h, const char *path)
{
	struct writer *writer = make(h, path);
	uint64_t n;

	write_long(writer);
	assert_int_equal(writer_commit(writer), 0);
	n = fault_vfs_operations();
	writer_free(writer);
	return n;
}

STORE_CASE(a_commit_that_failed_in_its_last_write)
{
	struct fault_vfs fault = none;
	struct writer *writer;

	fault.fail_at =
		count_writes(h, h->path); /* the last page; that it ends a commit is written */
	writer = make(h, h->path);
	fault_vfs_set(&fault);
	write_long(writer);
	assert_int_not_equal(writer_commit(writer), 0);
	fault_vfs_set(&none);
	assert_int_equal(writer_rollback(writer), 0);
	write_short(writer); /* covers the first frames of the long one */
	assert_false(is_cut_if_killed(h->path));
	writer_free(writer);
}

STORE_CASE(a_commit_that_died_before_the_index_knew_of_it)
{
	struct writer *writer = make(h, h->path);
	char index[128], header[INDEX_HEADER_BYTES];
	sqlite3 *reader;
	int shm;

	assert_int_equal(sqlite3_open(h->path, &reader), SQLITE_OK);
	assert_int_equal(database_exec(reader, "SELECT count(*) FROM t"), 0);
	write_short(writer);
	snprintf(index, sizeof(index), "%s-shm", h->path);
	shm = open(index, O_RDWR); /* closed last: closing drops SQLite's locks */
	assert_int_equal(pread(shm, header, sizeof(header), 0), sizeof(header));
	write_long(writer);
	assert_int_equal(writer_commit(writer), 0);
	assert_int_equal(pwrite(shm, header, sizeof(header), 0), sizeof(header));
	writer_detach(writer); /* as if it were killed: no checkpoint */
	writer_free(writer);
	/* The reader keeps the index: the next one goes on where that ends. */
	assert_int_equal(writer_open(h->path, &arena, NULL, &writer), 0);
	assert_false(writer->was_cut);
	write_short(writer);
	assert_number(h->path, "SELECT count(*) FROM t", 2);
	assert_false(is_cut_if_killed(h->path));
	writer_free(writer);
	sqlite3_close(reader);
	close(shm);
}

/*
 * With next to no cache, pages are written to the log before the commit and then once more over
 * that; SQLite mends the sums after the commit's frame. A writer that dies at any of these writes.
 */
STORE_CASE(a_commit_of_more_than_the_cache_holds)
{
	struct fault_vfs fault = none;
	struct writer *writer;
	uint64_t count;

	writer = make(h, h->path);
	write_short(writer);
	run(writer, "PRAGMA cache_size=10");
	fault_vfs_set(&none);
	write_long(writer);
	assert_int_equal(writer_commit(writer), 0);
	count = fault_vfs_operations();
	writer_free(writer);
	fault.for_ever = true;
	for (fault.fail_at = count; fault.fail_at > count - 40; fault.fail_at -= 3) {
		writer = make(h, h->path);
		write_short(writer);
		run(writer, "PRAGMA cache_size=10");
		fault_vfs_set(&fault);
		write_long(writer);
		assert_int_not_equal(writer_commit(writer), 0);
		assert_false(is_cut_if_killed(h->path));
		writer_detach(writer);
		writer_free(writer);
		copy_file("/dev/null", h->path, "-wal");
	}
}

/* The loss is noticed even if nothing of the WAL is left. */
STORE_CASE(a_log_damaged_in_its_first_transaction)
{
	struct writer *writer = make(h, h->path);
	char path[128];
	int fd;

	write_short(writer);
	write_short(writer);
	snprintf(path, sizeof(path), "%s-wal", h->path);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, "damage", 6, 1000), 6);
	close(fd);
	assert_true(is_cut_if_killed(h->path));
	writer_free(writer);
}

/* The header of a file's first log is not waited for: what stands behind a lost one was committed.
 */
STORE_CASE(a_log_whose_header_never_came)
{
	static const char zeros[WAL_HEADER_BYTES];
	struct writer *writer = make(h, h->path);
	char path[128];
	int fd;

	write_short(writer);
	assert_false(is_cut_if_killed(h->path));
	snprintf(path, sizeof(path), "%s-wal", h->path);
	fd = open(path, O_WRONLY);
	assert_int_equal(pwrite(fd, zeros, sizeof(zeros), 0), sizeof(zeros));
	close(fd);
	assert_true(is_cut_if_killed(h->path));
	writer_free(writer);
}

static unsigned pages_of(unsigned bytes)
{
	return bytes / DATABASE_PAGE_BYTES;
}

static void write_to(struct writer *writer, unsigned pages)
{
	while (writer->log_pages < pages) {
		write_long(writer);
		assert_int_equal(writer_commit(writer), 0);
	}
}

/* Rows of @path, which lacks its log. */
static int64_t count_without_log(const char *path)
{
	char copy[128];

	snprintf(copy, sizeof(copy), "%s.alone", path);
	copy_file(path, copy, "");
	return sql_number(copy, "SELECT count(*) FROM t");
}

/* How often the kernel was asked to begin writing. */
static unsigned sent;

int __real_sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags);
int __wrap_sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags);

int __wrap_sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags)
{
	int r = __real_sync_file_range(fd, offset, bytes, flags);

	assert_int_equal(r, 0);
	assert_int_equal(flags, SYNC_FILE_RANGE_WRITE); /* and waits for nothing */
	sent++;
	return r;
}

STORE_CASE(a_log_goes_into_the_file_in_steps)
{
	struct checkpoints last = {0};
	struct writer *writer = make(h, h->path);
	int64_t rows;

	write_short(writer);
	checkpoint_step(&last, writer, false);
	assert_int_equal(last.ended_ns, 0); /* not worth it */
	assert_int_equal(sent, 0);
	write_to(writer, pages_of(WAL_STEP_BYTES));
	rows = sql_number(h->path, "SELECT count(*) FROM t");
	assert_int_equal(count_without_log(h->path), 0);
	assert_int_equal(writer_begin(writer), 0);
	checkpoint_step(&last, writer, false);
	assert_int_equal(last.ended_ns, 0); /* nor within a transaction */
	assert_int_equal(writer_rollback(writer), 0);
	checkpoint_step(&last, writer, false);
	assert_int_not_equal(last.took_ns, 0);
	assert_int_equal(sent, 0);
	assert_int_equal(count_without_log(h->path), rows);
	write_short(writer);
	assert_true(writer->log_pages < pages_of(WAL_STEP_BYTES)); /* begun anew */
	/* After much the next one is for more. */
	last = (struct checkpoints){0};
	writer->life_pages = UINT64_MAX / 2;
	write_to(writer, pages_of(WAL_STEP_BYTES));
	checkpoint_step(&last, writer, false);
	assert_int_equal(last.ended_ns, 0);
	assert_int_equal(sent, 1); /* but it is on its way: the step will wait for less */
	writer->life_pages = 0;
	/* One that took long is not soon followed by another, until the log is as long as it may
	 * be. */
	last = (struct checkpoints){clock_monotonic_ns(), UINT64_MAX / 16};
	write_to(writer, pages_of(WAL_CHECKPOINT_BYTES) / 2);
	checkpoint_step(&last, writer, false);
	assert_int_equal(last.took_ns, UINT64_MAX / 16);
	assert_int_equal(sent, 2);
	assert_int_equal(count_without_log(h->path), rows);
	write_to(writer, pages_of(WAL_CHECKPOINT_BYTES));
	assert_int_equal(count_without_log(h->path), sql_number(h->path, "SELECT count(*) FROM t"));
	writer_free(writer);
}

static off_t bytes_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* The end of the process, which the user waits for, then has less than a step to write. */
STORE_CASE(a_log_goes_into_the_file_when_all_have_said_bye)
{
	const uint64_t deadline_ns = clock_monotonic_ns() + 300000000000u;
	const off_t least = WAL_STEP_BYTES / 4;
	struct frames f = {0};
	off_t before;

	harness_open(h);
	before = bytes_of(h->path);
	/* A machine that takes a transaction for each of them fills a log faster than by rows. */
	pthread_mutex_lock(&h->store->lock);
	h->store->checkpoints = (struct checkpoints){clock_monotonic_ns(), UINT64_MAX / 16};
	pthread_mutex_unlock(&h->store->lock);
	peer_add_defines(&f);
	peer_add_anchors(&f, 100000000);
	for (uint64_t n = 1; n <= 15; n++) {
		peer_add_dispatches(&f, n, 1, (n - 1) * 1000, 1000);
		harness_send(h, &f);
	}
	harness_wait_commit(h, 15);
	assert_true(bytes_of(h->path) == before);
	peer_add_bye(&f);
	harness_send(h, &f);
	while (bytes_of(h->path) - before < least && clock_monotonic_ns() < deadline_ns)
		(void)poll(NULL, 0, 1);
	assert_true(bytes_of(h->path) - before >= least);
	assert_int_equal(store_process_end(h->process, -1, STORE_ENDED_EXITED, 0), 0);
	harness_wait(h, STORE_PROCESS_ENDED);
}

/* ---- the first reader ------------------------------------------------------------------------ */

static sqlite3 *holder;
static unsigned sleeps;

/* The writer waits: the reader is through. */
static int let_go(sqlite3_vfs *vfs, int us)
{
	(void)vfs;
	sleeps++;
	assert_int_equal(sqlite3_exec(holder, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
	return us;
}

/* A reader that finds a log without an index makes the index, and holds the write lock for that
 * moment. */
STORE_CASE(a_reader_holds_up_an_opening_for_a_moment)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(pace_vfs());
	struct writer *writer = make(h, h->path);
	int (*sleep)(sqlite3_vfs *, int) = vfs->xSleep;

	writer_free(writer);
	sleeps = 0;
	vfs->xSleep = let_go;
	assert_int_equal(sqlite3_open(h->path, &holder), SQLITE_OK);
	assert_int_equal(sqlite3_exec(holder, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(writer_open(h->path, &arena, NULL, &writer), 0);
	assert_int_equal(sleeps, 1);
	/* Once the file is open the writer waits for no other process. */
	assert_int_equal(sqlite3_exec(holder, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(writer_begin(writer), -EBUSY);
	assert_int_equal(sleeps, 1);
	vfs->xSleep = sleep;
	sqlite3_close(holder);
	writer_free(writer);
}

int main(void)
{
	int r;

	fault_vfs_install();
	msg_arena_init(&arena, 1u << 20);
	r = test_run(NULL, NULL);
	msg_arena_done(&arena);
	return r;
}
