// SPDX-License-Identifier: MIT
/*
 * Databases of rtl itself. Their rows are added unchanged, except that ids are moved beyond those
 * in use and texts that exist already are shared. The losses in their ledgers are kept.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/import/input/foreign_db.h"
#include "cli/import/formats/formats.h"
#include "cli/import/formats/own_check.h"
#include "cli/output/unfinished.h"
#include "proto/base/cleanup.h"
#include "proto/names/schema.h"

/* The new id of a text of the other file. */
#define TEXT(column) "(SELECT new FROM temp.rtl_text WHERE old = " column ")"
/* Ids of calls and operations begin with the process. */
#define CALL(column) column " + (:process << 40)"
#define PROCESS	     "process_id + :process"

/* In this order, so that rows come after those they refer to. The parameters say how far ids are
 * moved. */
static const char *const moves[] = {
	"INSERT INTO main.rtl_import (id, file, kind, source, sha256, size, events, skipped, "
	"imported_ns) "
	"SELECT id + :import, file, kind, source, sha256, size, events, skipped, imported_ns "
	"FROM other.rtl_import",
	"INSERT INTO main.rtl_session (id, name, job, uid, command, host, start_ns, "
	"start_realtime_ns, "
	"end_ns, exit_status) SELECT id + :session, CASE WHEN name IN (SELECT name FROM "
	"main.rtl_session) THEN name || '-' || (WITH RECURSIVE taken (number) AS (SELECT "
	"o.id + :session UNION ALL SELECT number + 1 FROM taken WHERE o.name || '-' || number IN "
	"(SELECT name FROM main.rtl_session UNION ALL SELECT name FROM other.rtl_session)) "
	"SELECT max(number) FROM taken) ELSE name END, job, uid, command, host, "
	"start_ns, start_realtime_ns, end_ns, exit_status FROM other.rtl_session o",
	"INSERT INTO main.rtl_session_clock SELECT session_id + :session, clock "
	"FROM other.rtl_session_clock",
	"INSERT INTO main.rtl_process (id, session_id, pid, start_ns, rank, local_rank, "
	"world_size, "
	"launcher, attempt, exe, host, boot_id, uid, hw_frame, duplicate_frames, ended, "
	"exit_status, "
	"drained, token, start_time, command, mode, front_end, runtime, shim_version, job, "
	"counted_ns, "
	"end_ns, \"group\", group_rank, told_rank, told_world_size, comm, comm_rank, comm_size, "
	"ancestors, import_id) SELECT id + :process, session_id + :session, pid, start_ns, rank, "
	"local_rank, world_size, launcher, attempt, exe, host, boot_id, uid, hw_frame, "
	"duplicate_frames, ended, exit_status, drained, token, start_time, command, mode, "
	"front_end, "
	"runtime, shim_version, job, counted_ns, end_ns, \"group\", group_rank, told_rank, "
	"told_world_size, comm, comm_rank, comm_size, ancestors, coalesce(import_id + :import, "
	":file) "
	"FROM other.rtl_process",
	"INSERT OR IGNORE INTO main.rtl_gpu SELECT * FROM other.rtl_gpu",
	"INSERT INTO main.rtl_shape SELECT id + :shape, " PROCESS
	", gpuId, queueId, " TEXT("kernel_id") ", "
					       "workgroupX, workgroupY, workgroupZ, gridX, gridY, "
					       "gridZ, lds, scratch FROM other.rtl_shape",
	"INSERT INTO main.rtl_dispatch (shape_id, seq, start, duration, submit, tid, marker, "
	"untimed, "
	"call, node) SELECT shape_id + :shape, seq, start, duration, submit, tid, marker, untimed, "
	"call, "
	"node FROM other.rtl_dispatch ORDER BY rowid",
	"INSERT INTO main.rtl_outstanding (process_id, gpuId, queueId, sequenceId, description_id, "
	"submit_ns, tid, roctxId, correlation_id) SELECT " PROCESS
	", gpuId, queueId, sequenceId, " TEXT(
		"description_id") ", submit_ns, tid, roctxId, correlation_id FROM "
				  "other.rtl_outstanding",
	"INSERT INTO main.rtl_in_flight (process_id, queueId, sequenceId, gpuId, description_id, "
	"submit_ns, tid, roctxId, correlation_id, behind, taken_ns) SELECT " PROCESS ", queueId, "
	"sequenceId, gpuId, " TEXT(
		"description_id") ", submit_ns, tid, roctxId, correlation_id, behind, "
				  "taken_ns FROM other.rtl_in_flight",
	"INSERT INTO main.rtl_queue (process_id, queueId, gpuId, dispatched, skipped, stored, "
	"untimed, "
	"outstanding, dropped, torn, busy_ns, last_end_ns, last_shape, last_seq, stream) "
	"SELECT " PROCESS ", queueId, gpuId, dispatched, skipped, stored, untimed, outstanding, "
	"dropped, torn, busy_ns, "
	"last_end_ns, last_shape + :shape, last_seq, stream FROM other.rtl_queue",
	"INSERT INTO main.rtl_counter_base SELECT " PROCESS ", queueId, name, value "
	"FROM other.rtl_counter_base",
	"INSERT INTO main.rtl_loss SELECT CASE WHEN process_id THEN " PROCESS
	" ELSE 0 END, reason, count, "
	"from_ns, to_ns FROM other.rtl_loss WHERE true ON CONFLICT DO UPDATE SET "
	"count = count + excluded.count, from_ns = NULL, to_ns = NULL",
	"INSERT INTO main.rtl_loss_interval_base SELECT " PROCESS
	", queueId, reason, number, count, "
	"from_ns, to_ns, first_seq, last_seq FROM other.rtl_loss_interval_base",
	"INSERT INTO main.rtl_clock SELECT " PROCESS
	", gpuId, tick, tick_hz, boottime_ns, realtime_ns, "
	"error_ns FROM other.rtl_clock",
	"INSERT INTO main.rtl_clock_check SELECT " PROCESS
	", gpuId, tick_hz, anchors, error_max_ns, steps, "
	"regressions, refused, early, early_max_ns FROM other.rtl_clock_check",
	"INSERT INTO main.rtl_recording SELECT " PROCESS ", from_ns, to_ns, why, end_why "
	"FROM other.rtl_recording",
	"INSERT INTO main.rtl_marker_base SELECT " PROCESS
	", id, parent, tid, kind, " TEXT("text_id") ", "
						    "start_ns, end_ns FROM other.rtl_marker_base",
	"INSERT INTO main.rtl_metric_base (process_id, marker_id, parent, tid, time_ns, name_id, "
	"value) SELECT " PROCESS
	", marker_id, parent, tid, time_ns, " TEXT("name_id") ", value FROM other.rtl_metric_base",
	"INSERT INTO main.rtl_metric_step SELECT " PROCESS
	", marker_id, " TEXT("name_id") ", step FROM other.rtl_metric_step",
	"INSERT INTO main.rtl_name_base SELECT " PROCESS
	", kind, subject, " TEXT("text_id") ", tid, time_ns "
					    "FROM other.rtl_name_base",
	"INSERT OR IGNORE INTO main.rtl_api SELECT " TEXT("id") ", arguments FROM other.rtl_api",
	"INSERT INTO main.rtl_call_base (id, process_id, parent, tid, api_id, start_ns, end_ns, "
	"result, "
	"stream, marker, arguments, graph_exec, graph_launch) SELECT " CALL(
		"id") ", " PROCESS
		      ", parent, tid, " TEXT(
			      "api_id") ", start_ns, end_ns, result, stream, marker, arguments, "
					"graph_exec, graph_launch FROM other.rtl_call_base",
	"INSERT INTO main.rtl_call_import SELECT " CALL("id") ", op, foreign_id "
							      "FROM other.rtl_call_import",
	"INSERT INTO main.rtl_collective_base (id, comm, comm_rank, comm_size, seq, count, bytes, "
	"datatype, reduction, peer, group_id, launch_id) "
	"SELECT " CALL("id") ", comm, comm_rank, comm_size, seq, count, bytes, datatype, "
			     "reduction, peer, group_id, " CALL(
				     "launch_id") " FROM other.rtl_collective_base",
	"INSERT INTO main.rtl_collective_import SELECT " CALL("id") ", " TEXT(
		"op_id") ", in_split, out_split FROM other.rtl_collective_import",
	"INSERT INTO main.rtl_captured SELECT " CALL("id") ", graph FROM other.rtl_captured",
	"INSERT INTO main.rtl_copy_base SELECT " PROCESS
	", number, tid, submit_ns, bytes, how, direction, "
	"source_gpuId, target_gpuId, engine, call, marker, start_ns, end_ns FROM "
	"other.rtl_copy_base",
	"INSERT INTO main.rtl_op_base (id, parent, tid, name_id, kind, start_ns, end_ns, "
	"external_id, sequence, forward_tid, shapes_id, types_id, marker, inputs_id) "
	"SELECT " CALL("id") ", parent, tid, " TEXT(
		"name_id") ", kind, start_ns, end_ns, "
			   "external_id, sequence, forward_tid, " TEXT("shapes_id") ", " TEXT(
				   "types_id") ", marker, " TEXT("inputs_id") " FROM "
									      "other.rtl_op_base",
	"INSERT OR IGNORE INTO main.rtl_category SELECT * FROM other.rtl_category WHERE origin = "
	"'user'",
};

