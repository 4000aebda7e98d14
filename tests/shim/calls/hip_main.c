// SPDX-License-Identifier: MIT
/*
 * hip-calls [THREADS [ROUNDS [RANK]]]: uses most of HIP's ways to launch, on one stream per thread.
 * No two launches have the same grid; a line for each names the function that made it.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/lib/check.h"

/* hip_ext.h is for C++ only; this is the symbol it refers to. */
int ext_launch(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned lx, unsigned ly,
	unsigned lz, size_t shared, hipStream_t stream, void **params, void **extra,
	hipEvent_t start, hipEvent_t stop,
	unsigned flags) __asm__("_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjm"
				"P12ihipStream_tPPvS4_P11ihipEvent_tS6_j");

struct worker {
	pthread_t thread;
	unsigned index;
	unsigned rounds;
	unsigned grid; /* the last one used; each worker has its own range */
	hipStream_t stream;
	void *data;
};

static hipFunction_t work_a, work_b;

#define DO(call) check((int)(call), #call)

static void say(const char *api, unsigned grid)
{
	printf("launch %s|%u|%ld\n", api, grid, syscall(SYS_gettid));
}

static void launch_module(struct worker *w)
{
	void *params[] = {&w->data};

	DO(hipModuleLaunchKernel(work_a, ++w->grid, 1, 1, 2, 1, 1, 0, w->stream, params, NULL));
	say("hipModuleLaunchKernel", 2 * w->grid);
}

/* Its sizes are work-items; its events are those of the kernel. */
static void launch_ext(struct worker *w)
{
	void *params[] = {&w->data};
	hipEvent_t start, stop;
	float ms = -1;

	DO(hipEventCreate(&start));
	DO(hipEventCreate(&stop));
	DO(ext_launch(
		work_b, 2 * ++w->grid, 1, 1, 2, 1, 1, 0, w->stream, params, NULL, start, stop, 0));
	say("hipExtModuleLaunchKernel", 2 * w->grid);
	DO(hipEventSynchronize(stop));
	DO(hipEventElapsedTime(&ms, start, stop));
	if (ms < 0)
		check(1, "elapsed time");
	DO(hipEventDestroy(start));
	DO(hipEventDestroy(stop));
}

static void *work(void *argument)
{
	struct worker *w = argument;

	DO(hipSetDevice(0));
	DO(hipStreamCreate(&w->stream));
	DO(hipMalloc(&w->data, 1 << 20));
	for (unsigned i = 0; i < w->rounds; i++) {
		launch_module(w);
		launch_ext(w);
		DO(hipStreamQuery(w->stream) == hipErrorNotReady ? 0 : 0);
	}
	DO(hipStreamSynchronize(w->stream));
	DO(hipFree(w->data));
	DO(hipStreamDestroy(w->stream));
	return NULL;
}

/* The error that a call returns is in its row. */
static void fail(void)
{
	void *nothing = NULL;

	if (hipMalloc(&nothing, (size_t)1 << 60) == hipSuccess)
		check(1, "hipMalloc of everything");
	printf("failed hipMalloc\n");
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	struct worker *workers = calloc(threads, sizeof(*workers));
	hipModule_t module;

	if (!workers)
		return 2;
	DO(hipModuleLoad(&module, CALLS_CODE));
	DO(hipModuleGetFunction(&work_a, module, "work_a"));
	DO(hipModuleGetFunction(&work_b, module, "work_b"));
	fail();
	for (unsigned i = 0; i < threads; i++) {
		workers[i].rounds = rounds;
		workers[i].grid = 10000 * (i + 1);
		DO(pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	DO(hipDeviceSynchronize());
	DO(hipModuleUnload(module));
	free(workers);
	return 0;
}
