// SPDX-License-Identifier: MIT
/* The reader of pages finds in every file what SQLite finds in it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/database/query_internal.h"
#include "proto/base/cleanup.h"
#include "tests/lib/answer.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#define COLUMNS	     7
#define DAMAGES	     300
#define DAMAGES_LONG 1500
#define ROWS_PLAIN   3000

static char folder[] = "/tmp/rtl-pages-XXXXXX", path[64];

/* The columns of the query tree_dispatches; dispatches has four of them. */
static const char all[] = "shape_id, start, duration, submit, tid, marker, call";
static const char folded[] = "shape_id, start, duration, call";

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/a.db", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return folder_remove(folder);
}

static void do_sql(const char *sql)
{
	sqlite3 *db;
	char *error = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &error))
		fail_msg("%s: %s", sql, error);
	sqlite3_close(db);
}

/* Two ranks of 1,000 kernels, by fixture.py; their rows are taken away. */
static void make_file(unsigned page_bytes)
{
	CLEANUP(free_p) char *command = NULL;
	char sql[128];

	unlink(path);
	assert_true(
		asprintf(&command, "%s %s clean %s %s", PYTHON, FIXTURE, SCHEMA_FOLDER, path) > 0);
	assert_int_equal(system(command), 0);
	(void)snprintf(sql, sizeof(sql), "DELETE FROM rtl_dispatch; PRAGMA page_size = %u; VACUUM",
		page_bytes);
	do_sql(sql);
}

static void add_rows(unsigned count)
{
	char sql[800];

	(void)snprintf(sql, sizeof(sql), ANSWER_ROWS_SQL, count);
	do_sql(sql);
}

static void ask_sqlite(const char *columns, const char *condition, struct answer *ret)
{
	CLEANUP(free_p) char *sql = NULL;
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	int code;

	*ret = (struct answer){0};
	assert_true(asprintf(&sql, "SELECT %s FROM rtl_dispatch %s", columns, condition) > 0);
	code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
	if (!code)
		code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
	while (!code && (code = sqlite3_step(statement)) == SQLITE_ROW) {
		code = 0;
		ret->rows++;
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			bool is_null = sqlite3_column_type(statement, i) == SQLITE_NULL;

			answer_add(ret, sqlite3_column_int64(statement, i), is_null);
		}
	}
	ret->is_error = code != SQLITE_DONE;
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

/* True: from the pages. */
static bool ask_rows(struct query *query, struct answer *ret)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "tree_dispatches", &rows);

	*ret = (struct answer){0};
	while (!r && (r = query_next(rows)) > 0) {
		r = 0;
		ret->rows++;
		for (int i = 0; i < COLUMNS; i++)
			answer_add(ret, query_integer(rows, i), query_is_null(rows, i));
	}
	ret->is_error = r < 0;
	return rows && rows->pages;
}

static void check_same(const struct answer *a, const struct answer *b, const char *what)
{
	if (!answer_is_same(a, b))
		fail_msg("%s: %" PRIu64 " rows (%s), SQLite has %" PRIu64 " (%s)%s", what, a->rows,
			a->is_error ? "an error" : "fine", b->rows,
			b->is_error ? "an error" : "fine",
			a->rows == b->rows ? ", other numbers" : "");
}

/* Both ways to ask, and whether the pages gave the whole answer. */
static bool check(const char *what)
{
	CLEANUP(query_free_p) struct query *query = NULL;
	struct answer rows, fold = {0}, sqlite;
	char error[QUERY_ERROR_BYTES];
	bool is_of_pages;

	if (query_open(path, error, &query))
		return false; /* a file that does not open is asked nothing */
	is_of_pages = ask_rows(query, &rows);
	ask_sqlite(all, "", &sqlite);
	check_same(&rows, &sqlite, what);
	fold.is_error = query_fold(query, "dispatches", answer_take, &fold) < 0;
	ask_sqlite(folded, "", &sqlite);
	check_same(&fold, &sqlite, what);
	return is_of_pages;
}

TEST_CASE(rows_of_a_closed_file_come_from_its_pages)
{
	static const unsigned pages[] = {512, 4096, 65536}, rows[] = {0, 1, ROWS_PLAIN};

	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
			make_file(pages[i]);
			add_rows(rows[k]);
			assert_true(check("plain"));
		}
}

/* Gaps, pages of other tables between, ids of nine bytes and below 0, rows of less columns. */
TEST_CASE(holes_and_odd_ids_are_as_sqlite_has_them)
{
	make_file(1024);
	add_rows(ROWS_PLAIN);
	do_sql("DELETE FROM rtl_dispatch WHERE rowid % 7 = 3 OR rowid BETWEEN 400 AND 900");
	add_rows(100);
	do_sql("INSERT INTO rtl_dispatch (rowid, shape_id, seq, call) VALUES "
	       "(-5, 1, 2, 3), (9223372036854775807, 4, 5, 6), (1 << 40, 7, 8, 9);"
	       "ALTER TABLE rtl_dispatch ADD COLUMN late INTEGER");
	assert_true(check("holes"));
}

