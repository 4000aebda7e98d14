/* SPDX-License-Identifier: MIT */
#include "collectord/db/rows/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/damaged_file.h"
#include "collectord/db/rows/checkpoint.h"
#include "collectord/db/database.h"
#include "collectord/db/wal.h"
#include "proto/base/fault.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/names/counters.h"
#include "proto/base/limits.h"
#include "proto/names/schema.h"

/* The process id of rtl_loss rows that concern the whole file. */
#define NO_PROCESS 0

static int put_reasons(struct writer *writer)
{
	sqlite3_stmt *put = writer->statements.at[ST_REASON_PUT];
	int r = 0;

	for (unsigned why = 1; r == 0 && why < RTL_UNTIMED_COUNT; why++) {
		sqlite3_bind_int64(put, 1, why);
		sqlite3_bind_text(put, 2, rtl_untimed_name(why), -1, SQLITE_STATIC);
		r = database_run(put);
	}
	return r;
}

static int put_incomplete_first(struct writer *writer)
{
	sqlite3_stmt *put = writer->statements.at[ST_META_PUT_FIRST];

	database_bind_text(put, 1, "complete");
	sqlite3_bind_int64(put, 2, 0);
	return database_run(put);
}

/* Writes the rows that every database has, whatever migration made it. */
static int prime(struct writer *writer)
{
	int r = writer_begin(writer);

	if (r == 0 && writer->was_cut)
		r = writer_put_loss(writer, "logs_cut", 1);
	/* A file that is only sealed keeps its verdict, unless its WAL was cut; a session that
	 * continues it sets it to incomplete. */
	if (r == 0 && writer->was_cut)
		r = writer_put_meta_number(writer, "complete", 0);
	if (r == 0)
		r = put_reasons(writer);
	if (r == 0)
		r = writer_put_meta_number(writer, "schema", SCHEMA_VERSION);
	if (r == 0)
		r = put_incomplete_first(writer);
	if (r == 0)
		r = writer_commit(writer);
	/* Otherwise the next look would find the same cut again. */
	if (r == 0 && writer->was_cut)
		(void)wal_trim(writer->db);
	return r;
}

static void writer_free_p(struct writer **writer)
{
	writer_free(*writer);
}

static void close_all(struct writer *writer)
{
	intern_done(&writer->intern);
	statements_done(&writer->statements);
	feed_end(writer->feed);
	writer->db = database_close(writer->db);
	writer->feed = feed_free(writer->feed);
	writer->is_open = false;
}

