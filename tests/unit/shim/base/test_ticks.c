// SPDX-License-Identifier: MIT
/*
 * The line that stands for CLOCK_BOOTTIME: readings of counter and clock come from a clock that is
 * computed here, so that the error is known to the nanosecond.
 */
#include <stdlib.h>

#include "proto/base/clock.h"
#include "shim/base/tsc_clock.h"
#include "tests/lib/test.h"

#define MS 1000000ull
#define S  1000000000ull

/* The clocks of a machine that has been up for 40 days. */
#define TICK0 0x7000000000000ull
#define NS0   (40ull * 86400 * S)

struct machine {
	double ns_per_tick;
	double bend; /* from now on the clock goes faster by this part */
	uint64_t tick, ns;
	double rest_ns;
	uint64_t jitter_ns; /* a pair of readings is off by up to this */
	uint32_t random;
};

static struct machine machine_of(double mhz, uint64_t jitter_ns)
{
	return (struct machine){.ns_per_tick = 1000 / mhz,
		.tick = TICK0,
		.ns = NS0,
		.jitter_ns = jitter_ns,
		.random = 1};
}

static void go(struct machine *m, uint64_t ns)
{
	uint64_t ticks = (uint64_t)((double)ns / m->ns_per_tick);
	double past_ns = (double)ticks * m->ns_per_tick * (1 + m->bend) + m->rest_ns;

	m->tick += ticks;
	m->ns += (uint64_t)past_ns;
	m->rest_ns = past_ns - (double)(uint64_t)past_ns;
}

static void learn(struct machine *m, struct ticks *t)
{
	uint64_t off;

	m->random = m->random * 1103515245u + 12345;
	off = m->jitter_ns ? m->random / 65536 % (2 * m->jitter_ns + 1) : 0;
	ticks_learn(t, m->tick, m->ns + off - m->jitter_ns);
}

/* Reads the time as a dispatch does: by the line, or by the clock, which then extends the line. */
static uint64_t read_ns(struct machine *m, struct ticks *t, unsigned *ret_clock)
{
	uint64_t ns;

	if (ticks_has_line(t) && ticks_to_ns(t, m->tick, &ns))
		return ns;
	(*ret_clock)++;
	learn(m, t);
	return m->ns;
}

static uint64_t off_by(const struct machine *m, uint64_t ns)
{
	return ns > m->ns ? ns - m->ns : m->ns - ns;
}

/* Dispatches every @every_ns; returns the largest error; *ret_clock: how often the clock was read.
 */
static uint64_t worst(struct machine *m, struct ticks *t, unsigned dispatches, uint64_t every_ns,
	unsigned *ret_clock)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < dispatches; i++) {
		uint64_t off = off_by(m, read_ns(m, t, ret_clock));

		most = off > most ? off : most;
		go(m, every_ns);
	}
	return most;
}

/* Three readings' error, as tsc_clock.h and ADR 0005 say, and what is rounded. */
TEST_CASE(the_line_is_off_by_no_more_than_three_readings)
{
	static const double mhz[] = {100, 999.9, 1996.25, 2500, 3000, 4800};
	static const uint64_t jitter_ns[] = {0, 20, 500};

	for (size_t i = 0; i < sizeof(mhz) / sizeof(*mhz); i++)
		for (size_t k = 0; k < sizeof(jitter_ns) / sizeof(*jitter_ns); k++) {
			struct machine m = machine_of(mhz[i], jitter_ns[k]);
			struct ticks t = {0};
			unsigned clock = 0;

			assert_in_range(worst(&m, &t, 200000, 10000, &clock), 0,
				3 * jitter_ns[k] + (uint64_t)m.ns_per_tick + 3);
			/* 2 s: the first millisecond, and then once in four. */
			assert_in_range(clock, 500, 620);
		}
}

TEST_CASE(a_line_is_not_followed_for_longer_than_it_is_known)
{
	struct machine m = machine_of(2500, 0);
	struct ticks t = {0};
	uint64_t ns;

	learn(&m, &t);
	assert_false(ticks_has_line(&t));
	go(&m, TICKS_BASE_NS_MIN / 2);
	learn(&m, &t);
	assert_false(ticks_has_line(&t));
	go(&m, TICKS_BASE_NS_MIN);
	learn(&m, &t);
	assert_true(ticks_has_line(&t));
	go(&m, 3 * TICKS_BASE_NS_MIN / 2 - 100);
	assert_true(ticks_to_ns(&t, m.tick, &ns));
	go(&m, 200);
	assert_false(ticks_to_ns(&t, m.tick, &ns));
	go(&m, 100 * MS);
	learn(&m, &t);
	go(&m, TICKS_FOLLOW_NS - 100);
	assert_true(ticks_to_ns(&t, m.tick, &ns));
	go(&m, 200);
	assert_false(ticks_to_ns(&t, m.tick, &ns));
}

