/* SPDX-License-Identifier: MIT */
/*
 * The disk fails at its n-th operation, once or for ever. Nothing crashes or hangs; once is made
 * good, for ever is said, and what the file then holds is what was committed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/db/rows/writer.h"
#include "collectord/store/thread/thread.h"
#include "proto/base/clock.h"
#include "tests/unit/collectord/store/hand.h"
#include "tests/unit/collectord/store/life.h"
#include "tests/reliability/vfs/fault_vfs.h"

#define GIVE_UP_MS     30u
/* The checkpoint of the log in two, and the mode of a closed file. One more is that of the schema,
 * which is on the disk before SQLite comes to it (migrate_make_file()). */
#define LIFE_SYNCS_MAX 3

/* The slow disk, and rows for twice as much and more. */
#define SLOW_BYTES  (1u << 20)
#define PAGE_BYTES  32768u
#define LONG_FRAMES 100u
#define LONG_EACH   1000u

static const struct {
	unsigned kind;
	const char *name;
} kinds[] = {
	{FAULT_VFS_WRITE, "write"},
	{FAULT_VFS_SYNC, "sync"},
	{FAULT_VFS_TRUNCATE, "truncate"},
	{FAULT_VFS_SHM, "shm"},
	{FAULT_VFS_READ, "read"},
};

static void whole_life(struct harness *h)
{
	assert_int_equal(life_run(h), LIFE_CLOSED);
	assert_string_equal(h->answer.text, "complete: 800 dispatched, 800 stored");
}

static uint64_t count_operations(struct harness *h, unsigned kind)
{
	const struct fault_vfs none = {.kinds = kind};
	uint64_t n;

	fault_vfs_set(&none);
	whole_life(h);
	n = fault_vfs_operations();
	life_forget(h);
	return n;
}

static void fail_once_at(struct harness *h, unsigned kind, uint64_t n, bool is_full)
{
	const struct fault_vfs fault = {.kinds = kind, .fail_at = n, .is_full = is_full};
	const struct fault_vfs none = {0};

	fault_vfs_set(&fault);
	/* A file that could not be made is made the next time. */
	if (life_run(h) == LIFE_NOT_OPENED)
		assert_int_equal(life_run(h), LIFE_CLOSED);
	fault_vfs_set(&none);
	assert_string_equal(h->answer.text, "complete: 800 dispatched, 800 stored");
	life_check(h);
	life_forget(h);
}

STORE_CASE(once)
{
	unsigned tried = 0;

	life_restart(h, 0);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		uint64_t count = count_operations(h, kinds[k].kind);

		for (uint64_t n = 1; n <= count; n = life_next(n, count), tried++)
			fail_once_at(
				h, kinds[k].kind, n, tried % 2 && kinds[k].kind == FAULT_VFS_WRITE);
		print_message("%s: %lu operations\n", kinds[k].name, (unsigned long)count);
	}
	print_message("%u failures, each made good\n", tried);
}

/* The disk comes back: what the file holds is whole, and another life goes on with it. */
static void come_back(struct harness *h)
{
	const struct fault_vfs none = {0};

	fault_vfs_set(&none);
	life_restart(h, 0);
	if (life_run(h) == LIFE_CLOSED)
		life_check(h);
	else
		fail_msg("not opened again: %s", h->answer.text ? h->answer.text : "");
}

static void fail_for_ever_from(struct harness *h, unsigned kind, uint64_t n, bool is_full)
{
	const struct fault_vfs fault = {
		.kinds = kind, .fail_at = n, .for_ever = true, .is_full = is_full};
	enum life_end end;

	life_restart(h, GIVE_UP_MS);
	fault_vfs_set(&fault);
	end = life_run(h);
	/* All was committed before, or it is said that it was not. */
	if (end == LIFE_CLOSED && h->answer.complete)
		assert_string_equal(h->answer.text, "complete: 800 dispatched, 800 stored");
	else if (end == LIFE_CLOSED)
		assert_non_null(strstr(h->answer.text, "INCOMPLETE"));
	come_back(h);
	life_forget(h);
}

STORE_CASE(for_ever)
{
	unsigned tried = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		uint64_t count = count_operations(h, kinds[k].kind);

		/* Each waits for the store to give up. */
		for (uint64_t n = 1; n <= count;
			n = getenv("RTL_TEST_LONG") ? n + 1 : n + 3 + n / 2, tried++)
			fail_for_ever_from(
				h, kinds[k].kind, n, tried % 2 && kinds[k].kind == FAULT_VFS_WRITE);
	}
	print_message("%u disks that never came back, each said\n", tried);
}

/*
 * Two that write or checkpoint can damage a WAL (SQLite before 3.51.3): whatever a collector does
 * with a file, it has one connection to it that could.
 */
