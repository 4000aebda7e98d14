// SPDX-License-Identifier: MIT
#include "shim/base/ahead.h"

#include <errno.h>
#include <linux/falloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

/* Since Linux 5.14. Before that the call fails, and each page is faulted in by its first user. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* The kernel does not know MADV_POPULATE_*. */
static _Atomic bool is_unsupported;

/* Runs inside calls of the program as well, so errno is kept. */
static void populate(void *memory, size_t bytes, int how)
{
	int error = errno;

	if (atomic_load_explicit(&is_unsupported, memory_order_relaxed))
		return;
	if (madvise(memory, bytes, how) && errno == EINVAL)
		atomic_store_explicit(&is_unsupported, true, memory_order_relaxed);
	errno = error;
}

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
	populate((char *)memory + ahead->end, most - ahead->end, MADV_POPULATE_WRITE);
	ahead->end = most;
}

void ahead_all(void *memory, size_t bytes)
{
	uintptr_t first = (uintptr_t)memory / PAGE_BYTES * PAGE_BYTES;

	populate((void *)first, page_up((uintptr_t)memory + bytes - first), MADV_POPULATE_WRITE);
}

/* The file may be another module's; its size does not change. */
static bool is_allocated(int fd, uint64_t offset, size_t bytes)
{
	int error = errno;
	bool is = !syscall(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, offset, bytes);

	errno = error;
	return is;
}

void ahead_all_of_file(int fd, uint64_t offset, void *memory, size_t bytes)
{
	/*
	 * The first fallocate() allocates the pages, the second clears them. MADV_POPULATE_READ
	 * then maps sixteen pages per fault, and they are writable; MADV_POPULATE_WRITE would take
	 * one fault per page.
	 */
	if (is_allocated(fd, offset, bytes) && is_allocated(fd, offset, bytes))
		populate(memory, bytes, MADV_POPULATE_READ);
}
