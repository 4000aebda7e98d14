// SPDX-License-Identifier: MIT
/*
 * The store's rounds, one at a time: the test is the store's thread, and looks at what is between
 * two of them. So nothing here depends on how long anything takes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/db/database.h"
#include "collectord/catalog/index.h"
#include "collectord/store/thread/thread.h"
#include "collectord/store/degraded.h"
#include "proto/base/clock.h"
#include "proto/base/limits.h"
#include "tests/unit/collectord/store/hand.h"
#include "tests/unit/collectord/store/harness.h"
#include "tests/unit/collectord/store/recorder.h"

#define SLOTS 20480u

/* The process of @token is dead, and has left a recorder of @slots. */
static struct command *end_in_line(
	struct hand *hand, struct tenant *t, uint8_t token, uint32_t slots)
{
	struct command *command = command_new(COMMAND_PROCESS_END, t->session, t->process);
	struct hand_recorder *r = hand_recorder_new(token);

	command->memfd = hand_recorder_memfd_slots(r, slots);
	command->how = STORE_ENDED_KILLED;
	command->exit_status = 137;
	turns_route(&hand->store, command);
	free(r);
	return command;
}

static void rounds_until_over(struct hand *hand, const struct tenant *t)
{
	for (unsigned i = 0; !t->process->is_over && i < ROUNDS_MAX; i++)
		turns_round(&hand->store);
	assert_true(t->process->is_over);
}

/* ---- a disk that fails ------------------------------------------------------------------------
 */

/* What stood in line for long while the disk was well is not given up when it fails. */
HAND_CASE(a_wait_begins_with_the_trouble)
{
	struct store_database *database;
	struct tenant t;

	open_tenant(hand, &t, 0, getuid());
	database = t.session->database;
	end_in_line(hand, &t, 10, 1)->made_ns = 1;
	trouble_fail(&hand->store, database, -EIO);
	assert_false(trouble_give_up(&hand->store, database));
	assert_int_equal(t.process->given_up, 0);
	/* An hour later. */
	database->trouble_ns = 1;
	database->todo.first->made_ns = 1;
	hand->store.give_up_ns = clock_monotonic_ns() - 1;
	assert_false(trouble_give_up(&hand->store, database));
	assert_int_equal(t.process->given_up, -EIO);
	database->not_before_ns = 0;
	rounds_until_over(hand, &t);
	assert_number(t.path, "SELECT count(*) FROM rocpd_op", 0);
}

/* ---- what a session waits for to be opened -----------------------------------------------------
 */

/* As after a restart of the collector: by path. */
HAND_CASE(a_session_waits_for_its_file_alone)
{
	struct tenant dead, other, same;

	open_tenant(hand, &dead, 1, getuid());
	end_in_line(hand, &dead, 11, SLOTS);
	turns_route(&hand->store, command_new(COMMAND_SESSION_CLOSE, dead.session, NULL));
	ask_to_open(hand, &other, 2, getuid(), "other", STORE_RESUME);
	ask_to_open(hand, &same, 1, getuid(), "same", STORE_RESUME);
	turns_round(&hand->store);
	assert_non_null(other.session->database);
	assert_null(same.session->database);
	rounds_until_open(hand, same.session);
	assert_null(dead.session->database);
	assert_number(dead.path, "SELECT count(*) FROM rocpd_op", SLOTS);
}

static struct store_session *ask_in_folder(struct hand *hand, const char *job)
{
	struct store_session_params params = {.name = "job",
		.job = job,
		.uid = getuid(),
		.create = STORE_RESUME,
		.dir = hand->h->dir};
	struct store_session *session;

	assert_int_equal(store_session_new(&hand->store, &params, hand, &session), 0);
	turns_route(&hand->store, command_new(COMMAND_SESSION_OPEN, session, NULL));
	return session;
}

/* In its user's folder it may be gone on with what is being closed. */
HAND_CASE(a_session_waits_for_its_job_alone)
{
	struct store_session *same, *other;
	struct tenant t = {.session = ask_in_folder(hand, "1")};

	turns_round(&hand->store);
	assert_non_null(t.session->database);
	open_process(hand, &t, 10);
	end_in_line(hand, &t, 10, SLOTS);
	turns_route(&hand->store, command_new(COMMAND_SESSION_CLOSE, t.session, NULL));
	same = ask_in_folder(hand, "1");
	other = ask_in_folder(hand, "2");
	turns_round(&hand->store);
	assert_non_null(other->database);
	assert_null(same->database);
	for (unsigned i = 0; !same->database && i < ROUNDS_MAX; i++)
		turns_round(&hand->store);
	assert_non_null(same->database);
	assert_null(t.session->database);
}

