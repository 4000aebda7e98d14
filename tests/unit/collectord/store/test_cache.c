/* SPDX-License-Identifier: MIT */
/*
 * However many sessions are open, what SQLite keeps of them in memory is one sum.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "collectord/store/page_cache.h"
#include "collectord/db/rows/writer.h"
#include "proto/base/limits.h"
#include "tests/unit/collectord/store/harness.h"

#define SESSIONS      72u
#define FRAMES_EACH   20u
#define ROWS_EACH     1000u
/* Of a session that stores nothing: statements, the schema, eight pages. */
#define OPENED_BYTES  (800u << 10)
/* Of a service's, none of whose processes is open: without the pages, half of that at least. */
#define RESTING_BYTES (520u << 10)
/* Statements that run for the first time, and what a page has beside itself. */
#define SLACK_BYTES   (6u << 20)

TEST_CASE(a_share_fits_and_seldom_changes)
{
	uint64_t share = 0, before;
	unsigned changes = 0;

	assert_int_equal(cache_share(0, 1), STORE_CACHE_EACH_BYTES_MAX);
	for (unsigned n = 1; n <= SESSIONS_MAX; n++) {
		before = share;
		share = cache_share(share, n);
		changes += share != before;
		assert_true(
			share * n <= STORE_CACHE_BYTES_MAX || share == STORE_CACHE_EACH_BYTES_MIN);
	}
	assert_int_equal(share, STORE_CACHE_EACH_BYTES_MIN);
	/* One that comes and goes changes nothing. */
	for (unsigned n = 1; n < SESSIONS_MAX; n++) {
		share = cache_share(cache_share(0, n), n + 1);
		before = cache_share(share, n);
		assert_int_equal(cache_share(before, n + 1), share);
		assert_int_equal(before, share);
	}
	for (unsigned n = SESSIONS_MAX; n > 0; n--) {
		before = share;
		share = cache_share(share, n);
		changes += share != before;
	}
	assert_int_equal(share, STORE_CACHE_EACH_BYTES_MAX);
	assert_true(changes <= 16);
}

struct one {
	struct store_session *session;
	struct store_process *process;
};

static void open_one(struct harness *h, unsigned i, struct one *ret)
{
	char path[128], name[16];
	size_t count;
	uint8_t *hello = peer_hello((uint8_t)i, (int)i, &count);
	struct store_session_params params = {
		.name = name, .path = path, .uid = getuid(), .create = STORE_NEW};

	snprintf(path, sizeof(path), "%s/many-%u.db", h->dir, i);
	snprintf(name, sizeof(name), "many-%u", i);
	assert_int_equal(store_session_open(h->store, &params, h, &ret->session), 0);
	harness_wait(h, STORE_OPENED);
	assert_int_equal(store_process_open(ret->session, hello, count, getuid(), 1000 + (int)i,
				 4242, h, &ret->process),
		0);
	harness_wait(h, STORE_PROCESS_OPENED);
}

static void feed_one(struct harness *h, struct store_process *process)
{
	struct frames f = {0};
	size_t count;
	uint8_t *bytes;

	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	for (unsigned i = 0; i < FRAMES_EACH; i++)
		peer_add_dispatches(&f, i + 1, 1, (uint64_t)i * ROWS_EACH, ROWS_EACH);
	bytes = frames_take(&f, &count);
	assert_true(store_process_frames(process, bytes, count) >= 0);
	assert_int_equal(store_flush(h->store, getuid(), h), 0);
	harness_wait(h, STORE_FLUSHED);
}

STORE_CASE(many_sessions_share_one_sum)
{
	static struct one many[SESSIONS];
	sqlite3_int64 opened, fed;
	char path[128];

	for (unsigned i = 0; i < SESSIONS; i++)
		open_one(h, i, &many[i]);
	opened = sqlite3_memory_used();
	assert_true(opened <= (sqlite3_int64)SESSIONS * OPENED_BYTES);
	for (unsigned i = 0; i < SESSIONS; i++)
		feed_one(h, many[i].process);
	fed = sqlite3_memory_used();
	snprintf(path, sizeof(path), "%s/many-%u.db", h->dir, SESSIONS - 1);
	assert_number(path, "SELECT count(*) FROM rtl_dispatch", FRAMES_EACH * ROWS_EACH);
	/* Else the test is of nothing. */
	assert_true(SESSIONS * sql_number(path, "SELECT count(*) * 30 FROM rtl_dispatch") >
		    STORE_CACHE_BYTES_MAX + SLACK_BYTES);
	print_message("%u sessions: %lld KiB after they were opened, %lld with rows\n", SESSIONS,
		opened >> 10, fed >> 10);
	assert_true(
		fed - opened <= (sqlite3_int64)(cache_share(0, SESSIONS) * SESSIONS + SLACK_BYTES));
}

