// SPDX-License-Identifier: MIT
/* What the heap has grown by is touched once, and nothing else is. Pages are counted by mincore(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "collectord/store/heap.h"

#define PAGE_BYTES 4096u
#define STEP	   (1u << 20)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static size_t resident(const char *memory, size_t bytes)
{
	static unsigned char page[16 * STEP / PAGE_BYTES];
	size_t n = 0;

	assert_true(bytes <= 16 * STEP);
	assert_int_equal(mincore((void *)(uintptr_t)memory, bytes, page), 0);
	for (size_t i = 0; i < bytes / PAGE_BYTES; i++)
		n += page[i] & 1;
	return n * PAGE_BYTES;
}

/* As malloc() does, whichever this one is; whole pages. */
static char *grow(size_t bytes)
{
	char *end = sbrk(0);
	char *memory;

	memory = sbrk((intptr_t)(bytes + (PAGE_BYTES - (uintptr_t)end % PAGE_BYTES) % PAGE_BYTES));
	assert_ptr_not_equal(memory, (char *)-1);
	return memory + (PAGE_BYTES - (uintptr_t)memory % PAGE_BYTES) % PAGE_BYTES;
}

static void a_step_is_touched_whole(void **state)
{
	char *memory;

	(void)state;
	heap_touch();
	memory = grow(STEP);
	assert_int_equal(resident(memory, STEP), 0);
	heap_touch();
	assert_int_equal(resident(memory, STEP), STEP);
}

static void what_was_given_back_is_touched_when_it_comes_again(void **state)
{
	char *memory;

	(void)state;
	memory = grow(STEP);
	heap_touch();
	assert_ptr_not_equal(sbrk(-(intptr_t)STEP), (char *)-1);
	heap_touch();
	assert_ptr_equal(grow(STEP), memory);
	assert_int_equal(resident(memory, STEP), 0);
	heap_touch();
	assert_int_equal(resident(memory, STEP), STEP);
}

/* Nobody grows a heap by so much for what he is about to use. */
static void a_leap_is_not(void **state)
{
	char *memory;

	(void)state;
	heap_touch();
	memory = grow(16 * STEP);
	heap_touch();
	assert_int_equal(resident(memory, 16 * STEP), 0);
	memory = grow(STEP);
	heap_touch();
	assert_int_equal(resident(memory, STEP), STEP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_is_touched_whole),
		cmocka_unit_test(what_was_given_back_is_touched_when_it_comes_again),
		cmocka_unit_test(a_leap_is_not),
	};

	/* Where all memory is of huge pages one touch is 2 MiB. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		return 1;
	heap_keep();
	if (madvise(grow(PAGE_BYTES), PAGE_BYTES, MADV_POPULATE_WRITE)) {
		print_message("MADV_POPULATE_WRITE: not in this kernel\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
