/* SPDX-License-Identifier: MIT
 *
 * Another HSA tool in the process, standing for the profilers that people have: loaded by
 * HSA_TOOLS_LIB before or after ours. OTHER_TOOL says what it does:
 *
 *   wraps       replaces hsa_queue_create by a function that calls the original
 *   intercepts  makes every queue an intercept queue of its own, as rocprofiler-sdk does
 *   submits     replaces the doorbell stores
 *
 * OnUnload writes what it saw to the file OTHER_TOOL_LOG.
 */
#include "shim/hsa/table.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static struct hsa_table table;
static _Atomic unsigned long queues, dispatches, stores;

EXPORT bool OnLoad(void *api, uint64_t version, uint64_t failed, const char *const *names);
EXPORT void OnUnload(void);

static hsa_status_t wrapped_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	atomic_fetch_add(&queues, 1);
	return table.real.hsa_queue_create(
		agent, size, type, callback, data, private_segment_size, group_segment_size, queue);
}

static void on_packets(const void *packets, uint64_t count, uint64_t index, void *data,
	hsa_intercept_writer *writer)
{
	const hsa_kernel_dispatch_packet_t *packet = packets;

	(void)index, (void)data;
	for (uint64_t i = 0; i < count; i++)
		if ((packet[i].header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH)
			atomic_fetch_add(&dispatches, 1);
	writer(packets, count);
}

static hsa_status_t intercepting_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	hsa_status_t status = table.real.hsa_amd_queue_intercept_create(
		agent, size, type, callback, data, private_segment_size, group_segment_size, queue);

	if (status == HSA_STATUS_SUCCESS)
		status = table.real.hsa_amd_queue_intercept_register(*queue, on_packets, NULL);
	atomic_fetch_add(&queues, 1);
	return status;
}

static void store_relaxed(hsa_signal_t signal, hsa_signal_value_t value)
{
	atomic_fetch_add(&stores, 1);
	table.real.hsa_signal_store_relaxed(signal, value);
}

static void store_screlease(hsa_signal_t signal, hsa_signal_value_t value)
{
	atomic_fetch_add(&stores, 1);
	table.real.hsa_signal_store_screlease(signal, value);
}

bool OnLoad(void *api, uint64_t version, uint64_t failed, const char *const *names)
{
	const char *what = getenv("OTHER_TOOL");

	(void)version, (void)failed, (void)names;
	if (!what || hsa_table_open(api, &table))
		abort();
	if (!strcmp(what, "wraps"))
		*table.slot.hsa_queue_create = wrapped_create;
	else if (!strcmp(what, "intercepts"))
		*table.slot.hsa_queue_create = intercepting_create;
	else if (!strcmp(what, "submits")) {
		*table.slot.hsa_signal_store_relaxed = store_relaxed;
		*table.slot.hsa_signal_store_screlease = store_screlease;
	} else
		abort();
	return true;
}

void OnUnload(void)
{
	const char *path = getenv("OTHER_TOOL_LOG");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "queues=%lu dispatches=%lu stores=%s\n", atomic_load(&queues),
		atomic_load(&dispatches), atomic_load(&stores) ? "some" : "none");
	fclose(file);
}
