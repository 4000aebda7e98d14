/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/channel/seat.h"
#include "collectord/db/damaged_file.h"
#include "collectord/db/database.h"
#include "collectord/catalog/index_removed.h"
#include "collectord/db/migrate.h"
#include "collectord/store/retention.h"
#include "collectord/db/tenant_files.h"
#include "collectord/store/thread/thread.h"
#include "collectord/store/degraded.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/base/subordinate_uids.h"
#include "proto/base/format.h"
#include "proto/names/schema.h"

#define HEX_BYTES (2 * sizeof(((struct store_left *)0)->token))

static const char sessions_sql[] =
	"SELECT name, job, command, uid, start_realtime_ns, "
	"start_realtime_ns + end_ns - start_ns, "
	"(SELECT value FROM rtl_meta WHERE key = 'boot_id'), "
	"(SELECT value FROM rtl_meta WHERE key = 'complete'), "
	"(SELECT value FROM rtl_meta WHERE key = 'completeness'), "
	"(SELECT sum(stored) FROM rtl_queue WHERE process_id IN "
	"(SELECT id FROM rtl_process WHERE session_id = s.id)) FROM rtl_session s ORDER BY id";

/* If our own boot id cannot be read, every session counts as one of this boot. */
static bool is_same_boot(const char *recorded)
{
	char boot_id[SESSION_ROW_BOOT_BYTES];

	session_row_boot_id(boot_id);
	return !boot_id[0] || (recorded && !strcmp(recorded, boot_id));
}

static void say_failed(struct store *store, const char *path, int error)
{
	answer_text(store, STORE_LEFT_FAILED, error, "%s: %s", path, store_explain(error));
}

static void say_session(struct store *store, const char *path, sqlite3_stmt *row)
{
	struct store_answer answer = {
		.kind = STORE_LEFT_SESSION,
		.name = text_copy((const char *)sqlite3_column_text(row, 0)),
		.job = text_copy((const char *)sqlite3_column_text(row, 1)),
		.text = text_copy((const char *)sqlite3_column_text(row, 2)),
		.database = strdup(path),
	};

	answer.left.uid = (uid_t)sqlite3_column_int64(row, 3);
	answer.left.is_this_boot = is_same_boot((const char *)sqlite3_column_text(row, 6));
	answer_left(store, &answer);
}

/* The end of the session was written, but the collector died before it updated the index. */
static void put_index(struct store *store, const char *path, sqlite3_stmt *row)
{
	struct index_entry entry = {
		.database = path,
		.name = (const char *)sqlite3_column_text(row, 0),
		.job = (const char *)sqlite3_column_text(row, 1),
		.command = (const char *)sqlite3_column_text(row, 2),
		.uid = (uid_t)sqlite3_column_int64(row, 3),
		.start_realtime_ns = (uint64_t)sqlite3_column_int64(row, 4),
		.end_realtime_ns = (uint64_t)sqlite3_column_int64(row, 5),
		.is_complete = sqlite3_column_int(row, 7),
		.line = (const char *)sqlite3_column_text(row, 8),
		.stored = (uint64_t)sqlite3_column_int64(row, 9),
	};

	if (store->index)
		(void)index_put(store->index, &entry);
}

/* A power cut may have damaged any page of the file. */
static int check_pages(const char *path, sqlite3 *db)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int r = database_prepare(db, &row, "PRAGMA main.quick_check(1)");
	const char *text;
	int step;

	if (r < 0 || (uint64_t)storage_database_bytes(path) > STORE_CHECK_BYTES_MAX)
		return r;
	step = sqlite3_step(row);
	if (step != SQLITE_ROW)
		return database_errno(step);
	text = (const char *)sqlite3_column_text(row, 0);
	return text && !strcmp(text, "ok") ? 0 : -EUCLEAN;
}

/* Checks the pages of a file in which a session was left open by another boot. */
static int check_left(const char *path, sqlite3 *db)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step, r = database_prepare(db, &row,
			  "SELECT (SELECT value FROM rtl_meta WHERE key = 'boot_id') "
			  "FROM rtl_session WHERE end_ns IS NULL LIMIT 1");

	if (r < 0)
		return r;
	step = sqlite3_step(row);
	if (step != SQLITE_ROW)
		return database_errno(step);
	return is_same_boot((const char *)sqlite3_column_text(row, 0)) ? 0 : check_pages(path, db);
}

