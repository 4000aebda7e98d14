/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collectord/aside.h"
#include "collectord/cache.h"
#include "collectord/database.h"
#include "collectord/retention.h"
#include "collectord/storage.h"
#include "collectord/store_private.h"
#include "proto/cleanup.h"
#include "proto/clock.h"
#include "proto/schema.h"

/* Names of a job that are numbered: NAME, NAME-2 ... Past them it is named by when it began, which
 * needs no search however many there are, and so often at most, should somebody else have that. */
#define NAMES_NUMBERED	8
#define NAMES_MAX	(2 * NAMES_NUMBERED)
/* Of a name, so that what is behind it fits into a file's name. */
#define NAME_STEM_BYTES 100

struct store_database *session_file_close(struct store *store, struct store_database *database)
{
	struct store_database **at = &store->databases;
	struct command *command;

	while (*at != database)
		at = &(*at)->next;
	*at = database->next;
	/* Behind the last close only who waits for all before it is in line. */
	while ((command = command_list_take(&database->todo))) {
		answer_release(store, command);
		command_free(command);
	}
	over_quota_close(store, database);
	work_end_drain(database);
	store_user_set(store, database, NULL);
	writer_free(database->writer);
	free(database);
	cache_divide(store);
	return NULL;
}

struct store_database *session_file_find_open(struct store *store, const char *path)
{
	struct store_database *database;
	struct stat st;

	if (stat(path, &st) < 0)
		return NULL;
	for (database = store->databases; database; database = database->next)
		if (database->dev == st.st_dev && database->ino == st.st_ino)
			break;
	return database;
}

bool session_file_may_renew(const struct store *store, const char *path)
{
	return store->index || aside_is_ours(path);
}

static int open_database(struct store *store, const char *path, struct store_database **ret)
{
	CLEANUP(free_p) struct store_database *database = calloc(1, sizeof(*database));
	struct stat st;
	int r;

	if (!database)
		return -ENOMEM;
	if (stat(path, &st) < 0)
		return -errno;
	r = writer_open(path, &store->arena, &store->patience, &database->writer);
	if (r < 0)
		return r;
	database->dev = st.st_dev;
	database->ino = st.st_ino;
	store_user_set(store, database, NULL);
	database->next = store->databases;
	store->databases = database;
	cache_divide(store);
	*ret = TAKE(database);
	return 0;
}

static int make_database(
	struct store *store, const char *path, bool is_private, struct store_database **ret)
{
	int r = storage_create_file(path, is_private);

	if (r < 0)
		return r;
	aside_move_orphans(path);
	r = open_database(store, path, ret);
	if (r < 0)
		(void)unlink(path); /* made just now, by us, and nothing is in it */
	return r;
}

int session_file_open_existing(struct store *store, const char *path, struct store_database **ret)
{
	int r = aside_check(path, SCHEMA_APPLICATION_ID, SCHEMA_VERSION);

	if (r == 0)
		r = open_database(store, path, ret);
	if (r < 0)
		return r;
	(*ret)->writer->is_resumed = true;
	if ((*ret)->writer->was_cut)
		renew_say_cut(store, path);
	return 0;
}

static int set_aside(struct store *store, const char *path, int error)
{
	CLEANUP(free_p) char *aside = NULL;
	int r = renew_file(store, path, error, 1, &aside);

	if (r == 0)
		renew_tell_index(store, path, aside, error);
	return r;
}

static int continue_database(struct store *store, const char *path, struct store_database **ret)
{
	int r;

	*ret = session_file_find_open(store, path);
	if (*ret)
		return 0;
	r = storage_check_file(path);
	if (r < 0)
		return r;
	r = session_file_open_existing(store, path, ret);
	if (!aside_is_damage(r) || !session_file_may_renew(store, path))
		return r;
	r = set_aside(store, path, r);
	return r < 0 ? r : session_file_open_existing(store, path, ret);
}

void session_file_boot_id(char ret[SESSION_FILE_BOOT_BYTES])
{
	CLEANUP(close_p) int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, SESSION_FILE_BOOT_BYTES - 1);

	ret[n > 0 ? n : 0] = 0;
	ret[strcspn(ret, "\n")] = 0;
}

/* ---- the session's row ------------------------------------------------------------------ */

static bool text_is(const unsigned char *a, const char *b)
{
	return a && b ? !strcmp((const char *)a, b) : !a && !b;
}

