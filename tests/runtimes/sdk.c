/* SPDX-License-Identifier: MIT
 *
 * A stand-in for rocprofiler-sdk: the library that librocprofiler-register loads
 * (ROCPROFILER_REGISTER_LIBRARY) and hands each table that a runtime registers. What it then does
 * to the HSA table is tests/shim/other_tool.c's, by OTHER_TOOL: wraps, intercepts, submits. With
 * SDK_LATE=1 it only remembers the table at first; when the program makes its second queue, the
 * remembered contents are put back and OTHER_TOOL is applied to them, as the SDK does for a tool
 * that is configured late.
 */
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT	  __attribute__((visibility("default")))
#define BYTES_MAX 4096u

typedef hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue);

/* The head of each table; minor is its size in bytes. */
struct version {
	uint32_t major, minor, step, reserved;
};

/* The beginnings of the tables, as AMD's hsa_api_trace.h has them since its first release. */
struct core_table {
	struct version version;
	void *before[7]; /* hsa_init to hsa_agent_get_info */
	queue_create *hsa_queue_create;
};

struct api_table {
	struct version version;
	struct core_table *core;
	void *amd;
};

EXPORT int rocprofiler_set_api_table(
	const char *name, uint64_t version, uint64_t instance, void **tables, uint64_t count);

static void (*tool_unload)(void);
static struct api_table *live;
static _Alignas(16) char saved_core[BYTES_MAX], saved_amd[BYTES_MAX];
static unsigned queues;

static void die(const char *what)
{
	fprintf(stderr, "sdk: %s\n", what);
	abort();
}

/* The tool that stands beside this library in the build tree. */
static void start_tool(void *table)
{
	bool (*load)(void *, uint64_t, uint64_t, const char *const *);
	const char *path = getenv("SDK_TOOL");
	void *tool = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!tool)
		die(path ? dlerror() : "SDK_TOOL names no library");
	*(void **)&load = dlsym(tool, "OnLoad");
	*(void **)&tool_unload = dlsym(tool, "OnUnload");
	if (!load || !load(table, 0, 0, NULL))
		die("the tool does not start");
}

static void copy_table(void *to, const void *from)
{
	const struct version *version = from;

	if (version->minor > BYTES_MAX)
		die("the runtime's table is larger than expected");
	memcpy(to, from, version->minor);
}

static hsa_status_t second_queue_starts(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **queue)
{
	const struct core_table *before = (const void *)saved_core;

	if (++queues < 2)
		return before->hsa_queue_create(agent, size, type, callback, data,
			private_segment_size, group_segment_size, queue);
	copy_table(live->core, saved_core);
	copy_table(live->amd, saved_amd);
	start_tool(live);
	return live->core->hsa_queue_create(
		agent, size, type, callback, data, private_segment_size, group_segment_size, queue);
}

int rocprofiler_set_api_table(
	const char *name, uint64_t version, uint64_t instance, void **tables, uint64_t count)
{
	(void)version, (void)instance;
	if (strcmp(name, "hsa") != 0 || !count)
		return 0;
	if (!getenv("SDK_LATE")) {
		start_tool(tables[0]);
		return 0;
	}
	live = tables[0];
	copy_table(saved_core, live->core);
	copy_table(saved_amd, live->amd);
	live->core->hsa_queue_create = second_queue_starts;
	return 0;
}

__attribute__((destructor)) static void finish(void)
{
	if (tool_unload)
		tool_unload();
}