/* Returns the number of sessions left open, or database_errno(). */
static int read_sessions(struct store *store, const char *path, sqlite3 *db)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int count = 0;
	int r = database_prepare(db, &row, sessions_sql);
	int step = SQLITE_DONE;

	while (r == 0 && (step = sqlite3_step(row)) == SQLITE_ROW) {
		if (sqlite3_column_type(row, 5) != SQLITE_NULL) {
			put_index(store, path, row);
			continue;
		}
		say_session(store, path, row);
		count++;
	}
	if (r == 0)
		r = database_errno(step);
	return r < 0 ? r : count;
}

/* 1: the database is ours; 0: it is empty; -EMEDIUMTYPE, -EPROTONOSUPPORT; database_errno(). */
static int check_ours(sqlite3 *db)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int step;
	int r = database_prepare(db, &row,
		"SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
		"FROM pragma_application_id, pragma_user_version");

	if (r < 0)
		return r;
	step = sqlite3_step(row);
	if (step != SQLITE_ROW)
		return database_errno(step);
	if (sqlite3_column_int(row, 0) != SCHEMA_APPLICATION_ID)
		return sqlite3_column_int(row, 2) ? -EMEDIUMTYPE : 0;
	return sqlite3_column_int(row, 1) > SCHEMA_VERSION ? -EPROTONOSUPPORT : 1;
}

/*
 * As read_sessions(); with @has_log only checks whether the file can be continued. Writes nothing:
 * a file that is closed and whole stays so, and a damaged one is set aside as it is.
 */
static int peek(struct store *store, const char *path, bool has_log)
{
	sqlite3 *db = NULL;
	int r = aside_check(path, SCHEMA_APPLICATION_ID, SCHEMA_VERSION);

	if (r == 0)
		r = database_open_to_read(path, &store->patience, &db);
	if (r == 0)
		r = check_ours(db);
	if (r == 1) {
		r = check_left(path, db);
		if (r == 0 && !has_log)
			r = read_sessions(store, path, db);
	}
	database_close(db);
	return r;
}

static bool has_beside(const char *path, const char *ending)
{
	CLEANUP(free_p) char *beside = format_new("%s%s", path, ending);

	return beside && storage_check_file(beside) == 0;
}

/* A journal was left if the collector died while it wrote the schema. */
static bool has_log(const char *path)
{
	return has_beside(path, "-wal") || has_beside(path, "-journal");
}

static void answer_left_open(const struct index_entry *entry, void *data)
{
	struct store_answer answer = {
		.kind = STORE_LEFT_SESSION,
		.name = strdup(entry->name),
		.job = text_copy(entry->job),
		.text = text_copy(entry->command),
		.database = strdup(entry->database),
		.left = {.uid = entry->uid, .is_this_boot = true},
	};

	answer_left(data, &answer);
}

static void answer_left_closed(const struct index_entry *entry, void *data)
{
	const struct store *store = data;
	bool is_recent = entry->end_realtime_ns >= store->seat->since_realtime_ns;
	/* Its file may have been removed by hand while there was no service. */
	bool is_gone = !is_recent && access(entry->database, F_OK) && errno == ENOENT;
	struct store_answer answer = {
		.kind = STORE_LEFT_CLOSED,
		.name = strdup(entry->name),
		.job = text_copy(entry->job),
		.text = text_copy(entry->command),
		.line = text_copy(entry->line),
		.database = strdup(entry->database),
		.complete = entry->is_complete,
		.left = {.uid = entry->uid, .is_recent = is_recent},
		.removed = {.start_ns = entry->start_realtime_ns},
	};

	if (is_gone)
		store_answer_done(&answer);
	else
		answer_left(data, &answer);
}

/* The sessions that the index knows continue in the file that replaces the damaged one. */
static int set_aside(struct store *store, const char *path, int error)
{
	CLEANUP(free_p) char *aside = NULL;
	int r;

	if (!session_file_may_renew(store, path))
		return error;
	r = renew_file(store, path, error, 1, &aside);
	if (r < 0 || !store->index)
		return r;
	(void)index_each_session(store->index, path, answer_left_open, store); /* to reconnect */
	renew_tell_index(store, path, aside, error);
	return 0;
}

