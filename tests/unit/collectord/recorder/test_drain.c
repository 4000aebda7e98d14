// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectord/recorder/reader.h"
#include "tests/unit/collectord/recorder/ends.h"

/* Each state of a slot with each label, where frames 1 (stored) and 2 (in a cell) are published. */
STORE_CASE(every_slot_goes_where_the_rules_say)
{
	static const struct {
		uint32_t state;
		uint64_t label;
		int rows;
		int outstanding;
		int corrupt;
	} rule[] = {
		{SLOT_FREE, 0, 0, 0, 0},
		{SLOT_FREE, 1, 0, 0, 0},
		{SLOT_FREE, 3, 0, 0, 0},
		{SLOT_DONE, 0, 1, 0, 0},
		{SLOT_DONE, 1, 0, 0, 0},
		{SLOT_DONE, 2, 0, 0, 0},
		{SLOT_DONE, 3, 1, 0, 0},
		{SLOT_SUBMITTED, 0, 0, 1, 0},
		{SLOT_ENDED, 0, 1, 0, 0},
		{4, 0, 0, 0, 1},
		{0xffffffff, 0, 0, 0, 1},
	};

	harness_open_session(h, STORE_NEW);
	for (size_t i = 0; i < sizeof(rule) / sizeof(rule[0]); i++) {
		struct hand_recorder *r = hand_recorder_new((uint8_t)(i + 1));
		int64_t rows_before, outstanding_before = outstanding(h);
		int64_t corrupt_before = loss(h, "corrupt_slot");
		/* A label of a published frame belongs to a record of that frame. */
		uint64_t seq = rule[i].label == 1 ? 3 : rule[i].label == 2 ? 13 : 20;

		harness_open_process(h, (uint8_t)(i + 1), 0);
		send_first(h);
		rows_before = rows(h);
		publish(r, 2, 10, 10);
		hand_recorder_slot(r, 5, rule[i].state, seq, rule[i].label);
		r->queue[0].producer[RTL_Q_dispatched] = 20 + (seq == 20 && rule[i].state);
		end_with(h, r, STORE_ENDED_KILLED);
		assert_int_equal(h->answer.frame, 2);
		assert_int_equal(rows(h) - rows_before, 10 + rule[i].rows);
		assert_int_equal(outstanding(h) - outstanding_before, rule[i].outstanding);
		assert_int_equal(loss(h, "corrupt_slot") - corrupt_before, rule[i].corrupt);
		assert_int_equal(account(h, "pending"), 0);
	}
	assert_number(h->path,
		"SELECT count(*) FROM rtl_process WHERE drained = 1 AND ended = 'killed' AND "
		"exit_status = 137",
		sizeof(rule) / sizeof(rule[0]));
}

static int64_t markers(struct harness *h, const char *where)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM rtl_marker WHERE %s", where);
	return sql_number(h->path, sql);
}

/* Each state of a ring's entry, where frames 1 (stored) and 2 (in a cell) are published. */
STORE_CASE(every_marker_goes_where_the_rules_say)
{
	static const struct {
		uint64_t turn, frame;
		int rows;
	} rule[] = {
		{0, 0, 0}, /* never taken */
		{1, 0, 1},
		{1, 1, 0},
		{1, 2, 0},
		{1, 3, 1},
		{4, 0, 0}, /* given back, or taken and not published */
		{4, 2, 0},
		{5, 0, 1}, /* a lap later */
		{5, 2, 0},
		{2, 0, 0}, /* lies */
		{UINT64_MAX, 0, 0},
	};

	harness_open_session(h, STORE_NEW);
	for (size_t i = 0; i < sizeof(rule) / sizeof(rule[0]); i++) {
		struct hand_recorder *r = hand_recorder_new((uint8_t)(i + 1));
		int64_t before = markers(h, "true");

		harness_open_process(h, (uint8_t)(i + 1), 0);
		send_first(h);
		publish(r, 2, 10, 10);
		hand_recorder_marker(r, 2, 9, rule[i].frame, "left")->event.turn = rule[i].turn;
		r->queue[0].producer[RTL_Q_dispatched] = 20;
		end_with(h, r, STORE_ENDED_KILLED);
		assert_int_equal(markers(h, "true") - before, rule[i].rows);
		assert_int_equal(loss(h, "corrupt_slot"), 0);
	}
	assert_int_equal(markers(h, "text = 'left' AND roctxId = 9 AND tid = 77"), 3);
}

