/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/files.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/catalog/index.h"
#include "collectord/db/migrate.h"
#include "proto/base/cleanup.h"
#include "proto/names/schema.h"
#include "tests/fuzz/bench.h"
#include "tests/unit/collectord/store/frames.h"

#define PAGE_BYTES    1024u
#define SQL_STEPS     200000 /* of SQLite's machine */
#define SQL_PAGES_MAX 2048u
#define TOKEN	      7

enum change {
	CHANGE_BYTES,
	CHANGE_PAGE,
	CHANGE_LOG,
	CHANGE_CUT,
	CHANGE_CUT_LOG,
	CHANGE_SQL,
	CHANGE_WHOLE,
	CHANGES
};

static struct file files[FILE_KINDS][FILES_OLDER]; /* older ones: when they are asked for */
static char folder[128], path[160], index_path[160], newer_path[160];

/* ---- the collector ------------------------------------------------------------------------- */

void files_wait(struct store *store, enum store_answer_kind wanted, enum store_answer_kind last,
	struct store_answer *ret)
{
	struct pollfd poller = {.fd = store_answer_fd(store), .events = POLLIN};

	for (;;) {
		if (!store_next_answer(store, ret)) {
			FUZZ_MUST(poll(&poller, 1, -1) == 1 || errno == EINTR);
			continue;
		}
		if (ret->kind == wanted || ret->kind == last)
			return;
		store_answer_done(ret);
	}
}

/* Was it what was @wanted? */
static bool wait_for(
	struct store *store, enum store_answer_kind wanted, enum store_answer_kind last)
{
	struct store_answer answer;
	bool is_there;

	files_wait(store, wanted, last, &answer);
	is_there = answer.kind == wanted;
	store_answer_done(&answer);
	return is_there;
}

struct store_session *files_open_session(struct store *store, const char *at, const char *name)
{
	struct store_session_params params = {
		.name = name, .path = at, .uid = getuid(), .create = STORE_RESUME};
	struct store_session *session = NULL;
	int r = store_session_open(store, &params, NULL, &session);

	/* Of a stranger's file the session may have no name. */
	FUZZ_MUST(r == 0 || (r == -EINVAL && !*name));
	return r == 0 && wait_for(store, STORE_OPENED, STORE_FAILED) ? session
								     : store_session_free(session);
}

struct store_process *files_open_process(struct store *store, struct store_session *session)
{
	struct store_process *process = NULL;
	struct store_answer answer;
	struct frames frames = {0};
	size_t bytes;
	uint8_t *hello = peer_hello(TOKEN, 0, &bytes);
	bool is_open;

	FUZZ_MUST(store_process_open(session, hello, bytes, getuid(), 1007, 4242, NULL, &process) ==
		  0);
	files_wait(store, STORE_PROCESS_OPENED, STORE_PROCESS_FAILED, &answer);
	is_open = answer.kind == STORE_PROCESS_OPENED;
	store_answer_done(&answer);
	if (!is_open)
		return NULL;
	peer_add_defines(&frames);
	peer_add_anchors(&frames, 1000000);
	for (unsigned i = 1; i <= 3; i++)
		peer_add_dispatches(
			&frames, answer.frame + i, 1 + i % 2, 20 * (answer.frame + i), 20);
	peer_add_counters(&frames, 0, RTL_Q_dispatched, (uint64_t)200, -1);
	hello = frames_take(&frames, &bytes);
	(void)store_process_frames(process, hello, bytes);
	FUZZ_MUST(store_flush(store, STORE_EVERYBODY, NULL) == 0);
	(void)wait_for(store, STORE_FLUSHED, STORE_FLUSHED);
	return process;
}

void files_close(struct store *store, struct store_session *session, struct store_process *process)
{
	if (process) {
		FUZZ_MUST(store_process_end(process, -1, STORE_ENDED_EXITED, 0) == 0);
		(void)wait_for(store, STORE_PROCESS_ENDED, STORE_PROCESS_FAILED);
	}
	FUZZ_MUST(store_session_close(session, 0) == 0);
	(void)wait_for(store, STORE_CLOSED, STORE_FAILED);
	store_session_free(session);
}

