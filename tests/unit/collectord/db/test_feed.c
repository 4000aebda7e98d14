// SPDX-License-Identifier: MIT
/* Rows that the feed writes down itself are those that SQLite would have written. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectord/db/migrate.h"
#include "collectord/db/rows/writer.h"
#include "proto/names/schema.h"
#include "tests/unit/collectord/ingest/both_feeds.h"
#include "tests/unit/collectord/store/harness.h"

#define INSERTED "shape_id, seq, start, duration, submit, tid, marker, untimed, call, node"

/* On both sides of each size that SQLite has for a number. */
static const int64_t values[] = {0, 1, -1, 2, -2, 127, 128, -128, -129, 255, 256, 32767, 32768,
	-32768, -32769, 8388607, 8388608, -8388608, -8388609, INT32_MAX, INT32_MAX + 1ll, INT32_MIN,
	INT32_MIN - 1ll, (1ll << 47) - 1, 1ll << 47, -(1ll << 47), -(1ll << 47) - 1, INT64_MAX,
	INT64_MIN + 1, FEED_NULL};
#define VALUES (sizeof(values) / sizeof(*values))

static struct writer *begin(struct harness *h)
{
	struct writer *writer;
	int fd = open(h->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(writer_open(h->path, NULL, NULL, &writer), 0);
	assert_int_equal(writer_begin(writer), 0);
	return writer;
}

/* Row @i: all values come to all columns; the first two are never NULL. */
static int64_t value_of(unsigned i, unsigned column)
{
	int64_t value = values[(i / 7 + i * column + column) % VALUES];

	return value == FEED_NULL && column <= FEED_SEQ ? 77 : value;
}

static void put_rows(struct feed *feed, unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++) {
		int64_t row[FEED_COLUMNS];

		for (unsigned c = 0; c < FEED_COLUMNS; c++)
			row[c] = value_of(i, c);
		feed_put(feed, row);
	}
	assert_int_equal(feed_flush(feed), 0);
	assert_int_equal(feed->count, 0);
}

/* Checks the rows behind row @before. */
static void check_rows_after(sqlite3 *db, unsigned before, unsigned first, unsigned count)
{
	sqlite3_stmt *all;
	unsigned i;

	assert_int_equal(sqlite3_prepare_v2(db,
				 "SELECT " INSERTED ", rowid FROM rtl_dispatch WHERE rowid > ? "
				 "ORDER BY rowid",
				 -1, &all, NULL),
		SQLITE_OK);
	sqlite3_bind_int64(all, 1, before);
	for (i = 0; sqlite3_step(all) == SQLITE_ROW; i++) {
		assert_int_equal(sqlite3_column_int64(all, FEED_COLUMNS), before + i + 1);
		for (unsigned c = 0; c < FEED_COLUMNS; c++) {
			int64_t value = value_of(first + i, c);

			assert_int_equal(sqlite3_column_type(all, (int)c),
				value == FEED_NULL ? SQLITE_NULL : SQLITE_INTEGER);
			if (value != FEED_NULL)
				assert_true(sqlite3_column_int64(all, (int)c) == value);
		}
	}
	sqlite3_finalize(all);
	assert_int_equal(i, count);
}

static void check_rows(sqlite3 *db, unsigned first, unsigned count)
{
	check_rows_after(db, 0, first, count);
}

static void end(struct harness *h, struct writer *writer)
{
	writer_free(writer);
	assert_text(h->path, "PRAGMA integrity_check", "ok");
}

STORE_CASE(what_is_put_is_what_is_read)
{
	/* Part of a leaf, leaves that are full, all of them; each over what was there before. */
	static const unsigned counts[] = {1, FEED_FILE_LEAF_ROWS - 1, FEED_FILE_LEAF_ROWS,
		FEED_FILE_LEAF_ROWS + 1, 2 * FEED_FILE_LEAF_ROWS, 129, FEED_ROWS_MAX - 1,
		FEED_ROWS_MAX, 2, FEED_ROWS_MAX, 1};
	struct writer *writer = begin(h);
	unsigned rows = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		put_rows(writer->feed, rows, counts[i]);
		rows += counts[i];
	}
	check_rows(writer->db, 0, rows);
	assert_int_equal(writer_commit(writer), 0);
	check_rows(writer->db, 0, rows);
	assert_int_equal(writer_begin(writer), 0);
	put_rows(writer->feed, rows, 100);
	assert_int_equal(writer_commit(writer), 0);
	check_rows(writer->db, 0, rows + 100);
	end(h, writer);
}

