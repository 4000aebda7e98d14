/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "proto/base/clock.h"
#include "shim/hsa/clock.h"

static uint32_t asked_node;

static int counters_answer(uint32_t node, void *to)
{
	uint64_t counters[4] = {5000 + node, 1, clock_boottime_ns(), 1000000000};

	asked_node = node;
	memcpy(to, counters, sizeof(counters));
	return 0;
}

static int counters_fail(uint32_t node, void *to)
{
	(void)node;
	(void)to;
	return 1;
}

static void the_thunk_answers_first_and_in_one_reading(void **state)
{
	struct agents agents = {.count = 2, .gpu = {{.kfd_node = 3}, {.kfd_node = 7}}};
	struct clock_source source = {.agents = &agents, .counters = counters_answer, .kfd = -1};
	uint64_t before = clock_boottime_ns(), realtime = clock_realtime_ns();
	struct recorder_anchor anchor;

	(void)state;
	assert_int_equal(clock_source_read(&source, 1, &anchor), 0);
	assert_int_equal(asked_node, 7);
	assert_int_equal(anchor.tick, 5007);
	assert_in_range(anchor.boottime_ns, before, clock_boottime_ns());
	assert_in_range(anchor.realtime_ns, realtime - 1000000000, realtime + 60000000000);
	assert_int_equal(clock_source_read(&source, 2, &anchor), -EIO);
}

static void a_clock_that_fails_gives_no_anchor(void **state)
{
	struct agents agents = {.count = 1};
	struct clock_source source = {.agents = &agents, .counters = counters_fail, .kfd = -1};
	struct recorder_anchor anchor;

	(void)state;
	assert_int_equal(clock_source_read(&source, 0, &anchor), -EIO);
}

static void a_measured_frequency_is_taken_to_its_crystal(void **state)
{
	struct recorder_anchor first = {.tick = 1000, .boottime_ns = 5000};
	struct recorder_anchor last = {.tick = 1000 + 100200, .boottime_ns = 5000 + 1000000};

	(void)state;
	assert_int_equal(clock_source_estimate_hz(&first, &last), 100000000);
	last.tick = 1000 + 24950;
	assert_int_equal(clock_source_estimate_hz(&first, &last), 25000000);
	last.tick = 1000 + 60000;
	assert_int_equal(clock_source_estimate_hz(&first, &last), 60000000);
	assert_int_equal(clock_source_estimate_hz(&last, &last), 0);
	assert_int_equal(clock_source_estimate_hz(&last, &first), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_thunk_answers_first_and_in_one_reading),
		cmocka_unit_test(a_clock_that_fails_gives_no_anchor),
		cmocka_unit_test(a_measured_frequency_is_taken_to_its_crystal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
