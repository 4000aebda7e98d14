/* SPDX-License-Identifier: MIT */
/*
 * Files that are damaged, or none of ours, where the store is to go on: they go aside as they are,
 * the store goes on, and nothing is told as complete that is not there.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/limits.h"
#include "tests/unit/collectord/store/damage.h"
#include "tests/unit/collectord/store/harness.h"
#include "tests/unit/collectord/store/recorder.h"

#define EACH 100u

static void restart(struct harness *h)
{
	struct store_config config = {0};

	store_answer_done(&h->answer);
	memset(&h->answer, 0, sizeof(h->answer));
	h->store = store_free(h->store);
	assert_int_equal(store_new(&config, &h->store), 0);
}

static void send(struct harness *h, uint64_t number)
{
	struct frames f = {0};

	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	peer_add_dispatches(&f, number, 1, (number - 1) * EACH, EACH);
	harness_send(h, &f);
}

/* A database of three frames, left open or closed, and one file. */
static void make_ours(struct harness *h, bool is_closed)
{
	harness_open(h);
	for (uint64_t n = 1; n <= 3; n++)
		send(h, n);
	harness_wait_commit(h, 3);
	if (is_closed)
		harness_close(h);
	restart(h);
}

static void break_magic(const struct harness *h)
{
	damage_put(h->path, 3, "xyz", 3);
}

static void break_page_size(const struct harness *h)
{
	damage_put(h->path, 16, "\x12\x34", 2);
}

static void break_version(const struct harness *h)
{
	damage_put(h->path, 18, "\x07\x07", 2);
}

static void break_encoding(const struct harness *h)
{
	damage_put(h->path, 56, "\0\0\0\x02", 4);
}

static void break_schema_page(const struct harness *h)
{
	char rubbish[4096];

	memset(rubbish, 0xa5, sizeof(rubbish));
	damage_put(h->path, 100, rubbish, sizeof(rubbish));
}

static void break_newer(const struct harness *h)
{
	damage_put(h->path, 60, "\0\0\x7f\x01", 4);
}

static void break_older(const struct harness *h)
{
	damage_put(h->path, 60, "\0\0\0\x02", 4);
}

static void break_half_page(const struct harness *h)
{
	assert_int_equal(truncate(h->path, damage_size(h->path) - 16384), 0);
}

static void break_half_file(const struct harness *h)
{
	assert_int_equal(truncate(h->path, damage_size(h->path) / 2 / 32768 * 32768), 0);
}

static void break_wal(const struct harness *h)
{
	char wal[128], rubbish[8192];

	memset(rubbish, 0x5a, sizeof(rubbish));
	snprintf(wal, sizeof(wal), "%s-wal", h->path);
	damage_put(wal, 0, rubbish, sizeof(rubbish));
}

static const struct {
	const char *name;
	void (*damage)(const struct harness *h);
	const char *why;
} damages[] = {
	{"magic", break_magic, "it is not a database of rtl"},
	{"page size", break_page_size, "it is corrupt"},
	{"version", break_version, "it is corrupt"},
	{"encoding", break_encoding, "it is corrupt"},
	{"schema page", break_schema_page, "it is corrupt"},
	{"newer schema", break_newer, "it was written by a newer rtl"},
	{"older schema, said only", break_older, "it is corrupt"},
	{"half a page", break_half_page, "it is corrupt"},
	{"half the file", break_half_file, "it is corrupt"},
	{"a log of rubbish", break_wal, "it is corrupt"},
};

static void read_whole(const char *path, char **ret, size_t *ret_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	*ret_bytes = (size_t)damage_size(path);
	*ret = malloc(*ret_bytes + 1);
	assert_non_null(*ret);
	assert_int_equal(read(fd, *ret, *ret_bytes), (ssize_t)*ret_bytes);
	close(fd);
}

static void resume(struct harness *h)
{
	struct store_session_params params = {.name = "job",
		.job = "job-1",
		.path = h->path,
		.uid = getuid(),
		.create = STORE_RESUME};

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
}