/* How far each kind of id is moved. */
struct offsets {
	const char *name, *sql;
};

static const struct offsets offsets[] = {
	{":import", "SELECT coalesce(max(id), 0) FROM main.rtl_import"},
	{":session", "SELECT coalesce(max(id), 0) FROM main.rtl_session"},
	{":process", "SELECT coalesce(max(id), 0) FROM main.rtl_process"},
	{":shape", "SELECT coalesce(max(id), 0) FROM main.rtl_shape"},
};
#define OFFSETS (sizeof(offsets) / sizeof(*offsets))

struct merging {
	struct import_store *store;
	struct trace_file *file;
	/* path of a copy of the other database, of the newest schema; empty: none */
	char copy[PATH_MAX];
	int64_t offset[OFFSETS];
};

static void merging_done(struct merging *m)
{
	if (!m->copy[0])
		return;
	(void)unlink(m->copy);
	unfinished_end(m->copy);
}

static int fail(struct merging *m, int r, sqlite3 *db)
{
	if (r < 0 && !m->file->error[0] && !m->store->error[0])
		snprintf(m->file->error, sizeof(m->file->error), "%.200s: cannot be read: %s",
			m->file->name, db ? sqlite3_errmsg(db) : strerror(-r));
	return r;
}

/* ---- a copy that can be migrated to the newest schema ---- */