STORE_CASE(one_connection_writes)
{
	const struct fault_vfs none = {0};
	struct store_session_params other = {.name = "other", .uid = getuid()};

	fault_vfs_set(&none);
	other.path = h->path;
	other.create = STORE_RESUME;
	harness_open(h);
	assert_int_equal(store_session_open(h->store, &other, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	life_restart(h, 0); /* both are left open */
	assert_int_equal(store_recover(h->store, h->path), 0);
	harness_wait(h, STORE_LEFT_DONE);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(life_run(h), LIFE_CLOSED);
		life_restart(h, 0);
		assert_int_equal(store_recover(h->store, h->path), 0);
		harness_wait(h, STORE_LEFT_DONE);
	}
	assert_int_equal(fault_vfs_writers_max(), 1);
}

/* A disk that is shared takes milliseconds for each, and a job waits for its start and its end. */
STORE_CASE(a_life_waits_for_the_disk_seldom)
{
	uint64_t syncs;

	life_restart(h, 0);
	syncs = count_operations(h, FAULT_VFS_SYNC);
	print_message("%lu syncs\n", (unsigned long)syncs);
	assert_in_range(syncs, 1, LIFE_SYNCS_MAX);
}

/* 100,000 rows of some 34 bytes behind @before such, in one transaction or a few. */
static void fill(struct harness *h, unsigned before)
{
	struct frames f = {0};

	peer_add_defines(&f);
	peer_add_anchors(&f, 100000000);
	for (uint64_t n = before * LONG_FRAMES + 1; n <= (before + 1) * LONG_FRAMES; n++) {
		peer_add_dispatches(&f, n, 1, (n - 1) * LONG_EACH, LONG_EACH);
		harness_send(h, &f);
	}
	harness_wait_commit(h, (before + 1) * LONG_FRAMES);
}

/*
 * Where the kernel's memory takes in a moment what the disk takes minutes for, a watchdog would end
 * the collector in the sync of a checkpoint, and its successor in the same: so no sync has more to
 * write than a second's worth, and all goes on visibly.
 */
STORE_CASE(a_slow_disk_is_written_to_in_steps)
{
	const struct fault_vfs slow = {
		.kinds = FAULT_VFS_WRITE | FAULT_VFS_SYNC, .synced_per_second = SLOW_BYTES};
	const struct fault_vfs none = {0};
	uint64_t beats, operations;

	life_restart(h, 0); /* another thread: it knows nothing of this disk */
	fault_vfs_set(&slow);
	harness_open(h);
	fill(h, 0); /* and a step of its log into the file, after which there is none for a while */
	assert_true(fault_vfs_sync_bytes_max() <= 2 * SLOW_BYTES + PAGE_BYTES); /* not known yet */
	fill(h, 1);
	/* The checkpoint of the seal. */
	fault_vfs_set(&slow);
	beats = store_beats(h->store);
	harness_close(h);
	operations = fault_vfs_operations();
	print_message("%lu writes and syncs, %lu beats, %lu bytes at most in a sync\n",
		(unsigned long)operations, (unsigned long)(store_beats(h->store) - beats),
		(unsigned long)fault_vfs_sync_bytes_max());
	assert_true(operations > 2 * SLOW_BYTES / PAGE_BYTES);
	assert_true(store_beats(h->store) - beats >= operations);
	assert_true(fault_vfs_sync_bytes_max() <= SLOW_BYTES + PAGE_BYTES);
	fault_vfs_set(&none);
}

/* Rows that wait for a full disk are committed before another session is opened in their file. */
HAND_CASE(a_session_that_is_opened_in_a_file_hears_of_its_full_disk)
{
	const struct fault_vfs none = {0};
	const struct fault_vfs full = {
		.kinds = FAULT_VFS_WRITE, .fail_at = 1, .for_ever = true, .is_full = true};
	struct store_answer answer = {0};
	struct tenant first, second;
	uint64_t number = 0;

	open_tenant(hand, &first, 0, getuid());
	while (!first.session->database->writer->is_open) {
		/* Not of a round that took so long that it was time to commit. */
		assert_in_range(++number, 1, ROUNDS_MAX);
		send_frame(hand, &first, number);
		first.session->database->committed_ns = clock_monotonic_ns();
		turns_round(&hand->store);
	}
	fault_vfs_set(&full);
	ask_to_open(hand, &second, 0, getuid(), "late", STORE_RESUME);
	turns_round(&hand->store);
	fault_vfs_set(&none);
	assert_false(second.session->is_waiting);
	while (store_next_answer(&hand->store, &answer) && answer.kind != STORE_FAILED)
		store_answer_done(&answer);
	assert_int_equal(answer.kind, STORE_FAILED);
	assert_int_equal(answer.error, -ENOSPC);
	assert_non_null(strstr(answer.text, "the disk is full (16 MiB and "));
	store_answer_done(&answer);
}

int main(void)
{
	fault_vfs_install();
	return test_run(NULL, NULL);
}