/* The clock changes as fast as adjtimex() allows: 500 parts in a million. */
TEST_CASE(a_clock_that_is_bent_is_followed)
{
	struct machine m = machine_of(2500, 20);
	struct ticks t = {0};
	unsigned clock = 0;

	(void)worst(&m, &t, 100000, 10000, &clock);
	m.bend = 500e-6;
	assert_in_range(worst(&m, &t, 20000, 10000, &clock), 0, TICKS_FOLLOW_NS / 2000 + 80);
	/* Once the line begins after the bend, no worse than before. */
	assert_in_range(worst(&m, &t, 100000, 10000, &clock), 0, 80);
	m.bend = 0;
	(void)worst(&m, &t, 20000, 10000, &clock);
	assert_in_range(worst(&m, &t, 100000, 10000, &clock), 0, 80);
}

static void known(struct machine *m, struct ticks *t)
{
	unsigned clock = 0;

	(void)worst(m, t, 10000, 10000, &clock);
	learn(m, t);
	assert_true(ticks_has_line(t));
}

/* The counter stands still in a suspension, or begins anew, and the clock goes on. */
TEST_CASE(a_suspension_is_not_taken_for_a_slope)
{
	static const uint64_t pause_ns[] = {30 * MS, 700 * MS, 8 * 3600 * S};

	for (size_t i = 0; i < 2 * sizeof(pause_ns) / sizeof(*pause_ns); i++) {
		struct machine m = machine_of(2500, 20);
		struct ticks t = {0};
		unsigned clock = 0;

		known(&m, &t);
		m.ns += pause_ns[i / 2];
		if (i % 2)
			m.tick = 1000;
		/* At most until this line ends, which may hold what was before. */
		go(&m, TICKS_FOLLOW_NS);
		assert_in_range(worst(&m, &t, 100000, 10000, &clock), 0, 80);
	}
}

/* On another processor it may be a little behind: then the clock is asked. */
TEST_CASE(a_counter_that_is_behind_is_not_followed)
{
	struct machine m = machine_of(2500, 0);
	struct ticks t = {0};
	uint64_t ns;

	known(&m, &t);
	assert_false(ticks_to_ns(&t, t.tick - 1, &ns));
	assert_true(ticks_to_ns(&t, t.tick, &ns));
	ticks_learn(&t, t.tick - 10, m.ns);
	assert_in_range(t.usable, 0, TICKS_FOLLOW_NS * 3);
}

TEST_CASE(nonsense_leaves_no_line)
{
	struct ticks t = {0};

	/* No counter that moves; one that is faster than any, or slower. */
	ticks_learn(&t, 5, NS0);
	ticks_learn(&t, 5, NS0 + 2 * MS);
	assert_false(ticks_has_line(&t));
	ticks_learn(&t, 5 + (1ull << 50), NS0 + 4 * MS);
	assert_false(ticks_has_line(&t));
	ticks_learn(&t, 6 + (1ull << 50), NS0 + 6 * MS);
	assert_false(ticks_has_line(&t));
	/* A clock that goes back. */
	ticks_learn(&t, 1000000 + (1ull << 50), NS0);
	assert_false(ticks_has_line(&t));
}

static void check_reading(struct ticks *t)
{
	uint64_t before_ns = clock_boottime_ns(), ns = ticks_read_ns(t);

	assert_in_range(ns, before_ns, clock_boottime_ns());
}

/* Only where the kernel's own clock is the counter; else it is not even read. */
TEST_CASE(the_clock_is_read_unless_the_kernel_uses_the_counter)
{
	static const struct {
		const char *source;
		bool is_at_hand;
	} others[] = {
		{"", true},
		{"hpet\n", true},
		{"tsc-early\n", true},
		{"tsc", true},
		{"kvm-clock", true},
		{"kvm-clock\n", false},
		{"hyperv_clocksource_tsc_page\n", false},
		{"hyperv_clocksource_msr\n", true},
	};
	uint64_t until_ns = clock_boottime_ns() + 3 * TICKS_BASE_NS_MIN;
	struct ticks t = {0};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		ticks_choose("tsc\n", false);
		ticks_choose(others[i].source, others[i].is_at_hand);
		t.usable = 1;
		check_reading(&t);
		assert_false(ticks_has_line(&t));
		assert_int_equal(t.base_ns, 0);
	}
	while (clock_boottime_ns() < until_ns)
		assert_false((ticks_read_ns(&t), ticks_has_line(&t)));
}

/* A hypervisor's clock is the counter where the kernel says so: by reading it without a call. */
TEST_CASE(the_counter_behind_a_hypervisor_s_clock_counts)
{
	static const char *const sources[] = {
		"tsc\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n"};
	unsigned steady = 0;

	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		struct ticks t = {0};

		ticks_choose("", true);
		ticks_choose(sources[i], true);
		check_reading(&t);
		steady += t.base_ns != 0;
	}
	/* Where the processor's counter is not, none of them does. */
	assert_true(steady == 0 || steady == sizeof(sources) / sizeof(*sources));
}

/* Where it is, a line comes to be; how good it is depends on the machine, that it is there does
 * not. */
TEST_CASE(a_line_is_found_if_the_kernel_uses_the_counter)
{
	uint64_t deadline_ns = clock_monotonic_ns() + 20 * S;
	struct ticks t = {0};

	ticks_look();
	(void)ticks_read_ns(&t);
	if (!t.base_ns)
		skip(); /* the kernel's clock is another here */
	while (!ticks_has_line(&t) && clock_monotonic_ns() < deadline_ns)
		check_reading(&t);
	assert_true(ticks_has_line(&t));
}