/* ---- what a round has of the slow steps -------------------------------------------------------
 */

#define OPENS 4u

/* A round beside @t, whose frame @number is taken in it. */
static void round_beside(struct hand *hand, struct tenant *t, uint64_t number)
{
	send_frame(hand, t, number);
	turns_round(&hand->store);
	assert_null(t->session->database->todo.first);
	assert_int_equal(t->process->process->frame, number);
}

static unsigned count_opened(const struct tenant t[OPENS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < OPENS; i++)
		n += t[i].session->database && !t[i].session->is_waiting;
	return n;
}

HAND_CASE(a_round_opens_one_session)
{
	struct tenant t[OPENS], other;

	open_tenant(hand, &other, 10, getuid());
	for (unsigned i = 0; i < OPENS; i++)
		ask_to_open(hand, &t[i], i, getuid() + 1 + i, "job", STORE_NEW);
	for (unsigned round = 1; round <= OPENS; round++) {
		round_beside(hand, &other, round);
		assert_int_equal(count_opened(t), round);
	}
	assert_false(turns_has_opens(&hand->store));
}

/* Not even a session that was queued before the close: its file would have no log. */
HAND_CASE(no_session_opens_in_a_file_that_is_being_sealed)
{
	struct tenant t, late;

	open_tenant(hand, &t, 0, getuid());
	t.session->database->is_sealed = true;
	turns_route(&hand->store, command_new(COMMAND_SESSION_CLOSE, t.session, NULL));
	ask_to_open(hand, &late, 0, getuid() + 1, "late", STORE_RESUME);
	hand->store.opens.first->made_ns = 1;
	rounds_until_open(hand, late.session);
	assert_null(t.session->database);
	assert_text(t.path, "PRAGMA journal_mode", "wal");
}

/* What it has done of its end is in the file that went: all is done again, and said. */
HAND_CASE(a_close_goes_on_in_a_new_file)
{
	struct command *close;
	struct tenant t;
	sqlite3 *reader;

	open_tenant(hand, &t, 0, getuid());
	assert_int_equal(sqlite3_open(t.path, &reader), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(reader, "BEGIN; SELECT * FROM rtl_meta", NULL, NULL, NULL), SQLITE_OK);
	close = command_new(COMMAND_SESSION_CLOSE, t.session, NULL);
	turns_route(&hand->store, close);
	for (unsigned i = 0; !close->deadline_ns && i < ROUNDS_MAX; i++)
		turns_round(&hand->store);
	assert_int_equal(answers_of(hand, STORE_CLOSED), 0);
	trouble_fail(&hand->store, t.session->database, -EUCLEAN);
	assert_int_equal(close->deadline_ns, 0);
	for (unsigned i = 0; t.session->database && i < ROUNDS_MAX; i++) {
		t.session->database->not_before_ns = 0;
		turns_round(&hand->store);
	}
	sqlite3_close(reader);
	assert_null(t.session->database);
	assert_int_equal(answers_of(hand, STORE_CLOSED), 1);
	assert_number(t.path, "SELECT count(*) FROM rtl_session WHERE end_ns > 0", 1);
}

/* ---- processes that come at once ---------------------------------------------------------------
 */

#define ARRIVALS 40u

static int count_commit(void *data)
{
	++*(unsigned *)data;
	return 0;
}

static int forbid_commit(void *data)
{
	(void)data;
	return 1;
}

static unsigned opened_of(const struct store_process *p)
{
	unsigned n = 0;

	for (; p; p = p->next)
		n += p->process && !p->is_opening;
	return n;
}

/* Those of one turn. */
HAND_CASE(arrivals_share_a_commit)
{
	unsigned commits = 0, rounds = 0;
	struct tenant t;

	ask_to_open(hand, &t, 0, getuid(), "job", STORE_NEW);
	rounds_until_open(hand, t.session);
	for (unsigned i = 0; i < ARRIVALS; i++)
		ask_for_process(hand, &t, (uint8_t)(10 + i));
	sqlite3_commit_hook(t.session->database->writer->db, count_commit, &commits);
	for (; opened_of(t.session->processes) < ARRIVALS && rounds < ROUNDS_MAX; rounds++)
		turns_round(&hand->store);
	assert_int_equal(commits, rounds);
	assert_number(t.path, "SELECT count(*) FROM rtl_process", ARRIVALS);
}

