// SPDX-License-Identifier: MIT
/*
 * What a tenant may not store is counted, in the transaction that moves the frame number; what is
 * rolled back is given back. Buckets that fill by a record a second stand still for a test.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/ingest/process/process.h"
#include "collectord/db/rows/quota.h"
#include "collectord/recorder/counters.h"
#include "proto/base/limits.h"
#include "tests/unit/collectord/store/harness.h"
#include "tests/unit/collectord/store/recorder.h"

#define OVER_QUOTA "SELECT coalesce(sum(count), 0) FROM rtl_loss WHERE reason = 'dropped_quota'"

static void restart(struct harness *h, uint64_t burst_s)
{
	struct store_config config = {.limits = {.records_per_s = 1, .burst_s = burst_s}};

	h->store = store_free(h->store);
	assert_int_equal(store_new(&config, &h->store), 0);
}

STORE_CASE(frames_over_quota)
{
	struct frames f = {0};

	restart(h, 100);
	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 60);
	peer_add_dispatches(&f, 2, 1, 60, 60); /* 40 are left */
	peer_add_dispatches(&f, 3, 1, 120, 30);
	peer_add_counters(&f, 0, RTL_Q_dispatched, 150, -1);
	harness_send(h, &f);
	harness_wait_commit(h, 3);
	harness_wait(h, STORE_OVER_QUOTA);
	assert_non_null(strstr(h->answer.text, "more than 1 records a second"));
	harness_close(h);
	assert_false(h->answer.complete);
	assert_non_null(strstr(h->answer.text, "150 dispatched, 90 stored, 60 dropped (quota 60"));
	assert_number(h->path, OVER_QUOTA, 60);
	assert_number(h->path,
		"SELECT first_seq * 1000 + last_seq FROM rtl_loss_interval WHERE reason = "
		"'dropped_quota'",
		60119);
	assert_number(
		h->path, "SELECT count(*) FROM rocpd_op WHERE sequenceId BETWEEN 60 AND 119", 0);
	harness_check_books(h->path);
}

STORE_CASE(new_limits_hold_for_an_open_session)
{
	const struct store_limits wider = {.quota = {.records_per_s = 1, .burst_s = 200}};
	struct frames f = {0}, later = {0};

	restart(h, 100);
	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 60);
	peer_add_dispatches(&f, 2, 1, 60, 60); /* 40 are left */
	harness_send(h, &f);
	harness_wait_commit(h, 2);
	harness_wait(h, STORE_OVER_QUOTA);
	assert_int_equal(store_limit(h->store, &wider), 0);
	/* More than the old limits have left, less than the new ones. */
	peer_add_dispatches(&later, 3, 1, 120, 150);
	peer_add_counters(&later, 0, RTL_Q_dispatched, 270, -1);
	harness_send(h, &later);
	harness_wait_commit(h, 3);
	harness_close(h);
	assert_non_null(strstr(h->answer.text, "270 dispatched, 210 stored, 60 dropped (quota 60"));
	harness_check_books(h->path);
}

STORE_CASE(first_limits_hold_for_an_open_session)
{
	const struct store_limits first = {.quota = {.records_per_s = 1, .burst_s = 100}};
	struct frames f = {0}, later = {0};

	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 60);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	assert_int_equal(store_limit(h->store, &first), 0);
	/* All of the first, then less than the bucket has left. */
	peer_add_dispatches(&later, 2, 1, 60, 60);
	peer_add_dispatches(&later, 3, 1, 120, 60);
	peer_add_counters(&later, 0, RTL_Q_dispatched, 180, -1);
	harness_send(h, &later);
	harness_wait_commit(h, 3);
	harness_close(h);
	assert_non_null(strstr(h->answer.text, "180 dispatched, 120 stored, 60 dropped (quota 60"));
	harness_check_books(h->path);
}

/* 60 dispatches of @uid; the words of the end. */
static void store_as(struct harness *h, uid_t uid, const char *path)
{
	struct store_session_params params = {
		.name = "job", .job = "job", .path = path, .uid = uid, .create = STORE_NEW};
	struct frames f = {0};

	assert_int_equal(store_session_open(h->store, &params, h, &h->session), 0);
	harness_wait(h, STORE_OPENED);
	harness_open_process(h, 1, 0);
	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	peer_add_dispatches(&f, 1, 1, 0, 60);
	peer_add_counters(&f, 0, RTL_Q_dispatched, 60, -1);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	harness_close(h);
	assert_int_equal(unlink(path), 0);
	h->session = store_session_free(h->session);
}

