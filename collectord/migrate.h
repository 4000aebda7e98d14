/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Brings a database to the newest schema: forward only, one transaction a step, each step an
 * embedded collectord/schema/NNNN_*.sql. Store thread.
 */
#include <sqlite3.h>

struct migration {
	int version;
	const char *name;
	const char *sql;
};

/* Made by embed_sql.cmake from collectord/schema; ends with version 0. */
extern const struct migration migrations[];

/*
 * 0; -EPROTONOSUPPORT: written by a newer rtl; -EMEDIUMTYPE: not a database of ours; or what
 * database_errno() makes of SQLite's error. On error the file is as it was.
 */
int migrate_run(sqlite3 *db);
