/* SPDX-License-Identifier: MIT
 *
 * Registers the HSA table at rocprofiler-register where the runtime does not: Debian builds ROCr
 * without that call, AMD with it. As the first library of HSA_TOOLS_LIB it gets the table at the
 * same point of hsa_init, before every tool of that list, and makes the same call.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

struct identifier {
	uint64_t handle;
};

EXPORT bool OnLoad(void *table, uint64_t version, uint64_t failed, const char *const *names);
EXPORT void OnUnload(void);
EXPORT uint32_t rocprofiler_register_import_hsa(void);
extern int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
	uint32_t version, void **tables, uint64_t count, struct identifier *id);

/* What a library that registers exports for it: its version as 10000 * major + 100 * minor + patch.
 */
uint32_t rocprofiler_register_import_hsa(void)
{
	return 11800;
}

bool OnLoad(void *table, uint64_t version, uint64_t failed, const char *const *names)
{
	struct identifier id = {0};
	int status = rocprofiler_register_library_api_table(
		"hsa", rocprofiler_register_import_hsa, 11800, &table, 1, &id);

	(void)version, (void)failed, (void)names;
	if (status)
		fprintf(stderr, "registrar: rocprofiler-register says %d\n", status);
	return true;
}

void OnUnload(void)
{
}
