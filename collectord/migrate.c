/* SPDX-License-Identifier: MIT */
#include "collectord/migrate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collectord/database.h"
#include "proto/schema.h"

/* The migration that is for files without dispatches. */
#define VERSION_WITHOUT_ROWS 11

/* SQLite's code. */
static int read_int(sqlite3 *db, const char *sql, int *ret)
{
	sqlite3_stmt *statement;
	int r = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	if (r != SQLITE_OK)
		return r;
	if (sqlite3_step(statement) == SQLITE_ROW)
		*ret = sqlite3_column_int(statement, 0);
	return sqlite3_finalize(statement);
}

static int read_pragma(sqlite3 *db, const char *sql, int *ret)
{
	return database_errno(read_int(db, sql, ret));
}

/* Takes over @bytes, always. */
static int open_image(unsigned char *bytes, sqlite3 **ret)
{
	sqlite3_int64 size = (sqlite3_int64)schema_image_bytes;
	int r = sqlite3_open_v2(":memory:", ret, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (r != SQLITE_OK) {
		sqlite3_free(bytes);
		return r;
	}
	return sqlite3_deserialize(*ret, "main", bytes, size, size,
		SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
}

static int copy_image(sqlite3 *db, sqlite3 *image)
{
	sqlite3_backup *backup = sqlite3_backup_init(db, "main", image, "main");

	if (!backup)
		return sqlite3_errcode(db);
	(void)sqlite3_backup_step(backup, -1); /* _finish() says the same error again */
	return sqlite3_backup_finish(backup);
}

/* Page by page, in one transaction: to have SQLite read the schema and write it down again, step by
 * step, takes ten times as long. */
static int make_new(sqlite3 *db)
{
	unsigned char *bytes = sqlite3_malloc64(schema_image_bytes);
	sqlite3 *image = NULL;
	int r;

	if (!bytes)
		return -ENOMEM;
	memset(bytes, 0, schema_image_bytes);
	for (const struct schema_run *run = schema_image; run->bytes; run++)
		memcpy(bytes + run->at, run->data, run->bytes);
	r = open_image(bytes, &image);
	if (r == SQLITE_OK)
		r = copy_image(db, image);
	(void)sqlite3_close(image);
	return database_errno(r);
}

/*
 * Rows stay in the table that they are in. To copy a hundred million of them would take minutes, in
 * which the store does nothing for anybody else, and the disk would have to hold them twice. The
 * feed knows both tables.
 */
static int is_left_out(sqlite3 *db, const struct migration *m, bool *ret)
{
	int has_rows = 0;
	int r = m->version == VERSION_WITHOUT_ROWS
			? read_int(db, "SELECT EXISTS (SELECT 1 FROM rtl_dispatch)", &has_rows)
			: SQLITE_OK;

	*ret = has_rows;
	return r;
}

static int apply(sqlite3 *db, const struct migration *m)
{
	bool is_left;
	char end[64];
	int r = is_left_out(db, m, &is_left);

	if (r == SQLITE_OK && !is_left)
		r = sqlite3_exec(db, m->sql, NULL, NULL, NULL);
	snprintf(end, sizeof(end), "PRAGMA user_version=%d", m->version);
	return r == SQLITE_OK ? sqlite3_exec(db, end, NULL, NULL, NULL) : r;
}

static int apply_from(sqlite3 *db, int version)
{
	int r = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);

	for (const struct migration *m = migrations; r == SQLITE_OK && m->version; m++)
		if (m->version > version)
			r = apply(db, m);
	if (r == SQLITE_OK)
		r = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (r == SQLITE_OK)
		return 0;
	/* No transaction to end when BEGIN failed: that error is the one to report. */
	(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return database_schema_errno(r);
}

/* An empty file is new; anything else must say that it is ours. */
static int check_origin(sqlite3 *db, int version)
{
	int id, objects, r;

	r = read_pragma(db, "PRAGMA application_id", &id);
	if (r < 0)
		return r;
	r = read_pragma(db, "SELECT count(*) FROM sqlite_master", &objects);
	if (r < 0)
		return r;
	/* Of no version, and yet there is something: an image would go over it. */
	if (id == SCHEMA_APPLICATION_ID)
		return objects && !version ? -EUCLEAN : 0;
	return id || version || objects ? -EMEDIUMTYPE : 0;
}

int migrate_run(sqlite3 *db)
{
	int version, r;

	r = read_pragma(db, "PRAGMA user_version", &version);
	if (r == 0)
		r = check_origin(db, version);
	if (r < 0)
		return r;
	if (version > SCHEMA_VERSION)
		return -EPROTONOSUPPORT;
	if (version == SCHEMA_VERSION)
		return 0;
	return version ? apply_from(db, version) : make_new(db);
}