TEST_CASE(a_range_of_rows_is_what_sqlite_finds_there)
{
	static const int64_t parts[][2] = {{1, 1}, {1, ROWS_PLAIN}, {500, 1500}, {1499, 1501},
		{ROWS_PLAIN, ROWS_PLAIN + 9}, {ROWS_PLAIN + 1, INT64_MAX}, {-9, 0}, {700, 600},
		{INT64_MIN, INT64_MAX}};
	char error[QUERY_ERROR_BYTES], condition[96];

	make_file(512);
	add_rows(ROWS_PLAIN);
	do_sql("DELETE FROM rtl_dispatch WHERE rowid % 5 = 0");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		CLEANUP(query_free_p) struct query *query = NULL;
		struct answer rows, sqlite;

		assert_int_equal(query_open(path, error, &query), 0);
		assert_int_equal(query_do(query, "part_begin", parts[i], 2), 0);
		assert_true(ask_rows(query, &rows));
		(void)snprintf(condition, sizeof(condition),
			"WHERE rowid BETWEEN %" PRId64 " AND %" PRId64, parts[i][0], parts[i][1]);
		ask_sqlite(all, condition, &sqlite);
		check_same(&rows, &sqlite, condition);
		assert_int_equal(query_do(query, "part_end", NULL, 0), 0);
		(void)ask_rows(query, &rows);
		ask_sqlite(all, "", &sqlite);
		check_same(&rows, &sqlite, "after the part");
	}
}

TEST_CASE(unusual_columns_and_files_are_left_to_sqlite)
{
	static const char *const ways[] = {
		"UPDATE rtl_dispatch SET call = 'text' WHERE rowid = 2000",
		"UPDATE rtl_dispatch SET duration = 1.5 WHERE rowid = 2999",
		"UPDATE rtl_dispatch SET marker = x'00' WHERE rowid = 1",
		"UPDATE rtl_dispatch SET tid = quote(zeroblob(5000)) WHERE rowid = 1700",
		"ALTER TABLE rtl_dispatch ADD COLUMN late INTEGER DEFAULT 5",
		"PRAGMA journal_mode = wal",
		"PRAGMA legacy_alter_table = 1; CREATE TABLE other AS SELECT * FROM rtl_dispatch; "
		"DROP TABLE rtl_dispatch;"
		"CREATE VIEW rtl_dispatch AS SELECT * FROM other",
		"PRAGMA legacy_alter_table = 1; CREATE TABLE other (shape_id INTEGER, seq INTEGER "
		"PRIMARY KEY, start INTEGER, "
		"duration INTEGER, submit INTEGER, tid INTEGER, marker INTEGER, call INTEGER);"
		"INSERT INTO other SELECT shape_id, seq, start, duration, submit, tid, marker, "
		"call "
		"FROM rtl_dispatch; DROP TABLE rtl_dispatch; ALTER TABLE other RENAME TO "
		"rtl_dispatch",
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		make_file(4096);
		add_rows(ROWS_PLAIN);
		assert_true(check("before"));
		do_sql(ways[i]);
		if (check(ways[i]))
			fail_msg("%s: nothing was left to SQLite", ways[i]);
	}
}

/* ---- damage --------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static size_t find_table_pages(unsigned *pages, size_t capacity)
{
	sqlite3 *db;
	size_t count;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	count = answer_pages(db, pages, capacity);
	sqlite3_close(db);
	return count;
}

/*
 * A byte of the table's pages (their heads more often than the rest), or a whole page in the place
 * of another: what SQLite makes of it, an error or other rows, is what we make of it.
 */
TEST_CASE(a_damaged_file_is_as_damaged_as_sqlite_finds_it)
{
	static const unsigned page_bytes = 512;
	const unsigned damages = getenv("RTL_TEST_LONG") ? DAMAGES_LONG : DAMAGES;
	unsigned pages[512], of_pages = 0;
	uint32_t seed = 2;
	size_t count;
	int fd;

	make_file(page_bytes);
	add_rows(1000);
	count = find_table_pages(pages, sizeof(pages) / sizeof(*pages));
	assert_true(count > 50);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	for (unsigned i = 0; i < damages; i++) {
		/* The first few are the inner ones. */
		size_t which = next_random(&seed) % (i % 2 ? count : 8);
		off_t at = (off_t)(pages[which] - 1) * page_bytes;
		uint8_t good[512], bad[512];
		char what[64];

		assert_int_equal(pread(fd, good, page_bytes, at), page_bytes);
		memcpy(bad, good, page_bytes);
		if (i % 10 == 9)
			assert_int_equal(pread(fd, bad, page_bytes,
						 (off_t)(pages[next_random(&seed) % count] - 1) *
							 page_bytes),
				page_bytes);
		else
			bad[next_random(&seed) % (i % 3 ? page_bytes : 40)] ^=
				(uint8_t)(1u << next_random(&seed) % 8);
		assert_int_equal(pwrite(fd, bad, page_bytes, at), page_bytes);
		(void)snprintf(what, sizeof(what), "damage %u, page %u", i, pages[which]);
		of_pages += check(what);
		assert_int_equal(pwrite(fd, good, page_bytes, at), page_bytes);
	}
	close(fd);
	assert_true(check("mended"));
	/* Neither is the test of one way alone. */
	assert_in_range(of_pages, damages / 10, damages - damages / 10);
}

int main(void)
{
	return test_run(make_folder, remove_folder);
}