/* 1: the row of its name is of this user and job; 0: it is another's; -ENOENT: there is none. */
static int find_row(struct store_session *session, struct writer *writer)
{
	sqlite3_stmt *find = writer->statements.at[ST_SESSION_FIND];
	bool is_its_own = false;
	int step;

	database_bind_text(find, 1, session->name);
	step = sqlite3_step(find);
	if (step == SQLITE_ROW)
		is_its_own = sqlite3_column_int64(find, 1) == session->uid &&
			     text_is(sqlite3_column_text(find, 2), session->job);
	if (is_its_own) {
		session->id = sqlite3_column_int64(find, 0);
		session->start_realtime_ns = (uint64_t)sqlite3_column_int64(find, 3);
	}
	sqlite3_reset(find);
	return step == SQLITE_ROW ? is_its_own : step == SQLITE_DONE ? -ENOENT : database_errno(step);
}

static int put_row(struct store_session *session, struct writer *writer)
{
	sqlite3_stmt *put = writer->statements.at[ST_SESSION_PUT];
	int r;

	session->start_realtime_ns = clock_realtime_ns();
	database_bind_text(put, 1, session->name);
	database_bind_text(put, 2, session->job);
	sqlite3_bind_int64(put, 3, session->uid);
	database_bind_text(put, 4, session->command);
	database_bind_text(put, 5, session->host);
	sqlite3_bind_int64(put, 6, (int64_t)clock_boottime_ns());
	sqlite3_bind_int64(put, 7, (int64_t)session->start_realtime_ns);
	r = database_run(put);
	if (r == 0)
		session->id = sqlite3_last_insert_rowid(writer->db);
	return r;
}

static int open_row_again(struct store_session *session, struct writer *writer)
{
	sqlite3_stmt *again = writer->statements.at[ST_SESSION_OPEN_AGAIN];

	sqlite3_bind_int64(again, 1, session->id);
	return database_run(again);
}

static int put_meta(struct store_session *session, struct writer *writer)
{
	char boot_id[SESSION_FILE_BOOT_BYTES];
	int r = writer_put_meta_number(writer, "complete", 0);

	session_file_boot_id(boot_id);
	if (r == 0)
		r = writer_put_meta(writer, "boot_id", boot_id);
	if (r == 0)
		r = writer_put_meta_first(writer, "command", session->command);
	return r == 0 ? writer_put_meta_first(writer, "host", session->host) : r;
}

int session_file_put(struct store_session *session, struct writer *writer)
{
	int r = put_row(session, writer);

	return r == 0 ? put_meta(session, writer) : r;
}

/* The @n-th name that a session of the job @first is tried with, from 1. */
static int take_name(struct store_session *session, const char *first, int n)
{
	uint64_t now_ns = clock_realtime_ns();
	time_t now_s = (time_t)(now_ns / 1000000000u);
	char when[32], *name;
	struct tm tm;
	int r;

	if (n == 1)
		r = asprintf(&name, "%s", first);
	else if (n <= NAMES_NUMBERED)
		r = asprintf(&name, "%.*s-%d", NAME_STEM_BYTES, first, n);
	else if (gmtime_r(&now_s, &tm) && strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm))
		r = asprintf(&name, "%.*s-%s.%09u", NAME_STEM_BYTES, first, when,
			(unsigned)(now_ns % 1000000000u));
	else
		return -EOVERFLOW;
	if (r < 0)
		return -ENOMEM;
	free(session->name);
	session->name = name;
	return 0;
}

/*
 * In a shared file a job goes on with the row of its own that has its name, a closed one, too: who
 * comes late finds it closed. A name that is another's, or another user's, gets something behind it.
 */
static int name_row(struct store_session *session, struct writer *writer)
{
	CLEANUP(free_p) char *first = strdup(session->name);

	for (int i = 1; first && i <= NAMES_MAX; i++) {
		int r = take_name(session, first, i);

		if (r == 0)
			r = find_row(session, writer);
		if (r == -ENOENT)
			return put_row(session, writer);
		if (r < 0)
			return r;
		if (r == 1 && session->create == STORE_RESUME)
			return open_row_again(session, writer);
	}
	return first ? -EEXIST : -ENOMEM;
}

static int open_row(struct store_session *session, struct store_database *database)
{
	struct writer *writer = database->writer;
	int r = work_commit(session->store, database);

	if (r == 0)
		r = writer_begin(writer);
	if (r < 0)
		return r;
	r = name_row(session, writer);
	if (r == 0)
		r = put_meta(session, writer);
	if (r == 0)
		r = writer_commit(writer);
	if (r < 0 && writer_rollback(writer) < 0)
		database->must_reload = true;
	return r;
}

/* ---- the file ---------------------------------------------------------------------------- */

static int open_at_path(struct store_session *session, struct store_database **ret)
{
	char *path;
	int r = storage_resolve(session->path, &path);

	if (r < 0)
		return r;
	free(session->path);
	session->path = path;
	*ret = session_file_find_open(session->store, path);
	if (*ret)
		return 0;
	/* In the service's folder: its file went meanwhile, and its owner shall read the new one,
	 * too. */
	r = make_database(session->store, path, session->store->index != NULL, ret);
	if (r == -EEXIST && session->create == STORE_RESUME)
		r = continue_database(session->store, path, ret);
	return r;
}

