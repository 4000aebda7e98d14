/* SPDX-License-Identifier: MIT */
#include "shim/hsa/debug.h"

#include <stdint.h>

#include "shim/base/log.h"

/* What the table entries held before: our hooks. Written in OnLoad, before any wrapper runs. */
static struct hsa_originals below;
static const struct agents *gpus;

static int gpu_of(hsa_agent_t agent)
{
	int at = agents_find(gpus, agent);

	return at < 0 ? -1 : (int)gpus->gpu[at].gpu_id;
}

/* ---- level 1 ------------------------------------------------------------------------------- */

static hsa_status_t debug_hsa_queue_create(hsa_agent_t agent, uint32_t size,
	hsa_queue_type32_t type, void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	hsa_status_t status = below.hsa_queue_create(
		agent, size, type, callback, data, private_segment_size, group_segment_size, queue);

	slog_debug(1,
		"hsa_queue_create(gpu %d, %u packets, type %u, private %u, group %u) = 0x%x, "
		"queue %p",
		gpu_of(agent), size, type, private_segment_size, group_segment_size, status,
		status == HSA_STATUS_SUCCESS ? (void *)*queue : NULL);
	return status;
}

static hsa_status_t debug_hsa_amd_queue_intercept_create(hsa_agent_t agent, uint32_t size,
	hsa_queue_type32_t type, void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	hsa_status_t status = below.hsa_amd_queue_intercept_create(
		agent, size, type, callback, data, private_segment_size, group_segment_size, queue);

	slog_debug(1, "hsa_amd_queue_intercept_create(gpu %d, %u packets) = 0x%x, queue %p",
		gpu_of(agent), size, status, status == HSA_STATUS_SUCCESS ? (void *)*queue : NULL);
	return status;
}

static hsa_status_t debug_hsa_queue_destroy(hsa_queue_t *queue)
{
	hsa_status_t status = below.hsa_queue_destroy(queue);

	slog_debug(1, "hsa_queue_destroy(queue %p) = 0x%x", (void *)queue, status);
	return status;
}

static hsa_status_t debug_hsa_executable_freeze(hsa_executable_t executable, const char *options)
{
	hsa_status_t status = below.hsa_executable_freeze(executable, options);

	slog_debug(1, "hsa_executable_freeze(0x%llx) = 0x%x", (unsigned long long)executable.handle,
		status);
	return status;
}

static hsa_status_t debug_hsa_executable_destroy(hsa_executable_t executable)
{
	hsa_status_t status = below.hsa_executable_destroy(executable);

	slog_debug(1, "hsa_executable_destroy(0x%llx) = 0x%x",
		(unsigned long long)executable.handle, status);
	return status;
}

/* ---- level 2 ------------------------------------------------------------------------------- */

static hsa_status_t debug_hsa_signal_create(hsa_signal_value_t initial, uint32_t num_consumers,
	const hsa_agent_t *consumers, hsa_signal_t *signal)
{
	hsa_status_t status = below.hsa_signal_create(initial, num_consumers, consumers, signal);

	slog_debug(2, "hsa_signal_create(%lld) = 0x%x, signal 0x%llx", (long long)initial, status,
		status == HSA_STATUS_SUCCESS ? (unsigned long long)signal->handle : 0);
	return status;
}

static hsa_status_t debug_hsa_amd_signal_create(hsa_signal_value_t initial, uint32_t num_consumers,
	const hsa_agent_t *consumers, uint64_t attributes, hsa_signal_t *signal)
{
	hsa_status_t status =
		below.hsa_amd_signal_create(initial, num_consumers, consumers, attributes, signal);

	slog_debug(2, "hsa_amd_signal_create(%lld, attributes 0x%llx) = 0x%x, signal 0x%llx",
		(long long)initial, (unsigned long long)attributes, status,
		status == HSA_STATUS_SUCCESS ? (unsigned long long)signal->handle : 0);
	return status;
}

static hsa_status_t debug_hsa_signal_destroy(hsa_signal_t signal)
{
	hsa_status_t status = below.hsa_signal_destroy(signal);

	slog_debug(2, "hsa_signal_destroy(signal 0x%llx) = 0x%x", (unsigned long long)signal.handle,
		status);
	return status;
}

static hsa_status_t debug_hsa_amd_memory_async_copy(void *dst, hsa_agent_t dst_agent,
	const void *src, hsa_agent_t src_agent, size_t bytes, uint32_t num_dep,
	const hsa_signal_t *dep, hsa_signal_t completion)
{
	hsa_status_t status = below.hsa_amd_memory_async_copy(
		dst, dst_agent, src, src_agent, bytes, num_dep, dep, completion);

	slog_debug(2,
		"hsa_amd_memory_async_copy(%zu bytes, gpu %d to gpu %d, signal 0x%llx) = 0x%x",
		bytes, gpu_of(src_agent), gpu_of(dst_agent), (unsigned long long)completion.handle,
		status);
	return status;
}

/* ---- installing ---------------------------------------------------------------------------- */

#define DEBUG_1(X)                                                                                 \
	X(hsa_queue_create)                                                                        \
	X(hsa_queue_destroy)                                                                       \
	X(hsa_amd_queue_intercept_create)                                                          \
	X(hsa_executable_freeze)                                                                   \
	X(hsa_executable_destroy)
#define DEBUG_2(X)                                                                                 \
	X(hsa_signal_create)                                                                       \
	X(hsa_amd_signal_create)                                                                   \
	X(hsa_signal_destroy)                                                                      \
	X(hsa_amd_memory_async_copy)

void debug_install(const struct hsa_table *table, const struct agents *agents, unsigned level)
{
	gpus = agents;
#define INSTALL(name)                                                                              \
	if (table->slot.name) {                                                                    \
		below.name = *table->slot.name;                                                    \
		*table->slot.name = debug_##name;                                                  \
	}
	if (level >= 1) {
		DEBUG_1(INSTALL)
	}
	if (level >= 2) {
		DEBUG_2(INSTALL)
	}
}
