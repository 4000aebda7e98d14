// SPDX-License-Identifier: MIT
#include <errno.h>

#include "collectord/ingest/process/tick_conversion.h"
#include "tests/lib/test.h"

#define MHZ_25	25000000u
#define MHZ_100 100000000u

static int add(struct tick_line *line, uint64_t tick, uint64_t ns)
{
	struct tick_anchor anchor = {.tick = tick, .boottime_ns = ns};

	return tick_line_add(line, &anchor);
}

static int64_t convert(struct tick_line *line, uint64_t tick)
{
	int64_t ns = -1;

	assert_int_equal(tick_line_convert(line, tick, &ns), 0);
	return ns;
}

TEST_CASE(nothing_is_known_without_an_anchor)
{
	struct tick_line line;
	int64_t ns;

	tick_line_init(&line, MHZ_100);
	assert_int_equal(tick_line_convert(&line, 5, &ns), -ENODATA);
	tick_line_init(&line, 0);
	assert_int_equal(add(&line, 5, 5), 1);
	assert_int_equal(tick_line_convert(&line, 5, &ns), -ENODATA);
	assert_int_equal(tick_line_duration(&line, 5, &ns), -ENODATA);
}

TEST_CASE(beyond_the_anchors_the_nominal_rate_holds)
{
	struct tick_line line;

	tick_line_init(&line, MHZ_25);
	assert_int_equal(add(&line, 1000, 500000), 1);
	assert_int_equal(convert(&line, 1000), 500000);
	assert_int_equal(convert(&line, 1001), 500040);
	assert_int_equal(convert(&line, 999), 499960);
	assert_int_equal(add(&line, 2000, 540010), 1);
	assert_int_equal(convert(&line, 2003), 540130);
	assert_int_equal(convert(&line, 0), 460000);
}

TEST_CASE(between_anchors_the_line_is_straight)
{
	struct tick_line line;

	tick_line_init(&line, MHZ_100);
	/* 20 ppm slow, and a third anchor back at the nominal rate. */
	add(&line, 0, 1000);
	add(&line, 1000000, 10001200);
	add(&line, 2000000, 20001200);
	assert_int_equal(convert(&line, 500000), 5001100);
	assert_int_equal(convert(&line, 1000000), 10001200);
	assert_int_equal(convert(&line, 1500000), 15001200);
}

TEST_CASE(durations_are_exact)
{
	struct tick_line line;
	int64_t ns;

	tick_line_init(&line, MHZ_25);
	/* Anchors do not matter. */
	add(&line, 0, 0);
	add(&line, 100, 9999);
	assert_int_equal(tick_line_duration(&line, 1, &ns), 0);
	assert_int_equal(ns, 40);
	assert_int_equal(tick_line_duration(&line, 25000000ull * 86400 * 365, &ns), 0);
	assert_int_equal(ns, 1000000000ll * 86400 * 365);
	tick_line_init(&line, 27000000);
	assert_int_equal(tick_line_duration(&line, 1, &ns), 0);
	assert_int_equal(ns, 37);
	assert_int_equal(tick_line_duration(&line, 27, &ns), 0);
	assert_int_equal(ns, 1000);
	assert_int_equal(tick_line_duration(&line, UINT64_MAX, &ns), -ERANGE);
}

/* Whichever way they are had: as one division of all bits, rounded down. */
TEST_CASE(durations_of_any_rate_are_exact)
{
	static const uint64_t rates[] = {1, 3, 32768, 1000000, MHZ_25, 27000000, 99999999, MHZ_100,
		100000001, 333333333, 500000000, 999999999, 1000000000, 1000000001, 2500000000,
		INT64_MAX, UINT64_MAX};
	static const uint64_t ticks[] = {0, 1, 2, 3, 7, 99, 12345, 1000000007,
		INT64_MAX / TICK_LINE_NS_PER_S - 1, INT64_MAX / TICK_LINE_NS_PER_S,
		INT64_MAX / TICK_LINE_NS_PER_S + 1, UINT32_MAX, INT64_MAX, UINT64_MAX};
	struct tick_line line;

	for (unsigned r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		tick_line_init(&line, r % 2 ? rates[r] : 0);
		if (!line.hz)
			tick_line_set_rate(&line, rates[r]);
		for (unsigned t = 0; t < sizeof(ticks) / sizeof(ticks[0]); t++) {
			__int128 exact = (__int128)ticks[t] * TICK_LINE_NS_PER_S / rates[r];
			int64_t ns = -1;

			if (exact > INT64_MAX) {
				assert_int_equal(tick_line_duration(&line, ticks[t], &ns), -ERANGE);
				continue;
			}
			assert_int_equal(tick_line_duration(&line, ticks[t], &ns), 0);
			assert_int_equal(ns, (int64_t)exact);
		}
	}
}

