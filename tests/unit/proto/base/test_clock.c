/* SPDX-License-Identifier: MIT */
#include "proto/base/clock.h"
#include "tests/lib/test.h"

TEST_CASE(offsets_are_read_as_the_kernel_writes_them)
{
	assert_int_equal(clock_parse_offsets("monotonic           1         2\n"
					     "boottime       864000         5\n"),
		864000000000005);
	/* Backwards: the nanoseconds go forwards all the same. */
	assert_int_equal(
		clock_parse_offsets("monotonic 0 0\nboottime -10 999999999\n"), -9000000001);
	assert_int_equal(clock_parse_offsets("1 3 0\n7 60 0\n"), 60000000000);
	assert_int_equal(clock_parse_offsets("monotonic 5 0\nboottime 0 0\n"), 0);
	assert_int_equal(clock_parse_offsets(""), 0);
}

TEST_CASE(without_a_namespace_nothing_is_shifted)
{
	uint64_t then_ns;

	clock_find_shift();
	then_ns = clock_monotonic_ns(); /* stands still while the machine sleeps */
	assert_true(clock_boottime_ns() >= then_ns || clock_boottime_shift_ns);
	assert_int_equal(clock_machine_ticks(7), 7 + clock_boottime_shift_ns / 10000000);
}
