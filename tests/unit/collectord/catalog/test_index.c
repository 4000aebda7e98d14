// SPDX-License-Identifier: MIT
/*
 * The index as retention uses it: what a removal costs does not depend on how much history there
 * is, sums follow the rows, and the oldest removals are forgotten. Costs
 * are SQLite's steps, which are the same on each machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <unistd.h>

#include "collectord/catalog/index_private.h"
#include "collectord/catalog/index_removed.h"
#include "collectord/catalog/index_totals.h"
#include "proto/base/limits.h"
#include "proto/names/schema.h"
#include "proto/base/subordinate_uids.h"
#include "tests/lib/sql.h"
#include "tests/lib/test.h"

#define UIDS   4u
#define FEW    16u
#define MANY   10000u
#define BYTES  1000u
#define DAY_NS 86400000000000u

struct place {
	char folder[64];
	char path[96];
	const struct subuids *subuids;
	struct index *index;
};

static void sql(struct index *index, const char *text)
{
	assert_int_equal(sqlite3_exec(index->db, text, NULL, NULL, NULL), SQLITE_OK);
}

static int64_t number(struct index *index, const char *sql)
{
	return sql_number_of(index->db, sql);
}

static void open_index(struct place *place)
{
	bool is_new;

	assert_int_equal(index_open(place->path, place->subuids, &place->index, &is_new), 0);
	sql(place->index, "PRAGMA synchronous=OFF");
}

/* Opens the index as another collector does, which counts by @subuids. */
static void reopen_index(struct place *place, const struct subuids *subuids)
{
	index_close(place->index);
	place->subuids = subuids;
	open_index(place);
}

static int setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	strcpy(place->folder, "/tmp/rtl-index-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->path, sizeof(place->path), "%s/index.db", place->folder);
	open_index(place);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	index_close(place->index);
	assert_int_equal(unlink(place->path), 0);
	assert_int_equal(rmdir(place->folder), 0);
	free(place);
	return 0;
}

/* Session @n is closed in second @n, of one of four users in turns. */
static void put(struct index *index, unsigned n, uint64_t end_ns, uint64_t bytes)
{
	char database[64], name[32];
	struct index_entry entry = {
		.database = database,
		.name = name,
		.uid = n % UIDS,
		.start_realtime_ns = DAY_NS + n,
		.end_realtime_ns = end_ns,
		.line = end_ns ? "complete" : NULL,
		.bytes = bytes,
	};

	snprintf(database, sizeof(database), "/store/%u/s-%05u.db", n % UIDS, n);
	snprintf(name, sizeof(name), "s-%05u", n);
	assert_int_equal(index_put(index, &entry), 0);
}

/* Most steps of one row, when the sums are read. */
#define STEPS_A_ROW 40u

static void put_closed(struct index *index, unsigned count)
{
	sql(index, "BEGIN");
	for (unsigned i = 0; i < count; i++)
		put(index, i, 2 * DAY_NS + i, BYTES);
	sql(index, "COMMIT");
}

/* @count rows of what @uid once had. */
static void put_removed(struct index *index, uid_t uid, unsigned count)
{
	char text[512];

	snprintf(text, sizeof(text),
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %u) "
		"INSERT INTO removed (database, name, uid, tenant, start_realtime_ns, "
		"end_realtime_ns, complete, why, removed_realtime_ns) SELECT "
		"'/store/%u/r-' || i || '.db', 'r-' || i, %u, %u, i, i, 1, 'old', i FROM n",
		count, uid, uid, uid);
	sql(index, text);
	index_totals_forget(index);
}

static uint64_t no_bytes(const char *database)
{
	(void)database;
	fail_msg("the size of %s is known", database);
	return 0;
}

static struct index_totals totals(struct index *index)
{
	struct index_totals ret;

	assert_int_equal(index_totals_read(index, &ret), 0);
	return ret;
}

static int count_step(void *data)
{
	++*(uint64_t *)data;
	return 0;
}

