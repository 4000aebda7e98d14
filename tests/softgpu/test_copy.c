// SPDX-License-Identifier: MIT
/* Copies really copy: SDMA engines and ROCr's blit kernels, on all kinds of memory. */
#include "tests/softgpu/test_gpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES (9u << 20) /* more than one SDMA packet can copy */

static struct gpu g;

static int setup_sdma(void **state)
{
	(void)state;
	unsetenv("HSA_ENABLE_SDMA");
	gpu_open(&g);
	return 0;
}

static int setup_blit(void **state)
{
	(void)state;
	setenv("HSA_ENABLE_SDMA", "0", 1);
	gpu_open(&g);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gpu_close();
	return 0;
}

static uint8_t *host_alloc(size_t bytes)
{
	void *p = NULL;

	HSA_OK(hsa_amd_memory_pool_allocate(g.host_pool, bytes, 0, &p));
	HSA_OK(hsa_amd_agents_allow_access(g.count, g.agent, NULL, p));
	return p;
}

static uint8_t *vram_alloc(unsigned int gpu, size_t bytes)
{
	void *p = NULL;

	HSA_OK(hsa_amd_memory_pool_allocate(g.vram[gpu], bytes, 0, &p));
	HSA_OK(hsa_amd_agents_allow_access(g.count, g.agent, NULL, p));
	return p;
}

static void fill_pattern(uint8_t *p, size_t bytes, unsigned int seed)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)((i * 2654435761u + seed) >> 9);
}

static void copy(void *dst, hsa_agent_t to, const void *src, hsa_agent_t from, size_t bytes)
{
	hsa_signal_t s = signal_new(1);

	HSA_OK(hsa_amd_memory_async_copy(dst, to, src, from, bytes, 0, NULL, s));
	signal_wait_done(s);
	HSA_OK(hsa_signal_destroy(s));
}

static void linear_copies_are_byte_exact(void **state)
{
	static const size_t sizes[] = {1, 3, 4, 64, 4095, 65537, 1u << 20, BYTES - 64};
	uint8_t *in = host_alloc(BYTES), *out = host_alloc(BYTES);
	uint8_t *a = vram_alloc(0, BYTES), *b = vram_alloc(0, BYTES), *c = vram_alloc(1, BYTES);

	(void)state;
	fill_pattern(in, BYTES, 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t shift = 0; shift < 16; shift += 5) {
			size_t n = sizes[i];

			memset(out, 0xee, BYTES);
			copy(a + shift, g.agent[0], in, g.cpu, n);
			copy(b, g.agent[0], a + shift, g.agent[0], n);
			copy(c, g.agent[1], b, g.agent[0], n);
			copy(out + shift, g.cpu, c, g.agent[1], n);
			assert_memory_equal(out + shift, in, n);
			assert_int_equal(out[shift + n], 0xee);
			if (shift)
				assert_int_equal(out[shift - 1], 0xee);
		}
	}
	HSA_OK(hsa_amd_memory_pool_free(in));
	HSA_OK(hsa_amd_memory_pool_free(out));
	HSA_OK(hsa_amd_memory_pool_free(a));
	HSA_OK(hsa_amd_memory_pool_free(b));
	HSA_OK(hsa_amd_memory_pool_free(c));
}

