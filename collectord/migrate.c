/* SPDX-License-Identifier: MIT */
#include "collectord/migrate.h"

#include <errno.h>
#include <stdio.h>

#include "collectord/database.h"
#include "proto/schema.h"

static int read_pragma(sqlite3 *db, const char *sql, int *ret)
{
	sqlite3_stmt *statement;
	int r = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	if (r != SQLITE_OK)
		return database_errno(r);
	r = sqlite3_step(statement);
	if (r == SQLITE_ROW)
		*ret = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return r == SQLITE_ROW ? 0 : database_errno(r);
}

static int apply(sqlite3 *db, const struct migration *m)
{
	char end[96];
	int r;

	snprintf(end, sizeof(end), "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
		SCHEMA_APPLICATION_ID, m->version);
	r = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (r == SQLITE_OK)
		r = sqlite3_exec(db, m->sql, NULL, NULL, NULL);
	if (r == SQLITE_OK)
		r = sqlite3_exec(db, end, NULL, NULL, NULL);
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
	if (id == SCHEMA_APPLICATION_ID)
		return 0;
	return id || version || objects ? -EMEDIUMTYPE : 0;
}

int migrate_run(sqlite3 *db)
{
	int version, r;

	r = read_pragma(db, "PRAGMA user_version", &version);
	if (r < 0)
		return r;
	r = check_origin(db, version);
	if (r < 0)
		return r;
	if (version > SCHEMA_VERSION)
		return -EPROTONOSUPPORT;
	for (const struct migration *m = migrations; m->version; m++) {
		if (m->version <= version)
			continue;
		r = apply(db, m);
		if (r < 0)
			return r;
	}
	return 0;
}
