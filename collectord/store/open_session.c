/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectord/db/damaged_file.h"
#include "collectord/db/database.h"
#include "collectord/db/migrate.h"
#include "collectord/db/tenant_files.h"
#include "collectord/store/internal.h"
#include "collectord/store/page_cache.h"
#include "collectord/store/retention.h"
#include "proto/base/cleanup.h"
#include "proto/base/fault.h"
#include "proto/base/format.h"
#include "proto/base/list.h"
#include "proto/names/schema.h"

struct store_database *session_file_close(struct store *store, struct store_database *database)
{
	struct command *command;

	LIST_REMOVE(store->databases, database, next);
	/* After the last close only flushes, which wait for everything before them, are in the
	 * queue. */
	while ((command = command_list_take(&database->todo))) {
		answer_release(store, command);
		command_free(command);
	}
	over_quota_close(store, database);
	writer_free(database->writer);
	close_p(&database->index); /* after SQLite, which holds no locks on it any more */
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

/* ---- the database ------------------------------------------------------------------------ */

static int open_database(struct store *store, const char *path, struct store_database **ret)
{
	CLEANUP(free_p) struct store_database *database = calloc(1, sizeof(*database));
	struct stat st;
	int r;

	if (!database)
		return -ENOMEM;
	database->index = -1;
	if (stat(path, &st) < 0)
		return -errno;
	r = writer_open(path, &store->arena, &store->patience, &database->writer);
	if (r < 0)
		return r;
	database->dev = st.st_dev;
	database->ino = st.st_ino;
	database->next = store->databases;
	store->databases = database;
	cache_divide(store);
	*ret = TAKE(database);
	return 0;
}

struct making {
	struct store_session *session;
	const char *path;
	int held; /* O_PATH: closing it drops no lock; -1: no descriptor was free */
};

/* A descriptor identifies the file whatever becomes of its name. */
static int hold_file(const char *path)
{
	return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/*
 * Answers STORE_MADE. The file exists with room for all of it, so only the disk or the collector
 * can still make the opening fail; a client that waits for this answer does not wait for the disk.
 * A WAL that lay there belongs to another file, and a reader would take it for ours, so it is moved
 * away.
 */
static void say_made(void *data)
{
	struct making *making = data;

	making->held = hold_file(making->path);
	aside_move_orphans(making->path);
	answer_session(making->session, STORE_MADE, 0, NULL);
	/* Lets the loop thread run first, which may have been woken on this processor. */
	(void)sched_yield();
}

static int make_file(struct making *making, bool is_private)
{
	int r = migrate_make_file(making->path, storage_file_mode(is_private), say_made, making);

	if (r != -EOPNOTSUPP)
		return r;
	r = storage_create_file(making->path, is_private);
	if (r < 0)
		return r;
	making->held = hold_file(making->path);
	aside_move_orphans(making->path);
	return 0;
}

static int make_database(struct store_session *session, const char *path, bool is_private,
	struct store_database **ret)
{
	struct making making = {session, path, -1};
	int r = make_file(&making, is_private);
	CLEANUP(close_p) int held = making.held;

	if (r < 0)
		return r;
	FAULT_POINT("file_made");
	/* A command that did not wait for the disk may have replaced the file. */
	if (held >= 0 && !storage_is_named(held, path))
		return -ESTALE;
	r = open_database(session->store, path, ret);
	if (r < 0 && held >= 0 && storage_is_named(held, path))
		(void)unlink(path); /* this call made it, and it holds nothing */
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
	/* In the service's folder the file was removed, and its owner must be able to read the new
	 * one. */
	r = make_database(session, path, session->store->index != NULL, ret);
	if (r == -EEXIST && session->create == STORE_RESUME)
		r = continue_database(session->store, path, ret);
	return r;
}

static const char fits_sql[] = "SELECT (SELECT count(*) FROM rtl_session), uid, job, end_ns, "
			       "(SELECT value FROM rtl_meta WHERE key = 'boot_id') "
			       "FROM (SELECT 1) LEFT JOIN rtl_session ON name = ?1";

/* 1: the file holds this job, not closed and of this boot; or it is vacant: it replaced a file that
 * was set aside, and waits for the sessions to reconnect. 0: neither. */
static int holds(const struct store_session *session, sqlite3 *db)
{
	char boot_id[SESSION_ROW_BOOT_BYTES];
	const char *was_boot;
	sqlite3_stmt *row = NULL;
	int r = database_prepare(db, &row, fits_sql);

	if (r < 0)
		return r;
	session_row_boot_id(boot_id);
	database_bind_text(row, 1, session->name);
	r = sqlite3_step(row);
	was_boot = r == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 4) : NULL;
	if (r != SQLITE_ROW)
		r = database_errno(r);
	else if (!sqlite3_column_int64(row, 0))
		r = 1;
	else
		r = session_row_is_its_own(session, row) &&
		    sqlite3_column_type(row, 3) == SQLITE_NULL && was_boot &&
		    !strcmp(was_boot, boot_id);
	sqlite3_finalize(row);
	return r;
}

/* As holds(), but opens the file for reading only: a file of another session stays sealed, with its
 * verdict. */
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

/* Opens the file if it holds the same job from before the collector was restarted. -EEXIST: it does
 * not; -EBUSY: another process reads it, so it cannot be continued now. */
static int try_resume(struct store_session *session, const char *path, struct store_database **ret)
{
	int r;

	if (session_file_find_open(session->store, path))
		return -EEXIST;
	r = storage_check_file(path);
	if (r == 0)
		r = peek(session, path);
	/* A damaged file is set aside. */
	if (r == 1 || aside_is_damage(r))
		r = continue_database(session->store, path, ret);
	else
		r = r == -EBUSY ? r : -EEXIST;
	return r == 0 || r == -EBUSY ? r : -EEXIST; /* whatever it is, it is not ours to touch */
}

/* Tries the @skip-th session of the job that the index lists as open, whatever its name's suffix.
 * As try_resume(); also sets path and name. -ENOENT: the file is gone, and was removed from the
 * index; -ESRCH: there are no more. */
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

