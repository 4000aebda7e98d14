// SPDX-License-Identifier: MIT
/* Which host calls have launched something. */
#include "cli/export/rows/launches.h"
#include "tests/lib/test.h"

TEST_CASE(calls_have_the_kernels_and_copies_that_were_added)
{
	struct launches launches = {0};

	for (int64_t call = 1; call < 3000; call++)
		for (size_t process = 0; process < 3; process++) {
			int64_t kernels = call % 4 * (int64_t)(process + 1);

			for (int64_t i = 0; i < kernels; i++)
				assert_int_equal(launches_add_kernel(&launches, process, call), i);
			if (call % 5 == (int64_t)process) {
				assert_int_equal(launches_add_copy(&launches, process, call), 1);
				assert_int_equal(launches_add_copy(&launches, process, call), 0);
			}
		}
	for (int64_t call = 0; call < 4000; call++)
		for (size_t process = 0; process < 3; process++) {
			bool is_known = call > 0 && call < 3000;

			assert_int_equal(launches_kernels(&launches, process, call),
				is_known ? call % 4 * (int64_t)(process + 1) : 0);
			assert_int_equal(launches_has_copy(&launches, process, call),
				is_known && call % 5 == (int64_t)process);
		}
	launches_done(&launches);
}

TEST_CASE(last_call_that_is_allowed_has_a_place)
{
	struct launches launches = {0};
	int64_t call = LAUNCHES_CALLS_MAX - 1;

	assert_int_equal(launches_add_kernel(&launches, 7, call), 0);
	assert_int_equal(launches_kernels(&launches, 7, call), 1);
	assert_int_equal(launches_kernels(&launches, 8, 0), 0);
	launches_done(&launches);
}