/* The steps of one pass of retention with a removal, and of a session that comes and goes. */
static uint64_t steps_of_a_removal(struct index *index, unsigned n)
{
	struct index_closed closed = {0};
	uint64_t steps = 0, kept;

	(void)totals(index); /* read once */
	sqlite3_progress_handler(index->db, 1, count_step, &steps);
	put(index, n, 0, 0);
	put(index, n, 3 * DAY_NS, BYTES);
	assert_int_equal(index_unkeep(index, "it is being read"), 0);
	assert_int_equal(index_weigh(index, no_bytes), 0);
	(void)totals(index);
	assert_int_equal(index_kept_bytes(index, &kept), 0);
	assert_int_equal(index_keep(index, "/store/0/s-00000.db", "it is being read"), 0);
	assert_int_equal(index_find_oldest(index, &closed), 1);
	assert_int_equal(closed.uid, 1);
	assert_string_equal(closed.database, "/store/1/s-00001.db");
	assert_int_equal(index_begin_removal(index, closed.database, "too old"), 0);
	assert_int_equal(index_end_removal(index, closed.database), 0);
	sqlite3_progress_handler(index->db, 0, NULL, NULL);
	free(closed.database);
	return steps;
}

#define CASE(claim) TEST_CASE_WITH(claim, setup, teardown, struct place *place)

CASE(a_removal_costs_the_same_whatever_there_is)
{
	uint64_t few, many;

	put_closed(place->index, FEW);
	few = steps_of_a_removal(place->index, FEW);
	sql(place->index, "DELETE FROM session");
	index_totals_forget(place->index);
	put_closed(place->index, MANY);
	put_removed(place->index, 0, REMOVED_ROWS_MAX);
	many = steps_of_a_removal(place->index, MANY);
	print_message("%llu steps with %u sessions, %llu with %u and %u that went\n",
		(unsigned long long)few, FEW, (unsigned long long)many, MANY, REMOVED_ROWS_MAX);
	assert_in_range(few, 1, 10000);
	/* One row that went is forgotten, too. */
	assert_in_range(many, 1, 2 * few);
}

CASE(sums_of_a_long_history_are_read_in_one_pass)
{
	struct index *index = place->index;
	uint64_t steps = 0;

	put_closed(index, MANY);
	sqlite3_progress_handler(index->db, 1, count_step, &steps);
	(void)totals(index);
	print_message("%llu steps for %u sessions\n", (unsigned long long)steps, MANY);
	assert_in_range(steps, MANY, STEPS_A_ROW * MANY);
	steps = 0;
	(void)totals(index);
	assert_int_equal(steps, 0);
	sqlite3_progress_handler(index->db, 0, NULL, NULL);
	assert_int_equal(totals(index).closed, MANY);
}

static void check_sums(struct index *index)
{
	struct index_totals going_along = totals(index), anew;

	index_totals_forget(index);
	anew = totals(index);
	assert_int_equal(going_along.closed, anew.closed);
	assert_int_equal(going_along.closed_bytes, anew.closed_bytes);
	assert_int_equal(going_along.removed, anew.removed);
}

static uint64_t some_bytes(const char *database)
{
	return strlen(database);
}

CASE(sums_go_along_with_the_rows)
{
	struct index *index = place->index;

	put_closed(index, FEW);
	check_sums(index);
	put(index, 3, 0, 0); /* a latecomer: it is open again */
	check_sums(index);
	put(index, 3, 4 * DAY_NS, 7 * BYTES);
	check_sums(index);
	put(index, FEW + 1, 4 * DAY_NS, 0);
	assert_int_equal(index_weigh(index, some_bytes), 0);
	check_sums(index);
	assert_int_equal(index_set_aside(index, "/store/2/s-00002.db",
				 "/store/2/s-00002.db.corrupt-1", "set aside"),
		0);
	put(index, 2, 5 * DAY_NS, BYTES);
	check_sums(index);
	/* With what was set aside of it. */
	assert_int_equal(index_begin_removal(index, "/store/2/s-00002.db", "x"), 0);
	check_sums(index);
	assert_int_equal(index_end_removal(index, "/store/2/s-00002.db"), 0);
	check_sums(index);
	assert_int_equal(number(index, "SELECT count(*) FROM removed"), 2);
	assert_int_equal(totals(index).removed, 2);
	/* One that was weighed came, one became larger, and one went. */
	assert_int_equal(totals(index).closed, FEW);
	assert_int_equal(
		totals(index).closed_bytes, (FEW - 1 + 6) * BYTES + strlen("/store/1/s-00017.db"));
	/* Nothing goes where nothing can be written: the sums stay what they were. */
	sql(index, "PRAGMA query_only=1");
	assert_true(index_begin_removal(index, "/store/1/s-00001.db", "x") < 0);
	sql(index, "PRAGMA query_only=0");
	check_sums(index);
}

