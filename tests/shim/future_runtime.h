/* SPDX-License-Identifier: MIT */
#pragma once
/* Exports of shim-future-runtime: the ways in which a later runtime creates queues. */
#include <stdint.h>

#include <hsa/hsa.h>

#define FUTURE_ENGINE_COMPUTE 0
#define FUTURE_ENGINE_SDMA    1
#define FUTURE_DEVICE_RING    1

/* hsa_amd_queue_create_desc_t of version 1, with the arm for computing. */
struct future_queue_desc {
	uint16_t version, flags;
	uint8_t engine_type, reserved_header[3];
	uint32_t queue_size_bytes;
	uint32_t priority;
	void (*callback)(hsa_status_t status, hsa_queue_t *queue, void *data);
	void *callback_data;
	hsa_queue_t *queue;
	const uint32_t *cu_mask;
	hsa_queue_type32_t type;
	uint32_t private_segment_size;
	uint32_t cu_mask_count;
	uint32_t reserved_compute[3];
	uint32_t traffic_class;
	uint8_t reserved[20];
};
_Static_assert(sizeof(struct future_queue_desc) == 96, "as in the interface");

hsa_status_t future_queue_create(
	hsa_agent_t agent, struct future_queue_desc *descs, uint32_t count);
hsa_status_t future_counted_acquire(hsa_agent_t agent, hsa_queue_t **queue);
hsa_status_t future_counted_release(hsa_queue_t *queue);
hsa_status_t future_sdma_create(hsa_agent_t agent, uint32_t flags, uint64_t *queue);
