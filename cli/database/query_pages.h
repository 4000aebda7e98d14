/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Rows of numbers of one table, read from the pages of a closed file without SQLite's virtual
 * machine: a tenth of the instructions (docs/adr/0012). Anything that differs from the way SQLite
 * writes such rows is left to SQLite, which then reports what it is. Only for query*.c. One thread.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define QUERY_PAGES_COLUMNS	  8
/* Columns of the table. A row with more columns is not from rtl. */
#define QUERY_PAGES_TABLE_COLUMNS 16

struct query_pages_table {
	uint32_t root;	  /* its root page */
	unsigned columns; /* of the table; all are plain: none is the rowid or generated */
	unsigned wanted[QUERY_PAGES_COLUMNS]; /* by position in the table */
	unsigned count;
	int64_t first_id, last_id; /* rowids, both included */
};

struct query_pages_row {
	int64_t numbers[QUERY_PAGES_COLUMNS]; /* NULL is 0 */
	unsigned nulls;			      /* 1 << column */
};

struct query_pages;

/*
 * @db is in a read transaction and stays in it. Returns -ENOTSUP if the file has a log or another
 * form; or -ENOMEM.
 */
int query_pages_new(sqlite3 *db, const struct query_pages_table *table, struct query_pages **ret);
void query_pages_free_p(struct query_pages **pages);

/*
 * Returns rows in the order of the file: 1 with @row; 0 at the end; -ENOTSUP if SQLite must read
 * what comes next. The rows so far are those that SQLite returns first.
 */
int query_pages_next(struct query_pages *pages, struct query_pages_row *row);
/* Number of rows returned so far. */
uint64_t query_pages_count(const struct query_pages *pages);
