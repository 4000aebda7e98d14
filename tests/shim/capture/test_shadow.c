// SPDX-License-Identifier: MIT
/* The shadow front end, rule by rule, with the device stepped by the test. */
#include "tests/shim/capture/fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/capture/capture_internal.h"
#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/shadow.h"

static hsa_kernel_dispatch_packet_t *packet_at(struct fixture *f, uint64_t index)
{
	return &f->queue->ring[index & (f->queue->amd.hsa_queue.size - 1)];
}

static const struct synth_packet kernel = {
	.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .has_barrier = true, .kernel_object = 7};

CAPTURE_CASE(packet_carries_our_signal_before_it_is_visible)
{
	uint64_t index = synth_add_index(f->capture, f->queue, 1);

	synth_put(f->queue, index, &kernel);
	assert_int_equal(synth_wdid(f->queue), 0);
	assert_false(synth_step(f->queue, SYNTH_EAGER));
	synth_ring(f->capture, f->queue, index);
	assert_int_equal(synth_wdid(f->queue), 1);
	assert_int_not_equal(packet_at(f, 0)->completion_signal.handle, 0);
	fixture_step(f);
	fixture_harvest(f, 1);
	fixture_harvest(f, 30 * MS);
	check_against_device(f->capture, f->reader, f->queue, 0);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 1);
}

CAPTURE_CASE(doorbell_value_of_the_application_is_not_used)
{
	uint64_t first = synth_add_index(f->capture, f->queue, 3);

	for (uint64_t i = first; i < 3; i++)
		synth_put(f->queue, i, &kernel);
	synth_ring(f->capture, f->queue, 0);
	assert_int_equal(f->queue->doorbell_value, 2);
	synth_ring(f->capture, f->queue, 77);
	assert_int_equal(f->queue->doorbell_value, 2);
	assert_int_equal(f->queue->rings, 2);
	assert_int_equal(fixture_count(f, RTL_Q_dispatched), 3);
}

CAPTURE_CASE(doorbell_before_any_packet_does_not_ring)
{
	synth_ring(f->capture, f->queue, 0);
	assert_int_equal(f->queue->rings, 0);
}

CAPTURE_CASE(index_ahead_of_the_ring_walks_no_old_packet)
{
	uint64_t first = synth_add_index(f->capture, f->queue, 64 + 10);

	for (uint64_t i = first; i < 64; i++)
		synth_put(f->queue, i, &kernel);
	synth_ring(f->capture, f->queue, 63);
	assert_int_equal(fixture_count(f, RTL_Q_dispatched), 64);
	synth_ring(f->capture, f->queue, 63);
	assert_int_equal(fixture_count(f, RTL_Q_dispatched), 64);
	fixture_step(f);
	for (uint64_t i = 64; i < 74; i++)
		synth_put(f->queue, i, &kernel);
	synth_ring(f->capture, f->queue, 73);
	fixture_step(f);
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	check_against_device(f->capture, f->reader, f->queue, 0);
	assert_int_equal(f->queue->execs, 74);
}

CAPTURE_CASE(our_stale_handle_is_replaced)
{
	struct synth_packet barrier = {.type = HSA_PACKET_TYPE_BARRIER_AND, .has_barrier = true};
	uint64_t old;

	for (int i = 0; i < 64; i++)
		fixture_dispatch(f, 0);
	old = packet_at(f, 0)->completion_signal.handle;
	barrier.signal = packet_at(f, 1)->completion_signal.handle;
	fixture_step(f);
	/* The ring slots again, with every field written except the signal. */
	fixture_dispatch(f, old);
	synth_submit(f->capture, f->queue, &barrier);
	assert_int_equal(packet_at(f, 65)->completion_signal.handle, 0);
	fixture_step(f);
	assert_int_equal(synth_signal_load((hsa_signal_t){barrier.signal}), 0);
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_seen), 0);
	assert_int_not_equal(packet_at(f, 64)->completion_signal.handle, old);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

/* A program that copies its next packet from the one before it copies our signal, too. */
CAPTURE_CASE(our_handle_that_the_program_copied_is_removed)
{
	struct synth_packet barrier = {.type = HSA_PACKET_TYPE_BARRIER_AND, .has_barrier = true};

	fixture_dispatch(f, 0);
	for (uint64_t i = 1; i < 10; i++) {
		uint64_t before = packet_at(f, i - 1)->completion_signal.handle;

		fixture_dispatch(f, before);
		assert_int_not_equal(packet_at(f, i)->completion_signal.handle, before);
	}
	barrier.signal = packet_at(f, 9)->completion_signal.handle;
	synth_submit(f->capture, f->queue, &barrier);
	assert_int_equal(packet_at(f, 10)->completion_signal.handle, 0);
	fixture_settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_seen), 0);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 10);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

