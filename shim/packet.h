/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What an AQL packet is, from its header on. The layouts that our build's headers do not have
 * yet stand here, frozen.
 */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hsa/hsa.h>

#define PACKET_BYTES sizeof(hsa_kernel_dispatch_packet_t)
static_assert(PACKET_BYTES == 64, "AQL");

/* All AQL packets have it there, whatever their type. */
static_assert(offsetof(hsa_kernel_dispatch_packet_t, completion_signal) == 56, "AQL");
static_assert(offsetof(hsa_barrier_and_packet_t, completion_signal) == 56, "AQL");

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

/* Whether @packet, published with @header, launches a kernel. */
static inline bool packet_is_dispatch(const hsa_kernel_dispatch_packet_t *packet, uint16_t header)
{
	(void)packet;
	return packet_type(header) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
}
