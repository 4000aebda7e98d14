// SPDX-License-Identifier: MIT
/*
 * When and where losses happened: between two readings of the counters, in few intervals, the same
 * after a restart of the collector and a migration.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/ingest/completeness/losses.h"
#include "collectord/db/rows/writer.h"
#include "proto/base/clock.h"
#include "tests/unit/collectord/store/harness.h"

#define SECOND	  1000000000ull
#define INTERVALS "SELECT count(*) FROM rtl_loss_interval WHERE reason = 'dropped_recorder_full'"

/* ---- the intervals themselves -----------------------------------------------------------------
 */

struct world {
	struct harness *h;
	struct msg_arena arena;
	struct writer *writer;
	struct losses losses;
};

static const char reason[] = "dropped_recorder_full";

static const char *known(const char *text)
{
	return strcmp(text, reason) ? NULL : reason;
}

static void open_world(struct world *w, struct harness *h)
{
	*w = (struct world){.h = h};
	harness_open(w->h);
	harness_close(w->h);
	msg_arena_init(&w->arena, 1 << 20);
	assert_int_equal(writer_open(w->h->path, &w->arena, NULL, &w->writer), 0);
}

static void close_world(struct world *w)
{
	losses_done(&w->losses);
	writer_free(w->writer);
	msg_arena_done(&w->arena);
}

static void note(struct world *w, uint64_t total, uint64_t from_s, uint64_t to_s)
{
	struct loss_span span = {from_s * SECOND, to_s * SECOND, true, from_s, to_s};

	assert_int_equal(losses_note(&w->losses, 4, reason, total, &span), 0);
}

static void save(struct world *w)
{
	assert_int_equal(writer_begin(w->writer), 0);
	assert_int_equal(losses_save(&w->losses, 1, &w->writer->statements, NULL), 0);
	assert_int_equal(writer_commit(w->writer), 0);
}

static int64_t number(struct world *w, const char *sql)
{
	return sql_number(w->h->path, sql);
}

STORE_CASE(what_adjoins_is_one_interval)
{
	struct world w;

	open_world(&w, h);
	note(&w, 5, 10, 11);
	note(&w, 5, 11, 12); /* nothing new */
	note(&w, 9, 12, 13); /* no further away than LOSS_JOIN_NS */
	save(&w);
	assert_int_equal(number(&w, INTERVALS), 1);
	note(&w, 10, 20, 21);
	save(&w);
	assert_text(w.h->path,
		"SELECT group_concat(printf('%d %d %d-%d %d-%d', queueId, count, from_ns / "
		"1000000000, to_ns / 1000000000, first_seq, last_seq)) FROM rtl_loss_interval",
		"4 9 10-13 10-13,4 1 20-21 20-21");
	assert_text(w.h->path,
		"SELECT printf('%d %d-%d', count, from_ns / 1000000000, to_ns / 1000000000) FROM "
		"rtl_loss",
		"10 10-21");
	close_world(&w);
}

STORE_CASE(too_many_become_few_and_lose_nothing)
{
	struct world w;
	uint64_t total = 0;

	open_world(&w, h);
	for (uint64_t i = 0; i < 100; i++) {
		total += i + 1;
		note(&w, total, 100 * (i + 1) + i % 7, 100 * (i + 1) + 10);
		if (i % 3 == 0)
			save(&w);
	}
	save(&w);
	assert_int_equal(number(&w, INTERVALS), LOSS_INTERVALS_MAX);
	assert_int_equal(number(&w, "SELECT sum(count) FROM rtl_loss_interval"), 5050);
	assert_int_equal(number(&w, "SELECT count FROM rtl_loss"), 5050);
	assert_int_equal(
		number(&w, "SELECT min(from_ns) / 1000000000 FROM rtl_loss_interval"), 100);
	assert_int_equal(
		number(&w, "SELECT max(to_ns) / 1000000000 FROM rtl_loss_interval"), 10010);
	/* In order, and none within another. */
	assert_int_equal(number(&w, "SELECT count(*) FROM rtl_loss_interval_base a JOIN "
				    "rtl_loss_interval_base b ON b.number = a.number + 1 "
				    "WHERE b.from_ns < a.to_ns"),
		0);
	close_world(&w);
}

STORE_CASE(what_was_saved_is_read_back)
{
	struct world w;

	open_world(&w, h);
	note(&w, 5, 10, 11);
	note(&w, 6, 20, 21);
	save(&w);
	losses_done(&w.losses);
	assert_int_equal(losses_load(&w.losses, 1, &w.writer->statements, known), 0);
	assert_int_equal(losses_total(&w.losses, 4, reason), 6);
	note(&w, 6, 21, 22);
	note(&w, 8, 30, 31);
	save(&w);
	assert_int_equal(number(&w, INTERVALS), 3);
	assert_int_equal(number(&w, "SELECT sum(count) FROM rtl_loss_interval"), 8);
	close_world(&w);
}