static const char fits_sql[] = "SELECT (SELECT count(*) FROM rtl_session), uid, job, end_ns, "
			       "(SELECT value FROM rtl_meta WHERE key = 'boot_id') "
			       "FROM (SELECT 1) LEFT JOIN rtl_session ON name = ?1";

/* 1: the file holds this job, not closed and of this boot; or it is vacant: it took the place of
 * one that went aside, and waits for whoever comes back. 0: neither. */
static int holds(const struct store_session *session, sqlite3 *db)
{
	char boot_id[SESSION_FILE_BOOT_BYTES];
	sqlite3_stmt *row = NULL;
	int r = database_prepare(db, &row, fits_sql);

	if (r < 0)
		return r;
	session_file_boot_id(boot_id);
	database_bind_text(row, 1, session->name);
	r = sqlite3_step(row);
	if (r != SQLITE_ROW)
		r = database_errno(r);
	else if (!sqlite3_column_int64(row, 0))
		r = 1;
	else
		r = sqlite3_column_type(row, 1) != SQLITE_NULL &&
		    sqlite3_column_int64(row, 1) == session->uid &&
		    text_is(sqlite3_column_text(row, 2), session->job) &&
		    sqlite3_column_type(row, 3) == SQLITE_NULL &&
		    text_is(sqlite3_column_text(row, 4), boot_id);
	sqlite3_finalize(row);
	return r;
}

/* By reading alone: a file of another session stays as it is, sealed, with its verdict. As holds().
 */
static int peek(const struct store_session *session, const char *path)
{
	sqlite3 *db = NULL;
	int r = aside_check(path, SCHEMA_APPLICATION_ID, SCHEMA_VERSION);

	if (r == 0)
		r = database_open_to_read(path, &session->store->patience, &db);
	if (r == 0)
		r = holds(session, db);
	database_close(db);
	return r;
}

/* Is it the same job, of before the collector was restarted? Left open if so. -EEXIST: no; -EBUSY:
 * somebody reads it, so that it cannot be gone on with. */
static int try_resume(struct store_session *session, const char *path, struct store_database **ret)
{
	int r;

	if (session_file_find_open(session->store, path))
		return -EEXIST;
	r = storage_check_file(path);
	if (r == 0)
		r = peek(session, path);
	/* What is damaged goes aside. */
	if (r == 1 || aside_is_damage(r))
		r = continue_database(session->store, path, ret);
	else
		r = r == -EBUSY ? r : -EEXIST;
	return r == 0 || r == -EBUSY ? r : -EEXIST; /* whatever it is, it is not ours to touch */
}

/* The @skip-th session of the job that the index says is open, whatever is behind its name: as
 * try_resume(), which sets path and name. -ENOENT: it is gone, and so it is from the index; -ESRCH:
 * there are no more. */
static int resume_one(struct store_session *session, unsigned skip, struct store_database **ret)
{
	struct store *store = session->store;
	const struct index_entry job = {
		.name = session->name, .job = session->job, .uid = session->uid};
	CLEANUP(free_p) char *path = NULL;
	CLEANUP(free_p) char *name = NULL;
	char *first = session->name;
	int r;

	store_beat(store);
	if (index_find_open(store->index, &job, skip, &path, &name) != 1)
		return -ESRCH;
	if (storage_check_file(path) == -ENOENT && retention_take_gone(store, path))
		return -ENOENT;
	session->name = name;
	r = try_resume(session, path, ret);
	session->name = first;
	if (r < 0)
		return r;
	session->path = TAKE(path);
	session->name = TAKE(name);
	free(first);
	return 0;
}

static int resume_known(struct store_session *session, struct store_database **ret)
{
	unsigned skip = 0;
	int r = -EEXIST;

	while (session->store->index && session->job && skip < NAMES_MAX &&
		(r == -EEXIST || r == -ENOENT)) {
		r = resume_one(session, skip, ret);
		skip += r == -EEXIST;
	}
	return r == 0 || r == -EBUSY ? r : -EEXIST;
}

/* What the index says is closed is not opened to see that: there may be any number of it. */
static bool is_known_closed(const struct store *store, const char *path)
{
	return store->index && index_is_closed(store->index, path) == 1;
}

static int open_with_name(struct store_session *session, const char *folder, bool may_resume,
	struct store_database **ret)
{
	CLEANUP(free_p) char *path = NULL;
	char safe[STORAGE_NAME_BYTES];
	int r;

	store_beat(session->store);
	storage_safe_name(session->name, safe);
	if (asprintf(&path, "%s/%s.db", folder, safe) < 0)
		return -ENOMEM;
	r = make_database(session->store, path, true, ret);
	if (r == -EEXIST && may_resume && !is_known_closed(session->store, path))
		r = try_resume(session, path, ret);
	if (r == 0)
		session->path = TAKE(path);
	return r;
}

