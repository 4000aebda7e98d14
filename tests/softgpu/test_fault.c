// SPDX-License-Identifier: MIT
/* Each injected fault has its effect, and only on the selected dispatches. */
#include "tests/softgpu/test_gpu.h"

#include <hsa/amd_hsa_signal.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const hsa_signal_t no_signal;

static struct bench {
	struct gpu g;
	struct code code;
	hsa_queue_t *q;
	struct truth truth;
	uint64_t first;	 /* record */
	uint64_t queues; /* in the log, when this test is over */
} b;

static void start(const char *fault, const char *eager)
{
	static char path[4096];

	setenv("SOFTGPU_TRUTH", test_path(path, sizeof(path), "truth"), 1);
	setenv("SOFTGPU_FAULT", fault, 1);
	setenv("SOFTGPU_EAGER", eager, 1);
	gpu_open(&b.g);
	truth_map(path, &b.truth);
	code_load(b.g.agent[0], &b.code);
	b.first = truth_records(&b.truth);
	b.q = queue_new(b.g.agent[0], 64);
}

static int stop(void **state)
{
	(void)state;
	HSA_OK(hsa_queue_destroy(b.q));
	code_unload(&b.code);
	b.queues = b.truth.header->queues;
	truth_unmap(&b.truth);
	gpu_close();
	unsetenv("SOFTGPU_EAGER");
	unsetenv("SOFTGPU_REUSE");
	return 0;
}

static amd_signal_t *raw(hsa_signal_t s)
{
	return (amd_signal_t *)s.handle;
}

static uint64_t load(const volatile uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static bool has_end(void *arg)
{
	return load(&((amd_signal_t *)arg)->end_ts) != 0;
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, NULL, stop)

CASE(zero_ts_hits_one_ordinal)
{
	hsa_signal_t s;

	start("kernel alpha#1 fault=zero_ts", "0");
	s = signal_new(1);
	for (int i = 0; i < 3; i++) {
		raw(s)->start_ts = raw(s)->end_ts = 5;
		run_one(b.q, b.code.kernel[0], s);
		assert_int_equal(raw(s)->end_ts == 0, i == 1);
		assert_int_equal(raw(s)->start_ts == 0, i == 1);
		assert_int_equal(b.truth.record[b.first + (unsigned int)i].flags,
			i == 1 ? SOFTGPU_TRUTH_ZERO_TS : 0);
		/* The truth log is not affected. */
		assert_int_equal(b.truth.record[b.first + (unsigned int)i].end_tick -
					 b.truth.record[b.first + (unsigned int)i].start_tick,
			200);
	}
	HSA_OK(hsa_signal_destroy(s));
}

CASE(swapped_ts_exchanges_them)
{
	hsa_signal_t s;

	start("kernel alpha fault=swapped_ts duration=40us", "0");
	s = signal_new(1);
	run_one(b.q, b.code.kernel[0], s);
	assert_int_equal(raw(s)->start_ts - raw(s)->end_ts, 4000);
	assert_int_equal(raw(s)->end_ts, b.truth.record[b.first].start_tick);
	HSA_OK(hsa_signal_destroy(s));
}

/* The delay is long so that this thread sees the gap on the busiest machine. */
CASE(late_ts_come_after_the_value)
{
	hsa_signal_t s;

	start("kernel alpha fault=late_ts delay=2s", "0");
	s = signal_new(1);
	raw(s)->start_ts = raw(s)->end_ts = 0;
	queue_put(b.q, packet_dispatch(b.code.kernel[0], s));
	while (hsa_signal_load_scacquire(s) != 0)
		continue;
	assert_int_equal(load(&raw(s)->start_ts), 0);
	assert_int_equal(load(&raw(s)->end_ts), 0);
	assert_true(wait_for(has_end, raw(s)));
	assert_int_equal(raw(s)->end_ts - raw(s)->start_ts, 200);
	HSA_OK(hsa_signal_destroy(s));
}

CASE(value_first_leaves_the_end_open)
{
	hsa_signal_t s;

	start("kernel alpha fault=value_first delay=2s", "0");
	s = signal_new(1);
	raw(s)->start_ts = raw(s)->end_ts = 0;
	queue_put(b.q, packet_dispatch(b.code.kernel[0], s));
	while (hsa_signal_load_scacquire(s) != 0)
		continue;
	assert_int_not_equal(load(&raw(s)->start_ts), 0);
	assert_int_equal(load(&raw(s)->end_ts), 0);
	assert_true(wait_for(has_end, raw(s)));
	assert_int_equal(raw(s)->end_ts - raw(s)->start_ts, 200);
	HSA_OK(hsa_signal_destroy(s));
}

CASE(never_blocks_its_queue_alone)
{
	hsa_signal_t s, t, u;
	hsa_queue_t *other;

	start("kernel beta fault=never", "0");
	s = signal_new(1);
	t = signal_new(1);
	u = signal_new(1);
	other = queue_new(b.g.agent[0], 64);
	queue_put(b.q, packet_dispatch(b.code.kernel[1], s));
	queue_put(b.q, packet_dispatch(b.code.kernel[0], t));
	for (int i = 0; i < 200; i++)
		run_one(other, b.code.kernel[0], u);
	assert_int_equal(hsa_signal_load_relaxed(s), 1);
	assert_int_equal(hsa_signal_load_relaxed(t), 1);
	/* Launched, so its slot is free; the one behind it is not. */
	assert_int_equal(hsa_queue_load_read_index_scacquire(b.q), 1);
	HSA_OK(hsa_queue_destroy(other));
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_signal_destroy(t));
	HSA_OK(hsa_signal_destroy(u));
}