CASE(what_is_not_weighed_is_weighed_in_parts)
{
	struct index *index = place->index;
	unsigned rounds = 1;
	int r;

	sql(index, "BEGIN");
	for (unsigned i = 0; i < 1000; i++)
		put(index, i, 2 * DAY_NS + i, 0);
	sql(index, "COMMIT");
	while ((r = index_weigh(index, some_bytes)) == 1)
		rounds++;
	assert_int_equal(r, 0);
	assert_in_range(rounds, 10, 1000);
	assert_int_equal(number(index, "SELECT count(*) FROM session WHERE bytes > 0"), 1000);
	check_sums(index);
}

static void count_told(const struct index_removed *removed, void *data)
{
	((unsigned *)data)[removed->session.uid]++;
}

CASE(the_oldest_removals_are_forgotten)
{
	struct index *index = place->index;

	put_closed(index, FEW);
	put_removed(index, 0, 5);
	put_removed(index, 1, REMOVED_ROWS_MAX - 4);
	assert_int_equal(index_begin_removal(index, "/store/0/s-00000.db", "x"), 0);
	assert_int_equal(index_end_removal(index, "/store/0/s-00000.db"), 0);
	assert_int_equal(number(index, "SELECT count(*) FROM removed"), REMOVED_ROWS_MAX);
	assert_int_equal(number(index, "SELECT count(*) FROM removed WHERE uid = 0"), 4);
	assert_int_equal(number(index, "SELECT min(id) FROM removed"), 3);
	check_sums(index);
}

static unsigned told_of(struct index *index, const char *database)
{
	unsigned told[UIDS] = {0};

	assert_int_equal(
		index_each_removed(index, database, SESSIONS_REMOVED_MAX, count_told, told), 0);
	return told[0];
}

/* A nightly job, whose file has the same name each time: what went before was told before. */
CASE(what_went_is_told_once)
{
	struct index *index = place->index;
	const char *path = "/store/0/s-00000.db";

	for (unsigned i = 0; i < 3; i++) {
		put(index, 0, 2 * DAY_NS + i, BYTES);
		assert_int_equal(index_begin_removal(index, path, "x"), 0);
		assert_int_equal(index_end_removal(index, path), 0);
		assert_int_equal(told_of(index, path), 1);
	}
	assert_int_equal(told_of(index, NULL), 3);
}

/* Open or closed, with its file it is over; what was set aside of it has a file. */
CASE(a_session_whose_file_is_gone_counts_as_removed)
{
	struct index *index = place->index;

	put_closed(index, FEW);
	put(index, FEW, 0, 0);
	assert_int_equal(index_set_aside(index, "/store/0/s-00016.db",
				 "/store/0/s-00016.db.corrupt-1", "set aside"),
		0);
	put(index, FEW, 0, 0);
	check_sums(index);
	assert_int_equal(index_take_gone(index, "/store/0/s-00016.db", "gone"), 0);
	check_sums(index);
	assert_int_equal(told_of(index, "/store/0/s-00016.db"), 1);
	assert_int_equal(number(index, "SELECT count(*) FROM session"), FEW + 1);
	assert_int_equal(
		number(index, "SELECT count(*) FROM session WHERE end_realtime_ns IS NULL"), 0);
	assert_int_equal(number(index, "SELECT count(*) FROM removed WHERE why = 'gone' AND "
				       "removed_realtime_ns > 0 AND end_realtime_ns IS NULL"),
		1);
	assert_int_equal(index_take_gone(index, "/store/0/s-00000.db", "gone"), 0);
	check_sums(index);
}

static void expect_oldest(struct index *index, const char *database)
{
	struct index_closed closed = {0};

	assert_int_equal(index_find_oldest(index, &closed), database != NULL);
	if (database)
		assert_string_equal(closed.database, database);
	free(closed.database);
}