/* Every user may open 256 sessions of a service and store nothing in them. */
STORE_CASE(an_idle_session_has_no_pages)
{
	struct store_session *session[SESSIONS];
	char index[128], name[16];
	struct store_session_params params = {
		.name = name, .job = name, .dir = h->dir, .uid = getuid(), .create = STORE_NEW};
	const struct store_config service = {.index_path = index};
	sqlite3_int64 resting;

	snprintf(index, sizeof(index), "%s/index.db", h->dir);
	store_answer_done(&h->answer);
	h->store = store_free(h->store);
	assert_int_equal(store_new(&service, &h->store), 0);
	for (unsigned i = 0; i < SESSIONS; i++) {
		snprintf(name, sizeof(name), "many-%u", i);
		assert_int_equal(store_session_open(h->store, &params, h, &session[i]), 0);
		harness_wait(h, STORE_OPENED);
	}
	/* They are let go of behind the answer. */
	assert_int_equal(store_flush(h->store, getuid(), h), 0);
	harness_wait(h, STORE_FLUSHED);
	resting = sqlite3_memory_used();
	print_message("%u sessions at rest: %lld KiB\n", SESSIONS, resting >> 10);
	assert_true(resting <= (sqlite3_int64)SESSIONS * RESTING_BYTES);
}

/* @rows of dispatches, in one transaction. */
static void commit_rows(struct writer *writer, uint64_t rows)
{
	const int64_t some = 1 << 30;
	const int64_t row[FEED_COLUMNS] = {
		300, some, INT64_MAX, some, some, some, some, FEED_NULL, FEED_NULL, FEED_NULL};

	assert_int_equal(writer_begin(writer), 0);
	for (uint64_t i = 0; i < rows; i++) {
		if (writer->feed->count == FEED_ROWS_MAX)
			assert_int_equal(feed_flush(writer->feed), 0);
		feed_put(writer->feed, row);
	}
	assert_int_equal(writer_commit(writer), 0);
}

STORE_CASE(a_cache_grows_with_its_transactions)
{
	struct msg_arena arena = {0};
	struct writer *writer;
	char path[128];

	snprintf(path, sizeof(path), "%s/grows.db", h->dir);
	close(open(path, O_RDWR | O_CREAT | O_EXCL, 0600));
	assert_int_equal(writer_open(path, &arena, NULL, &writer), 0);
	/* A whole one of kernels fits, with longer rows than most have. */
	commit_rows(writer, COMMIT_ROWS_MAX);
	assert_int_equal(writer->cache_now_bytes, STORE_CACHE_FIRST_BYTES);
	/* Of what does not, pages are written before the commit: the next time there is room. */
	for (unsigned i = 0; i < 3; i++)
		commit_rows(writer, 4 * COMMIT_ROWS_MAX);
	assert_int_equal(writer->cache_now_bytes, STORE_CACHE_EACH_BYTES_MAX);
	/* It does not outgrow its share, nor take it at once when that grows. */
	writer_set_cache(writer, STORE_CACHE_EACH_BYTES_MIN);
	assert_int_equal(writer->cache_now_bytes, STORE_CACHE_EACH_BYTES_MIN);
	commit_rows(writer, COMMIT_ROWS_MAX);
	assert_int_equal(writer->cache_now_bytes, STORE_CACHE_EACH_BYTES_MIN);
	writer_set_cache(writer, STORE_CACHE_EACH_BYTES_MAX);
	assert_int_equal(writer->cache_now_bytes, STORE_CACHE_FIRST_BYTES);
	writer_free(writer);
}
