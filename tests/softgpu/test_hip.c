// SPDX-License-Identifier: MIT
/*
 * HIP without hipcc: what an application does through libamdhip64 reaches our queues and returns.
 */
#define __HIP_PLATFORM_AMD__ 1
#include "tests/softgpu/test_gpu.h"

#include <hip/hip_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIP_OK(call) assert_int_equal((call), hipSuccess)
#define BYTES	     (3u << 20)

static uint8_t *pattern(size_t bytes, unsigned int seed)
{
	uint8_t *p = malloc(bytes);

	assert_non_null(p);
	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)((i * 2654435761u + seed) >> 7);
	return p;
}

TEST_CASE(devices_are_simulated)
{
	hipDeviceProp_t props;
	int count = 0;

	gpu_require_soft_thunk();
	HIP_OK(hipGetDeviceCount(&count));
	assert_int_equal(count, 2);
	HIP_OK(hipGetDeviceProperties(&props, 0));
	assert_non_null(strstr(props.name, "SIMULATED"));
	assert_memory_equal(props.gcnArchName, "gfx90a", 6);
}

TEST_CASE(copies_are_byte_exact)
{
	uint8_t *in = pattern(BYTES, 1), *out = calloc(1, BYTES);
	void *a, *b;

	assert_non_null(out);
	HIP_OK(hipMalloc(&a, BYTES));
	HIP_OK(hipMalloc(&b, BYTES));
	HIP_OK(hipMemcpy(a, in, BYTES, hipMemcpyHostToDevice));
	HIP_OK(hipMemcpy(b, a, BYTES, hipMemcpyDeviceToDevice));
	HIP_OK(hipMemcpy(out, b, BYTES, hipMemcpyDeviceToHost));
	assert_memory_equal(in, out, BYTES);
	/* Odd sizes and addresses. */
	HIP_OK(hipMemcpy((char *)b + 13, (char *)a + 7, 100003, hipMemcpyDeviceToDevice));
	HIP_OK(hipMemcpy(out, (char *)b + 13, 100003, hipMemcpyDeviceToHost));
	assert_memory_equal(in + 7, out, 100003);
	HIP_OK(hipFree(a));
	HIP_OK(hipFree(b));
	free(in);
	free(out);
}

TEST_CASE(fills_are_byte_exact)
{
	uint8_t *out = malloc(BYTES), want[5003];
	uint32_t *words = (uint32_t *)(void *)out;
	void *a;

	assert_non_null(out);
	HIP_OK(hipMalloc(&a, BYTES));
	HIP_OK(hipMemset(a, 0x11, BYTES));
	HIP_OK(hipMemset((char *)a + 5, 0xa5, sizeof(want)));
	HIP_OK(hipMemcpy(out, a, BYTES, hipMemcpyDeviceToHost));
	memset(want, 0xa5, sizeof(want));
	assert_memory_equal(out + 5, want, sizeof(want));
	assert_int_equal(out[4], 0x11);
	assert_int_equal(out[5 + sizeof(want)], 0x11);
	assert_int_equal(out[BYTES - 1], 0x11);
	HIP_OK(hipMemsetD32((hipDeviceptr_t)a, (int)0xdeadbeef, 1000));
	HIP_OK(hipMemcpy(out, a, 8000, hipMemcpyDeviceToHost));
	for (unsigned int i = 0; i < 1000; i++)
		assert_int_equal(words[i], 0xdeadbeef);
	HIP_OK(hipFree(a));
	free(out);
}

TEST_CASE(rectangles_are_byte_exact)
{
	enum { W = 300, H = 37, PITCH_H = 512 };
	uint8_t *in = pattern(PITCH_H * H, 3), *out = calloc(1, PITCH_H * H);
	size_t pitch_a, pitch_b;
	void *a, *b;

	assert_non_null(out);
	HIP_OK(hipMallocPitch(&a, &pitch_a, W, H));
	HIP_OK(hipMallocPitch(&b, &pitch_b, W + 100, H));
	HIP_OK(hipMemset2D(a, pitch_a, 0x77, W, H));
	HIP_OK(hipMemcpy2D(out, PITCH_H, a, pitch_a, W, H, hipMemcpyDeviceToHost));
	for (unsigned int y = 0; y < H; y++) {
		assert_int_equal(out[y * PITCH_H], 0x77);
		assert_int_equal(out[y * PITCH_H + W - 1], 0x77);
		assert_int_equal(out[y * PITCH_H + W], 0);
	}
	HIP_OK(hipMemcpy2D(a, pitch_a, in, PITCH_H, W, H, hipMemcpyHostToDevice));
	HIP_OK(hipMemcpy2D(b, pitch_b, a, pitch_a, W, H, hipMemcpyDeviceToDevice));
	HIP_OK(hipMemcpy2D(out, PITCH_H, b, pitch_b, W, H, hipMemcpyDeviceToHost));
	for (unsigned int y = 0; y < H; y++)
		assert_memory_equal(out + y * PITCH_H, in + y * PITCH_H, W);
	/* Nothing is aligned, so HIP uses another kernel. */
	memset(out, 0, PITCH_H * H);
	HIP_OK(hipMemcpy2D(
		(char *)b + 3, pitch_b, (char *)a + 1, pitch_a, W - 9, H, hipMemcpyDeviceToDevice));
	HIP_OK(hipMemcpy2D(out, PITCH_H, (char *)b + 3, pitch_b, W - 9, H, hipMemcpyDeviceToHost));
	for (unsigned int y = 0; y < H; y++)
		assert_memory_equal(out + y * PITCH_H, in + y * PITCH_H + 1, W - 9);
	HIP_OK(hipFree(a));
	HIP_OK(hipFree(b));
	free(in);
	free(out);
}

