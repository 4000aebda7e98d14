// SPDX-License-Identifier: MIT
/*
 * A baseline, loaded by HSA_TOOLS_LIB: every queue is one of ROCr's intercept queues, and its
 * callback hands the packets on as they are. What a tool that intercepts costs before it does
 * anything.
 */
#include "shim/hsa/table.h"

#define EXPORT __attribute__((visibility("default")))

static struct hsa_table table;

EXPORT bool OnLoad(void *api, uint64_t version, uint64_t failed, const char *const *names);

static void hand_on(const void *packets, uint64_t count, uint64_t index, void *data,
	hsa_intercept_writer *writer)
{
	(void)index, (void)data;
	writer(packets, count);
}

static hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	hsa_status_t status = table.real.hsa_amd_queue_intercept_create(
		agent, size, type, callback, data, private_segment_size, group_segment_size, queue);

	if (status == HSA_STATUS_SUCCESS)
		status = table.real.hsa_amd_queue_intercept_register(*queue, hand_on, NULL);
	return status;
}

bool OnLoad(void *api, uint64_t version, uint64_t failed, const char *const *names)
{
	(void)version, (void)failed, (void)names;
	/* False: the runtime says that the tool failed, and a figure without it is none. */
	if (hsa_table_open(api, &table) || !table.real.hsa_amd_queue_intercept_create ||
		!table.real.hsa_amd_queue_intercept_register)
		return false;
	*table.slot.hsa_queue_create = create;
	return true;
}
