/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Declarations that runtimes have and the headers we build with lack, fixed as of AMD's interface
 * 1.31 (AMD table step 0x12). They first appeared in 1.16 (counted queues), 1.26 (descriptors) and
 * ROCm 7.0 (hsa_amd_signal_wait_all).
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <hsa/hsa.h>

#define HSA_LATER_DESC_VERSION	 1u
#define HSA_LATER_ENGINE_COMPUTE 0u
#define HSA_LATER_ENGINE_SDMA	 1u
#define HSA_LATER_SYSTEM_MEMORY	 0u /* flags: ring and queue descriptor in host memory */
#define HSA_LATER_DEVICE_RING	 1u /* HSA_AMD_QUEUE_CREATE_DEVICE_MEM_RING_BUF */
/* The step of the AMD table that introduced descriptors. */
#define HSA_LATER_STEP_DESC	 0x0fu

/* Requests one queue. Version 1 has this size; all reserved bytes are 0. */
struct hsa_later_queue_desc {
	uint16_t version;
	uint16_t flags;
	uint8_t engine_type;
	uint8_t reserved_header[3];
	uint32_t queue_size_bytes;
	uint32_t priority;
	void (*callback)(hsa_status_t status, hsa_queue_t *queue, void *data);
	void *callback_data;
	hsa_queue_t *queue; /* out; NULL if this queue was not created */
	struct {
		const uint32_t *cu_mask;
		hsa_queue_type32_t type;
		uint32_t private_segment_size;
		uint32_t cu_mask_count;
		uint32_t reserved[3];
	} compute; /* for the compute engine */
	uint32_t traffic_class;
	uint8_t reserved[20];
};
static_assert(offsetof(struct hsa_later_queue_desc, queue) == 32, "queue descriptor");
static_assert(offsetof(struct hsa_later_queue_desc, compute.type) == 48, "queue descriptor");
static_assert(sizeof(struct hsa_later_queue_desc) == 96, "queue descriptor");

/* Creates as many queues as it can, and returns the status of the first failure. */
typedef hsa_status_t hsa_later_queue_create(
	hsa_agent_t agent, struct hsa_later_queue_desc *descs, uint32_t count);

/*
 * Creates the ring of a copy engine, which the caller fills itself. The fourth argument is an
 * integer, 0.
 */
typedef hsa_status_t hsa_later_sdma_create(
	hsa_agent_t agent, uint32_t flags, uint32_t engine, uint64_t zero, void *queue);

/*
 * Returns a separate handle of a hardware queue that others may share. Its amd_queue_t is a copy:
 * only the runtime knows where the write index is, so no tool can follow such a queue.
 */
typedef hsa_status_t hsa_later_counted_acquire(hsa_agent_t agent, hsa_queue_type_t type,
	int priority, void (*callback)(hsa_status_t status, hsa_queue_t *queue, void *data),
	void *data, uint64_t flags, hsa_queue_t **queue);
typedef hsa_status_t hsa_later_counted_release(hsa_queue_t *queue);

/* Returns UINT32_MAX on timeout. */
typedef uint32_t hsa_later_signal_wait_all(uint32_t count, hsa_signal_t *signals,
	hsa_signal_condition_t *conditions, hsa_signal_value_t *values, uint64_t timeout_hint,
	hsa_wait_state_t wait_hint, hsa_signal_value_t *satisfying_values);
