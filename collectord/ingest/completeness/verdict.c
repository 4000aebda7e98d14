/* SPDX-License-Identifier: MIT */
#include "collectord/ingest/completeness/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collectord/db/database.h"
#include "proto/base/clock.h"
#include "proto/names/counters.h"

static void bind_session(sqlite3_stmt *statement, int64_t session_id)
{
	database_bind_optional(statement, 1, session_id > 0, session_id);
}

static bool is_null(sqlite3_stmt *statement, int column)
{
	return sqlite3_column_type(statement, column) == SQLITE_NULL;
}

static int sum_queues(struct writer *writer, int64_t session_id, struct completeness *c)
{
	sqlite3_stmt *sums = writer->statements.at[ST_SUM_QUEUES];
	int step;

	bind_session(sums, session_id);
	step = sqlite3_step(sums);
	if (step == SQLITE_ROW) {
		c->dispatched = (uint64_t)sqlite3_column_int64(sums, 0);
		c->skipped = (uint64_t)sqlite3_column_int64(sums, 1);
		c->stored = (uint64_t)sqlite3_column_int64(sums, 2);
		c->untimed = (uint64_t)sqlite3_column_int64(sums, 3);
		c->outstanding = (uint64_t)sqlite3_column_int64(sums, 4);
		c->dropped = (uint64_t)sqlite3_column_int64(sums, 5);
		c->torn = (uint64_t)sqlite3_column_int64(sums, 6);
		c->pending = c->dispatched - c->skipped - c->stored - c->outstanding - c->dropped -
			     c->torn;
	}
	sqlite3_reset(sums);
	return step == SQLITE_ROW ? 0 : database_errno(step);
}

static int sum_imported(struct writer *writer, int64_t session_id, struct completeness *c)
{
	sqlite3_stmt *sums = writer->statements.at[ST_SUM_IMPORTED];
	int step;

	bind_session(sums, session_id);
	step = sqlite3_step(sums);
	if (step == SQLITE_ROW && sqlite3_column_int64(sums, 0)) {
		c->imported = true;
		c->imported_stored = (uint64_t)sqlite3_column_int64(sums, 1);
		c->imported_all = sqlite3_column_int(sums, 3);
		/*
		 * The queue rows of imported processes state what was imported, not what was
		 * dispatched.
		 */
		c->dispatched -= c->imported_stored;
		if (!is_null(sums, 2))
			snprintf(c->imported_from, sizeof(c->imported_from), "%s",
				(const char *)sqlite3_column_text(sums, 2));
	}
	sqlite3_reset(sums);
	return step == SQLITE_ROW ? 0 : database_errno(step);
}

/* The result borrows the name, so a permanent literal is returned. */
static const char *known_name(const char *name)
{
	static const char *const ours[] = {"dropped_malformed", "dropped_disk_full",
		"dropped_db_error", "dropped_quota", "torn", "unknown_tail"};

	for (unsigned i = 0; i < RTL_Q_COUNT; i++)
		if (!strcmp(rtl_queue_counter_name[i], name))
			return rtl_queue_counter_name[i];
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (!strcmp(ours[i], name))
			return ours[i];
	return "other_reason";
}

static void add_loss(struct completeness *c, const char *reason, uint64_t count)
{
	uint64_t *own = completeness_own_loss(c, reason);

	if (!strcmp(reason, "torn"))
		return; /* summed from the queues */
	if (own)
		*own += count;
	else if (!strcmp(reason, "unknown_tail"))
		c->tails_unknown += count;
	else if (!strncmp(reason, "dropped_", 8))
		completeness_add(&c->dropped_by, known_name(reason), count);
	else if (!strncmp(reason, "untimed_", 8))
		completeness_add(&c->untimed_by, known_name(reason), count);
	else
		c->other_losses += count;
}

static int sum_losses(struct writer *writer, int64_t session_id, struct completeness *c)
{
	sqlite3_stmt *losses = writer->statements.at[ST_SUM_LOSSES];
	int step;

	bind_session(losses, session_id);
	while ((step = sqlite3_step(losses)) == SQLITE_ROW)
		add_loss(c, (const char *)sqlite3_column_text(losses, 0),
			(uint64_t)sqlite3_column_int64(losses, 1));
	sqlite3_reset(losses);
	return database_errno(step);
}

static int locate_losses(struct writer *writer, int64_t session_id, struct completeness *c)
{
	sqlite3_stmt *places = writer->statements.at[ST_LOSS_PLACES];
	int step;

	if (!c->dropped_by.count && !c->untimed_by.count && !c->torn && !c->tails_unknown)
		return 0;
	bind_session(places, session_id);
	while ((step = sqlite3_step(places)) == SQLITE_ROW) {
		struct completeness_place place = {
			.processes = (uint64_t)sqlite3_column_int64(places, 1),
			.has_rank = !is_null(places, 2),
			.rank = sqlite3_column_int64(places, 2),
			.has_queue = !is_null(places, 3),
			.queue = sqlite3_column_int64(places, 3),
			.from_ns = sqlite3_column_int64(places, 4),
			.to_ns = sqlite3_column_int64(places, 5),
		};

		completeness_locate(
			c, known_name((const char *)sqlite3_column_text(places, 0)), &place);
	}
	sqlite3_reset(places);
	return database_errno(step);
}

