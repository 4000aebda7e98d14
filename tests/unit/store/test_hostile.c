// SPDX-License-Identifier: MIT
/*
 * Peers that lie: valid frames and recorders with bytes changed, the same ones in every run.
 * The store may refuse or believe them, but its books stay true to its rows, and it goes on
 * serving honest peers.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/checksum.h"
#include "proto/frame.h"
#include "tests/unit/store/harness.h"
#include "tests/unit/store/recorder.h"

#define ROUNDS 200

static uint32_t next_random(uint32_t *random)
{
	*random = *random * 1664525u + 1013904223u;
	return *random >> 8;
}

/* Changes up to eight bytes; small counts and lengths are what hurts, so small values. */
static void spoil(uint8_t *bytes, size_t count, uint32_t *random)
{
	uint32_t changes = 1 + next_random(random) % 8;

	while (changes--) {
		uint8_t *at = &bytes[next_random(random) % count];

		switch (next_random(random) % 4) {
		case 0:
			*at ^= (uint8_t)(1u << next_random(random) % 8);
			break;
		case 1:
			*at = 0xff;
			break;
		case 2:
			*at = (uint8_t)(next_random(random) % 16);
			break;
		default:
			*at = (uint8_t)next_random(random);
		}
	}
}

static void add_everything(struct frames *f)
{
	peer_add_defines(f);
	peer_add_anchors(f, 1000000);
	peer_add_dispatches(f, 1, 1, 0, 40);
	peer_add_counters(f, 0, RTL_Q_dispatched, 100, RTL_Q_dropped_recorder_full, 3, -1);
	peer_add_dispatches(f, 2, 2, 0, 40);
	peer_add_kernel(f, 3, "_Z3addPfS_.kd", 13);
	peer_add_dispatches(f, 3, 3, 40, 5);
}

/* A length that lies would only cut the stream: it is the frames that are to be spoilt. */
static void spoil_frames(struct frames *f, uint32_t *random)
{
	size_t at = 0;

	while (at < f->count) {
		uint32_t bytes = frame_get_length(f->bytes + at);

		at += FRAME_PREFIX_BYTES;
		if (next_random(random) % 3 == 0)
			spoil(f->bytes + at, bytes, random);
		at += bytes;
	}
}

static struct hand_recorder *spoilt_recorder(uint8_t token, uint32_t *random)
{
	struct hand_recorder *r = hand_recorder_new(token);
	struct frames f = {0};
	struct recorder_cell *cell;

	for (uint64_t number = 1; number <= 4; number++) {
		peer_add_dispatches(&f, number, 1, number * 40, 20);
		cell = hand_recorder_cell(r, number, &f, 20);
		/* Spoilt before it was published: the checksum is right, the frame is not. */
		if (next_random(random) % 2) {
			spoil((uint8_t *)(cell + 1) + FRAME_PREFIX_BYTES,
				cell->length - FRAME_PREFIX_BYTES, random);
			cell->checksum = checksum32(cell + 1, cell->length, number);
		}
	}
	for (unsigned i = 0; i < HAND_SLOTS; i++)
		hand_recorder_slot(r, i, i % 3, 300 + i, i % 7);
	for (unsigned i = 0; i < HAND_MARKERS; i++)
		hand_recorder_marker(r, i, i + 1, i, "mark")->kind = (uint16_t)(i + 1);
	r->queue[0].producer[RTL_Q_dispatched] = 400;
	spoil((uint8_t *)r->marker, sizeof(r->marker), random);
	spoil((uint8_t *)r->slot, sizeof(r->slot), random);
	spoil((uint8_t *)r->queue, sizeof(r->queue), random);
	spoil((uint8_t *)r->anchors, sizeof(r->anchors), random);
	spoil(r->define, (size_t)r->header.define_bytes, random);
	if (next_random(random) % 2)
		spoil((uint8_t *)&r->header, sizeof(r->header), random);
	return r;
}

