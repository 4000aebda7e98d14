// SPDX-License-Identifier: MIT
#include "cli/import/rows/import_store.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output/unfinished.h"
#include "collectord/db/rows/text.h"
#include "collectord/ingest/completeness/verdict.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/names/schema.h"

/*
 * The most bytes of a name, or of a text of tensor dimensions. The longest kernel name met so far
 * has 5,160 bytes.
 */
#define TEXT_BYTES_MAX 65536u
/* SQLite's page cache. */
#define CACHE_BYTES    (32u << 20)

static const char *const texts[IMPORT_STATEMENTS] = {
	[IMPORT_SESSION_PUT] = "INSERT INTO rtl_session (name, uid, command, start_ns, "
			       "start_realtime_ns, end_ns) VALUES (?2 || "
			       "CASE WHEN EXISTS (SELECT 1 FROM rtl_session) THEN '-' || "
			       "(SELECT count(*) + 1 FROM rtl_session) ELSE '' END, ?1, "
			       "'rtl import', 0, 0, 0)",
	[IMPORT_CLOCK_PUT] = "INSERT INTO rtl_session_clock (session_id, clock) VALUES (?1, ?2)",
	[IMPORT_SESSION_END] = "UPDATE rtl_session SET start_ns = ?2, start_realtime_ns = ?3, "
			       "end_ns = ?4 WHERE id = ?1",
	[IMPORT_FILE_FIND] = "SELECT file FROM rtl_import WHERE sha256 = ?1",
	[IMPORT_FILE_PUT] = "INSERT INTO rtl_import (file, kind, source, sha256, size, events, "
			    "skipped, imported_ns) VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, ?6)",
	[IMPORT_FILE_COUNT] = "UPDATE rtl_import SET events = ?2, skipped = ?3 WHERE id = ?1",
	[IMPORT_PROCESS_PUT] = "INSERT INTO rtl_process (session_id, pid, start_ns, boot_id, uid, "
			       "token, start_time, ended, drained, import_id) "
			       "VALUES (0, 0, 0, '', ?1, '', 0, 'unknown', 1, ?2)",
	[IMPORT_PROCESS_END] =
		"UPDATE rtl_process SET pid = ?2, start_ns = ?3, end_ns = ?4, rank = ?5, "
		"told_rank = ?5, world_size = ?6, told_world_size = ?6, boot_id = ?7, host = ?8, "
		"mode = ?9, front_end = ?10, command = ?11, local_rank = ?12, session_id = ?13 "
		"WHERE id = ?1",
	[IMPORT_OP_PUT] =
		"INSERT INTO rtl_op_base (id, parent, tid, name_id, kind, start_ns, end_ns, "
		"external_id, sequence, forward_tid, shapes_id, types_id, marker, inputs_id) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
	[IMPORT_CALL_PUT] =
		"INSERT INTO rtl_call_base (id, process_id, parent, tid, api_id, start_ns, end_ns, "
		"result, stream, marker, arguments, graph_launch) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, NULL, ?10)",
	[IMPORT_CALL_IMPORT_PUT] =
		"INSERT INTO rtl_call_import (id, op, foreign_id) VALUES (?1, ?2, ?3)",
	[IMPORT_COLLECTIVE_PUT] =
		"INSERT INTO rtl_collective_base (id, comm, comm_rank, comm_size, seq, count, "
		"bytes, datatype, reduction, peer, group_id, launch_id) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, NULL, ?9, NULL, ?10)",
	[IMPORT_COLLECTIVE_IMPORT_PUT] = "INSERT INTO rtl_collective_import (id, op_id, in_split, "
					 "out_split) VALUES (?1, ?2, ?3, ?4)",
	[IMPORT_COPY_PUT] = "INSERT INTO rtl_copy_base (process_id, number, tid, submit_ns, bytes, "
			    "how, direction, source_gpuId, target_gpuId, engine, call, marker, "
			    "start_ns, end_ns) VALUES (?1, ?2, ?3, ?4, ?5, 'imported', ?6, ?7, ?8, "
			    "NULL, ?9, ?10, ?11, ?12)",
	[IMPORT_MARKER_PUT] = "INSERT INTO rtl_marker_base (process_id, id, parent, tid, kind, "
			      "text_id, start_ns, end_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[IMPORT_METRIC_PUT] = "INSERT INTO rtl_metric_base (process_id, marker_id, parent, tid, "
			      "time_ns, name_id, value) VALUES (?1, ?2, NULL, NULL, ?3, ?4, ?5)",
	[IMPORT_STEP_PUT] = "INSERT INTO rtl_metric_step (process_id, marker_id, name_id, step) "
			    "VALUES (?1, ?2, ?3, ?4)",
	[IMPORT_QUEUE_PUT] =
		"INSERT INTO rtl_queue (process_id, queueId, gpuId, dispatched, stored, "
		"busy_ns, last_end_ns, stream) VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7)",
	[IMPORT_GPU_PUT] =
		"INSERT INTO rtl_gpu (gpuId, name, gfx, kfd_node) VALUES (?1, ?2, ?3, ?4) "
		"ON CONFLICT (gpuId) DO UPDATE SET name = coalesce(name, excluded.name)",
	[IMPORT_API_PUT] = "INSERT OR IGNORE INTO rtl_api (id, arguments) VALUES (?1, '')",
};

__attribute__((format(printf, 3, 4))) static int fail(
	struct import_store *store, int r, const char *format, ...)
{
	va_list arguments;
	int n = snprintf(store->error, sizeof(store->error), "%.200s: ", store->name);

	va_start(arguments, format);
	vsnprintf(store->error + n, sizeof(store->error) - (size_t)n, format, arguments);
	va_end(arguments);
	return r;
}

int import_store_fail(struct import_store *store, int r)
{
	if (r >= 0 || store->error[0])
		return r;
	if (r == -ENOMEM)
		return fail(store, r, "out of memory");
	if (store->writer && store->writer->db && sqlite3_errcode(store->writer->db) != SQLITE_OK)
		return fail(store, r, "cannot write: %s", sqlite3_errmsg(store->writer->db));
	return fail(store, r, "cannot write: %s", strerror(-r));
}

static int copy_bytes(int from, int to)
{
	ssize_t n;

	while ((n = sendfile(to, from, NULL, 1u << 30)) > 0)
		;
	return n < 0 ? -errno : 0;
}

/* Copies the database that rows will be added to. It must be closed. */
static int copy_old(struct import_store *store, int to)
{
	CLEANUP(close_p) int from = open(store->name, O_RDONLY | O_CLOEXEC);
	char log[PATH_MAX];
	struct stat st;
	int r;

	snprintf(log, sizeof(log), "%s-wal", store->name);
	if (from < 0)
		return fail(store, -errno, "cannot open: %m");
	if (!stat(log, &st) && st.st_size)
		return fail(store, -EBUSY, "is being written; import into it when it is closed");
	r = copy_bytes(from, to);
	return r < 0 ? fail(store, r, "cannot copy: %s", strerror(-r)) : 0;
}

static int make_file(struct import_store *store, bool is_appended)
{
	CLEANUP(close_p) int fd = -1;
	CLEANUP(free_p) char *name = strdup(store->name), *folder = NULL;
	const char *slash = strrchr(store->name, '/');
	mode_t mask = umask(0);

	umask(mask);
	if (!name)
		return fail(store, -ENOMEM, "out of memory");
	/* The path for SQLite must have no symbolic link in it. */
	folder = realpath(dirname(name), NULL);
	if (!folder)
		return fail(store, -errno, "cannot write: %m");
	if (asprintf(&store->path, "%s/%s.tmp.XXXXXX", folder, slash ? slash + 1 : store->name) <
		0) {
		store->path = NULL;
		return fail(store, -ENOMEM, "out of memory");
	}
	fd = unfinished_make_file(store->path);
	if (fd < 0) {
		free(store->path);
		store->path = NULL;
		return fail(store, fd, "cannot write: %s", strerror(-fd));
	}
	unfinished_add_database(store->path);
	if (fchmod(fd, 0666 & ~mask))
		return fail(store, -errno, "cannot write: %m");
	return is_appended ? copy_old(store, fd) : 0;
}

static int open_database(struct import_store *store)
{
	int r = writer_open(store->path, NULL, NULL, &store->writer);

	if (r == -EMEDIUMTYPE)
		return fail(store, r, "is not an rtl database");
	if (r == -EPROTONOSUPPORT)
		return fail(store, r, "was written by a newer rtl");
	if (r < 0)
		return fail(store, r, "cannot be opened: %s", strerror(-r));
	writer_set_cache(store->writer, CACHE_BYTES);
	/*
	 * Until the database has its name, a power cut cannot spoil anything. The journal of a
	 * transaction in memory holds only pages that existed before.
	 */
	r = database_exec(store->writer->db,
		"PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA temp_store=FILE");
	return import_store_fail(store, r);
}

int import_store_open(const char *name, bool is_appended, struct import_store *ret)
{
	int r;

	*ret = (struct import_store){.name = name};
	r = make_file(ret, is_appended);
	if (r == 0)
		r = open_database(ret);
	for (int i = 0; i < IMPORT_STATEMENTS && r == 0; i++)
		r = import_store_fail(
			ret, database_prepare(ret->writer->db, ret->statements + i, texts[i]));
	return r;
}

static void end_statements(struct import_store *store)
{
	for (int i = 0; i < IMPORT_STATEMENTS; i++) {
		sqlite3_finalize(store->statements[i]);
		store->statements[i] = NULL;
	}
}

void import_store_done(struct import_store *store)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	char path[PATH_MAX];

	end_statements(store);
	store->writer = writer_free(store->writer);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes) && store->path; i++) {
		snprintf(path, sizeof(path), "%s%s", store->path, suffixes[i]);
		(void)unlink(path);
	}
	if (store->path)
		unfinished_end(store->path);
	free(store->path);
	store->path = NULL;
}