bool recover_seal(struct store *store, struct store_database *database, bool is_last)
{
	int r = database_seal(database->writer->db);

	if (r == -EBUSY && !is_last) {
		trouble_pause(database);
		return false;
	}
	/* If another process reads it, the file is whole, only with a WAL beside it. */
	if (r < 0 && r != -EBUSY)
		say_failed(store, database->writer->path, r);
	if (aside_is_damage(r))
		writer_detach(database->writer);
	session_file_close(store, database);
	return true;
}

static void pass_over(const struct index_entry *entry, void *data)
{
	(void)entry;
	(void)data;
}

/* True if the index lists an open session in the file. */
static bool is_open_by_index(const struct store *store, const char *path)
{
	return store->index && index_each_session(store->index, path, pass_over, NULL) > 0;
}

static int note_cut(struct store *store, struct writer *writer)
{
	int r = writer_begin(writer);

	if (r == 0)
		r = writer_put_loss(writer, "logs_cut", 1);
	if (r == 0)
		r = writer_commit(writer);
	if (r == 0)
		renew_say_cut(store, writer->path);
	else
		(void)writer_rollback(writer); /* the caller closes it */
	return r;
}

/*
 * The file has lost all sessions that the index lists. Only a power cut takes that much, perhaps
 * with the whole WAL, so that not even a cut WAL is left to show it.
 */
static int go_on_by_index(struct store *store, struct writer *writer)
{
	int r = writer->was_cut ? 0 : note_cut(store, writer);

	if (r < 0)
		return r;
	r = index_each_session(store->index, writer->path, answer_left_open, store);
	return r < 0 ? 0 : r; /* the index only helps to find files */
}

/*
 * Continues a file whose collector died with it open. The file stays open, because SQLite recovers
 * a WAL only if no other process has it open. If no session continues, the file is sealed, which
 * the earlier collector did not do.
 */
static int go_on(struct store *store, const char *path)
{
	struct store_database *database;
	int r = session_file_open_existing(store, path, &database);

	if (r < 0)
		return r;
	r = read_sessions(store, path, database->writer->db);
	if (r == 0 && is_open_by_index(store, path))
		r = go_on_by_index(store, database->writer);
	if (r < 0) {
		if (aside_is_damage(r))
			writer_detach(database->writer);
		session_file_close(store, database);
		return r;
	}
	if (r == 0) {
		database->is_left = true;
		(void)recover_seal(store, database, false); /* if this fails, it is retried */
	}
	return 0;
}

static int recover_file(struct store *store, const char *path)
{
	bool is_left;
	int r;

	if (session_file_find_open(store, path))
		return 0;
	is_left = has_log(path);
	r = is_left ? 0 : migrate_forget_unwritten(path);
	if (r == 0)
		r = peek(store, path, is_left);
	if (!aside_is_damage(r) && (is_left || (r == 0 && is_open_by_index(store, path))))
		r = go_on(store, path);
	return aside_is_damage(r) ? set_aside(store, path, r) : r;
}

static void check_and_recover_file(const char *path, void *data)
{
	int r = storage_check_file(path);

	if (r == -ENOENT)
		return; /* it was not made yet */
	if (r == 0)
		r = recover_file(data, path);
	if (r < 0)
		say_failed(data, path, r);
}

/* Finds files named @text, in which glob characters are escaped, followed by @pattern. */
static int find_files(const char *text, size_t bytes, const char *pattern, int flags, glob_t *ret)
{
	CLEANUP(free_p) char *whole = malloc(2 * bytes + strlen(pattern) + 1);
	char *to = whole;

	if (!whole)
		return -ENOMEM;
	for (size_t i = 0; i < bytes; i++) {
		if (strchr("*?[\\", text[i]))
			*to++ = '\\';
		*to++ = text[i];
	}
	strcpy(to, pattern);
	return glob(whole, flags, NULL, ret) ? -ENOENT : 0;
}

