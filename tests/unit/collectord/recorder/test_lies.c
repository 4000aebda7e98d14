// SPDX-License-Identifier: MIT
/* Recorders that lie: no word of them is believed that was not looked at. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/collectord/recorder/ends.h"

/* Lies in the header: nothing of it is believed, and the tail is unknown. */
STORE_CASE(a_bad_header_is_not_believed)
{
	harness_open_session(h, STORE_NEW);
	for (uint8_t lie = 0; lie < 18; lie++) {
		struct hand_recorder *r = hand_recorder_new((uint8_t)(lie + 1));
		struct recorder_header *header = &r->header;

		harness_open_process(h, (uint8_t)(lie + 1), 0);
		publish(r, 1, 0, 10);
		switch (lie) {
		case 0:
			header->magic++;
			break;
		case 1:
			header->layout++;
			break;
		case 2:
			header->header_bytes--;
			break;
		case 3:
			header->total_bytes *= 2;
			break;
		case 4:
			header->slots.offset = UINT64_MAX - 8;
			break;
		case 5:
			header->slots.count = 1u << 30;
			break;
		case 6:
			header->slots.stride = 1;
			break;
		case 7:
			header->cells.count = 0;
			break;
		case 8:
			header->cells.stride = UINT32_MAX;
			break;
		case 9:
			header->queues.offset = header->total_bytes - 8;
			break;
		case 10:
			header->anchors.stride = 8;
			break;
		case 11:
			header->defines.count = UINT32_MAX;
			break;
		case 12:
			header->token[3] ^= 1;
			break;
		case 13:
			header->slots_used = HAND_SLOTS + 1;
			break;
		case 14:
			header->queues_used = UINT64_MAX;
			break;
		case 15:
			header->define_bytes = UINT64_MAX;
			break;
		case 16:
			header->spare_calls_used = HAND_CALLS + 1;
			break;
		case 17:
			header->spare_calls.count = UINT32_MAX;
			break;
		}
		end_with(h, r, STORE_ENDED_KILLED);
	}
	assert_int_equal(rows(h), 0);
	assert_int_equal(loss(h, "bad_recorder"), 18);
	assert_int_equal(loss(h, "unknown_tail"), -18);
	assert_number(h->path, "SELECT count(*) FROM rtl_process WHERE drained = 1", 0);
}

/* Lies further in: each costs what it covers, never the daemon. */
STORE_CASE(rubbish_inside_costs_only_itself)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	send_first(h);
	memset(r->define, 0xff, 64);
	publish(r, 2, 10, 10);
	hand_recorder_slot(r, 0, SLOT_DONE, 20, 0);
	r->slot[0].queue = 7;
	hand_recorder_slot(r, 1, SLOT_DONE, UINT64_MAX, 0);
	hand_recorder_slot(r, 2, SLOT_DONE, 21, 0);
	r->slot[2].untimed = 200;
	hand_recorder_slot(r, 3, SLOT_SUBMITTED, 22, 0);
	r->slot[3].marker = UINT64_MAX;
	hand_recorder_slot(r, 4, SLOT_DONE, 23, 0);
	r->slot[4].start_tick = UINT64_MAX - 5;
	r->slot[4].end_tick = UINT64_MAX;
	r->queue[1].gpu = 99;
	r->anchors[0].count = UINT64_MAX;
	r->queue[0].producer[RTL_Q_dispatched] = 24;
	r->queue[1].producer[RTL_Q_dispatched] = UINT64_MAX;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_int_equal(rows(h), 21);
	assert_int_equal(loss(h, "corrupt_slot"), 4);
	assert_int_equal(loss(h, "corrupt_defines"), 1);
	assert_int_equal(account(h, "torn"), 3);
	assert_int_equal(account(h, "pending"), 0);
}