CAPTURE_CASE(barrier_packets_are_counted_and_left_alone)
{
	hsa_signal_t signal = synth_signal_new(1);
	struct synth_packet barrier = {.type = HSA_PACKET_TYPE_BARRIER_AND, .has_barrier = true};

	synth_submit(f->capture, f->queue, &barrier);
	assert_int_equal(packet_at(f, 0)->completion_signal.handle, 0);
	barrier.signal = signal.handle;
	synth_submit(f->capture, f->queue, &barrier);
	fixture_dispatch(f, 0);
	fixture_step(f);
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	assert_int_equal(synth_signal_load(signal), 0);
	assert_int_equal(fixture_count(f, RTL_Q_skipped_not_kernel), 2);
	check_against_device(f->capture, f->reader, f->queue, 0);
	synth_signal_free(signal);
}

CAPTURE_CASE(packet_published_after_its_doorbell_is_found)
{
	uint64_t index = synth_add_index(f->capture, f->queue, 1);

	synth_ring(f->capture, f->queue, index);
	synth_put(f->queue, index, &kernel);
	fixture_harvest(f, MS);
	fixture_harvest(f, MS);
	assert_int_equal(fixture_count(f, RTL_Q_housekeeping_publishes), 1);
	fixture_step(f);
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	check_against_device(f->capture, f->reader, f->queue, 0);
	assert_int_equal(f->queue->execs, 1);
}

CAPTURE_CASE(foreign_writer_ends_stamping_but_not_recording)
{
	uint64_t rings;

	fixture_dispatch(f, 0);
	fixture_step(f);
	/* The test writes index and doorbell without the hooks. */
	synth_put(f->queue, 1, &kernel);
	__atomic_store_n(&f->queue->amd.write_dispatch_id, 2, __ATOMIC_RELEASE);
	fixture_harvest(f, MS);
	fixture_harvest(f, MS);
	assert_int_equal(fixture_count(f, RTL_Q_foreign_writers), 1);
	assert_int_equal(packet_at(f, 1)->completion_signal.handle, 0);
	rings = f->queue->rings;
	assert_int_equal(fixture_dispatch(f, 0), 2);
	assert_int_equal(f->queue->rings, rings + 1);
	fixture_step(f);
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	assert_int_equal(f->queue->execs, 3);
	assert_int_equal(fixture_count(f, RTL_Q_untimed_unstamped), 2);
	check_against_device(f->capture, f->reader, f->queue, 0);
}

static bool packets_are_read_back;

static bool reads_packets_back(void)
{
	return packets_are_read_back;
}

TEST_CASE(last_packet_of_a_batch_gets_no_signal_if_packets_are_read_back)
{
	struct fixture f;
	struct capture_hsa hsa;

	synth_hsa(&hsa);
	hsa.reads_packets_back = reads_packets_back;
	packets_are_read_back = true;
	fixture_init_with(&f, 64, &hsa);
	/*
	 * It applies to this queue, not to the process: libraries that are loaded later make their
	 * own queues.
	 */
	packets_are_read_back = false;
	for (int round = 0; round < 20; round++) {
		uint64_t first = synth_add_index(f.capture, f.queue, 8);

		for (uint64_t i = first; i < first + 8; i++)
			synth_put(f.queue, i, &kernel);
		synth_ring(f.capture, f.queue, first + 3);
		fixture_step(&f);
		fixture_dispatch(&f, 0);
		fixture_step(&f);
	}
	fixture_harvest(&f, 30 * MS);
	fixture_harvest(&f, 30 * MS);
	assert_int_equal(fixture_count(&f, RTL_Q_untimed_unstamped), 20);
	assert_int_equal(fixture_count(&f, RTL_Q_recorded), 160);
	for (size_t i = 0; i < f.queue->execs; i++)
		assert_int_equal(f.queue->exec[i].signal == 0, i % 9 == 7);
	check_against_device(f.capture, f.reader, f.queue, 0);
	fixture_done(&f);
}

/* Rings from inside a walk, as a signal handler or another producer would. */
static struct {
	struct fixture *fixture;
	void (*store)(hsa_signal_t signal, hsa_signal_value_t value);
	unsigned left;
} nested;