/* The process comes back; it has frames 1 to 3 acknowledged, and sends the fourth. */
static void come_back_and_close(struct harness *h)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open_process(h, 1, 0);
	assert_true(h->answer.frame <= 3);
	send(h, 4);
	harness_wait_commit(h, 4);
	r->queue[0].producer[RTL_Q_dispatched] = 4 * EACH;
	assert_int_equal(
		store_process_end(h->process, hand_recorder_memfd(r), STORE_ENDED_KILLED, -1), 0);
	free(r);
	harness_wait(h, STORE_PROCESS_ENDED);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
}

static void forget_all(const struct harness *h)
{
	char pattern[160];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s*", h->path);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		assert_int_equal(unlink(found.gl_pathv[i]), 0);
	globfree(&found);
}

static void go_aside(struct harness *h, size_t which)
{
	char *before, *after, aside[256] = "";
	size_t bytes, aside_bytes;

	make_ours(h, false);
	damages[which].damage(h);
	read_whole(h->path, &before, &bytes);
	resume(h);
	harness_wait(h, STORE_SET_ASIDE);
	if (!strstr(h->answer.text, damages[which].why))
		fail_msg("%s: %s", damages[which].name, h->answer.text);
	harness_wait(h, STORE_OPENED);
	assert_int_equal(damage_count_aside(h, aside, sizeof(aside)), 1);
	read_whole(aside, &after, &aside_bytes);
	assert_int_equal(bytes, aside_bytes);
	assert_memory_equal(before, after, bytes);
	free(before);
	free(after);
	come_back_and_close(h);
	assert_string_equal(h->answer.text,
		"INCOMPLETE: 400 dispatched, 100 stored, 300 dropped (db_error 300: rank 0 queue "
		"0), 0 untimed, "
		"0 outstanding, 3 frames missing, 1 damaged database set aside");
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", EACH);
	harness_check_books(h->path);
	h->session = store_session_free(h->session);
	restart(h);
	forget_all(h);
}

STORE_CASE(what_is_damaged_goes_aside_as_it_is)
{
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++)
		go_aside(h, i);
}

STORE_CASE(what_went_aside_is_never_overwritten)
{
	for (unsigned n = 1; n <= 3; n++) {
		make_ours(h, true);
		break_half_page(h);
		resume(h);
		harness_wait(h, STORE_OPENED);
		assert_int_equal(damage_count_aside(h, NULL, 0), n);
		restart(h);
		h->session = NULL;
		assert_int_equal(unlink(h->path), 0);
	}
}

/* What a user put there is the user's. */
STORE_CASE(what_was_never_ours_stays_byte_by_byte)
{
	static const char text[] =
		"Dear diary, this is 100 bytes or more of what no program is to touch, "
		"and so it goes on for a while.";
	char *before, *after;
	size_t bytes, after_bytes;
	sqlite3 *db;

	for (int i = 0; i < 3; i++) {
		if (i == 0) {
			damage_put(h->path, 0, text, sizeof(text));
		} else if (i == 1) {
			damage_put(h->path, 0, text, 10);
		} else {
			assert_int_equal(sqlite3_open(h->path, &db), SQLITE_OK);
			assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (a)", NULL, NULL, NULL),
				SQLITE_OK);
			sqlite3_close(db);
		}
		read_whole(h->path, &before, &bytes);
		resume(h);
		harness_wait(h, STORE_FAILED);
		assert_non_null(strstr(h->answer.text, "it is not a database of rtl"));
		h->session = store_session_free(h->session);
		read_whole(h->path, &after, &after_bytes);
		assert_int_equal(bytes, after_bytes);
		assert_memory_equal(before, after, bytes);
		free(before);
		free(after);
		assert_int_equal(damage_count_aside(h, NULL, 0), 0);
		forget_all(h);
	}
}

