/* SPDX-License-Identifier: MIT */
/*
 * The index of a node is a copy of its tenants': it says what they say, costs nothing where nothing
 * has changed, forgets nothing of what went, and passes over a tenant whose index is held.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <unistd.h>

#include "collectord/catalog/index_removed.h"
#include "collectord/catalog/node_index.h"
#include "proto/base/limits.h"
#include "proto/base/subordinate_uids.h"
#include "proto/names/schema.h"
#include "tests/lib/sql.h"
#include "tests/lib/test.h"

#define TENANTS 2u

struct place {
	char folder[96];
	struct index *tenants[TENANTS]; /* whose uids are their places */
	struct node_index *node;
	sqlite3 *db; /* of the node, to read */
};

static char *path_of(const struct place *place, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", place->folder, name);
	return path;
}

static void open_tenant(struct place *place, unsigned uid)
{
	char name[32];
	bool is_new;

	snprintf(name, sizeof(name), ".index-%u", uid);
	assert_int_equal(index_open(path_of(place, name), NULL, &place->tenants[uid], &is_new), 0);
}

static void open_node(struct place *place)
{
	struct index_state state = {0};

	assert_int_equal(node_index_open(place->folder, NULL, &place->node, &state), 0);
	assert_null(state.aside);
	assert_int_equal(sqlite3_open(path_of(place, "index.db"), &place->db), SQLITE_OK);
}

static int setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	strcpy(place->folder, "/tmp/rtl-node-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	for (unsigned uid = 0; uid < TENANTS; uid++)
		open_tenant(place, uid);
	open_node(place);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;
	glob_t files;

	for (unsigned uid = 0; uid < TENANTS; uid++)
		index_close(place->tenants[uid]);
	node_index_close(place->node);
	sqlite3_close(place->db);
	if (glob(path_of(place, "*"), 0, NULL, &files) == 0) {
		for (size_t i = 0; i < files.gl_pathc; i++)
			unlink(files.gl_pathv[i]);
		globfree(&files);
	}
	unlink(path_of(place, ".index-0"));
	unlink(path_of(place, ".index-1"));
	assert_int_equal(rmdir(place->folder), 0);
	free(place);
	return 0;
}

/* Session @n of @uid, which lies in UID/N.db. */
static void put(struct place *place, unsigned uid, unsigned n, const char *line)
{
	char database[128], name[32];
	const struct index_entry entry = {.database = database,
		.name = name,
		.uid = uid,
		.start_realtime_ns = 1000 + n,
		.end_realtime_ns = line ? 2000 + n : 0,
		.line = line,
		.bytes = 4096};

	snprintf(database, sizeof(database), "%s/%u/%u.db", place->folder, uid, n);
	snprintf(name, sizeof(name), "s-%u", n);
	assert_int_equal(index_put(place->tenants[uid], &entry), 0);
}

static void take_away(struct place *place, unsigned uid, unsigned n)
{
	char database[128];

	snprintf(database, sizeof(database), "%s/%u/%u.db", place->folder, uid, n);
	assert_int_equal(index_begin_removal(place->tenants[uid], database, "old"), 0);
	assert_int_equal(index_end_removal(place->tenants[uid], database), 0);
}

static int64_t number(const struct place *place, const char *sql)
{
	return sql_number_of(place->db, sql);
}

static void copy_all(struct place *place)
{
	for (unsigned uid = 0; uid < TENANTS; uid++)
		assert_int_equal(node_index_copy(place->node, uid, ""), 0);
}

#define CASE(claim) TEST_CASE_WITH(claim, setup, teardown, struct place *place)