STORE_CASE(a_rollback_leaves_nothing)
{
	struct writer *writer = begin(h);

	put_rows(writer->feed, 0, 300);
	assert_int_equal(writer_rollback(writer), 0);
	assert_int_equal(writer_begin(writer), 0);
	put_rows(writer->feed, 1000, 200);
	assert_int_equal(writer_commit(writer), 0);
	check_rows(writer->db, 1000, 200);
	end(h, writer);
}

#define SHAPE_COLUMNS                                                                              \
	"id, process_id, gpuId, queueId, kernel_id, workgroupX, workgroupY, workgroupZ, gridX, "   \
	"gridY, gridZ, lds, scratch"

static int64_t shape_value_of(unsigned i, unsigned column)
{
	int64_t value = value_of(i, column);

	return value == FEED_NULL ? 77 : value;
}

/* Puts shapes from number @first on; the id of each is its number and one. */
static void put_shapes(struct feed *feed, unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++) {
		int64_t shape[FEED_SHAPE_COLUMNS] = {i + 1};

		for (unsigned c = 1; c < FEED_SHAPE_COLUMNS; c++)
			shape[c] = shape_value_of(i, c);
		assert_int_equal(feed_put_shape(feed, shape), 0);
	}
}

static void check_shapes(sqlite3 *db, unsigned count)
{
	sqlite3_stmt *all;
	unsigned i;

	assert_int_equal(
		sqlite3_prepare_v2(
			db, "SELECT " SHAPE_COLUMNS " FROM rtl_shape ORDER BY id", -1, &all, NULL),
		SQLITE_OK);
	for (i = 0; sqlite3_step(all) == SQLITE_ROW; i++) {
		assert_int_equal(sqlite3_column_int64(all, 0), i + 1);
		for (unsigned c = 1; c < FEED_SHAPE_COLUMNS; c++)
			assert_true(sqlite3_column_int64(all, (int)c) == shape_value_of(i, c));
	}
	sqlite3_finalize(all);
	assert_int_equal(i, count);
}

STORE_CASE(shapes_that_are_put_are_read)
{
	/* One leaf is flushed when it is full; each over what was there before. */
	static const unsigned counts[] = {1, FEED_FILE_LEAF_ROWS - 1, FEED_FILE_LEAF_ROWS,
		FEED_FILE_LEAF_ROWS + 1, 3 * FEED_FILE_LEAF_ROWS, 1};
	struct writer *writer = begin(h);
	unsigned shapes = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		put_shapes(writer->feed, shapes, counts[i]);
		shapes += counts[i];
		put_rows(writer->feed, 3 * (unsigned)i, 3);
		check_shapes(writer->db, shapes);
	}
	put_shapes(writer->feed, shapes, 5);
	assert_int_equal(writer_commit(writer), 0); /* without a row behind them */
	check_shapes(writer->db, shapes + 5);
	end(h, writer);
}

/* Puts shapes whose other columns are all @value until they are flushed; how many are of a leaf. */
static unsigned fill_leaf(struct feed *feed, int64_t value, int64_t *id)
{
	unsigned before = 0;

	while (feed->shapes >= before) {
		int64_t shape[FEED_SHAPE_COLUMNS] = {++*id};

		for (unsigned c = 1; c < FEED_SHAPE_COLUMNS; c++)
			shape[c] = value;
		before = feed->shapes;
		assert_int_equal(feed_put_shape(feed, shape), 0);
	}
	assert_int_equal(feed->shapes, 1);
	return before;
}

