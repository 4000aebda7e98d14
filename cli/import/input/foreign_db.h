/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Reads a database of another tool, read-only, by the names of its columns, because its version
 * says little. Its views and rows are not trusted: anything may be missing or have another type,
 * and a view may never end, so that the rows and the work are limited by the size of the file.
 * Everything runs on one thread.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/import/input/trace_file.h"

/* Opens the database that @file names, or what was unpacked of it. Returns 0, or -EBADMSG or
 * -ENOMEM with the reason in
 * @file->error. The caller closes *@ret with foreign_close_p() in either case. */
int foreign_open(struct trace_file *file, sqlite3 **ret);
void foreign_close_p(sqlite3 **db);
void foreign_end_p(sqlite3_stmt **statement);

bool foreign_has_table(sqlite3 *db, const char *table);
bool foreign_has_column(sqlite3 *db, const char *table, const char *column);

/* Prepares a question. Returns what foreign_open() returns. */
__attribute__((format(printf, 4, 5))) int foreign_ask(
	struct trace_file *file, sqlite3 *db, sqlite3_stmt **ret, const char *format, ...);
/* Returns 1 if there is a row, 0 if there are no more, or -EBADMSG with the reason in
 * @file->error. */
int foreign_next(struct trace_file *file, sqlite3_stmt *rows);
/* Returns the first number of the answer, or @otherwise. */
int64_t foreign_number(sqlite3 *db, const char *sql, int64_t otherwise);

/* Reads an integer of the current row. Returns false if it is NULL or not an integer. */
bool foreign_integer(sqlite3_stmt *rows, int column, int64_t *ret);
int64_t foreign_integer_or(sqlite3_stmt *rows, int column, int64_t otherwise);
/* Never returns NULL. */
const char *foreign_text(sqlite3_stmt *rows, int column);

/* Sets @file->error to "NAME: row N of TABLE: why". Returns -EBADMSG. */
int foreign_refuse(struct trace_file *file, const char *table, int64_t row, const char *why);
