/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One SQLite file and the one connection that writes and checkpoints it (SQLite before 3.51.3 can
 * corrupt a WAL when two connections do). Opens, creates, configures and closes it; has small
 * helpers for statements. Store thread. Knows no table.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A larger page makes a flatter tree. This is Debian's greatest default, so any sqlite3 can read
 * it. */
#define DATABASE_PAGE_BYTES 32768

/*
 * Translates SQLite's result to -errno: -ENOSPC full, -EBUSY, -ENOMEM, -EROFS, -EMEDIUMTYPE not a
 * database, -EUCLEAN corrupt, -EACCES, -EINVAL a value it will never take, -EIO anything else.
 * SQLITE_OK, ROW and DONE are 0. Functions that open a file, and database_exec(), also return
 * -EMFILE and -ENFILE.
 */
int database_errno(int result);

/* As database_errno(), for our own SQL on the schema: an error in it means that the file is
 * damaged. */
int database_schema_errno(int result);

/* Called before the program opens its first connection, while it has one thread. */
void database_init(void);

/* Called for every connection before anything is read: the schema can do no more than define
 * tables, and no value is longer than STORE_VALUE_BYTES_MAX. */
void database_harden(sqlite3 *db);

/* How much of the thread's time a connection may take. */
struct database_patience {
	unsigned busy_ms;	 /* how long opening waits for a reader or a lock on the WAL */
	int (*beat)(void *data); /* called during long statements; returns 0; NULL: none */
	void *data;
};

/*
 * Ends the opening of a database. From now on commits of a new file are synced; until now only its
 * schema is sure to be on the disk. The connection no longer waits for locks.
 */
int database_begin_work(sqlite3 *db);

/* Opens @path for reading only and changes nothing in it. @patience must not be NULL.
 * database_errno(). */
int database_open_to_read(
	const char *path, const struct database_patience *patience, sqlite3 **ret);

/*
 * Opens the existing file @path (an empty one is new), brings it to the newest schema and sets
 * 32 KiB pages, WAL, synchronous=NORMAL. @path must be free of symbolic links. -EMEDIUMTYPE: not
 * ours; -EPROTONOSUPPORT: of a newer rtl; -ENOTSUP: no WAL on this file system. *@ret_is_cut: its
 * WAL has lost committed data (wal.h); the next commit overwrites the evidence. @patience: NULL
 * means five seconds and no beat.
 */
int database_open(const char *path, const struct database_patience *patience, bool *ret_is_cut,
	sqlite3 **ret);

/*
 * Checkpoints and empties the WAL without waiting for readers. -EBUSY: a reader still uses the WAL;
 * the rest is checkpointed.
 */
int database_checkpoint(sqlite3 *db);

/*
 * Makes the database one file: checkpoints the WAL, deletes it and sets journal_mode=DELETE.
 * -EBUSY: another process reads it; the WAL is checkpointed as far as readers allow. May be called
 * again.
 */
int database_seal(sqlite3 *db);

/* True if there is no file, or another one, at its path now; false if that cannot be determined. */
bool database_has_moved(sqlite3 *db);

/* All statements must be finalized. Returns NULL. */
sqlite3 *database_close(sqlite3 *db);

int database_exec(sqlite3 *db, const char *sql);

/*
 * Prepares *@statement if it is NULL; the statement is kept for the life of its connection.
 * -EUCLEAN: the schema is not ours, whatever the header says; else as above.
 */
int database_prepare(sqlite3 *db, sqlite3_stmt **statement, const char *sql);

/* For CLEANUP(). */
static inline void finalize_p(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}
/* Runs a statement that returns no row, resets it and clears its bindings. */
int database_run(sqlite3_stmt *statement);

/* Runs a statement whose first row has a number, and resets it. 1: *@ret is that number (0 for
 * NULL); 0: there is no row; database_errno(). */
int database_read(sqlite3_stmt *statement, int64_t *ret);
/* The same with a statement that is not kept: its parameter is @text, unless that is NULL. Without
 * a row *@ret is not changed. 0, or an error as of database_prepare(). */
int database_number(sqlite3 *db, const char *sql, const char *text, int64_t *ret);
/* NULL binds NULL. The text is copied; without memory database_run() returns -ENOMEM. */
void database_bind_text(sqlite3_stmt *statement, int index, const char *text);
/* Binds NULL unless @has. */
void database_bind_optional(sqlite3_stmt *statement, int index, bool has, int64_t value);