static void rectangle_is_byte_exact(void **state)
{
	enum { PITCH = 512, ROWS = 40, SLICE = PITCH * ROWS, SLICES = 5, ALL = SLICE * SLICES };
	uint8_t *in = host_alloc(ALL), *a = vram_alloc(0, ALL), *out = host_alloc(ALL);
	hsa_dim3_t from = {20, 3, 1}, to = {8, 7, 2}, range = {301, 17, 2};
	hsa_pitched_ptr_t host = {in, PITCH, SLICE}, dev = {a, PITCH, SLICE};
	hsa_signal_t s = signal_new(1);

	(void)state;
	fill_pattern(in, ALL, 2);
	memset(out, 0xee, ALL);
	copy(a, g.agent[0], out, g.cpu, ALL);
	HSA_OK(hsa_amd_memory_async_copy_rect(
		&dev, &to, &host, &from, &range, g.agent[0], hsaHostToDevice, 0, NULL, s));
	signal_wait_done(s);
	copy(out, g.cpu, a, g.agent[0], ALL);
	for (unsigned int z = 0; z < SLICES; z++) {
		for (unsigned int y = 0; y < ROWS; y++) {
			for (unsigned int x = 0; x < PITCH; x++) {
				bool inside = x >= to.x && x < to.x + range.x && y >= to.y &&
					      y < to.y + range.y && z >= to.z && z < to.z + range.z;
				unsigned int at = z * SLICE + y * PITCH + x;

				if (!inside)
					assert_int_equal(out[at], 0xee);
				else
					assert_int_equal(out[at],
						in[at + (from.x - to.x) - (to.y - from.y) * PITCH -
							(to.z - from.z) * SLICE]);
			}
		}
	}
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_amd_memory_pool_free(in));
	HSA_OK(hsa_amd_memory_pool_free(out));
	HSA_OK(hsa_amd_memory_pool_free(a));
}

static void fill_is_exact(void **state)
{
	uint32_t *a = (uint32_t *)(void *)vram_alloc(0, BYTES);

	(void)state;
	memset(a, 0, BYTES);
	HSA_OK(hsa_amd_memory_fill(a + 1, 0xcafe1234u, BYTES / 4 - 2));
	assert_int_equal(a[0], 0);
	for (size_t i = 1; i < BYTES / 4 - 1; i++)
		assert_int_equal(a[i], 0xcafe1234u);
	assert_int_equal(a[BYTES / 4 - 1], 0);
	HSA_OK(hsa_amd_memory_pool_free(a));
}

/* A queue with one of HIP's own kernels, and its arguments. */
struct hip_kernel {
	hsa_queue_t *queue;
	struct code code;
	uint64_t object;
	uint8_t *args, *in, *vram;
};

#define HIP_ROOM 8192u

static void hip_kernel_open(struct hip_kernel *k, const char *name)
{
	k->args = host_alloc(4096);
	k->in = host_alloc(HIP_ROOM);
	k->vram = vram_alloc(0, HIP_ROOM);
	k->queue = queue_new(g.agent[0], 64);
	code_load(g.agent[0], &k->code);
	k->object = code_find(&k->code, g.agent[0], name);
}

static void hip_kernel_close(struct hip_kernel *k)
{
	code_unload(&k->code);
	HSA_OK(hsa_queue_destroy(k->queue));
	HSA_OK(hsa_amd_memory_pool_free(k->args));
	HSA_OK(hsa_amd_memory_pool_free(k->in));
	HSA_OK(hsa_amd_memory_pool_free(k->vram));
}

/* The memory is zeroed before. */
static void hip_kernel_run(struct hip_kernel *k, const void *args, size_t bytes)
{
	hsa_signal_t done = signal_new(1);
	struct packet p = packet_dispatch(k->object, done);

	memset(k->vram, 0, HIP_ROOM);
	memcpy(k->args, args, bytes);
	memcpy(&p.words[9], &k->args, sizeof(k->args)); /* kernarg_address */
	queue_put(k->queue, p);
	signal_wait_done(done);
	HSA_OK(hsa_signal_destroy(done));
}

#define HIP_RUN(k, ...)                                                                            \
	hip_kernel_run(k, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}))

/* HIP 5 passes an origin; HIP 6 and 7 have elements of 4 or 16 bytes, a remainder and an end. */
static void hip_copy_kernels_of_all_releases_are_byte_exact(void **state)
{
	enum { N = 4099, LEFT = N % 16 };
	struct hip_kernel k;
	uint64_t from, to;

	(void)state;
	hip_kernel_open(&k, "__amd_rocclr_copyBuffer");
	fill_pattern(k.in, HIP_ROOM, 5);
	from = (uintptr_t)k.in;
	to = (uintptr_t)k.vram;

	HIP_RUN(&k, from, to, 8, 16, (N + 3) / 4, N % 4);
	assert_memory_equal(k.vram + 16, k.in + 8, N);
	assert_int_equal(k.vram[15] | k.vram[16 + N], 0);

	HIP_RUN(&k, from + 1, to, N, LEFT | 16ull << 32, to + N - LEFT, 256 | 256ull << 32);
	assert_memory_equal(k.vram, k.in + 1, N);
	assert_int_equal(k.vram[N], 0);
	hip_kernel_close(&k);
}

