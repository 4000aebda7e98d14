/* SPDX-License-Identifier: MIT */
#pragma once
/* What query.c and query_rows.c share: a connection, and the rows of one question. One thread. */
#include <sqlite3.h>

#include "cli/database/query.h"
#include "cli/database/query_pages.h"

struct query {
	sqlite3 *db;
	char *path;
	bool is_live;
	bool is_in_use;
	uint64_t bytes;
	int64_t schema;
	query_take take; /* of the query_fold() that runs in SQLite */
	void *taker;
	int taken;
	uint64_t skipped; /* so many rows of it were given before */
	char error[QUERY_ERROR_BYTES];
};

struct query_rows {
	struct query *query;
	sqlite3_stmt *statement;
	struct query_pages *pages; /* NULL: the statement gives them */
	struct query_pages_row row;
};

/* SQLite's code as ours, with a line for people. */
int query_fail(struct query *query, int code);

/* query_rows.c */
/* Where @sql asks for every dispatch, and the file is one whose pages can be read: that. -ENOMEM.
 */
int query_find_pages(struct query *query, const char *sql, struct query_rows *rows);
/* Makes rtl_fold() known. SQLite's code. */
int query_add_fold(struct query *query);
