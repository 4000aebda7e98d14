// SPDX-License-Identifier: MIT
/* Scripted durations are exact, on one line with the host's clock. */
#include "tests/softgpu/test_gpu.h"

#include <hsa/amd_hsa_signal.h>
#include <hsakmt.h>
#include <stdlib.h>

static const char script[] = "default duration=3us;"
			     "kernel beta duration=70us;"
			     "kernel gam* duration=1234560;"
			     "kernel delta duration=10;"
			     "kernel delta#2 duration=20;"
			     "kernel delta#4-5 duration=30;"
			     "kernel delta gpu=1 duration=990";

static struct gpu g;
static struct code code[2];

static int setup(void **state)
{
	(void)state;
	setenv("SOFTGPU_FAULT", script, 1);
	unsetenv("SOFTGPU_REALTIME");
	gpu_open(&g);
	for (unsigned int i = 0; i < 2; i++)
		code_load(g.agent[i], &code[i]);
	return 0;
}

static int setup_realtime(void **state)
{
	(void)state;
	setenv("SOFTGPU_FAULT", "default duration=5ms", 1);
	setenv("SOFTGPU_REALTIME", "1", 1);
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

static void expect_duration(hsa_queue_t *q, unsigned int gpu, unsigned int kernel, uint64_t ns)
{
	hsa_signal_t s = signal_new(1);
	const amd_signal_t *raw = (const amd_signal_t *)s.handle;
	hsa_amd_profiling_dispatch_time_t t;

	run_one(q, code[gpu].kernel[kernel], s);
	assert_int_equal((raw->end_ts - raw->start_ts) * 10, ns);
	t = signal_time(g.agent[gpu], s);
	assert_int_equal(t.end - t.start, ns);
	HSA_OK(hsa_signal_destroy(s));
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, setup, teardown)

CASE(scripted_durations_are_exact)
{
	static const uint64_t delta[8] = {10, 10, 20, 10, 30, 30, 10, 10};
	hsa_queue_t *q = queue_new(g.agent[0], 64), *q1 = queue_new(g.agent[1], 64);

	for (int i = 0; i < 5; i++) {
		expect_duration(q, 0, 0, 3000);
		expect_duration(q, 0, 1, 70000);
		expect_duration(q, 0, 2, 1234560);
	}
	for (int i = 0; i < 8; i++)
		expect_duration(q, 0, 3, delta[i]);
	for (int i = 0; i < 8; i++)
		expect_duration(q1, 1, 3, 990);
	HSA_OK(hsa_queue_destroy(q));
	HSA_OK(hsa_queue_destroy(q1));
}

CASE(busy_queue_has_no_gaps)
{
	enum { PACKETS = 32 };
	hsa_queue_t *q = queue_new(g.agent[0], 64);
	hsa_signal_t s[PACKETS], gate = signal_new(1);

	queue_put(q, packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, &gate, 1, (hsa_signal_t){0}));
	for (int i = 0; i < PACKETS; i++) {
		s[i] = signal_new(1);
		queue_put(q, packet_dispatch(code[0].kernel[1], s[i]));
	}
	hsa_signal_store_screlease(gate, 0);
	signal_wait_done(s[PACKETS - 1]);
	for (int i = 0; i < PACKETS; i++) {
		const amd_signal_t *raw = (const amd_signal_t *)s[i].handle;

		assert_int_equal(raw->end_ts - raw->start_ts, 7000);
		if (i)
			assert_int_equal(
				raw->start_ts, ((const amd_signal_t *)s[i - 1].handle)->end_ts);
	}
	for (int i = 0; i < PACKETS; i++)
		HSA_OK(hsa_signal_destroy(s[i]));
	HSA_OK(hsa_signal_destroy(gate));
	HSA_OK(hsa_queue_destroy(q));
}

CASE(anchors_are_collinear)
{
	HSAKMT_STATUS (*get)(HSAuint32, HsaClockCounters *);
	uint64_t offset[3];

	*(void **)&get = gpu_find_in_thunk("hsaKmtGetClockCounters");
	assert_non_null(get);
	for (HSAuint32 node = 0; node < 3; node++) {
		for (int i = 0; i < 100000; i++) {
			HsaClockCounters c;

			assert_int_equal(get(node, &c), HSAKMT_STATUS_SUCCESS);
			assert_int_equal(c.SystemClockCounter % 10, 0);
			if (i == 0)
				offset[node] = c.GPUClockCounter - c.SystemClockCounter / 10;
			assert_int_equal(
				c.GPUClockCounter - c.SystemClockCounter / 10, offset[node]);
		}
	}
	assert_int_not_equal(offset[1], offset[2]);
	assert_int_not_equal(offset[1], 0);
}

TEST_CASE_BETWEEN(real_time_kernels_end_when_the_clock_says, setup_realtime, teardown)
{
	hsa_queue_t *q = queue_new(g.agent[0], 64);
	uint64_t before, after;

	for (int i = 0; i < 20; i++) {
		hsa_signal_t s = signal_new(1);
		hsa_amd_profiling_dispatch_time_t t;

		HSA_OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before));
		run_one(q, code[0].kernel[0], s);
		HSA_OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after));
		t = signal_time(g.agent[0], s);
		assert_int_equal(t.end - t.start, 5000000);
		assert_true(t.start >= before);
		assert_true(t.end <= after);
		HSA_OK(hsa_signal_destroy(s));
	}
	HSA_OK(hsa_queue_destroy(q));
}

int main(void)
{
	gpu_require_soft_thunk();
	return test_run(NULL, NULL);
}
