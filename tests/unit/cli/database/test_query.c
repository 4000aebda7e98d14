// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/trace/kernels/interval_union.h"
#include "cli/trace/kernels/kernel_totals.h"
#include "cli/database/query.h"
#include "cli/database/query_text.h"
#include "cli/database/session/verdict.h"
#include "proto/names/schema.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

static char folder[] = "/tmp/rtl-query-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[4][256];
	static unsigned next;
	char *at = path[next++ % 4];

	snprintf(at, sizeof(path[0]), "%s/%s", folder, name);
	return at;
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return folder_remove(folder);
}

static const char *make_fixture(const char *kind)
{
	const char *path = in_folder(kind);
	char *command;

	unlink(path);
	assert_true(asprintf(&command, "%s %s %s %s %s", PYTHON, FIXTURE, kind, SCHEMA_FOLDER,
			    path) > 0);
	assert_int_equal(system(command), 0);
	free(command);
	return path;
}

static struct query *open_fixture(const char *kind)
{
	char error[QUERY_ERROR_BYTES];
	struct query *query = NULL;

	assert_int_equal(query_open(make_fixture(kind), error, &query), 0);
	return query;
}

static void ask(struct query *query, const char *name, int version)
{
	struct query_rows *rows = NULL;
	int r = query_ask(query, name, &rows);

	while (!r && (r = query_next(rows)) > 0)
		r = 0;
	if (r)
		fail_msg("schema %d, query %s: %s", version, name, query_error(query));
	query_rows_free_p(&rows);
}

static unsigned ask_everything(struct query *query, int version)
{
	unsigned count = 0;

	for (const struct query_text *text = query_texts; text->name; text++, count++)
		if (!strstr(text->sql, "\n-- do\n")) /* see check_part() */
			ask(query, text->name, version);
	return count;
}

static int64_t ask_number(struct query *query, const char *sql);

/* A part of the file is all that its questions see, and then the whole again. */
static void check_part(struct query *query, int version, int64_t rows)
{
	static const char *const names[] = {"part_begin", "part_times", "part_copies", "part_calls",
		"part_calls_of", "part_captured"};
	/* What a time line and collectives ask. */
	static const char *const asked[] = {"shapes", "lane_rows", "dispatch_submits",
		"dispatch_sequence", "timeline_dispatches", "timeline_copy_lanes", "copy_times",
		"copy_lanes", "copies", "timeline_waits", "timeline_collectives",
		"collective_parts", "kernel_collective_parts", "nested_calls", "step_markers",
		"captured_calls", "captured_kernels", "graph_calls", "graph_nodes"};
	const int64_t numbers[][2] = {
		{11, 20}, {0, INT64_MAX}, {0, 0}, {0, 0}, {0, INT64_MAX}, {0, INT64_MAX}};
	int64_t count;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (query_do(query, names[i], numbers[i], 2))
			fail_msg("schema %d, query %s: %s", version, names[i], query_error(query));
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		ask(query, asked[i], version);
	assert_int_equal(query_number(query, "dispatch_ids", 0, &count), 0);
	assert_int_equal(count, rows ? 11 : 0);
	assert_int_equal(query_do(query, "part_end", NULL, 0), 0);
	assert_int_equal(query_number(query, "dispatch_ids", 0, &count), 0);
	assert_int_equal(count, rows ? 1 : 0);
	assert_int_equal(ask_number(query, "SELECT count(*) FROM rtl_dispatch"), rows);
}

TEST_CASE(every_question_fits_the_schema)
{
	struct query *query = open_fixture("clean");

	assert_true(ask_everything(query, SCHEMA_VERSION) > 10);
	check_part(query, SCHEMA_VERSION, 2000);
	query_free_p(&query);
}

/* Makes a file as a collector of that version left it, without a process. */
static const char *make_older(int version)
{
	const char *path = in_folder("older");
	char *command;

	unlink(path);
	assert_true(
		asprintf(&command,
			"for n in $(seq %d); do cat %s/$(printf %%04d $n)_*.sql; done | sqlite3 %s "
			"&& "
			"sqlite3 %s 'PRAGMA application_id=%d; PRAGMA user_version=%d'",
			version, SCHEMA_FOLDER, path, path, SCHEMA_APPLICATION_ID, version) > 0);
	assert_int_equal(system(command), 0);
	free(command);
	return path;
}

