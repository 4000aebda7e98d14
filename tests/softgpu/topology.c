// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define GPU_BANKS     4u
#define VRAM_BYTES    (64ull << 30)
#define LDS_BASE      0x1000000000000ull /* gfx9's apertures: the upper half must not be 0 */
#define SCRATCH_BASE  0x2000000000000ull
#define UNIQUE_ID     0x50f7690000000001ull
#define HIVE_ID	      0x50f769ull
#define LINK_XGMI_MBS 50000u
#define LINK_PCIE_MBS 32000u

/* HDP flush registers, to which HIP writes. One page serves all GPUs. */
static uint8_t mmio_page[SOFTGPU_PAGE] __attribute__((aligned(SOFTGPU_PAGE)));

/*
 * By node: whether the runtime has queried its memory, as it does for GPUs whose target it knows.
 */
static bool is_noticed[SOFTGPU_GPUS_MAX + 1];
static uint32_t has_reported; /* atomic */

static bool node_exists(HSAuint32 node)
{
	return node <= softgpu_config.count;
}

HSAKMT_STATUS hsaKmtAcquireSystemProperties(HsaSystemProperties *props)
{
	if (!props)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (!softgpu_is_open())
		return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
	memset(is_noticed, 0, sizeof(is_noticed));
	__atomic_store_n(&has_reported, 0, __ATOMIC_RELAXED);
	memset(props, 0, sizeof(*props));
	props->NumNodes = 1 + softgpu_config.count;
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtReleaseSystemProperties(void)
{
	return HSAKMT_STATUS_SUCCESS;
}

static void set_name(HsaNodeProperties *p, const char *name)
{
	for (size_t i = 0; name[i] && i + 1 < HSA_PUBLIC_NAME_SIZE; i++)
		p->MarketingName[i] = (HSAuint16)(unsigned char)name[i];
}

static void fill_cpu(HsaNodeProperties *p)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	p->NumCPUCores = cores > 0 ? (HSAuint32)cores : 1;
	p->NumMemoryBanks = 1;
	p->NumCaches = 1;
	p->NumIOLinks = softgpu_config.count;
	p->MaxEngineClockMhzCCompute = 2000;
	set_name(p, "SIMULATED host");
}

/* Fields that releases from 6.0 on read in the last 12 bytes, which 5.2's headers reserve. */
struct node_tail {
	uint32_t xccs, kfd_gpu_id, family;
};

static void set_tail(HsaNodeProperties *p, const struct gfx_target *t, uint32_t ordinal)
{
	const struct node_tail tail = {
		.xccs = t->xccs, .kfd_gpu_id = SOFTGPU_GPU_ID + ordinal, .family = t->family};

	memcpy((char *)(p + 1) - sizeof(tail), &tail, sizeof(tail));
}

static void fill_gpu(HsaNodeProperties *p, uint32_t ordinal)
{
	const struct gfx_target *t = softgpu_config.gfx[ordinal];
	char name[HSA_PUBLIC_NAME_SIZE];

	p->NumFComputeCores = t->cus * t->simds_per_cu; /* the number of SIMDs, despite the name */
	p->NumMemoryBanks = GPU_BANKS;
	p->NumCaches = 2;
	p->NumIOLinks = softgpu_config.count; /* to the CPU and to every other GPU */
	p->FComputeIdLo = 0x80000000u + 0x1000u * ordinal;
	p->Capability.ui32.DoorbellType = 2;
	p->Capability.ui32.QueueSizePowerOfTwo = 1;
	p->Capability.ui32.SRAM_EDCSupport = t->has_sramecc;
	p->MaxWavesPerSIMD = t->waves_per_simd;
	p->LDSSizeInKB = 64;
	p->WaveFrontSize = t->wave_size;
	p->NumShaderBanks = t->shader_engines;
	p->NumArrays = 1;
	p->NumCUPerArray = t->cus / t->shader_engines;
	p->NumSIMDPerCU = t->simds_per_cu;
	p->MaxSlotsScratchCU = 32;
	p->EngineId.ui32.Major = t->major & 0x3f;
	p->EngineId.ui32.Minor = t->minor & 0xff;
	p->EngineId.ui32.Stepping = t->stepping & 0xff;
	p->VendorId = 0x1002;
	p->DeviceId = (HSAuint16)t->device_id;
	p->LocationId = (0x03u + 3u * ordinal) << 8; /* bus:00.0 */
	p->LocalMemSize = VRAM_BYTES;
	set_tail(p, t, ordinal);
	p->MaxEngineClockMhzFCompute = 1700;
	p->DrmRenderMinor = -1;
	p->HiveID = softgpu_config.count > 1 ? HIVE_ID : 0;
	p->NumSdmaEngines = SOFTGPU_SDMA_ENGINES;
	p->NumSdmaXgmiEngines = (HSAuint8)t->xgmi_engines;
	p->NumSdmaQueuesPerEngine = 8;
	p->NumCpQueues = 24;
	p->NumGws = 64;
	p->UniqueID = UNIQUE_ID + ordinal;
	p->VGPRSizePerCU = 512u << 10;
	p->SGPRSizePerCU = 12800;
	snprintf(name, sizeof(name), "SIMULATED %s", t->name);
	set_name(p, name);
	memcpy(p->AMDName, "softgpu", sizeof("softgpu"));
}