static void store_and_ring_again(hsa_signal_t signal, hsa_signal_value_t value)
{
	nested.store(signal, value);
	if (nested.left) {
		nested.left--;
		fixture_dispatch(nested.fixture, 0);
		/* Left to the holder, which is below us on the stack. */
		assert_int_equal(synth_wdid(nested.fixture->queue), value + 1);
	}
}

TEST_CASE(doorbell_rung_during_a_walk_is_left_to_the_walker)
{
	struct fixture f;
	struct capture_hsa hsa;

	synth_hsa(&hsa);
	nested.store = hsa.signal_store_screlease;
	hsa.signal_store_screlease = store_and_ring_again;
	fixture_init_with(&f, 64, &hsa);
	nested.fixture = &f;
	nested.left = 5;
	fixture_dispatch(&f, 0);
	assert_int_equal(synth_wdid(f.queue), 6);
	assert_int_equal(f.queue->doorbell_value, 5);
	fixture_step(&f);
	fixture_harvest(&f, 30 * MS);
	fixture_harvest(&f, 30 * MS);
	check_against_device(f.capture, f.reader, f.queue, 0);
	assert_int_equal(fixture_count(&f, RTL_Q_housekeeping_publishes), 0);
	fixture_done(&f);
}

static uint32_t chain_length(struct capture *c, slot_ref ref)
{
	uint32_t n = 0;

	for (; ref; ref = slot_private_of(c, ref)->next)
		n++;
	return n;
}

/* Another queue needs slots: both chains of the producer are taken. */
CAPTURE_CASE(spare_slots_are_taken_from_an_idle_queue)
{
	struct capture_queue *q = &f->capture->queues[f->queue->block];
	uint32_t free, spare;
	slot_ref taken[2];

	for (int i = 0; i < 600 && !(q->free && q->spare); i++) {
		fixture_dispatch(f, 0);
		fixture_step(f);
		fixture_harvest(f, 30 * MS);
	}
	free = chain_length(f->capture, q->free);
	spare = chain_length(f->capture, q->spare);
	assert_true(free && spare);
	shadow_walks.take_free(f->capture, q->index, taken);
	assert_int_equal(chain_length(f->capture, taken[0]), free);
	assert_int_equal(chain_length(f->capture, taken[1]), spare);
	assert_int_equal(q->free + q->spare, 0);
	/* Nothing is left to take, and the queue continues with other slots. */
	shadow_walks.take_free(f->capture, q->index, taken);
	assert_int_equal(taken[0] + taken[1], 0);
	fixture_dispatch(f, 0);
	fixture_step(f);
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	check_against_device(f->capture, f->reader, f->queue, 0);
	assert_int_equal(fixture_count(f, RTL_Q_dropped_recorder_full), 0);
}

/* Asked from inside a walk, as the thread that provides slots does meanwhile. */
static struct {
	struct fixture *fixture;
	void (*store)(hsa_signal_t signal, hsa_signal_value_t value);
	slot_ref held, taken[2];
} thief;

static void store_and_take(hsa_signal_t signal, hsa_signal_value_t value)
{
	struct capture_queue *q = &thief.fixture->capture->queues[0];

	thief.store(signal, value);
	thief.held = q->free;
	shadow_walks.take_free(thief.fixture->capture, q->index, thief.taken);
	assert_int_equal(q->free, thief.held);
}

TEST_CASE(slots_of_a_queue_being_walked_are_not_taken)
{
	struct fixture f;
	struct capture_hsa hsa;

	synth_hsa(&hsa);
	thief.store = hsa.signal_store_screlease;
	hsa.signal_store_screlease = store_and_take;
	fixture_init_with(&f, 64, &hsa);
	thief.fixture = &f;
	fixture_dispatch(&f, 0);
	assert_int_not_equal(thief.held, 0);
	assert_int_equal(thief.taken[0] + thief.taken[1], 0);
	fixture_step(&f);
	fixture_harvest(&f, 30 * MS);
	fixture_harvest(&f, 30 * MS);
	check_against_device(f.capture, f.reader, f.queue, 0);
	fixture_done(&f);
}

CAPTURE_CASE(ineligible_queues_are_not_followed)
{
	struct synth_queue *queue = synth_queue_new(64);

	queue->doorbell.kind = AMD_SIGNAL_KIND_LEGACY_DOORBELL;
	assert_int_equal(synth_adopt(f->capture, queue, 0), -ENOTSUP);
	assert_null(shadow_of_queue(f->capture, synth_hsa_queue(queue)));
	assert_int_equal(f->recorder->header->process[RTL_P_queues_ineligible], 1);
	assert_int_equal(f->recorder->header->process[RTL_P_queues_followed], 1);
	synth_queue_free(queue);
}

