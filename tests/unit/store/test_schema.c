// SPDX-License-Identifier: MIT
/* What a new file holds: it is copied from what the build made, and not from the migrations. */
#include <sqlite3.h>
#include <stdio.h>

#include "collectord/database.h"
#include "collectord/migrate.h"
#include "proto/schema.h"
#include "tests/unit/store/harness.h"

static int count_rows(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;
	int n;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	n = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return n;
}

static void a_new_file_is_what_the_migrations_make(void **state)
{
	struct harness *h = *state;
	char attach[192];
	sqlite3 *db;

	harness_open_session(h, STORE_NEW);
	store_free(h->store);
	assert_int_equal(store_new(&(struct store_config){0}, &h->store), 0);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	for (const struct migration *m = migrations; m->version; m++)
		assert_int_equal(sqlite3_exec(db, m->sql, NULL, NULL, NULL), SQLITE_OK);
	snprintf(attach, sizeof(attach), "ATTACH '%s' AS made", h->path);
	assert_int_equal(sqlite3_exec(db, attach, NULL, NULL, NULL), SQLITE_OK);
#define OBJECTS(schema) "SELECT type, name, tbl_name, sql FROM " schema ".sqlite_schema "
#define RULES(schema)	"SELECT * FROM " schema ".rtl_category "
	assert_true(count_rows(db, "SELECT count(*) FROM (" OBJECTS("main") ")") > 20);
	assert_int_equal(count_rows(db, "SELECT count(*) FROM (" OBJECTS("main") " EXCEPT " OBJECTS(
						"made") ")"),
		0);
	assert_int_equal(count_rows(db, "SELECT count(*) FROM (" OBJECTS("made") " EXCEPT " OBJECTS(
						"main") ")"),
		0);
	assert_true(count_rows(db, "SELECT count(*) FROM (" RULES("main") ")") > 0);
	assert_int_equal(
		count_rows(db, "SELECT count(*) FROM (" RULES("main") " EXCEPT " RULES("made") ")"),
		0);
	sqlite3_close(db);
	assert_int_equal(harness_number(h->path, "PRAGMA user_version"), SCHEMA_VERSION);
	assert_int_equal(harness_number(h->path, "PRAGMA page_size"), DATABASE_PAGE_BYTES);
	assert_string_equal(harness_text(h->path, "PRAGMA integrity_check"), "ok");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_new_file_is_what_the_migrations_make, harness_setup, harness_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
