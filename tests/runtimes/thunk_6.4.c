// SPDX-License-Identifier: MIT
/*
 * What ROCr 6.4 asks of its thunk beyond that of 6.2. Compiled with the headers of that release,
 * together with the software GPU, when the matrix runs (bench.py).
 */
#include "tests/softgpu/softgpu.h"

#define EXPORT __attribute__((visibility("default")))

/* Any engine: as many as the software GPU has do the same. */
EXPORT HSAKMT_STATUS hsaKmtCreateQueueExt(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
	HSA_QUEUE_PRIORITY priority, HSAuint32 engine, void *address, HSAuint64 bytes,
	HsaEvent *event, HsaQueueResource *res)
{
	(void)engine;
	return hsaKmtCreateQueue(node, type == HSA_QUEUE_SDMA_BY_ENG_ID ? HSA_QUEUE_SDMA : type,
		percentage, priority, address, bytes, event, res);
}

EXPORT HSAKMT_STATUS hsaKmtAllocMemoryAlign(
	HSAuint32 node, HSAuint64 bytes, HSAuint64 align, HsaMemFlags flags, void **address)
{
	return memory_alloc(node, bytes, align, flags, address);
}

EXPORT HSAKMT_STATUS hsaKmtPcSamplingQueryCapabilities(
	HSAuint32 node, void *info, HSAuint32 count, HSAuint32 *needed)
{
	(void)node, (void)info, (void)count, (void)needed;
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

EXPORT HSAKMT_STATUS hsaKmtPcSamplingCreate(
	HSAuint32 node, HsaPcSamplingInfo *info, HsaPcSamplingTraceId *id)
{
	(void)node, (void)info, (void)id;
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

EXPORT HSAKMT_STATUS hsaKmtPcSamplingDestroy(HSAuint32 node, HsaPcSamplingTraceId id)
{
	(void)node, (void)id;
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

EXPORT HSAKMT_STATUS hsaKmtPcSamplingStart(HSAuint32 node, HsaPcSamplingTraceId id)
{
	(void)node, (void)id;
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

EXPORT HSAKMT_STATUS hsaKmtPcSamplingStop(HSAuint32 node, HsaPcSamplingTraceId id)
{
	(void)node, (void)id;
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

EXPORT HSAKMT_STATUS hsaKmtRegisterGraphicsHandleToNodesExt(HSAuint64 handle,
	HsaGraphicsResourceInfo *info, HSAuint64 count, HSAuint32 *nodes,
	HSA_REGISTER_MEM_FLAGS flags)
{
	(void)handle, (void)info, (void)count, (void)nodes, (void)flags;
	return HSAKMT_STATUS_NOT_SUPPORTED;
}