CASE(what_tenants_say_the_node_says_once)
{
	int64_t version;

	for (unsigned n = 0; n < 3; n++) {
		put(place, 0, n, n ? "complete" : NULL);
		put(place, 1, n, "complete");
	}
	take_away(place, 1, 2);
	copy_all(place);
	assert_int_equal(number(place, "SELECT count(*) FROM session"), 5);
	assert_int_equal(number(place, "SELECT count(*) FROM session WHERE tenant = uid"), 5);
	assert_int_equal(
		number(place, "SELECT count(*) FROM session WHERE end_realtime_ns IS NULL"), 1);
	assert_int_equal(number(place, "SELECT count(*) FROM removed WHERE uid = 1 AND "
				       "name = 's-2' AND removed_realtime_ns > 0"),
		1);
	/* Nothing has changed: nothing is written. */
	version = number(place, "PRAGMA data_version");
	copy_all(place);
	assert_int_equal(number(place, "SELECT count(*) FROM removed"), 1);
	assert_int_equal(number(place, "SELECT count(*) FROM session"), 5);
	assert_int_equal(number(place, "PRAGMA data_version"), version);
}

CASE(of_one_database_nothing_else_is_copied)
{
	put(place, 0, 1, NULL);
	put(place, 0, 2, NULL);
	copy_all(place);
	put(place, 0, 1, "complete");
	put(place, 0, 2, "complete");
	assert_int_equal(node_index_copy(place->node, 0, "0/1.db"), 0);
	assert_int_equal(number(place, "SELECT group_concat(name) = 's-1' FROM session "
				       "WHERE end_realtime_ns IS NOT NULL"),
		1);
	take_away(place, 0, 1);
	assert_int_equal(node_index_copy(place->node, 0, "0/1.db"), 0);
	assert_int_equal(number(place, "SELECT count(*) FROM session"), 1);
	assert_int_equal(number(place, "SELECT count(*) FROM removed"), 1);
	assert_int_equal(node_index_copy(place->node, 0, "0/2.db"), 0);
	assert_int_equal(
		number(place, "SELECT count(*) FROM session WHERE end_realtime_ns IS NULL"), 0);
}

CASE(what_goes_and_went_is_there_once)
{
	char database[128];

	put(place, 0, 1, "complete");
	snprintf(database, sizeof(database), "%s/0/1.db", place->folder);
	assert_int_equal(index_begin_removal(place->tenants[0], database, "old"), 0);
	copy_all(place);
	copy_all(place);
	assert_int_equal(number(place, "SELECT count(*) FROM removed "
				       "WHERE removed_realtime_ns IS NULL"),
		1);
	assert_int_equal(index_end_removal(place->tenants[0], database), 0);
	assert_int_equal(node_index_copy(place->node, 0, "0/1.db"), 0);
	copy_all(place);
	assert_int_equal(number(place, "SELECT count(*) FROM removed"), 1);
	assert_int_equal(
		number(place, "SELECT count(*) FROM removed WHERE removed_realtime_ns > 0"), 1);
}

