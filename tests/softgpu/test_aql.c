// SPDX-License-Identifier: MIT
/* The packet processor: what AQL guarantees, on real rings of the real runtime. */
#include "tests/softgpu/test_gpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static struct gpu g;
static struct code code[2];
static const hsa_signal_t no_signal;

static int setup(void **state)
{
	(void)state;
	gpu_open(&g);
	for (unsigned int i = 0; i < 2; i++)
		code_load(g.agent[i], &code[i]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++)
		code_unload(&code[i]);
	gpu_close();
	return 0;
}

static bool is_consumed(void *arg)
{
	hsa_queue_t *q = arg;

	return hsa_queue_load_read_index_scacquire(q) == hsa_queue_load_write_index_scacquire(q);
}

TEST_CASE(dispatch_decrements_once_per_packet)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64);
	hsa_signal_t s = signal_new(10);

	for (int i = 0; i < 10; i++)
		queue_put(q, packet_dispatch(code[0].kernel[0], s));
	signal_wait_done(s);
	assert_int_equal(hsa_signal_load_relaxed(s), 0);
	assert_true(wait_for(is_consumed, q));
	assert_int_equal(hsa_signal_load_relaxed(s), 0);
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_queue_destroy(q));
}

TEST_CASE(consumed_slots_are_invalid_again)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64);
	hsa_signal_t s = signal_new(1);
	const struct packet *ring = q->base_address;

	for (int i = 0; i < 64; i++)
		queue_put(q, packet_dispatch(code[0].kernel[0], i == 63 ? s : no_signal));
	signal_wait_done(s);
	for (int i = 0; i < 64; i++)
		assert_int_equal(__atomic_load_n(&ring[i].head, __ATOMIC_ACQUIRE) & 0xff,
			HSA_PACKET_TYPE_INVALID);
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_queue_destroy(q));
}

TEST_CASE(ring_wraps_many_times)
{
	enum { PACKETS = 100000 };
	hsa_queue_t *q = queue_new(g.agent[0], 64);
	hsa_signal_t s = signal_new(PACKETS);

	for (int i = 0; i < PACKETS; i++)
		queue_put(q, packet_dispatch(code[0].kernel[i & 3], s));
	signal_wait_done(s);
	assert_int_equal(hsa_queue_load_read_index_scacquire(q), PACKETS);
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_queue_destroy(q));
}

struct producer {
	hsa_queue_t *q;
	hsa_signal_t s;
	uint64_t kernel;
	int packets;
};

static void *produce(void *arg)
{
	struct producer *p = arg;

	for (int i = 0; i < p->packets; i++)
		queue_put(p->q, packet_dispatch(p->kernel, p->s));
	return NULL;
}

TEST_CASE(many_producers_lose_nothing)
{
	enum { THREADS = 4, PACKETS = 20000 };
	hsa_queue_t *q = queue_new(g.agent[0], 256);
	hsa_signal_t s = signal_new(THREADS * PACKETS);
	pthread_t thread[THREADS];
	struct producer p = {q, s, code[0].kernel[1], PACKETS};

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, produce, &p), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	signal_wait_done(s);
	assert_int_equal(hsa_signal_load_relaxed(s), 0);
	assert_int_equal(hsa_queue_load_read_index_scacquire(q), THREADS * PACKETS);
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_queue_destroy(q));
}

/* One doorbell for a batch, with any value: the write index counts. */
TEST_CASE(one_doorbell_serves_a_batch)
{
	hsa_queue_t *q = queue_new(g.agent[0], 256);
	hsa_signal_t s = signal_new(100);
	uint64_t first = hsa_queue_add_write_index_relaxed(q, 100);
	struct packet p = packet_dispatch(code[0].kernel[0], s);

	for (uint64_t i = 0; i < 100; i++)
		packet_store(q, first + i, &p);
	queue_ring(q, first);
	signal_wait_done(s);
	assert_int_equal(hsa_queue_load_read_index_scacquire(q), first + 100);
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_queue_destroy(q));
}

TEST_CASE(nothing_runs_before_its_doorbell)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64), *other = queue_new(g.agent[0], 64);
	hsa_signal_t s = signal_new(1), t = signal_new(1);
	uint64_t index = hsa_queue_add_write_index_relaxed(q, 1);
	struct packet p = packet_dispatch(code[0].kernel[0], s);

	packet_store(q, index, &p);
	/* Meanwhile the processor polls its queues many times. */
	for (int i = 0; i < 100; i++)
		run_one(other, code[0].kernel[0], t);
	assert_int_equal(hsa_signal_load_relaxed(s), 1);
	queue_ring(q, index);
	signal_wait_done(s);
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_signal_destroy(t));
	HSA_OK(hsa_queue_destroy(q));
	HSA_OK(hsa_queue_destroy(other));
}

