// SPDX-License-Identifier: MIT
/* Memory of one process is shared with another through ROCr's handles: both see the same bytes. */
#include "tests/softgpu/test_child.h"
#include "tests/softgpu/test_gpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A part of ROCr's block of 2 MiB, and an allocation by itself. */
#define SMALL (5u * 4096u)
#define LARGE (6u << 20)

enum step { NOTHING, SHARED, WRITTEN, FREED };

static struct board {
	hsa_amd_ipc_memory_t handle[2];
	uint32_t step; /* atomic */
} * board;

static const size_t bytes_of[2] = {SMALL, LARGE};

static void wait_for_step(enum step step)
{
	while (__atomic_load_n(&board->step, __ATOMIC_ACQUIRE) < step)
		sched_yield();
}

static void set_step(enum step step)
{
	__atomic_store_n(&board->step, step, __ATOMIC_RELEASE);
}

static uint8_t byte_at(size_t i, uint8_t seed)
{
	return (uint8_t)((i * 2654435761u >> 9) + seed);
}

static void fill(uint8_t *p, size_t bytes, uint8_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		p[i] = byte_at(i, seed);
}

static bool is_filled(const uint8_t *p, size_t bytes, uint8_t seed)
{
	for (size_t i = 0; i < bytes; i++) {
		if (p[i] != byte_at(i, seed))
			return false;
	}
	return true;
}

/*
 * The first process: what it wrote before sharing stays, and what the other process writes is
 * visible.
 */
static void share(void)
{
	uint8_t *p[2], *guard;
	struct gpu g;

	gpu_open(&g);
	for (int i = 0; i < 2; i++) {
		MUST(!hsa_amd_memory_pool_allocate(g.vram[0], bytes_of[i], 0, (void **)&p[i]));
		fill(p[i], bytes_of[i], (uint8_t)i);
	}
	MUST(!hsa_amd_memory_pool_allocate(g.vram[0], SMALL, 0, (void **)&guard));
	fill(guard, SMALL, 77);
	for (int i = 0; i < 2; i++)
		MUST(!hsa_amd_ipc_memory_create(p[i], bytes_of[i], &board->handle[i]));
	set_step(SHARED);
	wait_for_step(WRITTEN);
	for (int i = 0; i < 2; i++)
		MUST(is_filled(p[i], bytes_of[i], (uint8_t)(100 + i)));
	MUST(is_filled(guard, SMALL, 77));
	for (int i = 0; i < 2; i++)
		MUST(!hsa_amd_memory_pool_free(p[i]));
	MUST(!hsa_amd_memory_pool_free(guard));
	gpu_close();
	set_step(FREED);
}

static void attach(void)
{
	void *p[2], *again;
	struct gpu g;

	gpu_open(&g);
	wait_for_step(SHARED);
	for (int i = 0; i < 2; i++) {
		MUST(!hsa_amd_ipc_memory_attach(
			&board->handle[i], bytes_of[i], 1, &g.agent[1], &p[i]));
		MUST(is_filled(p[i], bytes_of[i], (uint8_t)i));
		fill(p[i], bytes_of[i], (uint8_t)(100 + i));
	}
	set_step(WRITTEN);
	wait_for_step(FREED);
	/* It stays for the process that has attached it, and cannot be attached again. */
	MUST(is_filled(p[1], LARGE, 101));
	MUST(hsa_amd_ipc_memory_attach(&board->handle[1], LARGE, 1, &g.agent[0], &again));
	for (int i = 0; i < 2; i++)
		MUST(!hsa_amd_ipc_memory_detach(p[i]));
	gpu_close();
}

static void share_or_attach(int rank, int arg)
{
	(void)arg;
	if (rank == 0)
		share();
	else
		attach();
}

/* The first: it forks, and a runtime does not survive that. */
TEST_CASE(two_processes_see_the_same_bytes)
{
	board = mmap(
		NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(board, MAP_FAILED);
	run_children(2, share_or_attach, 0);
	munmap(board, sizeof(*board));
}

/* At another address, as with the driver. */
TEST_CASE(process_can_attach_to_its_own)
{
	hsa_amd_ipc_memory_t handle;
	void *other = NULL;
	uint8_t *p = NULL;
	struct gpu g;

	gpu_open(&g);
	HSA_OK(hsa_amd_memory_pool_allocate(g.vram[0], LARGE, 0, (void **)&p));
	fill(p, LARGE, 1);
	HSA_OK(hsa_amd_ipc_memory_create(p, LARGE, &handle));
	HSA_OK(hsa_amd_ipc_memory_attach(&handle, LARGE, 1, g.agent, &other));
	assert_true(is_filled(other, LARGE, 1));
	fill(p, LARGE, 2);
	assert_true(is_filled(other, LARGE, 2));
	HSA_OK(hsa_amd_ipc_memory_detach(other));
	assert_true(is_filled(p, LARGE, 2));
	HSA_OK(hsa_amd_memory_pool_free(p));
	gpu_close();
}

TEST_CASE(handle_of_something_else_is_refused)
{
	hsa_amd_ipc_memory_t handle;
	void *p = NULL;
	struct gpu g;

	gpu_open(&g);
	memset(&handle, 0, sizeof(handle));
	assert_int_not_equal(
		hsa_amd_ipc_memory_attach(&handle, LARGE, 1, g.agent, &p), HSA_STATUS_SUCCESS);
	HSA_OK(hsa_amd_memory_pool_allocate(g.vram[0], LARGE, 0, &p));
	HSA_OK(hsa_amd_ipc_memory_create(p, LARGE, &handle));
	handle.handle[2] = STDERR_FILENO;
	assert_int_not_equal(
		hsa_amd_ipc_memory_attach(&handle, LARGE, 1, g.agent, &p), HSA_STATUS_SUCCESS);
	HSA_OK(hsa_amd_memory_pool_free(p));
	gpu_close();
}

int main(void)
{
	gpu_require_soft_thunk();
	return test_run(NULL, NULL);
}
