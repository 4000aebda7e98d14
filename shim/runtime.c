/* SPDX-License-Identifier: MIT */
#include "shim/runtime.h"
#include "shim/glibc_compat.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "shim/shadow.h"

/* AMD's table: 2/7 came with 7.0. */
#define EXT_STEP_ROCM7	   7u
#define FILE_VERSION_ROCM7 70000ul

bool runtime_has_other_tool(const struct hsa_table *table)
{
	void *address = NULL;
	Dl_info info;

	memcpy(&address, &table->real.hsa_queue_create, sizeof(address));
	if (!dladdr(address, &info) || !info.dli_fname)
		return true;
	return !strstr(info.dli_fname, "libhsa-runtime64");
}

bool runtime_is_rocm7(const struct hsa_table *table, const char *path)
{
	const char *last = strrchr(path, '.');

	if (table->ext_bytes >= HSA_EXT_LATE_BYTES_MIN && table->ext_step >= EXT_STEP_ROCM7)
		return true;
	return last && strtoul(last + 1, NULL, 10) >= FILE_VERSION_ROCM7;
}

const struct front_end *runtime_front_end(
	const struct hsa_table *table, const char *path, const char *mode)
{
	if (runtime_is_rocm7(table, path) && strcmp(mode, "shadow"))
		return NULL;
	return &shadow_front_end;
}
