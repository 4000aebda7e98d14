/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Rows of rtl_dispatch and of rtl_shape on their way into SQLite: written down as they will lie in
 * the file, in the pages of a table in memory (feed_file.h) from which one INSERT .. SELECT copies
 * them: less than half the instructions of a virtual table, a fifth of those of bound parameters
 * (ADR 0012).
 * Store thread; one feed a database connection, which it must outlive.
 */
#include <sqlite3.h>
#include <stdint.h>

#include "collectord/db/feed_file.h"

#define FEED_ROWS_MAX	 FEED_FILE_ROWS
/* A database that stores no more than so many at a time has memory for them, and not for more. */
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

/* The id; process, GPU, queue, kernel, workgroup, grid, LDS, scratch. */
#define FEED_SHAPE_COLUMNS 13
#define FEED_SHAPE_ID_MAX  ((1ll << 56) - 1)

struct feed {
	sqlite3 *db;
	sqlite3_stmt *insert, *insert_shapes;
	uint32_t count, shapes;
	uint32_t most; /* rows of a flush, since memory was given back */
	uint8_t *end;  /* of the last row, where there is one */
	uint8_t *shapes_end;
	struct feed_file file;
};

/*
 * Attaches it to @db and prepares the insert (the schema must exist). -ENOMEM, or as
 * database_errno(): what is in *@ret then has to be ended and freed, too.
 */
int feed_new(sqlite3 *db, struct feed **ret);

/* Before its connection is closed, and after. The latter returns NULL. */
void feed_end(struct feed *feed);
struct feed *feed_free(struct feed *feed);

/* Adds a row to less than FEED_ROWS_MAX. */
void feed_put(struct feed *feed, const int64_t column[FEED_COLUMNS]);

/*
 * A shape, after all others by its id, which is above 0; FEED_NULL is none of its values. It is in
 * the database before the next row is. database_errno() of those before it, if they are too many.
 */
int feed_put_shape(struct feed *feed, const int64_t column[FEED_SHAPE_COLUMNS]);

/* Inserts the rows and empties the feed; on an error they stay. What database_errno() says. */
int feed_flush(struct feed *feed);

/* What was not inserted never will be. */
void feed_drop(struct feed *feed);

/*
 * A transaction of @rows is over. Memory of one that had many is given back once they are few: of a
 * thousand sessions it would be 270 MiB, most of them idle.
 */
void feed_rest(struct feed *feed, uint64_t rows);