/* A log of definitions that holds something else, or is cut within a frame. */
STORE_CASE(definitions_that_are_none_cost_what_is_behind_them)
{
	enum { ANOTHER_FRAME, NO_LENGTH, TOO_LONG, CUT, LIES };

	harness_open_session(h, STORE_NEW);
	for (uint8_t lie = 0; lie < LIES; lie++) {
		struct hand_recorder *r = hand_recorder_new((uint8_t)(lie + 1));
		struct frames f = {0};

		harness_open_process(h, (uint8_t)(lie + 1), 0);
		peer_add_bye(&f);
		switch (lie) {
		case ANOTHER_FRAME:
			memcpy(r->define, f.bytes, f.count);
			break;
		case NO_LENGTH:
			memset(r->define, 0, 4);
			break;
		case TOO_LONG:
			memset(r->define, 0x7f, 4);
			break;
		case CUT:
			r->header.define_bytes--;
			break;
		}
		free(f.bytes);
		/* A queue that the program has not used yet, in another place for each. */
		r->queue[lie & 1].in_use = 0;
		hand_recorder_slot(r, 0, SLOT_SUBMITTED, 5, 0);
		r->slot[0].queue = !(lie & 1);
		r->slot[0].submit_ns = lie ? UINT64_MAX : 0;
		r->queue[!(lie & 1)].producer[RTL_Q_dispatched] = 6;
		end_with(h, r, STORE_ENDED_KILLED);
	}
	assert_int_equal(loss(h, "corrupt_defines"), LIES);
	assert_int_equal(outstanding(h), LIES);
	assert_number(
		h->path, "SELECT count(*) FROM rtl_outstanding WHERE submit_ns IS NOT NULL", 0);
	assert_number(h->path, "SELECT count(DISTINCT queueId) FROM rtl_outstanding", 2);
}

STORE_CASE(cells_whose_length_is_not_that_of_their_frame_cost_their_records)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	send_first(h);
	for (uint64_t number = 2; number <= 5; number++) {
		struct recorder_cell *cell = (struct recorder_cell *)r->cell[number % HAND_CELLS];

		publish(r, number, 10 * (number - 1), 10);
		cell->length = number == 2   ? 4 /* the prefix alone */
			       : number == 3 ? UINT32_MAX
			       : number == 4 ? cell->length + 1
					     : cell->length;
	}
	r->queue[0].producer[RTL_Q_dispatched] = 50;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_int_equal(rows(h), 20);
	assert_int_equal(loss(h, "dropped_malformed"), 30);
	assert_int_equal(account(h, "pending"), 0);
}

STORE_CASE(a_gpu_without_anchors_leaves_the_times_of_the_others)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	r->header.anchors.count = 1;
	publish(r, 1, 0, 10);
	r->queue[0].producer[RTL_Q_dispatched] = 10;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_int_equal(rows(h), 10);
	assert_number(h->path, "SELECT count(*) FROM rocpd_op WHERE start IS NULL", 0);
}

STORE_CASE(a_recorder_that_was_never_ready_holds_nothing)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	publish(r, 1, 0, 10);
	r->header.ready = 0;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_int_equal(rows(h), 0);
	assert_number(h->path, "SELECT drained FROM rtl_process", 1);
}

STORE_CASE(a_memfd_cut_short_is_not_believed)
{
	int fd = memfd_create("short", MFD_CLOEXEC);

	harness_open(h);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(store_process_end(h->process, fd, STORE_ENDED_KILLED, -1), 0);
	harness_wait(h, STORE_PROCESS_ENDED);
	assert_int_equal(loss(h, "bad_recorder"), 1);
}

/* A file that lacks frames takes later ones, but for numbers that no file can hold. */
STORE_CASE(a_frame_of_an_impossible_number_is_not_behind_a_gap)
{
	struct hand_recorder *r = hand_recorder_new(1);
	const uint64_t number = UINT64_MAX - 3; /* of cell 0 */

	harness_open(h);
	send_first(h);
	/* A file that was not made by this life of the collector may lack some. */
	store_answer_done(&h->answer);
	memset(&h->answer, 0, sizeof(h->answer));
	h->store = store_free(h->store);
	assert_int_equal(store_new(&(struct store_config){0}, &h->store), 0);
	harness_open_session(h, STORE_RESUME);
	harness_open_process(h, 1, 0);
	publish(r, number, 10, 5);
	r->header.published = number;
	r->queue[0].producer[RTL_Q_dispatched] = 10;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_number(h->path, "SELECT hw_frame FROM rtl_process", 1);
	assert_int_equal(loss(h, "missing_frames"), 0);
	assert_int_equal(rows(h), 10);
}