static int check_closed(struct merging *m)
{
	char log[PATH_MAX];
	struct stat st;

	snprintf(log, sizeof(log), "%s-wal", m->file->name);
	if (stat(log, &st) || !st.st_size)
		return 0;
	snprintf(m->file->error, sizeof(m->file->error),
		"%.200s: is being written; import it when its session is closed", m->file->name);
	return -EBUSY;
}

static int copy_pages(struct merging *m)
{
	CLEANUP(foreign_close_p) sqlite3 *from = NULL;
	CLEANUP(foreign_close_p) sqlite3 *to = NULL;
	sqlite3_backup *backup;
	int r = foreign_open(m->file, &from);

	/* The migrations read it, too. */
	if (r == 0)
		r = own_check_tables(m->file, m->store->writer->db, from);
	if (r < 0)
		return r;
	if (sqlite3_open(m->copy, &to) != SQLITE_OK)
		return fail(m, -EIO, to);
	backup = sqlite3_backup_init(to, "main", from, "main");
	if (backup)
		(void)sqlite3_backup_step(backup, -1);
	r = backup ? sqlite3_backup_finish(backup) : sqlite3_errcode(to);
	return r == SQLITE_OK ? 0 : fail(m, -EIO, to);
}

static int make_copy(struct merging *m)
{
	sqlite3 *db = NULL;
	bool is_cut;
	int r = check_closed(m);

	if (r < 0)
		return r;
	snprintf(m->copy, sizeof(m->copy), "%s.other", m->store->path);
	unfinished_add_database(m->copy);
	r = copy_pages(m);
	if (r == 0)
		r = database_open(m->copy, NULL, &is_cut, &db);
	if (r == 0)
		r = database_exec(db, "PRAGMA journal_mode=DELETE");
	if (r == -EPROTONOSUPPORT)
		snprintf(m->file->error, sizeof(m->file->error),
			"%.200s: was written by a newer rtl", m->file->name);
	r = fail(m, r, db);
	database_close(db);
	return r;
}

