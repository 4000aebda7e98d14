/* SPDX-License-Identifier: MIT */
#include "collectord/db/database.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/cleanup.h"
#include "proto/base/fault.h"
#include "collectord/db/migrate.h"
#include "collectord/db/watched_vfs.h"
#include "collectord/db/wal.h"
#include "proto/base/limits.h"

#define OPEN_BUSY_MS 5000
/* A connection that only reads waits for nothing but the recovery of a WAL. */
#define READ_BUSY_MS 1000
/* Instructions of SQLite's virtual machine between two beats: some milliseconds. */
#define BEAT_STEPS   100000

/* True if a text could not be bound for want of memory since the last database_run(). */
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
	case SQLITE_PROTOCOL: /* another process locks the WAL without need */
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

/* Tells want of descriptors from a file that may not be opened; SQLite reports both as CANTOPEN. */
static int errno_of(sqlite3 *db, int result)
{
	int cause = (result & 0xff) == SQLITE_CANTOPEN ? sqlite3_system_errno(db) : 0;

	return cause == EMFILE || cause == ENFILE ? -cause : database_errno(result);
}

int database_exec(sqlite3 *db, const char *sql)
{
	return errno_of(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

/* Reads one value of one row as text. */
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

/* Examines the WAL before the first write, which would overwrite the evidence of a cut. */
static int look_at_log(sqlite3 *db, bool *ret_is_cut)
{
	char mode[16] = "";
	int r = read_text(db, "PRAGMA journal_mode", mode, sizeof(mode));

	if (r == 0 && !strcmp(mode, "wal"))
		r = wal_is_cut(db);
	*ret_is_cut = r == 1;
	if (r == 0)
		(void)wal_trim(db); /* on failure a later write reports the error */
	return r < 0 ? r : 0;
}

void database_harden(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)NULL);
	/* Debian builds SQLite with extension loading on. */
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, (int *)NULL);
	(void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, STORE_VALUE_BYTES_MAX);
}

static void set_beat(sqlite3 *db, const struct database_patience *patience)
{
	if (patience && patience->beat)
		sqlite3_progress_handler(db, BEAT_STEPS, patience->beat, patience->data);
}

/* True if the file holds nothing but its schema: the first transaction writes what every file
 * has. */
static bool is_new_file(sqlite3 *db)
{
	char rows[16] = "";

	/* On a read error the result is false, and the next operation on the file meets the
	 * error. */
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
	/* The schema is on the disk already. The change of journal mode writes a few bytes of one
	 * sector, and the first WAL holds only what every new file has. With or without them the
	 * file is an empty database of ours, so neither has to be synced here. The first checkpoint
	 * syncs both, and the folder, before it writes to the file. */
	if (r == 0 && is_new_file(db))
		r = database_exec(db, "PRAGMA synchronous=OFF");
	if (r < 0)
		return r;
	/* WAL mode is set after the schema was written, because the schema in the file itself, not
	 * in a WAL, identifies it as ours. SQLite answers with another mode if there is no shared
	 * memory, and with BUSY if another process reads. */
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
	/* Drops the stock of 20 pages for each connection, here 650 KiB. SQLite refuses this once
	 * it is in use, and then nothing changes. */
	(void)sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)NULL, 0, 0);
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
	/* Only the store thread uses the connection; SQLite's own mutexes would cost a tenth of an
	 * insert. */
	errno = 0; /* SQLite copies errno even if no call failed */
	r = sqlite3_open_v2(path, &db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
			SQLITE_OPEN_URI, /* for the feed's URI; our own paths begin with a slash */
		vfs);
	if (!patience)
		patience = &five_seconds;
	pace_set_patience(patience->busy_ms * 1000ull);
	/* A reader may open any file and delays us for a moment: until the file is in WAL mode,
	 * and, if the reader is the first to build the WAL's index, during our first
	 * transaction. */
	if (r == SQLITE_OK) {
		set_beat(db, patience);
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
	set_beat(db, patience);
	busy_ms = patience->busy_ms < READ_BUSY_MS ? patience->busy_ms : READ_BUSY_MS;
	sqlite3_busy_timeout(db, (int)busy_ms);
	pace_set_patience(busy_ms * 1000ull);
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

/* Checkpoints the WAL into the file as far as readers allow. */
static int write_back(sqlite3 *db)
{
	FAULT_POINT("checkpoint");
	return checkpoint(db, SQLITE_CHECKPOINT_PASSIVE);
}

/*
 * Changes the journal mode without a rollback journal on the disk. The change writes three numbers
 * in the first hundred bytes of the file, each of which may be old or new, so a journal would
 * protect nothing and would cost two waits for the disk. The WAL is deleted afterwards and need not
 * be emptied first.
 */
int database_seal(sqlite3 *db)
{
	int r = write_back(db);

	if (r == 0)
		r = set_journal(db, "PRAGMA main.journal_mode=MEMORY", "memory");
	if (r == 0)
		r = set_journal(db, "PRAGMA main.journal_mode=DELETE", "delete");
	/* A reader that only has the file open keeps the WAL from going, but needs nothing in
	 * it. */
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
	/* Fails only if a statement was left open, which _v2 would hide for ever. */
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

	/* SQLite would find a NULL where none is allowed, and the peer would be blamed for it. */
	if (is_unbound) {
		is_unbound = false;
		(void)sqlite3_reset(statement); /* the statement was not run */
		sqlite3_clear_bindings(statement);
		return -ENOMEM;
	}
	(void)sqlite3_step(statement); /* sqlite3_reset() returns the same error again */
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

int database_read(sqlite3_stmt *statement, int64_t *ret)
{
	int step = sqlite3_step(statement);

	if (step == SQLITE_ROW)
		*ret = sqlite3_column_int64(statement, 0);
	(void)sqlite3_reset(statement);
	return step == SQLITE_ROW ? 1 : database_errno(step);
}

int database_number(sqlite3 *db, const char *sql, const char *text, int64_t *ret)
{
	CLEANUP(finalize_p) sqlite3_stmt *statement = NULL;
	int r = database_prepare(db, &statement, sql);

	if (r < 0)
		return r;
	if (text)
		database_bind_text(statement, 1, text);
	r = database_read(statement, ret);
	return r < 0 ? r : 0;
}
