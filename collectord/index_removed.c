/* SPDX-License-Identifier: MIT */
#include "collectord/index_removed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/aside.h"
#include "collectord/database.h"
#include "collectord/index_private.h"
#include "proto/cleanup.h"
#include "proto/clock.h"
#include "proto/limits.h"

/* A file that went aside belongs to the one that has its name now. */
#define OF_DATABASE "(database = ?1 OR substr(database, 1, length(?1) + 9) = ?1 || '.corrupt-')"

static void finalize_p(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

static const char *text_of(sqlite3_stmt *row, int column)
{
	return (const char *)sqlite3_column_text(row, column);
}

int index_each_closed(struct index *index,
	void (*take)(uid_t uid, uint64_t bytes, unsigned count, void *data), void *data)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step,
		r = database_prepare(index->db, &row,
			"SELECT uid, sum(bytes), count(*) FROM (SELECT uid, max(coalesce(bytes, "
			"0)) AS bytes "
			"FROM session GROUP BY database HAVING count(*) = count(end_realtime_ns)) "
			"GROUP BY uid");

	if (r < 0)
		return r;
	while ((step = sqlite3_step(row)) == SQLITE_ROW)
		take((uid_t)sqlite3_column_int64(row, 0), (uint64_t)sqlite3_column_int64(row, 1),
			(unsigned)sqlite3_column_int64(row, 2), data);
	return database_errno(step);
}

static int put_bytes(struct index *index, const char *database, uint64_t bytes)
{
	CLEANUP(finalize_p) sqlite3_stmt *put = NULL;
	int r = database_prepare(
		index->db, &put, "UPDATE session SET bytes = ?2 WHERE database = ?1");

	if (r < 0)
		return r;
	database_bind_text(put, 1, database);
	sqlite3_bind_int64(put, 2, (int64_t)bytes);
	return database_run(put);
}

int index_weigh(struct index *index, uint64_t (*bytes_of)(const char *database))
{
	for (;;) {
		CLEANUP(free_p) char *database = NULL;
		CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
		int step, r = database_prepare(index->db, &row,
				  "SELECT database FROM session WHERE bytes IS NULL AND "
				  "end_realtime_ns IS NOT NULL LIMIT 1");

		if (r < 0)
			return r;
		step = sqlite3_step(row);
		if (step != SQLITE_ROW)
			return database_errno(step);
		database = strdup(text_of(row, 0));
		if (!database)
			return -ENOMEM;
		sqlite3_reset(row);
		r = put_bytes(index, database, bytes_of(database));
		if (r < 0)
			return r;
	}
}

int index_find_oldest(struct index *index, uid_t uid, struct index_closed *ret)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step, r = database_prepare(index->db, &row,
			  "SELECT database, uid, max(end_realtime_ns) AS closed, "
			  "max(coalesce(bytes, 0)) FROM session WHERE ?1 IS NULL OR uid = ?1 "
			  "GROUP BY database "
			  "HAVING count(*) = count(end_realtime_ns) AND count(kept) = 0 "
			  "ORDER BY closed, database LIMIT 1");

	if (r < 0)
		return r;
	database_bind_optional(row, 1, uid != INDEX_ANY_UID, uid);
	step = sqlite3_step(row);
	if (step != SQLITE_ROW)
		return database_errno(step);
	*ret = (struct index_closed){
		.database = strdup(text_of(row, 0)),
		.uid = (uid_t)sqlite3_column_int64(row, 1),
		.end_ns = (uint64_t)sqlite3_column_int64(row, 2),
		.bytes = (uint64_t)sqlite3_column_int64(row, 3),
	};
	return ret->database ? 1 : -ENOMEM;
}

/* @sql of two texts. */
static int run(struct index *index, const char *sql, const char *first, const char *second)
{
	CLEANUP(finalize_p) sqlite3_stmt *statement = NULL;
	int r = database_prepare(index->db, &statement, sql);

	if (r < 0)
		return r;
	database_bind_text(statement, 1, first);
	if (sqlite3_bind_parameter_count(statement) > 1)
		database_bind_text(statement, 2, second);
	return database_run(statement);
}

int index_keep(struct index *index, const char *database, const char *why)
{
	return run(index, "UPDATE session SET kept = ?2 WHERE database = ?1", database, why);
}

int index_unkeep(struct index *index, const char *why)
{
	return run(index,
		"UPDATE session SET kept = NULL WHERE kept = ?1 OR (kept IS NOT NULL AND ?1 IS "
		"NULL)",
		why, NULL);
}

