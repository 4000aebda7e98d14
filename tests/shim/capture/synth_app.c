// SPDX-License-Identifier: MIT
/* The application of synth.h, which calls the capture path as the hooks do. */
#include "tests/shim/capture/synth.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "shim/capture/harvest.h"
#include "shim/capture/front_ends/intercept.h"
#include "shim/capture/tables/submitter.h"
#include "shim/capture/front_ends/shadow.h"

int synth_adopt(struct capture *c, struct synth_queue *queue, uint32_t gpu)
{
	const struct front_ends ends = {.first = &shadow_front_end};
	int r = front_ends_adopt(c, &ends, synth_hsa_queue(queue), gpu) ? -ENOTSUP : 0;

	queue->block = recorder_queues_used(capture_recorder(c)) - 1;
	return r;
}

uint64_t synth_add_index(struct capture *c, struct synth_queue *queue, uint64_t n)
{
	struct shadow_queue *shadow = shadow_of_queue(c, synth_hsa_queue(queue));
	struct origins *origins;
	uint64_t first;

	if (shadow && !capture_is_pass_through(c))
		return shadow_index_add(shadow, n);
	first = __atomic_fetch_add(&queue->amd.write_dispatch_id, n, __ATOMIC_ACQ_REL);
	origins = intercept_origins(c, synth_hsa_queue(queue));
	if (origins && !capture_is_pass_through(c))
		origins_reserve(origins, first, n);
	return first;
}

void synth_ring(struct capture *c, struct synth_queue *queue, uint64_t value)
{
	hsa_signal_t doorbell = queue->amd.hsa_queue.doorbell_signal;
	struct shadow_queue *shadow = shadow_of_doorbell(c, doorbell);

	if (shadow && !capture_is_pass_through(c))
		shadow_doorbell(shadow);
	else
		synth_signal_store(doorbell, (hsa_signal_value_t)value);
}

void synth_store(struct capture *c, hsa_signal_t signal, int64_t value)
{
	harvest_signal_store(c, signal);
	synth_signal_store(signal, value);
}

void synth_geometry(
	uint32_t variant, uint32_t grid[3], uint16_t workgroup[3], uint32_t *lds, uint32_t *scratch)
{
	grid[0] = 64 * (1 + variant % 37);
	grid[1] = 1 + variant % 3;
	grid[2] = 1;
	workgroup[0] = (uint16_t)(64 << variant % 3);
	workgroup[1] = 1;
	workgroup[2] = 1;
	*lds = variant % 5 * 512;
	*scratch = variant % 2 * 16;
}

/* 6 x 5 x 4 clusters of 3 x 2 x 1 work-groups, in the place of a plain dispatch's grid. */
static void clusters_put(hsa_kernel_dispatch_packet_t *body)
{
	body->grid_size_x = 6;
	body->grid_size_y = 5 | 4u << 16;
	body->grid_size_z = 3 | 2u << 8 | 1u << 16;
}

void synth_put(struct synth_queue *queue, uint64_t index, const struct synth_packet *packet)
{
	hsa_kernel_dispatch_packet_t *at = &queue->ring[index & (queue->amd.hsa_queue.size - 1)];
	uint16_t header = (uint16_t)(packet->type << HSA_PACKET_HEADER_TYPE |
				     (unsigned)packet->has_barrier << HSA_PACKET_HEADER_BARRIER);
	hsa_kernel_dispatch_packet_t body = {.setup = 1};
	bool is_extended = packet->type == HSA_PACKET_TYPE_VENDOR_SPECIFIC &&
			   packet->format == SYNTH_FORMAT_EXTENDED;

	while (index - __atomic_load_n(&queue->amd.read_dispatch_id, __ATOMIC_ACQUIRE) >=
		queue->amd.hsa_queue.size)
		sched_yield();
	if (packet->type == HSA_PACKET_TYPE_VENDOR_SPECIFIC)
		body.setup = packet->format;
	if (packet->type == HSA_PACKET_TYPE_KERNEL_DISPATCH || is_extended) {
		uint16_t workgroup[3];
		uint32_t grid[3];

		synth_geometry(packet->variant, grid, workgroup, &body.group_segment_size,
			&body.private_segment_size);
		body.workgroup_size_x = workgroup[0];
		body.workgroup_size_y = workgroup[1];
		body.workgroup_size_z = workgroup[2];
		body.grid_size_x = grid[0];
		body.grid_size_y = grid[1];
		body.grid_size_z = grid[2];
		if (is_extended)
			clusters_put(&body);
		body.kernel_object = packet->kernel_object;
		body.kernarg_address = (void *)(uintptr_t)packet->cookie;
	}
	body.completion_signal.handle = packet->signal;
	/* Writes everything except the header, then the header, which makes the packet valid. */
	memcpy((uint8_t *)at + sizeof(uint16_t), (const uint8_t *)&body + sizeof(uint16_t),
		sizeof(body) - sizeof(uint16_t));
	__atomic_store_n(&at->header, header, __ATOMIC_RELEASE);
}

uint64_t synth_submit(
	struct capture *c, struct synth_queue *queue, const struct synth_packet *packet)
{
	uint64_t index = synth_add_index(c, queue, 1);

	synth_put(queue, index, packet);
	synth_ring(c, queue, index);
	return index;
}