/* A range that begins at the end of the ring and ends at its start, and one that stays open. */
STORE_CASE(markers_are_taken_oldest_first)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	hand_recorder_marker(r, 7, 1, 0, "outer")->kind = RTL_MARKER_BEGIN_PUSH;
	hand_recorder_marker(r, 8, 1, 0, "")->kind = RTL_MARKER_END;
	hand_recorder_marker(r, 9, 2, 0, "open")->kind = RTL_MARKER_BEGIN_START;
	hand_recorder_marker(r, 10, 3, 0, "rubbish")->kind = 99;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_int_equal(markers(h, "text = 'outer' AND end_ns IS NOT NULL"), 1);
	assert_int_equal(markers(h, "text = 'open' AND kind = 'start' AND end_ns IS NULL"), 1);
	assert_int_equal(markers(h, "true"), 2);
	assert_int_equal(loss(h, "corrupt_slot"), 1);
}

/* Calls in the spare ring, which a flood fills, are taken by the same rule. */
STORE_CASE(spare_calls_are_taken_like_others)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	for (unsigned i = 0; i < HAND_CALLS; i++)
		r->spare_call[i] = (struct recorder_call){.event.turn = i == 1 ? 0 : 1,
			.id = 900 + i,
			.api = 1,
			.kind = RECORDER_CALL_HOST,
			.start_ns = PEER_ZERO_NS,
			.end_ns = PEER_ZERO_NS + 10};
	r->header.spare_calls_used = HAND_CALLS - 1;
	end_with(h, r, STORE_ENDED_KILLED);
	/* The second is not whole, the last was never taken. */
	assert_text(h->path, "SELECT group_concat(id & 0xffff) FROM rtl_host_call", "900,902");
}

STORE_CASE(metrics_and_names_are_kept)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	hand_recorder_marker(r, 0, 1, 0, "loss=1.5 lr=3e-4");
	hand_recorder_marker(r, 1, 2, 0, "loss=0.5");
	hand_recorder_marker(r, 2, 3, 0, "old")->kind = RTL_MARKER_NAME_STREAM;
	hand_recorder_marker(r, 3, 4, 0, "compute")->kind = RTL_MARKER_NAME_STREAM;
	r->marker[2].parent = r->marker[3].parent = 0x7f00;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_text(h->path,
		"SELECT group_concat(name || step || '=' || value) FROM (SELECT * FROM rtl_metric "
		"ORDER BY name, step)",
		"loss0=1.5,loss1=0.5,lr0=0.0003");
	assert_text(h->path, "SELECT kind || subject || name FROM rtl_name", "stream32512compute");
	assert_int_equal(markers(h, "kind = 'mark'"), 2);
}

/* No connection brought it, and no process of the session lives that it could be compared with. */
STORE_CASE(a_rank_that_only_the_recorder_has_is_the_rank)
{
	struct hand_recorder *r = hand_recorder_new(1);
	Rtl__RankDef rank = RTL__RANK_DEF__INIT;
	struct frames f = {0};
	uint8_t *bytes;
	size_t count;

	rank.has_rank = rank.has_world_size = true;
	rank.rank = 5;
	rank.world_size = 8;
	frames_add_rank(&f, &rank);
	bytes = frames_take(&f, &count);
	assert_true(count <= sizeof(r->define) - r->header.define_bytes);
	memcpy(r->define + r->header.define_bytes, bytes, count);
	r->header.define_bytes += count;
	free(bytes);
	harness_open(h);
	end_with(h, r, STORE_ENDED_KILLED);
	assert_text(h->path, "SELECT rank || ' of ' || world_size FROM rtl_process", "5 of 8");
}

