/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A database of another tool, read-only, by the names of its columns, since its version says
 * little. Its views and rows are a stranger's: nothing of it is trusted to be there, or to be of
 * its type. One thread.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/import/trace_file.h"

/* Opens what @file names. 0, -EBADMSG, -ENOMEM with its line in @file->error; sqlite3_close() it.
 */
int foreign_open(struct trace_file *file, sqlite3 **ret);
void foreign_close_p(sqlite3 **db);
void foreign_end_p(sqlite3_stmt **statement);

bool foreign_has_table(sqlite3 *db, const char *table);
bool foreign_has_column(sqlite3 *db, const char *table, const char *column);

/* As foreign_open(). */
__attribute__((format(printf, 4, 5))) int foreign_ask(
	struct trace_file *file, sqlite3 *db, sqlite3_stmt **ret, const char *format, ...);
/* 1: a row; 0: no more; -EBADMSG with its line. */
int foreign_next(struct trace_file *file, sqlite3_stmt *rows);
/* Its first number, or @otherwise. */
int64_t foreign_number(sqlite3 *db, const char *sql, int64_t otherwise);

/* Of the row at hand; false: it is NULL, or no integer. */
bool foreign_integer(sqlite3_stmt *rows, int column, int64_t *ret);
int64_t foreign_integer_or(sqlite3_stmt *rows, int column, int64_t otherwise);
/* Never NULL. */
const char *foreign_text(sqlite3_stmt *rows, int column);

/* Fills @file->error: "NAME: row N of TABLE: why". -EBADMSG. */
int foreign_refuse(struct trace_file *file, const char *table, int64_t row, const char *why);