/* ---- sessions ---- */

/* Names the session after the file. NULL if out of memory. */
static char *session_name(const struct import_store *store)
{
	const char *slash = strrchr(store->name, '/'), *name = slash ? slash + 1 : store->name;
	size_t length = strlen(name);

	if (length > 3 && !strcmp(name + length - 3, ".db"))
		length -= 3;
	return text_clean(name, length, TEXT_BYTES_MAX);
}

int import_store_session(struct import_store *store, enum import_clock clock, int64_t *ret_id)
{
	static const char *const names[] = {"realtime", "boottime", "unknown"};
	sqlite3_stmt *put = store->statements[IMPORT_SESSION_PUT];
	sqlite3_stmt *put_clock = store->statements[IMPORT_CLOCK_PUT];
	struct import_session *session = store->session + clock;
	int r;

	if (!session->id) {
		CLEANUP(free_p) char *name = session_name(store);

		if (!name)
			return import_store_fail(store, -ENOMEM);
		sqlite3_bind_int64(put, 1, getuid());
		database_bind_text(put, 2, name);
		r = database_run(put);
		if (r < 0)
			return import_store_fail(store, r);
		*session = (struct import_session){
			.id = sqlite3_last_insert_rowid(store->writer->db), .first_ns = INT64_MAX};
		if (clock != IMPORT_BOOTTIME) {
			sqlite3_bind_int64(put_clock, 1, session->id);
			database_bind_text(put_clock, 2, names[clock]);
			r = database_run(put_clock);
			if (r < 0)
				return import_store_fail(store, r);
		}
	}
	*ret_id = session->id;
	return 0;
}

