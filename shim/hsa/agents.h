/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The GPUs of this process and their identity on this node. Read once in OnLoad with the runtime's
 * own functions, and constant afterwards, except tick_hz, which the shim thread measures if the
 * runtime does not report it. Hello, shapes and anchors use the index in this list.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/base/limits.h"
#include "shim/hsa/table.h"

struct agent {
	hsa_agent_t handle;
	uint32_t gpu_id;     /* node-global ordinal: what users see */
	uint32_t kfd_node;   /* as the runtime numbers it */
	uint32_t kfd_gpu_id; /* 0: unknown */
	uint32_t domain;
	uint32_t location_id; /* raw */
	uint32_t partition;
	uint64_t unique_id; /* 0: unknown */
	uint64_t tick_hz;   /* 0 if the runtime does not report it */
	char gfx[64];
	char name[64];
};

struct agents {
	uint32_t count;
	uint32_t cpu_nodes; /* that the runtime lists */
	uint32_t left_out;  /* GPUs past RECORDER_GPUS */
	struct agent gpu[RECORDER_GPUS];
};

/* 0, or -EIO if the runtime does not list its agents. No GPU at all is not an error. */
int agents_read(const struct hsa_table *table, struct agents *ret);

/* Index of @handle, or -ENOENT (a CPU, or a GPU that was left out). */
int agents_find(const struct agents *agents, hsa_agent_t handle);

/*
 * Fills gpu_id (and kfd_gpu_id if it is unknown) of every GPU from @topology, a directory like
 * /sys/class/kfd/kfd/topology/nodes. gpu_id is the GPU's position among the GPU nodes there, sorted
 * by node number. Of a GPU that is not listed there it is its node number minus the number of CPU
 * nodes. This is a function of its own for tests.
 */
void agents_number(struct agents *agents, const char *topology);
