/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds out whether a database of rtl can be added to another one as it is. Its bytes may come from
 * a stranger: a table may be a view, a column may hold anything, and a row that refers to nothing
 * would refer to a row of the next file that is imported. Everything runs on one thread.
 */
#include <sqlite3.h>

#include "cli/import/input/trace_file.h"

/* Checks that what has the name of a table of @store's schema is a table in @other, before other
 * SQL reads it. Returns 0, or -EBADMSG or -ENOMEM with the reason in @file->error. */
int own_check_tables(struct trace_file *file, sqlite3 *store, sqlite3 *other);
/* Checks the rows of the database that is attached to @db as "other", of the newest schema. Returns
 * what own_check_tables() returns. */
int own_check_rows(struct trace_file *file, sqlite3 *db);