/* ---- rows ---- */

/* Statements that map the texts of the other database to those of the store. */
struct texts {
	sqlite3_stmt *all, *find_kernel, *put_text, *put_kernel, *put;
};

static void texts_done(struct texts *t)
{
	sqlite3_finalize(t->all);
	sqlite3_finalize(t->find_kernel);
	sqlite3_finalize(t->put_text);
	sqlite3_finalize(t->put_kernel);
	sqlite3_finalize(t->put);
}

/* Finds a kernel by its symbol and name, or adds it. The name is not demangled again, because
 * another demangler may have made it. */
static int move_kernel(
	struct merging *m, struct texts *t, const char *symbol, const char *name, int64_t *ret_id)
{
	int r = 0;

	database_bind_text(t->find_kernel, 1, symbol);
	database_bind_text(t->find_kernel, 2, name);
	if (sqlite3_step(t->find_kernel) == SQLITE_ROW) {
		*ret_id = sqlite3_column_int64(t->find_kernel, 0);
		sqlite3_reset(t->find_kernel);
		return 0;
	}
	sqlite3_reset(t->find_kernel);
	database_bind_text(t->put_text, 1, name);
	r = database_run(t->put_text);
	if (r < 0)
		return r;
	*ret_id = sqlite3_last_insert_rowid(m->store->writer->db);
	sqlite3_bind_int64(t->put_kernel, 1, *ret_id);
	database_bind_text(t->put_kernel, 2, symbol);
	return database_run(t->put_kernel);
}

static int move_text(struct merging *m, struct texts *t)
{
	const char *symbol = (const char *)sqlite3_column_text(t->all, 2);
	const char *text = foreign_text(t->all, 1);
	int64_t id = 0;
	int r = symbol ? move_kernel(m, t, symbol, text, &id)
		       : import_store_text(m->store, text, strlen(text), &id);

	if (r < 0)
		return r;
	sqlite3_bind_int64(t->put, 1, sqlite3_column_int64(t->all, 0));
	sqlite3_bind_int64(t->put, 2, id);
	return database_run(t->put);
}

static int move_texts(struct merging *m)
{
	CLEANUP(texts_done) struct texts t = {0};
	sqlite3 *db = m->store->writer->db;
	int r = database_exec(db,
		"CREATE TEMP TABLE IF NOT EXISTS rtl_text (old INTEGER PRIMARY KEY, new INTEGER);"
		"CREATE TEMP TABLE IF NOT EXISTS rtl_symbol (symbol TEXT, name TEXT, id INTEGER, "
		"PRIMARY KEY (symbol, name)) WITHOUT ROWID;"
		"DELETE FROM temp.rtl_text; DELETE FROM temp.rtl_symbol;"
		"INSERT OR IGNORE INTO temp.rtl_symbol SELECT k.symbol, s.string, k.id "
		"FROM main.rtl_kernel_base k JOIN main.rocpd_string s ON s.id = k.id");

	if (r == 0)
		r = database_prepare(db, &t.all,
			"SELECT s.id, s.string, k.symbol FROM other.rocpd_string s "
			"LEFT JOIN other.rtl_kernel_base k ON k.id = s.id");
	if (r == 0)
		r = database_prepare(db, &t.find_kernel,
			"SELECT id FROM temp.rtl_symbol WHERE symbol = ?1 AND name = ?2");
	if (r == 0)
		r = database_prepare(
			db, &t.put_text, "INSERT INTO main.rocpd_string (string) VALUES (?1)");
	if (r == 0)
		r = database_prepare(db, &t.put_kernel,
			"INSERT INTO main.rtl_kernel_base (id, symbol) VALUES (?1, ?2)");
	if (r == 0)
		r = database_prepare(db, &t.put, "INSERT INTO temp.rtl_text VALUES (?1, ?2)");
	while (!r && (r = foreign_next(m->file, t.all)) > 0)
		r = move_text(m, &t);
	return r;
}

