/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Brings a database to the newest schema: forward only, all steps in one transaction, each an
 * embedded collectord/db/schema/NNNN_*.sql. A new file does not go through them: it begins as the
 * image of a database that has, which the build makes (schema_image.c). Store thread.
 */
#include <sqlite3.h>
#include <stddef.h>
#include <sys/types.h>

struct migration {
	int version;
	const char *name;
	const char *sql;
};

/* Made by embed_sql.cmake from collectord/db/schema; ends with version 0. */
extern const struct migration migrations[];

/* Made by schema-image: what is not zero in an empty database; ends with no bytes. */
struct schema_run {
	size_t at, bytes;
	const unsigned char *data;
};
extern const struct schema_run schema_image[];
extern const size_t schema_image_bytes;

/*
 * The new file @path, which has the newest schema and is on the disk. @made is called with @data when
 * all of it is written and has its name, and before the disk is waited for. -EEXIST; -EOPNOTSUPP:
 * there are no files without a name here, or none that get one: make an empty one, for migrate_run().
 */
int migrate_make_file(const char *path, mode_t mode, void (*made)(void *), void *data);

/*
 * Where the power went between a new file's name and its sync, zeros may stand for some of it: then
 * nothing was ever stored in it, and it is made an empty one. It must be open nowhere, and have no log.
 * 0; -ENOMEM; what ftruncate() says.
 */
int migrate_forget_unwritten(const char *path);

/*
 * 0; -EPROTONOSUPPORT: written by a newer rtl; -EMEDIUMTYPE: not a database of ours; or what
 * database_errno() makes of SQLite's error. On error the file is as it was.
 */
int migrate_run(sqlite3 *db);