TEST_CASE(processing_stops_at_an_invalid_packet)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64), *other = queue_new(g.agent[0], 64);
	hsa_signal_t s = signal_new(1), after = signal_new(1), t = signal_new(1);
	uint64_t first = hsa_queue_add_write_index_relaxed(q, 3);
	struct packet p = packet_dispatch(code[0].kernel[0], s);
	struct packet last = packet_dispatch(code[0].kernel[0], after);

	packet_store(q, first, &p);
	packet_store(q, first + 2, &last);
	queue_ring(q, first + 2);
	signal_wait_done(s);
	for (int i = 0; i < 100; i++)
		run_one(other, code[0].kernel[0], t);
	assert_int_equal(hsa_signal_load_relaxed(after), 1);
	assert_int_equal(hsa_queue_load_read_index_scacquire(q), first + 1);
	/* Published late, without another doorbell. */
	p = packet_dispatch(code[0].kernel[0], no_signal);
	packet_store(q, first + 1, &p);
	signal_wait_done(after);
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_signal_destroy(after));
	HSA_OK(hsa_signal_destroy(t));
	HSA_OK(hsa_queue_destroy(q));
	HSA_OK(hsa_queue_destroy(other));
}

TEST_CASE(full_ring_holds_producers_back)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64);
	hsa_signal_t gate = signal_new(1), s = signal_new(64);
	struct producer p = {q, s, code[0].kernel[0], 64};
	pthread_t thread;

	queue_put(q, packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, &gate, 1, no_signal));
	assert_int_equal(pthread_create(&thread, NULL, produce, &p), 0);
	/* 63 fit beside the barrier, the 64th waits for a slot. */
	while (hsa_queue_load_write_index_scacquire(q) < 65)
		sched_yield();
	assert_int_equal(hsa_queue_load_read_index_scacquire(q), 0);
	assert_int_equal(hsa_signal_load_relaxed(s), 64);
	hsa_signal_store_screlease(gate, 0);
	pthread_join(thread, NULL);
	signal_wait_done(s);
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_signal_destroy(gate));
	HSA_OK(hsa_queue_destroy(q));
}

TEST_CASE(barrier_and_waits_for_all)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64), *other = queue_new(g.agent[0], 64);
	hsa_signal_t dep[3] = {signal_new(1), signal_new(1), signal_new(1)};
	hsa_signal_t done = signal_new(1), t = signal_new(1);

	queue_put(q, packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, dep, 3, done));
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 50; k++)
			run_one(other, code[0].kernel[0], t);
		assert_int_equal(hsa_signal_load_relaxed(done), 1);
		hsa_signal_store_screlease(dep[i], 0);
	}
	signal_wait_done(done);
	for (int i = 0; i < 3; i++)
		HSA_OK(hsa_signal_destroy(dep[i]));
	HSA_OK(hsa_signal_destroy(done));
	HSA_OK(hsa_signal_destroy(t));
	HSA_OK(hsa_queue_destroy(q));
	HSA_OK(hsa_queue_destroy(other));
}

TEST_CASE(barrier_or_waits_for_one)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64), *other = queue_new(g.agent[0], 64);
	hsa_signal_t dep[5], done = signal_new(1), t = signal_new(1);

	for (int i = 0; i < 5; i++)
		dep[i] = signal_new(1);
	queue_put(q, packet_barrier(HSA_PACKET_TYPE_BARRIER_OR, dep, 5, done));
	for (int k = 0; k < 50; k++)
		run_one(other, code[0].kernel[0], t);
	assert_int_equal(hsa_signal_load_relaxed(done), 1);
	hsa_signal_store_screlease(dep[4], 0);
	signal_wait_done(done);
	for (int i = 0; i < 5; i++)
		HSA_OK(hsa_signal_destroy(dep[i]));
	HSA_OK(hsa_signal_destroy(done));
	HSA_OK(hsa_signal_destroy(t));
	HSA_OK(hsa_queue_destroy(q));
	HSA_OK(hsa_queue_destroy(other));
}

TEST_CASE(barrier_without_dependencies_is_met)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64);
	hsa_signal_t done = signal_new(2);

	queue_put(q, packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, done));
	queue_put(q, packet_barrier(HSA_PACKET_TYPE_BARRIER_OR, NULL, 0, done));
	signal_wait_done(done);
	HSA_OK(hsa_signal_destroy(done));
	HSA_OK(hsa_queue_destroy(q));
}

