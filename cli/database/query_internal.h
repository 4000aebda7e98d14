/* SPDX-License-Identifier: MIT */
#pragma once
/* Shared by query.c and computed_table.c: a connection, and the rows of one query. One thread. */
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
	query_take take; /* callback of the query_fold() that SQLite is running */
	void *taker;
	int taken;
	uint64_t skipped; /* number of rows at its start that were passed on before */
	char error[QUERY_ERROR_BYTES];
};

struct query_rows {
	struct query *query;
	sqlite3_stmt *statement;
	struct query_pages *pages; /* NULL if the rows come from the statement */
	struct query_pages_row row;
};

/* Translates SQLite's code to ours, with a line of text. */
int query_fail(struct query *query, int code);
