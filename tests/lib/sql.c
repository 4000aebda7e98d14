/* SPDX-License-Identifier: MIT */
#include "tests/lib/sql.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/test.h"

#define WAIT_MS 300000 /* for another connection; long, since only a failure waits it out */

static sqlite3_stmt *ask(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
		sqlite3_step(statement) != SQLITE_ROW)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	return statement;
}

const char *sql_text(const char *path, const char *sql)
{
	static char text[4096];
	sqlite3_stmt *statement;
	const unsigned char *value;
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		fail_msg("%s: %s", path, sqlite3_errmsg(db));
	sqlite3_busy_timeout(db, WAIT_MS);
	statement = ask(db, sql);
	value = sqlite3_column_text(statement, 0);
	snprintf(text, sizeof(text), "%s", value ? (const char *)value : "");
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return text;
}

int64_t sql_number(const char *path, const char *sql)
{
	return strtoll(sql_text(path, sql), NULL, 10);
}

int64_t sql_number_of(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement = ask(db, sql);
	int64_t value = sqlite3_column_int64(statement, 0);

	sqlite3_finalize(statement);
	return value;
}

void sql_check_number(const char *sql, int64_t found, int64_t expected, const char *file, int line)
{
	if (found == expected)
		return;
	print_error("%s\n\tis %" PRId64 ", not %" PRId64 "\n", sql, found, expected);
	_fail(file, line);
}

void sql_check_text(
	const char *sql, const char *found, const char *expected, const char *file, int line)
{
	if (!strcmp(found, expected))
		return;
	print_error("%s\n\tis \"%s\", not \"%s\"\n", sql, found, expected);
	_fail(file, line);
}
