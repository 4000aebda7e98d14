/* SPDX-License-Identifier: MIT */
/*
 * The n-th allocation of the store's thread fails. Nothing crashes, leaks or hangs, and what is
 * told as complete is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/store/life.h"
#include "tests/vfs/fault_malloc.h"

#define COMPLETE "complete: 800 dispatched, 800 stored"

static void without_the(struct harness *h, uint64_t n, uint64_t so_many)
{
	fault_malloc_set(n, so_many);
	for (unsigned i = 0; i < 3 && life_run(h) == LIFE_NOT_OPENED; i++)
		; /* whoever comes again finds memory */
	fault_malloc_set(0, 0);
	assert_true(h->answer.complete);
	life_check(h);
	assert_string_equal(
		harness_text(h->path, "SELECT value FROM rtl_meta WHERE key = 'completeness'"),
		COMPLETE);
	life_forget(h);
}

static void any_allocation(void **state)
{
	struct harness *h = *state;
	unsigned tried = 0;
	uint64_t count;

	life_restart(h, 0);
	fault_malloc_set(0, 0);
	assert_int_equal(life_run(h), LIFE_CLOSED);
	count = fault_malloc_count();
	life_forget(h);
	assert_true(count > 1000);
	for (uint64_t n = 1; n <= count;
		n = getenv("RTL_TEST_LONG") ? n + 1 : n + 1 + n / 4, tried++)
		without_the(h, n, tried % 2 ? 1 : 3);
	print_message("%u of %lu allocations\n", tried, (unsigned long)count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(any_allocation, harness_setup, harness_teardown),
	};

	fault_malloc_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
