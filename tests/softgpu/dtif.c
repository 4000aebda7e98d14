// SPDX-License-Identifier: MIT
/*
 * libdtif.so: the thunk that ROCr from 7.0 on opens if HSA_ENABLE_DTIF=1. ROCr looks up every
 * function by its name.
 */
#include "tests/softgpu/later_thunk.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NAME_BYTES_MAX	  64u
#define NAMES_LACKING_MAX 512u /* bytes of the line that names them */

HSAKMT_STATUS hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties *props)
{
	struct later_node_properties *to = (struct later_node_properties *)props;
	HsaNodeProperties from;
	HSAKMT_STATUS status;

	if (!props)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	status = topology_get_node(node, &from);
	if (status)
		return status;
	memset(to, 0, sizeof(*to));
	memcpy(to->counts_of_cores, &from.NumCPUCores, sizeof(to->counts_of_cores));
	memcpy(to->counts_and_capability, &from.NumMemoryBanks, sizeof(to->counts_and_capability));
	memcpy(to->shape_and_engine, &from.MaxWavesPerSIMD, sizeof(to->shape_and_engine));
	memcpy(to->rest, &from.VendorId, sizeof(to->rest));
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtGetNodeIoLinkProperties(
	HSAuint32 node, HSAuint32 count, HsaIoLinkProperties *props)
{
	struct later_link_properties *to = (struct later_link_properties *)props;

	if (!props)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	if (node > softgpu_config.count)
		return HSAKMT_STATUS_INVALID_NODE_UNIT;
	for (HSAuint32 i = 0; i < count; i++) {
		HsaIoLinkProperties from;

		if (!topology_get_link(node, i, &from, &to[i].sdma_engines))
			break;
		memcpy(to[i].up_to_flags, &from, sizeof(to[i].up_to_flags));
		to[i].flags = from.Flags;
	}
	return HSAKMT_STATUS_SUCCESS;
}

HSAKMT_STATUS hsaKmtCreateQueueExt(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32 percentage,
	HSA_QUEUE_PRIORITY priority, HSAuint32 sdma_engine, void *address, HSAuint64 bytes,
	HsaEvent *event, HsaQueueResource *res)
{
	bool is_by_engine = (unsigned int)type == LATER_QUEUE_SDMA_BY_ENGINE;

	return queue_create(node, is_by_engine ? HSA_QUEUE_SDMA : type,
		is_by_engine ? sdma_engine : QUEUE_ANY_ENGINE, percentage, address, bytes, res);
}

HSAKMT_STATUS hsaKmtQueueRingDoorbell(HSA_QUEUEID id)
{
	return queue_ring(id) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

HSAKMT_STATUS hsaKmtAllocMemoryAlign(
	HSAuint32 node, HSAuint64 size, HSAuint64 align, HsaMemFlags flags, void **address)
{
	return memory_alloc(node, size, align, flags, address);
}

static bool is_of_identifier(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/*
 * Copies the string that begins after @at, where another ends, if it is the name of a function.
 * Byte by byte: in a program under the address sanitizer there are bytes between strings that
 * libc's functions must not read.
 */
__attribute__((no_sanitize("address"))) static bool read_name(
	const char *at, const char *end, char ret[NAME_BYTES_MAX])
{
	static const char prefix[] = "hsaKmt";
	size_t len = 0;

	if (*at++)
		return false;
	for (; at + len < end && len < NAME_BYTES_MAX && at[len]; len++) {
		if (len < sizeof(prefix) - 1 ? at[len] != prefix[len] : !is_of_identifier(at[len]))
			return false;
		ret[len] = at[len];
	}
	if (len < sizeof(prefix) || at + len == end || len == NAME_BYTES_MAX)
		return false;
	ret[len] = 0;
	/* 7.2 has such names in messages only; they belong to a thunk for several devices. */
	return strcmp(ret + len - 3, "Ctx") != 0;
}

struct search {
	uintptr_t caller;
	const char *object;
	char lacking[NAMES_LACKING_MAX];
	bool is_found;
};

static void search_segment(struct search *s, const char *at, size_t bytes, void *self)
{
	const char *end = at + bytes;
	char name[NAME_BYTES_MAX];

	for (; at < end; at++) {
		if (!read_name(at, end, name) || dlsym(self, name) ||
			strlen(s->lacking) + strlen(name) + 2 > sizeof(s->lacking))
			continue;
		strcat(s->lacking, " ");
		strcat(s->lacking, name);
	}
}

static int search_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	void *self = NULL;
	Dl_info own;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && s->caller - info->dlpi_addr - p->p_vaddr < p->p_memsz)
			s->is_found = true;
	}
	if (!s->is_found)
		return 0;
	if (dladdr((void *)search_object, &own))
		self = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!self)
		return 1;
	s->object = info->dlpi_name;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags == PF_R)
			search_segment(
				s, (const char *)info->dlpi_addr + p->p_vaddr, p->p_filesz, self);
	}
	dlclose(self);
	return 1;
}

