// SPDX-License-Identifier: MIT
/* Whether a file is complete: of imports, of rows that are gone, of processes that were not seen.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "collectord/db/rows/writer.h"
#include "collectord/ingest/completeness/verdict.h"
#include "tests/unit/collectord/store/harness.h"

/* A closed file of ten dispatches, and a writer that has it open. */
static struct writer *open_file(struct harness *h, struct msg_arena *arena)
{
	struct writer *writer = NULL;
	struct frames f = {0};

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	peer_add_counters(&f, 0, RTL_Q_dispatched, 10, -1);
	harness_send(h, &f);
	harness_close(h);
	msg_arena_init(arena, 1 << 20);
	assert_int_equal(writer_open(h->path, arena, NULL, &writer), 0);
	assert_int_equal(writer_begin(writer), 0);
	return writer;
}

static void close_file(struct writer *writer, struct msg_arena *arena)
{
	assert_int_equal(writer_commit(writer), 0);
	writer_free(writer);
	msg_arena_done(arena);
}

static void run(struct writer *writer, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(writer->db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", sql, error);
}

STORE_CASE(what_was_imported_was_not_dispatched_here)
{
	struct completeness found = {0};
	struct msg_arena arena;
	struct writer *writer = open_file(h, &arena);

	assert_int_equal(verdict_read(writer, 0, false, &found), 0);
	assert_false(found.imported);
	assert_int_equal(found.dispatched, 10);
	run(writer,
		"INSERT INTO rtl_import (id, file, kind, source, sha256, size, events, skipped, "
		"imported_ns) VALUES (1, 'a.json', 'torch', 'Kineto', 'abc', 1, 10, 0, 1); "
		"UPDATE rtl_process SET import_id = 1");
	assert_int_equal(verdict_read(writer, 0, false, &found), 0);
	assert_true(found.imported && found.imported_all);
	assert_int_equal(found.imported_stored, 10);
	assert_int_equal(found.dispatched, 0);
	assert_string_equal(found.imported_from, "Kineto");
	/* What the other tool lost is unknown, so neither yes nor no is said. */
	assert_int_equal(verdict_save(writer, &found), 0);
	close_file(writer, &arena);
	assert_text(h->path, "SELECT value FROM rtl_meta WHERE key = 'complete'", "");
	assert_text(h->path, "SELECT value FROM rtl_meta WHERE key = 'completeness'",
		"imported: 10 kernels; what Kineto lost is unknown");
}

STORE_CASE(rows_that_the_ledger_counts_and_the_table_lacks_are_a_loss)
{
	struct completeness found = {0};
	struct msg_arena arena;
	struct writer *writer = open_file(h, &arena);

	assert_int_equal(verdict_count_rows(writer), 0);
	run(writer, "DELETE FROM rtl_dispatch WHERE seq IN (3, 4)");
	assert_int_equal(verdict_count_rows(writer), 0);
	assert_int_equal(verdict_read(writer, 0, false, &found), 0);
	assert_int_equal(verdict_save(writer, &found), 0);
	close_file(writer, &arena);
	assert_number(h->path, "SELECT count FROM rtl_loss WHERE reason = 'rows_missing'", 2);
	assert_number(h->path, "SELECT value FROM rtl_meta WHERE key = 'complete'", 0);
}

STORE_CASE(processes_that_were_not_seen_are_counted_by_their_user)
{
	struct completeness found = {0};
	struct msg_arena arena;
	struct writer *writer = open_file(h, &arena);

	assert_int_equal(verdict_add_unseen(writer, 2, (uid_t)-1), 0);
	assert_int_equal(verdict_add_unseen(writer, 3, 1234), 0);
	assert_int_equal(verdict_add_unseen(writer, 4, 1234), 0);
	assert_int_equal(verdict_read(writer, 0, false, &found), 0);
	assert_int_equal(verdict_save(writer, &found), 0);
	close_file(writer, &arena);
	assert_number(h->path, "SELECT count FROM rtl_loss WHERE reason = 'processes_unseen'", 2);
	assert_number(
		h->path, "SELECT count FROM rtl_loss WHERE reason = 'processes_of_uid_1234'", 7);
	assert_number(h->path, "SELECT value FROM rtl_meta WHERE key = 'complete'", 0);
}