/* What failed with the commit is done again, and said once. */
HAND_CASE(arrivals_wait_for_their_commit)
{
	struct store_process *first;
	struct tenant t;

	ask_to_open(hand, &t, 0, getuid(), "job", STORE_NEW);
	rounds_until_open(hand, t.session);
	ask_for_process(hand, &t, 10);
	first = t.process; /* whether the other one is in its commit is for the clock to say */
	ask_for_process(hand, &t, 11);
	first->in_flight.may_have_rows = false; /* as a look that this commit holds may say */
	sqlite3_commit_hook(t.session->database->writer->db, forbid_commit, NULL);
	for (unsigned i = 0; !t.session->database->trouble && i < ROUNDS_MAX; i++)
		turns_round(&hand->store);
	assert_int_equal(answers_of(hand, STORE_PROCESS_OPENED), 0);
	assert_null(first->process);
	assert_true(first->in_flight.may_have_rows);
	sqlite3_commit_hook(t.session->database->writer->db, NULL, NULL);
	for (unsigned i = 0; opened_of(t.session->processes) < 2 && i < ROUNDS_MAX; i++) {
		t.session->database->not_before_ns = 0;
		turns_round(&hand->store);
	}
	assert_int_equal(answers_of(hand, STORE_PROCESS_OPENED), 2);
	assert_number(t.path, "SELECT count(*) FROM rtl_process", 2);
	send_frame(hand, &t, 1);
	assert_int_equal(work_commit(&hand->store, t.session->database), 0);
	for (unsigned i = 0; t.process->committed < 1 && i < ROUNDS_MAX; i++)
		turns_round(&hand->store);
	harness_check_books(t.path);
}

/* ---- drains ---------------------------------------------------------------------------------- */

#define RANKS	   3u
#define RANK_SLOTS 3072u

static unsigned over_of(struct store_process *const process[RANKS])
{
	unsigned over = 0;

	for (unsigned i = 0; i < RANKS; i++)
		over += process[i]->is_over;
	return over;
}

/* So neither stands behind all drains of the other. */
HAND_CASE(files_drain_in_turns)
{
	struct store_process *process[2][RANKS];
	struct tenant t[2];

	for (unsigned file = 0; file < 2; file++) {
		ask_to_open(hand, &t[file], file, getuid(), "job", STORE_NEW);
		turns_round(&hand->store);
		for (unsigned i = 0; i < RANKS; i++) {
			open_process(hand, &t[file], (uint8_t)(10 + i));
			process[file][i] = t[file].process;
		}
	}
	for (unsigned file = 0; file < 2; file++)
		for (unsigned i = 0; i < RANKS; i++) {
			t[file].process = process[file][i];
			end_in_line(hand, &t[file], (uint8_t)(10 + i), RANK_SLOTS);
		}
	for (unsigned i = 0; over_of(process[0]) + over_of(process[1]) < 2 * RANKS; i++) {
		assert_in_range(i, 0, ROUNDS_MAX);
		turns_round(&hand->store);
		/* One more than the other, at most. */
		assert_in_range(over_of(process[0]) + 1 - over_of(process[1]), 0, 2);
	}
	for (unsigned file = 0; file < 2; file++)
		assert_number(t[file].path, "SELECT count(*) FROM rocpd_op", RANKS * RANK_SLOTS);
}

/* ---- those that came and went ------------------------------------------------------------------
 */

#define GONE 40u

static unsigned length_of(const struct store_process *p)
{
	unsigned n = 0;

	for (; p; p = p->next)
		n++;
	return n;
}

/* What a commit and a look walk through is as long as there are processes that live. */
HAND_CASE(a_commit_does_not_iterate_over_processes_that_have_ended)
{
	struct tenant t, stays;

	open_tenant(hand, &t, 0, getuid());
	stays = t;
	for (unsigned i = 0; i < GONE; i++) {
		open_process(hand, &t, (uint8_t)(100 + i));
		end_in_line(hand, &t, (uint8_t)(100 + i), 1);
		rounds_until_over(hand, &t);
		assert_int_equal(writer_begin(t.session->database->writer), 0);
		assert_int_equal(work_commit(&hand->store, t.session->database), 0);
	}
	assert_ptr_equal(t.session->processes, stays.process);
	assert_int_equal(length_of(t.session->processes), 1);
	assert_int_equal(length_of(t.session->ended), GONE);
	assert_number(t.path, "SELECT count(*) FROM rocpd_op", GONE);
}

