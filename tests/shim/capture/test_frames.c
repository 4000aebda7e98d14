// SPDX-License-Identifier: MIT
/* Frames, cells and slots: what is sent, what is kept, and where dispatches are dropped. */
#include "tests/shim/capture/fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/wire/frame.h"
#include "shim/capture/frames.h"
#include "shim/capture/harvest.h"

static void dispatch_many(struct fixture *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		fixture_dispatch(f, 0);
		fixture_step(f);
	}
}

CAPTURE_CASE(recorder_is_sealed_and_described_by_its_header)
{
	const struct recorder_header *header = f->recorder->header;

	assert_int_equal(
		fcntl(f->recorder->fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	assert_true(fcntl(f->recorder->fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(lseek(f->recorder->fd, 0, SEEK_END), header->total_bytes);
	assert_true(header->total_bytes <= RECORDER_BYTES_MAX);
	assert_int_equal(header->magic, RECORDER_MAGIC);
	assert_int_equal(header->pid, 1234);
	assert_int_equal(header->slots.count, RECORDER_SLOTS);
	assert_int_equal(header->cells.stride, RECORDER_CELL_BYTES);
	assert_int_equal((header->hello.offset + header->hello.count + 4095) / 4096 * 4096,
		header->total_bytes);
}

CAPTURE_CASE(partial_frame_waits_until_it_is_due)
{
	dispatch_many(f, 3);
	fixture_harvest(f, 1);
	assert_int_equal(f->reader->frames, 0);
	fixture_harvest(f, FLUSH_NS / 2);
	assert_int_equal(f->reader->frames, 0);
	fixture_harvest(f, FLUSH_NS / 2);
	assert_int_equal(f->reader->frames, 1);
	assert_int_equal(f->reader->records, 3);
}

CAPTURE_CASE(flush_publishes_a_partial_frame_at_once)
{
	dispatch_many(f, 3);
	(void)harvest_flush(f->capture, f->now_ns);
	assert_int_equal(reader_poll(f->reader, f->recorder), 1);
	assert_int_equal(capture_pending(f->capture), 0);
}

/* The reader takes nothing, so the numbers stay the same. */
CAPTURE_CASE(scarce_cells_take_only_full_frames)
{
	uint64_t before;

	while (recorder_unacked(f->recorder) <= RECORDER_CELLS / 4) {
		dispatch_many(f, 1);
		(void)harvest_run(f->capture, f->now_ns += FLUSH_NS);
		(void)harvest_run(f->capture, f->now_ns += FLUSH_NS);
	}
	before = recorder_published(f->recorder);
	dispatch_many(f, FRAME_RECORDS_MAX - 1);
	(void)harvest_run(f->capture, f->now_ns += FLUSH_NS);
	(void)harvest_run(f->capture, f->now_ns += FLUSH_NS);
	assert_int_equal(recorder_published(f->recorder), before);
	dispatch_many(f, 1);
	(void)harvest_run(f->capture, f->now_ns += FLUSH_NS);
	assert_int_equal(recorder_published(f->recorder), before + 1);
	fixture_harvest(f, 1);
	assert_int_equal(recorder_unacked(f->recorder), 0);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

CAPTURE_CASE(full_recorder_drops_counts_and_recovers)
{
	uint64_t dropped, capacity = RECORDER_CELLS * FRAME_RECORDS_MAX + RECORDER_SLOTS;

	for (uint64_t i = 0; i < capacity + 5000; i++) {
		fixture_dispatch(f, 0);
		fixture_step(f);
		if (i % 1000 == 0)
			(void)harvest_run(f->capture, f->now_ns += MS);
	}
	dropped = fixture_count(f, RTL_Q_dropped_recorder_full);
	assert_true(dropped >= 5000);
	assert_true(dropped < 25000);
	assert_int_equal(recorder_unacked(f->recorder), RECORDER_CELLS);
	/* Some are reserved for queues that have few. */
	assert_true(f->recorder->header->slots_used > RECORDER_SLOTS / 8 * 7);
	/* The application's packet had no signal and still has none. */
	assert_int_equal(f->queue->exec[f->queue->execs - 1].signal, 0);
	for (int i = 0; i < 300; i++)
		fixture_harvest(f, MS);
	dispatch_many(f, 100);
	for (int i = 0; i < 3; i++)
		fixture_harvest(f, FLUSH_NS);
	assert_int_equal(fixture_count(f, RTL_Q_dropped_recorder_full), dropped);
	check_against_device(f->capture, f->reader, f->queue, dropped);
}

CAPTURE_CASE(frames_sent_again_are_the_same_bytes)
{
	uint8_t copy[RECORDER_CELL_BYTES];
	const uint8_t *frame;
	uint64_t number;
	size_t bytes, again;

	for (int i = 0; i < 3; i++) {
		dispatch_many(f, 10);
		(void)harvest_flush(f->capture, f->now_ns += MS);
	}
	assert_true(recorder_next_unsent(f->recorder, &number, &frame, &bytes));
	assert_int_equal(number, 1);
	memcpy(copy, frame, bytes);
	recorder_sent(f->recorder, 1);
	assert_int_equal(recorder_acked(f->recorder, 2), -EPROTO);
	/* The connection is lost before the Ack; the collector has stored nothing. */
	assert_int_equal(recorder_resume(f->recorder, 0), 0);
	assert_true(recorder_next_unsent(f->recorder, &number, &frame, &again));
	assert_int_equal(number, 1);
	assert_int_equal(again, bytes);
	assert_memory_equal(frame, copy, bytes);
	recorder_sent(f->recorder, 1);
	assert_int_equal(f->recorder->header->process[RTL_P_sent_again], 1);
	/* Again, but the collector had committed two. */
	recorder_sent(f->recorder, 2);
	assert_int_equal(recorder_resume(f->recorder, 2), 0);
	assert_true(recorder_next_unsent(f->recorder, &number, &frame, &bytes));
	assert_int_equal(number, 3);
	assert_int_equal(recorder_unacked(f->recorder), 1);
	assert_int_equal(recorder_resume(f->recorder, 4), -EPROTO);
	assert_int_equal(recorder_resume(f->recorder, 0), 0);
	assert_true(recorder_next_unsent(f->recorder, &number, &frame, &bytes));
	assert_int_equal(number, 3);
	f->reader->hw = 2;
	fixture_harvest(f, 1);
	assert_int_equal(f->reader->records, 10);
}

static size_t pack_nothing(void *context, uint64_t number, uint8_t *at, size_t room)
{
	(void)number, (void)at, (void)room;
	++*(int *)context;
	return 0;
}

CAPTURE_CASE(number_of_a_frame_not_written_is_used_again)
{
	int calls = 0;
	struct batch_frame frame = {.pack = pack_nothing, .context = &calls};

	assert_int_equal(batch_put_frame(f->capture, &frame), -EMSGSIZE);
	assert_int_equal(calls, 1);
	dispatch_many(f, 1);
	(void)harvest_flush(f->capture, f->now_ns += MS);
	assert_int_equal(recorder_published(f->recorder), 1);
}

CAPTURE_CASE(define_log_keeps_a_reserve)
{
	uint8_t frame[4096] = {0};
	unsigned n = 0;

	frame_put_length(frame, sizeof(frame) - FRAME_PREFIX_BYTES);
	while (!recorder_define(f->recorder, frame, sizeof(frame), RECORDER_DEFINE_WAIT))
		n++;
	assert_true(n > 900 && n < 1024);
	assert_int_equal(
		recorder_define(f->recorder, frame, sizeof(frame), RECORDER_DEFINE_LAST), 0);
	/* With a full log shapes become coarse, but no record is lost. */
	dispatch_many(f, 100);
	(void)harvest_flush(f->capture, f->now_ns += MS);
	assert_int_equal(capture_pending(f->capture), 0);
	assert_true(f->recorder->header->process[RTL_P_shapes_coarse] > 0);
}

CAPTURE_CASE(too_many_shapes_become_coarse)
{
	struct shapes shapes;
	bool overflow, has_overflown = false;
	uint32_t id, first = 0;

	assert_int_equal(shapes_init(&shapes), 0);
	for (uint32_t i = 0; i < 3 * PROCESS_SHAPES_MAX; i++) {
		struct shape_key key = {.symbol = 1 + i % 20000, .grid = {i, 1, 1}};

		assert_int_equal(
			shapes_intern(&shapes, f->recorder, &key, false, &id, &overflow), 0);
		assert_true(id > 0 && id < PROCESS_SHAPES_MAX);
		has_overflown |= overflow;
		if (i == 0)
			first = id;
	}
	assert_true(has_overflown);
	/* Known shapes keep their ids. */
	struct shape_key known = {.symbol = 1, .grid = {0, 1, 1}};

	assert_int_equal(shapes_intern(&shapes, f->recorder, &known, false, &id, &overflow), 0);
	assert_int_equal(id, first);
	assert_false(overflow);
	shapes_done(&shapes);
}

static void log_fill(struct recorder *recorder)
{
	uint8_t frame[4096] = {0};

	/* To the last byte that is not reserved: shorter and shorter definitions. */
	for (uint32_t bytes = sizeof(frame); bytes > FRAME_PREFIX_BYTES; bytes /= 2) {
		frame_put_length(frame, bytes - FRAME_PREFIX_BYTES);
		while (!recorder_define(recorder, frame, bytes, RECORDER_DEFINE_WAIT))
			;
	}
}

/* Otherwise the records of a queue would wait for ever, and with them everything it dispatches. */
CAPTURE_CASE(each_queue_has_a_shape_in_a_full_log)
{
	struct shapes shapes;
	bool overflow;
	uint32_t id;

	assert_int_equal(shapes_init(&shapes), 0);
	log_fill(f->recorder);
	for (uint32_t i = 0; i < 20000; i++) {
		struct shape_key key = {.symbol = PROCESS_SYMBOLS_MAX - 1 - i,
			.queue = i % 2,
			.gpu = RECORDER_GPUS - 1};

		assert_int_equal(
			shapes_intern(&shapes, f->recorder, &key, false, &id, &overflow), 0);
	}
	for (uint32_t i = 0; i < RECORDER_QUEUES; i++) {
		struct shape_key key = {.symbol = 1, .queue = i, .gpu = RECORDER_GPUS - 1};

		assert_int_equal(
			shapes_intern(&shapes, f->recorder, &key, false, &id, &overflow), 0);
	}
	shapes_done(&shapes);
}

/* Far more than there are lots. One after the other they need slots, and all get some. */
CAPTURE_CASE(hundreds_of_queues_share_the_slots)
{
	enum { N = 300, EACH = 200 };
	static struct synth_queue *queue[N];
	struct synth_packet packet = {
		.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .has_barrier = true, .kernel_object = 3};

	for (int i = 0; i < N; i++) {
		queue[i] = synth_queue_new(256);
		assert_int_equal(synth_adopt(f->capture, queue[i], 0), 0);
		(void)harvest_run(f->capture, f->now_ns += MS);
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < N; i++) {
			for (int k = 0; k < EACH; k++)
				synth_submit(f->capture, queue[i], &packet);
			while (synth_step(queue[i], SYNTH_DOORBELL))
				;
			fixture_harvest(f, FLUSH_NS);
			fixture_harvest(f, FLUSH_NS);
		}
	for (int i = 0; i < N; i++) {
		check_against_device(f->capture, f->reader, queue[i], 0);
		synth_queue_free(queue[i]);
	}
}
