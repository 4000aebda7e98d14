// SPDX-License-Identifier: MIT
// Launches from several threads, on several streams and GPUs, with callbacks, and cooperative.
#include "tests/shim/hip/scene.h"

#include <dlfcn.h>
#include <pthread.h>

__global__ void axpy(float a, const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] += a * x[i];
}

template <typename T> __global__ void scale(T *x, T by, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] *= by;
}

namespace layer
{
__global__ void norm(float *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = x[i] > 0 ? x[i] : 0;
}
} // namespace layer

__global__ void together(int *x)
{
	atomicAdd(x, 1);
}

static float *floats(int n)
{
	float *p;

	HIP_OK(hipMalloc(&p, n * sizeof(*p)));
	return p;
}

void scene_streams(const scene_args &args)
{
	hipStream_t stream[64];
	float *x = floats(4096), *y = floats(4096);

	for (unsigned s = 0; s < args.n; s++)
		HIP_OK(hipStreamCreateWithFlags(
			&stream[s], s % 2 ? hipStreamNonBlocking : hipStreamDefault));
	for (unsigned round = 0; round < args.m; round++) {
		for (unsigned s = 0; s < args.n; s++) {
			axpy<<<4, 256, 0, stream[s]>>>(2.0f, x, y, 1024);
			scale<float><<<dim3(2, 2), dim3(16, 16), 0, stream[s]>>>(x, 3.0f, 1024);
			scale<double><<<1, 64, 0, stream[s]>>>((double *)y, 3.0, 64);
			layer::norm<<<8, 128, 0, stream[s]>>>(y, 1024);
		}
		HIP_OK(hipStreamSynchronize(stream[round % args.n]));
	}
	HIP_OK(hipDeviceSynchronize());
	for (unsigned s = 0; s < args.n; s++)
		HIP_OK(hipStreamDestroy(stream[s]));
	printf("launched %u\n", 4 * args.n * args.m);
}

struct worker {
	pthread_t thread;
	hipStream_t shared;
	unsigned launches;
	float *x;
};

static void *work(void *arg)
{
	worker *w = (worker *)arg;
	hipStream_t own;

	HIP_OK(hipSetDevice(0));
	HIP_OK(hipStreamCreate(&own));
	for (unsigned i = 0; i < w->launches; i++) {
		hipStream_t stream = i % 3 == 0 ? w->shared : i % 3 == 1 ? own : hipStreamPerThread;

		layer::norm<<<1, 64, 0, stream>>>(w->x, 64);
		if (i % 64 == 63)
			HIP_OK(hipStreamSynchronize(stream));
	}
	HIP_OK(hipStreamSynchronize(own));
	HIP_OK(hipStreamSynchronize(hipStreamPerThread));
	HIP_OK(hipStreamDestroy(own));
	return nullptr;
}

void scene_threads(const scene_args &args)
{
	worker workers[64];
	hipStream_t shared;
	float *x = floats(4096);

	HIP_OK(hipStreamCreate(&shared));
	for (unsigned t = 0; t < args.n; t++) {
		workers[t] = {0, shared, args.m, x};
		if (pthread_create(&workers[t].thread, nullptr, work, &workers[t]))
			exit(1);
	}
	for (unsigned t = 0; t < args.n; t++)
		pthread_join(workers[t].thread, nullptr);
	HIP_OK(hipDeviceSynchronize());
	HIP_OK(hipStreamDestroy(shared));
	printf("launched %u\n", args.n * args.m);
}

void scene_flood(const scene_args &args)
{
	float *x = floats(4096);

	for (unsigned i = 0; i < args.n; i++)
		layer::norm<<<1, 64>>>(x, 64);
	HIP_OK(hipDeviceSynchronize());
	printf("launched %u\n", args.n);
}

struct calls {
	unsigned stream, host;
	int wrong;
};

static void on_stream(hipStream_t, hipError_t status, void *arg)
{
	calls *c = (calls *)arg;

	c->stream++;
	c->wrong += status != hipSuccess;
}

static void on_host(void *arg)
{
	((calls *)arg)->host++;
}

void scene_callbacks(const scene_args &args)
{
	/* Declared by the headers of 5.2, but not exported by its library. */
	auto launch_host = (hipError_t(*)(hipStream_t, hipHostFn_t, void *))dlsym(
		RTLD_DEFAULT, "hipLaunchHostFunc");
	calls seen = {};
	hipStream_t stream;
	float *x = floats(4096);

	HIP_OK(hipStreamCreate(&stream));
	for (unsigned i = 0; i < args.n; i++) {
		layer::norm<<<1, 64, 0, stream>>>(x, 64);
		HIP_OK(hipStreamAddCallback(stream, on_stream, &seen, 0));
		layer::norm<<<2, 64, 0, stream>>>(x, 64);
		if (launch_host)
			HIP_OK(launch_host(stream, on_host, &seen));
	}
	HIP_OK(hipStreamSynchronize(stream));
	HIP_OK(hipStreamDestroy(stream));
	printf("callbacks %u host functions %u of %u wrong %d\n", seen.stream, seen.host,
		launch_host ? args.n : 0, seen.wrong);
	printf("launched %u\n", 2 * args.n);
}

void scene_coop(const scene_args &args)
{
	hipStream_t stream;
	float *x = floats(4096);
	int *count;

	HIP_OK(hipMalloc(&count, sizeof(*count)));
	HIP_OK(hipStreamCreate(&stream));
	void *params[] = {&count};
	for (unsigned i = 0; i < args.n; i++) {
		layer::norm<<<1, 64, 0, stream>>>(x, 64);
		HIP_OK(hipLaunchCooperativeKernel(
			(void *)together, dim3(2), dim3(64), params, 0, stream));
	}
	HIP_OK(hipStreamSynchronize(stream));
	printf("launched %u of which %u cooperative\n", 2 * args.n, args.n);
}

void scene_devices(const scene_args &args)
{
	int count;

	HIP_OK(hipGetDeviceCount(&count));
	for (int d = 0; d < count; d++) {
		HIP_OK(hipSetDevice(d));
		float *x = floats(4096);

		/* Another number on each, so that mixed up ones show. */
		for (unsigned i = 0; i < args.n + d; i++)
			layer::norm<<<1, 64>>>(x, 64);
		printf("device %d launched %u\n", d, args.n + d);
	}
	for (int d = 0; d < count; d++) {
		HIP_OK(hipSetDevice(d));
		HIP_OK(hipDeviceSynchronize());
	}
}

void scene_reset(const scene_args &args)
{
	for (unsigned i = 0; i < args.n; i++) {
		hipStream_t stream;
		float *x = floats(4096);

		HIP_OK(hipStreamCreate(&stream));
		for (unsigned k = 0; k < 10; k++)
			layer::norm<<<1, 64, 0, k % 2 ? stream : nullptr>>>(x, 64);
		HIP_OK(hipDeviceSynchronize());
		HIP_OK(hipDeviceReset());
	}
	printf("launched %u\n", 10 * args.n);
}