/* Until the last answer of this process. */
static void wait_for_end(struct harness *h)
{
	struct pollfd poller = {.fd = store_answer_fd(h->store), .events = POLLIN};

	for (;;) {
		store_answer_done(&h->answer);
		if (!store_next_answer(h->store, &h->answer)) {
			memset(&h->answer, 0, sizeof(h->answer));
			assert_int_equal(poll(&poller, 1, 60000), 1);
			continue;
		}
		if (h->answer.kind == STORE_DEGRADED)
			fail_msg("degraded: %s", h->answer.text);
		if (h->answer.kind == STORE_PROCESS_ENDED || h->answer.kind == STORE_PROCESS_FAILED)
			return;
	}
}

static void one_liar(struct harness *h, uint8_t token, uint32_t random)
{
	struct hand_recorder *r;
	struct frames f = {0};
	size_t count;
	uint8_t *hello = peer_hello(token, token, &count);

	if (next_random(&random) % 4 == 0)
		spoil(hello, count, &random);
	assert_int_equal(store_process_open(h->session, hello, count, getuid(), 1000 + token, 4242,
				 h, &h->process),
		0);
	for (int connection = 0; connection < 3; connection++) {
		add_everything(&f);
		spoil_frames(&f, &random);
		harness_send(h, &f);
		assert_int_equal(store_process_reopen(h->process), 0);
	}
	r = spoilt_recorder(token, &random);
	assert_int_equal(store_process_end(h->process, hand_recorder_memfd(r),
				 token % 5 ? STORE_ENDED_KILLED : STORE_ENDED_DETACHED, -1),
		0);
	free(r);
	wait_for_end(h);
}

static void check_truth(struct harness *h)
{
	static const char *const none[] = {
		"SELECT count(*) FROM rtl_account WHERE pending < 0 OR dispatched <> skipped + "
		"timed + untimed + outstanding + dropped + torn + pending",
		"SELECT count(*) FROM rtl_queue q WHERE stored <> (SELECT count(*) FROM rocpd_op o "
		"WHERE o.process_id = q.process_id AND o.queueId = q.queueId)",
		"SELECT count(*) FROM rocpd_op WHERE (start IS NULL) <> (reason IS NOT NULL)",
		"SELECT count(*) FROM rocpd_op WHERE typeof(start) NOT IN ('integer', 'null') OR "
		"start < 0 OR \"end\" < start OR sequenceId < 0",
		"SELECT count(*) FROM rocpd_op o LEFT JOIN rtl_kernel k ON k.id = o.description_id "
		"WHERE k.id IS NULL",
	};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (harness_number(h->path, none[i]))
			fail_msg("not 0: %s", none[i]);
	assert_string_equal(harness_text(h->path, "PRAGMA integrity_check"), "ok");
}

static void liars_harm_only_themselves(void **state)
{
	struct harness *h = *state;
	struct frames f = {0};

	harness_open_session(h, STORE_NEW);
	for (uint32_t round = 1; round <= ROUNDS; round++)
		one_liar(h, (uint8_t)round, round * 2654435761u);
	check_truth(h);
	/* And an honest one among them. */
	harness_open_process(h, 250, 0);
	peer_add_defines(&f);
	peer_add_anchors(&f, 1000000);
	peer_add_dispatches(&f, 1, 1, 0, 100);
	harness_send(h, &f);
	harness_wait_commit(h, 1);
	assert_int_equal(harness_number(h->path, "SELECT count(*) FROM rocpd_op WHERE process_id = "
						 "(SELECT max(id) FROM rtl_process)"),
		100);
	/* Some of it was believed, some refused: else the test tests nothing. */
	assert_true(harness_number(h->path, "SELECT count(*) FROM rocpd_op") > 2000);
	assert_true(harness_number(h->path, "SELECT sum(count) FROM rtl_loss WHERE "
					    "reason = 'corrupt_frames'") > 20);
	assert_true(harness_number(h->path, "SELECT count(*) FROM rtl_loss WHERE "
					    "reason = 'bad_recorder'") > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			liars_harm_only_themselves, harness_setup, harness_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