CAPTURE_CASE(stopped_capture_counts_and_keeps_the_queue_going)
{
	fixture_dispatch(f, 0);
	capture_stop(f->capture);
	fixture_dispatch(f, 0);
	assert_int_equal(packet_at(f, 1)->completion_signal.handle, 0);
	fixture_step(f);
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	assert_int_equal(f->queue->execs, 2);
	assert_int_equal(fixture_count(f, RTL_Q_skipped_shutdown), 1);
	check_against_device(f->capture, f->reader, f->queue, 1);
	assert_int_equal(capture_pending(f->capture), 0);
}

CAPTURE_CASE(index_functions_act_on_the_virtual_index)
{
	struct shadow_queue *shadow = shadow_of_queue(f->capture, synth_hsa_queue(f->queue));

	assert_int_equal(shadow_index_add(shadow, 5), 0);
	assert_int_equal(shadow_index_load(shadow), 5);
	assert_int_equal(shadow_index_cas(shadow, 4, 9), 5);
	assert_int_equal(shadow_index_cas(shadow, 5, 9), 5);
	assert_int_equal(shadow_index_load(shadow), 9);
	shadow_index_store(shadow, 12);
	assert_int_equal(shadow_index_load(shadow), 12);
	assert_int_equal(synth_wdid(f->queue), 0);
}

CAPTURE_CASE(address_used_again_belongs_to_the_new_queue)
{
	struct shadow_queue *before = shadow_of_queue(f->capture, synth_hsa_queue(f->queue));

	fixture_dispatch(f, 0);
	fixture_step(f);
	fixture_destroy_queue(f);
	assert_null(shadow_of_queue(f->capture, synth_hsa_queue(f->queue)));
	assert_null(shadow_of_doorbell(f->capture, f->queue->amd.hsa_queue.doorbell_signal));
	fixture_harvest(f, 30 * MS);
	assert_int_equal(f->reader->records, 1);
	assert_int_equal(synth_adopt(f->capture, f->queue, 0), 0);
	assert_ptr_not_equal(shadow_of_queue(f->capture, synth_hsa_queue(f->queue)), before);
	assert_int_equal(f->queue->block, 1);
	fixture_dispatch(f, 0);
	fixture_step(f);
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	assert_int_equal(f->reader->queue[1].stored, 1);
}

CAPTURE_CASE(blocks_of_destroyed_queues_are_reused_and_keep_counting)
{
	uint32_t block;

	fixture_dispatch(f, 0);
	fixture_step(f);
	fixture_destroy_queue(f);
	/* A block whose records wait is reused last. */
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	for (uint32_t i = 1; i < RECORDER_QUEUES; i++) {
		assert_int_equal(synth_adopt(f->capture, f->queue, 0), 0);
		assert_int_equal(f->queue->block, i);
		shadow_front_end.release(f->capture, synth_hsa_queue(f->queue), &block);
		shadow_front_end.retire(f->capture, block);
	}
	/* A retired block of another GPU is not reused. */
	assert_int_equal(shadow_front_end.adopt(f->capture, synth_hsa_queue(f->queue), 1), -ENOSPC);
	assert_int_equal(shadow_front_end.adopt(f->capture, synth_hsa_queue(f->queue), 0), 0);
	fixture_dispatch(f, 0);
	fixture_step(f);
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	assert_int_equal(f->reader->queue[0].stored, 2);
	assert_non_null(reader_row(f->reader, 0, 1));
}

static hsa_status_t destroy_nothing(hsa_queue_t *queue)
{
	(void)queue;
	return HSA_STATUS_ERROR_INVALID_QUEUE;
}

CAPTURE_CASE(queue_that_could_not_be_destroyed_goes_on)
{
	uint64_t index;

	fixture_dispatch(f, 0);
	index = synth_add_index(f->capture, f->queue, 1); /* reserved, not written yet */
	assert_int_equal(front_ends_destroy(f->capture, synth_hsa_queue(f->queue), destroy_nothing),
		HSA_STATUS_ERROR_INVALID_QUEUE);
	synth_put(f->queue, index, &kernel);
	synth_ring(f->capture, f->queue, index);
	fixture_dispatch(f, 0);
	fixture_step(f);
	fixture_harvest(f, 1);
	fixture_harvest(f, 30 * MS);
	check_against_device(f->capture, f->reader, f->queue, 0);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 3);
	assert_int_equal(fixture_count(f, RTL_Q_foreign_writers), 0);
	assert_int_equal(fixture_count(f, RTL_Q_unattributed), 0);
	assert_int_equal(recorder_process_value(f->recorder, RTL_P_queues_destroyed), 0);
}

