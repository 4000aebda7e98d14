/* SPDX-License-Identifier: MIT */
#include "collectord/db/rows/row_feed.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "collectord/db/database.h"

/* A row: its length, its number, its header (length, and a type per column), its values. */
#define ROW_BYTES_MAX (1u + 2u + 1u + FEED_COLUMNS + 8u * FEED_COLUMNS)

/* A shape's number takes eight bytes as row id; its id column takes only a type and no value. */
#define SHAPE_HEAD_BYTES (1u + 8u + 1u)
#define SHAPE_BYTES_MAX	 (SHAPE_HEAD_BYTES + FEED_SHAPE_COLUMNS + 8u * (FEED_SHAPE_COLUMNS - 1))

/* Each value is written as eight bytes; the next value overwrites the bytes that it does not
 * need. */
static_assert(FEED_FILE_LEAF_HEAD + FEED_FILE_LEAF_ROWS * ROW_BYTES_MAX + 8 <= FEED_FILE_PAGE_BYTES,
	"a leaf holds its rows whatever is in them");
/* The last place in the leaf where a shape may begin. */
#define SHAPE_LAST (FEED_FILE_PAGE_BYTES - SHAPE_BYTES_MAX - 8)
static_assert(FEED_FILE_SHAPE_HEAD <= SHAPE_LAST, "that of the shapes holds one");
static_assert(ROW_BYTES_MAX < 128 && SHAPE_BYTES_MAX < 128, "the length of a row is one byte");
static_assert(FEED_FILE_ROWS < 1u << 14, "the number of a row is two bytes");

