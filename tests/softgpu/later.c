// SPDX-License-Identifier: MIT
/*
 * Functions that the thunk of ROCm 6 has and that of 5.2 has not. ROCr 6.1 looks all of them up by
 * name; the headers of 5.2 do not declare them, so this file does.
 */
#include "tests/softgpu/softgpu.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

struct amdgpu_gpu_info {
	uint32_t before[4];
	uint64_t clocks[3];
	uint32_t shaders[8];
	uint32_t gpu_counter_freq; /* kHz */
};

/* These must agree with newer headers. */
#pragma GCC visibility push(default)
HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 node, HSAuint64 *bytes);
HSAKMT_STATUS hsaKmtGetAMDGPUDeviceHandle(HSAuint32 node, void **handle);
HSAKMT_STATUS hsaKmtGetRuntimeCapabilities(HSAuint32 *mask);
int amdgpu_query_gpu_info(void *handle, struct amdgpu_gpu_info *info);
HSAKMT_STATUS hsaKmtWaitOnEvent_Ext(HsaEvent *event, HSAuint32 ms, uint64_t *age);
HSAKMT_STATUS hsaKmtWaitOnMultipleEvents_Ext(
	HsaEvent *list[], HSAuint32 count, bool wait_on_all, HSAuint32 ms, uint64_t *age);
HSAKMT_STATUS hsaKmtExportDMABufHandle(void *address, HSAuint64 bytes, int *fd, HSAuint64 *offset);
HSAKMT_STATUS hsaKmtDbgEnable(void **info, HSAuint32 *bytes);
HSAKMT_STATUS hsaKmtDbgDisable(void);
HSAKMT_STATUS hsaKmtDbgGetDeviceData(void **data, HSAuint32 *entries, HSAuint32 *entry_bytes);
HSAKMT_STATUS hsaKmtDbgGetQueueData(
	void **data, HSAuint32 *entries, HSAuint32 *entry_bytes, bool suspend_queues);
HSAKMT_STATUS hsaKmtOpenSMI(HSAuint32 node, int *fd);
HSAKMT_STATUS hsaKmtReplaceAsanHeaderPage(void *address);
HSAKMT_STATUS hsaKmtReturnAsanHeaderPage(void *address);
#pragma GCC visibility pop

/* Memory is only reserved, so all of it is always available. */
HSAKMT_STATUS hsaKmtAvailableMemory(HSAuint32 node, HSAuint64 *bytes)
{
	HsaNodeProperties properties;
	HSAKMT_STATUS status = topology_get_node(node, &properties);

	if (!bytes)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*bytes = status == HSAKMT_STATUS_SUCCESS ? properties.LocalMemSize : 0;
	return status;
}

/* For libdrm_amdgpu, to which ROCr makes one query; the rest would be for shared memory. */
HSAKMT_STATUS hsaKmtGetAMDGPUDeviceHandle(HSAuint32 node, void **handle)
{
	if (!handle)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*handle = (void *)(uintptr_t)node;
	return HSAKMT_STATUS_SUCCESS;
}

/*
 * Found here before libdrm_amdgpu's, because ROCr names libhsakmt first among the libraries that it
 * needs. The first members of struct amdgpu_gpu_info; ROCr reads the rate of the ticks there.
 */
int amdgpu_query_gpu_info(void *handle, struct amdgpu_gpu_info *info)
{
	*info = (struct amdgpu_gpu_info){.gpu_counter_freq = 1000000u / SOFTGPU_TICK_NS};
	return 0;
}

HSAKMT_STATUS hsaKmtGetRuntimeCapabilities(HSAuint32 *mask)
{
	if (!mask)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*mask = 0;
	return HSAKMT_STATUS_SUCCESS;
}

/* The driver that hsaKmtGetVersion() names has no ages of events: 0, unused. */
HSAKMT_STATUS hsaKmtWaitOnEvent_Ext(HsaEvent *event, HSAuint32 ms, uint64_t *age)
{
	return hsaKmtWaitOnEvent(event, ms);
}

HSAKMT_STATUS hsaKmtWaitOnMultipleEvents_Ext(
	HsaEvent *list[], HSAuint32 count, bool wait_on_all, HSAuint32 ms, uint64_t *age)
{
	return hsaKmtWaitOnMultipleEvents(list, count, wait_on_all, ms);
}

HSAKMT_STATUS hsaKmtExportDMABufHandle(void *address, HSAuint64 bytes, int *fd, HSAuint64 *offset)
{
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtDbgEnable(void **info, HSAuint32 *bytes)
{
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtDbgDisable(void)
{
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtDbgGetDeviceData(void **data, HSAuint32 *entries, HSAuint32 *entry_bytes)
{
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtDbgGetQueueData(
	void **data, HSAuint32 *entries, HSAuint32 *entry_bytes, bool suspend_queues)
{
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtOpenSMI(HSAuint32 node, int *fd)
{
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtReplaceAsanHeaderPage(void *address)
{
	return HSAKMT_STATUS_NOT_SUPPORTED;
}

HSAKMT_STATUS hsaKmtReturnAsanHeaderPage(void *address)
{
	return HSAKMT_STATUS_NOT_SUPPORTED;
}
