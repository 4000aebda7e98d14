// SPDX-License-Identifier: MIT
/* rtl ls reads index.db in parts, to its end, and stops if the index never ends. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/database/session/index.h"
#include "proto/names/schema.h"
#include "tests/lib/test.h"

/* More than two parts of it. */
#define ROWS 5000u

static char folder[] = "/tmp/rtl-index-XXXXXX", path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/index.db", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	return unlink(path) || rmdir(folder) ? -1 : 0;
}

/* Makes an index of closed sessions, row n of 0 to ROWS with the file @database. */
static void make_index(const char *database)
{
	char sql[1024];
	sqlite3 *db;

	(void)unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	(void)snprintf(sql, sizeof(sql),
		"PRAGMA application_id=%d; PRAGMA user_version=%d;"
		"CREATE TABLE session (database, name, job, command, uid, start_realtime_ns, "
		"end_realtime_ns, completeness, stored, bytes, processes, dispatched, lost, "
		"simulated, changed_ns);"
		"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %u) "
		"INSERT INTO session SELECT %s, 'job', NULL, NULL, 0, i, 1, 'complete', i, 0, 1, "
		"i, "
		"0, 0, 1 FROM n",
		SCHEMA_INDEX_APPLICATION_ID, SCHEMA_INDEX_VERSION, ROWS, database);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static size_t count_sessions(void)
{
	struct query_index index = {0};
	size_t count;

	query_index_add(&index, folder);
	count = index.count;
	query_index_done(&index);
	return count;
}

TEST_CASE(all_sessions_of_a_large_index_are_read)
{
	char database[96];

	(void)snprintf(database, sizeof(database), "'%s/' || i || '.db'", folder);
	make_index(database);
	assert_int_equal(count_sessions(), ROWS);
}

/* Blobs come after every text, and a text ends where C thinks it does: parts that never go on. */
TEST_CASE(reading_of_an_index_that_never_ends_is_stopped)
{
	char database[96];

	(void)snprintf(database, sizeof(database), "CAST('%s/' || i || '.db' AS BLOB)", folder);
	make_index(database);
	assert_in_range(count_sessions(), 0, ROWS);
	(void)snprintf(database, sizeof(database), "'%s/a.db' || char(0) || i", folder);
	make_index(database);
	assert_in_range(count_sessions(), 0, ROWS);
}

int main(void)
{
	return test_run(make_folder, remove_folder);
}
