// SPDX-License-Identifier: MIT
#include "collectord/store/heap.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* The heap grows by so much, and keeps so much of what is free at its end. */
#define HEAP_STEP_BYTES	 (1 << 20)
#define HEAP_SPARE_BYTES (2 << 20)
#define PAGE_BYTES	 4096u

/* Since Linux 5.14; before it the call fails, and pages are touched by who uses them. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Where the heap ended when it was touched last; 0: never. */
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
	/* As malloc() has left it: nothing is asked of the kernel. */
	uintptr_t end = (uintptr_t)sbrk(0);
	uintptr_t begin = atomic_exchange_explicit(&touched, end, memory_order_relaxed);

	/* Given back, or a heap that lies elsewhere. */
	if (!begin || end <= begin || end - begin > 2 * HEAP_SPARE_BYTES)
		return;
	begin = begin / PAGE_BYTES * PAGE_BYTES;
	(void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
}