/* A tenant may hold its index for as long as it likes: the others are copied. */
CASE(a_tenant_that_holds_its_index_is_passed_over)
{
	sqlite3 *held;

	put(place, 0, 1, "complete");
	put(place, 1, 1, "complete");
	assert_int_equal(sqlite3_open(path_of(place, ".index-0"), &held), SQLITE_OK);
	assert_int_equal(sqlite3_exec(held, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(node_index_copy(place->node, 0, ""), -EBUSY);
	assert_int_equal(node_index_copy(place->node, 1, ""), 0);
	assert_int_equal(number(place, "SELECT count(*) FROM session"), 1);
	sqlite3_close(held);
	assert_int_equal(node_index_copy(place->node, 0, ""), 0);
	assert_int_equal(number(place, "SELECT count(*) FROM session"), 2);
}

/* As an older rtl has left it: the history in the node's index becomes the tenant's. */
CASE(a_new_index_takes_over_what_the_node_knew_of_its_tenant)
{
	put(place, 0, 1, "complete");
	put(place, 0, 2, "complete");
	put(place, 1, 1, "complete");
	take_away(place, 0, 2);
	copy_all(place);
	place->tenants[0] = index_close(place->tenants[0]);
	assert_int_equal(unlink(path_of(place, ".index-0")), 0);
	open_tenant(place, 0);
	/* It is made, and says nothing yet: that is not what there is. */
	copy_all(place);
	assert_int_equal(number(place, "SELECT count(*) FROM session"), 2);
	assert_int_equal(index_take_over(place->tenants[0], path_of(place, "index.db"), 0), 0);
	copy_all(place);
	assert_int_equal(number(place, "SELECT count(*) FROM session"), 2);
	assert_int_equal(number(place, "SELECT count(*) FROM removed"), 1);
	node_index_close(place->node);
	sqlite3_close(place->db);
	assert_int_equal(unlink(path_of(place, "index.db")), 0);
	open_node(place);
	copy_all(place);
	assert_int_equal(
		number(place, "SELECT count(*) FROM session WHERE uid = 0 AND bytes = 4096"), 1);
	assert_int_equal(number(place, "SELECT count(*) FROM removed WHERE uid = 0"), 1);
}

/* The copy and the tenant's index were both written for another folder. */
CASE(a_store_that_was_moved_is_listed_once)
{
	char *moved = NULL;

	put(place, 0, 1, "complete");
	put(place, 0, 2, "complete");
	take_away(place, 0, 2);
	copy_all(place);
	for (unsigned uid = 0; uid < TENANTS; uid++)
		index_close(place->tenants[uid]);
	node_index_close(place->node);
	sqlite3_close(place->db);
	assert_true(asprintf(&moved, "%s-moved", place->folder) > 0);
	assert_int_equal(rename(place->folder, moved), 0);
	strcpy(place->folder, moved);
	free(moved);
	open_node(place);
	for (unsigned uid = 0; uid < TENANTS; uid++)
		open_tenant(place, uid);
	copy_all(place); /* before its worker has looked */
	for (unsigned uid = 0; uid < TENANTS; uid++)
		assert_int_equal(index_settle(place->tenants[uid]), 0);
	copy_all(place);
	assert_int_equal(number(place, "SELECT count(*) FROM session WHERE database LIKE "
				       "'%-moved/0/1.db'"),
		1);
	assert_int_equal(number(place, "SELECT count(*) FROM session"), 1);
	assert_int_equal(number(place, "SELECT count(*) FROM removed"), 1);
}

CASE(one_that_was_taken_away_is_to_be_opened_anew)
{
	put(place, 0, 1, "complete");
	copy_all(place);
	assert_int_equal(unlink(path_of(place, "index.db")), 0);
	put(place, 0, 2, "complete");
	assert_true(node_index_copy(place->node, 0, "") < 0);
	assert_true(node_index_is_lost(place->node));
	node_index_close(place->node);
	sqlite3_close(place->db);
	open_node(place);
	copy_all(place);
	assert_int_equal(number(place, "SELECT count(*) FROM session"), 2);
}

static int count_sessions(const char *path)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;
	int n = -1;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT count(*) FROM session", -1, &row, NULL), SQLITE_OK);
	if (sqlite3_step(row) == SQLITE_ROW)
		n = sqlite3_column_int(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return n;
}

/* All uids are a container's within it, but not the sessions that they have outside. */
CASE(a_new_index_of_a_container_takes_over_its_own_sessions_alone)
{
	static const char own[] = "INSERT INTO session (database, name, uid, tenant, "
				  "start_realtime_ns, complete) VALUES ('own.db', 'own', 0, "
				  "3221225473, 1, 1)";
	struct subuids *one = subuids_of_one(0xc0000001u);
	struct index *index = NULL;
	bool is_new;

	put(place, 0, 1, "complete");
	put(place, 1, 1, "complete");
	copy_all(place);
	assert_int_equal(sqlite3_exec(place->db, own, NULL, NULL, NULL), SQLITE_OK);
	assert_non_null(one);
	assert_int_equal(index_open(path_of(place, ".index-3221225473"), one, &index, &is_new), 0);
	assert_int_equal(index_take_over(index, path_of(place, "index.db"), 0xc0000001u), 0);
	index_close(index);
	assert_int_equal(count_sessions(path_of(place, ".index-3221225473")), 1);
	subuids_free(one);
	assert_int_equal(unlink(path_of(place, ".index-3221225473")), 0);
	/* Nor does the root of the node take what the root of a container has. */
	place->tenants[0] = index_close(place->tenants[0]);
	assert_int_equal(unlink(path_of(place, ".index-0")), 0);
	open_tenant(place, 0);
	assert_int_equal(index_take_over(place->tenants[0], path_of(place, "index.db"), 0), 0);
	assert_int_equal(count_sessions(path_of(place, ".index-0")), 1);
}

/* The older version had no table of removed sessions. */
CASE(a_new_index_takes_over_one_of_an_older_version)
{
	char sql[512];

	node_index_close(place->node);
	sqlite3_close(place->db);
	assert_int_equal(unlink(path_of(place, "index.db")), 0);
	assert_int_equal(sqlite3_open(path_of(place, "index.db"), &place->db), SQLITE_OK);
	snprintf(sql, sizeof(sql),
		"CREATE TABLE session (database TEXT NOT NULL, name TEXT NOT NULL, job TEXT, "
		"command TEXT, uid INTEGER NOT NULL, start_realtime_ns INTEGER NOT NULL, "
		"end_realtime_ns INTEGER, complete INTEGER NOT NULL, completeness TEXT, "
		"PRIMARY KEY (database, name)) WITHOUT ROWID; PRAGMA application_id=%d; "
		"INSERT INTO session VALUES ('%s/1/7.db', 's-7', NULL, NULL, 1, 7, 8, 1, "
		"'complete')",
		SCHEMA_INDEX_APPLICATION_ID, place->folder);
	assert_int_equal(sqlite3_exec(place->db, sql, NULL, NULL, NULL), SQLITE_OK);
	for (unsigned uid = 0; uid < TENANTS; uid++)
		assert_int_equal(
			index_take_over(place->tenants[uid], path_of(place, "index.db"), uid), 0);
	sqlite3_close(place->db);
	open_node(place);
	copy_all(place);
	assert_int_equal(
		number(place, "SELECT count(*) FROM session WHERE name = 's-7' AND tenant = 1"), 1);
	assert_int_equal(number(place, "SELECT count(*) FROM session"), 1);
}

CASE(an_index_goes_with_its_last_session_and_comes_back_with_its_removals)
{
	put(place, 0, 1, "complete");
	put(place, 0, 2, "complete");
	take_away(place, 0, 1);
	copy_all(place);
	assert_int_equal(node_index_drop(place->node, 0), -ENOTEMPTY);
	take_away(place, 0, 2);
	copy_all(place);
	place->tenants[0] = index_close(place->tenants[0]);
	assert_int_equal(node_index_drop(place->node, 0), 0);
	assert_int_equal(access(path_of(place, ".index-0"), F_OK), -1);
	assert_int_equal(node_index_drop(place->node, 0), 0);
	assert_int_equal(node_index_copy(place->node, 0, ""), 0);
	assert_int_equal(number(place, "SELECT count(*) FROM removed WHERE tenant = 0"), 2);
	assert_int_equal(number(place, "SELECT count(*) FROM session WHERE tenant = 0"), 0);

	open_tenant(place, 0);
	assert_int_equal(index_take_over(place->tenants[0], path_of(place, "index.db"), 0), 0);
	copy_all(place);
	assert_int_equal(number(place, "SELECT count(*) FROM removed WHERE tenant = 0"), 2);
}

CASE(the_oldest_removal_of_the_user_with_most_is_forgotten)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		"WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %u) "
		"INSERT INTO removed (database, name, uid, tenant, start_realtime_ns, complete, "
		"why, "
		"removed_realtime_ns) SELECT '%s/0/' || i, i, 0, 0, i, 1, 'old', i FROM n",
		REMOVED_ROWS_MAX, place->folder);
	assert_int_equal(sqlite3_exec(place->db, sql, NULL, NULL, NULL), SQLITE_OK);
	for (unsigned n = 1; n <= 3; n++) {
		put(place, 1, n, "complete");
		take_away(place, 1, n);
	}
	copy_all(place);
	assert_int_equal(number(place, "SELECT count(*) FROM removed"), REMOVED_ROWS_MAX);
	assert_int_equal(number(place, "SELECT count(*) FROM removed WHERE tenant = 1"), 3);
	assert_int_equal(
		number(place, "SELECT min(removed_realtime_ns) FROM removed WHERE tenant = 0"), 4);
}
