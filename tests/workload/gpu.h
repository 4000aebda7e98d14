/* SPDX-License-Identifier: MIT */
/*
 * One GPU through the public HSA API: agent, memory pools, its number on the node. Called by the
 * rank's main thread, before producers exist. After gpu_open the runtime is initialised; the
 * caller decides whether to gpu_close (hsa_shut_down) or to leave without.
 */
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_AGENTS_MAX 256

struct gpu {
	hsa_agent_t agent;
	hsa_agent_t cpu;
	hsa_amd_memory_pool_t device_pool;
	hsa_amd_memory_pool_t host_pool; /* fine-grained, usable for kernargs */
	int node_gpu;			 /* position among the node's GPUs, whatever is visible */
	char gfx[32];
	char name[65];
	bool simulated;
};

/*
 * Initialises HSA and takes GPU @turn mod n, n being the visible GPUs or @limit of them (0: all).
 * Says on stderr what failed. -ENODEV: no GPU is visible. -EIO: HSA.
 */
int gpu_open(int turn, int limit, struct gpu *ret);

/* Shuts HSA down. */
void gpu_close(void);

/* Prints a line for each visible GPU. 0, or -errno as gpu_open. */
int gpu_list(void);

/* Memory that GPU and host may access, or the GPU's own. NULL after saying why. */
void *gpu_alloc_host(const struct gpu *gpu, size_t size);
void *gpu_alloc_device(const struct gpu *gpu, size_t size);

/* Copies and waits; to be used outside the steps. -EIO after saying why. */
int gpu_copy(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent, size_t size);

/* Returns when @signal's value is below 1. */
void gpu_wait(hsa_signal_t signal);

/*
 * For ThreadSanitizer, which cannot look into the runtime: what the (software) GPU released at
 * @address has been acquired by an HSA call.
 */
static inline void gpu_saw(const volatile void *address)
{
#ifdef __SANITIZE_THREAD__
	extern void __tsan_acquire(void *);

	__tsan_acquire((void *)(uintptr_t)address);
#else
	(void)address;
#endif
}

/* Says which HSA call failed and why; always -EIO. */
int gpu_failed(const char *call, hsa_status_t status);

/* Returns -EIO from the calling function if an HSA call fails, after saying which. */
#define GPU_TRY(call, ...)                                                                         \
	do {                                                                                       \
		hsa_status_t gpu_status = call(__VA_ARGS__);                                       \
		if (gpu_status != HSA_STATUS_SUCCESS)                                              \
			return gpu_failed(#call, gpu_status);                                      \
	} while (0)