static int prepare(struct feed *feed, sqlite3_stmt **statement, const char *sql)
{
	return sqlite3_prepare_v3(feed->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
}

static bool must_bind;

void feed_bind_rows(void)
{
	must_bind = true;
}

/* A build without memory-mapped I/O never borrows a page. */
static bool can_borrow(void)
{
	return !must_bind && !sqlite3_compileoption_used("MAX_MMAP_SIZE=0");
}

static int prepare_bound(struct feed *feed)
{
	int r = prepare(feed, &feed->insert,
		"INSERT INTO main.rtl_dispatch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

	static_assert(FEED_COLUMNS == 10, "as many parameters");
	if (r == SQLITE_ERROR)
		r = prepare(feed, &feed->insert,
			"INSERT INTO main.rtl_dispatch VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
			"?)");
	static_assert(FEED_SHAPE_COLUMNS == 13, "as many parameters");
	if (r == SQLITE_OK)
		r = prepare(feed, &feed->insert_shapes,
			"INSERT OR ROLLBACK INTO main.rtl_shape VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, "
			"?, ?, ?, ?)");
	return r;
}

static int prepare_copies(struct feed *feed)
{
	/* SQLite copies whole rows only if no columns are named and the columns of both tables are
	 * alike. */
	int r = prepare(
		feed, &feed->insert, "INSERT INTO main.rtl_dispatch SELECT * FROM feed.rows");

	/* The file was begun by an older collector, whose rows have a column for their number. */
	if (r == SQLITE_ERROR)
		r = prepare(feed, &feed->insert,
			"INSERT INTO main.rtl_dispatch SELECT NULL, * FROM feed.rows");
	/*
	 * With OR ABORT SQLite would save each page that it changes, to undo the statement if an id
	 * exists already. We roll back the whole transaction on any error, so OR ROLLBACK saves
	 * that work.
	 */
	if (r == SQLITE_OK)
		r = prepare(feed, &feed->insert_shapes,
			"INSERT OR ROLLBACK INTO main.rtl_shape SELECT * FROM feed.shapes");
	return r;
}

int feed_new(sqlite3 *db, struct feed **ret)
{
	/* Not from the heap, which would clear all of it: most sessions use a fifth, idle ones
	 * none. */
	struct feed *feed = mmap(
		NULL, sizeof(*feed), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	*ret = feed == MAP_FAILED ? NULL : feed;
	if (!*ret)
		return -ENOMEM;
	feed->db = db;
	r = feed_file_attach(&feed->file, db);
	if (r == SQLITE_OK) {
		feed->is_bound = !can_borrow();
		r = feed->is_bound ? prepare_bound(feed) : prepare_copies(feed);
	}
	return database_schema_errno(r);
}

void feed_end(struct feed *feed)
{
	if (!feed)
		return;
	sqlite3_finalize(feed->insert);
	sqlite3_finalize(feed->insert_shapes);
	feed->insert = feed->insert_shapes = NULL;
}

struct feed *feed_free(struct feed *feed)
{
	if (feed)
		munmap(feed, sizeof(*feed));
	return NULL;
}

/* Indexed by the number of bits that a value needs besides its sign: SQLite's type, the number of
 * bytes, and the shift that moves them to the front. */
static const struct form {
	uint8_t type, bytes, shift, unused;
} form_of[63] = {[0 ... 6] = {1, 1, 56, 0},
	[7 ... 14] = {2, 2, 48, 0},
	[15 ... 22] = {3, 3, 40, 0},
	[23 ... 30] = {4, 4, 32, 0},
	[31 ... 46] = {5, 6, 16, 0},
	[47 ... 62] = {6, 8, 0, 0}};

/*
 * Writes the value to @to and its type to @ret_type: the shortest of SQLite's types that holds it,
 * as SQLite itself would choose. Returns where the next value goes.
 */
static inline uint8_t *put_value(uint8_t *to, int64_t value, uint8_t *ret_type)
{
	/* 0, 1 and NULL have types of their own without bytes. The rotation maps them to 0, 2 and
	 * 1. */
	static const uint8_t type_of[3] = {8, 0, 9};
	uint64_t turned = (uint64_t)value << 1 | (uint64_t)value >> 63;
	uint64_t bits = (uint64_t)(value ^ (value >> 63)), ordered;
	const struct form *form;

	static_assert(FEED_NULL == INT64_MIN, "its only bit is the first");
	if (turned < sizeof(type_of)) {
		*ret_type = type_of[turned];
		return to;
	}
	form = &form_of[63 ^ __builtin_clzll(bits | 1)];
	*ret_type = form->type;
	ordered = __builtin_bswap64((uint64_t)value << form->shift);
	memcpy(to, &ordered, sizeof(ordered));
	return to + form->bytes;
}

void feed_put(struct feed *feed, const int64_t column[FEED_COLUMNS])
{
	unsigned in_leaf = feed->count % FEED_FILE_LEAF_ROWS, columns = FEED_COLUMNS;
	uint8_t *leaf = feed_file_leaf(&feed->file, feed->count / FEED_FILE_LEAF_ROWS);
	uint8_t *row = in_leaf ? feed->end : leaf + FEED_FILE_LEAF_HEAD, *head = row + 3, *end;

	/* NULL columns at the end are left out of the row. */
	while (columns && column[columns - 1] == FEED_NULL)
		columns--;
	end = head + 1 + columns;
	for (unsigned i = 0; i < columns; i++)
		end = put_value(end, column[i], head + 1 + i);
	feed->count++;
	row[0] = (uint8_t)(end - head);
	row[1] = (uint8_t)(0x80 | feed->count >> 7);
	row[2] = (uint8_t)(feed->count & 0x7f);
	head[0] = (uint8_t)(1 + columns);
	feed_file_put_16(leaf + 8 + 2 * in_leaf, (unsigned)(row - leaf));
	feed->end = end;
}

/* Reads a value as put_value() has written it, and moves *@at behind it. False: it is NULL. */
static bool get_value(const uint8_t **at, uint8_t type, int64_t *ret)
{
	static const uint8_t bytes_of[] = {0, 1, 2, 3, 4, 6, 8};
	unsigned bytes = type < sizeof(bytes_of) ? bytes_of[type] : 0;
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | *(*at)++;
	if (bytes)
		*ret = (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
	else
		*ret = type == 9;
	return type != 0;
}

/* Binds the values of a row with the header @head, from column @first on; the rest is NULL. */
static void bind_values(sqlite3_stmt *insert, const uint8_t *head, int first)
{
	const uint8_t *at = head + head[0];

	for (int i = first; i < head[0] - 1; i++) {
		int64_t value;

		if (get_value(&at, head[1 + i], &value))
			sqlite3_bind_int64(insert, 1 + i, value);
	}
}

static const uint8_t *find_row(const uint8_t *leaf, unsigned i)
{
	const uint8_t *offset = leaf + 8 + 2 * i;

	return leaf + (offset[0] << 8 | offset[1]);
}

static int bind_rows(struct feed *feed)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < feed->count; i++) {
		const uint8_t *leaf = feed_file_leaf(&feed->file, i / FEED_FILE_LEAF_ROWS);

		bind_values(feed->insert, find_row(leaf, i % FEED_FILE_LEAF_ROWS) + 3, 0);
		r = database_run(feed->insert);
	}
	return r;
}

static int bind_shapes(struct feed *feed)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < feed->shapes; i++) {
		const uint8_t *row = find_row(feed_file_shapes(&feed->file), i);
		int64_t id = 0;

		for (unsigned n = 1; n <= 8; n++)
			id = id << 7 | (row[n] & 0x7f);
		sqlite3_bind_int64(feed->insert_shapes, 1, id);
		bind_values(feed->insert_shapes, row + SHAPE_HEAD_BYTES - 1, 1);
		r = database_run(feed->insert_shapes);
	}
	return r;
}

