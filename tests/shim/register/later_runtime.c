/* SPDX-License-Identifier: MIT
 *
 * How a runtime from ROCm 6.1 on takes in its tools, on top of the installed one: as the only
 * library of the HSA_TOOLS_LIB that the runtime sees it gets the tables at the same point of
 * hsa_init. It registers them first; it loads the tools of LATER_TOOLS only where the registration
 * found no tool, or HSA_TOOLS_ROCPROFILER_V1_TOOLS allows both; at the end it calls the OnUnload of
 * those that it loaded. It registers tables of another library, too, as HIP does.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT	    __attribute__((visibility("default")))
#define HSA_VERSION 11800u
#define HIP_VERSION 70200u
#define TOOLS_MAX   8

typedef bool on_load(void *table, uint64_t version, uint64_t failed, const char *const *names);

EXPORT bool OnLoad(void *table, uint64_t version, uint64_t failed, const char *const *names);
EXPORT void OnUnload(void);
EXPORT uint32_t rocprofiler_register_import_hsa(void);
EXPORT uint32_t rocprofiler_register_import_hip(void);
extern int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
	uint32_t version, void **tables, uint64_t count, uint64_t *id);

static void *tool[TOOLS_MAX];
static unsigned tools;

uint32_t rocprofiler_register_import_hsa(void)
{
	return HSA_VERSION;
}

uint32_t rocprofiler_register_import_hip(void)
{
	return HIP_VERSION;
}

static void fail(const char *what)
{
	fprintf(stderr, "later runtime: %s\n", what);
	abort();
}

static void *function_of(void *handle, const char *name)
{
	void *found = dlsym(handle, name);

	if (!found)
		fail(name);
	return found;
}

/* By the runtime's own rules: any number other than 0 means yes, and so does an unset variable. */
static bool allows_both(void)
{
	const char *value = getenv("HSA_TOOLS_ROCPROFILER_V1_TOOLS");

	return value && (!*value || atoi(value));
}

static void load_tools(void *table, char *names)
{
	for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
		on_load *load;
		void *found;

		if (tools == TOOLS_MAX)
			fail("too many tools");
		tool[tools] = dlopen(name, RTLD_LAZY);
		if (!tool[tools])
			fail(dlerror());
		found = function_of(tool[tools++], "OnLoad");
		memcpy(&load, &found, sizeof(load));
		if (!load(table, 3, 0, NULL))
			fail("a tool refuses");
	}
}

/* HIP's table: a size, and functions. Only the tool of the registration may read it. */
static void register_another(void)
{
	static uint64_t hip[3] = {sizeof(hip), 1, 2};
	void *table = hip;
	uint64_t id = 0;
	int status = rocprofiler_register_library_api_table(
		"hip", rocprofiler_register_import_hip, HIP_VERSION, &table, 1, &id);

	if (!id || status < 0 || status > 1 || table != hip || hip[1] != 1 || hip[2] != 2)
		fail("HIP's table did not pass through");
}

bool OnLoad(void *table, uint64_t version, uint64_t failed, const char *const *names)
{
	const char *list = getenv("LATER_TOOLS");
	char *copy = list ? strdup(list) : NULL;
	uint64_t id = 0;
	int status = rocprofiler_register_library_api_table(
		"hsa", rocprofiler_register_import_hsa, HSA_VERSION, &table, 1, &id);

	(void)version, (void)failed, (void)names;
	if (!id)
		fail("the registration gave no id");
	register_another();
	if (copy && (status || allows_both()))
		load_tools(table, copy);
	free(copy);
	return true;
}

void OnUnload(void)
{
	void (*unload)(void);
	void *found;

	while (tools) {
		found = function_of(tool[--tools], "OnUnload");
		memcpy(&unload, &found, sizeof(unload));
		unload();
	}
}