STORE_CASE(a_leaf_holds_the_shapes_that_fit)
{
	struct writer *writer = begin(h);
	int64_t id = 0;

	/* A statement costs as much as many rows: of those of a real job there are many in one. */
	assert_int_equal(fill_leaf(writer->feed, 0, &id), FEED_FILE_SHAPES);
	(void)fill_leaf(writer->feed, 0, &id);
	assert_in_range(fill_leaf(writer->feed, INT64_MAX, &id), 60, 70);
	assert_in_range(fill_leaf(writer->feed, INT64_MIN + 1, &id), 60, 70);
	assert_int_equal(writer_commit(writer), 0);
	end(h, writer);
	assert_number(h->path, "SELECT max(id) FROM rtl_shape", id);
	assert_number(h->path,
		"SELECT count(*) FROM rtl_shape WHERE scratch IN (0, 0x7fffffffffffffff, "
		"-0x7fffffffffffffff) AND scratch = process_id",
		id);
}

/* SQLite has undone the whole transaction by then. */
STORE_CASE(an_id_that_is_there_undoes_all)
{
	struct writer *writer = begin(h);

	put_shapes(writer->feed, 0, 3);
	assert_int_equal(writer_commit(writer), 0);
	assert_int_equal(writer_begin(writer), 0);
	put_rows(writer->feed, 0, 5);
	put_shapes(writer->feed, 3, 2);
	put_shapes(writer->feed, 1, 1);
	assert_int_equal(feed_flush(writer->feed), -EINVAL);
	assert_int_equal(writer_rollback(writer), 0);
	assert_false(writer->is_open);
	check_shapes(writer->db, 3);
	check_rows(writer->db, 0, 0);
	assert_int_equal(writer_begin(writer), 0);
	put_shapes(writer->feed, 3, 2);
	put_rows(writer->feed, 0, 5);
	assert_int_equal(writer_commit(writer), 0);
	check_shapes(writer->db, 5);
	check_rows(writer->db, 0, 5);
	end(h, writer);
}

/* A shape that is put again, in whatever order, has the same id. */
STORE_CASE(shapes_are_found_again)
{
	struct intern_shape_key key = {.kernel_id = 1};
	struct writer *writer = begin(h);
	int64_t id;

	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned i = 0; i < 3000; i++) {
			unsigned number = turn ? 2999 - i : i;

			key.process_id = number % 3 + 1;
			key.grid[number % 2] = number / 6 + 1;
			key.grid[1 - number % 2] = 0;
			assert_int_equal(intern_put_shape(&writer->intern, &key, &id), 0);
			assert_int_equal(id, number + 1);
			assert_int_equal(intern_keep_shape(&writer->intern, &key, id), 0);
		}
	assert_int_equal(writer_commit(writer), 0);
	end(h, writer);
	assert_number(h->path, "SELECT count(*) FROM rtl_shape", 3000);
}

STORE_CASE(ids_of_shapes_go_on_where_they_are)
{
	struct intern_shape_key key = {.process_id = 1, .kernel_id = 1};
	struct writer *writer = begin(h);
	int64_t id;

	for (unsigned turn = 0; turn < 2; turn++) {
		for (key.lds = 0; key.lds < 100; key.lds++) {
			assert_int_equal(intern_put_shape(&writer->intern, &key, &id), 0);
			assert_int_equal(id, key.lds + 1);
		}
		/* Those of a transaction that is rolled back are given once more, ... */
		if (turn == 0) {
			assert_int_equal(writer_rollback(writer), 0);
			assert_int_equal(writer_begin(writer), 0);
		}
	}
	assert_int_equal(writer_commit(writer), 0);
	end(h, writer);
	assert_number(h->path, "SELECT count(*) FROM rtl_shape", 100);
	/* ... and a file that is gone on with is gone on with behind them. */
	writer = begin(h);
	key.process_id = 2;
	assert_int_equal(intern_put_shape(&writer->intern, &key, &id), 0);
	assert_int_equal(id, 101);
	assert_int_equal(writer_commit(writer), 0);
	end(h, writer);
}

/* Another program wrote the file. */
STORE_CASE(a_file_without_room_for_ids_is_damaged)
{
	struct writer *writer = begin(h);

	put_shapes(writer->feed, 0, 1);
	assert_int_equal(writer_commit(writer), 0);
	assert_int_equal(sqlite3_exec(writer->db, "UPDATE rtl_shape SET id = 0x7fffffffffffffff",
				 NULL, NULL, NULL),
		SQLITE_OK);
	end(h, writer);
	assert_int_equal(writer_open(h->path, NULL, NULL, &writer), -EUCLEAN);
}

