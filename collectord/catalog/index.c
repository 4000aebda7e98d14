/* SPDX-License-Identifier: MIT */
#include "collectord/catalog/index.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/damaged_file.h"
#include "collectord/db/database.h"
#include "collectord/catalog/index_private.h"
#include "collectord/db/tenant_files.h"
#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/container_tenant.h"
#include "proto/names/schema.h"
#include "proto/base/subordinate_uids.h"

#define CONTAINER_TENANTS_SQL "0xc0000000" /* CONTAINER_TENANT_MIN */

static const char index_schema[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE IF NOT EXISTS session ("
	"	database TEXT NOT NULL, name TEXT NOT NULL, job TEXT, command TEXT,"
	"	uid INTEGER NOT NULL, start_realtime_ns INTEGER NOT NULL, end_realtime_ns INTEGER,"
	"	complete INTEGER NOT NULL, completeness TEXT, PRIMARY KEY (database, name)"
	") WITHOUT ROWID;"
	"PRAGMA application_id=1381256297;"
	"COMMIT";
/* Migrates from version 0, which had no user_version. */
static const char index_removals[] =
	"BEGIN IMMEDIATE;"
	"ALTER TABLE session ADD COLUMN stored INTEGER;"
	"ALTER TABLE session ADD COLUMN bytes INTEGER;"
	/* The reason why a database must stay although it is due for removal. */
	"ALTER TABLE session ADD COLUMN kept TEXT;"
	/* Removed sessions; with removed_realtime_ns NULL the removal must still be finished. */
	"CREATE TABLE removed ("
	"	id INTEGER PRIMARY KEY, database TEXT NOT NULL, name TEXT NOT NULL, job TEXT, "
	"	command TEXT, uid INTEGER NOT NULL, start_realtime_ns INTEGER NOT NULL, "
	"	end_realtime_ns INTEGER, complete INTEGER NOT NULL, completeness TEXT, "
	"	stored INTEGER, bytes INTEGER, why TEXT NOT NULL, removed_realtime_ns INTEGER);"
	"PRAGMA user_version=1;"
	"COMMIT";
/*
 * The tenant of a session, and indexes for the queries of retention, so that their cost does not
 * grow with the number of sessions.
 */
static const char index_ways[] =
	"BEGIN IMMEDIATE;"
	"ALTER TABLE session ADD COLUMN tenant INTEGER;"
	"ALTER TABLE removed ADD COLUMN tenant INTEGER;"
	"CREATE INDEX session_open ON session (start_realtime_ns, database) "
	"	WHERE end_realtime_ns IS NULL;"
	"CREATE INDEX session_age ON session (end_realtime_ns, database) "
	"	WHERE end_realtime_ns IS NOT NULL AND kept IS NULL;"
	"CREATE INDEX session_age_of_tenant ON session (tenant, end_realtime_ns, database) "
	"	WHERE end_realtime_ns IS NOT NULL AND kept IS NULL;"
	"CREATE INDEX session_kept ON session (kept) WHERE kept IS NOT NULL;"
	"CREATE INDEX session_not_weighed ON session (database) "
	"	WHERE bytes IS NULL AND end_realtime_ns IS NOT NULL;"
	"CREATE INDEX removed_database ON removed (database);"
	"CREATE INDEX removed_of_tenant ON removed (tenant, id);"
	"CREATE INDEX removed_going ON removed (id) WHERE removed_realtime_ns IS NULL;"
	"PRAGMA user_version=2;"
	"COMMIT";
/* What rtl ls shows of a closed session, so that it need not open the database. NULL: not known. */
static const char index_counts[] =
	"BEGIN IMMEDIATE;"
	"ALTER TABLE session ADD COLUMN processes INTEGER;"
	"ALTER TABLE session ADD COLUMN dispatched INTEGER;"
	"ALTER TABLE session ADD COLUMN lost INTEGER;"
	"ALTER TABLE session ADD COLUMN simulated INTEGER;"
	/* Last change of the file. If the file has a newer one, the counts are outdated. */
	"ALTER TABLE session ADD COLUMN changed_ns INTEGER;"
	"PRAGMA user_version=3;"
	"COMMIT";
static const char *const index_migrations[SCHEMA_INDEX_VERSION] = {
	index_removals, index_ways, index_counts};
static_assert(SCHEMA_INDEX_APPLICATION_ID == 1381256297, "the pragma takes no expression");

static const char index_put_sql[] =
	"INSERT INTO session (database, name, job, command, uid, start_realtime_ns, "
	"end_realtime_ns, complete, completeness, stored, bytes, tenant, processes, dispatched, "
	"lost, simulated, changed_ns) "
	"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) "
	"ON CONFLICT DO UPDATE SET job = excluded.job, command = excluded.command, "
	"start_realtime_ns = excluded.start_realtime_ns, "
	"end_realtime_ns = excluded.end_realtime_ns, complete = excluded.complete, "
	"completeness = excluded.completeness, stored = excluded.stored, bytes = excluded.bytes, "
	"tenant = excluded.tenant, processes = excluded.processes, "
	"dispatched = excluded.dispatched, lost = excluded.lost, simulated = excluded.simulated, "
	"changed_ns = excluded.changed_ns";

static int check_origin(sqlite3 *db)
{
	int64_t id = 0, objects = 0;
	int r = database_number(db, "PRAGMA application_id", NULL, &id);

	if (r == 0)
		r = database_number(db, "SELECT count(*) FROM sqlite_master", NULL, &objects);
	if (r == 0 && id != SCHEMA_INDEX_APPLICATION_ID && (id || objects))
		r = -EMEDIUMTYPE;
	return r;
}

/*
 * The index is small, so the whole file is checked when it is opened, while damage can still be
 * handled.
 */
static int read_all(sqlite3 *db)
{
	sqlite3_stmt *statement = NULL;
	const char *text;
	int step, r = database_prepare(db, &statement, "PRAGMA quick_check(1)");

	if (r < 0)
		return r;
	step = sqlite3_step(statement);
	text = step == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
	r = step != SQLITE_ROW ? database_errno(step) : text && !strcmp(text, "ok") ? 0 : -EUCLEAN;
	sqlite3_finalize(statement);
	return r;
}

static int migrate(sqlite3 *db)
{
	int64_t version = -1;
	int r = database_number(db, "PRAGMA user_version", NULL, &version);

	for (; r == 0 && version >= 0 && version < SCHEMA_INDEX_VERSION; version++)
		r = database_schema_errno(
			sqlite3_exec(db, index_migrations[version], NULL, NULL, NULL));
	if (r < 0)
		(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

static void tenant_of(sqlite3_context *context, int count, sqlite3_value **values)
{
	const struct index *index = sqlite3_user_data(context);

	(void)count;
	sqlite3_result_int64(
		context, subuids_owner(index->subuids, (uid_t)sqlite3_value_int64(values[0])));
}

/*
 * Updates the tenant of every row to the current owner of its uid, but for those of containers,
 * whose numbers are none of uids (container.h). Usually no row differs and nothing is written, so
 * this works on a full disk.
 */
static int count_tenants(struct index *index)
{
	int r = database_errno(sqlite3_create_function_v2(index->db, "tenant_of", 1,
		SQLITE_UTF8 | SQLITE_DIRECTONLY, index, tenant_of, NULL, NULL, NULL));

	if (r == 0)
		r = database_exec(index->db, "UPDATE session SET tenant = tenant_of(uid) "
					     "WHERE tenant IS NOT tenant_of(uid) "
					     "AND coalesce(tenant, 0) < " CONTAINER_TENANTS_SQL);
	if (r == 0)
		r = database_exec(index->db, "UPDATE removed SET tenant = tenant_of(uid) "
					     "WHERE tenant IS NOT tenant_of(uid) "
					     "AND coalesce(tenant, 0) < " CONTAINER_TENANTS_SQL);
	return r;
}

static int prepare(struct index *index, const char *path)
{
	int r = database_errno(sqlite3_open_v2(path, &index->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL));

	if (r < 0)
		return r;
	database_harden(index->db);
	sqlite3_busy_timeout(index->db, 1000);
	r = check_origin(index->db);
	if (r == 0)
		r = read_all(index->db);
	if (r == 0)
		r = database_schema_errno(sqlite3_exec(index->db, index_schema, NULL, NULL, NULL));
	if (r == 0)
		r = migrate(index->db);
	if (r == 0)
		r = count_tenants(index);
	return r == 0 ? database_prepare(index->db, &index->put, index_put_sql) : r;
}

static int is_empty(sqlite3 *db, bool *ret)
{
	int64_t is = 0;
	int r = database_number(db,
		"SELECT NOT EXISTS (SELECT 1 FROM session) AND NOT EXISTS (SELECT 1 FROM removed)",
		NULL, &is);

	*ret = is;
	return r;
}

/* Returns 1 if the file was created, 0 if it existed and may be an index. */
static int make_or_check(const char *path)
{
	int r = storage_create_file(path, true);

	if (r != -EEXIST)
		return r < 0 ? r : 1;
	r = storage_check_file(path);
	if (r < 0)
		return r == -EMEDIUMTYPE ? -EPERM : r;
	return aside_check(path, SCHEMA_INDEX_APPLICATION_ID, SCHEMA_INDEX_VERSION);
}

int index_open(
	const char *path, const struct subuids *subuids, struct index **ret, bool *ret_is_new)
{
	CLEANUP(free_p) char *real = NULL;
	struct index *index;
	int r = storage_resolve(path, &real);

	if (r == 0)
		r = make_or_check(real);
	if (r < 0)
		return r;
	index = calloc(1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	index->subuids = subuids;
	r = prepare(index, real);
	if (r == 0)
		r = is_empty(index->db, ret_is_new);
	if (r < 0) {
		index_close(index);
		return r;
	}
	*ret = index;
	return 0;
}

int index_open_or_renew(const char *path, const struct subuids *subuids, struct index **ret,
	struct index_state *ret_state)
{
	int r = index_open(path, subuids, ret, &ret_state->is_new);

	if (!aside_is_damage(r))
		return r;
	ret_state->damage = r;
	r = aside_move(path, &ret_state->aside);
	return r < 0 ? r : index_open(path, subuids, ret, &ret_state->is_new);
}

void index_watch(struct index *index, void (*changed)(const char *database, void *data), void *data)
{
	index->changed = changed;
	index->changed_data = data;
}

void index_say_changed(const struct index *index, const char *database)
{
	if (index->changed)
		index->changed(database, index->changed_data);
}

/*
 * Copies the rows of @tenant, with the columns of @table that both databases have, whatever their
 * versions. Within a container every uid is the tenant's, so that the number in the row tells which
 * rows are its own; of a version without that number no row is a container's.
 */
static int take_table(struct index *index, const char *table, uid_t tenant)
{
	CLEANUP(free_p) char *sql = NULL;
	bool is_container = container_is_tenant(tenant);
	sqlite3_stmt *columns = NULL;
	const char *text;
	int64_t has_tenant = 0;
	int r = database_number(index->db,
		"SELECT count(*) FROM pragma_table_info(?1, 'other') WHERE name = 'tenant'", table,
		&has_tenant);

	if (r < 0 || (is_container && !has_tenant))
		return r;
	r = database_prepare(index->db, &columns,
		"SELECT group_concat(name, ', ') FROM pragma_table_info(?1, 'main') WHERE name NOT "
		"IN "
		"('id', 'tenant') AND name IN (SELECT name FROM pragma_table_info(?1, 'other'))");

	if (r < 0)
		return r;
	database_bind_text(columns, 1, table);
	r = database_errno(sqlite3_step(columns));
	text = r == 0 ? (const char *)sqlite3_column_text(columns, 0) : NULL;
	if (text && asprintf(&sql,
			    "INSERT OR IGNORE INTO main.%s (%s, tenant) SELECT %s, tenant_of(uid) "
			    "FROM other.%s WHERE tenant_of(uid) = %u AND %s",
			    table, text, text, table, (unsigned)tenant,
			    is_container ? "tenant = tenant_of(uid)"
			    : has_tenant ? "coalesce(tenant, 0) < " CONTAINER_TENANTS_SQL
					 : "TRUE") < 0)
		r = -ENOMEM;
	else if (text)
		r = database_exec(index->db, sql);
	sqlite3_finalize(columns);
	return r;
}

int index_take_over(struct index *index, const char *path, uid_t tenant)
{
	int64_t id = 0;
	int r = storage_check_file(path);
	sqlite3_stmt *attach = NULL;

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = database_prepare(index->db, &attach, "ATTACH ?1 AS other");
	if (r < 0)
		return r;
	database_bind_text(attach, 1, path);
	r = database_run(attach);
	sqlite3_finalize(attach);
	if (r < 0)
		return r;
	r = database_number(index->db, "PRAGMA other.application_id", NULL, &id);
	if (r == 0 && id == SCHEMA_INDEX_APPLICATION_ID) {
		r = database_exec(index->db, "BEGIN IMMEDIATE");
		if (r == 0)
			r = take_table(index, "session", tenant);
		if (r == 0)
			r = take_table(index, "removed", tenant);
		if (r == 0)
			r = database_exec(index->db, "COMMIT");
		if (r < 0)
			(void)database_exec(index->db, "ROLLBACK");
	}
	(void)database_exec(index->db, "DETACH other");
	index_totals_forget(index);
	return r;
}

struct index *index_close(struct index *index)
{
	if (!index)
		return NULL;
	index_totals_forget(index);
	sqlite3_finalize(index->put);
	sqlite3_finalize(index->knows);
	database_close(index->db);
	free(index);
	return NULL;
}

const char *index_file_path(const struct index *index)
{
	return sqlite3_db_filename(index->db, "main");
}

/* A database was PARENT/UID/NAME in the old place of the store; PARENT ends with a slash. */
#define OTHERS	  "replace(database, '/', '')"
#define PARENT	  "rtrim(rtrim(rtrim(database, " OTHERS "), '/'), " OTHERS ")"
#define ELSEWHERE "substr(database, 1, length(?1)) <> ?1"
/* If the new path has a row already, that row is newer and stays. */
#define SETTLE(table)                                                                              \
	"UPDATE OR IGNORE " table " SET database = ?1 || substr(database, length(" PARENT          \
	") + 1) WHERE " ELSEWHERE

static int settle_table(struct index *index, const char *sql, const char *folder)
{
	sqlite3_stmt *settle = NULL;
	int r = database_prepare(index->db, &settle, sql);

	if (r < 0)
		return r;
	database_bind_text(settle, 1, folder);
	r = database_run(settle);
	sqlite3_finalize(settle);
	return r;
}

int index_settle(struct index *index)
{
	CLEANUP(free_p) char *folder = strdup(index_file_path(index));
	int r;

	if (!folder)
		return -ENOMEM;
	strrchr(folder, '/')[1] = 0;
	r = settle_table(index, SETTLE("session"), folder);
	if (r == 0)
		r = settle_table(index, "DELETE FROM session WHERE " ELSEWHERE, folder);
	if (r == 0)
		r = settle_table(index, SETTLE("removed"), folder);
	index_totals_forget(index);
	if (sqlite3_total_changes(index->db)) /* since the index was opened */
		index_say_changed(index, NULL);
	return r;
}

static void bind_counts(sqlite3_stmt *put, const struct index_counts *counts)
{
	bool has = counts->changed_ns > 0;

	database_bind_optional(put, 13, has, counts->processes);
	database_bind_optional(put, 14, has, (int64_t)counts->dispatched);
	database_bind_optional(put, 15, has, (int64_t)counts->lost);
	database_bind_optional(put, 16, has, counts->is_simulated);
	database_bind_optional(put, 17, has, (int64_t)counts->changed_ns);
}

int index_put(struct index *index, const struct index_entry *entry)
{
	sqlite3_stmt *put = index->put;
	int r;

	database_bind_text(put, 1, entry->database);
	database_bind_text(put, 2, entry->name);
	database_bind_text(put, 3, entry->job);
	database_bind_text(put, 4, entry->command);
	sqlite3_bind_int64(put, 5, entry->uid);
	sqlite3_bind_int64(put, 6, (int64_t)entry->start_realtime_ns);
	database_bind_optional(put, 7, entry->end_realtime_ns > 0, (int64_t)entry->end_realtime_ns);
	sqlite3_bind_int64(put, 8, entry->is_complete);
	database_bind_text(put, 9, entry->line);
	sqlite3_bind_int64(put, 10, (int64_t)entry->stored);
	database_bind_optional(put, 11, entry->bytes > 0, (int64_t)entry->bytes);
	sqlite3_bind_int64(put, 12, subuids_owner(index->subuids, entry->uid));
	bind_counts(put, &entry->counts);
	index_totals_before(index, entry->database);
	r = database_run(put);
	index_totals_after(index, entry->database);
	index_say_changed(index, entry->database);
	return r;
}

/* The paths are copied first, because @take may change rows while the statement reads them. */
static int list_open(struct index *index, unsigned max, char **paths, unsigned *ret_count)
{
	sqlite3_stmt *statement = NULL;
	int step = SQLITE_DONE;
	int r = database_prepare(index->db, &statement,
		"SELECT DISTINCT database FROM session WHERE end_realtime_ns IS NULL "
		"ORDER BY start_realtime_ns DESC LIMIT ?1");

	if (r < 0)
		return r;
	sqlite3_bind_int64(statement, 1, max);
	while (*ret_count < max && (step = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *path = (const char *)sqlite3_column_text(statement, 0);

		paths[*ret_count] = path ? strdup(path) : NULL;
		*ret_count += paths[*ret_count] != NULL;
	}
	sqlite3_finalize(statement);
	return database_errno(step);
}

int index_each_open(struct index *index, unsigned max,
	void (*take)(const char *database, void *data), void *data)
{
	CLEANUP(free_p) char **paths = calloc(max, sizeof(*paths));
	unsigned count = 0;
	int r = paths ? list_open(index, max, paths, &count) : -ENOMEM;

	for (unsigned i = 0; i < count; i++) {
		take(paths[i], data);
		free(paths[i]);
	}
	return r;
}

int index_has_sessions(const char *path)
{
	struct index *index = NULL;
	int64_t has = 1;
	bool is_new;

	if (storage_check_file(path) == -ENOENT)
		return 0;
	if (index_open(path, NULL, &index, &is_new) == 0)
		(void)database_number(index->db,
			"SELECT EXISTS (SELECT 1 FROM session) OR "
			"EXISTS (SELECT 1 FROM removed WHERE removed_realtime_ns IS NULL)",
			NULL, &has);
	index_close(index);
	return has != 0;
}

int index_is_closed(struct index *index, const char *database)
{
	int64_t is_closed = 0;
	int r = database_number(index->db,
		"SELECT count(*) > 0 AND count(*) = count(end_realtime_ns) "
		"FROM session WHERE database = ?1",
		database, &is_closed);

	return r < 0 ? r : is_closed != 0;
}

int index_find_open(struct index *index, const struct index_entry *like, unsigned skip,
	char **ret_database, char **ret_name)
{
	CLEANUP(free_p) char *database = NULL;
	CLEANUP(free_p) char *name = NULL;
	sqlite3_stmt *row = NULL;
	int step, r = database_prepare(index->db, &row,
			  "SELECT database, name FROM session WHERE end_realtime_ns IS NULL AND "
			  "uid = ?1 AND job = ?2 AND "
			  "(name = ?3 OR substr(name, 1, length(?3) + 1) = ?3 || '-') "
			  "ORDER BY start_realtime_ns DESC, database DESC LIMIT 1 OFFSET ?4");

	if (r < 0)
		return r;
	sqlite3_bind_int64(row, 1, like->uid);
	database_bind_text(row, 2, like->job);
	database_bind_text(row, 3, like->name);
	sqlite3_bind_int64(row, 4, skip);
	step = sqlite3_step(row);
	if (step == SQLITE_ROW) {
		database = strdup((const char *)sqlite3_column_text(row, 0));
		name = strdup((const char *)sqlite3_column_text(row, 1));
	}
	sqlite3_finalize(row);
	if (step != SQLITE_ROW)
		return database_errno(step);
	if (!database || !name)
		return -ENOMEM;
	*ret_database = TAKE(database);
	*ret_name = TAKE(name);
	return 1;
}

static const char index_aside_sql[] =
	"UPDATE OR REPLACE session SET database = ?2, end_realtime_ns = coalesce(end_realtime_ns, "
	"?3), complete = 0, completeness = ?4, changed_ns = NULL WHERE database = ?1";

int index_set_aside(struct index *index, const char *path, const char *aside, const char *line)
{
	sqlite3_stmt *statement = NULL;
	int r = database_prepare(index->db, &statement, index_aside_sql);

	if (r < 0)
		return r;
	database_bind_text(statement, 1, path);
	database_bind_text(statement, 2, aside);
	sqlite3_bind_int64(statement, 3, (int64_t)clock_realtime_ns());
	database_bind_text(statement, 4, line);
	index_totals_before(index, path);
	index_totals_before(index, aside);
	r = database_run(statement);
	index_totals_after(index, path);
	index_totals_after(index, aside);
	index_say_changed(index, path);
	sqlite3_finalize(statement);
	return r;
}

int index_each_session(struct index *index, const char *path,
	void (*take)(const struct index_entry *entry, void *data), void *data)
{
	sqlite3_stmt *row = NULL;
	int count = 0;
	int step, r = database_prepare(index->db, &row,
			  "SELECT name, job, command, uid FROM session "
			  "WHERE database = ?1 AND end_realtime_ns IS NULL");

	if (r < 0)
		return r;
	database_bind_text(row, 1, path);
	while ((step = sqlite3_step(row)) == SQLITE_ROW) {
		struct index_entry entry = {
			.database = path,
			.name = (const char *)sqlite3_column_text(row, 0),
			.job = (const char *)sqlite3_column_text(row, 1),
			.command = (const char *)sqlite3_column_text(row, 2),
			.uid = (uid_t)sqlite3_column_int64(row, 3),
		};

		if (!entry.name)
			continue;
		take(&entry, data);
		count++;
	}
	sqlite3_finalize(row);
	r = database_errno(step);
	return r < 0 ? r : count;
}

/*
 * By the indexes of retention, so that the cost does not grow with the number of sessions; they
 * leave out those that are kept, which are few.
 */
static const char each_closed_sql[] =
	"SELECT database, name, job, command, uid, start_realtime_ns, end_realtime_ns, complete, "
	"completeness FROM (SELECT * FROM (SELECT * FROM (SELECT database, name, "
	"end_realtime_ns AS ended FROM session "
	"WHERE end_realtime_ns IS NOT NULL AND kept IS NULL "
	"ORDER BY end_realtime_ns DESC LIMIT ?1) "
	"UNION ALL SELECT database, name, end_realtime_ns FROM session "
	"WHERE kept IS NOT NULL AND end_realtime_ns IS NOT NULL) ORDER BY ended DESC LIMIT ?1) "
	"CROSS JOIN session USING (database, name) ORDER BY end_realtime_ns";

/* As above. Each tenant is found by the number of the one before it. */
static const char each_closed_of_all_sql[] =
	"WITH RECURSIVE owner(tenant) AS (SELECT (SELECT min(tenant) FROM session "
	"WHERE end_realtime_ns IS NOT NULL AND kept IS NULL) "
	"UNION ALL SELECT (SELECT min(tenant) FROM session WHERE tenant > owner.tenant "
	"AND end_realtime_ns IS NOT NULL AND kept IS NULL) FROM owner WHERE tenant IS NOT NULL), "
	"since(tenant, since_ns) AS (SELECT tenant, coalesce((SELECT end_realtime_ns FROM session "
	"WHERE tenant = owner.tenant AND end_realtime_ns IS NOT NULL AND kept IS NULL "
	"ORDER BY end_realtime_ns DESC LIMIT 1 OFFSET ?2 - 1), 0) "
	"FROM owner WHERE tenant IS NOT NULL), "
	"late(database, name, tenant, ended) AS (SELECT database, name, session.tenant, "
	"end_realtime_ns FROM since CROSS JOIN session ON session.tenant = since.tenant "
	"AND end_realtime_ns >= since_ns "
	"WHERE end_realtime_ns IS NOT NULL AND kept IS NULL "
	"UNION ALL SELECT database, name, tenant, end_realtime_ns FROM session "
	"WHERE kept IS NOT NULL AND end_realtime_ns IS NOT NULL), "
	"ranked AS (SELECT database, name, ended, row_number() OVER (PARTITION BY tenant "
	"ORDER BY ended DESC) AS rank FROM late) "
	"SELECT database, name, job, command, uid, start_realtime_ns, end_realtime_ns, complete, "
	"completeness FROM (SELECT * FROM ranked WHERE rank <= ?2 "
	"ORDER BY rank, ended DESC LIMIT ?1) "
	"CROSS JOIN session USING (database, name) ORDER BY rank, end_realtime_ns DESC";

static int each_closed(
	sqlite3_stmt *row, void (*take)(const struct index_entry *entry, void *data), void *data)
{
	int step;

	while ((step = sqlite3_step(row)) == SQLITE_ROW) {
		const struct index_entry entry = {
			.database = (const char *)sqlite3_column_text(row, 0),
			.name = (const char *)sqlite3_column_text(row, 1),
			.job = (const char *)sqlite3_column_text(row, 2),
			.command = (const char *)sqlite3_column_text(row, 3),
			.uid = (uid_t)sqlite3_column_int64(row, 4),
			.start_realtime_ns = (uint64_t)sqlite3_column_int64(row, 5),
			.end_realtime_ns = (uint64_t)sqlite3_column_int64(row, 6),
			.is_complete = sqlite3_column_int(row, 7),
			.line = (const char *)sqlite3_column_text(row, 8),
		};

		if (entry.database && entry.name)
			take(&entry, data);
	}
	return database_errno(step);
}

int index_each_closed(struct index *index, unsigned max,
	void (*take)(const struct index_entry *entry, void *data), void *data)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int r = database_prepare(index->db, &row, each_closed_sql);

	if (r < 0)
		return r;
	sqlite3_bind_int64(row, 1, max);
	return each_closed(row, take, data);
}

int index_each_closed_of_all(struct index *index, unsigned each, unsigned max,
	void (*take)(const struct index_entry *entry, void *data), void *data)
{
	CLEANUP(finalize_p) sqlite3_stmt *row = NULL;
	int r = database_prepare(index->db, &row, each_closed_of_all_sql);

	if (r < 0)
		return r;
	sqlite3_bind_int64(row, 1, max);
	sqlite3_bind_int64(row, 2, each);
	return each_closed(row, take, data);
}
