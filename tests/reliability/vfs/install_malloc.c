/* SPDX-License-Identifier: MIT */
/*
 * Linked into a program: with RTL_MALLOC="SITE,AT,SO_MANY" the AT-th allocation of that site and
 * some after it fail, in any thread. RTL_MALLOC_SITES names a file that in the end says whether
 * any failed, and how often each site has asked; with RTL_MALLOC_TRACE it prints the callers to
 * stderr.
 */
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/reliability/vfs/fault_malloc.h"

static void tell(void)
{
	const char *path = getenv("RTL_MALLOC_SITES");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%d\n", fault_malloc_has_failed());
	fault_malloc_tell_sites(file);
	fclose(file);
}

__attribute__((constructor)) static void install(void)
{
	const char *wanted = getenv("RTL_MALLOC");
	uint64_t site = 0, at = 0, so_many = 1;

	fault_malloc_install();
	event_set_mem_functions(fault_malloc_malloc, fault_malloc_realloc, free);
	fault_malloc_everywhere();
	if (wanted && sscanf(wanted, "%" SCNu64 ",%" SCNu64 ",%" SCNu64, &site, &at, &so_many) != 3)
		abort();
	fault_malloc_set_site(site, at, so_many);
	atexit(tell);
}