/* True if the file was set aside, and the collector died before it updated the index. */
static bool was_set_aside(struct store *store, const char *path)
{
	const char *aside = NULL;
	glob_t found;

	if (find_files(path, strlen(path), ".corrupt-*Z", 0, &found) < 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (index_knows(store->index, found.gl_pathv[i]) == 0)
			aside = found.gl_pathv[i];
	if (aside)
		renew_tell_index(store, path, aside, -EUCLEAN);
	globfree(&found);
	return aside;
}

/* Called for files that the index lists as open, so the file once existed. */
static void recover_indexed_file(const char *path, void *data)
{
	if (storage_check_file(path) != -ENOENT)
		check_and_recover_file(path, data);
	else if (!was_set_aside(data, path))
		(void)retention_take_gone(data, path); /* on failure the next start does it */
}

/* True if the file never held a session, nor a note of what became of one. */
static bool is_vacant(struct store *store, const char *path)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	sqlite3 *db = NULL;
	int r = storage_check_file(path);

	if (r == 0)
		r = database_open_to_read(path, &store->patience, &db);
	if (r == 0)
		r = check_ours(db);
	if (r == 1) {
		r = database_prepare(db, &row,
			"SELECT 1 FROM rtl_session UNION ALL SELECT 1 FROM rtl_loss LIMIT 1");
		if (r == 0)
			r = sqlite3_step(row) == SQLITE_DONE ? 0 : -EEXIST;
		sqlite3_finalize(TAKE(row));
	}
	database_close(db);
	return r == 0;
}

/* The collector that made the file died before it updated the index. */
static void look_at_unknown(struct store *store, const char *path)
{
	check_and_recover_file(path, store);
	if (!session_file_find_open(store, path) && is_vacant(store, path))
		retention_drop_vacant(store, path);
}

/* STORE/UID/NAME: any other folder there belongs to another program, which may be writing to it. */
static bool is_of_user(const struct store *store, const char *path, size_t store_bytes)
{
	const char *folder = path + store_bytes + 1;
	uid_t uid;

	if (folder[strspn(folder, "0123456789")] != '/')
		return false;
	uid = (uid_t)strtoul(folder, NULL, 10);
	return store->tenant == STORE_EVERYBODY ||
	       subuids_owner(store->subuids, uid) == store->tenant;
}

/* Moves the files of users that the index does not know to the front of @path. Returns their
 * number. */
static size_t find_unknown(struct store *store, size_t store_bytes, char **path, size_t count)
{
	size_t unknown = 0;

	index_read_begin(store->index);
	for (size_t i = 0; i < count; i++) {
		char *one = path[i];

		store_beat(store);
		if (!is_of_user(store, one, store_bytes) ||
			(!store->scan && index_knows(store->index, one) != 0))
			continue;
		path[i] = path[unknown];
		path[unknown++] = one;
	}
	index_read_end(store->index);
	return unknown;
}

/* Does not list folders of other tenants: a tenant that slows down its own folder would slow us
 * down, too. */
static int find_of_users(const struct store *store, const char *text, size_t bytes, glob_t *ret)
{
	glob_t folders;
	int flags = GLOB_NOSORT, r;

	if (store->tenant == STORE_EVERYBODY)
		return find_files(text, bytes, "/[0-9]*/*.db", GLOB_NOSORT, ret);
	r = find_files(text, bytes, "/[0-9]*", GLOB_NOSORT, &folders);
	if (r < 0)
		return r;
	*ret = (glob_t){0};
	r = -ENOENT;
	for (size_t i = 0; i < folders.gl_pathc; i++) {
		const char *folder = folders.gl_pathv[i];
		const char *name = strrchr(folder, '/') + 1;

		if (name[strspn(name, "0123456789")] ||
			subuids_owner(store->subuids, (uid_t)strtoul(name, NULL, 10)) !=
				store->tenant ||
			find_files(folder, strlen(folder), "/*.db", flags, ret) < 0)
			continue;
		flags |= GLOB_APPEND;
		r = 0;
	}
	globfree(&folders);
	return r;
}

/* The files are authoritative. If the index is new, they are all that is known. */
static void scan(struct store *store)
{
	const char *folder = index_file_path(store->index), *own = retention_folder(store);
	size_t bytes = (size_t)(strrchr(folder, '/') - folder), unknown;
	glob_t found;

	/* The index of a container lies in the store of the service, its files in a folder there.
	 */
	if (own && !strncmp(own, folder, bytes) && own[bytes] == '/') {
		folder = own;
		bytes = strlen(own);
	}
	if (find_of_users(store, folder, bytes, &found) < 0)
		return;
	unknown = find_unknown(store, bytes, found.gl_pathv, found.gl_pathc);
	for (size_t i = 0; i < unknown; i++) {
		store_beat(store);
		look_at_unknown(store, found.gl_pathv[i]);
	}
	globfree(&found);
}