STORE_CASE(a_slot_row_equals_a_frame_row)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	send_first(h);
	/* The same kernel at the same place, a hundred numbers later. */
	hand_recorder_slot(r, 0, SLOT_DONE, 109, 0);
	r->queue[0].producer[RTL_Q_dispatched] = 110;
	r->queue[0].producer[RTL_Q_dropped_recorder_full] = 99;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_number(h->path,
		"SELECT count(*) FROM rocpd_op a, rocpd_op b WHERE a.sequenceId = 9 AND "
		"b.sequenceId = 109 AND b.start - a.start = 100000 AND b.\"end\" - b.start = "
		"a.\"end\" - a.start AND b.submit_ns - a.submit_ns = 100000 AND a.tid = b.tid AND "
		"a.description_id = b.description_id AND a.gpuId = b.gpuId AND a.gridX = b.gridX "
		"AND a.completionSignal = b.completionSignal",
		1);
	/* What a dispatch repeats is there once, whichever way it came. */
	assert_number(h->path, "SELECT count(*) FROM rtl_shape", 1);
	assert_int_equal(loss(h, "dropped_recorder_full"), 99);
}

/* The process ended without a harvester: dispatches with times, without times, and of a kernel
 * without a name. */
STORE_CASE(what_its_program_saw_end_is_stored_and_not_outstanding)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	for (unsigned i = 0; i < 4; i++) {
		hand_recorder_slot(r, i, SLOT_ENDED, i, 0);
		/* A packet's reserved byte. */
		r->slot[i].untimed = 0xff;
	}
	r->slot[1].end_tick = RECORDER_NO_TICK | 7;
	r->slot[2].end_tick = 0;
	r->slot[3].symbol = 0;
	r->slot[3].start_tick = 0xabc0;
	r->queue[0].producer[RTL_Q_dispatched] = 4;
	r->queue[0].producer[RTL_Q_signals_injected] = 4;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_int_equal(rows(h), 4);
	assert_int_equal(outstanding(h), 0);
	assert_int_equal(loss(h, "untimed_timestamp_invalid"), 3);
	assert_int_equal(loss(h, "corrupt_slot"), 0);
	assert_text(h->path,
		"SELECT group_concat(sequenceId) FROM rocpd_op WHERE start IS NOT NULL", "0");
	assert_number(h->path,
		"SELECT count(*) FROM rocpd_op JOIN rtl_kernel k ON k.id = description_id WHERE "
		"k.name = 'kernel@0xabc0'",
		1);
	/* So that `rtl info --counters` adds up. */
	assert_number(h->path,
		"SELECT value FROM rtl_counter WHERE queueId = 0 AND name = 'recorded'", 1);
	assert_number(h->path,
		"SELECT value FROM rtl_counter WHERE queueId = 0 AND name = "
		"'untimed_timestamp_invalid'",
		3);
}

STORE_CASE(frames_of_the_outbox_are_stored_once)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	send_first(h);
	/* Cell 1 was acknowledged and still holds its bytes; 2 to 4 were never read. */
	publish(r, 1, 0, 10);
	publish(r, 2, 10, 10);
	publish(r, 3, 20, 10);
	publish(r, 4, 30, 5);
	r->queue[0].producer[RTL_Q_dispatched] = 36;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_int_equal(rows(h), 35);
	assert_number(h->path, "SELECT hw_frame FROM rtl_process", 4);
	/* Raised by a thread that died before it took a slot. */
	assert_int_equal(account(h, "torn"), 1);
	assert_int_equal(account(h, "pending"), 0);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	assert_string_equal(h->answer.text, "INCOMPLETE: 36 dispatched, 35 stored, 0 dropped, 0 "
					    "untimed, 0 outstanding, 1 torn (rank 0 queue 0)");
}

STORE_CASE(everything_can_come_from_the_recorder)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	publish(r, 1, 0, 10);
	r->queue[0].producer[RTL_Q_dispatched] = 10;
	r->header.process[RTL_P_queues_created] = 2;
	end_with(h, r, STORE_ENDED_EXITED);
	assert_int_equal(rows(h), 10);
	assert_number(h->path,
		"SELECT count(*) FROM rocpd_op WHERE start = 1000000000000 + 10 * (1000 + 100 * "
		"sequenceId)",
		10);
	assert_number(h->path,
		"SELECT value FROM rtl_counter WHERE queueId IS NULL AND name = 'queues_created'",
		2);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	assert_string_equal(h->answer.text, "complete: 10 dispatched, 10 stored");
}