/* Inserts all @count published rows. */
static int copy(struct feed *feed, sqlite3_stmt *insert, uint32_t count)
{
	int r;

	(void)sqlite3_step(insert); /* sqlite3_reset() returns the same error again */
	r = sqlite3_reset(insert);
	if (r != SQLITE_OK)
		return database_errno(r);
	return sqlite3_changes64(feed->db) == count ? 0 : -EIO;
}

static int flush_shapes(struct feed *feed)
{
	int r;

	if (!feed->shapes)
		return 0;
	r = feed->is_bound ? bind_shapes(feed)
			   : feed_file_publish_shapes(&feed->file, feed->shapes);
	if (r == 0 && !feed->is_bound)
		r = copy(feed, feed->insert_shapes, feed->shapes);
	if (r == 0)
		feed->shapes = 0;
	return r;
}

static bool has_room_for_shape(struct feed *feed)
{
	return !feed->shapes ||
	       (feed->shapes < FEED_FILE_SHAPES &&
		       feed->shapes_end - feed_file_shapes(&feed->file) <= SHAPE_LAST);
}

int feed_put_shape(struct feed *feed, const int64_t column[FEED_SHAPE_COLUMNS])
{
	int r = has_room_for_shape(feed) ? 0 : flush_shapes(feed);
	uint8_t *leaf = feed_file_shapes(&feed->file);
	uint8_t *row = feed->shapes ? feed->shapes_end : leaf + FEED_FILE_SHAPE_HEAD, *head, *end;

	if (r < 0)
		return r;
	head = row + SHAPE_HEAD_BYTES - 1;
	end = head + 1 + FEED_SHAPE_COLUMNS;
	head[0] = 1 + FEED_SHAPE_COLUMNS;
	head[1] = 0; /* the row's number is its id, so the id column holds nothing */
	for (unsigned i = 1; i < FEED_SHAPE_COLUMNS; i++)
		end = put_value(end, column[i], head + 1 + i);
	row[0] = (uint8_t)(end - head);
	for (unsigned i = 0; i < 8; i++)
		row[1 + i] = (uint8_t)((i < 7 ? 0x80 : 0) | (column[0] >> 7 * (7 - i) & 0x7f));
	feed_file_put_16(leaf + 8 + 2 * feed->shapes++, (unsigned)(row - leaf));
	feed->shapes_end = end;
	return 0;
}

int feed_flush(struct feed *feed)
{
	int r = flush_shapes(feed);

	if (r < 0 || !feed->count)
		return r;
	r = feed->is_bound ? bind_rows(feed) : feed_file_publish(&feed->file, feed->count);
	if (r == 0 && !feed->is_bound)
		r = copy(feed, feed->insert, feed->count);
	if (r < 0)
		return r;
	if (feed->count > feed->most)
		feed->most = feed->count;
	feed->count = 0;
	return 0;
}

void feed_drop(struct feed *feed)
{
	feed->count = feed->shapes = 0;
}

void feed_rest(struct feed *feed, uint64_t rows)
{
	if (rows > FEED_KEPT_ROWS || feed->most <= FEED_KEPT_ROWS)
		return;
	feed_file_release(&feed->file, FEED_KEPT_LEAVES);
	feed->most = 0;
}