STORE_CASE(intervals_that_overlap_are_one_that_covers_both)
{
	const struct loss_span unnumbered = {95 * SECOND, 96 * SECOND, false, 0, 0};
	struct world w;

	open_world(&w, h);
	note(&w, 1, 100, 110);
	note(&w, 3, 90, 105);
	save(&w);
	assert_text(w.h->path,
		"SELECT printf('%d %d-%d %d-%d', count, from_ns / 1000000000, to_ns / 1000000000, "
		"first_seq, last_seq) FROM rtl_loss_interval",
		"3 90-110 90-110");
	/* What has no numbers of dispatches leaves the whole without any. */
	assert_int_equal(losses_note(&w.losses, 4, reason, 4, &unnumbered), 0);
	save(&w);
	assert_text(w.h->path,
		"SELECT printf('%d %d-%d ', count, from_ns / 1000000000, to_ns / 1000000000) || "
		"coalesce(first_seq, 'none') FROM rtl_loss_interval",
		"4 90-110 none");
	assert_text(w.h->path,
		"SELECT printf('%d-%d', from_ns / 1000000000, to_ns / 1000000000) FROM rtl_loss",
		"90-110");
	close_world(&w);
}

#define REASONS 300

static char names[REASONS][16];

static const char *known_name(const char *text)
{
	for (unsigned i = 0; i < REASONS; i++)
		if (!strcmp(text, names[i]))
			return names[i];
	return NULL;
}

STORE_CASE(very_many_queues_and_reasons_are_told_apart)
{
	const struct loss_span span = {SECOND, 2 * SECOND, true, 1, 2};
	struct world w;

	open_world(&w, h);
	for (unsigned i = 0; i < REASONS; i++) {
		snprintf(names[i], sizeof(names[i]), "dropped_%u", i);
		assert_int_equal(losses_note(&w.losses, 4, names[i], 1000 + i, &span), 0);
		assert_int_equal(losses_note(&w.losses, 1000 + i, reason, i + 1, &span), 0);
	}
	for (unsigned i = 0; i < REASONS; i++) {
		assert_int_equal(losses_total(&w.losses, 4, names[i]), 1000 + i);
		assert_int_equal(losses_total(&w.losses, 1000 + i, reason), i + 1);
	}
	save(&w);
	assert_int_equal(number(&w, "SELECT count(*) FROM rtl_loss"), REASONS + 1);
	assert_int_equal(number(&w, "SELECT count(*) FROM rtl_loss_interval_base"), 2 * REASONS);
	/* One that this collector does not know is left as it is. */
	losses_done(&w.losses);
	w.losses = (struct losses){0};
	names[7][0] = '\0';
	assert_int_equal(losses_load(&w.losses, 1, &w.writer->statements, known_name), 0);
	assert_int_equal(losses_total(&w.losses, 4, names[8]), 1008);
	assert_int_equal(losses_total(&w.losses, 4, names[7]), 0);
	assert_int_equal(losses_total(&w.losses, 1001, reason), 0);
	close_world(&w);
}

