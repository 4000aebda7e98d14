// SPDX-License-Identifier: MIT
#include "tests/shim/capture/fixture.h"

#include <stdlib.h>
#include <string.h>

#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/create.h"
#include "shim/capture/front_ends/shadow.h"
#include "shim/base/tsc_clock.h"

static const struct recorder_identity identity = {.pid = 1234, .start_time = 5678};

void fixture_init_with(struct fixture *f, uint32_t packets, const struct capture_hsa *hsa)
{
	memset(f, 0, sizeof(*f));
	ticks_look();
	assert_int_equal(capture_create(&identity, hsa, &f->capture), 0);
	f->recorder = capture_recorder(f->capture);
	f->reader = reader_new();
	f->queue = synth_queue_new(packets);
	f->now_ns = 1000 * MS;
	assert_int_equal(synth_adopt(f->capture, f->queue, 0), 0);
}

void fixture_init(struct fixture *f, uint32_t packets)
{
	struct capture_hsa hsa;

	synth_hsa(&hsa);
	fixture_init_with(f, packets, &hsa);
}

void fixture_done(struct fixture *f)
{
	if (f->reader->has_failed)
		fail_msg("reader: %s", f->reader->why);
	f->capture = capture_free(f->capture);
	f->reader = reader_free(f->reader);
	synth_queue_free(f->queue);
	assert_int_equal(synth.signals_live, 0);
}

int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fixture_init(f, 64);
	*state = f;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	fixture_done(f);
	free(f);
	return 0;
}

uint64_t fixture_dispatch(struct fixture *f, uint64_t signal)
{
	struct synth_packet packet = {
		.type = HSA_PACKET_TYPE_KERNEL_DISPATCH,
		.has_barrier = true,
		.kernel_object = 1,
		.signal = signal,
	};

	return synth_submit(f->capture, f->queue, &packet);
}

void fixture_harvest(struct fixture *f, uint64_t ns)
{
	f->now_ns += ns;
	(void)harvest_run(f->capture, f->now_ns);
	(void)reader_poll(f->reader, f->recorder);
	if (f->reader->has_failed)
		fail_msg("reader: %s", f->reader->why);
}

void fixture_step(struct fixture *f)
{
	while (synth_step(f->queue, SYNTH_DOORBELL))
		;
}

void fixture_destroy_queue(struct fixture *f)
{
	uint32_t block;

	shadow_front_end.release(f->capture, synth_hsa_queue(f->queue), &block);
	assert_int_equal(block, f->queue->block);
	shadow_front_end.retire(f->capture, block);
}

void fixture_settle(struct fixture *f)
{
	fixture_step(f);
	for (int i = 0; i < 4; i++)
		fixture_harvest(f, FIXTURE_SETTLE_NS);
}

uint64_t fixture_count(const struct fixture *f, enum rtl_queue_counter what)
{
	return recorder_queue_value(&f->recorder->queues[f->queue->block], what);
}

const struct reader_row *fixture_row(const struct fixture *f, uint64_t seq)
{
	return reader_row(f->reader, f->queue->block, seq);
}

static void check_row(const struct reader *reader, const struct reader_row *row,
	const struct synth_exec *exec, uint32_t block)
{
	const struct reader_shape *shape = reader_shape(reader, row->shape);

	assert_non_null(shape);
	assert_int_equal(shape->queue, block);
	assert_int_equal(shape->symbol, exec->kernel_object);
	assert_memory_equal(shape->grid, exec->grid, sizeof(exec->grid));
	for (int i = 0; i < 3; i++)
		assert_int_equal(shape->workgroup[i], exec->workgroup[i]);
	assert_int_equal(shape->lds, exec->lds);
	assert_int_equal(shape->scratch, exec->scratch);
	assert_false(exec->is_bad);
	if (row->untimed == RTL_TIMED) {
		assert_int_equal(row->start, exec->start);
		assert_int_equal(row->end, exec->end);
	} else {
		assert_int_equal(row->start, 0);
		assert_int_equal(row->end, 0);
	}
}

static uint64_t untimed_sum(const struct recorder_queue *block)
{
	uint64_t sum = 0;

	for (int i = RTL_Q_untimed_shared; i <= RTL_Q_untimed_unstamped; i++)
		sum += recorder_queue_value(block, (enum rtl_queue_counter)i);
	return sum;
}

void check_against_device(const struct capture *capture, const struct reader *reader,
	const struct synth_queue *queue, uint64_t dropped)
{
	struct recorder *recorder = capture_recorder((struct capture *)capture);
	const struct recorder_queue *block = &recorder->queues[queue->block];
	const struct reader_queue *rows = &reader->queue[queue->block];
	uint64_t missing = 0;

	if (reader->has_failed)
		fail_msg("reader: %s", reader->why);
	for (size_t seq = 0; seq < queue->execs; seq++) {
		const struct reader_row *row = reader_row(reader, queue->block, seq);

		if (row)
			check_row(reader, row, &queue->exec[seq], queue->block);
		missing += !row;
	}
	assert_int_equal(missing, dropped);
	assert_int_equal(recorder_queue_value(block, RTL_Q_dispatched), queue->execs);
	assert_int_equal(recorder_queue_value(block, RTL_Q_skipped_not_kernel), queue->barriers);
	assert_int_equal(
		recorder_queue_value(block, RTL_Q_recorded) + untimed_sum(block), rows->stored);
	assert_int_equal(untimed_sum(block), rows->untimed);
	assert_int_equal(recorder_queue_value(block, RTL_Q_dispatched),
		recorder_queue_value(block, RTL_Q_skipped_shutdown) +
			recorder_queue_value(block, RTL_Q_skipped_filter) +
			recorder_queue_value(block, RTL_Q_dropped_recorder_full) + rows->stored);
}
