/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One SQLite file and the one connection that writes and checkpoints it (SQLite before 3.51.3
 * can corrupt a WAL when two connections do). Opens, creates, configures, closes; small helpers
 * for statements. Store thread. Knows no table.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A larger page is a shorter tree; Debian's greatest default, so that any sqlite3 is at ease. */
#define DATABASE_PAGE_BYTES 32768

/*
 * SQLite's result as -errno: -ENOSPC full, -EBUSY, -ENOMEM, -EROFS, -EMEDIUMTYPE not a database,
 * -EUCLEAN corrupt, -EACCES, -EINVAL a value it will never take, -EIO anything else. SQLITE_OK, ROW
 * and DONE are 0. Who opens a file, and database_exec(), say -EMFILE and -ENFILE, too.
 */
int database_errno(int result);

/* Likewise, of SQL of our own that has to do with the schema: an error in it is the file's. */
int database_schema_errno(int result);

/* Before the first connection of the program, by its only thread. */
void database_init(void);

/* For every connection, before anything is read: the schema reaches no further than its tables, and
 * no value is longer than STORE_VALUE_BYTES_MAX. */
void database_harden(sqlite3 *db);

/* What a connection may take of the thread's time. */
struct database_patience {
	unsigned busy_ms; /* opening waits so long for who reads a file, or holds its log */
	uint64_t *left_us; /* and so long at most, which what it waits is taken from; NULL: no less */
	int (*beat)(void *data); /* returns 0; called now and then while a statement runs, which may
				  * take minutes on a large file; NULL: nobody has to know */
	void *data;
};

/* For a connection that database_open() has not made: its statements beat. NULL: they do not. */
void database_set_beat(sqlite3 *db, const struct database_patience *patience);

/*
 * A file that was new waits for the disk from here on: so far its schema alone is there for sure. And
 * nobody is waited for any more.
 */
int database_begin_work(sqlite3 *db);

/*
 * Opens the existing file @path (an empty one is new), brings it to the newest schema and sets
 * 32 KiB pages, WAL, synchronous=NORMAL. @path must be free of symbolic links.
 * -EMEDIUMTYPE: not ours; -EPROTONOSUPPORT: of a newer rtl; -ENOTSUP: no WAL on this file system.
 * *@ret_is_cut: its log has lost what was committed (wal.h); the next commit writes over the trace.
 * @patience: NULL: five seconds, and no beat.
 */
/* For reading alone: nothing of it is changed. @patience: as above, but not NULL. database_errno(). */
int database_open_to_read(
	const char *path, const struct database_patience *patience, sqlite3 **ret);

int database_open(const char *path, const struct database_patience *patience, bool *ret_is_cut,
	sqlite3 **ret);

/*
 * Empties the WAL, without waiting for anybody. -EBUSY: somebody reads what is in it; the rest is
 * checkpointed.
 */
int database_checkpoint(sqlite3 *db);

/* What is in the WAL, into the file, as far as readers allow. */
int database_write_back(sqlite3 *db);

/*
 * Makes it one file: WAL checkpointed and gone, journal_mode=DELETE.
 * -EBUSY: somebody reads it; all is checkpointed as far as readers allow. May be called again.
 */
int database_seal(sqlite3 *db);

/* Whether another file lies at its path now, or none; false where that is not to be seen. */
bool database_has_moved(sqlite3 *db);

/* All statements must be finalized. Returns NULL. */
sqlite3 *database_close(sqlite3 *db);

int database_exec(sqlite3 *db, const char *sql);

/*
 * A prepared statement kept for the life of its connection: prepares *@statement when it is
 * NULL. -EUCLEAN: the schema is not ours, whatever the header says; else as above.
 */
int database_prepare(sqlite3 *db, sqlite3_stmt **statement, const char *sql);

/* Runs a statement that returns no row, resets it and forgets what was bound. */
int database_run(sqlite3_stmt *statement);

/* NULL binds NULL. The text is copied; without memory for that database_run() says -ENOMEM. */
void database_bind_text(sqlite3_stmt *statement, int index, const char *text);
/* FEED_NULL-free variant: binds NULL unless @has. */
void database_bind_optional(sqlite3_stmt *statement, int index, bool has, int64_t value);
