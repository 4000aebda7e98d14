// SPDX-License-Identifier: MIT
// System calls of a HIP program while it launches: two threads alternate, each with bursts between two marks
// that strace shows; HIP itself waits only outside of these.
#include "tests/shim/hip/scene.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 2
#define BURSTS	10
#define WARM_UPS 3

static pthread_barrier_t turn;
static unsigned launches, extra;

__global__ void steady_kernel(int *data)
{
	data[threadIdx.x] += 1;
}

static void mark()
{
	(void)syscall(SYS_getppid);
}

static void burst(hipStream_t stream, int *data)
{
	mark();
	for (unsigned i = 0; i < launches; i++) {
		hipLaunchKernelGGL(steady_kernel, dim3(1), dim3(64), 0, stream, data);
		// To check that the test can fail.
		if (i < extra)
			(void)syscall(SYS_getuid);
	}
	mark();
	HIP_OK(hipGetLastError());
	HIP_OK(hipStreamSynchronize(stream));
}

static void *launch(void *argument)
{
	long index = (long)argument;
	hipStream_t stream;
	int *data;

	HIP_OK(hipStreamCreate(&stream));
	HIP_OK(hipMalloc(&data, 4096));
	// After that HIP has its queues, code and pools.
	for (unsigned i = 0; i < WARM_UPS; i++) {
		for (unsigned k = 0; k < launches; k++)
			hipLaunchKernelGGL(steady_kernel, dim3(1), dim3(64), 0, stream, data);
		HIP_OK(hipStreamSynchronize(stream));
	}
	for (long i = 0; i < THREADS * BURSTS; i++) {
		pthread_barrier_wait(&turn);
		if (i % THREADS == index)
			burst(stream, data);
	}
	HIP_OK(hipFree(data));
	HIP_OK(hipStreamDestroy(stream));
	return nullptr;
}

void scene_steady(const scene_args &args)
{
	pthread_t thread[THREADS];

	// HIP's allocations for a launch must not make the heap grow or shrink.
	mallopt(M_TOP_PAD, 16 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	launches = args.n;
	extra = args.m;
	pthread_barrier_init(&turn, nullptr, THREADS);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], nullptr, launch, (void *)i))
			exit(1);
	for (pthread_t each : thread)
		pthread_join(each, nullptr);
	printf("launched %u\n", THREADS * (BURSTS + WARM_UPS) * launches);
}
