/* SPDX-License-Identifier: MIT
 *
 * Stands for librocprofiler-sdk.so behind rocprofiler-register. It keeps a copy of the tables of
 * HSA as it first saw them, and then has libshim-other-tool.so (SDK_TOOL) do to them what
 * OTHER_TOOL says. When it gets them again, because a further client came, it first puts the copy
 * back. It forbids HSA_TOOLS_LIB unless the variable is there, and writes what it saw at the end of
 * the process.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT	  __attribute__((visibility("default")))
#define BYTES_MAX 4096u

typedef bool on_load(void *table, uint64_t version, uint64_t failed, const char *const *names);

struct version {
	uint32_t major, bytes, step, reserved;
};

struct root {
	struct version version;
	struct version *core, *ext;
};

EXPORT int rocprofiler_set_api_table(
	const char *name, uint64_t version, uint64_t instance, void **tables, uint64_t count);
EXPORT void *rocprofiler_configure(
	uint32_t version, const char *runtime, uint32_t priority, void *id);

static _Alignas(16) char first_core[BYTES_MAX], first_ext[BYTES_MAX];
static bool has_copy;
static void *tool;

static void fail(const char *what)
{
	fprintf(stderr, "sdk: %s\n", what);
	abort();
}

static void *function_of(const char *name)
{
	void *found;

	if (!tool)
		tool = dlopen(getenv("SDK_TOOL"), RTLD_NOW | RTLD_LOCAL);
	found = tool ? dlsym(tool, name) : NULL;
	if (!found)
		fail(dlerror());
	return found;
}

static void copy_table(void *to, const void *from)
{
	const struct version *version = from;

	if (version->bytes > BYTES_MAX)
		fail("a larger table than expected");
	memcpy(to, from, version->bytes);
}

void *rocprofiler_configure(uint32_t version, const char *runtime, uint32_t priority, void *id)
{
	(void)version, (void)runtime, (void)priority, (void)id;
	return NULL;
}

int rocprofiler_set_api_table(
	const char *name, uint64_t version, uint64_t instance, void **tables, uint64_t count)
{
	struct root *root = tables[0];
	on_load *load;
	void *found;

	(void)version, (void)instance;
	if (count != 1)
		fail("not one table");
	if (strcmp(name, "hsa"))
		return 0;
	setenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS", "0", 0);
	if (has_copy) {
		copy_table(root->core, first_core);
		copy_table(root->ext, first_ext);
	} else {
		copy_table(first_core, root->core);
		copy_table(first_ext, root->ext);
	}
	has_copy = true;
	found = function_of("OnLoad");
	memcpy(&load, &found, sizeof(load));
	return load(root, 3, 0, NULL) ? 0 : -1;
}

__attribute__((destructor)) static void finish(void)
{
	void (*unload)(void);
	void *found;

	if (!has_copy)
		return;
	found = function_of("OnUnload");
	memcpy(&unload, &found, sizeof(unload));
	unload();
}