static int open_in_folder(struct store_session *session, struct store_database **ret, bool *ret_acl)
{
	CLEANUP(free_p) char *folder = NULL;
	CLEANUP(free_p) char *first = strdup(session->name);
	bool may_resume = session->create == STORE_RESUME;
	int r = storage_tenant_folder(session->dir, session->uid, &folder, ret_acl);

	if (r < 0 || !first)
		return r < 0 ? r : -ENOMEM;
	r = may_resume ? resume_known(session, ret) : -EEXIST;
	for (int i = 1; (r == -EEXIST || (r == -EBUSY && may_resume)) && i <= NAMES_MAX; i++) {
		/* Who keeps readers on all his closed files is waited for once. */
		may_resume &= r != -EBUSY;
		r = take_name(session, first, i);
		if (r == 0)
			r = open_with_name(session, folder, may_resume, ret);
	}
	return r == -EBUSY && may_resume ? -EEXIST : r;
}

const char *session_file_explain(int r)
{
	switch (r) {
	case -EEXIST:
		return "it exists already, and no database is ever overwritten";
	case -EMEDIUMTYPE:
		return "it is not a database of rtl";
	case -EPROTONOSUPPORT:
		return "it was written by a newer rtl";
	case -ENOTSUP:
		return "its file system has no shared memory for SQLite's WAL; choose a local one";
	case -EMLINK:
		return "it has several links";
	case -EUCLEAN:
		return "it is corrupt";
	case -ENOSPC:
		return "the disk is full";
	default:
		return strerror(-r);
	}
}

int session_file_open(struct store_session *session, char *why, size_t why_bytes)
{
	struct store_database *database = NULL;
	bool has_acl = true;
	int r;

	why[0] = 0;
	if (session->path)
		r = open_at_path(session, &database);
	else
		r = open_in_folder(session, &database, &has_acl);
	if (r == 0) {
		r = open_row(session, database);
		if (aside_is_damage(r)) {
			renew_want(database, r);
			r = renew_database(session->store, database);
			if (r == 0)
				r = open_row(session, database);
		}
		if (r < 0 && !database->sessions)
			session_file_close(session->store, database);
	}
	if (r < 0) {
		snprintf(why, why_bytes, "%s: %s", session->path ? session->path : session->name,
			session_file_explain(r));
		return r;
	}
	session_join(session, database);
	r = over_quota_open(session);
	if (r < 0) {
		session_leave(session);
		if (!database->sessions)
			session_file_close(session->store, database);
		return r;
	}
	if (database->is_left)
		database->not_before_ns = database->retry_ns = 0;
	database->is_left = false;
	if (!has_acl)
		snprintf(why, why_bytes,
			"%s: its owner cannot read it: no ACLs on this file system", session->path);
	return 0;
}

void session_file_controls_key(int64_t session_id, char ret[SESSION_FILE_KEY_BYTES])
{
	snprintf(ret, SESSION_FILE_KEY_BYTES, "controls:%" PRId64, session_id);
}

int session_file_put_controls(struct writer *writer, int64_t session_id, const char *text)
{
	sqlite3_stmt *drop = writer->statements.at[ST_META_DROP];
	char key[SESSION_FILE_KEY_BYTES], boot_id[SESSION_FILE_BOOT_BYTES];
	CLEANUP(free_p) char *value = NULL;

	session_file_controls_key(session_id, key);
	if (!text) {
		database_bind_text(drop, 1, key);
		return database_run(drop);
	}
	session_file_boot_id(boot_id);
	if (asprintf(&value, "%s\n%s", boot_id, text) < 0)
		value = NULL;
	return value ? writer_put_meta(writer, key, value) : -ENOMEM;
}

/* The loop has looked at it: each line is three fields between tabs (runner.c). */
int session_file_put_categories(struct writer *writer, const char *text)
{
	sqlite3_stmt *put = writer->statements.at[ST_CATEGORY_PUT];
	CLEANUP(free_p) char *copy = strdup(text);
	char *rest = copy, *line;
	int64_t position = 0;
	int r = copy ? database_run(writer->statements.at[ST_CATEGORIES_DROP]) : -ENOMEM;

	for (const char *at = text; *at; at++)
		position -= *at == '\n';
	while (r == 0 && position < 0 && (line = strsep(&rest, "\n"))) {
		const char *category = strsep(&line, "\t"), *collective = strsep(&line, "\t");

		sqlite3_bind_int64(put, 1, position++);
		database_bind_text(put, 2, category);
		if (collective && *collective)
			database_bind_text(put, 3, collective);
		database_bind_text(put, 4, line ? line : "");
		r = database_run(put);
	}
	return r;
}