TEST_CASE(peers_can_copy)
{
	uint8_t *in = pattern(BYTES, 5), *out = calloc(1, BYTES);
	void *a, *b;

	assert_non_null(out);
	HIP_OK(hipSetDevice(0));
	HIP_OK(hipMalloc(&a, BYTES));
	HIP_OK(hipMemcpy(a, in, BYTES, hipMemcpyHostToDevice));
	HIP_OK(hipSetDevice(1));
	HIP_OK(hipMalloc(&b, BYTES));
	HIP_OK(hipMemcpyPeer(b, 1, a, 0, BYTES));
	HIP_OK(hipMemcpy(out, b, BYTES, hipMemcpyDeviceToHost));
	assert_memory_equal(in, out, BYTES);
	HIP_OK(hipFree(b));
	HIP_OK(hipSetDevice(0));
	HIP_OK(hipFree(a));
	free(in);
	free(out);
}

static void *read_file(const char *path)
{
	FILE *f = fopen(path, "rbe");
	char *data;
	long n;

	assert_non_null(f);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	n = ftell(f);
	assert_true(n > 0);
	rewind(f);
	data = malloc((size_t)n);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)n, f), n);
	fclose(f);
	return data;
}

TEST_CASE(launched_kernels_are_in_the_truth_log)
{
	unsigned int alphas = 0, gammas = 0;
	void *image = read_file(TEST_CODE_OBJECT), *dev;
	hipFunction_t alpha, gamma;
	hipStream_t stream;
	hipModule_t module;
	hipEvent_t from, to;
	float ms = -1;
	struct truth t;
	int n = 64;
	void *args[] = {&dev, &n};

	HIP_OK(hipMalloc(&dev, 4096));
	HIP_OK(hipModuleLoadData(&module, image));
	HIP_OK(hipModuleGetFunction(&alpha, module, "alpha"));
	HIP_OK(hipModuleGetFunction(&gamma, module, "gamma"));
	HIP_OK(hipStreamCreate(&stream));
	HIP_OK(hipEventCreate(&from));
	HIP_OK(hipEventCreate(&to));
	HIP_OK(hipEventRecord(from, stream));
	for (int i = 0; i < 100; i++) {
		HIP_OK(hipModuleLaunchKernel(alpha, 4, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
		HIP_OK(hipModuleLaunchKernel(gamma, 1, 1, 1, 64, 1, 1, 0, stream, args, NULL));
	}
	HIP_OK(hipEventRecord(to, stream));
	HIP_OK(hipStreamSynchronize(stream));
	HIP_OK(hipEventElapsedTime(&ms, from, to));
	assert_true(ms > 0);
	HIP_OK(hipModuleUnload(module));
	HIP_OK(hipStreamDestroy(stream));
	HIP_OK(hipFree(dev));
	free(image);

	truth_map(getenv("SOFTGPU_TRUTH"), &t);
	for (uint64_t i = 0; i < truth_records(&t); i++) {
		assert_int_equal(t.record[i].state, SOFTGPU_TRUTH_DONE);
		alphas += !strcmp(truth_name(&t, i), "alpha");
		gammas += !strcmp(truth_name(&t, i), "gamma");
	}
	assert_int_equal(alphas, 100);
	assert_int_equal(gammas, 100);
	truth_unmap(&t);
}

int main(void)
{
	char path[4096];

	gpu_require_soft_thunk();
	setenv("SOFTGPU_TRUTH", test_path(path, sizeof(path), "truth"), 1);
	return test_run(NULL, NULL);
}
