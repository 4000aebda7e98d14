/* SPDX-License-Identifier: MIT */
#include "collectord/db/database.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/fault.h"
#include "collectord/db/migrate.h"
#include "collectord/db/watched_vfs.h"
#include "collectord/db/wal.h"
#include "proto/base/limits.h"

#define OPEN_BUSY_MS 5000
/* Who reads is held up by recovery alone. */
#define READ_BUSY_MS 1000
/* Instructions of SQLite's machine between two beats: some milliseconds. */
#define BEAT_STEPS   100000

/* A text found no memory since the last database_run(). */
static _Thread_local bool is_unbound;

int database_errno(int result)
{
	switch (result & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL: /* somebody has locks on the log that nobody needs to read it */
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_NOTADB:
		return -EMEDIUMTYPE;
	case SQLITE_CORRUPT:
		return -EUCLEAN;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
	case SQLITE_TOOBIG:
	case SQLITE_RANGE:
		return -EINVAL;
	default:
		return -EIO;
	}
}

int database_schema_errno(int result)
{
	return result == SQLITE_ERROR ? -EUCLEAN : database_errno(result);
}

/* What SQLite could not open for want of descriptors was not forbidden. */
static int errno_of(sqlite3 *db, int result)
{
	int cause = (result & 0xff) == SQLITE_CANTOPEN ? sqlite3_system_errno(db) : 0;

	return cause == EMFILE || cause == ENFILE ? -cause : database_errno(result);
}

int database_exec(sqlite3 *db, const char *sql)
{
	return errno_of(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

/* One value of one row as text. */
static int read_text(sqlite3 *db, const char *sql, char *ret, size_t bytes)
{
	sqlite3_stmt *statement;
	int r = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	if (r != SQLITE_OK)
		return errno_of(db, r);
	r = sqlite3_step(statement);
	if (r == SQLITE_ROW)
		snprintf(ret, bytes, "%s", (const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	return r == SQLITE_ROW ? 0 : errno_of(db, r);
}

static int set_journal(sqlite3 *db, const char *sql, const char *wanted)
{
	char mode[16] = "";
	int r = read_text(db, sql, mode, sizeof(mode));

	if (r < 0)
		return r;
	return strcmp(mode, wanted) ? -EBUSY : 0;
}

/* Before anything is written: that would be over what tells it. */
static int look_at_log(sqlite3 *db, bool *ret_is_cut)
{
	char mode[16] = "";
	int r = read_text(db, "PRAGMA journal_mode", mode, sizeof(mode));

	if (r == 0 && !strcmp(mode, "wal"))
		r = wal_is_cut(db);
	*ret_is_cut = r == 1;
	if (r == 0)
		(void)wal_trim(db); /* who cannot now can later: what then fails says so */
	return r < 0 ? r : 0;
}

void database_harden(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)NULL);
	/* Debian's is built with it on. */
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, (int *)NULL);
	(void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, STORE_VALUE_BYTES_MAX);
}

void database_set_beat(sqlite3 *db, const struct database_patience *patience)
{
	if (patience && patience->beat)
		sqlite3_progress_handler(db, BEAT_STEPS, patience->beat, patience->data);
}

/* Nothing stands in it but its schema: what every file has is written first. */
static bool is_new_file(sqlite3 *db)
{
	char rows[16] = "";

	/* What cannot be read is met again by whoever needs it. */
	(void)read_text(db, "SELECT count(*) FROM rtl_meta", rows, sizeof(rows));
	return !strcmp(rows, "0");
}

static int configure(sqlite3 *db, bool *ret_is_cut)
{
	char sql[256], mode[16] = "";
	int r;

	database_harden(db);
	snprintf(sql, sizeof(sql),
		"PRAGMA page_size=%d; PRAGMA synchronous=NORMAL;"
		"PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=%u",
		DATABASE_PAGE_BYTES, WAL_BYTES_MAX);
	r = database_exec(db, sql);
	if (r < 0)
		return r;
	r = look_at_log(db, ret_is_cut);
	if (r == 0)
		r = migrate_run(db);
	/* The schema is on the disk. Another mode is a few bytes of one sector, and its first log
	 * holds what every new file has: with or without them it is one of ours that nothing is in
	 * yet. Both are synced, with their folder, before the first checkpoint writes to the file. */
	if (r == 0 && is_new_file(db))
		r = database_exec(db, "PRAGMA synchronous=OFF");
	if (r < 0)
		return r;
	/* After the schema: what tells a file of ours stands in it, and not in a log beside it.
	 * Another mode is its answer where there is no shared memory, BUSY where somebody
	 * reads. */
	r = read_text(db, "PRAGMA journal_mode=WAL", mode, sizeof(mode));
	if (r < 0)
		return r;
	return strcmp(mode, "wal") ? -ENOTSUP : 0;
}

int database_begin_work(sqlite3 *db)
{
	sqlite3_busy_timeout(db, 0);
	return database_exec(db, "PRAGMA synchronous=NORMAL");
}

void database_init(void)
{
	/* No stock of 20 pages for each connection, which here would be 650 KiB. Refused where
	 * SQLite is in use already: then it is as it was. */
	(void)sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)NULL, 0, 0);
}