static void hip_fill_kernels_of_all_releases_are_exact(void **state)
{
	struct hip_kernel k;
	uint64_t pattern, to;

	(void)state;
	hip_kernel_open(&k, "__amd_rocclr_fillBufferAligned");
	memcpy(k.in, "0123456789abcdef", 16);
	pattern = (uintptr_t)k.in;
	to = (uintptr_t)k.vram;

	/*
	 * 5: one of the buffers for 1, 2, 4 and 8 byte elements is set; patterns of 2 elements of
	 * 4.
	 */
	HIP_RUN(&k, 0, 0, to, 0, pattern, 2, 1, 100);
	for (unsigned int i = 0; i < 100; i++)
		assert_memory_equal(k.vram + 4 + i * 8, "01234567", 8);
	assert_int_equal(k.vram[3] | k.vram[804], 0);

	/* 6 and 7: elements of 16 bytes up to an end. */
	HIP_RUN(&k, to + 16, pattern, 1 | 16ull << 32, to + 16 + 160, 256 | 256ull << 32);
	for (unsigned int i = 0; i < 10; i++)
		assert_memory_equal(k.vram + 16 + i * 16, "0123456789abcdef", 16);
	assert_int_equal(k.vram[15] | k.vram[176], 0);
	hip_kernel_close(&k);
}

static void copy_waits_for_its_dependencies(void **state)
{
	uint8_t *in = host_alloc(4096), *a = vram_alloc(0, 4096);
	hsa_signal_t dep[2] = {signal_new(1), signal_new(1)}, s = signal_new(1);
	hsa_signal_t other = signal_new(1);

	(void)state;
	fill_pattern(in, 4096, 3);
	memset(a, 0, 4096);
	HSA_OK(hsa_amd_memory_async_copy(a, g.agent[0], in, g.cpu, 4096, 2, dep, s));
	hsa_signal_store_screlease(dep[0], 0);
	/* A copy back on the other engine is not delayed. */
	HSA_OK(hsa_amd_memory_async_copy(
		in + 2048, g.cpu, a + 2048, g.agent[0], 4, 0, NULL, other));
	signal_wait_done(other);
	assert_int_equal(hsa_signal_load_relaxed(s), 1);
	assert_int_equal(a[1], 0);
	hsa_signal_store_screlease(dep[1], 0);
	signal_wait_done(s);
	assert_memory_equal(a, in, 4096);
	for (int i = 0; i < 2; i++)
		HSA_OK(hsa_signal_destroy(dep[i]));
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_signal_destroy(other));
	HSA_OK(hsa_amd_memory_pool_free(in));
	HSA_OK(hsa_amd_memory_pool_free(a));
}

static void copies_have_profiled_times(void **state)
{
	uint8_t *in = host_alloc(1u << 20), *a = vram_alloc(0, 1u << 20);
	hsa_amd_profiling_async_copy_time_t t;
	hsa_signal_t s = signal_new(1);

	(void)state;
	HSA_OK(hsa_amd_profiling_async_copy_enable(true));
	HSA_OK(hsa_amd_memory_async_copy(a, g.agent[0], in, g.cpu, 1u << 20, 0, NULL, s));
	signal_wait_done(s);
	HSA_OK(hsa_amd_profiling_get_async_copy_time(s, &t));
	/* 1 us plus 1 MiB at 16000 bytes per us, rounded up to the tick. */
	assert_int_equal(t.end - t.start, 66540);
	HSA_OK(hsa_amd_profiling_async_copy_enable(false));
	HSA_OK(hsa_signal_destroy(s));
	HSA_OK(hsa_amd_memory_pool_free(in));
	HSA_OK(hsa_amd_memory_pool_free(a));
}

