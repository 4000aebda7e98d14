/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Classifies AQL packets by their header. The layout of the extended kernel dispatch, which the
 * headers we build with do not have yet, is fixed here as of AMD's interface 1.31.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hsa/hsa.h>

#define PACKET_BYTES sizeof(hsa_kernel_dispatch_packet_t)
static_assert(PACKET_BYTES == 64, "AQL");

/* All AQL packets have the completion signal at this offset, whatever their type. */
static_assert(offsetof(hsa_kernel_dispatch_packet_t, completion_signal) == 56, "AQL");
static_assert(offsetof(hsa_barrier_and_packet_t, completion_signal) == 56, "AQL");

/*
 * gfx1250: a grid of clusters of work-groups. All other fields are where a kernel dispatch has
 * them.
 */
struct packet_extended {
	uint16_t header; /* type vendor specific */
	uint8_t format;
	uint8_t setup;
	uint16_t workgroup_size[3];
	uint16_t reserved0;
	uint32_t cluster_count_x;
	uint16_t cluster_count_y, cluster_count_z;
	uint8_t cluster_size[3]; /* in work-groups */
	uint8_t perf_hint;
	uint32_t private_segment_size;
	uint32_t group_segment_size;
	uint64_t kernel_object;
	uint64_t kernarg_address;
	hsa_signal_t dep_signal; /* the packet waits for this signal first */
	hsa_signal_t completion_signal;
};
static_assert(sizeof(struct packet_extended) == PACKET_BYTES, "extended dispatch");
#define SAME_PLACE(extended, plain)                                                                \
	static_assert(offsetof(struct packet_extended, extended) ==                                \
			      offsetof(hsa_kernel_dispatch_packet_t, plain),                       \
		#plain)
SAME_PLACE(workgroup_size, workgroup_size_x);
SAME_PLACE(private_segment_size, private_segment_size);
SAME_PLACE(group_segment_size, group_segment_size);
SAME_PLACE(kernel_object, kernel_object);
SAME_PLACE(kernarg_address, kernarg_address);
SAME_PLACE(completion_signal, completion_signal);

#define PACKET_FORMAT_EXTENDED 3u

static inline unsigned packet_type(uint16_t header)
{
	return header >> HSA_PACKET_HEADER_TYPE & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
}

static inline bool packet_is_published(uint16_t header)
{
	return packet_type(header) != HSA_PACKET_TYPE_INVALID;
}

static inline uint16_t packet_header(const hsa_kernel_dispatch_packet_t *packet)
{
	return __atomic_load_n(&packet->header, __ATOMIC_ACQUIRE);
}

static inline const hsa_kernel_dispatch_packet_t *packet_in_ring(
	const uint8_t *ring, uint64_t mask, uint64_t index)
{
	return (const hsa_kernel_dispatch_packet_t *)(ring + (index & mask) * PACKET_BYTES);
}

/* Format 3 means something else on queues of AIE agents, which the shim does not follow. */
static inline bool packet_is_extended(const hsa_kernel_dispatch_packet_t *packet, uint16_t header)
{
	return packet_type(header) == HSA_PACKET_TYPE_VENDOR_SPECIFIC &&
	       ((const struct packet_extended *)packet)->format == PACKET_FORMAT_EXTENDED;
}

/* Whether @packet, published with @header, launches a kernel. */
static inline bool packet_is_dispatch(const hsa_kernel_dispatch_packet_t *packet, uint16_t header)
{
	return packet_type(header) == HSA_PACKET_TYPE_KERNEL_DISPATCH ||
	       __builtin_expect(packet_is_extended(packet, header), 0);
}

static inline uint32_t packet_extent(uint64_t clusters, uint64_t groups, uint64_t items)
{
	uint64_t extent = clusters * groups * items;

	return extent < UINT32_MAX ? (uint32_t)extent : UINT32_MAX;
}

/* The grid of a dispatch, in work-items. */
static inline void packet_grid(const hsa_kernel_dispatch_packet_t *packet, uint32_t ret[3])
{
	const struct packet_extended *extended = (const struct packet_extended *)packet;
	const uint8_t *groups = extended->cluster_size;
	const uint16_t *items = extended->workgroup_size;

	if (__builtin_expect(packet_type(packet->header) == HSA_PACKET_TYPE_KERNEL_DISPATCH, 1)) {
		ret[0] = packet->grid_size_x;
		ret[1] = packet->grid_size_y;
		ret[2] = packet->grid_size_z;
		return;
	}
	ret[0] = packet_extent(extended->cluster_count_x, groups[0], items[0]);
	ret[1] = packet_extent(extended->cluster_count_y, groups[1], items[1]);
	ret[2] = packet_extent(extended->cluster_count_z, groups[2], items[2]);
}