void import_store_stretch(
	struct import_store *store, enum import_clock clock, int64_t first_ns, int64_t last_ns)
{
	struct import_session *session = store->session + clock;

	if (first_ns < session->first_ns)
		session->first_ns = first_ns;
	if (last_ns > session->last_ns)
		session->last_ns = last_ns;
}

static int end_sessions(struct import_store *store)
{
	sqlite3_stmt *end = store->statements[IMPORT_SESSION_END];
	int r = 0;

	for (int i = 0; i < IMPORT_CLOCKS && r == 0; i++) {
		struct import_session *session = store->session + i;

		if (!session->id)
			continue;
		if (session->first_ns > session->last_ns)
			session->first_ns = session->last_ns;
		sqlite3_bind_int64(end, 1, session->id);
		sqlite3_bind_int64(end, 2, session->first_ns);
		/* Only a realtime clock tells the time of day. */
		sqlite3_bind_int64(end, 3, i == IMPORT_REALTIME ? session->first_ns : 0);
		sqlite3_bind_int64(end, 4, session->last_ns);
		r = database_run(end);
	}
	return r;
}

/* ---- one file ---- */

static int find_file(struct import_store *store, const struct trace_file *file)
{
	sqlite3_stmt *find = store->statements[IMPORT_FILE_FIND];
	int step;

	database_bind_text(find, 1, file->sha256);
	step = sqlite3_step(find);
	if (step == SQLITE_ROW)
		(void)fail(store, 0, "has %.200s already", sqlite3_column_text(find, 0));
	sqlite3_reset(find);
	return step == SQLITE_ROW ? 1 : import_store_fail(store, database_errno(step));
}