/* ---- good files ---------------------------------------------------------------------------- */

static void read_one(const char *name, uint8_t **ret, size_t *ret_count)
{
	CLEANUP(close_p) int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat st;

	FUZZ_MUST(fd >= 0 && fstat(fd, &st) == 0);
	*ret_count = (size_t)st.st_size;
	*ret = malloc(*ret_count + 1);
	FUZZ_MUST(*ret && read(fd, *ret, *ret_count) == st.st_size);
}

/* Reads the file and its WAL, if there is one. */
static void read_file(const char *from, struct file *ret)
{
	char name[192];

	read_one(from, &ret->bytes, &ret->count);
	snprintf(name, sizeof(name), "%s-wal", from);
	ret->log = NULL;
	ret->log_count = 0;
	if (access(name, F_OK) == 0)
		read_one(name, &ret->log, &ret->log_count);
}

static void write_one(const char *name, const uint8_t *bytes, size_t count)
{
	CLEANUP(close_p) int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	FUZZ_MUST(fd >= 0 && write(fd, bytes, count) == (ssize_t)count);
}

static void write_file(const struct file *file, const char *to)
{
	char name[192];

	write_one(to, file->bytes, file->count);
	snprintf(name, sizeof(name), "%s-wal", to);
	if (file->log)
		write_one(name, file->log, file->log_count);
}

