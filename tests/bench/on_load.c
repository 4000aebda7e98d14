// SPDX-License-Identifier: MIT
/*
 * on_load KERNELS: how long hsa_init takes, in ns, and what is resident after it and KERNELS
 * dispatches, in KiB: all of it, and of that what lies in files and shared memory; how many pages
 * this thread has met for the first time when hsa_init returns.
 */
#include "tests/softgpu/test_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void work(int kernels)
{
	hsa_signal_t done;
	struct code code;
	hsa_queue_t *queue;
	struct gpu gpu;

	gpu_open(&gpu);
	code_load(gpu.agent[0], &code);
	queue = queue_new(gpu.agent[0], 4096);
	done = signal_new(1);
	for (int i = 0; i < kernels; i++)
		run_one(queue, code.kernel[0], done);
}

int main(int argc, char **argv)
{
	int kernels = argc > 1 ? atoi(argv[1]) : 0;
	unsigned long resident, shared;
	uint64_t start_ns, took_ns;
	struct rusage usage;
	FILE *file;

	start_ns = now_ns();
	HSA_OK(hsa_init());
	took_ns = now_ns() - start_ns;
	if (getrusage(RUSAGE_THREAD, &usage))
		return 1;
	if (kernels)
		work(kernels);
	file = fopen("/proc/self/statm", "re");
	if (!file || fscanf(file, "%*u %lu %lu", &resident, &shared) != 2)
		return 1;
	printf("%llu %lu %lu %ld\n", (unsigned long long)took_ns, resident * 4, shared * 4,
		usage.ru_minflt);
	if (argc > 2) { /* and where, if the caller asks */
		char line[256];

		file = fopen("/proc/self/smaps", "re");
		while (file && fgets(line, sizeof(line), file))
			fputs(line, stderr);
	}
	return 0;
}