/* They are one tenant's. */
STORE_CASE(all_uids_of_a_store_have_one_bucket)
{
	struct store_config config = {.limits = {.records_per_s = 1, .burst_s = 100}};

	h->store = store_free(h->store);
	assert_int_equal(store_new(&config, &h->store), 0);
	store_as(h, 200001, h->path);
	assert_non_null(strstr(h->answer.text, "60 dispatched, 60 stored"));
	store_as(h, 200002, h->path); /* a frame is granted whole, or not */
	assert_non_null(strstr(h->answer.text, "60 dispatched, 0 stored, 60 dropped (quota 60"));
}

/* Bad frames are refused, whichever process sends them. */
STORE_CASE(nonsense_over_quota)
{
	struct frames f = {0};

	restart(h, 10);
	harness_open_timed(h, &f);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	peer_add_dispatches(&f, 2, 77, 10, 10);
	harness_send(h, &f);
	for (h->answer.kind = STORE_OPENED; h->answer.kind != STORE_BAD_FRAME;) {
		store_answer_done(&h->answer);
		if (!store_next_answer(h->store, &h->answer))
			h->answer.kind = STORE_OPENED;
	}
	assert_int_equal(h->answer.frame, 0);
	assert_int_equal(store_process_end(h->process, -1, STORE_ENDED_EXITED, 0), 0);
	harness_wait(h, STORE_PROCESS_ENDED);
	assert_int_equal(h->answer.frame, 1);
	assert_number(h->path, OVER_QUOTA, 0);
	/* What was refused is not told as dropped, either. */
	assert_int_equal(store_session_close(h->session, 0), 0);
	do {
		store_answer_done(&h->answer);
		if (!store_next_answer(h->store, &h->answer))
			h->answer.kind = STORE_OPENED;
		assert_int_not_equal(h->answer.kind, STORE_OVER_QUOTA);
		assert_int_not_equal(h->answer.kind, STORE_WITHIN_QUOTA);
	} while (h->answer.kind != STORE_CLOSED);
}

/* A rank that was killed is read to its end; what is too much of that is counted. */
STORE_CASE(recorder_over_quota)
{
	struct hand_recorder *r = hand_recorder_new(1);

	restart(h, 3);
	harness_open(h);
	for (unsigned i = 0; i < HAND_SLOTS; i++)
		hand_recorder_slot(r, i, i < 6 ? SLOT_DONE : SLOT_SUBMITTED, i, 0);
	r->header.slots_used = HAND_SLOTS;
	r->header.queues_used = 1;
	r->queue[0].in_use = 1;
	r->queue[0].producer[RTL_Q_dispatched] = HAND_SLOTS;
	hand_recorder_marker(r, 0, 1, 0, "late");
	assert_int_equal(
		store_process_end(h->process, hand_recorder_memfd(r), STORE_ENDED_KILLED, 128 + 9),
		0);
	free(r);
	harness_wait(h, STORE_PROCESS_ENDED);
	assert_int_equal(store_session_close(h->session, -1), 0);
	harness_wait(h, STORE_WITHIN_QUOTA);
	assert_string_equal(strchr(h->answer.text, ':'), ": 3 records granted, 6 dropped");
	harness_wait(h, STORE_CLOSED);
	assert_non_null(strstr(h->answer.text, "8 dispatched, 3 stored, 5 dropped (quota 5"));
	assert_non_null(strstr(h->answer.text, "1 marker dropped"));
	assert_number(h->path, OVER_QUOTA, 5);
	harness_check_books(h->path);
}

/* ---- definitions ----------------------------------------------------------------------------- */

#define MEMORY_BYTES (4u << 20)
#define CROWD	     24u
#define NAMES	     200u
#define NAME_BYTES   4000u

static void restart_small(struct harness *h, uint64_t memory_bytes, uint64_t names_per_day)
{
	struct store_config config = {
		.limits = {.memory_bytes = memory_bytes, .names_per_day = names_per_day}};

	h->store = store_free(h->store);
	assert_int_equal(store_new(&config, &h->store), 0);
}