TEST_CASE(every_question_is_answered_for_older_schemas)
{
	char error[QUERY_ERROR_BYTES];

	for (int version = 1; version < SCHEMA_VERSION; version++) {
		struct query *query = NULL;

		assert_int_equal(query_open(make_older(version), error, &query), 0);
		assert_true(ask_everything(query, version) > 10);
		check_part(query, version, 0);
		query_free_p(&query);
	}
}

static void write_file(const char *path, const char *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), (ssize_t)length);
	close(fd);
}

static void check_refused(const char *path, int expected, const char *words)
{
	char error[QUERY_ERROR_BYTES] = "";
	struct query *query = NULL;

	assert_int_equal(query_open(path, error, &query), expected);
	assert_null(query);
	assert_non_null(strstr(error, words));
	assert_null(strchr(error, '\n'));
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

TEST_CASE(a_file_that_is_no_session_database_is_refused)
{
	const char *path = in_folder("other");
	struct stat st;

	check_refused(in_folder("missing"), -ENOENT, "no such file or session");
	check_refused(folder, -EISDIR, "is a directory");
	write_file(path, "", 0);
	check_refused(path, -EINVAL, "empty");
	write_file(path,
		"hello, this is a text, and a long one, "
		"so that it is longer than the header of a database would be, as it is not",
		100);
	check_refused(path, -EINVAL, "not an rtl database");
	write_file(path, "SQLite format 3", 16);
	check_refused(path, -EBADMSG, "truncated");
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	check_refused(in_folder("fifo"), -EINVAL, "not a regular file");
	unlink(path);
	run_sql(path, "CREATE TABLE foreigner (a)");
	check_refused(path, -EINVAL, "not an rtl database");
	path = make_fixture("clean");
	run_sql(path, "PRAGMA user_version = 99");
	check_refused(path, -ENOTSUP, "newer than this rtl");
	path = make_fixture("clean");
	assert_int_equal(stat(path, &st), 0);
	for (off_t size = st.st_size - 1; size > 100; size -= st.st_size / 7) {
		assert_int_equal(truncate(path, size), 0);
		check_refused(path, -EBADMSG, "truncated or damaged");
	}
}

TEST_CASE(columns_that_an_older_schema_lacks_are_empty)
{
	const char *path = make_fixture("clean");
	char error[QUERY_ERROR_BYTES];
	struct query_rows *rows = NULL;
	struct query *query = NULL;

	run_sql(path, "DROP VIEW rtl_copy; DROP TABLE rtl_copy_base; PRAGMA user_version = 3");
	assert_int_equal(query_open(path, error, &query), 0);
	assert_int_equal(query_ask(query, "copies", &rows), 0);
	assert_int_equal(query_next(rows), 0);
	query_rows_free_p(&rows);
	query_free_p(&query);
}

TEST_CASE(a_live_database_is_read_at_one_moment)
{
	const char *path = make_fixture("live");
	char error[QUERY_ERROR_BYTES];
	struct query *query = NULL;
	struct verdict *before = NULL, *after = NULL;
	sqlite3 *writer;

	assert_int_equal(sqlite3_open(path, &writer), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(writer, "UPDATE rtl_queue SET dispatched = 7777", NULL, NULL, NULL),
		0);
	assert_int_equal(query_open(path, error, &query), 0);
	assert_true(query_is_live(query));
	assert_int_equal(verdict_new(query, NULL, &before), 0);
	assert_int_equal(before->counts.dispatched, 2 * 7777);
	assert_true(before->counts.live);
	assert_false(before->is_complete);
	/* The writer is not held up, and does not change what we read. */
	assert_int_equal(
		sqlite3_exec(writer, "UPDATE rtl_queue SET dispatched = 8888", NULL, NULL, NULL),
		0);
	assert_int_equal(verdict_new(query, NULL, &after), 0);
	assert_int_equal(after->counts.dispatched, 2 * 7777);
	verdict_free_p(&before);
	verdict_free_p(&after);
	query_free_p(&query);
	/* A connection that only reads leaves the log to the writer. */
	assert_int_equal(access(in_folder("live-wal"), F_OK), 0);
	sqlite3_close(writer);
}

/* Opens the file as an unprivileged user, since root may write everywhere. */
static int open_unprivileged(const char *path)
{
	char error[QUERY_ERROR_BYTES] = "";
	struct query *query = NULL;
	pid_t pid = fork();
	int status;

	if (!pid) {
		int64_t count = 0;
		int r = 0;

		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(100);
		r = query_open(path, error, &query);
		if (!r)
			r = query_number(query, "process_count", 0, &count);
		_exit(r ? -r : count == 2 ? 0 : 101);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST_CASE(a_read_only_directory_is_enough)
{
	const char *closed, *wal;

	closed = make_fixture("clean");
	wal = make_fixture("live"); /* WAL in its header, and no log: its writer is gone */
	assert_int_equal(chmod(closed, 0444), 0);
	assert_int_equal(chmod(wal, 0444), 0);
	assert_int_equal(chmod(folder, 0555), 0);
	assert_int_equal(open_unprivileged(closed), 0);
	assert_int_equal(open_unprivileged(wal), 0);
	assert_int_equal(chmod(closed, 0), 0);
	assert_int_equal(open_unprivileged(closed), EACCES);
	assert_int_equal(chmod(folder, 0700), 0);
}

static void check_asked(struct query *query, const char *sql, int expected)
{
	struct query_rows *rows = NULL;
	int r = query_ask_user(query, sql, &rows);

	while (!r && (r = query_next(rows)) > 0)
		r = 0;
	query_rows_free_p(&rows);
	if (r != expected)
		fail_msg("%s: %d: %s", sql, r, query_error(query));
}

TEST_CASE(users_can_only_read)
{
	static const char *const forbidden[] = {"DELETE FROM rtl_dispatch", "DROP VIEW top",
		"INSERT INTO rtl_meta VALUES ('a', 1)", "ATTACH '/tmp/x.db' AS x",
		"VACUUM INTO '/tmp/x.db'", "PRAGMA journal_mode = DELETE",
		"PRAGMA user_version = 5", "PRAGMA writable_schema = 1", "PRAGMA query_only = 0",
		"COMMIT", "CREATE TEMP TABLE t (a)", "REINDEX", "DETACH main"};
	struct query *query = open_fixture("clean");

	for (size_t i = 0; i < sizeof(forbidden) / sizeof(*forbidden); i++)
		check_asked(query, forbidden[i], -EPERM);
	check_asked(query, "SELECT load_extension('x')", -EINVAL);
	check_asked(query, "SELECT", -EINVAL);
	check_asked(query, "", -EINVAL);
	check_asked(query, "SELECT 1; SELECT 2", -EINVAL);
	check_asked(query, "SELECT 1; DELETE FROM rtl_meta", -EINVAL);
	check_asked(query, "SELECT 1; -- that was it", 0);
	check_asked(query, "PRAGMA user_version", 0);
	check_asked(query, "PRAGMA table_info(rtl_process)", 0);
	check_asked(query,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9)"
		" SELECT sum(i) FROM n",
		0);
	query_free_p(&query);
}

static int64_t ask_number(struct query *query, const char *sql)
{
	struct query_rows *rows = NULL;
	int64_t value;

	assert_int_equal(query_ask_user(query, sql, &rows), 0);
	assert_int_equal(query_next(rows), 1);
	value = query_integer(rows, 0);
	query_rows_free_p(&rows);
	return value;
}

static void check_kernels(struct query *query, const struct measure *m)
{
	struct query_rows *rows = NULL;
	size_t i = 0;

	assert_int_equal(
		query_ask_user(
			query, "SELECT Name, Calls, TotalNs, AvgNs, MinNs, MaxNs FROM top", &rows),
		0);
	for (; query_next(rows) > 0; i++) {
		const struct measure_kernel *k = m->kernels + i;

		assert_true(i < m->kernel_count);
		assert_string_equal(k->name, query_text(rows, 0));
		assert_int_equal(k->sums.calls, query_integer(rows, 1));
		assert_int_equal(k->sums.total_ns, query_integer(rows, 2));
		assert_int_equal(k->sums.total_ns / (int64_t)k->sums.timed, query_integer(rows, 3));
		assert_int_equal(k->sums.min_ns, query_integer(rows, 4));
		assert_int_equal(k->sums.max_ns, query_integer(rows, 5));
	}
	assert_int_equal(i, m->kernel_count);
	query_rows_free_p(&rows);
}

static void measure(struct query *query, struct trace **trace, struct measure **ret)
{
	assert_int_equal(trace_new(query, trace), 0);
	assert_int_equal(measure_new(*trace, &(struct measure_options){0}, ret), 0);
}

TEST_CASE(one_pass_says_what_the_views_say)
{
	static const char *const kinds[] = {"clean", "lossy", "hostile", "shared"};

	for (size_t k = 0; k < 4; k++) {
		struct query *query = open_fixture(kinds[k]);
		struct trace *trace = NULL;
		struct measure *m = NULL;
		char sql[256];

		measure(query, &trace, &m);
		check_kernels(query, m);
		assert_int_equal(m->rows, ask_number(query, "SELECT count(*) FROM rocpd_op"));
		for (size_t i = 0; i < m->gpu_count; i++) {
			snprintf(sql, sizeof(sql),
				"SELECT busy_ns FROM busy WHERE gpuId = %" PRId64,
				m->gpus[i].gpu_id);
			assert_int_equal(m->gpus[i].busy_ns, ask_number(query, sql));
			snprintf(sql, sizeof(sql),
				"SELECT wall_ns FROM busy WHERE gpuId = %" PRId64,
				m->gpus[i].gpu_id);
			assert_int_equal(
				m->gpus[i].last_ns - m->gpus[i].first_ns, ask_number(query, sql));
		}
		for (size_t i = 0; i < m->lane_count; i++) {
			snprintf(sql, sizeof(sql),
				"SELECT count(*) FROM rocpd_op WHERE process_id = %" PRId64
				" AND gpuId = %" PRId64,
				m->lanes[i].process_id, m->lanes[i].gpu_id);
			assert_int_equal(m->lanes[i].calls, ask_number(query, sql));
		}
		measure_free_p(&m);
		trace_free_p(&trace);
		query_free_p(&query);
	}
}

TEST_CASE(a_lossy_session_says_what_is_missing)
{
	struct query *query = open_fixture("lossy");
	struct verdict *v = NULL;
	struct trace *trace = NULL;
	struct measure *m = NULL;

	measure(query, &trace, &m);
	assert_int_equal(verdict_new(query, &m->rows, &v), 0);
	assert_string_equal(v->line,
		"SIMULATED INCOMPLETE: 2030 dispatched, 2001 stored, 27 dropped (quota 2, "
		"recorder_full 25), 1 untimed (timestamp_invalid 1), 1 outstanding, 1 skipped "
		"(coop 1)");
	assert_false(v->is_complete);
	verdict_free_p(&v);
	/* Without the measure the same words. */
	assert_int_equal(verdict_new(query, NULL, &v), 0);
	assert_non_null(strstr(v->line, "1 untimed (timestamp_invalid 1)"));
	verdict_free_p(&v);
	measure_free_p(&m);
	trace_free_p(&trace);
	query_free_p(&query);
}

TEST_CASE(rows_that_vanished_are_noticed)
{
	const char *path = make_fixture("clean");
	char error[QUERY_ERROR_BYTES];
	struct query *query = NULL;
	struct trace *trace = NULL;
	struct measure *m = NULL;
	struct verdict *v = NULL;

	run_sql(path, "DELETE FROM rtl_dispatch WHERE rowid % 100 = 0");
	assert_int_equal(query_open(path, error, &query), 0);
	measure(query, &trace, &m);
	assert_int_equal(verdict_new(query, &m->rows, &v), 0);
	assert_false(v->is_complete);
	assert_int_equal(v->counts.rows_missing, 20);
	verdict_free_p(&v);
	measure_free_p(&m);
	trace_free_p(&trace);
	query_free_p(&query);
}

/* Against a bitmap, with a bound that forces early sums. */
static void check_intervals(unsigned seed, size_t limit, unsigned disorder)
{
	enum { SPAN = 5000, COUNT = 800 };
	static unsigned char covered[SPAN + 200];
	struct intervals set;
	uint64_t expected = 0;

	memset(covered, 0, sizeof(covered));
	srand(seed);
	intervals_init(&set, limit);
	for (int i = 0; i < COUNT; i++) {
		int64_t start = (int64_t)(i * (SPAN / COUNT)) + rand() % (int)disorder;
		int64_t stop = start + rand() % 9;

		intervals_add(&set, start, stop);
		for (int64_t t = start; t < stop; t++)
			covered[t] = 1;
	}
	for (size_t i = 0; i < sizeof(covered); i++)
		expected += covered[i];
	if (!set.is_inexact)
		assert_int_equal(intervals_length(&set), expected);
	else
		assert_true(limit < SIZE_MAX && disorder > 50);
	intervals_done(&set);
}

TEST_CASE(a_union_is_exact_or_says_that_it_is_not)
{
	for (unsigned seed = 0; seed < 50; seed++) {
		check_intervals(seed, SIZE_MAX, 190);
		check_intervals(seed, INTERVALS_HELD_MAX, 190);
		check_intervals(seed, 64, 1);
		check_intervals(seed, 64, 20);
		check_intervals(seed, 64, 190);
	}
}

int main(void)
{
	return test_run(make_folder, remove_folder);
}
