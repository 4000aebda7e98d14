/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Feeds rows of rtl_dispatch and rtl_shape to SQLite. Rows are written as they will lie in the
 * file, into the pages of a table in memory (feed_file.h), from which one INSERT .. SELECT copies
 * them. This takes less than half the instructions of a virtual table and a fifth of those of bound
 * parameters (ADR 0012). Where SQLite maps no files (SQLITE_MAX_MMAP_SIZE=0) it cannot borrow those
 * pages, and the same rows are bound to an INSERT one by one. Store thread; one feed per database
 * connection, which it must outlive.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectord/db/rows/feed_file.h"

#define FEED_ROWS_MAX	 FEED_FILE_ROWS
/* A database that stores at most this many rows at a time keeps memory for no more. */
#define FEED_KEPT_LEAVES 4u
#define FEED_KEPT_ROWS	 (FEED_FILE_LEAF_ROWS * FEED_KEPT_LEAVES)
#define FEED_NULL	 INT64_MIN /* stored as NULL */

enum feed_column {
	FEED_SHAPE,
	FEED_SEQ,
	FEED_START,
	FEED_DURATION,
	FEED_SUBMIT,
	FEED_TID,
	FEED_MARKER,
	FEED_UNTIMED,
	FEED_CALL,
	FEED_NODE,
	FEED_COLUMNS,
};

/* The id, process, GPU, queue, kernel, workgroup, grid, LDS, scratch. */
#define FEED_SHAPE_COLUMNS 13
#define FEED_SHAPE_ID_MAX  ((1ll << 56) - 1)

struct feed {
	sqlite3 *db;
	sqlite3_stmt *insert, *insert_shapes;
	bool is_bound; /* each row is bound to its INSERT, because SQLite cannot borrow pages */
	uint32_t count, shapes;
	uint32_t most; /* rows in one flush, since memory was given back */
	uint8_t *end;  /* of the last row, if there is one */
	uint8_t *shapes_end;
	struct feed_file file;
};

/*
 * Attaches the feed to @db, whose schema must exist, and prepares the inserts. -ENOMEM, or as
 * database_errno(): the caller must end and free what is in *@ret then, too.
 */
int feed_new(sqlite3 *db, struct feed **ret);

/* For tests: feeds that are made from here on bind their rows. */
void feed_bind_rows(void);

/* feed_end() is called before its connection is closed, feed_free() after. The latter returns
 * NULL. */
void feed_end(struct feed *feed);
struct feed *feed_free(struct feed *feed);

/* Adds a row; the feed must hold less than FEED_ROWS_MAX. */
void feed_put(struct feed *feed, const int64_t column[FEED_COLUMNS]);

/*
 * Adds a shape. Its id is above 0 and above all earlier ids; none of its values is FEED_NULL. It is
 * inserted before the rows that follow. If the leaf is full, it is flushed first: database_errno()
 * of that.
 */
int feed_put_shape(struct feed *feed, const int64_t column[FEED_SHAPE_COLUMNS]);

/* Inserts the rows and empties the feed; on an error they stay in it. Errors as
 * database_errno(). */
int feed_flush(struct feed *feed);

/* Forgets the rows that were not inserted. */
void feed_drop(struct feed *feed);

/*
 * Called after a transaction of @rows. Gives back the memory of an earlier large transaction once
 * transactions are small: a thousand sessions, most of them idle, would otherwise keep 270 MiB.
 */
void feed_rest(struct feed *feed, uint64_t rows);
