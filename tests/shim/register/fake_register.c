/* SPDX-License-Identifier: MIT
 *
 * librocprofiler-register.so.0 as far as runtimes and rocprofiler-sdk use it: it hands each table
 * that is registered to rocprofiler_set_api_table(), of the library that
 * ROCPROFILER_REGISTER_LIBRARY names or of one that the program has in its global scope, and hands
 * all of them out again when asked to. REGISTER_LOG: a file that gets one line for each
 * registration, with what came.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT	     __attribute__((visibility("default")))
#define TABLES_MAX   8
#define SUCCESS	     0
#define NO_TOOLS     1
#define BAD_LENGTH   3
#define BAD_ARGUMENT 4

typedef int set_api_table(
	const char *name, uint64_t version, uint64_t instance, void **tables, uint64_t count);

EXPORT int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
	uint32_t version, void **tables, uint64_t count, uint64_t *id);
EXPORT int rocprofiler_register_invoke_all_registrations(void);

static struct registered {
	const char *name;
	uint32_t version;
	void *table;
} registered[TABLES_MAX];
static unsigned registrations;

static set_api_table *find_tool(void)
{
	const char *path = getenv("ROCPROFILER_REGISTER_LIBRARY");
	void *handle = path ? dlopen(path, RTLD_LAZY) : RTLD_DEFAULT;
	void *found = dlsym(handle, "rocprofiler_set_api_table");
	set_api_table *function;

	memcpy(&function, &found, sizeof(function));
	return function;
}

static void log_call(const char *name, uint32_t version, uint64_t count)
{
	const char *path = getenv("REGISTER_LOG");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fprintf(file, "registered %s version %u tables %lu\n", name, version, (unsigned long)count);
	fclose(file);
}

int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
	uint32_t version, void **tables, uint64_t count, uint64_t *id)
{
	set_api_table *tool = find_tool();

	if (count < 1 || registrations == TABLES_MAX)
		return BAD_LENGTH;
	if (import && import() != version)
		return BAD_ARGUMENT;
	log_call(name, version, count);
	registered[registrations] = (struct registered){name, version, tables[0]};
	*id = ++registrations;
	if (!tool)
		return NO_TOOLS;
	return tool(name, version, 0, tables, count);
}

int rocprofiler_register_invoke_all_registrations(void)
{
	set_api_table *tool = find_tool();

	for (unsigned i = 0; tool && i < registrations; i++)
		(void)tool(registered[i].name, registered[i].version, 0, &registered[i].table, 1);
	return tool ? SUCCESS : NO_TOOLS;
}
