/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A session database, opened read-only. Only query*.c and index.c include sqlite3.h. Opening checks
 * that the file is a database of rtl and begins one read transaction, so that all data that a verb
 * shows is of the same moment, while the collector continues to write. The queries are the files of
 * sql/, by name. Prints nothing; the caller reports query_error().
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/output/table.h"
#include "proto/base/cleanup.h"

#define QUERY_ERROR_BYTES 512

struct query;
struct query_rows;

/*
 * Opens @path. Returns 0; -ENOENT, -EACCES or -EISDIR; -EINVAL if it is not an rtl database;
 * -EBADMSG if it is truncated or damaged; -ENOTSUP if a newer rtl wrote it; -EROFS if a change was
 * interrupted; -EBUSY; -ENOMEM; or -EIO. @error gets the reason as "PATH: why; what to do".
 */
int query_open(const char *path, char error[QUERY_ERROR_BYTES], struct query **ret);
void query_free_p(struct query **query);

/*
 * Opens a database in memory with what rtl itself contains: the rules of categories. Returns 0,
 * -ENOMEM or -EINVAL.
 */
int query_open_builtin(struct query **ret);
/* True if @text matches @pattern like GLOB in SQLite. */
bool query_glob(const char *pattern, const char *text);

/* The last error as a line without a full stop; valid until the next call. */
const char *query_error(const struct query *query);
/*
 * Reports damage that the rows themselves show: sets the line "PATH: damaged: ...". Returns
 * -EBADMSG.
 */
__attribute__((format(printf, 2, 3))) int query_damaged(
	struct query *query, const char *format, ...);
const char *query_path(const struct query *query);
/* Schema version of the file: SCHEMA_VERSION or less. */
int64_t query_schema(const struct query *query);
/* True if the collector is writing it, or was when it ended: there is a write-ahead log. */
bool query_is_live(const struct query *query);

/* True if another process had the file open before us: its collector, or a reader. */
bool query_is_in_use(const struct query *query);

/* Size of the file, without its log. */
uint64_t query_file_bytes(const struct query *query);

/*
 * Runs the query @name of sql/. Returns 0, or -errno like query_open(). The rows must be freed
 * before the query. A query with "-- since N" returns no rows from a file of a schema before N. A
 * query that is only "SELECT columns FROM rtl_dispatch;" returns just numbers (query_integer(),
 * query_is_null()), which for a closed file are read directly from its pages.
 */
int query_ask(struct query *query, const char *name, struct query_rows **ret);
/* Like query_ask(), with the number ?1. */
int query_ask_of(struct query *query, const char *name, int64_t number, struct query_rows **ret);
/* Asks the query of @rows, from query_ask_of(), once more with another number ?1; the rows begin
 * anew. What was prepared stays, which saves most of the time of a query for one row. */
void query_ask_again(struct query_rows *rows, int64_t number);
/*
 * Runs the query @name of sql/, "SELECT rtl_fold(columns) FROM ...", and calls @take for each row
 * inside of SQLite, which takes a third less time than query_next(). @take gets integers, NULL as 0
 * with 1 << column in @nulls; at most QUERY_FOLD_COLUMNS. If @take returns other than 0, the fold
 * ends with that value. Errors are those of query_open().
 */
#define QUERY_FOLD_COLUMNS 6
typedef int (*query_take)(void *context, const int64_t *numbers, unsigned nulls);
int query_fold(struct query *query, const char *name, query_take take, void *context);
/*
 * Runs the statements of the query @name, which create temporary objects of this connection, with
 * the numbers ?1 to ?@count. No rows of the query may be open. Errors are those of query_open().
 */
int query_do(struct query *query, const char *name, const int64_t *numbers, size_t count);
/*
 * Runs a query that a user typed: one statement that only reads. Returns -EPERM if it would write,
 * attach or load something; -EINVAL if it is no valid SQL or more than one statement.
 */
int query_ask_user(struct query *query, const char *sql, struct query_rows **ret);
/* Returns 1 for a row, 0 at the end, or -errno. */
int query_next(struct query_rows *rows);
void query_rows_free_p(struct query_rows **rows);

/* The parts of QUERY_EACH. */
static inline struct query_rows *query_begin(struct query *query, const char *name, int *r)
{
	struct query_rows *rows = NULL;

	if (!*r)
		*r = query_ask(query, name, &rows);
	return rows;
}

static inline bool query_has_row(struct query_rows *rows, int *r)
{
	if (!*r)
		*r = query_next(rows);
	if (*r <= 0)
		return false;
	*r = 0;
	return true;
}

/*
 * Runs the statement that follows for each row of the query @name, and frees the rows. Does nothing
 * if @r, a variable, is not 0. It is 0 after the last row; the statement ends the loop if it sets
 * @r to -errno, as an error of the query does.
 */
#define QUERY_EACH(r, query, name, rows)                                                           \
	for (CLEANUP(query_rows_free_p) struct query_rows *rows = query_begin(query, name, &(r));  \
		query_has_row(rows, &(r));)

/* Values of the current row. Texts are valid until the next query_next(). */
int64_t query_integer(const struct query_rows *rows, int column); /* NULL is 0 */
double query_real(const struct query_rows *rows, int column);	  /* NULL is 0 */
bool query_is_null(const struct query_rows *rows, int column);
/* True of a text or a blob, which in a column of numbers only a damaged file has. */
bool query_is_text(const struct query_rows *rows, int column);
const char *query_text(const struct query_rows *rows, int column); /* NULL stays NULL */
struct render_value query_value(const struct query_rows *rows, int column);

int query_column_count(const struct query_rows *rows);
const char *query_column_name(const struct query_rows *rows, int column);

/*
 * Returns one number of the query @name (its first row and column) in @ret; @otherwise if there is
 * no row or it is NULL. The result is 0 or -errno.
 */
int query_number(struct query *query, const char *name, int64_t otherwise, int64_t *ret);