static void make_small_pages(const char *of)
{
	sqlite3 *db = NULL;

	FUZZ_MUST(sqlite3_open(of, &db) == SQLITE_OK);
	FUZZ_MUST(sqlite3_exec(db, "PRAGMA journal_mode=DELETE; PRAGMA page_size=1024; VACUUM",
			  NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
}

static void make_databases(void)
{
	static const struct store_config config;
	struct store_session *session;
	struct store_process *process;
	struct store *store = NULL;

	FUZZ_MUST(store_new(&config, &store) == 0);
	session = files_open_session(store, path, "job");
	FUZZ_MUST(session);
	files_close(store, session, NULL);
	make_small_pages(path);
	session = files_open_session(store, path, "job");
	FUZZ_MUST(session);
	process = files_open_process(store, session);
	FUZZ_MUST(process);
	read_file(path, &files[FILE_LEFT][0]);
	files_close(store, session, process);
	read_file(path, &files[FILE_CLOSED][0]);
	store_free(store);
}

static void make_index(void)
{
	struct index_entry entry = {
		.database = path, .name = "job", .uid = getuid(), .start_realtime_ns = 1};
	struct index *index = NULL;
	bool is_new;

	FUZZ_MUST(index_open(index_path, NULL, &index, &is_new) == 0);
	FUZZ_MUST(index_put(index, &entry) == 0);
	index_close(index);
	make_small_pages(index_path);
	read_file(index_path, &files[FILE_INDEX][0]);
}

/* ---- older ones ---------------------------------------------------------------------------- */

static void must_run(sqlite3 *db, const char *sql)
{
	FUZZ_MUST(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
}

/* The migrations never change once they are released. */
static void make_old_schema(sqlite3 *db, int version)
{
	char sql[96];

	must_run(db, "PRAGMA page_size=1024");
	for (const struct migration *m = migrations; m->version && m->version <= version; m++)
		must_run(db, m->sql);
	snprintf(sql, sizeof(sql), "PRAGMA application_id=%d; PRAGMA user_version=%d",
		SCHEMA_APPLICATION_ID, version);
	must_run(db, sql);
}

/* Copies the columns of each table that both files have. */
static const char copy_sql[] =
	"SELECT group_concat('DELETE FROM main.' || name || '; INSERT INTO main.' || name || ' (' "
	"|| "
	"  columns || ') SELECT ' || columns || ' FROM newer.' || name, ';') "
	"FROM (SELECT t.name AS name, (SELECT group_concat('\"' || o.name || '\"') "
	"    FROM pragma_table_info(t.name, 'main') o JOIN pragma_table_info(t.name, 'newer') n "
	"    ON n.name = o.name) AS columns "
	"  FROM main.sqlite_schema t WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%') "
	"WHERE columns IS NOT NULL";

static void copy_rows(sqlite3 *db)
{
	sqlite3_stmt *copy = NULL;
	char *attach = sqlite3_mprintf("ATTACH %Q AS newer", newer_path);

	FUZZ_MUST(attach);
	must_run(db, attach);
	sqlite3_free(attach);
	FUZZ_MUST(sqlite3_prepare_v2(db, copy_sql, -1, &copy, NULL) == SQLITE_OK);
	FUZZ_MUST(sqlite3_step(copy) == SQLITE_ROW);
	must_run(db, (const char *)sqlite3_column_text(copy, 0));
	sqlite3_finalize(copy);
}

/* Makes what the collector of that version had written; if it was killed, the rows are in the
 * WAL. */
static void make_old_database(enum file_kind kind, unsigned older)
{
	sqlite3 *db = NULL;

	write_file(&files[kind][0], newer_path);
	FUZZ_MUST(sqlite3_open(path, &db) == SQLITE_OK);
	make_old_schema(db, SCHEMA_VERSION - (int)older);
	if (kind == FILE_LEFT) {
		must_run(db, "PRAGMA journal_mode=WAL");
		sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
	}
	copy_rows(db);
	sqlite3_close(db);
	read_file(path, &files[kind][older]);
}

/* Backwards what index.c did to it. */
static const char *const index_back[] = {NULL,
	"ALTER TABLE session DROP COLUMN processes; ALTER TABLE session DROP COLUMN dispatched; "
	"ALTER TABLE session DROP COLUMN lost; ALTER TABLE session DROP COLUMN simulated; "
	"ALTER TABLE session DROP COLUMN changed_ns; PRAGMA user_version=2",
	"DROP INDEX session_open; DROP INDEX session_age; DROP INDEX session_age_of_tenant; "
	"DROP INDEX session_kept; DROP INDEX session_not_weighed; DROP INDEX removed_database; "
	"DROP INDEX removed_of_tenant; DROP INDEX removed_going; "
	"ALTER TABLE session DROP COLUMN tenant; ALTER TABLE removed DROP COLUMN tenant; "
	"PRAGMA user_version=1",
	"DROP TABLE removed; ALTER TABLE session DROP COLUMN stored; "
	"ALTER TABLE session DROP COLUMN bytes; ALTER TABLE session DROP COLUMN kept; "
	"PRAGMA user_version=0"};

#define INDEX_OLDER (sizeof(index_back) / sizeof(*index_back))

static void make_old_index(unsigned older)
{
	sqlite3 *db = NULL;

	write_file(&files[FILE_INDEX][0], index_path);
	FUZZ_MUST(sqlite3_open(index_path, &db) == SQLITE_OK);
	for (unsigned i = 1; i <= older; i++)
		must_run(db, index_back[i]);
	sqlite3_close(db);
	read_file(index_path, &files[FILE_INDEX][older]);
}

static const struct file *file_of(enum file_kind kind, unsigned older)
{
	older %= kind == FILE_INDEX ? (unsigned)INDEX_OLDER : FILES_OLDER;
	if (files[kind][older].bytes)
		return &files[kind][older];
	if (kind == FILE_INDEX)
		make_old_index(older);
	else
		make_old_database(kind, older);
	files_remove();
	return &files[kind][older];
}

/* -------------------------------------------------------------------------------------------- */

void files_init(void)
{
	snprintf(folder, sizeof(folder), "%s/files", fuzz_folder());
	snprintf(path, sizeof(path), "%s/job.db", folder);
	snprintf(index_path, sizeof(index_path), "%s/index.db", folder);
	snprintf(newer_path, sizeof(newer_path), "%s/newer.db", folder);
	FUZZ_MUST(mkdir(folder, 0700) == 0);
	make_databases();
	make_index();
	files_remove();
}

const char *files_path(void)
{
	return path;
}

const char *files_index_path(void)
{
	return index_path;
}

void files_remove(void)
{
	char pattern[160];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*", folder);
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		FUZZ_MUST(unlink(found.gl_pathv[i]) == 0);
	globfree(&found);
}

/* ---- damage -------------------------------------------------------------------------------- */

static int stop(void *nothing)
{
	(void)nothing;
	return 1;
}

/* Nothing but the one file. */
static int allow(
	void *nothing, int what, const char *a, const char *b, const char *c, const char *d)
{
	(void)nothing;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return what == SQLITE_ATTACH || what == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
}

/* Does with SQL what the file's owner can do to it, also to its schema. */
static void change_by_sql(struct file *file, const char *at, const uint8_t *text, size_t bytes)
{
	CLEANUP(free_p) char *sql = strndup((const char *)text, bytes);
	sqlite3 *db = NULL;

	FUZZ_MUST(sql);
	write_file(file, at);
	if (sqlite3_open(at, &db) == SQLITE_OK) {
		sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
		sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, (int *)NULL);
		sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
		sqlite3_exec(db, "PRAGMA max_page_count=2048", NULL, NULL, NULL);
		sqlite3_set_authorizer(db, allow, NULL);
		sqlite3_progress_handler(db, SQL_STEPS, stop, NULL);
		(void)sqlite3_exec(db, sql, NULL, NULL, NULL);
	}
	sqlite3_close(db);
	free(file->bytes);
	free(file->log);
	read_file(at, file);
	files_remove();
}

static void change_bytes(uint8_t *bytes, size_t count, size_t at, struct tape *tape)
{
	size_t n;
	const uint8_t *from = tape_bytes(tape, (size_t)tape_number(tape, 1) % 64, &n);

	if (!count)
		return;
	at %= count;
	memcpy(bytes + at, from, n < count - at ? n : count - at);
}

static void change(struct file *file, enum file_kind kind, struct tape *tape)
{
	unsigned what = (unsigned)tape_number(tape, 1) % CHANGES;
	const uint8_t *from;
	size_t n, at;

	switch (what) {
	case CHANGE_BYTES:
		change_bytes(file->bytes, file->count, (size_t)tape_number(tape, 3), tape);
		break;
	case CHANGE_PAGE:
		at = PAGE_BYTES * (size_t)tape_number(tape, 1);
		change_bytes(file->bytes, file->count, at + (size_t)tape_number(tape, 1), tape);
		break;
	case CHANGE_LOG:
		change_bytes(file->log, file->log_count, (size_t)tape_number(tape, 3), tape);
		break;
	case CHANGE_CUT:
		at = (size_t)tape_number(tape, 3);
		file->count = at < file->count ? at : file->count;
		break;
	case CHANGE_CUT_LOG:
		at = (size_t)tape_number(tape, 3);
		file->log_count = at < file->log_count ? at : file->log_count;
		break;
	case CHANGE_SQL:
		from = tape_bytes(tape, (size_t)tape_number(tape, 2), &n);
		if (kind != FILE_INDEX)
			change_by_sql(file, path, from, n);
		break;
	default: /* another file altogether */
		from = tape_bytes(tape, tape->left, &n);
		memcpy(file->bytes, from, n < file->count ? n : file->count);
		file->count = n < file->count ? n : file->count;
	}
}

static uint8_t *copy_of(const uint8_t *bytes, size_t count)
{
	uint8_t *copy = bytes ? malloc(count + 1) : NULL;

	if (copy)
		memcpy(copy, bytes, count);
	return copy;
}

void files_write(enum file_kind kind, unsigned older, struct tape *tape)
{
	struct file file = *file_of(kind, older);

	file.bytes = copy_of(file.bytes, file.count);
	file.log = copy_of(file.log, file.log_count);
	FUZZ_MUST(file.bytes);
	while (tape->left)
		change(&file, kind, tape);
	write_file(&file, kind == FILE_INDEX ? index_path : path);
	free(file.bytes);
	free(file.log);
}

void files_write_whole(enum file_kind kind, const char *to)
{
	write_file(&files[kind][0], to);
}