/* The last frame: its slots are still there, so its records come from them. */
STORE_CASE(a_torn_last_cell_is_read_from_its_slots)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	send_first(h);
	publish(r, 2, 10, 3);
	((struct recorder_cell *)(void *)r->cell[2])->checksum ^= 1;
	for (unsigned i = 0; i < 3; i++)
		hand_recorder_slot(r, i, SLOT_DONE, 10 + i, 2);
	r->queue[0].producer[RTL_Q_dispatched] = 13;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_int_equal(rows(h), 13);
	assert_number(h->path, "SELECT hw_frame FROM rtl_process", 1);
	assert_int_equal(loss(h, "corrupt_frames"), 1);
	assert_int_equal(loss(h, "dropped_malformed"), 0);
}

STORE_CASE(a_corrupt_cell_in_the_middle_costs_its_records_only)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	send_first(h);
	publish(r, 2, 10, 10);
	r->cell[2][sizeof(struct recorder_cell) + 20] ^= 0x40;
	publish(r, 3, 20, 10);
	r->queue[0].producer[RTL_Q_dispatched] = 30;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_int_equal(rows(h), 20);
	assert_int_equal(loss(h, "dropped_malformed"), 10);
	assert_int_equal(account(h, "dropped"), 10);
	assert_int_equal(account(h, "torn"), 0);
	assert_int_equal(account(h, "pending"), 0);
}

/* A cell whose bytes are whole, but are no frame of this number. */
STORE_CASE(a_cell_that_lies_about_its_number_is_not_stored)
{
	struct hand_recorder *r = hand_recorder_new(1);
	struct frames f = {0};

	harness_open(h);
	send_first(h);
	peer_add_dispatches(&f, 7, 1, 10, 10);
	hand_recorder_cell(r, 2, &f, 10);
	r->queue[0].producer[RTL_Q_dispatched] = 20;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_int_equal(rows(h), 10);
	assert_int_equal(loss(h, "corrupt_frames"), 1);
}

STORE_CASE(an_outstanding_dispatch_has_its_name)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	hand_recorder_slot(r, 0, SLOT_SUBMITTED, 0, 0);
	hand_recorder_slot(r, 1, SLOT_SUBMITTED, 1, 0);
	r->slot[1].symbol = 0;
	r->slot[1].start_tick = 0xabc0;
	r->queue[0].producer[RTL_Q_dispatched] = 2;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_text(h->path,
		"SELECT group_concat(s.string || ' ' || gpuId || ' ' || sequenceId) FROM "
		"rtl_outstanding o JOIN rocpd_string s ON s.id = o.description_id",
		"alpha 3 0,kernel@0xabc0 3 1");
	assert_int_equal(account(h, "outstanding"), 2);
	assert_int_equal(account(h, "pending"), 0);
}

STORE_CASE(a_slot_without_times_is_untimed)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	hand_recorder_slot(r, 0, SLOT_DONE, 0, 0);
	hand_recorder_slot(r, 1, SLOT_DONE, 1, 0);
	r->slot[0].untimed = RTL_UNTIMED_SHARED;
	r->slot[1].end_tick = r->slot[1].start_tick - 1;
	r->queue[0].producer[RTL_Q_dispatched] = 2;
	end_with(h, r, STORE_ENDED_KILLED);
	assert_text(h->path, "SELECT group_concat(reason) FROM rocpd_op",
		"untimed_shared,untimed_timestamp_invalid");
	assert_int_equal(account(h, "untimed"), 2);
}

STORE_CASE(a_shim_that_died_early_left_nothing)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	memset(r, 0, sizeof(*r));
	end_with(h, r, STORE_ENDED_KILLED);
	assert_number(h->path, "SELECT drained FROM rtl_process", 1);
	assert_number(h->path, "SELECT count(*) FROM rtl_loss", 0);
}

