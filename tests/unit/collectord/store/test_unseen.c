// SPDX-License-Identifier: MIT
/* Processes of which a file has no row: it does not say that it is complete. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collectord/db/database.h"
#include "collectord/store/degraded.h"
#include "collectord/store/thread/thread.h"
#include "proto/base/clock.h"
#include "tests/unit/collectord/store/hand.h"
#include "tests/unit/collectord/store/harness.h"

#define LINE "SELECT value FROM rtl_meta WHERE key = 'completeness'"

static void close_it(struct hand *hand, struct tenant *t, bool was_unwatched)
{
	assert_int_equal(was_unwatched ? store_session_close_unwatched(t->session, 0)
				       : store_session_close(t->session, 0),
		0);
	route_all(hand);
	for (unsigned i = 0; t->session->database && i < ROUNDS_MAX; i++)
		turns_round(&hand->store);
	assert_null(t->session->database);
	turns_route(&hand->store, command_new(COMMAND_SESSION_FREE, t->session, NULL));
}

static void end_process(struct hand *hand, struct tenant *t)
{
	assert_int_equal(store_process_end(t->process, -1, STORE_ENDED_EXITED, 0), 0);
	route_all(hand);
}

/* Twice as long as any command may wait, as if all in line had waited for an hour; then no longer.
 */
static void fail_for_long(struct hand *hand, struct store_database *database)
{
	trouble_fail(&hand->store, database, -ENOMEM);
	database->trouble_ns = 1;
	for (struct command *c = database->todo.first; c; c = c->next)
		c->made_ns = 1;
	hand->store.give_up_ns = clock_monotonic_ns() / 4;
	assert_false(trouble_give_up(&hand->store, database));
	database->not_before_ns = 0;
}

/* Its disk or its memory failed until it was given up, and then no longer: the file can be closed.
 */
HAND_CASE(a_process_that_was_given_up_before_it_was_stored_is_missing)
{
	struct store_database *database;
	struct tenant t;

	ask_to_open(hand, &t, 0, getuid(), "job", STORE_NEW);
	rounds_until_open(hand, t.session);
	database = t.session->database;
	ask_for_process(hand, &t, 10);
	end_process(hand, &t);
	fail_for_long(hand, database);
	assert_true(t.process->is_over);
	close_it(hand, &t, false);
	assert_text(t.path, LINE,
		"INCOMPLETE: 0 dispatched, 0 stored, 0 dropped, 0 untimed, 0 outstanding, 1 "
		"process not recorded");
	assert_number(t.path, "SELECT value FROM rtl_meta WHERE key = 'complete'", 0);
}

static void open_once_more(struct hand *hand, struct tenant *t)
{
	ask_to_open(hand, t, 0, getuid(), "job", STORE_RESUME);
	rounds_until_open(hand, t->session);
}

/* Without a listener and a connected process the store does not know which processes came, until
 * the known ones have reconnected. */
HAND_CASE(a_time_without_a_listener_counts_unless_all_are_there)
{
	struct tenant t;

	ask_to_open(hand, &t, 0, getuid(), "job", STORE_NEW);
	rounds_until_open(hand, t.session);
	close_it(hand, &t, true);
	assert_text(t.path, LINE,
		"INCOMPLETE: 0 dispatched, 0 stored, 0 dropped, 0 untimed, 0 outstanding, not "
		"watched all the time");
	open_once_more(hand, &t);
	close_it(hand, &t, false);
	assert_non_null(strstr(sql_text(t.path, LINE), "not watched all the time"));
	open_once_more(hand, &t);
	open_process(hand, &t, 10);
	send_frame(hand, &t, 1);
	end_process(hand, &t);
	close_it(hand, &t, true);
	assert_null(strstr(sql_text(t.path, LINE), "not watched"));
	assert_number(t.path, "SELECT count(*) FROM rtl_loss WHERE reason = 'unwatched'", 0);
}

/* The file says of its ranks how many they should be. */
HAND_CASE(a_rank_that_is_missing_after_such_a_time_is_told)
{
	struct tenant t;

	ask_to_open(hand, &t, 0, getuid(), "job", STORE_NEW);
	rounds_until_open(hand, t.session);
	open_process(hand, &t, 10);
	assert_int_equal(database_exec(t.session->database->writer->db,
				 "UPDATE rtl_process SET told_rank = 0, told_world_size = 2"),
		0);
	end_process(hand, &t);
	close_it(hand, &t, true);
	assert_non_null(strstr(sql_text(t.path, LINE), "not watched all the time"));
	open_once_more(hand, &t);
	assert_int_equal(database_exec(t.session->database->writer->db,
				 "UPDATE rtl_process SET world_size = 1"),
		0);
	close_it(hand, &t, false);
	assert_null(strstr(sql_text(t.path, LINE), "not watched"));
}

static unsigned notes_in_line(const struct store_database *database)
{
	unsigned n = 0;

	for (const struct command *c = database->todo.first; c; c = c->next)
		n += c->kind == COMMAND_SESSION_UNSEEN;
	return n;
}

/* Of all sessions of the file; and at once, not when it is closed. */
HAND_CASE(a_process_without_a_recorder_is_counted)
{
	struct tenant t;

	ask_to_open(hand, &t, 0, getuid(), "job", STORE_NEW);
	rounds_until_open(hand, t.session);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(store_session_unseen(t.session, 1, (uid_t)-1), 0);
	route_all(hand);
	assert_int_equal(notes_in_line(t.session->database), 1);
	turns_round(&hand->store);
	assert_int_equal(notes_in_line(t.session->database), 0);
	assert_number(t.path, "SELECT count FROM rtl_loss", 2);
	close_it(hand, &t, false);
	open_once_more(hand, &t);
	assert_int_equal(store_session_unseen(t.session, 1, (uid_t)-1), 0);
	close_it(hand, &t, false);
	assert_text(t.path, LINE,
		"INCOMPLETE: 0 dispatched, 0 stored, 0 dropped, 0 untimed, 0 outstanding, 3 "
		"processes not recorded");
}

/* Its disk failed for so long that this was given up, too. */
HAND_CASE(a_process_without_a_recorder_is_counted_where_that_could_not_be_written)
{
	struct store_database *database;
	struct tenant t;

	ask_to_open(hand, &t, 0, getuid(), "job", STORE_NEW);
	rounds_until_open(hand, t.session);
	database = t.session->database;
	assert_int_equal(store_session_unseen(t.session, 1, (uid_t)-1), 0);
	route_all(hand);
	fail_for_long(hand, database);
	assert_int_equal(notes_in_line(database), 0);
	close_it(hand, &t, false);
	assert_non_null(strstr(sql_text(t.path, LINE), ", 1 process not recorded"));
}