/* Like harness_wait(), whatever trouble comes and goes. */
static void wait_for(struct harness *h, enum store_answer_kind kind)
{
	struct pollfd poller = {.fd = store_answer_fd(h->store), .events = POLLIN};

	for (;;) {
		store_answer_done(&h->answer);
		if (store_next_answer(h->store, &h->answer)) {
			if (h->answer.kind == kind)
				return;
			continue;
		}
		memset(&h->answer, 0, sizeof(h->answer));
		if (poll(&poller, 1, HARNESS_WAIT_MS) != 1)
			fail_msg("no answer %d in time", kind);
	}
}

static void wait_commit(struct harness *h, uint64_t frame)
{
	do
		wait_for(h, STORE_COMMITTED);
	while (h->answer.frame < frame);
}

STORE_CASE(damage_found_on_the_way_costs_what_was_there)
{
	struct hand_recorder *r = hand_recorder_new(1);
	struct store_process *first;

	harness_open(h);
	first = h->process;
	harness_open_process(h, 2, 1);
	for (uint64_t n = 1; n <= 3; n++)
		send(h, n);
	harness_wait_commit(h, 3);
	/* One has ended already: of it only the file knew. */
	assert_int_equal(store_process_end(h->process, -1, STORE_ENDED_EXITED, 0), 0);
	harness_wait(h, STORE_PROCESS_ENDED);
	h->process = first;
	for (uint64_t n = 1; n <= 3; n++)
		send(h, n);
	harness_wait_commit(h, 3);
	damage_scribble(h);
	for (uint64_t n = 4; n <= 6; n++)
		send(h, n);
	wait_for(h, STORE_SET_ASIDE);
	assert_int_equal(damage_count_aside(h, NULL, 0), 1);
	wait_commit(h, 6);
	r->queue[0].producer[RTL_Q_dispatched] = 6 * EACH;
	assert_int_equal(
		store_process_end(h->process, hand_recorder_memfd(r), STORE_ENDED_KILLED, -1), 0);
	free(r);
	wait_for(h, STORE_PROCESS_ENDED);
	assert_int_equal(store_session_close(h->session, 0), 0);
	wait_for(h, STORE_CLOSED);
	assert_string_equal(h->answer.text,
		"INCOMPLETE: 600 dispatched, 300 stored, 300 dropped (db_error 300: rank 0 queue "
		"0), 0 untimed, "
		"0 outstanding, 3 frames missing, 1 damaged database set aside");
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", 3 * EACH);
	harness_check_books(h->path);
}

/* A disk that damages each of them is not helped by more. */
STORE_CASE(so_many_go_aside_and_no_more)
{
	const struct store_config impatient = {.give_up_ms = 100};
	uint64_t n = 1;

	h->store = store_free(h->store);
	assert_int_equal(store_new(&impatient, &h->store), 0);
	harness_open(h);
	send(h, n);
	harness_wait_commit(h, n);
	while (n <= STORE_ASIDES_MAX) {
		damage_scribble(h);
		send(h, ++n);
		wait_for(h, STORE_SET_ASIDE);
		wait_commit(h, n);
		assert_int_equal(damage_count_aside(h, NULL, 0), n - 1);
	}
	wait_for(h, STORE_RECOVERED);
	damage_scribble(h);
	send(h, n + 1);
	wait_for(h, STORE_DEGRADED);
	assert_int_equal(h->answer.error, -EUCLEAN);
	assert_int_equal(store_process_end(h->process, -1, STORE_ENDED_KILLED, -1), 0);
	assert_int_equal(store_session_close(h->session, 0), 0);
	wait_for(h, STORE_CLOSED);
	assert_false(h->answer.complete);
	assert_non_null(strstr(h->answer.text, "INCOMPLETE: the end was not stored"));
	assert_int_equal(damage_count_aside(h, NULL, 0), STORE_ASIDES_MAX);
}

