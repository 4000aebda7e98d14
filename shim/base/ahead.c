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

/* Since Linux 5.14; before it the call fails, and pages are touched by who uses them. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

static _Atomic bool is_unknown; /* to this kernel */

/* Also on the way of the program's own calls: its errno stays. */
static void populate(void *memory, size_t bytes, int how)
{
	int error = errno;

	if (atomic_load_explicit(&is_unknown, memory_order_relaxed))
		return;
	if (madvise(memory, bytes, how) && errno == EINVAL)
		atomic_store_explicit(&is_unknown, true, memory_order_relaxed);
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

/* The file, whosesoever it is, keeps its size. */
static bool is_allocated(int fd, uint64_t offset, size_t bytes)
{
	int error = errno;
	bool is = !syscall(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, offset, bytes);

	errno = error;
	return is;
}

void ahead_all_of_file(int fd, uint64_t offset, void *memory, size_t bytes)
{
	/* First the memory is found, then it is cleared. Who reads has sixteen pages with a fault
	 * then, and may write to them; who writes would have one. */
	if (is_allocated(fd, offset, bytes) && is_allocated(fd, offset, bytes))
		populate(memory, bytes, MADV_POPULATE_READ);
}
