/* SPDX-License-Identifier: MIT */
#include "collectord/catalog/node_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/catalog/index_private.h"
#include "collectord/db/database.h"
#include "collectord/db/tenant_files.h"
#include "proto/base/cleanup.h"
#include "proto/base/limits.h"
#include "proto/base/format.h"
#include "proto/names/schema.h"

/*
 * A worker commits a row within milliseconds. An index that is locked for longer is tried again
 * later, so that other tenants do not wait for it.
 */
#define TENANT_BUSY_MS 20u

/*
 * The columns read from a tenant's index. The tenant is not read but derived from the name of the
 * file.
 */
#define SESSION                                                                                    \
	"database, name, job, command, uid, start_realtime_ns, end_realtime_ns, complete, "        \
	"completeness, stored, bytes"
#define SESSION_ALL SESSION ", kept, processes, dispatched, lost, simulated, changed_ns"
#define REMOVED_ALL SESSION ", why, removed_realtime_ns"
#define ALL_OURS    "tenant = ?1"
#define OF_DATABASE "tenant = ?1 AND " INDEX_OF_DATABASE("?2")

/*
 * Holds the rows of a tenant's index until they are in the copy, so that the tenant's index is not
 * locked while the copy is written.
 */
static const char came_sql[] =
	"PRAGMA temp_store=MEMORY;"
	"CREATE TEMP TABLE came AS SELECT " SESSION_ALL ", tenant FROM session WHERE 0;"
	"CREATE TEMP TABLE came_removed AS SELECT " REMOVED_ALL ", tenant FROM removed WHERE 0";

/* ?1 is the tenant; the columns that were read are the parameters from ?2 on. */
static const char take_session[] =
	"INSERT INTO came VALUES (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, "
	"?16, ?17, ?18, ?1)";
static const char take_removed[] =
	"INSERT INTO came_removed VALUES (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
	"?1)";

/*
 * Writes only what differs. Removed sessions stay even if the tenant's index no longer lists them:
 * it may have been lost, or have dropped them for lack of room.
 */
#define COPY(which)                                                                                \
	{                                                                                          \
		"DELETE FROM session WHERE " which                                                 \
		" AND (database, name) NOT IN (SELECT database, name FROM came)",                  \
			"INSERT OR REPLACE INTO session (" SESSION_ALL ", tenant) "                \
			"SELECT * FROM came EXCEPT SELECT " SESSION_ALL                            \
			", tenant FROM session WHERE " which,                                      \
			"DELETE FROM removed WHERE removed_realtime_ns IS NULL AND " which,        \
			"INSERT INTO removed (" REMOVED_ALL ", tenant) SELECT * FROM "             \
			"(SELECT * FROM came_removed EXCEPT SELECT " REMOVED_ALL                   \
			", tenant FROM removed WHERE " which                                       \
			") ORDER BY removed_realtime_ns IS NULL, removed_realtime_ns"              \
	}
/*
 * Rows with a path outside the store are skipped: the store was moved, and the worker has not
 * adapted them yet.
 */
#define BELOW		     "substr(database, 1, length(?1)) = ?1"
#define READ(columns, table) "SELECT " columns " FROM " table

enum {
	COPY_STATEMENTS = 4,
};
/* Statements for the whole index of a tenant, and for one database. */
static const struct {
	const char *read_session;
	const char *read_removed;
	const char *copy[COPY_STATEMENTS];
} statements[] = {
	{READ(SESSION_ALL, "session WHERE ") BELOW, READ(REMOVED_ALL, "removed WHERE ") BELOW,
		COPY(ALL_OURS)},
	{READ(SESSION_ALL, "session WHERE ") INDEX_OF_DATABASE("?1"),
		READ(REMOVED_ALL, "removed WHERE ") INDEX_OF_DATABASE("?1"), COPY(OF_DATABASE)},
};
/* Deletes the oldest removal of the tenant with most rows, as the index of each tenant does. */
static const char trim_sql[] =
	"DELETE FROM removed WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION "
	"BY tenant ORDER BY removed_realtime_ns IS NULL DESC, removed_realtime_ns DESC, id DESC) "
	"AS rank FROM removed) ORDER BY rank DESC LIMIT max(0, ?1))";

