// SPDX-License-Identifier: MIT
#include "tests/workload/queue.h"

#include <assert.h>
#include <hsa/amd_hsa_queue.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/workload/kernels.h"
#include "tests/workload/talk.h"

static_assert(sizeof(struct kernel_args) == KERNEL_ARGS_BYTES, "as kernels.h tells the kernels");

#define QUEUE_SPINS   64
#define QUEUE_WAIT_NS 50000

#define QUEUE_HEADER(type)                                                                         \
	((uint16_t)((type) << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |            \
		    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |            \
		    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE))

/* Runs on the runtime's thread. Nothing on this queue will complete any more: as HIP, give up. */
static void queue_on_error(hsa_status_t status, hsa_queue_t *queue, void *data)
{
	(void)queue;
	(void)data;
	gpu_failed("queue", status);
	_exit(1);
}

int queue_open(const struct gpu *gpu, int size, hsa_queue_t **ret)
{
	uint32_t max = 0;
	hsa_queue_t *queue;

	GPU_TRY(hsa_agent_get_info, gpu->agent, HSA_AGENT_INFO_QUEUE_MAX_SIZE, &max);
	GPU_TRY(hsa_queue_create, gpu->agent, (uint32_t)size < max ? (uint32_t)size : max,
		HSA_QUEUE_TYPE_MULTI, queue_on_error, NULL, UINT32_MAX, UINT32_MAX, &queue);
	GPU_TRY(hsa_amd_profiling_set_profiler_enabled, queue, 1);
	*ret = queue;
	return 0;
}

hsa_kernel_dispatch_packet_t queue_packet(
	const struct kernel *kernel, uint32_t groups, void *kernargs)
{
	return (hsa_kernel_dispatch_packet_t){
		.header = QUEUE_HEADER(HSA_PACKET_TYPE_KERNEL_DISPATCH),
		.setup = 3 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS,
		.workgroup_size_x = KERNEL_WORKGROUP,
		.workgroup_size_y = 1,
		.workgroup_size_z = 1,
		.grid_size_x = groups * KERNEL_WORKGROUP,
		.grid_size_y = 1,
		.grid_size_z = 1,
		.private_segment_size = kernel->private_bytes,
		.group_segment_size = kernel->group_bytes,
		.kernel_object = kernel->object,
		.kernarg_address = kernargs,
	};
}

uint64_t queue_reserve(struct producer *producer, unsigned n)
{
	hsa_queue_t *queue = producer->queue;
	uint64_t index = hsa_queue_add_write_index_relaxed(queue, n);

	for (unsigned tries = 0; index + n - producer->read_seen > queue->size; tries++) {
		producer->read_seen = hsa_queue_load_read_index_scacquire(queue);
		gpu_saw(&((amd_queue_t *)queue)->read_dispatch_id);
		if (tries < QUEUE_SPINS)
			__builtin_ia32_pause();
		else
			nanosleep(&(struct timespec){.tv_nsec = QUEUE_WAIT_NS}, NULL);
	}
	return index;
}

/* Both kinds of packet are 64 bytes that begin with the header and end with the signal. */
static void queue_write(hsa_queue_t *queue, uint64_t index, const void *packet, hsa_signal_t signal)
{
	char *slot = (char *)queue->base_address + 64 * (index & (queue->size - 1));
	uint32_t first;

	memcpy(&first, packet, sizeof(first));
	memcpy(slot + 4, (const char *)packet + 4, 52);
	memcpy(slot + 56, &signal, 8);
	/* The GPU may take the packet as soon as its header is valid, doorbell or not. */
	__atomic_store_n((uint32_t *)(void *)slot, first, __ATOMIC_RELEASE);
}

void queue_fill(hsa_queue_t *queue, uint64_t index, const hsa_kernel_dispatch_packet_t *packet,
	hsa_signal_t signal)
{
	queue_write(queue, index, packet, signal);
}

void queue_ring(struct producer *producer, uint64_t last, unsigned kernels)
{
	_Atomic uint64_t *count = &producer->count->kernels;

	/* Before the doorbell, so that a rank killed here has never launched more than it counted.
	 */
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + kernels,
		memory_order_relaxed);
	hsa_signal_store_screlease(producer->queue->doorbell_signal, (hsa_signal_value_t)last);
}

void queue_dispatch(
	struct producer *producer, const hsa_kernel_dispatch_packet_t *packet, hsa_signal_t signal)
{
	uint64_t index = queue_reserve(producer, 1);

	queue_fill(producer->queue, index, packet, signal);
	queue_ring(producer, index, 1);
}

void queue_barrier(struct producer *producer, hsa_signal_t dep, hsa_signal_t signal)
{
	hsa_barrier_and_packet_t packet = {
		.header = QUEUE_HEADER(HSA_PACKET_TYPE_BARRIER_AND),
		.dep_signal = {dep},
	};
	uint64_t index = queue_reserve(producer, 1);

	queue_write(producer->queue, index, &packet, signal);
	queue_ring(producer, index, 0);
}
