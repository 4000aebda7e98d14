/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * SQLite databases as outputs: the file under its temporary name, written in one transaction
 * without a journal, because no other process sees it until it is whole. Errors are printed on
 * stderr (message.h). Everything runs on one thread.
 */
#include <sqlite3.h>

#include "cli/export/rows/format.h"

struct table_file {
	sqlite3 *db;
	const char *name; /* the name that the user knows; borrowed */
};

/* Opens the database. This and the functions below return 0, or -errno after printing the
 * reason. */
int table_file_open(const struct export_writer *writer, struct table_file *ret);
/* Runs statements that return no rows. */
int table_file_do(struct table_file *file, const char *sql);
/* Runs the statements of sql/@name.sql, with @suffix in place of each @. */
int table_file_make(struct table_file *file, const char *name, const char *suffix);
/* Prepares @sql, with @suffix in place of each @; NULL: it has none. */
int table_file_prepare(
	struct table_file *file, const char *sql, const char *suffix, sqlite3_stmt **ret);
/*
 * Runs an INSERT with its parameters. Each letter of @form is one: i: int64_t; t: const char *
 * (NULL is NULL); n: NULL, without an argument.
 */
int table_file_insert(struct table_file *file, sqlite3_stmt *statement, const char *form, ...);
/* Commits the transaction and closes the database. */
int table_file_close(struct table_file *file);
void table_file_done(struct table_file *file);
