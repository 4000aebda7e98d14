// SPDX-License-Identifier: MIT
// Fills and copies: HIP's own kernels among the application's, and bytes that must be right.
#include "tests/shim/hip/scene.h"

#include <cstring>

enum { BYTES = 3 << 20 };

__global__ void touch(unsigned char *p)
{
	p[0] = 1;
}

static void expect(bool right, const char *what)
{
	printf("%s %s\n", what, right ? "right" : "WRONG");
	if (!right)
		exit(1);
}

static bool is_all(const unsigned char *p, size_t bytes, unsigned char value)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != value)
			return false;
	return true;
}

static unsigned char *pattern()
{
	unsigned char *p = (unsigned char *)malloc(BYTES);

	for (size_t i = 0; p && i < BYTES; i++)
		p[i] = (unsigned char)((i * 2654435761u) >> 7);
	return p;
}

void scene_memory(const scene_args &)
{
	unsigned char *in = pattern(), *out = (unsigned char *)calloc(1, BYTES), *a, *b;
	hipStream_t stream;

	HIP_OK(hipMalloc(&a, BYTES));
	HIP_OK(hipMalloc(&b, BYTES));
	HIP_OK(hipStreamCreate(&stream));
	HIP_OK(hipMemset(a, 0x5a, BYTES));
	touch<<<1, 1>>>(b);
	HIP_OK(hipMemcpy(out, a, BYTES, hipMemcpyDeviceToHost));
	expect(is_all(out, BYTES, 0x5a), "hipMemset");
	HIP_OK(hipMemsetAsync(a, 0x17, 1000, stream));
	touch<<<1, 1, 0, stream>>>(b);
	HIP_OK(hipMemcpyAsync(out, a, BYTES, hipMemcpyDeviceToHost, stream));
	HIP_OK(hipStreamSynchronize(stream));
	expect(is_all(out, 1000, 0x17) && is_all(out + 1000, BYTES - 1000, 0x5a), "hipMemsetAsync");
	HIP_OK(hipMemcpy(a, in, BYTES, hipMemcpyHostToDevice));
	HIP_OK(hipMemcpyAsync(b, a, BYTES, hipMemcpyDeviceToDevice, stream));
	HIP_OK(hipMemcpyAsync(out, b, BYTES, hipMemcpyDeviceToHost, stream));
	HIP_OK(hipStreamSynchronize(stream));
	expect(!memcmp(in, out, BYTES), "hipMemcpy");
	HIP_OK(hipMemset2D(a, 512, 0x33, 300, 64));
	HIP_OK(hipMemcpy2D(b, 1024, a, 512, 300, 64, hipMemcpyDeviceToDevice));
	HIP_OK(hipMemcpy(out, b, 300, hipMemcpyDeviceToHost));
	expect(is_all(out, 300, 0x33), "hipMemcpy2D");
	HIP_OK(hipDeviceSynchronize());
	free(in);
	free(out);
	printf("launched 2\n");
}

void scene_peers(const scene_args &args)
{
	unsigned char *in = pattern(), *out = (unsigned char *)calloc(1, BYTES), *a, *b;
	hipStream_t stream;
	int can = 0;

	HIP_OK(hipDeviceCanAccessPeer(&can, 0, 1));
	HIP_OK(hipSetDevice(1));
	HIP_OK(hipMalloc(&b, BYTES));
	HIP_OK(hipSetDevice(0));
	HIP_OK(hipMalloc(&a, BYTES));
	HIP_OK(hipStreamCreate(&stream));
	if (can)
		HIP_OK(hipDeviceEnablePeerAccess(1, 0));
	HIP_OK(hipMemcpy(a, in, BYTES, hipMemcpyHostToDevice));
	for (unsigned i = 0; i < args.n; i++) {
		touch<<<1, 1, 0, stream>>>(a + BYTES - 1);
		HIP_OK(hipMemcpyPeerAsync(b, 1, a, 0, BYTES, stream));
		HIP_OK(hipStreamSynchronize(stream));
		HIP_OK(hipMemcpyPeer(a, 0, b, 1, BYTES));
	}
	HIP_OK(hipMemcpy(out, b, BYTES, hipMemcpyDeviceToHost));
	expect(!memcmp(in, out, BYTES), "hipMemcpyPeer");
	free(in);
	free(out);
	printf("launched %u\n", args.n);
}