/* It is said once a connection: no other frame brings it again. */
STORE_CASE(a_rank_that_was_said_late_goes_with_its_process)
{
	Rtl__RankDef rank = RTL__RANK_DEF__INIT;
	struct frames f = {0};

	rank.has_rank = rank.has_comm = rank.has_comm_rank = rank.has_comm_size = true;
	rank.rank = 5;
	rank.comm = 77;
	rank.comm_rank = 3;
	rank.comm_size = 8;
	harness_open(h);
	frames_add_rank(&f, &rank);
	harness_send(h, &f);
	send(h, 1);
	harness_wait_commit(h, 1);
	assert_text(h->path,
		"SELECT rank || ' ' || \"group\" || ' ' || group_rank FROM rtl_process", "5 77 3");
	damage_scribble(h);
	send(h, 2);
	wait_for(h, STORE_SET_ASIDE);
	wait_commit(h, 2);
	assert_text(h->path,
		"SELECT rank || ' ' || \"group\" || ' ' || group_rank FROM rtl_process", "5 77 3");
}

/* A late comer, or the next collector, has to be told the same of a session in another file. */
STORE_CASE(what_was_asked_of_a_session_goes_with_it)
{
	harness_open(h);
	assert_int_equal(store_session_controls(h->session, "stop 7\n"), 0);
	assert_int_equal(store_session_categories(h->session, "gemm\t\tCijk_*\n"), 0);
	send(h, 1);
	harness_wait_commit(h, 1);
	damage_scribble(h);
	send(h, 2);
	wait_for(h, STORE_SET_ASIDE);
	wait_commit(h, 2);
	assert_number(h->path,
		"SELECT count(*) FROM rtl_meta WHERE key LIKE 'controls:%' AND value LIKE '%stop "
		"7%'",
		1);
	assert_number(h->path, "SELECT count(*) FROM rtl_category WHERE origin = 'user'", 1);
}

/* Index and files of the service: all that lies there is its own. */
static void open_service(struct harness *h, const char *index)
{
	struct store_config config = {.index_path = index};

	store_answer_done(&h->answer);
	memset(&h->answer, 0, sizeof(h->answer));
	h->store = store_free(h->store);
	assert_int_equal(store_new(&config, &h->store), 0);
}

static void open_in_service(struct harness *h, const char *name)
{
	struct store_session_params params = {
		.name = name, .job = name, .dir = h->dir, .uid = getuid(), .create = STORE_RESUME};

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	snprintf(h->path, sizeof(h->path), "%s", h->answer.database);
}

STORE_CASE(a_service_sets_aside_whatever_lies_there)
{
	char index[96];

	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	open_service(h, index);
	open_in_service(h, "a");
	harness_open_process(h, 1, 0);
	send(h, 1);
	harness_wait_commit(h, 1);
	open_service(h, index);
	assert_int_equal(truncate(h->path, 0), 0);
	damage_put(h->path, 0, "what is this", 12);
	assert_int_equal(store_recover(h->store, NULL), 0);
	harness_wait(h, STORE_SET_ASIDE);
	assert_non_null(strstr(h->answer.text, "it is not a database of rtl"));
	harness_wait(h, STORE_LEFT_SESSION);
	assert_string_equal(h->answer.name, "a");
	assert_string_equal(h->answer.job, "a");
	harness_wait(h, STORE_LEFT_DONE);
	assert_number(index,
		"SELECT count(*) FROM session WHERE database GLOB '*.corrupt-*' AND completeness "
		"GLOB 'set aside: *' AND NOT complete",
		1);
	/* A session that is opened later continues under the same name, and its end says what is
	 * missing. */
	open_in_service(h, "a");
	assert_null(strstr(h->path, "a-2.db"));
	harness_open_process(h, 1, 0);
	send(h, 2);
	harness_wait_commit(h, 2);
	harness_close(h);
	assert_non_null(strstr(h->answer.text, "1 damaged database set aside"));
	assert_number(index, "SELECT count(*) FROM session", 2);
}

