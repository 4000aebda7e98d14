/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Rows of rtl_dispatch on their way into SQLite: columns of integers that one INSERT .. SELECT
 * reads through an eponymous virtual table: half the instructions of bound parameters.
 * Store thread; one feed a database connection, which it must outlive.
 */
#include <sqlite3.h>
#include <stdint.h>

#define FEED_ROWS_MAX 8192u
#define FEED_NULL     INT64_MIN /* stored as NULL */

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

struct feed {
	sqlite3_stmt *insert;
	uint32_t count; /* whole rows: what lies beyond may be half written */
	int64_t column[FEED_COLUMNS][FEED_ROWS_MAX];
};

/* Registers the table in @db and prepares the insert (the schema must exist). -ENOMEM, -EIO. */
int feed_new(sqlite3 *db, struct feed **ret);

/* Before its connection is closed. Returns NULL. */
struct feed *feed_free(struct feed *feed);

/* Inserts the rows and empties the feed; on an error they stay. What database_errno() says. */
int feed_flush(struct feed *feed);
