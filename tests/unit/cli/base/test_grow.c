// SPDX-License-Identifier: MIT
/* Arrays that grow by one: each element stays, few are copied. */
#include <malloc.h>
#include <stdlib.h>

#include "cli/base/array.h"
#include "tests/lib/test.h"

#define COUNT 100000u

TEST_CASE(an_array_grows_as_elements_are_added)
{
	uint64_t *array = NULL;
	unsigned resized = 0;
	size_t usable = 0;

	for (uint64_t i = 0; i < COUNT; i++) {
		array = grow_by_one(array, i, sizeof(*array));
		assert_non_null(array);
		assert_true(malloc_usable_size(array) >= (i + 1) * sizeof(*array));
		resized += malloc_usable_size(array) != usable;
		usable = malloc_usable_size(array);
		array[i] = i;
	}
	/* 2^17 is the power of two above. */
	assert_true(resized <= 18);
	for (uint64_t i = 0; i < COUNT; i++)
		assert_int_equal(array[i], i);
	free(array);
}

/* Some were taken away meanwhile. */
TEST_CASE(an_array_grows_again_after_elements_were_removed)
{
	uint32_t *array = NULL;

	for (unsigned turn = 0; turn < 3; turn++)
		for (size_t i = turn; i < 9 - turn; i++) {
			array = grow_by_one(array, i, sizeof(*array));
			assert_non_null(array);
			assert_true(malloc_usable_size(array) >= (i + 1) * sizeof(*array));
			array[i] = 1;
		}
	free(array);
}