void recover_sessions(struct store *store, const char *path)
{
	struct store_answer done = {.kind = STORE_LEFT_DONE};
	CLEANUP(free_p) char *real = NULL;
	int r = store->index ? retention_recover(store) : 0;

	if (r < 0)
		say_failed(store, "index.db", r);
	r = 0;
	if (path && storage_resolve(path, &real) == 0)
		check_and_recover_file(real, store);
	else if (!path && store->index) {
		r = index_each_open(store->index, SESSIONS_MAX, recover_indexed_file, store);
		scan(store);
	}
	if (r < 0)
		say_failed(store, "index.db", r);
	if (store->index && store->seat)
		(void)index_each_closed(
			store->index, SESSIONS_CLOSED_MAX, answer_left_closed, store);
	retention_tell_kept(store);
	retention_publish_sizes(store);
	answer_left(store, &done);
}

/* ---- processes ---------------------------------------------------------------------------- */

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_token(const char *hex, uint8_t *ret)
{
	if (!hex || strlen(hex) != HEX_BYTES)
		return false;
	for (size_t i = 0; i < HEX_BYTES; i += 2) {
		int high = digit(hex[i]), low = digit(hex[i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i / 2] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* rtl_process stores it without the dashes. */
static void plain_boot_id(char ret[SESSION_ROW_BOOT_BYTES])
{
	char *to = ret;

	session_row_boot_id(ret);
	for (const char *from = ret; *from; from++)
		if (*from != '-')
			*to++ = *from;
	*to = 0;
}

int recover_processes(struct store_session *session)
{
	sqlite3_stmt *row = session->database->writer->statements.at[ST_PROCESS_LEFT_ALL];
	char boot_id[SESSION_ROW_BOOT_BYTES];
	int step;

	plain_boot_id(boot_id);
	sqlite3_bind_int64(row, 1, session->id);
	while ((step = sqlite3_step(row)) == SQLITE_ROW) {
		const char *boot = (const char *)sqlite3_column_text(row, 4);
		struct store_answer answer = {
			.kind = STORE_LEFT_PROCESS,
			.owner = session->owner,
			.process_id = (uint64_t)sqlite3_column_int64(row, 0),
		};

		answer.left.uid = (uid_t)sqlite3_column_int64(row, 1);
		answer.left.pid = (pid_t)sqlite3_column_int64(row, 2);
		answer.left.start_time = (uint64_t)sqlite3_column_int64(row, 3);
		answer.left.is_this_boot = !boot_id[0] || (boot && !strcmp(boot, boot_id));
		/* A process without a valid token is ended with its session. */
		if (parse_token((const char *)sqlite3_column_text(row, 5), answer.left.token))
			answer_left(session->store, &answer);
	}
	sqlite3_reset(row);
	return database_errno(step);
}

int recover_end_process(
	struct store *store, struct store_database *database, const struct command *command)
{
	struct store_process *p = command->process;
	int r = work_commit(store, database);

	if (r == 0)
		r = writer_begin(database->writer);
	if (r == 0 && !p->session->was_renewed)
		r = close_unread_row(database->writer, (int64_t)command->process_id, command->how,
			command->exit_status);
	if (r == 0)
		r = writer_commit(database->writer);
	if (r < 0)
		return r;
	p->is_over = true;
	answer_process(p, STORE_PROCESS_ENDED, 0, NULL);
	stat_want_session(p->session);
	return 0;
}

int recover_controls(struct store_session *session)
{
	sqlite3_stmt *row = session->database->writer->statements.at[ST_META_GET];
	char key[SESSION_ROW_KEY_BYTES], boot_id[SESSION_ROW_BOOT_BYTES];
	const char *text, *rest;
	int step;

	session_row_controls_key(session->id, key);
	session_row_boot_id(boot_id);
	database_bind_text(row, 1, key);
	step = sqlite3_step(row);
	text = step == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
	rest = text ? strchr(text, '\n') : NULL;
	/* Times in it are CLOCK_BOOTTIME: of another boot they mean nothing. */
	if (rest && boot_id[0] && !strncmp(text, boot_id, (size_t)(rest - text)) &&
		!boot_id[rest - text]) {
		free(session->controls);
		session->controls = strdup(rest + 1); /* NULL only costs a renewed file */
		answer_session(session, STORE_CONTROLS, 0, rest + 1);
	}
	sqlite3_reset(row);
	return database_errno(step);
}
