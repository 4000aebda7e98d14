/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A session database, read-only. The only files that include sqlite3.h are query*.c and index.c.
 * Opening checks that the file is one of ours and begins one read transaction, so that everything a
 * verb shows is of the same moment, while the collector goes on writing. The questions are the
 * files of sql/, by name. Prints nothing; the caller reports query_error().
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/output/table.h"

#define QUERY_ERROR_BYTES 512

struct query;
struct query_rows;

/*
 * Opens @path. 0; -ENOENT, -EACCES, -EISDIR; -EINVAL: not an rtl database; -EBADMSG: truncated
 * or damaged; -ENOTSUP: written by a newer rtl; -EROFS: a change was interrupted; -EBUSY; -ENOMEM;
 * -EIO. @error gets the reason as "PATH: why; what to do".
 */
int query_open(const char *path, char error[QUERY_ERROR_BYTES], struct query **ret);
void query_free_p(struct query **query);

/* A database in memory with what rtl itself brings: the rules of categories. -ENOMEM; -EINVAL. */
int query_open_builtin(struct query **ret);
/* Does @text match @pattern as SQLite's GLOB says? */
bool query_glob(const char *pattern, const char *text);

/* The last error as a line without a full stop; valid until the next call. */
const char *query_error(const struct query *query);
/* Makes such a line of what the rows themselves tell: "PATH: damaged: ...". -EBADMSG. */
__attribute__((format(printf, 2, 3))) int query_damaged(
	struct query *query, const char *format, ...);
const char *query_path(const struct query *query);
/* Of the file: SCHEMA_VERSION, or less. */
int64_t query_schema(const struct query *query);
/* The collector writes it, or did when it ended: there is a write-ahead log. */
bool query_is_live(const struct query *query);

/* Another process had the file open before us: its collector, or a reader. */
bool query_is_in_use(const struct query *query);

/* Size of the file, without its log. */
uint64_t query_file_bytes(const struct query *query);

/*
 * Asks sql/@name.sql. 0 or -errno as query_open(). Free the rows before the query. One that says
 * "-- since N" gets no rows from a file of a schema before N. One that is no more than "SELECT
 * columns FROM rtl_dispatch;" has numbers alone (query_integer(), query_is_null()), and of a
 * closed file they come from its pages.
 */
int query_ask(struct query *query, const char *name, struct query_rows **ret);
/* The same with the number ?1. */
int query_ask_of(struct query *query, const char *name, int64_t number, struct query_rows **ret);
/*
 * Gives each row of sql/@name.sql, "SELECT rtl_fold(columns) FROM ...", to @take: where SQLite
 * gives them, without leaving it, a third quicker than query_next(). Integers, NULL as 0 with 1 <<
 * column in @nulls; at most QUERY_FOLD_COLUMNS. Ends with what @take returns, if not 0. Else errors
 * as query_open().
 */
#define QUERY_FOLD_COLUMNS 6
typedef int (*query_take)(void *context, const int64_t *numbers, unsigned nulls);
int query_fold(struct query *query, const char *name, query_take take, void *context);
/*
 * Does the statements of sql/@name.sql, which make temporary things of this connection alone,
 * with the numbers ?1 to ?@count. No rows of the query may be open. Errors as query_open().
 */
int query_do(struct query *query, const char *name, const int64_t *numbers, size_t count);
/*
 * Asks what a user typed: one statement that only reads. -EPERM: it would write, attach or load
 * something; -EINVAL: no valid SQL, or more than one statement.
 */
int query_ask_user(struct query *query, const char *sql, struct query_rows **ret);
/* 1: a row; 0: no more; -errno. */
int query_next(struct query_rows *rows);
void query_rows_free_p(struct query_rows **rows);

/* Of the current row. Texts live until the next query_next(). */
int64_t query_integer(const struct query_rows *rows, int column); /* NULL is 0 */
double query_real(const struct query_rows *rows, int column);	  /* NULL is 0 */
bool query_is_null(const struct query_rows *rows, int column);
const char *query_text(const struct query_rows *rows, int column); /* NULL stays NULL */
struct render_value query_value(const struct query_rows *rows, int column);

int query_column_count(const struct query_rows *rows);
const char *query_column_name(const struct query_rows *rows, int column);

/*
 * One number of sql/@name.sql (its first row and column); @otherwise where there is no row or
 * it is NULL. 0 or -errno.
 */
int query_number(struct query *query, const char *name, int64_t otherwise, int64_t *ret);
