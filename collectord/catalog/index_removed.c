/* SPDX-License-Identifier: MIT */
#include "collectord/catalog/index_removed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/database.h"
#include "collectord/catalog/index_private.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"

#define OF_DATABASE INDEX_OF_DATABASE("?1")
/* session.kept of a session that its owner keeps. */
#define OWNERS	    "'its owner keeps it'"
/* The columns that both tables have. */
#define SESSION                                                                                    \
	"database, name, job, command, uid, start_realtime_ns, end_realtime_ns, complete, "        \
	"completeness, stored, bytes, tenant"
/* Number of sizes determined in one transaction. */
#define WEIGHED_AT_ONCE 64

static const char *text_of(sqlite3_stmt *row, int column)
{
	return (const char *)sqlite3_column_text(row, column);
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
	index_totals_before(index, database);
	r = database_run(put);
	index_totals_after(index, database);
	return r;
}

/* Returns 1 if a size was determined, 0 if none was missing. */
static int weigh_one(struct index *index, uint64_t (*bytes_of)(const char *database))
{
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
	return r < 0 ? r : 1;
}

static int end_change(struct index *index, int r)
{
	if (r == 0)
		r = database_exec(index->db, "COMMIT");
	if (r < 0) {
		(void)database_exec(index->db, "ROLLBACK");
		index_totals_forget(index);
	}
	return r;
}

int index_weigh(struct index *index, uint64_t (*bytes_of)(const char *database))
{
	int r = database_exec(index->db, "BEGIN");
	int more = 1, weighed = 0;

	if (r < 0)
		return r;
	for (int i = 0; more == 1 && i < WEIGHED_AT_ONCE; i++) {
		more = weigh_one(index, bytes_of);
		weighed += more == 1;
	}
	r = end_change(index, more < 0 ? more : 0);
	if (weighed)
		index_say_changed(index, NULL);
	return r < 0 ? r : more;
}

int index_find_oldest(struct index *index, struct index_closed *ret)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step, r = database_prepare(index->db, &row,
			  "SELECT database, uid, end_realtime_ns, bytes FROM session s WHERE "
			  "end_realtime_ns IS NOT NULL AND kept IS NULL AND NOT EXISTS (SELECT 1 "
			  "FROM session o WHERE o.database = s.database AND (o.end_realtime_ns IS "
			  "NULL OR o.end_realtime_ns > s.end_realtime_ns OR o.kept IS NOT NULL)) "
			  "ORDER BY end_realtime_ns, database LIMIT 1");

	if (r < 0)
		return r;
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

int index_count_kept(struct index *index, const char *why, uint64_t *ret)
{
	int64_t count = 0;
	int r = database_number(index->db,
		"SELECT count(*) FROM session WHERE end_realtime_ns IS NOT NULL AND kept = ?1", why,
		&count);

	*ret = (uint64_t)count;
	return r;
}

int index_kept_bytes(struct index *index, uint64_t *ret)
{
	int64_t bytes = 0;
	int r = database_number(index->db,
		"SELECT coalesce(sum(bytes), 0) FROM session WHERE kept IS NOT NULL", NULL, &bytes);

	*ret = (uint64_t)bytes;
	return r;
}

/* Runs @sql with up to two texts as parameters. */
static int run(struct index *index, const char *sql, const char *first, const char *second)
{
	CLEANUP(finalize_p) sqlite3_stmt *statement = NULL;
	int r = database_prepare(index->db, &statement, sql);

	if (r < 0)
		return r;
	if (first)
		database_bind_text(statement, 1, first);
	if (sqlite3_bind_parameter_count(statement) > 1)
		database_bind_text(statement, 2, second);
	return database_run(statement);
}

int index_keep(struct index *index, const char *database, const char *why)
{
	int r = run(index, "UPDATE session SET kept = ?2 WHERE database = ?1", database, why);

	index_say_changed(index, database);
	return r;
}

int index_unkeep(struct index *index, const char *why)
{
	int r = why ? run(index, "UPDATE session SET kept = NULL WHERE kept = ?1", why, NULL)
		    : run(index, "UPDATE session SET kept = NULL WHERE kept <> " OWNERS, NULL,
			      NULL);

	if (sqlite3_changes(index->db))
		index_say_changed(index, NULL);
	return r;
}

int index_keep_for_owner(struct index *index, const char *database, bool is_kept)
{
	int r = run(index,
		is_kept ? "UPDATE session SET kept = " OWNERS " WHERE database = ?1"
			: "UPDATE session SET kept = NULL WHERE database = ?1 AND kept = " OWNERS,
		database, NULL);

	index_say_changed(index, database);
	return r;
}