/*
 * A runtime continues without a function that it did not find, and crashes when it calls it. So the
 * names among its strings are looked up first.
 */
void *DtifCreate(const char *name)
{
	struct search s = {.caller = (uintptr_t)__builtin_return_address(0)};

	softgpu_open_for_each_runtime();
	dl_iterate_phdr(search_object, &s);
	if (!s.lacking[0])
		return &softgpu_config;
	fprintf(stderr, "softgpu: %s asks for functions that the software GPU lacks:%s\n", s.object,
		s.lacking);
	return NULL;
}

void DtifDestroy(void)
{
}

HSAKMT_STATUS hsaKmtModelEnabled(bool *is_enabled)
{
	if (!is_enabled)
		return HSAKMT_STATUS_INVALID_PARAMETER;
	*is_enabled = false;
	return HSAKMT_STATUS_SUCCESS;
}

/*
 * Functions that a runtime only looks up by name. Their parameters do not matter, because they do
 * nothing: debugger, sampling, files read by the GPU, graphics.
 */
#define DECLINE(type, value, function)                                                             \
	__attribute__((visibility("default"))) type function(void);                                \
	type function(void)                                                                        \
	{                                                                                          \
		return value;                                                                      \
	}

DECLINE(HSAKMT_STATUS, HSAKMT_STATUS_NOT_SUPPORTED, hsaKmtCheckRuntimeDebugSupport)
DECLINE(HSAKMT_STATUS, HSAKMT_STATUS_NOT_SUPPORTED, hsaKmtDebugTrapIoctl)
DECLINE(HSAKMT_STATUS, HSAKMT_STATUS_NOT_SUPPORTED, hsaKmtPcSamplingSupport)
DECLINE(HSAKMT_STATUS, HSAKMT_STATUS_NOT_SUPPORTED, hsaKmtPcSamplingCreate)
DECLINE(HSAKMT_STATUS, HSAKMT_STATUS_NOT_SUPPORTED, hsaKmtPcSamplingDestroy)
DECLINE(HSAKMT_STATUS, HSAKMT_STATUS_NOT_SUPPORTED, hsaKmtPcSamplingStart)
DECLINE(HSAKMT_STATUS, HSAKMT_STATUS_NOT_SUPPORTED, hsaKmtPcSamplingStop)
DECLINE(HSAKMT_STATUS, HSAKMT_STATUS_NOT_SUPPORTED, hsaKmtPcSamplingQueryCapabilities)
DECLINE(HSAKMT_STATUS, HSAKMT_STATUS_NOT_SUPPORTED, hsaKmtAisReadWriteFile)
DECLINE(HSAKMT_STATUS, HSAKMT_STATUS_NOT_SUPPORTED, hsaKmtRegisterGraphicsHandleToNodesExt)

/* Of libdrm and libdrm_amdgpu; buffer objects are for virtual memory management and DMA-BUF. */
DECLINE(int, -EOPNOTSUPP, amdgpu_bo_cpu_map)
DECLINE(int, -EOPNOTSUPP, amdgpu_bo_export)
DECLINE(int, -EOPNOTSUPP, amdgpu_bo_free)
DECLINE(int, -EOPNOTSUPP, amdgpu_bo_import)
DECLINE(int, -EOPNOTSUPP, amdgpu_bo_query_info)
DECLINE(int, -EOPNOTSUPP, amdgpu_bo_set_metadata)
DECLINE(int, -EOPNOTSUPP, amdgpu_bo_va_op)
DECLINE(int, -EOPNOTSUPP, amdgpu_device_get_fd)
DECLINE(int, 0, amdgpu_device_deinitialize)
DECLINE(int, -EOPNOTSUPP, drmCommandWriteRead)
DECLINE(int, -EOPNOTSUPP, drmOpenRender)
DECLINE(int, 0, drmClose)

__attribute__((visibility("default"))) const char *amdgpu_get_marketing_name(void *device);
const char *amdgpu_get_marketing_name(void *device)
{
	return "SIMULATED";
}

__attribute__((visibility("default"))) int amdgpu_device_initialize(
	int fd, uint32_t *major, uint32_t *minor, void **device);
int amdgpu_device_initialize(int fd, uint32_t *major, uint32_t *minor, void **device)
{
	return -EOPNOTSUPP;
}
