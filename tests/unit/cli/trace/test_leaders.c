// SPDX-License-Identifier: MIT
#include "cli/trace/kernels/leaders.h"
#include "tests/lib/test.h"

/* Processes of rank 0, in the order of their attempts; the place of the one that leads, -1: none.
 */
static int leading(struct leader *at, size_t count)
{
	struct leaders leaders = {.at = at, .count = count};
	int found = -1;

	for (size_t i = 0; i < count; i++)
		at[i].has_rank = true;
	leaders_choose(&leaders);
	for (size_t i = 0; i < count; i++) {
		if (!at[i].leads)
			continue;
		assert_int_equal(found, -1);
		found = (int)i;
	}
	return found;
}

#define LEADING(...)                                                                               \
	({                                                                                         \
		struct leader at_[] = {__VA_ARGS__};                                               \
		leading(at_, sizeof(at_) / sizeof(at_[0]));                                        \
	})

TEST_CASE(a_rank_is_the_process_with_steps)
{
	assert_int_equal(LEADING({.kernels = 9, .kernel_ns = 9, .has_collectives = true},
				 {.kernels = 1, .kernel_ns = 1, .has_steps = true},
				 {.kernels = 9, .kernel_ns = 9, .has_collectives = true}),
		1);
	/* Of two with steps the last attempt, though it came less far. */
	assert_int_equal(LEADING({.kernels = 9, .kernel_ns = 9, .has_steps = true},
				 {.kernels = 1, .kernel_ns = 1, .has_steps = true},
				 {.kernels = 5, .kernel_ns = 5}),
		1);
}

TEST_CASE(without_steps_the_leader_is_the_process_with_collectives)
{
	assert_int_equal(LEADING({.kernels = 1, .kernel_ns = 1, .has_collectives = true},
				 {.kernels = 9, .kernel_ns = 9}),
		0);
	assert_int_equal(LEADING({.kernels = 9, .kernel_ns = 9, .has_collectives = true},
				 {.kernels = 1, .kernel_ns = 1, .has_collectives = true}),
		1);
}

TEST_CASE(without_steps_and_collectives_the_leader_has_most_kernel_time)
{
	assert_int_equal(LEADING({.kernels = 1, .kernel_ns = 3}, {.kernels = 9, .kernel_ns = 7},
				 {.kernels = 99, .kernel_ns = 5}),
		1);
	assert_int_equal(
		LEADING({.kernels = 2, .kernel_ns = 7}, {.kernels = 1, .kernel_ns = 7}), 1);
	/* Times may lack; kernels may not. */
	assert_int_equal(LEADING({.kernels = 2}, {.kernels = 0, .has_steps = true}), 0);
	assert_int_equal(LEADING({.kernels = 0, .has_steps = true}, {.kernels = 1}), 1);
	assert_int_equal(LEADING({.kernels = 0, .has_steps = true}, {.kernels = 0}), -1);
}

TEST_CASE(processes_without_a_rank_lead_where_no_rank_is_known)
{
	struct leader at[] = {{.rank = 4, .has_rank = true, .kernels = 1},
		{.rank = 5, .has_rank = true, .kernels = 1}, {.kernels = 9, .kernel_ns = 9}};
	struct leaders leaders = {.at = at, .count = 3};

	leaders_choose(&leaders);
	assert_true(at[0].leads && at[1].leads && !at[2].leads);
	/* Ranks that launch others and dispatch nothing are none. */
	at[0].kernels = at[1].kernels = 0;
	leaders_choose(&leaders);
	assert_true(!at[0].leads && !at[1].leads && at[2].leads);
	at[0].has_rank = at[1].has_rank = false;
	at[0].kernels = at[1].kernels = 1;
	leaders_choose(&leaders);
	assert_true(at[0].leads && at[1].leads && at[2].leads);
}