int index_find_owned(struct index *index, uid_t uid, const char *name, const char *database,
	struct index_owned *ret)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step, r = database_prepare(index->db, &row,
			  "SELECT database, (SELECT max(end_realtime_ns IS NULL) FROM session "
			  "WHERE " INDEX_OF_DATABASE(
				  "d.database") "), (SELECT max(kept IS " OWNERS
						") FROM session WHERE " INDEX_OF_DATABASE(
							"d.database") ") "
								      "FROM session d WHERE uid = "
								      "?1 AND "
								      "(database = ?3 OR (?3 IS "
								      "NULL AND name = ?2)) "
								      "ORDER BY start_realtime_ns "
								      "DESC, database LIMIT 1");

	if (r < 0)
		return r;
	sqlite3_bind_int64(row, 1, uid);
	database_bind_text(row, 2, name);
	database_bind_text(row, 3, database);
	step = sqlite3_step(row);
	if (step != SQLITE_ROW)
		return database_errno(step);
	*ret = (struct index_owned){
		.database = strdup(text_of(row, 0)),
		.is_open = sqlite3_column_int(row, 1),
		.is_kept = sqlite3_column_int(row, 2),
	};
	return ret->database ? 1 : -ENOMEM;
}

int index_count_owned(struct index *index, unsigned *ret_count, uint64_t *ret_bytes)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step, r = database_prepare(index->db, &row,
			  "SELECT count(DISTINCT database), coalesce(sum(bytes), 0) FROM session "
			  "WHERE kept = " OWNERS);

	if (r < 0)
		return r;
	step = sqlite3_step(row);
	if (step != SQLITE_ROW)
		return database_errno(step);
	*ret_count = (unsigned)sqlite3_column_int64(row, 0);
	*ret_bytes = (uint64_t)sqlite3_column_int64(row, 1);
	return 0;
}

int index_each_owned(struct index *index, unsigned max,
	void (*take)(const char *database, uid_t uid, void *data), void *data)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step, r = database_prepare(index->db, &row,
			  "SELECT DISTINCT database, uid FROM session WHERE kept = " OWNERS
			  " LIMIT ?1");

	if (r < 0)
		return r;
	sqlite3_bind_int64(row, 1, max);
	while ((step = sqlite3_step(row)) == SQLITE_ROW)
		take(text_of(row, 0), (uid_t)sqlite3_column_int64(row, 1), data);
	return database_errno(step);
}

/* Subtracts the sessions of @database from the sums before they are removed. Returns their number.
 */
static int take_out(struct index *index, const char *database, int64_t *ret_rows)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step, r = database_prepare(index->db, &row,
			  "SELECT database, count(*) FROM session WHERE " OF_DATABASE
			  " GROUP BY database");

	*ret_rows = 0;
	if (r < 0)
		return r;
	database_bind_text(row, 1, database);
	while ((step = sqlite3_step(row)) == SQLITE_ROW) {
		index_totals_before(index, text_of(row, 0));
		*ret_rows += sqlite3_column_int64(row, 1);
	}
	return database_errno(step);
}

int index_begin_removal(struct index *index, const char *database, const char *why)
{
	int64_t rows;
	int r = database_exec(index->db, "BEGIN IMMEDIATE");

	if (r < 0)
		return r;
	r = take_out(index, database, &rows);
	if (r == 0)
		r = run(index,
			"INSERT INTO removed (" SESSION ", why) SELECT " SESSION
			", ?2 FROM session "
			"WHERE " OF_DATABASE,
			database, why);
	if (r == 0)
		r = run(index, "DELETE FROM session WHERE " OF_DATABASE, database, NULL);
	r = end_change(index, r);
	if (r == 0)
		index_totals_removed(index, rows);
	index_say_changed(index, database);
	return r;
}

/* Limits the rows of removed sessions: deletes the oldest ones. */
static int trim(struct index *index)
{
	struct index_totals totals = {0};
	int r = 0;

	(void)index_totals_read(
		index, &totals); /* if they cannot be counted, the next removal does */
	for (; r == 0 && totals.removed > REMOVED_ROWS_MAX; totals.removed--) {
		r = run(index,
			"DELETE FROM removed WHERE id = (SELECT id FROM removed WHERE "
			"removed_realtime_ns IS NOT NULL ORDER BY id LIMIT 1)",
			NULL, NULL);
		if (r < 0 || !sqlite3_changes(index->db))
			return r; /* all removals are still under way */
		index_totals_removed(index, -1);
	}
	return r;
}

static int end_rows(struct index *index, const char *database)
{
	CLEANUP(finalize_p) sqlite3_stmt *end = NULL;
	int r = database_prepare(index->db, &end,
		"UPDATE removed SET removed_realtime_ns = ?2 "
		"WHERE removed_realtime_ns IS NULL AND " OF_DATABASE);

	if (r < 0)
		return r;
	database_bind_text(end, 1, database);
	sqlite3_bind_int64(end, 2, (int64_t)clock_realtime_ns());
	return database_run(end);
}