/* Queue 0 is ROCr's own, which loads the code: it would wait for ever. */
CASE(stalled_queue_fills_up)
{
	uint64_t before = b.queues;
	hsa_signal_t s, u;
	hsa_queue_t *other;

	start("queue 1 stall_until=64", "0");
	assert_int_equal(b.truth.header->queues, before + 2);
	assert_int_equal(b.truth.queue[before + 1].ordinal, 1);
	s = signal_new(64);
	u = signal_new(1);
	for (int i = 0; i < 63; i++)
		queue_put(b.q, packet_dispatch(b.code.kernel[0], s));
	other = queue_new(b.g.agent[0], 64);
	for (int i = 0; i < 64; i++)
		queue_put(other, packet_dispatch(b.code.kernel[0], i == 63 ? u : no_signal));
	signal_wait_done(u);
	assert_int_equal(hsa_signal_load_relaxed(s), 64);
	assert_int_equal(hsa_queue_load_read_index_scacquire(b.q), 0);
	queue_put(b.q, packet_dispatch(b.code.kernel[0], s));
	signal_wait_done(s);
	HSA_OK(hsa_queue_destroy(other));
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_signal_destroy(u));
}

CASE(stall_for_a_time_holds_the_first_packet)
{
	uint64_t before, after;
	hsa_signal_t s;

	start("queue * stall_for=200ms", "0");
	s = signal_new(1);
	HSA_OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
	run_one(b.q, b.code.kernel[0], s);
	HSA_OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
	assert_true(after - before >= 200000000u);
	HSA_OK(hsa_signal_destroy(s));
}

CASE(eager_fetch_needs_no_doorbell)
{
	struct packet p;
	hsa_signal_t s;
	uint64_t at;

	start("", "1");
	s = signal_new(1);
	p = packet_dispatch(b.code.kernel[0], s);
	/* Valid, but beyond the write index, so not in the queue yet. */
	at = hsa_queue_load_write_index_relaxed(b.q);
	packet_store(b.q, at, &p);
	usleep(20000);
	assert_int_equal(hsa_signal_load_relaxed(s), 1);
	assert_int_equal(hsa_queue_add_write_index_screlease(b.q, 1), at);
	signal_wait_done(s);
	assert_int_equal(b.truth.record[b.first].flags, SOFTGPU_TRUTH_EARLY);
	HSA_OK(hsa_signal_destroy(s));
}

/*
 * Stores after the header, signal first: a torn fetch eventually shows the newer grid and the older
 * signal.
 */
CASE(torn_fetch_mixes_ages)
{
	unsigned int torn = 0;

	start("", "2");
	for (unsigned int i = 0; i < 500000 && !torn; i++) {
		uint64_t at = hsa_queue_add_write_index_relaxed(b.q, 1);
		struct packet p = packet_dispatch(b.code.kernel[0], no_signal);
		hsa_kernel_dispatch_packet_t *slot =
			(hsa_kernel_dispatch_packet_t *)b.q->base_address + at % b.q->size;
		const struct softgpu_truth_record *r = &b.truth.record[b.first + i];
		hsa_signal_t s = signal_new(1);

		packet_store(b.q, at, &p);
		for (unsigned int k = 0; k < i % 64; k++)
			__builtin_ia32_pause();
		if (i % 2)
			sched_yield(); /* lets the device run if there is one processor */
		__atomic_store_n(&slot->completion_signal.handle, s.handle, __ATOMIC_RELEASE);
		__atomic_store_n(&slot->grid_size_x, 512, __ATOMIC_RELEASE);
		while (hsa_queue_load_read_index_scacquire(b.q) <= at)
			sched_yield();
		/* The device's copy was taken before the index moved. */
		if (!(r->flags & SOFTGPU_TRUTH_NO_SIGNAL))
			signal_wait_done(s);
		else
			torn += r->grid[0] == 512;
		HSA_OK(hsa_signal_destroy(s));
	}
	assert_int_equal(torn, 1);
}

CASE(unloaded_code_is_replaced_at_its_address)
{
	uint64_t before[4];

	start("", "0");
	memcpy(before, b.code.kernel, sizeof(before));
	for (int i = 0; i < 5; i++) {
		code_unload(&b.code);
		code_load(b.g.agent[0], &b.code);
		assert_memory_equal(before, b.code.kernel, sizeof(before));
	}
}

CASE(unloaded_code_never_comes_back_on_request)
{
	uint64_t seen[8];

	setenv("SOFTGPU_REUSE", "0", 1);
	start("", "0");
	for (int i = 0; i < 8; i++) {
		seen[i] = b.code.kernel[0];
		for (int k = 0; k < i; k++)
			assert_int_not_equal(seen[i], seen[k]);
		code_unload(&b.code);
		code_load(b.g.agent[0], &b.code);
	}
}

int main(void)
{
	gpu_require_soft_thunk();
	return test_run(NULL, NULL);
}
