// SPDX-License-Identifier: MIT
#include "tests/softgpu/softgpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/lib/test.h"

static struct script_result eval(const char *name, uint32_t gpu, uint64_t ordinal)
{
	struct script_result r;
	struct script_match m;

	assert_int_equal(script_match_kernel(name, gpu, &m), 0);
	script_eval(&m, ordinal, &r);
	free(m.rule);
	return r;
}

static int forget(void **state)
{
	(void)state;
	script_free();
	return 0;
}

#define CASE(claim) TEST_CASE_BETWEEN(claim, NULL, forget)

CASE(without_rules_there_are_defaults)
{
	assert_int_equal(script_load(NULL, NULL), 0);
	assert_int_equal(eval("x", 0, 0).duration_ns, 2000);
	assert_int_equal(eval("x", 0, 0).fault, FAULT_NONE);
}

CASE(later_lines_override_what_they_set)
{
	assert_int_equal(script_load(NULL, "default duration=1us; kernel a* duration=2us;"
					   "kernel abc fault=never; kernel abc#7 duration=9ms"),
		0);
	assert_int_equal(eval("x", 0, 0).duration_ns, 1000);
	assert_int_equal(eval("ab", 0, 0).duration_ns, 2000);
	assert_int_equal(eval("ab", 0, 0).fault, FAULT_NONE);
	assert_int_equal(eval("abc", 0, 0).duration_ns, 2000);
	assert_int_equal(eval("abc", 0, 0).fault, FAULT_NEVER);
	assert_int_equal(eval("abc", 0, 7).duration_ns, 9000000);
	assert_int_equal(eval("abc", 0, 7).fault, FAULT_NEVER);
}

CASE(ordinals_select)
{
	assert_int_equal(script_load(NULL, "kernel k#3-5 duration=10; kernel k#*/4 fault=zero_ts;"
					   "kernel k#1 gpu=2 duration=30"),
		0);
	for (uint64_t i = 0; i < 20; i++) {
		assert_int_equal(eval("k", 0, i).duration_ns, i >= 3 && i <= 5 ? 10 : 2000);
		assert_int_equal(eval("k", 0, i).fault, i % 4 == 0 ? FAULT_ZERO_TS : FAULT_NONE);
	}
	assert_int_equal(eval("k", 2, 1).duration_ns, 30);
	assert_int_equal(eval("k", 1, 1).duration_ns, 2000);
}

CASE(mangled_names_match_themselves)
{
	static const char name[] = "_ZN3fooIfLi4EE3runEPKf[clone]";

	assert_int_equal(script_load(NULL, "kernel _ZN3fooIfLi4EE3runEPKf[clone] duration=50"), 0);
	assert_int_equal(eval(name, 0, 0).duration_ns, 50);
}

CASE(times_have_units_and_are_whole_ticks)
{
	assert_int_equal(script_load(NULL, "kernel a duration=1; kernel b duration=15ns;"
					   "kernel c duration=3us; kernel d duration=2s"),
		0);
	assert_int_equal(eval("a", 0, 0).duration_ns, 10);
	assert_int_equal(eval("b", 0, 0).duration_ns, 20);
	assert_int_equal(eval("c", 0, 0).duration_ns, 3000);
	assert_int_equal(eval("d", 0, 0).duration_ns, 2000000000);
}

CASE(queues_and_copies_have_lines_too)
{
	struct script_stall s;
	uint64_t ns;

	assert_int_equal(script_load(NULL, "queue * stall_for=1ms; queue 3 stall_until=7;"
					   "copy latency=100 bytes_per_us=1000"),
		0);
	script_get_stall(0, &s);
	assert_int_equal(s.for_ns, 1000000);
	assert_int_equal(s.until_pending, 0);
	script_get_stall(3, &s);
	assert_int_equal(s.for_ns, 0);
	assert_int_equal(s.until_pending, 7);
	script_get_copy(2500, &ns);
	assert_int_equal(ns, 2600);
}

CASE(clocks_drift_and_step)
{
	struct script_clock clock;

	assert_int_equal(
		script_load(NULL, "clock drift=-50ppm; clock gpu=1 step=-2ms after=1s"), 0);
	script_get_clock(0, &clock);
	assert_int_equal(clock.drift_ppm, -50);
	assert_int_equal(clock.step_ns, 0);
	script_get_clock(1, &clock);
	assert_int_equal(clock.drift_ppm, 0);
	assert_int_equal(clock.step_ns, -2000000);
	assert_int_equal(clock.after_ns, 1000000000);
}

CASE(kernels_meet_as_many_as_the_script_says)
{
	setenv("WORLD_SIZE", "8", 1);
	assert_int_equal(
		script_load(NULL, "kernel a meet=3; kernel b meet=ranks; kernel c meet=1"), 0);
	assert_int_equal(eval("a", 0, 0).meet, 3);
	assert_int_equal(eval("b", 0, 0).meet, 8);
	assert_int_equal(eval("c", 0, 0).meet, 0);
	assert_int_equal(eval("d", 0, 0).meet, 0);
	assert_true(script_has_meetings());
	script_free();
	/* With several machines, only the ranks on this one count. */
	setenv("LOCAL_WORLD_SIZE", "2", 1);
	assert_int_equal(script_load(NULL, "kernel b meet=ranks"), 0);
	assert_int_equal(eval("b", 0, 0).meet, 2);
	script_free();
	unsetenv("LOCAL_WORLD_SIZE");
	unsetenv("WORLD_SIZE");
	assert_int_equal(script_load(NULL, "kernel b meet=ranks"), 0);
	assert_int_equal(eval("b", 0, 0).meet, 0);
	assert_false(script_has_meetings());
}

CASE(files_and_text_add_up)
{
	char path[] = "/tmp/softgpu-script-XXXXXX";
	int fd = mkstemp(path);
	FILE *f;

	assert_true(fd >= 0);
	f = fdopen(fd, "w");
	assert_non_null(f);
	fputs("# a comment\n\n  kernel a duration=4us  # why\nkernel b duration=5us\n", f);
	fclose(f);
	assert_int_equal(script_load(path, "kernel b duration=6us"), 0);
	assert_int_equal(eval("a", 0, 0).duration_ns, 4000);
	assert_int_equal(eval("b", 0, 0).duration_ns, 6000);
	unlink(path);
}

CASE(nonsense_is_refused)
{
	static const char *const bad[] = {"kernel", "kernel a duration",
		"kernel a duration=", "kernel a duration=-5", "kernel a duration=5parsec",
		"kernel a fault=odd", "kernel a# duration=1", "kernel a#5-3 duration=1",
		"kernel a#*/0 duration=1", "kernel #1 duration=1", "kernel a gpu=99",
		"kernel a colour=red", "queue x", "queue 1 duration=5", "default gpu=1",
		"copy bytes_per_us=0", "speed=9", "kernel a duration=99999999999999999999",
		"kernel a#1x duration=1", "clock drift=50", "clock drift=ppm", "clock step=--1s",
		"clock duration=1", "kernel a meet=0", "kernel a meet=257", "kernel a meet=two",
		"default meet=2"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (script_load(NULL, bad[i]) == 0)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(eval("a", 0, 0).duration_ns, 2000);
	}
}