CASE(the_oldest_is_closed_and_may_go)
{
	struct index *index = place->index;
	struct index_entry other = {
		.database = "/store/0/s-00000.db", .name = "other", .start_realtime_ns = DAY_NS};

	put_closed(index, 3);
	expect_oldest(index, "/store/0/s-00000.db");
	/* Another session of the same file is open, then closed last of all. */
	assert_int_equal(index_put(index, &other), 0);
	expect_oldest(index, "/store/1/s-00001.db");
	other.end_realtime_ns = 3 * DAY_NS;
	assert_int_equal(index_put(index, &other), 0);
	expect_oldest(index, "/store/1/s-00001.db");
	assert_int_equal(index_keep(index, "/store/1/s-00001.db", "it is being read"), 0);
	expect_oldest(index, "/store/2/s-00002.db");
	assert_int_equal(index_keep(index, "/store/2/s-00002.db", "it is not ours"), 0);
	expect_oldest(index, "/store/0/s-00000.db");
	assert_int_equal(index_unkeep(index, "it is being read"), 0);
	expect_oldest(index, "/store/1/s-00001.db");
	assert_int_equal(index_keep(index, "/store/0/s-00000.db", "it is not ours"), 0);
	assert_int_equal(index_keep(index, "/store/1/s-00001.db", "it is not ours"), 0);
	expect_oldest(index, NULL);
	assert_int_equal(index_unkeep(index, NULL), 0);
	expect_oldest(index, "/store/1/s-00001.db");
}

/* The numbers of sessions, in the order in which they come. */
struct listing {
	char text[128];
};

static void list_number(const struct index_entry *entry, void *data)
{
	struct listing *listing = data;
	size_t bytes = strlen(listing->text);

	snprintf(listing->text + bytes, sizeof(listing->text) - bytes, " %d",
		atoi(entry->name + strlen("s-")));
}

static void expect_closed(struct index *index, unsigned max, const char *want)
{
	struct listing listing = {0};

	assert_int_equal(index_each_closed(index, max, list_number, &listing), 0);
	assert_string_equal(listing.text, want);
}

static void expect_closed_of_all(struct index *index, unsigned each, unsigned max, const char *want)
{
	struct listing listing = {0};

	assert_int_equal(index_each_closed_of_all(index, each, max, list_number, &listing), 0);
	assert_string_equal(listing.text, want);
}

CASE(the_sessions_that_were_closed_last_are_listed_and_kept_ones_among_them)
{
	struct index *index = place->index;

	expect_closed(index, 3, "");
	put_closed(index, 6);
	put(index, 6, 0, 0); /* it is open */
	assert_int_equal(index_keep(index, "/store/0/s-00000.db", "it is kept"), 0);
	assert_int_equal(index_keep(index, "/store/0/s-00004.db", "it is kept"), 0);
	expect_closed(index, 3, " 3 4 5");
	expect_closed(index, 8, " 0 1 2 3 4 5");
}

CASE(no_tenant_takes_the_room_of_others_among_the_closed_sessions)
{
	struct index *index = place->index;

	expect_closed_of_all(index, 4, 9, "");
	/* Two tenants have one old session each, a third has many since. */
	put(index, 1, DAY_NS + 1, BYTES);
	put(index, 2, DAY_NS + 2, BYTES);
	for (unsigned n = 4; n < 20 * UIDS; n += UIDS)
		put(index, n, 2 * DAY_NS + n, BYTES);
	put(index, 3, 0, 0);
	expect_closed_of_all(index, 9, 2, " 76 2");
	expect_closed_of_all(index, 9, 5, " 76 2 1 72 68");
	expect_closed_of_all(index, 2, 9, " 76 2 1 72");
	assert_int_equal(index_keep(index, "/store/2/s-00002.db", "it is kept"), 0);
	expect_closed_of_all(index, 1, 9, " 76 2 1");
}

static void take_owned(const char *database, uid_t uid, void *data)
{
	unsigned *count = data;

	assert_string_equal(database, "/store/0/s-00000.db");
	assert_int_equal(uid, 0);
	++*count;
}