/* After a Bye nothing may be left, and nothing is. */
STORE_CASE(a_clean_recorder_adds_nothing)
{
	struct hand_recorder *r = hand_recorder_new(1);
	struct frames f = {0};

	harness_open(h);
	send_first(h);
	peer_add_bye(&f);
	harness_send(h, &f);
	publish(r, 1, 0, 10);
	hand_recorder_slot(r, 0, SLOT_FREE, 9, 1);
	r->header.bye = 1;
	r->queue[0].producer[RTL_Q_dispatched] = 10;
	end_with(h, r, STORE_ENDED_EXITED);
	assert_int_equal(rows(h), 10);
	assert_int_equal(store_session_close(h->session, 0), 0);
	harness_wait(h, STORE_CLOSED);
	assert_string_equal(h->answer.text, "complete: 10 dispatched, 10 stored");
}

/* Most of a recorder is slots. What a liar has in them is missing, and said to be. */
STORE_CASE(after_a_bye_no_slot_is_read)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	send_first(h);
	publish(r, 2, 10, 2);
	hand_recorder_slot(r, 0, SLOT_DONE, 12, 0);
	hand_recorder_slot(r, 1, SLOT_SUBMITTED, 13, 0);
	r->header.bye = 1;
	r->queue[0].producer[RTL_Q_dispatched] = 14;
	end_with(h, r, STORE_ENDED_EXITED);
	assert_int_equal(rows(h), 12);
	assert_int_equal(outstanding(h), 0);
	assert_int_equal(account(h, "torn"), 2);
	assert_int_equal(account(h, "pending"), 0);
}

/* The slots were copied before the cells: a record that moved on meanwhile is not both. */
STORE_CASE(a_living_process_is_not_counted_twice)
{
	struct hand_recorder *r = hand_recorder_new(1);

	harness_open(h);
	send_first(h);
	publish(r, 2, 10, 2);
	hand_recorder_slot(r, 0, SLOT_SUBMITTED, 10, 0);
	hand_recorder_slot(r, 1, SLOT_DONE, 11, 0);
	hand_recorder_slot(r, 2, SLOT_SUBMITTED, 12, 0);
	r->queue[0].producer[RTL_Q_dispatched] = 14;
	end_with(h, r, STORE_ENDED_DETACHED);
	assert_int_equal(rows(h), 12);
	assert_int_equal(outstanding(h), 1);
	assert_int_equal(account(h, "outstanding"), 2);
	assert_int_equal(account(h, "pending"), 0);
	assert_int_equal(loss(h, "unknown_tail"), -1);
	assert_text(h->path, "SELECT ended FROM rtl_process", "detached");
}

/* The rings and slots take megabytes, of which a short program has written a page or none. */
STORE_CASE(zeros_at_the_end_of_a_region_are_left_out)
{
	const struct recorder_region region = {.offset = 4096, .count = 640, .stride = 1088};
	struct recorder_reader reader = {.fd = memfd_create("holes", MFD_CLOEXEC)};
	const char byte = 1;

	assert_true(reader.fd >= 0);
	assert_int_equal(ftruncate(reader.fd, 1 << 20), 0);
	/* What lies before it and behind it is not its own. */
	assert_int_equal(pwrite(reader.fd, &byte, 1, 4095), 1);
	assert_int_equal(pwrite(reader.fd, &byte, 1, 4096 + 640 * 1088), 1);
	assert_int_equal(recorder_reader_written(&reader, &region, region.count), 0);
	/* An element's first byte, and its last. */
	assert_int_equal(pwrite(reader.fd, &byte, 1, 4096 + 5 * 1088), 1);
	assert_int_equal(recorder_reader_written(&reader, &region, region.count), 6);
	assert_int_equal(pwrite(reader.fd, &byte, 1, 4096 + 8 * 1088 - 1), 1);
	assert_int_equal(recorder_reader_written(&reader, &region, region.count), 8);
	assert_int_equal(recorder_reader_written(&reader, &region, 7), 6);
	assert_int_equal(recorder_reader_written(&reader, &region, 0), 0);
	/* A hole between two that were written. */
	assert_int_equal(pwrite(reader.fd, &byte, 1, 4096 + 639 * 1088 + 7), 1);
	assert_int_equal(recorder_reader_written(&reader, &region, region.count), 640);
	close(reader.fd);
	/* It cannot be read: all of it. */
	assert_int_equal(recorder_reader_written(&reader, &region, region.count), 640);
}