static void locked_memory_has_another_address_and_is_copied(void **state)
{
	uint8_t *host = malloc(100000), *a = vram_alloc(0, 100000), *out = host_alloc(100000);
	hsa_amd_pointer_info_t info = {.size = sizeof(info)};
	void *locked = NULL, *again = NULL;

	(void)state;
	assert_non_null(host);
	fill_pattern(host, 100000, 4);
	HSA_OK(hsa_amd_memory_lock(host, 100000, NULL, 0, &locked));
	assert_ptr_not_equal(locked, host);
	HSA_OK(hsa_amd_memory_lock(host, 100000, NULL, 0, &again));
	assert_ptr_equal(again, locked);
	HSA_OK(hsa_amd_pointer_info(host, &info, NULL, NULL, NULL));
	assert_int_equal(info.type, HSA_EXT_POINTER_TYPE_LOCKED);
	assert_ptr_equal(info.agentBaseAddress, locked);
	assert_int_equal(info.sizeInBytes, 100000);
	copy(a, g.agent[0], locked, g.cpu, 100000);
	copy(out, g.cpu, a, g.agent[0], 100000);
	assert_memory_equal(out, host, 100000);
	memset(host, 0, 100000);
	copy((uint8_t *)locked + 77, g.cpu, a + 77, g.agent[0], 5000);
	assert_memory_equal(host + 77, out + 77, 5000);
	assert_int_equal(host[76], 0);
	HSA_OK(hsa_amd_memory_unlock(host));
	HSA_OK(hsa_amd_memory_unlock(host));
	HSA_OK(hsa_amd_pointer_info(host, &info, NULL, NULL, NULL));
	assert_int_equal(info.type, HSA_EXT_POINTER_TYPE_UNKNOWN);
	HSA_OK(hsa_amd_memory_pool_free(a));
	HSA_OK(hsa_amd_memory_pool_free(out));
	free(host);
}

static void many_allocations_keep_apart(void **state)
{
	enum { N = 3000 };
	static uint8_t *p[N];

	(void)state;
	for (unsigned int i = 0; i < N; i++) {
		p[i] = i & 1 ? host_alloc(4096 + i) : vram_alloc(i % g.count, 4096 + i);
		memset(p[i], (int)(i & 0xff), 4096 + i);
	}
	for (unsigned int i = 0; i < N; i += 3)
		HSA_OK(hsa_amd_memory_pool_free(p[i]));
	for (unsigned int i = 0; i < N; i++) {
		if (i % 3 == 0)
			continue;
		assert_int_equal(p[i][0], i & 0xff);
		assert_int_equal(p[i][4095 + i], i & 0xff);
		HSA_OK(hsa_amd_memory_pool_free(p[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear_copies_are_byte_exact),
		cmocka_unit_test(fill_is_exact),
		cmocka_unit_test(hip_copy_kernels_of_all_releases_are_byte_exact),
		cmocka_unit_test(hip_fill_kernels_of_all_releases_are_exact),
		cmocka_unit_test(copy_waits_for_its_dependencies),
		cmocka_unit_test(locked_memory_has_another_address_and_is_copied),
		cmocka_unit_test(many_allocations_keep_apart),
	};
	const struct CMUnitTest sdma_only[] = {
		cmocka_unit_test(rectangle_is_byte_exact),
		cmocka_unit_test(copies_have_profiled_times),
	};
	int failed;

	gpu_require_soft_thunk();
	failed = cmocka_run_group_tests_name("softgpu.copy by sdma", tests, setup_sdma, teardown);
	failed += cmocka_run_group_tests_name(
		"softgpu.copy by sdma only", sdma_only, setup_sdma, teardown);
	failed += cmocka_run_group_tests_name("softgpu.copy by blit", tests, setup_blit, teardown);
	return failed;
}