void writer_detach(struct writer *writer)
{
	if (writer->db)
		sqlite3_db_config(writer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
	quota_rollback(&writer->quota);
	close_all(writer);
}

static void set_cache_now(struct writer *writer, uint64_t bytes)
{
	char sql[64];

	writer->cache_now_bytes = bytes < writer->cache_bytes ? bytes : writer->cache_bytes;
	snprintf(sql, sizeof(sql), "PRAGMA cache_size=-%" PRIu64, writer->cache_now_bytes >> 10);
	/* Without memory for that the cache keeps its size. */
	if (writer->db)
		(void)database_exec(writer->db, sql);
}

void writer_set_cache(struct writer *writer, uint64_t bytes)
{
	uint64_t now_bytes = writer->cache_now_bytes;

	writer->cache_bytes = bytes;
	set_cache_now(
		writer, now_bytes > STORE_CACHE_FIRST_BYTES ? now_bytes : STORE_CACHE_FIRST_BYTES);
}

/* Doubles the cache after a transaction that spilled: it wrote some pages twice for want of
 * room. */
static void grow_cache(struct writer *writer)
{
	int spilled = 0, most = 0;

	if (writer->cache_now_bytes < writer->cache_bytes &&
		sqlite3_db_status(writer->db, SQLITE_DBSTATUS_CACHE_SPILL, &spilled, &most, 1) ==
			SQLITE_OK &&
		spilled)
		set_cache_now(writer, 2 * writer->cache_now_bytes);
}

int writer_attach(struct writer *writer)
{
	int r = database_open(writer->path, writer->patience, &writer->was_cut, &writer->db);

	if (r == 0)
		writer_set_cache(writer,
			writer->cache_bytes ? writer->cache_bytes : STORE_CACHE_EACH_BYTES_MAX);
	if (r == 0)
		checkpoint_watch(writer);
	if (r == 0)
		r = statements_prepare(writer->db, &writer->statements);
	if (r == 0)
		r = feed_new(writer->db, &writer->feed);
	writer->intern.statements = &writer->statements;
	writer->intern.db = writer->db;
	writer->intern.feed = writer->feed;
	writer->intern.quota = &writer->quota;
	if (r == 0)
		r = prime(writer);
	if (r == 0)
		r = database_begin_work(writer->db);
	if (r == 0)
		r = intern_load(&writer->intern);
	/* A new file leaves nothing behind on failure; a damaged file stays as it is. */
	if (aside_is_damage(r))
		writer_detach(writer);
	else if (r < 0)
		close_all(writer);
	return r;
}

int writer_open(const char *path, struct msg_arena *arena, const struct database_patience *patience,
	struct writer **ret)
{
	CLEANUP(writer_free_p) struct writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->arena = arena;
	writer->patience = patience;
	writer->path = strdup(path);
	if (!writer->path)
		return -ENOMEM;
	r = writer_attach(writer);
	if (r < 0)
		return r;
	*ret = TAKE(writer);
	return 0;
}

struct writer *writer_free(struct writer *writer)
{
	if (!writer)
		return NULL;
	close_all(writer);
	free(writer->path);
	free(writer);
	return NULL;
}

int writer_begin(struct writer *writer)
{
	int r;

	if (writer->is_open)
		return 0;
	if (!writer->db)
		return -EIO;
	FAULT_POINT("before_begin");
	r = database_exec(writer->db, "BEGIN IMMEDIATE");
	if (r < 0)
		return r;
	writer->is_open = true;
	writer->began_ns = clock_monotonic_ns();
	writer->rows = 0;
	return 0;
}

int writer_commit(struct writer *writer)
{
	int r = feed_flush(writer->feed);

	if (r < 0)
		return r;
	FAULT_POINT("before_commit");
	r = wal_check_whole(writer->db);
	if (r == 0)
		r = database_exec(writer->db, "COMMIT");
	if (r < 0)
		return r;
	writer->is_open = false;
	quota_commit(&writer->quota);
	feed_rest(writer->feed, writer->rows);
	grow_cache(writer);
	FAULT_POINT("after_commit");
	return 0;
}

int writer_rollback(struct writer *writer)
{
	quota_rollback(&writer->quota);
	if (!writer->db)
		return -EIO;
	feed_drop(writer->feed);
	/* SQLite may have rolled back by itself (disk full, I/O error): then there is nothing to
	 * do. */
	if (!sqlite3_get_autocommit(writer->db))
		(void)database_exec(writer->db, "ROLLBACK");
	writer->is_open = false;
	/* A commit that failed at its very end may have left frames in the WAL. */
	(void)wal_trim(writer->db);
	return intern_load(&writer->intern);
}

int writer_put_loss(struct writer *writer, const char *reason, unsigned count)
{
	sqlite3_stmt *loss = writer->statements.at[ST_LOSS_PUT];

	sqlite3_bind_int64(loss, 1, NO_PROCESS);
	sqlite3_bind_text(loss, 2, reason, -1, SQLITE_STATIC);
	sqlite3_bind_int64(loss, 3, count);
	sqlite3_bind_null(loss, 4);
	sqlite3_bind_int64(loss, 5, (int64_t)clock_boottime_ns());
	return database_run(loss);
}

int writer_put_meta(struct writer *writer, const char *key, const char *text)
{
	sqlite3_stmt *put = writer->statements.at[ST_META_PUT];

	database_bind_text(put, 1, key);
	database_bind_text(put, 2, text);
	return database_run(put);
}

int writer_put_meta_number(struct writer *writer, const char *key, int64_t value)
{
	sqlite3_stmt *put = writer->statements.at[ST_META_PUT];

	database_bind_text(put, 1, key);
	sqlite3_bind_int64(put, 2, value);
	return database_run(put);
}

int writer_put_meta_first(struct writer *writer, const char *key, const char *text)
{
	sqlite3_stmt *put = writer->statements.at[ST_META_PUT_FIRST];

	if (!text)
		return 0;
	database_bind_text(put, 1, key);
	database_bind_text(put, 2, text);
	return database_run(put);
}