STORE_CASE(more_intervals_than_are_ever_written_are_not_read)
{
	char sql[512];
	struct world w;

	open_world(&w, h);
	snprintf(sql, sizeof(sql),
		"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %u) "
		"INSERT INTO rtl_loss_interval_base (process_id, queueId, reason, number, count, "
		"from_ns, to_ns) SELECT 1, 4, '%s', i, 1, i, i + 1 FROM n",
		LOSS_INTERVALS_MAX, reason);
	assert_int_equal(sqlite3_exec(w.writer->db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(losses_load(&w.losses, 1, &w.writer->statements, known), 0);
	assert_int_equal(losses_total(&w.losses, 4, reason), LOSS_INTERVALS_MAX);
	close_world(&w);
}

/* ---- through the store --------------------------------------------------------------------------
 */

/* Counters of queue 0 that were read @ago_s seconds ago. */
static void send_counters(
	struct harness *h, uint64_t now_ns, unsigned ago_s, int dispatched, int dropped)
{
	struct frames f = {0};

	peer_add_counters_at(&f, now_ns - ago_s * SECOND, 0, RTL_Q_dispatched, dispatched,
		RTL_Q_dropped_recorder_full, dropped, -1);
	harness_send(h, &f);
	assert_int_equal(store_flush(h->store, STORE_EVERYBODY, NULL), 0);
	harness_wait(h, STORE_FLUSHED);
}

STORE_CASE(increments_lie_between_two_readings)
{
	uint64_t now_ns = clock_boottime_ns();
	char sql[256];

	if (now_ns < 100 * SECOND)
		now_ns = 100 * SECOND; /* a machine that has just started: times of its future */
	harness_open(h);
	send_counters(h, now_ns, 50, 100, 0);
	send_counters(h, now_ns, 49, 200, 7);
	send_counters(h, now_ns, 30, 300, 7);
	send_counters(h, now_ns, 29, 400, 9);
	assert_number(h->path, INTERVALS, 2);
	snprintf(sql, sizeof(sql),
		"SELECT group_concat(printf('%%d %%d %%d-%%d r%%dg%%dq%%d', (%llu - from_ns) / "
		"1000000000, count, first_seq, last_seq, rank, gpuId, queueId)) "
		"FROM rtl_loss_interval",
		(unsigned long long)now_ns);
	assert_text(h->path, sql, "50 7 99-199 r0g3q0,30 2 299-399 r0g3q0");
	/* A new collector goes on where this one was. */
	store_free(h->store);
	assert_int_equal(store_new(&(struct store_config){0}, &h->store), 0);
	harness_open_session(h, STORE_RESUME);
	harness_open_process(h, 1, 0);
	send_counters(h, now_ns, 10, 400, 9);
	assert_number(h->path, INTERVALS, 2);
	send_counters(h, now_ns, 8, 500, 10);
	assert_number(h->path, INTERVALS, 3);
	harness_close(h);
	assert_number(h->path,
		"SELECT sum(count) FROM rtl_loss_interval WHERE reason = 'dropped_recorder_full'",
		10);
	assert_non_null(strstr(h->answer.text, "10 dropped (recorder_full 10: rank 0 queue 0, "));
	harness_check_books(h->path);
}

/* As schema 8 left it, in the middle of a session that goes on. */
STORE_CASE(losses_of_before_are_kept)
{
	sqlite3 *db;

	harness_open(h);
	send_counters(h, clock_boottime_ns(), 0, 100, 7);
	store_free(h->store);
	assert_int_equal(sqlite3_open(h->path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db,
			"DROP VIEW kernel; DROP VIEW rtl_op; DROP VIEW rtl_host_call; DROP VIEW "
			"rocpd_op; "
			"DROP VIEW rtl_collective; DROP VIEW rtl_metric; "
			"DROP VIEW rtl_account; CREATE VIEW rtl_host_call AS SELECT 1; "
			"CREATE VIEW rocpd_op AS SELECT 1; "
			"CREATE VIEW rtl_collective AS SELECT 1; "
			"CREATE VIEW rtl_metric AS SELECT 1; "
			"CREATE VIEW rtl_account AS SELECT 1; "
			"DROP VIEW rtl_graph_collective_kernel; "
			"DROP TABLE rtl_op_base; DROP TABLE rtl_import; "
			"ALTER TABLE rtl_process DROP COLUMN import_id; "
			"DROP TABLE rtl_session_clock; DROP TABLE rtl_metric_step; "
			"DROP TABLE rtl_call_import; DROP TABLE rtl_collective_import; "
			"ALTER TABLE rtl_queue DROP COLUMN stream; "
			"DROP VIEW rtl_loss_interval; DROP TABLE rtl_loss_interval_base; "
			"ALTER TABLE rtl_process DROP COLUMN counted_ns; "
			"ALTER TABLE rtl_process DROP COLUMN end_ns; "
			"ALTER TABLE rtl_process DROP COLUMN job_id; "
			"ALTER TABLE rtl_process DROP COLUMN \"group\"; "
			"ALTER TABLE rtl_process DROP COLUMN group_rank; "
			"ALTER TABLE rtl_process DROP COLUMN told_rank; "
			"ALTER TABLE rtl_process DROP COLUMN told_world_size; "
			"ALTER TABLE rtl_process DROP COLUMN comm; "
			"ALTER TABLE rtl_process DROP COLUMN comm_rank; "
			"ALTER TABLE rtl_process DROP COLUMN comm_size; "
			"ALTER TABLE rtl_process DROP COLUMN ancestors; "
			"ALTER TABLE rtl_queue DROP COLUMN last_shape; "
			"ALTER TABLE rtl_queue DROP COLUMN last_seq; "
			"ALTER TABLE rtl_outstanding DROP COLUMN correlation_id; "
			"DROP TABLE rtl_in_flight; "
			"DROP VIEW rtl_graph_call; DROP TABLE rtl_captured; "
			"INSERT INTO rtl_loss SELECT id, 'untimed_early', 3, 5, 6 FROM "
			"rtl_process; "
			"PRAGMA user_version = 8",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(store_new(&(struct store_config){0}, &h->store), 0);
	harness_open_session(h, STORE_RESUME);
	harness_open_process(h, 1, 0);
	send_counters(h, clock_boottime_ns(), 0, 200, 8);
	harness_close(h);
	assert_number(
		h->path, "SELECT count FROM rtl_loss WHERE reason = 'dropped_recorder_full'", 8);
	assert_text(h->path,
		"SELECT count || ' ' || from_ns || ' ' || coalesce(queueId, 'none') FROM "
		"rtl_loss_interval WHERE reason = 'untimed_early'",
		"3 5 none");
}