	while (session->store->index && session->job && skip < SESSION_ROW_NAMES_MAX &&
		(r == -EEXIST || r == -ENOENT)) {
		r = resume_one(session, skip, ret);
		skip += r == -EEXIST;
	}
	return r == 0 || r == -EBUSY ? r : -EEXIST;
}

/* Files that the index lists as closed are not opened to find out: there may be any number of
 * them. */
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
	path = format_new("%s/%s.db", folder, safe);
	if (!path)
		return -ENOMEM;
	if (retention_is_removing(session->store, path))
		return -EEXIST;
	r = make_database(session, path, true, ret);
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
	for (int i = 1; (r == -EEXIST || (r == -EBUSY && may_resume)) && i <= SESSION_ROW_NAMES_MAX;
		i++) {
		/* A user may keep readers on many closed files, so we wait only once. */
		may_resume &= r != -EBUSY;
		r = session_row_take_name(session, first, i);
		if (r == 0)
			r = open_with_name(session, folder, may_resume, ret);
	}
	return r == -EBUSY && may_resume ? -EEXIST : r;
}

/* Commits work of other sessions of this file first. If the disk did not take that, the new session
 * gets the same error. */
static int open_row(struct store_session *session, struct store_database *database)
{
	if (work_commit(session->store, database) < 0)
		return database->trouble;
	return session_row_open(session, database);
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
		FAULT_POINT("file_vacant");
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
			store_explain(r));
		return r;
	}
	session_join(session, database);
	over_quota_open(session);
	if (database->is_left)
		database->not_before_ns = database->retry_ns = 0;
	database->is_left = false;
	if (!has_acl)
		snprintf(why, why_bytes,
			"%s: its owner cannot read it: no ACLs on this file system", session->path);
	return 0;
}
