// SPDX-License-Identifier: MIT
/*
 * dispatch_cost ROUNDS [signals]: what submitting a kernel costs the thread that does it, in ns of
 * its CPU time, on the real runtime and the software GPU: the median round's, and the least. A
 * round is half a ring, so that nobody waits for room. With "signals", each packet has one of 256
 * of the program's own, which it waits for before it uses it again.
 */
#include "tests/softgpu/test_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RING	   16384u
#define ROUND	   (RING / 2)
#define ROUNDS_MAX 200
#define SIGNALS	   256u

static hsa_signal_t own[SIGNALS];

static uint64_t cpu_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static uint64_t round_ns(hsa_queue_t *queue, uint64_t kernel, bool has_signals)
{
	hsa_signal_t none = {0};
	uint64_t spent_ns = 0, start_ns;

	for (unsigned i = 0; i < ROUND; i++) {
		hsa_signal_t signal = has_signals ? own[i % SIGNALS] : none;

		/* The wait is the program's, and not what is measured. */
		if (has_signals) {
			signal_wait_done(signal);
			hsa_signal_store_relaxed(signal, 1);
		}
		start_ns = has_signals || i == 0 ? cpu_ns() : 0;
		(void)queue_put(queue, packet_dispatch(kernel, signal));
		if (has_signals)
			spent_ns += cpu_ns() - start_ns;
		else if (i == 0)
			spent_ns = start_ns;
	}
	return (has_signals ? spent_ns : cpu_ns() - spent_ns) / ROUND;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 7;
	bool has_signals = argc > 2 && !strcmp(argv[2], "signals");
	uint64_t ns[ROUNDS_MAX];
	hsa_signal_t last;
	struct code code;
	hsa_queue_t *queue;
	struct gpu gpu;

	if (rounds < 1 || rounds > ROUNDS_MAX)
		return 2;
	gpu_open(&gpu);
	code_load(gpu.agent[0], &code);
	queue = queue_new(gpu.agent[0], RING);
	last = signal_new(1);
	for (unsigned i = 0; i < SIGNALS; i++)
		own[i] = signal_new(0);
	for (int i = -1; i < rounds; i++) {
		uint64_t took = round_ns(queue, code.kernel[0], has_signals);

		if (i >= 0)
			ns[i] = took;
		run_one(queue, code.kernel[1], last);
	}
	qsort(ns, (size_t)rounds, sizeof(*ns), compare);
	printf("%llu %llu\n", (unsigned long long)ns[rounds / 2], (unsigned long long)ns[0]);
	HSA_OK(hsa_queue_destroy(queue));
	HSA_OK(hsa_signal_destroy(last));
	for (unsigned i = 0; i < SIGNALS; i++)
		HSA_OK(hsa_signal_destroy(own[i]));
	code_unload(&code);
	gpu_close();
	return 0;
}
