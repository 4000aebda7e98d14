// SPDX-License-Identifier: MIT
/* The common case of a dispatch: the fast path, and the trail from producer to harvester. */
#include "tests/shim/capture/fixture.h"

#include "shim/capture/capture_internal.h"
#include "shim/capture/dispatch.h"
#include "shim/hsa/packet.h"

static void settle(struct fixture *f)
{
	fixture_step(f);
	for (int i = 0; i < 4; i++)
		fixture_harvest(f, 100 * MS);
}

/* A line that always says 12345: only the fast path reads it without the clock. */
CAPTURE_CASE(common_dispatch_takes_the_fast_path)
{
	struct capture_queue *q = &f->capture->queues[f->queue->block];

	fixture_dispatch(f, 0); /* the first of REFRESH_DISPATCHES checks for returned slots */
	q->ticks = (struct ticks){.usable = UINT64_MAX, .ns = 12345};
	for (int i = 0; i < 10; i++)
		fixture_dispatch(f, 0);
	settle(f);
	check_against_device(f->capture, f->reader, f->queue, 0);
	for (uint64_t seq = 1; seq <= 10; seq++)
		assert_int_equal(fixture_row(f, seq)->submit_ns, 12345);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 11);
	assert_int_equal(fixture_count(f, RTL_Q_signals_injected), 11);
}

static bool has_slot(struct capture *c, slot_ref chain, slot_ref ref)
{
	while (chain && chain != ref)
		chain = slot_private_of(c, chain)->next;
	return chain != 0;
}

/* The next dispatch is linked to it. Until then it is not given away, even when all is over. */
CAPTURE_CASE(last_slot_of_the_trail_is_not_given_away)
{
	struct capture *c = f->capture;
	struct capture_queue *q = &c->queues[f->queue->block];
	slot_ref first = q->returned;

	fixture_dispatch(f, 0);
	settle(f);
	assert_int_equal(fixture_count(f, RTL_Q_recorded), 1);
	assert_int_equal(q->reached, first);
	assert_int_equal(slot_of(c, first)->state, SLOT_FREE);
	assert_true(q->is_reached_freed);
	assert_false(has_slot(c, q->returned, first) || has_slot(c, q->free, first));
	fixture_dispatch(f, 0);
	settle(f);
	assert_int_not_equal(q->reached, first);
	assert_true(has_slot(c, q->returned, first));
	/* Nothing follows the last slot of a destroyed queue. */
	first = q->reached;
	fixture_destroy_queue(f);
	assert_false(q->is_reached_freed);
	assert_true(has_slot(c, c->loose.head, first));
	check_against_device(c, f->reader, f->queue, 0);
}

/*
 * The extended packet has the grid in other places than a slot; an ordinary one has it in the same.
 */
CAPTURE_CASE(slot_has_the_geometry_of_either_kind_of_packet)
{
	struct capture *c = f->capture;
	struct capture_queue *q = &c->queues[f->queue->block];
	struct packet_extended extended = {
		.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC,
		.format = PACKET_FORMAT_EXTENDED,
		.workgroup_size = {64, 2, 1},
		.cluster_count_x = 5,
		.cluster_count_y = 3,
		.cluster_count_z = 1,
		.cluster_size = {2, 1, 1},
		.private_segment_size = 16,
		.group_segment_size = 4096,
		.kernel_object = 1,
	};
	const uint32_t grid[] = {5 * 2 * 64, 3 * 1 * 2, 1};
	const uint32_t plain_grid[] = {1 << 20, 70000, 3};
	struct packet_origin origin = {.context = {.marker = 7, .call = 8, .tid = 9}, .node = 10};
	hsa_kernel_dispatch_packet_t plain = {
		.header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER,
		.setup = 3,
		.workgroup_size_x = 1024,
		.workgroup_size_y = 1,
		.workgroup_size_z = 2,
		.reserved0 = 0xffff,
		.grid_size_x = 1 << 20,
		.grid_size_y = 70000,
		.grid_size_z = 3,
		.private_segment_size = 32,
		.group_segment_size = 65536,
		.kernel_object = 1,
	};
	struct dispatch_batch batch;
	struct recorder_slot *slot;

	fixture_dispatch(f, 0);
	q->ticks = (struct ticks){.usable = UINT64_MAX, .ns = 12345};
	dispatch_begin(c, q, &batch);
	for (int is_plain = 0; is_plain < 2; is_plain++) {
		slot = slot_of(c, q->free);
		assert_int_not_equal(
			dispatch_packet(&batch,
				is_plain ? &plain : (hsa_kernel_dispatch_packet_t *)&extended, 0,
				&origin, DISPATCH_STAMP),
			0);
		assert_int_equal(slot->state, SLOT_SUBMITTED);
		assert_memory_equal(slot->grid, is_plain ? plain_grid : grid, sizeof(grid));
		assert_int_equal(slot->workgroup[0], is_plain ? 1024 : 64);
		assert_int_equal(slot->workgroup[2], is_plain ? 2 : 1);
		assert_int_equal(slot->scratch, is_plain ? 32 : 16);
		assert_int_equal(slot->lds, is_plain ? 65536 : 4096);
		assert_int_equal(slot->symbol, 1);
		assert_int_equal(slot->seq, 1 + is_plain);
		assert_int_equal(slot->submit_ns, 12345);
		assert_int_equal(slot->frame, 0);
		assert_true(slot->marker == 7 && slot->call == 8 && slot->tid == 9);
		assert_int_equal(slot->node, 10);
	}
	dispatch_end(&batch);
}
