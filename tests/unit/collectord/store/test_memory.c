/* SPDX-License-Identifier: MIT */
/*
 * The n-th allocation of the store's thread fails. Nothing crashes, leaks or hangs, and what is
 * told as complete is.
 *
 * RTL_TEST_SHARD=I/OF: of those that are to be tried the I-th, the I+OF-th ... RTL_TEST_AT=N: the
 * N-th allocation only.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectord/db/database.h"
#include "tests/unit/collectord/store/life.h"
#include "tests/unit/collectord/store/recorder.h"
#include "tests/reliability/vfs/fault_malloc.h"

#define COMPLETE "complete: 800 dispatched, 800 stored"

static void without_the(struct harness *h, uint64_t n, uint64_t so_many)
{
	fault_malloc_set(n, so_many);
	for (unsigned i = 0; i < 3 && life_run(h) == LIFE_NOT_OPENED; i++)
		; /* a later attempt finds memory */
	fault_malloc_set(0, 0);
	assert_true(h->answer.complete);
	life_check(h);
	assert_text(h->path, "SELECT value FROM rtl_meta WHERE key = 'completeness'", COMPLETE);
	life_forget(h);
}

/* As RTL_TEST_SHARD says. */
struct shard {
	unsigned i, of;
};

static struct shard shard_read(void)
{
	struct shard shard = {1, 1};
	const char *text = getenv("RTL_TEST_SHARD");

	if (text)
		assert_true(sscanf(text, "%u/%u", &shard.i, &shard.of) == 2 && shard.i &&
			    shard.i <= shard.of);
	return shard;
}

static uint64_t at; /* the allocation under test; 0: none */

static uint64_t next(uint64_t n)
{
	return getenv("RTL_TEST_LONG") ? n + 1 : n + 1 + n / 4;
}

static int say_where(void **state)
{
	if (at)
		print_message("it was allocation %lu\n", (unsigned long)at);
	return harness_teardown(state);
}

#define CASE(claim) TEST_CASE_WITH(claim, harness_setup, say_where, struct harness *h)

static void *open_any(void *ret)
{
	sqlite3 *db;

	*(int *)ret = database_open_to_read("/no/such/file", NULL, &db);
	return NULL;
}

/* The first: no database has been opened yet, so SQLite initialises itself. */
TEST_CASE(sqlite_itself_may_find_no_memory)
{
	for (uint64_t n = 1; n <= 2; n++) {
		pthread_t thread;
		int r = 0;

		fault_malloc_set(n == 1, 100);
		assert_int_equal(pthread_create(&thread, NULL, open_any, &r), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		fault_malloc_set(0, 0);
		assert_true(r < 0); /* there is no such file */
		assert_int_equal(r == -ENOMEM, n == 1);
	}
}

CASE(any_allocation)
{
	const char *only = getenv("RTL_TEST_AT");
	struct shard shard = shard_read();
	unsigned tried = 0, passed = 0;
	uint64_t count;

	life_restart(h, 0);
	fault_malloc_set(0, 0);
	assert_int_equal(life_run(h), LIFE_CLOSED);
	count = fault_malloc_count();
	life_forget(h);
	assert_true(count > 1000);
	for (at = only ? strtoull(only, NULL, 10) : 1; at && at <= count;
		at = only ? 0 : next(at), tried++) {
		if (!only && tried % shard.of != shard.i - 1)
			continue;
		without_the(h, at, at % 2 ? 3 : 1);
		passed++;
	}
	at = 0;
	print_message("%u of %lu allocations\n", passed, (unsigned long)count);
}

/* More than what the Hello has made room for. */
static void define_much(struct hand_recorder *r)
{
	struct frames f = {0};

	peer_add_strings(&f, 100, 2000);
	assert_true(f.count <= sizeof(r->define) - r->header.define_bytes);
	memcpy(r->define + r->header.define_bytes, f.bytes, f.count);
	r->header.define_bytes += f.count;
	free(f.bytes);
}

/* All that is known of it comes from its recorder, while the n-th allocation fails; 0: none. */
static uint64_t drain_without_the(struct harness *h, uint64_t n)
{
	struct hand_recorder *r = hand_recorder_new(1);
	uint64_t count;

	life_restart(h, 0);
	harness_open(h);
	r->queue[0].producer[RTL_Q_dispatched] = 1;
	hand_recorder_slot(r, 0, SLOT_DONE, 0, 0);
	define_much(r);
	fault_malloc_set(n, 1);
	assert_int_equal(
		store_process_end(h->process, hand_recorder_memfd(r), STORE_ENDED_KILLED, -1), 0);
	free(r);
	do
		life_wait(h);
	while (h->answer.kind != STORE_PROCESS_ENDED);
	count = fault_malloc_count();
	fault_malloc_set(0, 0);
	assert_int_equal(store_session_close(h->session, 0), 0);
	assert_int_equal(life_wait(h), STORE_CLOSED);
	h->session = store_session_free(h->session);
	assert_text(h->path, "SELECT value FROM rtl_meta WHERE key = 'completeness'",
		"complete: 1 dispatched, 1 stored");
	life_forget(h);
	return count;
}

CASE(a_recorder_is_not_corrupt_for_want_of_memory)
{
	struct shard shard = shard_read();
	uint64_t count = drain_without_the(h, 0);
	unsigned tried = 0;

	assert_true(count > 0);
	for (at = 1; at <= count; at = next(at))
		if (tried++ % shard.of == shard.i - 1)
			(void)drain_without_the(h, at);
	at = 0;
}

int main(void)
{
	fault_malloc_install();
	return test_run(NULL, NULL);
}