/* OE_Abort in SQLite's code. */
#define UNDO_STATEMENT 2

/* SQLite does so where both tables are alike; else it takes each row apart, and says nothing. */
static void check_copies(sqlite3 *db, const char *insert, bool has_id)
{
	sqlite3_stmt *explain;
	unsigned copies = 0, looks = 0, aborts = 0;
	char sql[256];

	snprintf(sql, sizeof(sql), "EXPLAIN %s", insert);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &explain, NULL), SQLITE_OK);
	while (sqlite3_step(explain) == SQLITE_ROW) {
		const char *step = (const char *)sqlite3_column_text(explain, 1);

		copies += !strcmp(step, "RowData") || !strcmp(step, "RowCell");
		looks += !strcmp(step, "NotExists"); /* through the table */
		/* Each page as it was is kept only for a statement that can be undone alone. */
		aborts += !strcmp(step, "Halt") && sqlite3_column_int(explain, 3) == UNDO_STATEMENT;
		assert_string_not_equal(step, "MakeRecord");
	}
	sqlite3_finalize(explain);
	assert_int_equal(copies, 1);
	assert_int_equal(looks, has_id);
	assert_int_equal(aborts, 0);
}

STORE_CASE(rows_are_copied_as_they_are)
{
	struct writer *writer = begin(h);

	assert_int_equal(writer->feed->is_bound, feeds_are_bound);
	if (feeds_are_bound) {
		end(h, writer);
		return;
	}
	check_copies(writer->db, sqlite3_sql(writer->feed->insert), false);
	check_copies(writer->db, sqlite3_sql(writer->feed->insert_shapes), true);
	end(h, writer);
}

/* SQLite would read a page from its own cache the second time, unless it only borrows pages. */
STORE_CASE(sqlite_keeps_no_page)
{
	struct writer *writer = begin(h);

	assert_int_equal(writer->feed->is_bound, feeds_are_bound);
	if (feeds_are_bound) {
		end(h, writer);
		return;
	}
	put_rows(writer->feed, 0, FEED_ROWS_MAX);
	assert_int_equal(writer->feed->file.borrowed, 0);
	writer->feed->file.borrowed = 1;
	feed_put(writer->feed, (const int64_t[FEED_COLUMNS]){1, 2});
	assert_int_equal(feed_flush(writer->feed), -EBUSY);
	writer->feed->file.borrowed = 0;
	assert_int_equal(feed_flush(writer->feed), 0);
	assert_int_equal(writer_commit(writer), 0);
	/* Pages that it would keep cannot be read at all. */
	assert_int_equal(sqlite3_exec(writer->db, "PRAGMA feed.mmap_size=0", NULL, NULL, NULL), 0);
	assert_int_equal(writer_begin(writer), 0);
	feed_put(writer->feed, (const int64_t[FEED_COLUMNS]){1, 2});
	assert_int_equal(feed_flush(writer->feed), -EIO);
	assert_int_equal(writer_rollback(writer), 0);
	end(h, writer);
}

static bool maps_no_files;

int __real_sqlite3_compileoption_used(const char *option);
int __wrap_sqlite3_compileoption_used(const char *option);

int __wrap_sqlite3_compileoption_used(const char *option)
{
	return (maps_no_files && !strcmp(option, "MAX_MMAP_SIZE=0")) ||
	       __real_sqlite3_compileoption_used(option);
}

STORE_CASE(where_sqlite_maps_no_files_rows_are_bound)
{
	struct writer *writer;

	maps_no_files = true;
	writer = begin(h);
	maps_no_files = false;
	assert_true(writer->feed->is_bound);
	put_shapes(writer->feed, 0, 3);
	put_rows(writer->feed, 0, 100);
	assert_int_equal(writer_commit(writer), 0);
	check_rows(writer->db, 0, 100);
	end(h, writer);
	writer = begin(h);
	assert_int_equal(writer->feed->is_bound, feeds_are_bound);
	end(h, writer);
}

