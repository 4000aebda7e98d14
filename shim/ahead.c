// SPDX-License-Identifier: MIT
#include "shim/ahead.h"

#include <linux/falloc.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

/* Since Linux 5.14; before it the call fails, and pages are touched by who uses them. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ  22
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

/* The file, whosesoever it is, keeps its size. */
static bool is_allocated(int fd, uint64_t offset, size_t bytes)
{
	return !syscall(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, offset, bytes);
}

void ahead_all_of_file(int fd, uint64_t offset, void *memory, size_t bytes)
{
	/* First the memory is found, then it is cleared. Who reads has sixteen pages with a fault
	 * then, and may write to them; who writes would have one. */
	if (is_allocated(fd, offset, bytes) && is_allocated(fd, offset, bytes))
		(void)madvise(memory, bytes, MADV_POPULATE_READ);
}
