// SPDX-License-Identifier: MIT
#include "collectord/store/heap.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* The heap grows by the first size, and keeps up to the second when its end is free. */
#define HEAP_STEP_BYTES	 (1 << 20)
#define HEAP_SPARE_BYTES (2 << 20)
#define PAGE_BYTES	 4096u

/* Since Linux 5.14. On an older kernel the call fails, and each first use of a page is a fault. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* The end of the heap when it was last touched; 0: never. */
static _Atomic uintptr_t touched;

void heap_keep(void)
{
	(void)mallopt(M_ARENA_MAX, 1);
	(void)mallopt(M_TOP_PAD, HEAP_STEP_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, HEAP_SPARE_BYTES);
	(void)mallopt(M_MMAP_THRESHOLD, HEAP_STEP_BYTES);
	atomic_store_explicit(&touched, (uintptr_t)sbrk(0), memory_order_relaxed);
}

void heap_touch(void)
{
	/* sbrk(0) makes no system call: it returns the end that malloc() has set. */
	uintptr_t end = (uintptr_t)sbrk(0);
	uintptr_t begin = atomic_exchange_explicit(&touched, end, memory_order_relaxed);

	/* The heap has shrunk, or lies elsewhere. */
	if (!begin || end <= begin || end - begin > 2 * HEAP_SPARE_BYTES)
		return;
	begin = begin / PAGE_BYTES * PAGE_BYTES;
	(void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
}