/* A process of names of its own, each of which one dispatch uses. */
static void define_many(struct harness *h, uint8_t token)
{
	struct frames f = {0};
	char name[NAME_BYTES];

	harness_open_process(h, token, token);
	peer_add_anchors(&f, 1000000);
	memset(name, 'x', sizeof(name));
	for (uint32_t i = 0; i < NAMES; i++) {
		int n = snprintf(name, sizeof(name), "kernel %u of %u ", i, token);

		name[n] = 'x';
		peer_add_kernel(&f, 10 + i, name, sizeof(name));
		peer_add_dispatches(&f, 1 + i, 10 + i, i, 1);
	}
	peer_add_bye(&f);
	harness_send(h, &f);
	harness_wait_commit(h, NAMES);
}

/* 19 MiB of names, twice, in a budget of four: half of that is for names, and all dispatches. */
STORE_CASE(names_beyond_memory)
{
	size_t before;
	int64_t kept;

	restart_small(h, MEMORY_BYTES, 0);
	harness_open_session(h, STORE_NEW);
	before = mallinfo2().uordblks;
	for (unsigned i = 0; i < CROWD; i++)
		define_many(h, (uint8_t)(i + 1));
	/* What the sanitizers' allocator holds is not told. */
	assert_true(mallinfo2().uordblks < before + 4 * MEMORY_BYTES);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	assert_non_null(strstr(h->answer.text, " names not kept"));
	assert_number(h->path, "SELECT count(*) FROM rocpd_op", CROWD * NAMES);
	kept = sql_number(h->path, "SELECT count(*) FROM rtl_kernel WHERE symbol GLOB 'kernel*'");
	assert_in_range(kept, 1, MEMORY_BYTES / 2 / NAME_BYTES);
	assert_number(h->path,
		"SELECT count(*) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id WHERE "
		"symbol GLOB 'kernel*'",
		kept);
	/* Each that is missing is counted once: where it was defined, or where it was used. */
	assert_true(sql_number(h->path,
			    "SELECT sum(count) FROM rtl_loss WHERE reason = 'names_left_out'") >=
		    CROWD * NAMES - kept);
	harness_check_books(h->path);
}

STORE_CASE(names_of_a_day)
{
	/* A name of 4,000 bytes is its symbol, too. */
	restart_small(h, 0, 50 * (2 * NAME_BYTES / NAME_PART_BYTES + 1));
	harness_open_session(h, STORE_NEW);
	define_many(h, 1);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	assert_number(h->path, "SELECT count(*) FROM rtl_kernel WHERE symbol GLOB 'kernel*'", 50);
	assert_number(
		h->path, "SELECT count FROM rtl_loss WHERE reason = 'names_left_out'", NAMES - 50);
}

/* Tables of numbers alone: a process past the budget is refused, and what it has taken is given
 * back. */
STORE_CASE(tables_beyond_memory)
{
	struct frames f = {0};

	restart_small(h, 1 << 20, 0);
	harness_open(h);
	peer_add_kernel(&f, PROCESS_SHAPES_MAX - 1, "far away", 8);
	harness_send(h, &f);
	for (h->answer.kind = STORE_OPENED; h->answer.kind != STORE_BAD_FRAME;) {
		store_answer_done(&h->answer);
		if (!store_next_answer(h->store, &h->answer))
			h->answer.kind = STORE_OPENED;
	}
	assert_non_null(strstr(h->answer.text, "than the collector keeps in memory"));
	assert_int_equal(store_process_end(h->process, -1, STORE_ENDED_EXITED, 0), 0);
	harness_wait(h, STORE_PROCESS_ENDED);
	harness_open_process(h, 2, 1);
	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	peer_add_dispatches(&f, 1, 1, 0, 10);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
}

/* Records that can be left out leave room for names, and names for what records need. */
TEST_CASE(memory_goes_by_need)
{
	struct quota_account account = {.limits = {.memory_bytes = 1000}};

	assert_true(quota_has_memory(&account, 250, QUOTA_CACHE));
	quota_charge(&account, 250);
	assert_false(quota_has_memory(&account, 1, QUOTA_CACHE));
	assert_true(quota_has_memory(&account, 250, QUOTA_NAMES));
	quota_charge(&account, 250);
	assert_false(quota_has_memory(&account, 1, QUOTA_NAMES));
	assert_true(quota_has_memory(&account, 500, QUOTA_TABLES));
	assert_false(quota_has_memory(&account, 501, QUOTA_TABLES));
	assert_true(quota_has_memory(NULL, UINT64_MAX, QUOTA_CACHE));
}