/* A collector of one user holds up nobody else: its connections wait as SQLite does. */
static void set_patience(unsigned busy_ms, uint64_t *left_us)
{
	pace_set_patience(left_us ? busy_ms * 1000ull : UINT64_MAX, left_us);
}

int database_open(
	const char *path, const struct database_patience *patience, bool *ret_is_cut, sqlite3 **ret)
{
	const struct database_patience five_seconds = {.busy_ms = OPEN_BUSY_MS};
	const char *vfs = pace_vfs();
	sqlite3 *db = NULL;
	int r;

	if (!vfs)
		return -ENOMEM;
	/* One thread uses it: SQLite's own mutexes are a tenth of an insert. */
	errno = 0; /* SQLite takes over what stands there even where no call failed */
	r = sqlite3_open_v2(path, &db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
			SQLITE_OPEN_URI, /* for the feed's; paths of ours begin with a slash */
		vfs);
	if (!patience)
		patience = &five_seconds;
	set_patience(patience->busy_ms, patience->left_us);
	/* A reader, who may look at any file, holds us up for a moment: until it is in WAL mode, and
	 * where he is the first to make the log's index, with the first transaction in that. */
	if (r == SQLITE_OK) {
		database_set_beat(db, patience);
		sqlite3_busy_timeout(db, (int)patience->busy_ms);
		r = configure(db, ret_is_cut);
	} else {
		r = errno_of(db, r);
	}
	if (r < 0) {
		database_close(db);
		return r;
	}
	*ret = db;
	return 0;
}

int database_open_to_read(const char *path, const struct database_patience *patience, sqlite3 **ret)
{
	unsigned busy_ms;
	const char *vfs = pace_vfs();
	sqlite3 *db = NULL;
	int r;

	if (!vfs)
		return -ENOMEM;
	errno = 0;
	r = sqlite3_open_v2(
		path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, vfs);
	r = errno_of(db, r);
	if (r < 0) {
		database_close(db);
		return r;
	}
	database_harden(db);
	database_set_beat(db, patience);
	busy_ms = patience->busy_ms < READ_BUSY_MS ? patience->busy_ms : READ_BUSY_MS;
	sqlite3_busy_timeout(db, (int)busy_ms);
	set_patience(busy_ms, patience->left_us);
	*ret = db;
	return 0;
}

static int checkpoint(sqlite3 *db, int mode)
{
	return database_errno(sqlite3_wal_checkpoint_v2(db, "main", mode, NULL, NULL));
}

int database_checkpoint(sqlite3 *db)
{
	return checkpoint(db, SQLITE_CHECKPOINT_TRUNCATE);
}

int database_write_back(sqlite3 *db)
{
	FAULT_POINT("checkpoint");
	return checkpoint(db, SQLITE_CHECKPOINT_PASSIVE);
}

/*
 * All that the change of mode writes is three numbers in the first hundred bytes of the file, each
 * of which may be old or new: a rollback journal on the disk would protect nothing, and is two
 * waits for it. And the log, which then goes, is not emptied before.
 */
int database_seal(sqlite3 *db)
{
	int r = database_write_back(db);

	if (r == 0)
		r = set_journal(db, "PRAGMA main.journal_mode=MEMORY", "memory");
	if (r == 0)
		r = set_journal(db, "PRAGMA main.journal_mode=DELETE", "delete");
	/* Who only has it open keeps the log, but does not need what lies in it. */
	if (r == -EBUSY)
		(void)database_checkpoint(db);
	return r;
}

bool database_has_moved(sqlite3 *db)
{
	int has_moved = 0;

	return sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved) == SQLITE_OK &&
	       has_moved;
}

sqlite3 *database_close(sqlite3 *db)
{
	/* Fails only with statements left open; _v2 would hide that for ever. */
	(void)sqlite3_close(db);
	return NULL;
}

int database_prepare(sqlite3 *db, sqlite3_stmt **statement, const char *sql)
{
	if (*statement)
		return 0;
	return database_schema_errno(
		sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL));
}

int database_run(sqlite3_stmt *statement)
{
	int r;

	/* Not for SQLite to find a NULL where none may be: that would be the peer's fault. */
	if (is_unbound) {
		is_unbound = false;
		(void)sqlite3_reset(statement); /* it was not run */
		sqlite3_clear_bindings(statement);
		return -ENOMEM;
	}
	(void)sqlite3_step(statement); /* sqlite3_reset() says the same error again */
	r = sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	return database_errno(r);
}

void database_bind_text(sqlite3_stmt *statement, int index, const char *text)
{
	if (sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT) == SQLITE_NOMEM)
		is_unbound = true;
}

void database_bind_optional(sqlite3_stmt *statement, int index, bool has, int64_t value)
{
	if (has)
		(void)sqlite3_bind_int64(statement, index, value);
	else
		(void)sqlite3_bind_null(statement, index);
}
