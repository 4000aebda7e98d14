// SPDX-License-Identifier: MIT
#include "cli/database/session/index.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/database/file.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/names/schema.h"

/*
 * The collector commits one row at a time; we do not wait for a process that keeps the lock longer.
 */
#define INDEX_BUSY_MS 1000
/* Rows read in one transaction: a few milliseconds. */
#define INDEX_PART    2048

/* If a file has several sessions, one row of the index is not all of it. */
static const char part_sql[] =
	"SELECT database, name, job, command, completeness, uid, start_realtime_ns, dispatched, "
	"stored, lost, bytes, changed_ns, processes, simulated, "
	"count(*) = 1 AND end_realtime_ns IS NOT NULL AND changed_ns IS NOT NULL "
	"FROM session WHERE database > ?1 GROUP BY database ORDER BY database LIMIT ?2";
enum {
	COLUMN_DATABASE,
	COLUMN_NAME,
	COLUMN_JOB,
	COLUMN_COMMAND,
	COLUMN_LINE,
	COLUMN_UID,
	COLUMN_START,
	COLUMN_DISPATCHED,
	COLUMN_STORED,
	COLUMN_LOST,
	COLUMN_BYTES,
	COLUMN_CHANGED,
	COLUMN_PROCESSES,
	COLUMN_SIMULATED,
	COLUMN_IS_KNOWN,
};

static void close_db_p(sqlite3 **db)
{
	sqlite3_close_v2(*db);
}

static void finalize_p(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

static int64_t pragma(sqlite3 *db, const char *sql)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) || sqlite3_step(row) != SQLITE_ROW)
		return -1;
	return sqlite3_column_int64(row, 0);
}

/*
 * Like query.c: an older index lacks columns that are needed, and a newer one may have another
 * meaning.
 */
static sqlite3 *open_index(const char *path)
{
	CLEANUP(close_db_p) sqlite3 *db = NULL;
	CLEANUP(free_p) char *uri = NULL;
	char error[QUERY_ERROR_BYTES];
	struct query_file file;

	if (query_file_look(path, &file, error))
		return NULL;
	uri = query_file_uri(path, false);
	if (!uri || sqlite3_open_v2(uri, &db,
			    SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL))
		return NULL;
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, STORE_VALUE_BYTES_MAX);
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_busy_timeout(db, INDEX_BUSY_MS);
	if (pragma(db, "PRAGMA application_id") != SCHEMA_INDEX_APPLICATION_ID ||
		pragma(db, "PRAGMA user_version") != SCHEMA_INDEX_VERSION)
		return NULL;
	return TAKE(db);
}

static char *copy_text(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? xstrdup(text) : NULL;
}

static void free_session(struct query_index_session *session)
{
	free(session->path);
	free(session->name);
	free(session->job);
	free(session->command);
	free(session->line);
}

/* @database is a path in @real, which the caller calls @folder. */
static void add_row(struct query_index *index, sqlite3_stmt *row, const char *database,
	const char *real, const char *folder)
{
	size_t bytes = strlen(real);
	struct query_index_session session = {
		.start_realtime_ns = (uint64_t)sqlite3_column_int64(row, COLUMN_START),
		.dispatched = (uint64_t)sqlite3_column_int64(row, COLUMN_DISPATCHED),
		.stored = (uint64_t)sqlite3_column_int64(row, COLUMN_STORED),
		.lost = (uint64_t)sqlite3_column_int64(row, COLUMN_LOST),
		.bytes = (uint64_t)sqlite3_column_int64(row, COLUMN_BYTES),
		.changed_ns = (uint64_t)sqlite3_column_int64(row, COLUMN_CHANGED),
		.uid = (uint32_t)sqlite3_column_int64(row, COLUMN_UID),
		.processes = (uint32_t)sqlite3_column_int64(row, COLUMN_PROCESSES),
		.is_simulated = sqlite3_column_int(row, COLUMN_SIMULATED),
	};

	if (strncmp(database, real, bytes) != 0 || database[bytes] != '/')
		return;
	if (asprintf(&session.path, "%s%s", folder, database + bytes) < 0)
		return;
	session.name = copy_text(row, COLUMN_NAME);
	session.job = copy_text(row, COLUMN_JOB);
	session.command = copy_text(row, COLUMN_COMMAND);
	session.line = copy_text(row, COLUMN_LINE);
	if (GROW(index->sessions, index->count, index->capacity) < 0)
		free_session(&session);
	else
		index->sessions[index->count++] = session;
}

/* Adds the rows after @last, and moves @last. False if there are no more. */
static bool add_part(struct query_index *index, sqlite3_stmt *part, const char *real,
	const char *folder, char **last)
{
	int count = 0;

	sqlite3_bind_text(part, 1, *last, -1, SQLITE_TRANSIENT);
	sqlite3_bind_int(part, 2, INDEX_PART);
	for (; sqlite3_step(part) == SQLITE_ROW; count++) {
		char *database = copy_text(part, COLUMN_DATABASE);

		/*
		 * A blob, or a text with a NUL in it: the next part would return the same row for
		 * ever.
		 */
		if (!database || strcmp(database, *last) <= 0) {
			free(database);
			break;
		}
		if (sqlite3_column_int(part, COLUMN_IS_KNOWN))
			add_row(index, part, database, real, folder);
		free(*last);
		*last = database;
	}
	sqlite3_reset(part);
	return count == INDEX_PART;
}

void query_index_add(struct query_index *index, const char *folder)
{
	CLEANUP(close_db_p) sqlite3 *db = NULL;
	CLEANUP(finalize_p) sqlite3_stmt *part = NULL;
	CLEANUP(free_p) char *path = NULL, *last = xstrdup(""), *real = realpath(folder, NULL);

	if (!real || asprintf(&path, "%s/index.db", real) < 0)
		return;
	db = open_index(path);
	if (!db || sqlite3_prepare_v2(db, part_sql, -1, &part, NULL))
		return;
	while (add_part(index, part, real, folder, &last))
		continue;
}

static int compare(const void *a, const void *b)
{
	const struct query_index_session *x = a, *y = b;

	return strcmp(x->path, y->path);
}

void query_index_sort(struct query_index *index)
{
	if (index->count)
		qsort(index->sessions, index->count, sizeof(*index->sessions), compare);
}

void query_index_done(struct query_index *index)
{
	for (size_t i = 0; i < index->count; i++)
		free_session(index->sessions + i);
	free(index->sessions);
	*index = (struct query_index){0};
}

const struct query_index_session *query_index_find(
	const struct query_index *index, const char *path)
{
	/* Used only in comparisons. */
	const struct query_index_session key = {.path = (char *)path};
	const struct query_index_session *found =
		index->count ? bsearch(&key, index->sessions, index->count,
				       sizeof(*index->sessions), compare)
			     : NULL;
	struct stat st;

	if (!found || stat(path, &st) || !S_ISREG(st.st_mode))
		return NULL;
	if ((uint64_t)st.st_size != found->bytes ||
		(uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec !=
			found->changed_ns)
		return NULL;
	return found;
}
