/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Brings a database to the newest schema: forward only, all steps in one transaction, each an
 * embedded collectord/schema/NNNN_*.sql. A new file does not go through them: it begins as the
 * image of a database that has, which the build makes (schema_image.c). Store thread.
 */
#include <sqlite3.h>
#include <stddef.h>

struct migration {
	int version;
	const char *name;
	const char *sql;
};

/* Made by embed_sql.cmake from collectord/schema; ends with version 0. */
extern const struct migration migrations[];

/* Made by schema-image: what is not zero in an empty database; ends with no bytes. */
struct schema_run {
	size_t at, bytes;
	const unsigned char *data;
};
extern const struct schema_run schema_image[];
extern const size_t schema_image_bytes;

/*
 * 0; -EPROTONOSUPPORT: written by a newer rtl; -EMEDIUMTYPE: not a database of ours; or what
 * database_errno() makes of SQLite's error. On error the file is as it was.
 */
int migrate_run(sqlite3 *db);