struct node_index {
	struct index *index;
	char *folder; /* absolute, without symbolic links, with a trailing slash */
	bool is_lost; /* an error occurred that will not pass */
};

static void close_db_p(sqlite3 **db)
{
	database_close(*db);
}

static int prepare(struct node_index *node)
{
	int r = index_settle(node->index);

	if (r == 0)
		r = database_exec(node->index->db, came_sql);
	/*
	 * A power failure may damage this file; it is then rebuilt from the indexes of the tenants.
	 */
	return r < 0 ? r : database_exec(node->index->db, "PRAGMA synchronous=OFF");
}

int node_index_open(const char *folder, const struct subuids *subuids, struct node_index **ret,
	struct index_state *ret_state)
{
	struct node_index *node = calloc(1, sizeof(*node));
	CLEANUP(free_p) char *path = NULL;
	int r;

	if (!node)
		return -ENOMEM;
	database_init();
	path = format_new("%s/index.db", folder);
	r = path ? index_open_or_renew(path, subuids, &node->index, ret_state) : -ENOMEM;
	if (r == 0)
		r = prepare(node);
	if (r == 0) {
		node->folder = strdup(index_file_path(node->index));
		r = node->folder ? 0 : -ENOMEM;
	}
	if (r < 0) {
		node_index_close(node);
		return r;
	}
	strrchr(node->folder, '/')[1] = 0;
	*ret = node;
	return 0;
}

struct node_index *node_index_close(struct node_index *node)
{
	if (!node)
		return NULL;
	index_close(node->index);
	free(node->folder);
	free(node);
	return NULL;
}

struct index *node_index_rows(struct node_index *node)
{
	return node->index;
}

const char *node_index_folder(const struct node_index *node)
{
	return node->folder;
}

/*
 * *@ret is NULL if there is no index, or if it is just being created; its worker reports it when it
 * is done.
 */
static int open_tenant(const char *path, sqlite3 **ret)
{
	const struct database_patience patience = {.busy_ms = TENANT_BUSY_MS};
	CLEANUP(close_db_p) sqlite3 *db = NULL;
	int64_t id = 0, version = 0;
	int r = storage_check_file(path);

	*ret = NULL;
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = database_open_to_read(path, &patience, &db);
	if (r == 0)
		r = database_number(db, "PRAGMA application_id", NULL, &id);
	if (r == 0)
		r = database_number(db, "PRAGMA user_version", NULL, &version);
	if (r == 0 && id == SCHEMA_INDEX_APPLICATION_ID && version == SCHEMA_INDEX_VERSION)
		*ret = TAKE(db);
	return r;
}

/* Returns the number of rows. */
static int read_table(struct node_index *node, sqlite3 *from, const char *read_sql,
	const char *take_sql, uid_t owner, const char *database)
{
	CLEANUP(finalize_p) sqlite3_stmt *read = NULL, *take = NULL;
	int step = SQLITE_DONE, count = 0;
	int r = database_prepare(from, &read, read_sql);

	if (r == 0)
		r = database_prepare(node->index->db, &take, take_sql);
	if (r < 0)
		return r;
	database_bind_text(read, 1, database ? database : node->folder);
	for (; r == 0 && (step = sqlite3_step(read)) == SQLITE_ROW; count++) {
		sqlite3_bind_int64(take, 1, owner);
		for (int i = 0; i < sqlite3_column_count(read); i++)
			sqlite3_bind_value(take, i + 2, sqlite3_column_value(read, i));
		r = database_run(take);
	}
	if (r == 0)
		r = database_errno(step);
	return r < 0 ? r : count;
}