CASE(what_its_owner_keeps_is_not_removed_by_others_and_stays_so_after_a_restart)
{
	struct index_owned owned = {0};
	uint64_t bytes;
	unsigned count, listed = 0;

	put_closed(place->index, 3 * UIDS);
	/* It is found by its name or its path, of its owner alone. */
	assert_int_equal(index_find_owned(place->index, 1, "s-00000", NULL, &owned), 0);
	assert_int_equal(
		index_find_owned(place->index, 1, "s-00000", "/store/0/s-00000.db", &owned), 0);
	assert_int_equal(index_find_owned(place->index, 0, "s-00000", NULL, &owned), 1);
	assert_string_equal(owned.database, "/store/0/s-00000.db");
	assert_false(owned.is_open || owned.is_kept);
	free(owned.database);
	assert_int_equal(index_keep_for_owner(place->index, "/store/0/s-00000.db", true), 0);
	expect_oldest(place->index, "/store/1/s-00001.db");
	/* Neither the end of a reading nor a start ends it. */
	assert_int_equal(index_unkeep(place->index, "it is being read"), 0);
	reopen_index(place, NULL);
	assert_int_equal(index_unkeep(place->index, NULL), 0);
	expect_oldest(place->index, "/store/1/s-00001.db");
	/* It is opened and closed again. */
	put(place->index, 0, 0, 0);
	put(place->index, 0, 3 * DAY_NS, BYTES);
	assert_int_equal(index_find_owned(place->index, 0, NULL, "/store/0/s-00000.db", &owned), 1);
	assert_true(owned.is_kept && !owned.is_open);
	free(owned.database);
	assert_int_equal(index_count_owned(place->index, &count, &bytes), 0);
	assert_int_equal(count, 1);
	assert_int_equal(bytes, BYTES);
	assert_int_equal(index_each_owned(place->index, 8, take_owned, &listed), 0);
	assert_int_equal(listed, 1);
	assert_int_equal(index_keep_for_owner(place->index, "/store/0/s-00000.db", false), 0);
	assert_int_equal(index_find_owned(place->index, 0, "s-00000", NULL, &owned), 1);
	assert_false(owned.is_kept);
	free(owned.database);
}

CASE(what_its_owner_removed_leaves_no_row)
{
	struct index *index = place->index;

	put_closed(index, 2 * UIDS);
	put_removed(index, 0, 3);
	assert_int_equal(
		index_begin_removal(index, "/store/0/s-00000.db", INDEX_OWNERS_REQUEST), 0);
	assert_int_equal(index_end_removal(index, "/store/0/s-00000.db"), 1);
	assert_int_equal(number(index, "SELECT count(*) FROM removed"), 3);
	assert_int_equal(number(index, "SELECT count(*) FROM session WHERE uid = 0"), 1);
	check_sums(index);
	assert_int_equal(index_begin_removal(index, "/store/0/s-00004.db", "too old"), 0);
	assert_int_equal(index_end_removal(index, "/store/0/s-00004.db"), 0);
	assert_int_equal(number(index, "SELECT count(*) FROM removed"), 4);
}

/* Three of the four are one user's. */
CASE(subordinate_uids_are_one_tenant)
{
	struct subuids *subuids = NULL;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s.subuid", place->path);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("3:1:2\n", file); /* below 1000: a block, which begins with 1 */
	assert_int_equal(fclose(file), 0);
	assert_int_equal(subuids_read(path, &subuids), 0);
	put_closed(place->index, FEW);
	put_removed(place->index, 2, 5);
	reopen_index(place, subuids);
	assert_in_range(sqlite3_total_changes(place->index->db), 1, FEW + 5);
	put(place->index, FEW + 2, 3 * DAY_NS, BYTES); /* of uid 2 */
	check_sums(place->index);
	assert_int_equal(number(place->index, "SELECT count(*) FROM session WHERE tenant = 1"),
		2 * FEW / UIDS + 1);
	assert_int_equal(number(place->index, "SELECT count(*) FROM session WHERE tenant = 2"), 0);
	assert_int_equal(number(place->index, "SELECT count(*) FROM removed WHERE tenant = 1"), 5);
	/* The next start has nothing to write. */
	reopen_index(place, subuids);
	assert_int_equal(sqlite3_total_changes(place->index->db), 0);
	/* After this no uid is subordinate to another. */
	reopen_index(place, NULL);
	subuids_free(subuids);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(number(place->index, "SELECT count(*) FROM removed WHERE tenant = 2"), 5);
}