/* ---- the log --------------------------------------------------------------------------------- */

/* A step waits for the disk: with an index others' records are in line behind it. */
HAND_CASE(a_service_puts_no_log_away_in_steps)
{
	struct store *store = &hand->store;
	struct index *index = NULL;
	struct tenant t;
	char path[sizeof(t.path) + sizeof(".index")];
	struct writer *writer;
	bool is_new;

	open_tenant(hand, &t, 0, getuid());
	writer = t.session->database->writer;
	snprintf(path, sizeof(path), "%s.index", t.path);
	assert_int_equal(index_open(path, NULL, &index, &is_new), 0);
	writer->log_pages = WAL_STEP_BYTES / DATABASE_PAGE_BYTES;
	store->index = index;
	assert_int_equal(work_commit_due(store, t.session->database), 0);
	assert_int_equal(store->checkpoints.ended_ns, 0);
	store->index = NULL;
	assert_int_equal(work_commit_due(store, t.session->database), 0);
	assert_int_not_equal(store->checkpoints.ended_ns, 0);
	index_close(index);
}

/* All have said Bye: the log goes into the file while they end, not when one has ended already. */
HAND_CASE(a_step_does_not_go_before_an_end)
{
	const unsigned pages = WAL_STEP_BYTES / DATABASE_PAGE_BYTES / 4;
	struct store *store = &hand->store;
	struct store_database *database;
	struct tenant t;

	open_tenant(hand, &t, 0, getuid());
	database = t.session->database;
	assert_int_equal(store_process_end(t.process, -1, STORE_ENDED_EXITED, 0), 0);
	for (unsigned i = 0; i < 2; i++) {
		database->is_parting = true;
		database->writer->log_pages = pages;
		assert_int_equal(work_commit_due(store, database), 0);
		assert_int_equal(store->checkpoints.ended_ns, 0);
		route_all(hand); /* from the queue to what its database has to do */
	}
	while (database->todo.first)
		turns_round(store);
	database->is_parting = true;
	database->writer->log_pages = pages;
	assert_int_equal(work_commit_due(store, database), 0);
	assert_int_not_equal(store->checkpoints.ended_ns, 0);
}

/* ---- wakes ------------------------------------------------------------------------------------
 */

/* As the store's thread takes what is in the queue. */
static void empty_queue(struct hand *hand)
{
	route_all(hand);
	hand->store.unread_bytes = 0;
	hand->store.is_urgent = false;
}

static void post_frames(struct tenant *t, size_t bytes)
{
	assert_int_equal(store_process_frames(t->process, calloc(1, bytes), bytes), 0);
}

HAND_CASE(frames_of_a_flood_wait_for_each_other)
{
	struct store *store = &hand->store;
	struct tenant t;
	unsigned n = 0;

	open_tenant(hand, &t, 0, getuid());
	empty_queue(hand);
	post_frames(&t, 100);
	assert_true(store_has_work_locked(store));
	store->is_dozing = true;
	assert_false(store_has_work_locked(store));
	/* Until there are many, */
	for (; !store_has_work_locked(store); n++)
		post_frames(&t, STORE_DOZE_BYTES / 8);
	assert_in_range(n, 2, 8);
	/* or something that is none. */
	empty_queue(hand);
	post_frames(&t, 100);
	assert_false(store_has_work_locked(store));
	assert_int_equal(store_flush(store, getuid(), hand), 0);
	assert_true(store_has_work_locked(store));
	empty_queue(hand);
}

HAND_CASE(frames_of_a_service_wait_for_the_commit_of_each_database_that_has_processes)
{
	const uint64_t until_ns = clock_monotonic_ns() + 3600 * 1000000000ull;
	const uint64_t before_commit_ns = until_ns - STORE_TURNS_NS;
	struct store *store = &hand->store;
	struct store_database *first, *second;
	struct index *no_index = store->index;
	struct tenant one, two;

	open_tenant(hand, &one, 0, getuid());
	open_tenant(hand, &two, 1, getuid());
	first = one.session->database;
	second = two.session->database;
	assert_int_equal(work_commit(store, first), 0);
	assert_int_equal(work_commit(store, second), 0);
	store->index = (struct index *)store; /* only whether there is one */
	assert_true(store_doze_end(store, until_ns, false) == 0);
	assert_true(store_doze_end(store, until_ns, true) < before_commit_ns);
	assert_int_equal(writer_begin(first->writer), 0);
	assert_true(store_doze_end(store, until_ns, false) == 0);
	assert_int_equal(writer_begin(second->writer), 0);
	assert_true(store_doze_end(store, until_ns, false) == before_commit_ns);
	/* What is due soon, or has to wait for the disk, is no commit to wait for. */
	assert_true(store_doze_end(store, clock_monotonic_ns(), false) == 0);
	second->trouble = -EIO;
	assert_true(store_doze_end(store, until_ns, false) == 0);
	second->trouble = 0;
	store->index = no_index;
	assert_true(store_doze_end(store, until_ns, false) == 0);
}