static unsigned resident_pages(const struct feed_file *file)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)file->bytes / page * page;
	unsigned char in[FEED_FILE_BYTES / 4096 + 2];
	size_t bytes = (uintptr_t)file->bytes + sizeof(file->bytes) - from;
	unsigned count = 0;

	assert_true((bytes + page - 1) / page <= sizeof(in));
	assert_int_equal(mincore((void *)from, bytes, in), 0);
	for (size_t i = 0; i < (bytes + page - 1) / page; i++)
		count += in[i] & 1;
	return count;
}

/* A session is open for as long as its job, and may have stored much once. */
STORE_CASE(a_session_that_stores_little_keeps_little_memory)
{
	const unsigned page = (unsigned)sysconf(_SC_PAGESIZE);
	struct writer *writer = begin(h);

	put_rows(writer->feed, 0, FEED_ROWS_MAX);
	writer->rows = FEED_ROWS_MAX;
	assert_int_equal(writer_commit(writer), 0);
	/* Of each leaf at least its first half. */
	assert_true(resident_pages(&writer->feed->file) * page >= FEED_FILE_BYTES / 2);
	assert_int_equal(writer_begin(writer), 0);
	put_rows(writer->feed, FEED_ROWS_MAX, 3);
	writer->rows = 3;
	assert_int_equal(writer_commit(writer), 0);
	/* The schema, the root, the shapes, the leaves that are kept, and what is on either side.
	 */
	assert_true(resident_pages(&writer->feed->file) * page <=
		    (3 + FEED_KEPT_LEAVES) * FEED_FILE_PAGE_BYTES + 2 * page);
	assert_int_equal(writer_begin(writer), 0);
	put_rows(writer->feed, FEED_ROWS_MAX + 3, FEED_ROWS_MAX);
	assert_int_equal(writer_commit(writer), 0);
	check_rows(writer->db, 0, 2 * FEED_ROWS_MAX + 3);
	end(h, writer);
}

/* Makes a database as schema 9 left it. */
static sqlite3 *make_older(const struct harness *h)
{
	sqlite3 *db;
	char sql[96];

	assert_int_equal(sqlite3_open(h->path, &db), SQLITE_OK);
	for (const struct migration *m = migrations; m->version < 10; m++)
		assert_int_equal(sqlite3_exec(db, m->sql, NULL, NULL, NULL), SQLITE_OK);
	snprintf(sql, sizeof(sql), "PRAGMA application_id=%d; PRAGMA user_version=9",
		SCHEMA_APPLICATION_ID);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	return db;
}

/* Copying the rows would hold up the store, the longer the more there are. */
STORE_CASE(rows_of_an_older_file_stay_where_they_are)
{
	static const char root[] = "SELECT rootpage FROM sqlite_schema WHERE name = 'rtl_dispatch'";
	sqlite3 *db = make_older(h);
	struct writer *writer;
	int64_t page;

	assert_int_equal(
		sqlite3_exec(db,
			"INSERT INTO rtl_dispatch VALUES (5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), "
			"(9, 1, 3, 3, 4, 5, 6, 7, 8, 9, 11)",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	page = sql_number(h->path, root);
	for (unsigned opened = 0; opened < 2; opened++) {
		writer = begin(h);
		put_rows(writer->feed, opened * FEED_ROWS_MAX, FEED_ROWS_MAX);
		assert_int_equal(writer->feed->file.borrowed, 0);
		assert_int_equal(writer_commit(writer), 0);
		check_rows_after(writer->db, 9, 0, (opened + 1) * FEED_ROWS_MAX);
		end(h, writer);
		assert_number(h->path, root, page);
		assert_number(h->path, "PRAGMA freelist_count", 0);
		assert_number(h->path, "PRAGMA user_version", SCHEMA_VERSION);
	}
	assert_text(h->path,
		"SELECT group_concat(rowid || ':' || seq || ':' || node, ' ') FROM rtl_dispatch "
		"WHERE rowid <= 9",
		"5:2:10 9:3:11");
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 0);
}

STORE_CASE(an_older_file_without_rows_gets_the_table_of_a_new_one)
{
	sqlite3_close(make_older(h));
	rows_are_copied_as_they_are(h);
	assert_number(h->path, "PRAGMA user_version", SCHEMA_VERSION);
}
