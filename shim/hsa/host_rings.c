/* SPDX-License-Identifier: MIT */
#include "shim/hsa/host_rings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_movable(const struct hsa_later_queue_desc *desc)
{
	return desc->engine_type == HSA_LATER_ENGINE_COMPUTE &&
	       desc->flags == HSA_LATER_DEVICE_RING;
}

struct hsa_later_queue_desc *host_rings_ask(
	const struct hsa_later_queue_desc *descs, uint32_t count)
{
	struct hsa_later_queue_desc *copies;
	uint32_t movable = 0;

	for (uint32_t i = 0; i < count; i++)
		movable += is_movable(&descs[i]);
	copies = movable ? calloc(count, sizeof(*copies)) : NULL;
	if (!copies)
		return NULL;
	memcpy(copies, descs, count * sizeof(*copies));
	for (uint32_t i = 0; i < count; i++)
		if (is_movable(&descs[i]))
			copies[i].flags = HSA_LATER_SYSTEM_MEMORY;
	return copies;
}

hsa_status_t host_rings_settle(hsa_later_queue_create *create, hsa_agent_t agent,
	struct hsa_later_queue_desc *descs, struct hsa_later_queue_desc *copies, uint32_t count,
	hsa_status_t status)
{
	hsa_status_t first = HSA_STATUS_SUCCESS;

	for (uint32_t i = 0; i < count; i++) {
		hsa_status_t own = copies[i].queue ? HSA_STATUS_SUCCESS : status;

		if (!copies[i].queue && is_movable(&descs[i])) {
			own = create(agent, &descs[i], 1);
			copies[i].flags = descs[i].flags;
			copies[i].queue = descs[i].queue;
		}
		descs[i].queue = copies[i].queue;
		if (first == HSA_STATUS_SUCCESS)
			first = own;
	}
	return first;
}