TEST_CASE(it_never_goes_back)
{
	struct tick_line line;
	int64_t last = -1;

	tick_line_init(&line, MHZ_100);
	/* Noisy readings, one of them set back. */
	for (uint64_t i = 1; i < 300; i++)
		(void)add(&line, i * 100000, i * 1000000 + (i * 7919 % 1000) - (i == 50) * 5000000);
	for (uint64_t tick = 0; tick < 31000000; tick += 997) {
		int64_t ns = convert(&line, tick);

		assert_true(ns >= last);
		last = ns;
	}
}

TEST_CASE(a_clock_set_back_is_no_anchor)
{
	struct tick_line line;

	tick_line_init(&line, MHZ_100);
	assert_int_equal(add(&line, 1000, 10000), 1);
	assert_int_equal(add(&line, 1000, 10000), 0);
	assert_int_equal(add(&line, 1000, 10001), -EINVAL);
	assert_int_equal(add(&line, 2000, 9000), -EINVAL);
	assert_int_equal(add(&line, 500, 5000), 1);
	assert_int_equal(line.count, 2);
}

TEST_CASE(a_counter_that_goes_back_begins_again)
{
	struct tick_line line;

	tick_line_init(&line, MHZ_100);
	assert_int_equal(add(&line, 1000000, 50000000), TICK_LINE_ADDED);
	assert_int_equal(add(&line, 2000000, 60000000), TICK_LINE_ADDED);
	assert_int_equal(add(&line, 100, 70000000), TICK_LINE_RESTARTED);
	assert_int_equal(convert(&line, 200), 70001000);
	/* Of before, and harvested after. */
	assert_int_equal(convert(&line, 2500000), 65000000);
	assert_int_equal(convert(&line, 1900000), 59000000);
	/* Sent again after a reconnect. */
	assert_int_equal(add(&line, 2000000, 60000000), TICK_LINE_KNOWN);
	assert_int_equal(add(&line, 100, 70000000), TICK_LINE_KNOWN);
	assert_int_equal(add(&line, 1000100, 80000000), TICK_LINE_ADDED);
	assert_int_equal(convert(&line, 500100), 75000000);
}

TEST_CASE(a_suspend_is_between_two_anchors)
{
	struct tick_line line;

	tick_line_init(&line, MHZ_100);
	assert_int_equal(add(&line, 0, 1000000), TICK_LINE_ADDED);
	/* An hour without a tick, in the middle of 10 ms. */
	assert_int_equal(add(&line, 1000000, 3600011000000), TICK_LINE_STEPPED);
	assert_int_equal(convert(&line, 1000), 1010000);
	assert_int_equal(convert(&line, 999000), 3600010990000);
	assert_true(tick_line_error(&line, 1000) > 1000000);
	/* 40 ppm are no step, and neither is what a reading that was interrupted is off by. */
	assert_int_equal(add(&line, 101000000, 3601011040000), TICK_LINE_ADDED);
	assert_int_equal(tick_line_add(&line, &(struct tick_anchor){.tick = 102000000,
						      .boottime_ns = 3601021540000,
						      .error_ns = 600000}),
		TICK_LINE_ADDED);
	/* A counter that was set forward. */
	assert_int_equal(add(&line, 104000000, 3601031540000), TICK_LINE_STEPPED);
}

TEST_CASE(the_error_grows_away_from_the_anchors)
{
	struct tick_line line;
	struct tick_anchor anchor = {.tick = 1000000, .boottime_ns = 10000000, .error_ns = 300};

	tick_line_init(&line, MHZ_100);
	assert_true(tick_line_error(&line, 1) == UINT64_MAX);
	assert_int_equal(tick_line_add(&line, &anchor), TICK_LINE_ADDED);
	assert_int_equal(tick_line_error(&line, 1000000), 310);
	assert_int_equal(tick_line_error(&line, 1200000), 310 + 1000);
	assert_int_equal(tick_line_error(&line, 800000), 310 + 1000);
}