TEST_CASE(what_is_rolled_back)
{
	const struct quota_limits limits = {.records_per_s = 1, .burst_s = 100, .names_per_day = 3};
	struct quota first = {0}, second = {0}, none = {0};
	struct quota_account account = {0};

	quota_limit(&account, &limits);
	first.account = second.account = &account;
	assert_true(quota_take(&first, 80, 0));
	assert_false(quota_take(&second, 80, 0)); /* of the same tenant */
	quota_rollback(&first);
	assert_true(quota_take(&second, 80, 0));
	quota_return(&second, 80, 0);
	assert_true(quota_take(&second, 90, 0));
	assert_false(quota_take(&second, 90, 0));
	quota_commit(&second);
	assert_int_equal(second.total.granted, 90);
	assert_int_equal(second.total.dropped, 170);
	assert_int_equal(first.total.granted + first.total.dropped, 0);
	assert_true(quota_take(&none, UINT64_MAX, UINT64_MAX));
	assert_true(quota_take_name(&second, 1) && quota_take_name(&first, 2));
	assert_false(quota_take_name(&first, 1));
	quota_rollback(&first);
	assert_false(quota_take_name(&first, 3));
	assert_true(quota_take_name(&first, 2));
	quota_commit(&first);
	quota_rollback(&first);
	assert_false(quota_take_name(&second, 1));
	assert_true(quota_take_name(&none, 1));
}

#define BOOKS_BYTES (1u << 20)

/* A queue pays for its later losses when it is accepted. */
TEST_CASE(a_queue_pays_for_its_losses)
{
	const struct quota_limits limits = {.memory_bytes = BOOKS_BYTES};
	uint64_t value[RTL_Q_COUNT];
	struct ledger ledger = {0};
	struct quota_account account = {0};
	size_t before;
	uint32_t queues = 0;

	for (unsigned i = 0; i < RTL_Q_COUNT; i++)
		value[i] = 5;
	quota_limit(&account, &limits);
	ledger.account = &account;
	before = mallinfo2().uordblks;
	for (; ledger_has_room(&ledger, queues); queues++)
		assert_int_equal(
			ledger_take_queue(&ledger, queues, false, 0, value, RTL_Q_COUNT), 0);
	assert_in_range(queues, 1,
		BOOKS_BYTES /
			(sizeof(struct ledger_queue) + LEDGER_QUEUE_LOSSES * losses_entry_bytes()));
	assert_true(mallinfo2().uordblks < before + BOOKS_BYTES);
	ledger_done(&ledger);
	assert_int_equal(ledger.account->memory_bytes, 0);
}

/* Number of queues that a scan, or the end of the process, takes. */
static unsigned queues_of(struct process *process, bool is_last)
{
	static struct recorder_queue queue[RECORDER_QUEUES];
	static struct recorder_reader reader;
	unsigned count;

	for (unsigned q = 0; q < RECORDER_QUEUES; q++)
		queue[q].in_use = 1;
	if (!is_last)
		assert_int_equal(
			recorder_books_counters(process, &reader, queue, RECORDER_QUEUES, 1), 0);
	for (unsigned q = 0; is_last && q < RECORDER_QUEUES; q++)
		assert_int_equal(recorder_books_queue(process, &queue[q], q), 0);
	count = HASH_COUNT(process->ledger.queues);
	ledger_done(&process->ledger);
	return count;
}

/* A live process has no more books than its share of memory; of a process that ended all are read,
 * and given back. */
TEST_CASE(a_look_makes_no_books_beyond_memory)
{
	const struct quota_limits limits = {.memory_bytes = BOOKS_BYTES};
	static struct process process;
	struct quota_account account = {0};

	quota_limit(&account, &limits);
	process.ledger.account = &account;
	assert_in_range(queues_of(&process, false), 1, BOOKS_BYTES / sizeof(struct ledger_queue));
	assert_int_equal(queues_of(&process, true), RECORDER_QUEUES);
	assert_int_equal(process.ledger.account->memory_bytes, 0);
}