HSAKMT_STATUS topology_get_node(uint32_t node, HsaNodeProperties *props)
{
	if (!props)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (!node_exists(node))
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	memset(props, 0, sizeof(*props));
	if (node == 0)
		fill_cpu(props);
	else
		fill_gpu(props, node - 1);
	return HSAKMT_STATUS_SUCCESS;
}

static void fill_gpu_banks(HsaMemoryProperties bank[GPU_BANKS])
{
	bank[0].HeapType = HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC;
	bank[0].SizeInBytes = VRAM_BYTES;
	bank[0].Width = 4096;
	bank[0].MemoryClockMax = 1600;
	bank[1].HeapType = HSA_HEAPTYPE_GPU_LDS;
	bank[1].SizeInBytes = 64u << 10;
	bank[1].VirtualBaseAddress = LDS_BASE;
	bank[2].HeapType = HSA_HEAPTYPE_GPU_SCRATCH;
	bank[2].SizeInBytes = 4ull << 30;
	bank[2].VirtualBaseAddress = SCRATCH_BASE;
	bank[3].HeapType = HSA_HEAPTYPE_MMIO_REMAP;
	bank[3].SizeInBytes = SOFTGPU_PAGE;
	bank[3].VirtualBaseAddress = (uintptr_t)mmio_page;
}

HSAKMT_STATUS hsaKmtGetNodeMemoryProperties(
	HSAuint32 node, HSAuint32 banks, HsaMemoryProperties *props)
{
	HsaMemoryProperties all[GPU_BANKS];
	HSAuint32 have = GPU_BANKS;
	struct sysinfo si;

	if (!props)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (!node_exists(node))
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	is_noticed[node] = true;
	memset(all, 0, sizeof(all));
	if (node == 0) {
		have = 1;
		sysinfo(&si);
		all[0].HeapType = HSA_HEAPTYPE_SYSTEM;
		all[0].SizeInBytes =
			(uint64_t)si.totalram * si.mem_unit / SOFTGPU_PAGE * SOFTGPU_PAGE;
		all[0].Width = 64;
		all[0].MemoryClockMax = 1600;
	} else {
		fill_gpu_banks(all);
	}
	memcpy(props, all, sizeof(all[0]) * (banks < have ? banks : have));
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeCacheProperties(
	HSAuint32 node, HSAuint32 processor, HSAuint32 count, HsaCacheProperties *props)
{
	if (!props)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (!node_exists(node))
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	memset(props, 0, sizeof(*props) * count);
	for (HSAuint32 i = 0; i < count && i < 2; i++) {
		props[i].ProcessorIdLow = processor;
		props[i].CacheLevel = i + 1;
		props[i].CacheLineSize = node ? 128 : 64;
		props[i].CacheSize = node ? (i ? 8192 : 16) : 32; /* KiB */
		props[i].CacheType.ui32.Data = 1;
		props[i].CacheType.ui32.CPU = node == 0;
		props[i].CacheType.ui32.HSACU = node != 0;
	}
	return HSAKMT_STATUS_SUCCESS;
}

/*
 * Links between GPUs have their own engines, after those that face the host. A GPU with one for
 * every peer recommends that one, like MI300; the others recommend all of them.
 */
static uint32_t recommend_engines(uint32_t from, uint32_t to)
{
	const struct gfx_target *t = softgpu_config.gfx[from - 1];
	uint32_t all = ((1u << t->xgmi_engines) - 1) << SOFTGPU_SDMA_ENGINES;

	if (t->xgmi_engines < SOFTGPU_SDMA_ENGINES * 2)
		return all;
	return 1u << (SOFTGPU_SDMA_ENGINES + (to - 1) % t->xgmi_engines);
}

bool topology_get_link(
	uint32_t node, uint32_t index, HsaIoLinkProperties *ret, uint32_t *ret_engines)
{
	uint32_t to = index < node ? index : index + 1;
	bool is_peer = node != 0 && to != 0;

	if (to > softgpu_config.count)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->IoLinkType = is_peer ? HSA_IOLINK_TYPE_XGMI : HSA_IOLINKTYPE_PCIEXPRESS;
	ret->NodeFrom = node;
	ret->NodeTo = to;
	ret->Weight = is_peer ? 15 : 20;
	ret->MinimumBandwidth = is_peer ? LINK_XGMI_MBS : LINK_PCIE_MBS;
	ret->MaximumBandwidth = ret->MinimumBandwidth;
	*ret_engines = is_peer ? recommend_engines(node, to) : (1u << SOFTGPU_SDMA_ENGINES) - 1;
	return true;
}

/* GPUs that ROCR_VISIBLE_DEVICES hides are not queried either. */
void topology_report_ignored(void)
{
	char names[128] = "";

	if (!is_noticed[0] || getenv("ROCR_VISIBLE_DEVICES") ||
		__atomic_exchange_n(&has_reported, 1, __ATOMIC_RELAXED))
		return;
	for (uint32_t i = 0; i < softgpu_config.count; i++) {
		const char *name = softgpu_config.gfx[i]->name;

		if (is_noticed[i + 1] || strstr(names, name) ||
			strlen(names) + strlen(name) + 2 > sizeof(names))
			continue;
		strcat(names, " ");
		strcat(names, name);
	}
	if (names[0])
		fprintf(stderr,
			"softgpu: SOFTGPU_GFX: this runtime does not know%s, and left those GPUs "
			"out\n",
			names);
}
