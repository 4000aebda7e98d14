// SPDX-License-Identifier: MIT
#include "cli/import/input/foreign_db.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collectord/db/database.h"

/* Instructions of SQLite's virtual machine between two calls of count_steps(). */
#define STEPS	       100000u
/* Instructions for each byte of a database. A row has some ten bytes, and takes hundreds of them.
 */
#define STEPS_PER_BYTE 1000u
#define STEPS_OF_SMALL 10000000u

static uint64_t size_of(const struct trace_file *file)
{
	return file->unpacked ? file->at : file->size;
}

/* Ends what a view that never ends would go on with. */
static int count_steps(void *data)
{
	struct trace_file *file = data;

	file->steps += STEPS;
	return file->steps > STEPS_OF_SMALL + STEPS_PER_BYTE * size_of(file);
}

static int fail(struct trace_file *file, sqlite3 *db)
{
	if (db && sqlite3_errcode(db) == SQLITE_INTERRUPT) {
		snprintf(file->error, sizeof(file->error),
			"%.200s: cannot be read: its views take more work than its size explains",
			file->name);
		return -EBADMSG;
	}
	snprintf(file->error, sizeof(file->error), "%.200s: cannot be read: %s", file->name,
		db ? sqlite3_errmsg(db) : "out of memory");
	return -EBADMSG;
}

int foreign_open(struct trace_file *file, sqlite3 **ret)
{
	const char *path = file->unpacked ? file->unpacked : file->name;

	if (sqlite3_open_v2(path, ret, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
		SQLITE_OK)
		return fail(file, *ret);
	database_harden(*ret);
	sqlite3_progress_handler(*ret, STEPS, count_steps, file);
	sqlite3_busy_timeout(*ret, 5000);
	/* Asks a question at once, because SQLite reads the schema only then. */
	if (sqlite3_exec(*ret, "PRAGMA query_only=1; SELECT count(*) FROM sqlite_master", NULL,
		    NULL, NULL) != SQLITE_OK)
		return fail(file, *ret);
	return 0;
}

void foreign_close_p(sqlite3 **db)
{
	(void)sqlite3_close(*db);
	*db = NULL;
}

void foreign_end_p(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
	*statement = NULL;
}

bool foreign_has_column(sqlite3 *db, const char *table, const char *column)
{
	sqlite3_stmt *rows = NULL;
	bool has = false;

	if (sqlite3_prepare_v2(db,
		    "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2 COLLATE NOCASE", -1, &rows,
		    NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(rows, 1, table, -1, SQLITE_STATIC);
	sqlite3_bind_text(rows, 2, column, -1, SQLITE_STATIC);
	has = sqlite3_step(rows) == SQLITE_ROW;
	sqlite3_finalize(rows);
	return has;
}

bool foreign_has_table(sqlite3 *db, const char *table)
{
	return foreign_has_column(db, table, "id");
}

int foreign_ask(struct trace_file *file, sqlite3 *db, sqlite3_stmt **ret, const char *format, ...)
{
	va_list arguments;
	char *sql;
	int result;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	if (!sql)
		return fail(file, NULL);
	result = sqlite3_prepare_v2(db, sql, -1, ret, NULL);
	sqlite3_free(sql);
	return result == SQLITE_OK ? 0 : fail(file, db);
}

int foreign_next(struct trace_file *file, sqlite3_stmt *rows)
{
	int step = sqlite3_step(rows);

	if (step == SQLITE_ROW && ++file->rows > size_of(file)) {
		snprintf(file->error, sizeof(file->error),
			"%.200s: cannot be read: has more rows than bytes", file->name);
		return -EBADMSG;
	}
	if (step == SQLITE_ROW)
		return 1;
	return step == SQLITE_DONE ? 0 : fail(file, sqlite3_db_handle(rows));
}

int64_t foreign_number(sqlite3 *db, const char *sql, int64_t otherwise)
{
	sqlite3_stmt *rows = NULL;
	int64_t number = otherwise;

	if (sqlite3_prepare_v2(db, sql, -1, &rows, NULL) == SQLITE_OK &&
		sqlite3_step(rows) == SQLITE_ROW)
		number = foreign_integer_or(rows, 0, otherwise);
	sqlite3_finalize(rows);
	return number;
}

bool foreign_integer(sqlite3_stmt *rows, int column, int64_t *ret)
{
	int type = sqlite3_column_type(rows, column);

	if (type != SQLITE_INTEGER && type != SQLITE_TEXT)
		return false;
	if (type == SQLITE_TEXT &&
		sqlite3_value_numeric_type(sqlite3_column_value(rows, column)) != SQLITE_INTEGER)
		return false;
	*ret = sqlite3_column_int64(rows, column);
	return true;
}

int64_t foreign_integer_or(sqlite3_stmt *rows, int column, int64_t otherwise)
{
	int64_t value;

	return foreign_integer(rows, column, &value) ? value : otherwise;
}

const char *foreign_text(sqlite3_stmt *rows, int column)
{
	const char *text = (const char *)sqlite3_column_text(rows, column);

	return text ? text : "";
}

int foreign_refuse(struct trace_file *file, const char *table, int64_t row, const char *why)
{
	snprintf(file->error, sizeof(file->error), "%.200s: row %" PRId64 " of %s: %s", file->name,
		row, table, why);
	return -EBADMSG;
}