int import_store_begin(struct import_store *store, const struct trace_file *file, const char *kind,
	const char *source)
{
	sqlite3_stmt *put = store->statements[IMPORT_FILE_PUT];
	const char *slash = strrchr(file->name, '/');
	CLEANUP(free_p) char *name = NULL;
	int r;

	store->error[0] = 0;
	store->counts = (struct import_counts){0};
	memcpy(store->before, store->session, sizeof(store->before));
	r = find_file(store, file);
	if (r)
		return r;
	r = writer_begin(store->writer);
	name = text_clean(slash ? slash + 1 : file->name, strlen(slash ? slash + 1 : file->name),
		TEXT_BYTES_MAX);
	if (r == 0 && !name)
		r = -ENOMEM;
	if (r < 0)
		return import_store_fail(store, r);
	database_bind_text(put, 1, name);
	database_bind_text(put, 2, kind);
	database_bind_text(put, 3, source);
	database_bind_text(put, 4, file->sha256);
	sqlite3_bind_int64(put, 5, (int64_t)file->size);
	sqlite3_bind_int64(put, 6, (int64_t)clock_realtime_ns());
	r = database_run(put);
	store->import_id = sqlite3_last_insert_rowid(store->writer->db);
	return import_store_fail(store, r);
}

int import_store_commit(struct import_store *store)
{
	const struct import_counts *counts = &store->counts;
	sqlite3_stmt *count = store->statements[IMPORT_FILE_COUNT];
	uint64_t left_out = intern_take_overflowed(&store->writer->intern);
	int r;

	sqlite3_bind_int64(count, 1, store->import_id);
	sqlite3_bind_int64(count, 2,
		(int64_t)(counts->kernels + counts->copies + counts->calls + counts->ops +
			  counts->ranges + counts->metrics));
	sqlite3_bind_int64(count, 3, (int64_t)counts->skipped);
	r = database_run(count);
	if (r == 0 && left_out)
		r = writer_put_loss(store->writer, "names_overflowed",
			(unsigned)(left_out < UINT_MAX ? left_out : UINT_MAX));
	if (r == 0)
		r = end_sessions(store);
	if (r == 0)
		r = writer_commit(store->writer);
	return import_store_fail(store, r);
}

int import_store_rollback(struct import_store *store)
{
	int r = writer_rollback(store->writer);

	memcpy(store->session, store->before, sizeof(store->session));
	return r;
}

/* ---- texts ---- */

static bool is_plain(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] <= 0)
			return false;
	return true;
}

static int put_text(struct import_store *store, const char *text, size_t length,
	int (*put)(struct intern *intern, const char *text, int64_t *ret_id), int64_t *ret_id)
{
	CLEANUP(free_p) char *clean = NULL;
	char plain[512];
	int r;

	if (length < sizeof(plain) && is_plain(text, length)) {
		memcpy(plain, text, length);
		plain[length] = 0;
		r = put(&store->writer->intern, plain, ret_id);
	} else {
		clean = text_clean(text, length, TEXT_BYTES_MAX);
		r = clean ? put(&store->writer->intern, clean, ret_id) : -ENOMEM;
	}
	return import_store_fail(store, r);
}

int import_store_text(struct import_store *store, const char *text, size_t length, int64_t *ret_id)
{
	return put_text(store, text, length, intern_put_text, ret_id);
}

int import_store_kernel(
	struct import_store *store, const char *name, size_t length, int64_t *ret_id)
{
	return put_text(store, name, length, intern_put_kernel, ret_id);
}

/* ---- the end ---- */

static int save_verdict(struct import_store *store)
{
	struct completeness completeness;
	int r = writer_begin(store->writer);

	if (r == 0)
		r = verdict_read(store->writer, 0, false, &completeness);
	if (r == 0)
		r = verdict_save(store->writer, &completeness);
	if (r == 0)
		r = writer_put_meta_first(store->writer, "command", "rtl import");
	if (r == 0)
		r = writer_commit(store->writer);
	return r;
}

int import_store_publish(struct import_store *store)
{
	CLEANUP(close_p) int fd = -1;
	int r;

	store->error[0] = 0;
	r = save_verdict(store);
	if (r == 0)
		r = database_exec(store->writer->db, "PRAGMA journal_mode=DELETE");
	if (r < 0)
		return import_store_fail(store, r);
	end_statements(store);
	store->writer = writer_free(store->writer);
	fd = open(store->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) || rename(store->path, store->name))
		return fail(store, -errno, "cannot write: %m");
	unfinished_end(store->path);
	free(store->path);
	store->path = NULL;
	return 0;
}