static void expect_value_barrier(hsa_signal_condition32_t condition, hsa_signal_value_t before,
	hsa_signal_value_t after, hsa_signal_value_t value)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64), *other = queue_new(g.agent[0], 64);
	hsa_signal_t dep = signal_new(before), done = signal_new(1), t = signal_new(1);

	queue_put(q, packet_barrier_value(dep, condition, value, done));
	for (int k = 0; k < 20; k++)
		run_one(other, code[0].kernel[0], t);
	assert_int_equal(hsa_signal_load_relaxed(done), 1);
	hsa_signal_store_screlease(dep, after);
	signal_wait_done(done);
	HSA_OK(hsa_signal_destroy(dep));
	HSA_OK(hsa_signal_destroy(done));
	HSA_OK(hsa_signal_destroy(t));
	HSA_OK(hsa_queue_destroy(q));
	HSA_OK(hsa_queue_destroy(other));
}

TEST_CASE(barrier_value_honours_its_condition)
{
	expect_value_barrier(HSA_SIGNAL_CONDITION_EQ, 1, 7, 7);
	expect_value_barrier(HSA_SIGNAL_CONDITION_NE, 7, 1, 7);
	expect_value_barrier(HSA_SIGNAL_CONDITION_LT, 7, 6, 7);
	expect_value_barrier(HSA_SIGNAL_CONDITION_GTE, 6, 8, 7);
}

TEST_CASE(blocked_queue_does_not_hold_up_others)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64), *other = queue_new(g.agent[0], 64);
	hsa_signal_t gate = signal_new(1), s = signal_new(1), t = signal_new(1);

	queue_put(q, packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, &gate, 1, no_signal));
	queue_put(q, packet_dispatch(code[0].kernel[0], s));
	for (int i = 0; i < 1000; i++)
		run_one(other, code[0].kernel[1], t);
	assert_int_equal(hsa_signal_load_relaxed(s), 1);
	hsa_signal_store_screlease(gate, 0);
	signal_wait_done(s);
	HSA_OK(hsa_signal_destroy(gate));
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_signal_destroy(t));
	HSA_OK(hsa_queue_destroy(q));
	HSA_OK(hsa_queue_destroy(other));
}

/*
 * GPU 0 completes a signal that GPU 1 waits for; the second kernel must not start before the first
 * has ended.
 */
TEST_CASE(dependency_carries_time_across_gpus)
{
	hsa_queue_t *q[2] = {queue_new(g.agent[0], 64), queue_new(g.agent[1], 64)};
	hsa_signal_t first = signal_new(1), second = signal_new(1);
	hsa_amd_profiling_dispatch_time_t a, b;

	queue_put(q[1], packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, &first, 1, no_signal));
	queue_put(q[1], packet_dispatch(code[1].kernel[0], second));
	/* 300 kernels of 2 us, far ahead of the wall clock. */
	for (int i = 0; i < 300; i++)
		queue_put(q[0], packet_dispatch(code[0].kernel[0], i == 299 ? first : no_signal));
	signal_wait_done(second);
	a = signal_time(g.agent[0], first);
	b = signal_time(g.agent[1], second);
	assert_true(b.start >= a.end);
	HSA_OK(hsa_signal_destroy(first));
	HSA_OK(hsa_signal_destroy(second));
	for (int i = 0; i < 2; i++)
		HSA_OK(hsa_queue_destroy(q[i]));
}

TEST_CASE(suspended_queue_rests)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64);
	hsa_signal_t s = signal_new(1);

	run_one(q, code[0].kernel[0], s);
	HSA_OK(hsa_queue_inactivate(q));
	/* Packets in an inactive queue are never executed; destroying it must not wait for them. */
	hsa_signal_store_relaxed(s, 1);
	queue_put(q, packet_dispatch(code[0].kernel[0], s));
	HSA_OK(hsa_queue_destroy(q));
	assert_int_equal(hsa_signal_load_relaxed(s), 1);
	HSA_OK(hsa_signal_destroy(s));
}

TEST_CASE(many_queues_come_and_go)
{
	hsa_signal_t s = signal_new(1);
	hsa_queue_t *q[16];

	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 16; i++)
			q[i] = queue_new(g.agent[i & 1], 64);
		for (int i = 0; i < 16; i++)
			run_one(q[i], code[i & 1].kernel[0], s);
		for (int i = 0; i < 16; i++)
			HSA_OK(hsa_queue_destroy(q[i]));
	}
	HSA_OK(hsa_signal_destroy(s));
}

int main(void)
{
	gpu_require_soft_thunk();
	return test_run(setup, teardown);
}
