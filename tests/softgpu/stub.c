// SPDX-License-Identifier: MIT
/*
 * Functions that ROCr may call and that a software GPU does not have, or accepts without doing
 * anything.
 */
#include "tests/softgpu/softgpu.h"

#include <string.h>

/* Separate stubs with their parameter lists would not be clearer. */
#define ANSWER(status, function, ...)                                                              \
	HSAKMT_STATUS function(__VA_ARGS__)                                                        \
	{                                                                                          \
		return HSAKMT_STATUS_##status;                                                     \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"

/* Accepted: nothing observable depends on it here. */
ANSWER(SUCCESS, hsaKmtSetMemoryPolicy, HSAuint32 node, HSAuint32 policy, HSAuint32 alternate,
	void *address, HSAuint64 size)
ANSWER(SUCCESS, hsaKmtSetTrapHandler, HSAuint32 node, void *base, HSAuint64 size, void *buffer,
	HSAuint64 buffer_size)
ANSWER(SUCCESS, hsaKmtRuntimeEnable, void *debug, bool setup_ttmp)
ANSWER(SUCCESS, hsaKmtRuntimeDisable, void)

/* Graphics, shared virtual memory. */
ANSWER(NOT_SUPPORTED, hsaKmtRegisterGraphicsHandleToNodes, HSAuint64 handle,
	HsaGraphicsResourceInfo *info, HSAuint64 nodes, HSAuint32 *node)
ANSWER(NOT_SUPPORTED, hsaKmtMapGraphicHandle, HSAuint32 node, HSAuint64 device, HSAuint64 resource,
	HSAuint64 offset, HSAuint64 size, HSAuint64 *address)
ANSWER(NOT_SUPPORTED, hsaKmtUnmapGraphicHandle, HSAuint32 node, HSAuint64 address, HSAuint64 size)
ANSWER(NOT_SUPPORTED, hsaKmtSVMSetAttr, void *address, HSAuint64 size, unsigned int count,
	HSA_SVM_ATTRIBUTE *attrs)
ANSWER(NOT_SUPPORTED, hsaKmtSVMGetAttr, void *address, HSAuint64 size, unsigned int count,
	HSA_SVM_ATTRIBUTE *attrs)
ANSWER(NOT_SUPPORTED, hsaKmtProcessVMRead, HSAuint32 pid, HsaMemoryRange *local,
	HSAuint64 local_count, HsaMemoryRange *remote, HSAuint64 remote_count, HSAuint64 *copied)
ANSWER(NOT_SUPPORTED, hsaKmtProcessVMWrite, HSAuint32 pid, HsaMemoryRange *local,
	HSAuint64 local_count, HsaMemoryRange *remote, HSAuint64 remote_count, HSAuint64 *copied)

/* Removed from later headers. */
HSAKMT_STATUS hsaKmtGetKernelDebugTrapVersionInfo(HSAuint32 *major, HSAuint32 *minor);

/* Debugger, hardware counters, stream performance monitor. */
ANSWER(NOT_SUPPORTED, hsaKmtReportQueue, HSA_QUEUEID id, HsaQueueReport *report)
ANSWER(NOT_SUPPORTED, hsaKmtGetQueueInfo, HSA_QUEUEID id, HsaQueueInfo *info)
ANSWER(NOT_SUPPORTED, hsaKmtDbgRegister, HSAuint32 node)
ANSWER(NOT_SUPPORTED, hsaKmtDbgUnregister, HSAuint32 node)
ANSWER(NOT_SUPPORTED, hsaKmtDbgWavefrontControl, HSAuint32 node, HSA_DBG_WAVEOP operand,
	HSA_DBG_WAVEMODE mode, HSAuint32 trap, HsaDbgWaveMessage *ring)
ANSWER(NOT_SUPPORTED, hsaKmtDbgAddressWatch, HSAuint32 node, HSAuint32 points,
	HSA_DBG_WATCH_MODE mode[], void *address[], HSAuint64 mask[], HsaEvent *event[])
ANSWER(NOT_SUPPORTED, hsaKmtGetKernelDebugTrapVersionInfo, HSAuint32 *major, HSAuint32 *minor)
ANSWER(NOT_SUPPORTED, hsaKmtPmcGetCounterProperties, HSAuint32 node, HsaCounterProperties **props)
ANSWER(NOT_SUPPORTED, hsaKmtPmcRegisterTrace, HSAuint32 node, HSAuint32 counters,
	HsaCounter *counter, HsaPmcTraceRoot *root)
ANSWER(NOT_SUPPORTED, hsaKmtPmcUnregisterTrace, HSAuint32 node, HSATraceId id)
ANSWER(NOT_SUPPORTED, hsaKmtPmcAcquireTraceAccess, HSAuint32 node, HSATraceId id)
ANSWER(NOT_SUPPORTED, hsaKmtPmcReleaseTraceAccess, HSAuint32 node, HSATraceId id)
ANSWER(NOT_SUPPORTED, hsaKmtPmcStartTrace, HSATraceId id, void *buffer, HSAuint64 size)
ANSWER(NOT_SUPPORTED, hsaKmtPmcQueryTrace, HSATraceId id)
ANSWER(NOT_SUPPORTED, hsaKmtPmcStopTrace, HSATraceId id)
ANSWER(NOT_SUPPORTED, hsaKmtSPMAcquire, HSAuint32 node)
ANSWER(NOT_SUPPORTED, hsaKmtSPMRelease, HSAuint32 node)
ANSWER(NOT_SUPPORTED, hsaKmtSPMSetDestBuffer, HSAuint32 node, HSAuint32 size, HSAuint32 *timeout,
	HSAuint32 *copied, void *address, bool *is_loss)
ANSWER(NOT_SUPPORTED, hsaKmtSetXNACKMode, HSAint32 enable)

HSAKMT_STATUS hsaKmtGetXNACKMode(HSAint32 *enable)
{
	if (!enable)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*enable = 0;
	return HSAKMT_STATUS_SUCCESS;
}

/* Images are described, never sampled: one plain tile mode is enough. */
HSAKMT_STATUS hsaKmtGetTileConfig(HSAuint32 node, HsaGpuTileConfig *config)
{
	if (!config)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (config->TileConfig)
		memset(config->TileConfig, 0, config->NumTileConfigs * sizeof(HSAuint32));
	if (config->MacroTileConfig)
		memset(config->MacroTileConfig, 0, config->NumMacroTileConfigs * sizeof(HSAuint32));
	config->GbAddrConfig = 0;
	config->NumBanks = 0;
	config->NumRanks = 0;
	return HSAKMT_STATUS_SUCCESS;
}