static int move_rows(struct merging *m, const char *sql)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *statement = NULL;
	sqlite3 *db = m->store->writer->db;
	int r = database_prepare(db, &statement, sql);

	if (r < 0)
		return r;
	for (size_t i = 0; i < OFFSETS; i++) {
		int index = sqlite3_bind_parameter_index(statement, offsets[i].name);

		if (index)
			sqlite3_bind_int64(statement, index, m->offset[i]);
	}
	if (sqlite3_bind_parameter_index(statement, ":file"))
		sqlite3_bind_int64(statement, sqlite3_bind_parameter_index(statement, ":file"),
			m->store->import_id);
	return database_errno(sqlite3_step(statement));
}

/* A file that both databases have would be imported twice. */
static int check_imports(struct merging *m)
{
	CLEANUP(foreign_end_p) sqlite3_stmt *rows = NULL;
	int r = database_prepare(m->store->writer->db, &rows,
		"SELECT o.file FROM other.rtl_import o JOIN main.rtl_import h ON h.sha256 = "
		"o.sha256");

	if (r == 0)
		r = foreign_next(m->file, rows);
	if (r <= 0)
		return r;
	snprintf(m->file->error, sizeof(m->file->error), "%.150s: has %.150s, as %.100s has",
		m->file->name, foreign_text(rows, 0), m->store->name);
	return -EEXIST;
}

static int move_all(struct merging *m)
{
	sqlite3 *db = m->store->writer->db;
	struct import_counts *counts = &m->store->counts;
	int r = check_imports(m);

	for (size_t i = 0; i < OFFSETS; i++)
		m->offset[i] = foreign_number(db, offsets[i].sql, 0);
	if (r == 0)
		r = move_texts(m);
	/* Writes the dispatches that are still buffered before those of the other database. */
	if (r == 0)
		r = feed_flush(m->store->writer->feed);
	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves) && r == 0; i++)
		r = move_rows(m, moves[i]);
	if (r < 0)
		return r;
	m->store->writer->intern.last_shape =
		foreign_number(db, "SELECT coalesce(max(id), 0) FROM main.rtl_shape", 0);
	counts->kernels =
		(uint64_t)foreign_number(db, "SELECT count(*) FROM other.rtl_dispatch", 0);
	counts->copies =
		(uint64_t)foreign_number(db, "SELECT count(*) FROM other.rtl_copy_base", 0);
	counts->calls = (uint64_t)foreign_number(db, "SELECT count(*) FROM other.rtl_call_base", 0);
	counts->ops = (uint64_t)foreign_number(db, "SELECT count(*) FROM other.rtl_op_base", 0);
	counts->ranges =
		(uint64_t)foreign_number(db, "SELECT count(*) FROM other.rtl_marker_base", 0);
	counts->metrics =
		(uint64_t)foreign_number(db, "SELECT count(*) FROM other.rtl_metric_base", 0);
	counts->collectives =
		(uint64_t)foreign_number(db, "SELECT count(*) FROM other.rtl_collective_base", 0);
	counts->linked = (uint64_t)foreign_number(db,
		"SELECT (SELECT count(call) FROM other.rtl_dispatch) + "
		"(SELECT count(call) FROM other.rtl_copy_base)",
		0);
	return 0;
}

int own_read(
	struct import_store *store, struct trace_file *file, const struct import_options *options)
{
	CLEANUP(merging_done) struct merging m = {.store = store, .file = file};
	CLEANUP(foreign_end_p) sqlite3_stmt *attach = NULL;
	sqlite3 *db = store->writer->db;
	int r = make_copy(&m);

	(void)options;
	if (r == 0)
		r = database_prepare(db, &attach, "ATTACH ?1 AS other");
	if (r == 0)
		database_bind_text(attach, 1, m.copy);
	if (r == 0)
		r = database_run(attach);
	if (r == 0)
		r = own_check_rows(file, db);
	if (r == 0)
		r = move_all(&m);
	return fail(&m, r, db);
}

void own_end(struct import_store *store)
{
	(void)sqlite3_exec(store->writer->db, "DETACH other", NULL, NULL, NULL);
}