int index_begin_removal(struct index *index, const char *database, const char *why)
{
	int r = database_exec(index->db, "BEGIN IMMEDIATE");

	if (r < 0)
		return r;
	r = run(index,
		"INSERT INTO removed (database, name, job, command, uid, start_realtime_ns, "
		"end_realtime_ns, complete, completeness, stored, bytes, why) "
		"SELECT database, name, job, command, uid, start_realtime_ns, end_realtime_ns, "
		"complete, completeness, stored, bytes, ?2 FROM session WHERE " OF_DATABASE,
		database, why);
	if (r == 0)
		r = run(index, "DELETE FROM session WHERE " OF_DATABASE, database, NULL);
	if (r == 0)
		r = database_exec(index->db, "COMMIT");
	if (r < 0)
		(void)database_exec(index->db, "ROLLBACK");
	return r;
}

/* Of long ago nobody asks. */
static int trim(struct index *index)
{
	CLEANUP(finalize_p) sqlite3_stmt *statement = NULL;
	int r = database_prepare(index->db, &statement,
		"DELETE FROM removed WHERE removed_realtime_ns IS NOT NULL AND "
		"id <= (SELECT max(id) FROM removed) - ?1");

	if (r < 0)
		return r;
	sqlite3_bind_int64(statement, 1, REMOVED_ROWS_MAX);
	return database_run(statement);
}

int index_end_removal(struct index *index, const char *database)
{
	CLEANUP(finalize_p) sqlite3_stmt *end = NULL;
	int r = database_prepare(index->db, &end,
		"UPDATE removed SET removed_realtime_ns = ?2 "
		"WHERE removed_realtime_ns IS NULL AND " OF_DATABASE);

	if (r < 0)
		return r;
	database_bind_text(end, 1, database);
	sqlite3_bind_int64(end, 2, (int64_t)clock_realtime_ns());
	r = database_run(end);
	return r < 0 ? r : trim(index);
}

int index_each_going(struct index *index,
	void (*take)(const char *database, uid_t uid, bool is_there, void *data), void *data)
{
	for (int64_t last = 0;;) {
		CLEANUP(free_p) char *database = NULL;
		CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
		uid_t uid;
		bool is_there;
		int step, r = database_prepare(index->db, &row,
				  "SELECT id, database, uid, EXISTS (SELECT 1 FROM session s "
				  "WHERE s.database = removed.database) FROM removed "
				  "WHERE removed_realtime_ns IS NULL AND id > ?1 ORDER BY id LIMIT "
				  "1");

		if (r < 0)
			return r;
		sqlite3_bind_int64(row, 1, last);
		step = sqlite3_step(row);
		if (step != SQLITE_ROW)
			return database_errno(step);
		last = sqlite3_column_int64(row, 0);
		database = strdup(text_of(row, 1));
		uid = (uid_t)sqlite3_column_int64(row, 2);
		is_there = sqlite3_column_int(row, 3);
		if (!database)
			return -ENOMEM;
		sqlite3_reset(row);
		take(database, uid, is_there, data);
	}
}

int index_each_removed(struct index *index, const char *database, unsigned max,
	void (*take)(const struct index_removed *removed, void *data), void *data)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step,
		r = database_prepare(index->db, &row,
			"SELECT * FROM (SELECT id, database, name, job, command, uid, "
			"start_realtime_ns, end_realtime_ns, complete, completeness, "
			"stored, bytes, why, removed_realtime_ns FROM removed "
			"WHERE removed_realtime_ns IS NOT NULL AND (?1 IS NULL OR " OF_DATABASE ") "
			"ORDER BY id DESC LIMIT ?2) ORDER BY id");

	if (r < 0)
		return r;
	database_bind_text(row, 1, database);
	sqlite3_bind_int64(row, 2, max);
	while ((step = sqlite3_step(row)) == SQLITE_ROW) {
		const struct index_removed removed = {
			.session =
				{
					.database = text_of(row, 1),
					.name = text_of(row, 2),
					.job = text_of(row, 3),
					.command = text_of(row, 4),
					.uid = (uid_t)sqlite3_column_int64(row, 5),
					.start_realtime_ns = (uint64_t)sqlite3_column_int64(row, 6),
					.end_realtime_ns = (uint64_t)sqlite3_column_int64(row, 7),
					.is_complete = sqlite3_column_int(row, 8),
					.line = text_of(row, 9),
					.stored = (uint64_t)sqlite3_column_int64(row, 10),
					.bytes = (uint64_t)sqlite3_column_int64(row, 11),
				},
			.why = text_of(row, 12),
			.removed_ns = (uint64_t)sqlite3_column_int64(row, 13),
		};

		take(&removed, data);
	}
	return database_errno(step);
}