/* For a session that is open, or that has a WAL beside its file, rtl ls reads the file. */
CASE(what_rtl_ls_shows_is_of_a_closed_file)
{
	struct index *index = place->index;
	struct index_entry entry = {
		.database = "/store/0/one.db",
		.name = "one",
		.start_realtime_ns = DAY_NS,
		.end_realtime_ns = 2 * DAY_NS,
		.counts = {.changed_ns = 3 * DAY_NS,
			.dispatched = 40,
			.lost = 2,
			.processes = 8,
			.is_simulated = true},
	};

	assert_int_equal(index_put(index, &entry), 0);
	assert_int_equal(number(index, "SELECT changed_ns FROM session"), 3 * DAY_NS);
	assert_int_equal(number(index, "SELECT dispatched * 1000 + lost * 100 + processes * 10 "
				       "+ simulated FROM session"),
		40281);
	entry.end_realtime_ns = 0; /* a latecomer */
	entry.counts = (struct index_counts){0};
	assert_int_equal(index_put(index, &entry), 0);
	assert_int_equal(number(index, "SELECT count(*) FROM session WHERE changed_ns IS NULL AND "
				       "dispatched IS NULL AND lost IS NULL AND processes IS NULL "
				       "AND simulated IS NULL"),
		1);
	entry.end_realtime_ns = 4 * DAY_NS;
	entry.counts.changed_ns = 4 * DAY_NS;
	assert_int_equal(index_put(index, &entry), 0);
	assert_int_equal(
		index_set_aside(index, entry.database, "/store/0/one.db.corrupt-1", "x"), 0);
	assert_int_equal(number(index, "SELECT changed_ns IS NULL FROM session"), 1);
}

/* The index is as the first version left it. */
CASE(an_older_index_goes_on)
{

	put_closed(place->index, FEW);
	put_removed(place->index, 1, 5);
	sql(place->index, "DROP INDEX session_open; DROP INDEX session_age;"
			  "DROP INDEX session_age_of_tenant; DROP INDEX session_kept;"
			  "DROP INDEX session_not_weighed; DROP INDEX removed_database;"
			  "DROP INDEX removed_of_tenant; DROP INDEX removed_going;"
			  "ALTER TABLE session DROP COLUMN processes;"
			  "ALTER TABLE session DROP COLUMN dispatched;"
			  "ALTER TABLE session DROP COLUMN lost;"
			  "ALTER TABLE session DROP COLUMN simulated;"
			  "ALTER TABLE session DROP COLUMN changed_ns;"
			  "ALTER TABLE session DROP COLUMN tenant;"
			  "ALTER TABLE removed DROP COLUMN tenant; PRAGMA user_version=1");
	reopen_index(place, NULL);
	assert_int_equal(number(place->index, "PRAGMA user_version"), SCHEMA_INDEX_VERSION);
	assert_int_equal(number(place->index, "SELECT count(changed_ns) FROM session"), 0);
	assert_int_equal(totals(place->index).closed, FEW);
	assert_int_equal(totals(place->index).closed_bytes, FEW * BYTES);
	expect_oldest(place->index, "/store/0/s-00000.db");
	assert_int_equal(
		number(place->index, "SELECT count(*) FROM removed WHERE tenant = uid"), 5);
}

/* A session ended here before the index could be told that the store was moved. */
CASE(what_was_put_since_the_store_was_moved_stays)
{
	char here[128];
	struct index_entry entry = {.database = "/before/0/s.db", .name = "s"};

	assert_int_equal(index_put(place->index, &entry), 0);
	snprintf(here, sizeof(here), "%s/0/s.db", place->folder);
	entry.database = here;
	entry.end_realtime_ns = DAY_NS;
	assert_int_equal(index_put(place->index, &entry), 0);
	assert_int_equal(index_settle(place->index), 0);
	assert_int_equal(number(place->index, "SELECT count(*) FROM session"), 1);
	assert_true(number(place->index, "SELECT end_realtime_ns FROM session") == DAY_NS);
}
