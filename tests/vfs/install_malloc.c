/* SPDX-License-Identifier: MIT */
/*
 * Linked into a program: with RTL_MALLOC="AT,SO_MANY" its AT-th allocation and some after it fail,
 * in any thread; RTL_MALLOC_COUNT names a file that in the end says how many there were.
 */
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/vfs/fault_malloc.h"

static void tell(void)
{
	const char *path = getenv("RTL_MALLOC_COUNT");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%" PRIu64 "\n", fault_malloc_count());
	fclose(file);
}

__attribute__((constructor)) static void install(void)
{
	const char *wanted = getenv("RTL_MALLOC");
	unsigned long at = 0, so_many = 1;

	fault_malloc_install();
	event_set_mem_functions(fault_malloc_malloc, fault_malloc_realloc, free);
	fault_malloc_everywhere();
	if (wanted && sscanf(wanted, "%lu,%lu", &at, &so_many) < 1)
		abort();
	fault_malloc_set(at, so_many);
	atexit(tell);
}
