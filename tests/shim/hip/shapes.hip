// SPDX-License-Identifier: MIT
// Modules that come and go, and kernels of every shape.
#include "tests/shim/hip/scene.h"

struct block {
	unsigned long long word[496]; /* nearly the 4 KiB that a kernel may get */
};

__global__ void big_arguments(block b, unsigned long long *out)
{
	out[threadIdx.x] = b.word[threadIdx.x];
}

__global__ void local_memory(float *x)
{
	extern __shared__ float lds[];

	lds[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	x[threadIdx.x] = lds[blockDim.x - 1 - threadIdx.x];
}

/* An array that is indexed by data is in scratch memory. */
__global__ void private_memory(int *x, int n)
{
	volatile int own[1000];

	for (int i = 0; i < 1000; i++)
		own[i] = x[i];
	x[0] = own[x[1] % n];
}

void scene_shapes(const scene_args &args)
{
	unsigned long long *words;
	block b = {};
	float *x;
	int *y;

	HIP_OK(hipMalloc(&words, 8192));
	HIP_OK(hipMalloc(&x, 65536));
	HIP_OK(hipMalloc(&y, 65536));
	for (unsigned i = 0; i < args.n; i++) {
		b.word[i % 496] = i;
		big_arguments<<<dim3(i % 7 + 1, 2, 3), dim3(8, 4, 2)>>>(b, words);
		local_memory<<<1, 256, 1024 * (i % 60 + 1)>>>(x);
		private_memory<<<1, 64>>>(y, 7);
	}
	HIP_OK(hipDeviceSynchronize());
	hipFuncAttributes attributes;

	HIP_OK(hipFuncGetAttributes(&attributes, (const void *)private_memory));
	printf("scratch %zu\n", attributes.localSizeBytes);
	printf("launched %u\n", 3 * args.n);
}

void scene_modules(const scene_args &args)
{
	static const char *const name[] = {"first_module", "second_module"};
	int *x;

	HIP_OK(hipMalloc(&x, 4096));
	void *params[] = {&x};
	for (unsigned i = 0; i < args.n; i++) {
		hipModule_t module;
		hipFunction_t function;

		HIP_OK(hipModuleLoad(&module, args.path[i % 2]));
		HIP_OK(hipModuleGetFunction(&function, module, name[i % 2]));
		/* No wait before the unload but HIP's own. */
		for (unsigned k = 0; k < 3; k++)
			HIP_OK(hipModuleLaunchKernel(
				function, 1, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr));
		HIP_OK(hipModuleUnload(module));
	}
	HIP_OK(hipDeviceSynchronize());
	printf("launched %u\n", 3 * args.n);
}
