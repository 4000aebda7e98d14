// SPDX-License-Identifier: MIT
/*
 * Shared by the tests of the software GPU: start the distribution's ROCr on our libhsakmt (gpu_open
 * fails on any other), load the test kernels, write packets, read the truth log. Any thread; one
 * runtime at a time.
 */
#pragma once

#include <stdbool.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include "tests/lib/test.h"
#include "tests/softgpu/truth.h"

#define TEST_GPUS_MAX	 64
#define TEST_DEADLINE_MS 300000u

#define HSA_OK(call) assert_int_equal((call), HSA_STATUS_SUCCESS)

struct gpu {
	hsa_agent_t cpu;
	hsa_agent_t agent[TEST_GPUS_MAX];
	unsigned int count;
	hsa_amd_memory_pool_t host_pool; /* fine grained */
	hsa_amd_memory_pool_t vram[TEST_GPUS_MAX];
};

struct code {
	hsa_executable_t executable;
	hsa_code_object_reader_t reader;
	uint64_t kernel[4]; /* kernel objects of alpha, beta, gamma, delta */
};

extern const char *const test_kernel_name[4];

/* hsa_init, with the thunk checked before and after. */
void gpu_open(struct gpu *ret);
void gpu_close(void);
/* Fails unless the only thunk of this process is the one under test. */
void gpu_require_soft_thunk(void);
/* NULL if it has no such function. */
void *gpu_find_in_thunk(const char *name);

void code_load(hsa_agent_t agent, struct code *ret);
void code_unload(struct code *c);
/* The kernel object of any kernel of the file by its name. */
uint64_t code_find(const struct code *c, hsa_agent_t agent, const char *name);

hsa_queue_t *queue_new(hsa_agent_t agent, uint32_t packets);
hsa_signal_t signal_new(hsa_signal_value_t value);

struct packet {
	uint32_t head; /* header and setup, published last */
	uint32_t words[15];
};
static_assert(sizeof(struct packet) == 64, "AQL");

struct packet packet_dispatch(uint64_t kernel, hsa_signal_t done);
struct packet packet_barrier(
	hsa_packet_type_t type, const hsa_signal_t *dep, unsigned int count, hsa_signal_t done);
struct packet packet_barrier_value(hsa_signal_t dep, hsa_signal_condition32_t condition,
	hsa_signal_value_t value, hsa_signal_t done);
/* Reserves, waits for room, writes, publishes and rings. Returns the packet's index. */
uint64_t queue_put(hsa_queue_t *q, struct packet p);
void packet_store(hsa_queue_t *q, uint64_t index, const struct packet *p);
void queue_ring(hsa_queue_t *q, uint64_t index);

/* Waits until the signal's value is below 1; fails after the deadline. */
void signal_wait_done(hsa_signal_t s);
/* Dispatches one kernel and waits for it. */
void run_one(hsa_queue_t *q, uint64_t kernel, hsa_signal_t s);
hsa_amd_profiling_dispatch_time_t signal_time(hsa_agent_t agent, hsa_signal_t s);

uint64_t test_now_ms(void);
/* True once @is_met returns true; false after the deadline. Sleeps in between. */
bool wait_for(bool (*is_met)(void *arg), void *arg);

/* A directory of its own for this process, removed at exit. */
const char *test_dir(void);
const char *test_path(char *buf, size_t size, const char *name);

struct truth {
	const struct softgpu_truth_header *header;
	const struct softgpu_truth_queue *queue;
	const struct softgpu_truth_record *record;
	const char *names;
	size_t bytes;
};

void truth_map(const char *path, struct truth *ret);
void truth_unmap(struct truth *t);
uint64_t truth_records(const struct truth *t);
const char *truth_name(const struct truth *t, uint64_t i);