/* Reads both tables of one snapshot into memory. Returns the number of rows. */
static int read_tenant(struct node_index *node, sqlite3 *from, uid_t owner, const char *database)
{
	int sessions, removed;
	int r = database_exec(node->index->db, "DELETE FROM came; DELETE FROM came_removed");

	if (r == 0)
		r = database_exec(from, "BEGIN");
	if (r < 0)
		return r;
	sessions = read_table(node, from, statements[database != NULL].read_session, take_session,
		owner, database);
	if (sessions < 0)
		return sessions;
	removed = read_table(node, from, statements[database != NULL].read_removed, take_removed,
		owner, database);
	return removed < 0 ? removed : sessions + removed;
}

static int run(sqlite3 *db, const char *sql, int64_t first, const char *second)
{
	CLEANUP(finalize_p) sqlite3_stmt *statement = NULL;
	int r = database_prepare(db, &statement, sql);

	if (r < 0)
		return r;
	sqlite3_bind_int64(statement, 1, first);
	if (second)
		database_bind_text(statement, 2, second);
	return database_run(statement);
}

static int trim(sqlite3 *db)
{
	int64_t count = 0;
	int r = database_number(db, "SELECT count(*) FROM removed", NULL, &count);

	if (r < 0 || count <= REMOVED_ROWS_MAX)
		return r;
	return run(db, trim_sql, count - REMOVED_ROWS_MAX, NULL);
}

/*
 * True if another try may succeed. Otherwise the file must be opened again, which shows what is
 * wrong.
 */
static bool passes(int error)
{
	return error == 0 || error == -EBUSY || error == -ENOMEM || error == -ENOSPC;
}

bool node_index_is_lost(const struct node_index *node)
{
	return node->is_lost;
}

static int write_copy(struct node_index *node, uid_t owner, const char *database)
{
	sqlite3 *db = node->index->db;
	int r = database_exec(db, "BEGIN IMMEDIATE");

	for (unsigned i = 0; r == 0 && i < COPY_STATEMENTS; i++)
		r = run(db, statements[database != NULL].copy[i], owner, database);
	if (r == 0)
		r = trim(db);
	if (r == 0)
		r = database_exec(db, "COMMIT");
	if (r < 0 && !sqlite3_get_autocommit(db))
		(void)database_exec(db, "ROLLBACK");
	node->is_lost |= !passes(r);
	return r;
}

int node_index_copy(struct node_index *node, uid_t owner, const char *database)
{
	CLEANUP(free_p) char *path = NULL, *whole = NULL;
	CLEANUP(close_db_p) sqlite3 *from = NULL;
	int r;

	path = format_new("%s.index-%u", node->folder, (unsigned)owner);
	if (*database)
		whole = format_new("%s%s", node->folder, database);
	if (!path || (*database && !whole))
		return -ENOMEM;
	r = open_tenant(path, &from);
	if (r < 0 || !from)
		return r;
	r = read_tenant(node, from, owner, whole);
	database_close(TAKE(from));
	/*
	 * An index that was just created is empty: the worker first fills it with the rows that
	 * this copy has.
	 */
	return r < 0 || (r == 0 && !whole) ? r : write_copy(node, owner, whole);
}

int node_index_drop(struct node_index *node, uid_t owner)
{
	/* The file goes last: what SQLite keeps beside it must not be taken for a later one's. */
	static const char *const endings[] = {"-journal", "-wal", "-shm", ""};
	CLEANUP(free_p) char *path = format_new("%s.index-%u", node->folder, (unsigned)owner);

	if (!path)
		return -ENOMEM;
	if (index_has_sessions(path))
		return -ENOTEMPTY;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		CLEANUP(free_p) char *file = format_new("%s%s", path, endings[i]);

		if (!file)
			return -ENOMEM;
		if (unlink(file) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}
