/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Rows of numbers of one table, from the pages of a closed file, without SQLite's machine: a tenth
 * of the instructions (docs/adr/0012). Whatever is not as SQLite writes such rows is left to
 * SQLite, which then says what it is. Only for query*.c. One thread.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define QUERY_PAGES_COLUMNS	  8
/* Of the table. A row of more than that many is none of ours. */
#define QUERY_PAGES_TABLE_COLUMNS 16

struct query_pages_table {
	uint32_t root;	  /* page */
	unsigned columns; /* of the table, all plain: none is the rowid, or made from others */
	unsigned wanted[QUERY_PAGES_COLUMNS]; /* by position in the table */
	unsigned count;
	int64_t first_id, last_id; /* rowids, both ends with it */
};

struct query_pages_row {
	int64_t numbers[QUERY_PAGES_COLUMNS]; /* NULL is 0 */
	unsigned nulls;			      /* 1 << column */
};

struct query_pages;

/*
 * @db is in a read transaction, and stays there. -ENOTSUP: the file has a log or another form;
 * -ENOMEM.
 */
int query_pages_new(sqlite3 *db, const struct query_pages_table *table, struct query_pages **ret);
void query_pages_free_p(struct query_pages **pages);

/*
 * In the order of the file. 1: @row; 0: no more; -ENOTSUP: SQLite has to look at what comes next.
 * The rows so far are those that it gives first.
 */
int query_pages_next(struct query_pages *pages, struct query_pages_row *row);
/* How many were given. */
uint64_t query_pages_count(const struct query_pages *pages);
