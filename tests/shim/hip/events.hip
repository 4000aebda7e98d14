// SPDX-License-Identifier: MIT
// The times that HIP reports, to the last digit. The test stops the queue until everything is launched and
// makes the first kernel long, so that the kernels follow each other on the scripted GPU's time line without
// a gap, however slow the host is. The line ends less than 1/16 s ahead of the wall clock; up to there the
// runtime converts ticks exactly.
#include "tests/shim/hip/scene.h"

#include <hip/hip_ext.h>

__global__ void lead(int *x)
{
	x[0] = 0;
}

__global__ void piece(int *x, int by)
{
	x[threadIdx.x] += by;
}

__global__ void other(int *x)
{
	x[threadIdx.x]--;
}

static float between(hipEvent_t from, hipEvent_t to)
{
	float ms = -1;

	/* The stream has ended; HIP's thread may still have to say so. */
	HIP_OK(hipEventSynchronize(from));
	HIP_OK(hipEventSynchronize(to));
	HIP_OK(hipEventElapsedTime(&ms, from, to));
	return ms;
}

static hipEvent_t *events(unsigned n)
{
	hipEvent_t *event = (hipEvent_t *)calloc(n, sizeof(*event));

	for (unsigned i = 0; event && i < n; i++)
		HIP_OK(hipEventCreate(&event[i]));
	return event;
}

void scene_elapsed(const scene_args &args)
{
	hipEvent_t *event = events(3 * args.n);
	hipStream_t stream;
	int *x;

	HIP_OK(hipMalloc(&x, 4096));
	HIP_OK(hipStreamCreate(&stream));
	lead<<<1, 1, 0, stream>>>(x);
	for (unsigned round = 0; round < args.n; round++) {
		HIP_OK(hipEventRecord(event[3 * round], stream));
		for (unsigned i = 0; i <= round; i++)
			piece<<<1, 64, 0, stream>>>(x, i);
		HIP_OK(hipEventRecord(event[3 * round + 1], stream));
		other<<<1, 64, 0, stream>>>(x);
		HIP_OK(hipEventRecord(event[3 * round + 2], stream));
	}
	HIP_OK(hipStreamSynchronize(stream));
	for (unsigned round = 0; round < args.n; round++)
		printf("round %u ms %.9g %.9g %.9g\n", round,
			between(event[3 * round], event[3 * round + 1]),
			between(event[3 * round + 1], event[3 * round + 2]),
			between(event[0], event[3 * round + 2]));
	free(event);
	printf("launched %u\n", 1 + args.n * (args.n + 1) / 2 + args.n);
}

/* These events are the kernel's own signal: their times are the kernel's. */
void scene_extlaunch(const scene_args &args)
{
	hipEvent_t *start = events(2 * args.n), *stop = events(2 * args.n);
	hipStream_t stream;
	hipModule_t module;
	hipFunction_t function;
	int *x, by = 2;

	HIP_OK(hipMalloc(&x, 4096));
	HIP_OK(hipStreamCreate(&stream));
	HIP_OK(hipModuleLoad(&module, args.path[0]));
	HIP_OK(hipModuleGetFunction(&function, module, "first_module"));
	void *params[] = {&x, &by};
	void *module_params[] = {&x};

	lead<<<1, 1, 0, stream>>>(x);
	for (unsigned i = 0; i < 2 * args.n; i += 2) {
		HIP_OK(hipExtModuleLaunchKernel(function, 128, 1, 1, 64, 1, 1, 0, stream,
			module_params, nullptr, start[i], stop[i], 0));
		piece<<<1, 64, 0, stream>>>(x, 1);
		HIP_OK(hipExtLaunchKernel((void *)piece, dim3(1), dim3(64), params, 0, stream,
			start[i + 1], stop[i + 1], 0));
		other<<<1, 64, 0, stream>>>(x);
	}
	HIP_OK(hipStreamSynchronize(stream));
	for (unsigned i = 0; i < 2 * args.n; i += 2)
		printf("launch %u ms %.9g %.9g from the first %.9g\n", i / 2,
			between(start[i], stop[i]), between(start[i + 1], stop[i + 1]),
			between(start[0], stop[i]));
	HIP_OK(hipModuleUnload(module));
	free(start);
	free(stop);
	printf("launched %u\n", 1 + 4 * args.n);
}
