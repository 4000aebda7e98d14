// SPDX-License-Identifier: MIT
#include "cli/export/rows/table_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/message.h"
#include "cli/database/query_text.h"
#include "proto/base/cleanup.h"

extern const struct query_text export_sql_texts[]; /* generated from sql/ by embed_sql.cmake */

static int fail(const struct table_file *file)
{
	say("%s: cannot write: %s", file->name, sqlite3_errmsg(file->db));
	return -EIO;
}

int table_file_open(const struct export_writer *writer, struct table_file *ret)
{
	*ret = (struct table_file){.name = writer->out};
	if (sqlite3_open_v2(
		    writer->file.path, &ret->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL))
		return fail(ret);
	return table_file_do(ret, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
}

int table_file_do(struct table_file *file, const char *sql)
{
	return sqlite3_exec(file->db, sql, NULL, NULL, NULL) ? fail(file) : 0;
}

/* Returns @text with @suffix in place of each @. The caller frees it. */
static char *fill_in(const char *text, const char *suffix)
{
	size_t length = strlen(suffix), fill = 0, count = 0;
	char *ret;

	for (const char *at = text; *at; at++)
		count += *at == '@';
	ret = malloc(strlen(text) + count * length + 1);
	for (; ret && *text; text++) {
		if (*text != '@') {
			ret[fill++] = *text;
			continue;
		}
		memcpy(ret + fill, suffix, length);
		fill += length;
	}
	if (ret)
		ret[fill] = '\0';
	return ret;
}

int table_file_make(struct table_file *file, const char *name, const char *suffix)
{
	for (const struct query_text *text = export_sql_texts; text->name; text++)
		if (!strcmp(text->name, name)) {
			CLEANUP(free_p) char *sql = fill_in(text->sql, suffix ? suffix : "");

			return sql ? table_file_do(file, sql) : -ENOMEM;
		}
	return -ENOENT;
}

int table_file_prepare(
	struct table_file *file, const char *sql, const char *suffix, sqlite3_stmt **ret)
{
	CLEANUP(free_p) char *filled = fill_in(sql, suffix ? suffix : "");

	if (!filled)
		return -ENOMEM;
	return sqlite3_prepare_v2(file->db, filled, -1, ret, NULL) ? fail(file) : 0;
}

int table_file_insert(struct table_file *file, sqlite3_stmt *statement, const char *form, ...)
{
	int code = SQLITE_OK;
	va_list args;

	va_start(args, form);
	for (int at = 1; *form && !code; form++, at++) {
		if (*form == 'i')
			code = sqlite3_bind_int64(statement, at, va_arg(args, int64_t));
		else if (*form == 't')
			code = sqlite3_bind_text(
				statement, at, va_arg(args, const char *), -1, SQLITE_STATIC);
		else
			code = sqlite3_bind_null(statement, at);
	}
	va_end(args);
	if (!code)
		code = sqlite3_step(statement);
	return sqlite3_reset(statement) || code != SQLITE_DONE ? fail(file) : 0;
}

int table_file_close(struct table_file *file)
{
	int r = table_file_do(file, "COMMIT");

	if (!r && sqlite3_close(file->db))
		r = fail(file);
	if (!r)
		file->db = NULL;
	return r;
}

void table_file_done(struct table_file *file)
{
	sqlite3_close_v2(file->db);
	file->db = NULL;
}
