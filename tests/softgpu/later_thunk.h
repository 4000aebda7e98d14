// SPDX-License-Identifier: MIT
/*
 * The thunk of ROCm 7.0 to 7.2 where it differs from the headers of 5.2 to 6.2 that this is built
 * with: two structures that grew in the middle, and functions that ROCr looks up by name in
 * libdtif.so. The program that loads it and the tests share these declarations.
 */
#pragma once

#include "tests/softgpu/softgpu.h"

#pragma GCC visibility push(default)

#pragma pack(push, 4)

#define NODE_BYTES(from, to) (offsetof(HsaNodeProperties, to) - offsetof(HsaNodeProperties, from))

/* HsaNodeProperties; the byte arrays are the members that the headers have at these offsets. */
struct later_node_properties {
	uint8_t counts_of_cores[NODE_BYTES(NumCPUCores, NumMemoryBanks)];
	uint32_t neural_cores;
	uint8_t counts_and_capability[NODE_BYTES(NumMemoryBanks, MaxWavesPerSIMD)];
	uint32_t capability2;
	uint8_t shape_and_engine[NODE_BYTES(MaxWavesPerSIMD, VendorId)];
	uint32_t override_engine;
	uint8_t rest[sizeof(HsaNodeProperties) - offsetof(HsaNodeProperties, VendorId)];
};
static_assert(sizeof(HsaNodeProperties) == 356, "the headers are of ROCm 5.2 to 6.2");
static_assert(sizeof(struct later_node_properties) == 368, "ROCm 7");
static_assert(offsetof(struct later_node_properties, shape_and_engine) == 40, "ROCm 7");
static_assert(offsetof(struct later_node_properties, rest) == 84, "ROCm 7");

/* HsaIoLinkProperties. */
struct later_link_properties {
	uint8_t up_to_flags[offsetof(HsaIoLinkProperties, Flags)];
	uint32_t sdma_engines; /* mask of those recommended */
	HSA_LINKPROPERTY flags;
};
static_assert(sizeof(struct later_link_properties) == 52, "ROCm 7");
static_assert(offsetof(struct later_link_properties, sdma_engines) == 44, "ROCm 7");

#pragma pack(pop)

/* HSA_QUEUE_TYPE: an SDMA queue on the engine that is named, counted from 0. */
#define LATER_QUEUE_SDMA_BY_ENGINE 6

/* Called first, with the name of the caller; if it returns NULL, the caller's hsa_init fails. */
void *DtifCreate(const char *name);
void DtifDestroy(void);

HSAKMT_STATUS hsaKmtCreateQueueExt(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
	HSA_QUEUE_PRIORITY priority, HSAuint32 sdma_engine, void *address, HSAuint64 bytes,
	HsaEvent *event, HsaQueueResource *res);
/* Replaces the store to the doorbell. */
HSAKMT_STATUS hsaKmtQueueRingDoorbell(HSA_QUEUEID id);
HSAKMT_STATUS hsaKmtAllocMemoryAlign(
	HSAuint32 node, HSAuint64 size, HSAuint64 align, HsaMemFlags flags, void **address);
HSAKMT_STATUS hsaKmtModelEnabled(bool *is_enabled);

#pragma GCC visibility pop