/* Beside the writer, so that a log stays. An older rtl's: a writer would note its own schema. */
static void move_to_another_boot(const struct harness *h, sqlite3 **ret)
{
	assert_int_equal(sqlite3_open(h->path, ret), SQLITE_OK);
	sqlite3_db_config(*ret, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
	assert_int_equal(sqlite3_exec(*ret,
				 "PRAGMA wal_checkpoint(TRUNCATE); "
				 "UPDATE rtl_meta SET value = 'another' WHERE key = 'boot_id'; "
				 "UPDATE rtl_meta SET value = 1 WHERE key = 'schema'",
				 NULL, NULL, NULL),
		SQLITE_OK);
}

static void assert_same(const char *path, const char *bytes, size_t count)
{
	size_t count_now;
	char *now;

	read_whole(path, &now, &count_now);
	assert_int_equal(count_now, count);
	assert_memory_equal(now, bytes, count);
	free(now);
}

/* Nothing is written to it before it was looked at. */
STORE_CASE(what_another_boot_left_damaged_goes_aside_as_it_is)
{
	char index[96], path[sizeof(h->path) + 8], aside[256], aside_wal[300];
	char *file, *log, rubbish[4096];
	size_t bytes, log_bytes;
	int64_t page;
	sqlite3 *db;

	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	open_service(h, index);
	open_in_service(h, "a");
	harness_open_process(h, 1, 0);
	send(h, 1);
	harness_wait_commit(h, 1);
	page = sql_number(h->path, "SELECT rootpage FROM sqlite_schema WHERE name = 'rtl_clock'");
	move_to_another_boot(h, &db);
	open_service(h, index);
	sqlite3_close(db);
	memset(rubbish, 0xa5, sizeof(rubbish));
	damage_put(h->path, (page - 1) * 32768, rubbish, sizeof(rubbish));
	snprintf(path, sizeof(path), "%s-wal", h->path);
	read_whole(h->path, &file, &bytes);
	read_whole(path, &log, &log_bytes);
	assert_true(log_bytes > 32768);

	assert_int_equal(store_recover(h->store, NULL), 0);
	harness_wait(h, STORE_SET_ASIDE);
	harness_wait(h, STORE_LEFT_SESSION);
	harness_wait(h, STORE_LEFT_DONE);
	assert_int_equal(damage_count_aside(h, aside, sizeof(aside)), 1);
	assert_same(aside, file, bytes);
	snprintf(aside_wal, sizeof(aside_wal), "%s-wal", aside);
	assert_same(aside_wal, log, log_bytes);
	free(file);
	free(log);
	open_in_service(h, "a");
}

/* Its sessions are found again by their files. */
STORE_CASE(a_damaged_index_is_made_anew)
{
	char index[96];

	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	open_service(h, index);
	open_in_service(h, "open");
	h->session = NULL;
	open_in_service(h, "closed");
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	h->store = store_free(h->store);
	damage_put(index, 0, "rubbish rubbish rubbish rubbish", 31);
	snprintf(h->path, sizeof(h->path), "%s", index);
	open_service(h, index);
	assert_int_equal(damage_count_aside(h, NULL, 0), 1);
	assert_int_equal(store_recover(h->store, NULL), 0);
	harness_wait(h, STORE_SET_ASIDE);
	harness_wait(h, STORE_LEFT_SESSION);
	assert_string_equal(h->answer.name, "open");
	harness_wait(h, STORE_LEFT_DONE);
	assert_text(index, "SELECT name FROM session", "closed");
}

/* The collector died between two renames: the log must not meet a database that it is not of. */
STORE_CASE(a_log_without_its_database_goes_aside)
{
	char wal[128], pattern[160];
	glob_t found;

	snprintf(wal, sizeof(wal), "%s-wal", h->path);
	damage_put(wal, 0, "of another one", 14);
	harness_open(h);
	snprintf(pattern, sizeof(pattern), "%s.corrupt-*-wal", h->path);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(damage_size(found.gl_pathv[0]), 14);
	globfree(&found);
	send(h, 1);
	harness_close(h);
	assert_string_equal(h->answer.text, "complete: 100 dispatched, 100 stored");
}