/* Sets *@ret if there were such rows. */
static int forget_requested(struct index *index, const char *database, bool *ret)
{
	int r = run(index,
		"DELETE FROM removed WHERE removed_realtime_ns IS NULL "
		"AND why = '" INDEX_OWNERS_REQUEST "' AND " OF_DATABASE,
		database, NULL);

	*ret = r == 0 && sqlite3_changes(index->db) > 0;
	if (*ret)
		index_totals_forget(index); /* this is rare, so the sums are simply read again */
	return r;
}

int index_end_removal(struct index *index, const char *database)
{
	bool was_requested = false;
	int r = database_exec(index->db, "BEGIN IMMEDIATE");

	if (r < 0)
		return r;
	r = forget_requested(index, database, &was_requested);
	if (r == 0)
		r = end_rows(index, database);
	r = end_change(index, r < 0 ? r : trim(index));
	index_say_changed(index, database);
	return r < 0 ? r : was_requested;
}

int index_take_gone(struct index *index, const char *database, const char *why)
{
	int r = database_exec(index->db, "BEGIN IMMEDIATE");

	if (r < 0)
		return r;
	/* This is rare, so the sums are simply read again. */
	index_totals_forget(index);
	r = run(index,
		"INSERT INTO removed (" SESSION ", why) SELECT " SESSION ", ?2 FROM session "
		"WHERE database = ?1",
		database, why);
	if (r == 0)
		r = run(index, "DELETE FROM session WHERE database = ?1", database, NULL);
	if (r == 0)
		r = end_rows(index, database);
	r = end_change(index, r < 0 ? r : trim(index));
	index_say_changed(index, database);
	return r;
}

int index_knows(struct index *index, const char *database)
{
	int step, r = database_prepare(index->db, &index->knows,
			  "SELECT EXISTS (SELECT 1 FROM session WHERE " OF_DATABASE ") OR EXISTS "
			  "(SELECT 1 FROM removed WHERE " OF_DATABASE
			  " AND removed_realtime_ns IS NULL)");

	if (r < 0)
		return r;
	database_bind_text(index->knows, 1, database);
	step = sqlite3_step(index->knows);
	r = step == SQLITE_ROW ? sqlite3_column_int(index->knows, 0) : database_errno(step);
	sqlite3_reset(index->knows);
	return r;
}

void index_read_begin(struct index *index)
{
	(void)database_exec(index->db, "BEGIN");
}

void index_read_end(struct index *index)
{
	(void)database_exec(index->db, "COMMIT");
}

int index_each_going(struct index *index,
	void (*take)(const char *database, uid_t uid, bool is_replaced, void *data), void *data)
{
	for (int64_t last = 0;;) {
		CLEANUP(free_p) char *database = NULL;
		CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
		uid_t uid;
		bool is_replaced;
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
		is_replaced = sqlite3_column_int(row, 3);
		if (!database)
			return -ENOMEM;
		sqlite3_reset(row);
		take(database, uid, is_replaced, data);
	}
}

/*
 * Ranks the removals of each tenant, so that a tenant with many removals leaves room for the
 * others.
 */
#define RANK ", row_number() OVER (PARTITION BY tenant ORDER BY id DESC) AS rank"
/* Earlier databases may have had the same path, so only the last removal counts. */
#define LATEST_OF_DATABASE                                                                         \
	OF_DATABASE " AND removed_realtime_ns = (SELECT max(removed_realtime_ns) FROM removed "    \
		    "WHERE " OF_DATABASE ")"
#define REMOVED_OF(rank, which)                                                                    \
	"SELECT * FROM (SELECT * FROM (SELECT id, database, name, job, command, uid, "             \
	"start_realtime_ns, end_realtime_ns, complete, completeness, stored, bytes, why, "         \
	"removed_realtime_ns" rank                                                                 \
	" FROM removed WHERE removed_realtime_ns IS NOT NULL) WHERE " which                        \
	" ORDER BY id DESC LIMIT ?3) ORDER BY id"

int index_each_removed(struct index *index, const char *database, unsigned max,
	void (*take)(const struct index_removed *removed, void *data), void *data)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step, r = database_prepare(index->db, &row,
			  database ? REMOVED_OF("", LATEST_OF_DATABASE)
				   : REMOVED_OF(RANK, "rank <= ?2"));

	if (r < 0)
		return r;
	if (database)
		database_bind_text(row, 1, database);
	else
		sqlite3_bind_int64(row, 2, SESSIONS_REMOVED_PER_UID_MAX);
	sqlite3_bind_int64(row, 3, max);
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
