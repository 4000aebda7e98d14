/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Of formats that are an SQLite database: the file under its first name, in one transaction without
 * a journal, as nobody else sees it until it is whole. Says what is wrong on stderr (message.h).
 * One thread.
 */
#include <sqlite3.h>

#include "cli/export/format.h"

struct table_file {
	sqlite3 *db;
	const char *name; /* that the user knows; borrowed */
};

/* 0 or -errno after a line; also of those below. */
int table_file_open(const struct export_writer *writer, struct table_file *ret);
/* Statements that give no rows. */
int table_file_do(struct table_file *file, const char *sql);
/* Those of sql/@name.sql, with @suffix where they have an @. */
int table_file_make(struct table_file *file, const char *name, const char *suffix);
/* @sql, with @suffix where it has an @ (NULL: it has none). */
int table_file_prepare(
	struct table_file *file, const char *sql, const char *suffix, sqlite3_stmt **ret);
/*
 * Runs an INSERT with its parameters: of @form each letter is one, i: int64_t, t: const char *
 * (NULL is NULL), n: NULL, without an argument.
 */
int table_file_insert(struct table_file *file, sqlite3_stmt *statement, const char *form, ...);
/* Commits. */
int table_file_close(struct table_file *file);
void table_file_done(struct table_file *file);
