// SPDX-License-Identifier: MIT
/*
 * When the shim thread runs its next pass (shim/capture/pacing.h): depends on how much of each
 * resource is used, and on what waits for it.
 */
#include "tests/shim/capture/fixture.h"

#include <stdlib.h>

#include "shim/capture/capture_internal.h"
#include "shim/base/gate.h"
#include "shim/capture/harvest.h"

#define RING 4096u

static uint64_t pause_of(const struct fixture *f)
{
	return pace_pause_ns(capture_pace(f->capture));
}

/* Until all lots have been made and nothing asks for a soon pass any more. */
static void come_to_rest(struct fixture *f)
{
	for (int i = 0; i < 100; i++)
		fixture_harvest(f, MS);
	fixture_harvest(f, PACE_HURRY_NS);
	assert_int_equal(pause_of(f), HARVEST_NS);
}

static void dispatch(struct fixture *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		fixture_dispatch(f, 0);
		fixture_step(f);
	}
}

static int setup(void **state)
{
	static struct fixture fixture;

	fixture_init(&fixture, RING);
	come_to_rest(&fixture);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	fixture_step(*state);
	fixture_settle(*state);
	fixture_done(*state);
	return 0;
}

#define CASE(claim) TEST_CASE_WITH(claim, setup, teardown, struct fixture *f)

CASE(single_dispatch_keeps_the_longest_period)
{
	fixture_dispatch(f, 0);
	for (int i = 0; i < 10; i++) {
		fixture_harvest(f, HARVEST_NS);
		assert_int_equal(pause_of(f), HARVEST_NS);
	}
	fixture_step(f);
	fixture_harvest(f, HARVEST_NS);
	/* It waits for a frame that is not full. */
	assert_int_equal(capture_pending(f->capture), 1);
	assert_int_equal(pause_of(f), HARVEST_NS);
}

CASE(queue_that_uses_up_its_slots_gets_a_pass_in_time)
{
	const struct capture_queue *q = &f->capture->queues[f->queue->block];
	uint32_t owned = q->owned, n = owned / 4;

	dispatch(f, n);
	fixture_harvest(f, 2 * MS);
	/* All were returned except those of a partial frame. */
	assert_int_equal(q->owned, owned);
	assert_int_equal(pause_of(f), 2 * MS * ((owned - q->done.count) / 2) / n);
	assert_in_range(pause_of(f), HARVEST_NS_LEAST + 1, HARVEST_NS - 1);
	/* The queue stands still again. */
	fixture_harvest(f, MS);
	assert_int_equal(pause_of(f), HARVEST_NS);
	/* So fast that no pass could be soon enough. */
	dispatch(f, owned / 2);
	fixture_harvest(f, MS / 10);
	assert_int_equal(pause_of(f), HARVEST_NS_LEAST);
}

CASE(queue_that_got_slots_gets_a_pass_soon)
{
	const struct capture_queue *q = &f->capture->queues[f->queue->block];
	uint32_t owned = q->owned;

	/* The device does not start. */
	for (unsigned i = 0; i < RING; i++)
		fixture_dispatch(f, 0);
	(void)harvest_run(f->capture, f->now_ns += 20 * MS);
	assert_true(q->owned >= owned + 4 * RECORDER_SLOT_CHUNK);
	assert_int_equal(pause_of(f), HARVEST_NS_LEAST);
}

/* A packet was announced before it was written, and its thread does not ring again. */
CASE(packet_that_was_left_behind_gets_a_pass_soon)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};
	uint64_t index = synth_add_index(f->capture, f->queue, 1);

	synth_ring(f->capture, f->queue, index);
	fixture_harvest(f, MS);
	assert_int_equal(pause_of(f), HARVEST_NS_LEAST);
	synth_put(f->queue, index, &packet);
	fixture_harvest(f, MS);
	assert_int_equal(synth_wdid(f->queue), index + 1);
	assert_int_equal(fixture_count(f, RTL_Q_housekeeping_publishes), 1);
	fixture_step(f);
	/* A queue with one such packet is likely to have more. */
	fixture_harvest(f, PACE_HURRY_NS / 2);
	assert_int_equal(pause_of(f), HARVEST_NS_LEAST);
	fixture_harvest(f, PACE_HURRY_NS / 2 + MS);
	assert_int_equal(pause_of(f), HARVEST_NS);
}

/* Its packets are not recorded, but the queue must not stand still. */
CASE(packet_left_behind_on_a_paused_queue_gets_a_pass_soon)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};
	uint64_t index;

	gate_pause();
	index = synth_add_index(f->capture, f->queue, 1);
	assert_false(harvest_run(f->capture, f->now_ns += HARVEST_IDLE_NS));
	synth_ring(f->capture, f->queue, index);
	assert_true(harvest_run(f->capture, f->now_ns += HARVEST_IDLE_NS));
	assert_int_equal(pause_of(f), HARVEST_NS_LEAST);
	synth_put(f->queue, index, &packet);
	assert_true(harvest_run(f->capture, f->now_ns += HARVEST_NS_LEAST));
	assert_int_equal(synth_wdid(f->queue), index + 1);
	assert_true(harvest_run(f->capture, f->now_ns += PACE_HURRY_NS / 2));
	assert_int_equal(pause_of(f), HARVEST_NS_LEAST);
	assert_false(harvest_run(f->capture, f->now_ns += PACE_HURRY_NS));
	gate_resume();
}

/* Several threads reserve indices; one rings while another is still writing. */
CASE(packet_left_behind_and_walked_since_needs_no_pass)
{
	struct synth_packet packet = {.type = HSA_PACKET_TYPE_KERNEL_DISPATCH, .kernel_object = 1};
	uint64_t index = synth_add_index(f->capture, f->queue, 1);

	synth_ring(f->capture, f->queue, index);
	synth_put(f->queue, index, &packet);
	synth_ring(f->capture, f->queue, index);
	fixture_step(f);
	fixture_harvest(f, MS);
	assert_int_equal(fixture_count(f, RTL_Q_housekeeping_publishes), 0);
	assert_int_equal(pause_of(f), HARVEST_NS);
}

TEST_CASE(clock_that_goes_back_makes_no_pass_sooner)
{
	struct pace pace = {0};

	pace_begin_pass(&pace, 1000 * MS);
	pace_hurry(&pace);
	assert_int_equal(pace_pause_ns(&pace), HARVEST_NS_LEAST);
	pace_begin_pass(&pace, 1 * MS);
	assert_int_equal(pace_pause_ns(&pace), HARVEST_NS);
	/* Used in no time at all. */
	pace_begin_pass(&pace, 1 * MS);
	pace_use(&pace, 1, UINT32_MAX);
	assert_int_equal(pace_pause_ns(&pace), HARVEST_NS_LEAST);
	/* Hours count as an idle period at most, and nothing overflows. */
	pace_begin_pass(&pace, UINT64_MAX / 2);
	pace_use(&pace, UINT32_MAX, UINT32_MAX);
	assert_int_equal(pace_pause_ns(&pace), HARVEST_NS);
}