/* gfx1250: the grid counts clusters; all other fields are where a dispatch has them. */
CAPTURE_CASE(extended_dispatch_is_a_dispatch)
{
	struct synth_packet packet = {
		.type = HSA_PACKET_TYPE_VENDOR_SPECIFIC,
		.format = SYNTH_FORMAT_EXTENDED,
		.has_barrier = true,
		.kernel_object = 7,
		.variant = 1,
	};
	const struct reader_shape *shape;
	uint16_t workgroup[3];
	uint32_t grid[3], lds, scratch;
	hsa_signal_t own = synth_signal_new(1);

	synth_submit(f->capture, f->queue, &packet);
	packet.format = SYNTH_FORMAT_BARRIER;
	packet.kernel_object = 0;
	synth_submit(f->capture, f->queue, &packet);
	packet.format = SYNTH_FORMAT_EXTENDED;
	packet.kernel_object = 8;
	packet.signal = own.handle;
	synth_submit(f->capture, f->queue, &packet);
	fixture_step(f);
	fixture_harvest(f, 1);
	fixture_harvest(f, 30 * MS);
	assert_int_equal(f->queue->execs, 2);
	assert_int_equal(fixture_count(f, RTL_Q_dispatched), 2);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 2);
	assert_int_equal(fixture_count(f, RTL_Q_own_signals_read), 1);
	assert_int_equal(fixture_count(f, RTL_Q_skipped_not_kernel), 1);
	synth_geometry(1, grid, workgroup, &lds, &scratch);
	for (uint64_t seq = 0; seq < 2; seq++) {
		const struct reader_row *row = fixture_row(f, seq);

		assert_int_equal(row->start, f->queue->exec[seq].start);
		assert_int_equal(row->end, f->queue->exec[seq].end);
		shape = reader_shape(f->reader, row->shape);
		assert_int_equal(shape->symbol, 7 + seq);
		assert_int_equal(shape->workgroup[0], workgroup[0]);
		assert_int_equal(shape->grid[0], 6 * 3 * workgroup[0]);
		assert_int_equal(shape->grid[1], 5 * 2);
		assert_int_equal(shape->grid[2], 4);
		assert_int_equal(shape->lds, lds);
		assert_int_equal(shape->scratch, scratch);
	}
	synth_signal_free(own);
}

/*
 * Oversubscribed: the scheduler maps the queue again, and the device reads it without a doorbell.
 */
CAPTURE_CASE(queue_mapped_again_without_a_doorbell_finds_only_ours)
{
	for (unsigned i = 0; i < 200; i++) {
		uint64_t index = synth_add_index(f->capture, f->queue, 2);

		synth_put(f->queue, index, &kernel);
		assert_false(synth_step(f->queue, i % 2 ? SYNTH_EAGER : SYNTH_TORN));
		synth_put(f->queue, index + 1, &kernel);
		assert_false(synth_step(f->queue, SYNTH_EAGER));
		synth_ring(f->capture, f->queue, index + 1);
		/* That doorbell got lost with the mapping. */
		f->queue->rings_seen = f->queue->rings;
		assert_true(synth_step(f->queue, SYNTH_EAGER));
		fixture_step(f);
	}
	fixture_harvest(f, 1);
	fixture_harvest(f, 30 * MS);
	check_against_device(f->capture, f->reader, f->queue, 0);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 400);
	assert_int_equal(fixture_count(f, RTL_Q_missed), 0);
}

/* The child has no recorder any more; a thread that touched it would end the child. */
CAPTURE_CASE(forked_child_passes_through)
{
	int status;
	pid_t pid;

	fixture_dispatch(f, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		capture_pass_through(f->capture);
		synth_submit(f->capture, f->queue, &kernel);
		_exit(synth_wdid(f->queue) == 2 && f->queue->doorbell_value == 1 &&
					packet_at(f, 1)->completion_signal.handle == 0
				? 0
				: 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fixture_dispatch(f, 0);
	fixture_step(f);
	fixture_harvest(f, 30 * MS);
	fixture_harvest(f, 30 * MS);
	check_against_device(f->capture, f->reader, f->queue, 0);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 2);
}