TEST_CASE(old_anchors_are_thinned)
{
	struct tick_line line;

	tick_line_init(&line, MHZ_100);
	for (uint64_t i = 1; i <= 10000; i++)
		assert_int_equal(add(&line, i * 1000, i * 10000), 1);
	assert_true(line.count <= PROCESS_ANCHORS_MAX);
	assert_int_equal(line.anchor[0].tick, 1000);
	assert_int_equal(line.anchor[line.count - 1].tick, 10000000);
	/* The last ones are all there. */
	assert_int_equal(line.anchor[line.count - 20].tick, 9981000);
	for (unsigned i = 1; i < line.count; i++)
		assert_true(line.anchor[i].tick > line.anchor[i - 1].tick);
}

TEST_CASE(extremes_are_refused_not_wrapped)
{
	struct tick_line line;
	int64_t ns;

	tick_line_init(&line, 1);
	add(&line, UINT64_MAX / 2, 1000);
	assert_int_equal(tick_line_convert(&line, UINT64_MAX, &ns), -ERANGE);
	assert_int_equal(tick_line_convert(&line, 0, &ns), -ERANGE);
	add(&line, UINT64_MAX, UINT64_MAX);
	assert_int_equal(tick_line_convert(&line, UINT64_MAX, &ns), -ERANGE);
	assert_int_equal(tick_line_convert(&line, UINT64_MAX / 2 + 1, &ns), 0);
}

/* A rate, and errors, that no real clock has. */
TEST_CASE(lies_do_not_overflow)
{
	struct tick_anchor first = {.tick = 1, .boottime_ns = 1000, .error_ns = INT64_MAX};
	struct tick_anchor second = {.tick = 1000, .boottime_ns = 1010, .error_ns = INT64_MAX};
	struct tick_line line;
	int64_t ns;

	tick_line_init(&line, UINT64_MAX);
	assert_int_equal(tick_line_add(&line, &first), TICK_LINE_ADDED);
	assert_int_equal(tick_line_add(&line, &second), TICK_LINE_ADDED);
	assert_int_equal(tick_line_convert(&line, 1000, &ns), 0);
	assert_int_equal(ns, 1010);
	tick_line_init(&line, 1);
	assert_int_equal(tick_line_add(&line, &first), TICK_LINE_ADDED);
	second.boottime_ns = INT64_MAX;
	assert_int_equal(tick_line_add(&line, &second), TICK_LINE_ADDED);
	assert_true(tick_line_error(&line, 500) == UINT64_MAX);
}

/* Compares a line that has converted before with one that has not. */
static void check_alike(struct tick_line *line, uint64_t tick)
{
	struct tick_line fresh = *line;
	int64_t ns = -1, expected = -1;
	int r;

	fresh.span = (struct tick_span){0};
	r = tick_line_convert(&fresh, tick, &expected);
	assert_int_equal(tick_line_convert(line, tick, &ns), r);
	assert_true(ns == expected);
}

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 16;
}

TEST_CASE(what_came_before_does_not_matter)
{
	static const uint64_t rates[] = {1, 999, MHZ_25, MHZ_100, 3000000001u};
	uint64_t drawn = 1;

	for (size_t i = 0; i < 50; i++) {
		struct tick_line line;
		uint64_t tick = draw(&drawn) % 1000000, ns = draw(&drawn) % 1000000;

		tick_line_init(&line, rates[i % (sizeof(rates) / sizeof(*rates))]);
		for (unsigned n = 0; n < 20; n++) {
			/* Some go back, some stand still in ticks. */
			(void)add(&line, tick, ns);
			for (unsigned k = 0; k < 20; k++)
				check_alike(&line, tick + draw(&drawn) % 4000000 - 2000000);
			check_alike(&line, tick);
			check_alike(&line, tick - 1);
			check_alike(&line, tick + (1ull << (draw(&drawn) % 64)));
			tick += draw(&drawn) % 1000000 + (n % 7 == 6 ? -700000u : 0);
			ns += draw(&drawn) % (n % 5 ? 10000000 : 10000000000);
		}
	}
}
