// SPDX-License-Identifier: MIT
#include "shim/ahead.h"

#include <sys/mman.h>

#define PAGE_BYTES 4096u

/* Since Linux 5.14; before it the call fails, and pages are touched by who uses them. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static size_t page_up(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

void ahead_of(struct ahead *ahead, void *memory, size_t bytes, size_t used)
{
	size_t most = page_up(used + (used < AHEAD_BYTES_MAX ? used : AHEAD_BYTES_MAX));

	if (ahead->memory != (uintptr_t)memory)
		*ahead = (struct ahead){.memory = (uintptr_t)memory};
	if (used < AHEAD_BYTES_LEAST || ahead->end >= bytes)
		return;
	if (ahead->end < page_up(used))
		ahead->end = page_up(used);
	if (most > bytes)
		most = bytes;
	if (most <= ahead->end)
		return;
	(void)madvise((char *)memory + ahead->end, most - ahead->end, MADV_POPULATE_WRITE);
	ahead->end = most;
}

void ahead_all(void *memory, size_t bytes)
{
	uintptr_t first = (uintptr_t)memory / PAGE_BYTES * PAGE_BYTES;

	(void)madvise(
		(void *)first, page_up((uintptr_t)memory + bytes - first), MADV_POPULATE_WRITE);
}