static int sum_skipped(struct writer *writer, int64_t session_id, struct completeness *c)
{
	sqlite3_stmt *skipped = writer->statements.at[ST_SUM_SKIPPED];
	int step;

	bind_session(skipped, session_id);
	while ((step = sqlite3_step(skipped)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(skipped, 0);

		if (!strcmp(name, rtl_queue_counter_name[RTL_Q_untimed_mode]))
			c->untimed_by_mode = (uint64_t)sqlite3_column_int64(skipped, 1);
		/* Barriers and vendor packets are not dispatches. */
		else if (strcmp(name, rtl_queue_counter_name[RTL_Q_skipped_not_kernel]))
			completeness_add(&c->skipped_by, known_name(name),
				(uint64_t)sqlite3_column_int64(skipped, 1));
	}
	sqlite3_reset(skipped);
	return database_errno(step);
}

static int read_rest(
	struct writer *writer, int64_t session_id, int64_t *ret_undrained, int64_t *ret_simulated)
{
	sqlite3_stmt *undrained = writer->statements.at[ST_SUM_UNDRAINED];
	int r;

	bind_session(undrained, session_id);
	r = database_read(undrained, ret_undrained);
	if (r >= 0)
		r = database_read(writer->statements.at[ST_IS_SIMULATED], ret_simulated);
	return r < 0 ? r : 0;
}

int verdict_read(struct writer *writer, int64_t session_id, bool is_live, struct completeness *ret)
{
	struct completeness c = {.live = is_live, .written = is_live};
	int64_t undrained = 0, is_simulated = 0;
	int r = sum_queues(writer, session_id, &c);

	if (r == 0)
		r = sum_imported(writer, session_id, &c);
	if (r == 0)
		r = sum_losses(writer, session_id, &c);
	if (r == 0)
		r = locate_losses(writer, session_id, &c);
	if (r == 0)
		r = sum_skipped(writer, session_id, &c);
	if (r == 0)
		r = read_rest(writer, session_id, &undrained, &is_simulated);
	if (r < 0)
		return r;
	c.undrained = (uint64_t)undrained;
	c.simulated = is_simulated;
	*ret = c;
	return 0;
}

int verdict_count_rows(struct writer *writer)
{
	sqlite3_stmt *missing = writer->statements.at[ST_MISSING_ROWS];
	sqlite3_stmt *loss = writer->statements.at[ST_LOSS_PUT];
	int64_t count = 0;
	int r = database_read(missing, &count);

	if (r < 0 || !count)
		return r < 0 ? r : 0;
	sqlite3_bind_int64(loss, 1, 0); /* of no process */
	sqlite3_bind_text(loss, 2, "rows_missing", -1, SQLITE_STATIC);
	sqlite3_bind_int64(loss, 3, count > 0 ? count : -count);
	sqlite3_bind_null(loss, 4);
	sqlite3_bind_int64(loss, 5, (int64_t)clock_boottime_ns());
	return database_run(loss);
}

/*
 * Returns 1 if a rank is missing, according to the processes that are there; 0, or
 * database_errno().
 */
static int lacks_ranks(struct writer *writer, int64_t session_id)
{
	sqlite3_stmt *row = NULL;
	int r = database_prepare(writer->db, &row,
		"SELECT count(*) = 0 OR coalesce(count(DISTINCT local_rank) <= max(local_rank), 0) "
		"OR coalesce(count(DISTINCT coalesce(rank, group_rank)) < max(world_size), 0) "
		"FROM rtl_process WHERE session_id = ?1");
	int step;

	if (r < 0)
		return r;
	sqlite3_bind_int64(row, 1, session_id);
	step = sqlite3_step(row);
	r = step == SQLITE_ROW ? sqlite3_column_int(row, 0) : database_errno(step);
	sqlite3_finalize(row);
	return r;
}

int verdict_add_unseen(struct writer *writer, unsigned processes, uid_t uid)
{
	char sql[256], reason[48] = "processes_unseen";

	if (uid != (uid_t)-1)
		snprintf(reason, sizeof(reason), COMPLETENESS_UNSEEN_OF "%u", uid);
	snprintf(sql, sizeof(sql),
		"INSERT INTO rtl_loss (process_id, reason, count, to_ns) "
		"VALUES (0, '%s', %u, %" PRIu64 ") ON CONFLICT DO UPDATE SET "
		"count = count + excluded.count, to_ns = excluded.to_ns",
		reason, processes, clock_boottime_ns());
	return database_exec(writer->db, sql);
}

int verdict_put_unwatched(struct writer *writer, int64_t session_id, bool is_new)
{
	int r = lacks_ranks(writer, session_id);

	if (r < 0)
		return r;
	if (r)
		return is_new ? writer_put_loss(writer, "unwatched", 1) : 0;
	/* In a file with several sessions the note may belong to another one. */
	return database_exec(writer->db,
		"DELETE FROM rtl_loss WHERE process_id = 0 AND reason = 'unwatched' "
		"AND (SELECT count(*) FROM rtl_session) = 1");
}

int verdict_save(struct writer *writer, const struct completeness *completeness)
{
	char line[COMPLETENESS_LINE_BYTES];
	int r = writer_put_meta(
		writer, "completeness", completeness_format(completeness, line, sizeof(line)));

	if (r == 0 && completeness_is_unknown(completeness))
		r = writer_put_meta(writer, "complete", NULL);
	else if (r == 0)
		r = writer_put_meta_number(
			writer, "complete", completeness_is_complete(completeness));
	if (r == 0)
		r = writer_put_meta_number(writer, "simulated", completeness->simulated);
	return r;
}