static void end_and_take_rounds(struct hand *hand, struct tenant *t)
{
	assert_int_equal(store_process_end(t->process, -1, STORE_ENDED_EXITED, 0), 0);
	route_all(hand);
	rounds_until_over(hand, t);
}

/* Opens a session and its first two processes. Returns the session's database. */
static sqlite3 *open_two_processes(struct hand *hand, struct tenant *first, struct tenant *second)
{
	ask_to_open(hand, first, 0, getuid(), "job", STORE_NEW);
	rounds_until_open(hand, first->session);
	*second = *first;
	open_process(hand, first, 10);
	open_process(hand, second, 11);
	return first->session->database->writer->db;
}

/* The first replica ended before the third process began, so these two are not compared. */
HAND_CASE(a_replica_gets_no_rank_when_a_process_ends_that_began_after_the_other_replica)
{
	struct tenant first, second, third;
	sqlite3 *db;

	db = open_two_processes(hand, &first, &second);
	third = first;
	assert_int_equal(
		database_exec(db,
			"UPDATE rtl_process SET told_rank = 0, told_world_size = 1, start_ns = 1;"
			"INSERT OR REPLACE INTO rtl_queue (process_id, queueId, gpuId, dispatched) "
			"VALUES (1, 77, 0, 1), (2, 77, 1, 1)"),
		0);
	end_and_take_rounds(hand, &first);
	open_process(hand, &third, 12);
	assert_int_equal(database_exec(db, "UPDATE rtl_process SET told_rank = NULL, start_ns = "
					   "(SELECT end_ns + 1 FROM rtl_process WHERE id = 1) "
					   "WHERE id = 3"),
		0);
	end_and_take_rounds(hand, &second);
	end_and_take_rounds(hand, &third);
	assert_number(first.path, "SELECT count(*) FROM rtl_process WHERE told_rank = 0", 2);
	assert_number(first.path, "SELECT count(*) FROM rtl_process WHERE rank IS NOT NULL", 0);
}

/*
 * More than are compared ended while the replicas lived. When the second one ends, the first is
 * among those that are left out.
 */
HAND_CASE(replicas_get_no_rank_beside_more_ended_processes_than_are_compared)
{
	struct tenant first, second;
	sqlite3 *db;

	db = open_two_processes(hand, &first, &second);
	assert_int_equal(
		database_exec(db,
			"UPDATE rtl_process SET told_rank = 0, told_world_size = 1, start_ns = id;"
			"INSERT OR REPLACE INTO rtl_queue (process_id, queueId, gpuId, dispatched) "
			"VALUES (1, 77, 0, 1), (2, 77, 1, 1);"
			"WITH RECURSIVE number(n) AS (VALUES (1) UNION ALL "
			"SELECT n + 1 FROM number WHERE n < 2000) "
			"INSERT INTO rtl_process (session_id, pid, start_ns, end_ns, ended, "
			"boot_id, uid, token, start_time, told_rank) SELECT session_id, pid, 2, "
			"3 + n, 'exited', boot_id, uid, token, start_time + n, 5 "
			"FROM rtl_process JOIN number WHERE id = 1;"
			"INSERT INTO rtl_queue (process_id, queueId, gpuId, dispatched) "
			"SELECT id, 77, 3, 1 FROM rtl_process WHERE id > 2"),
		0);
	end_and_take_rounds(hand, &first);
	assert_number(first.path, "SELECT count(*) FROM rtl_process WHERE group_rank = 0", 2);
	end_and_take_rounds(hand, &second);
	assert_number(first.path, "SELECT count(*) FROM rtl_process WHERE told_rank = 0", 2);
	assert_number(first.path,
		"SELECT count(*) FROM rtl_process WHERE told_rank = 0 AND rank IS NOT NULL", 0);
}
