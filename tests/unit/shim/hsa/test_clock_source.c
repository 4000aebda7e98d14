/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "proto/base/clock.h"
#include "shim/hsa/clock.h"
#include "tests/lib/test.h"

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

TEST_CASE(the_thunk_answers_first_and_in_one_reading)
{
	struct agents agents = {.count = 2, .gpu = {{.kfd_node = 3}, {.kfd_node = 7}}};
	struct clock_source source = {.agents = &agents, .counters = counters_answer, .kfd = -1};
	uint64_t before = clock_boottime_ns(), realtime = clock_realtime_ns();
	struct recorder_anchor anchor;

	assert_int_equal(clock_source_read(&source, 1, &anchor), 0);
	assert_int_equal(asked_node, 7);
	assert_int_equal(anchor.tick, 5007);
	assert_in_range(anchor.boottime_ns, before, clock_boottime_ns());
	assert_in_range(anchor.realtime_ns, realtime - 1000000000, realtime + 60000000000);
	assert_int_equal(clock_source_read(&source, 2, &anchor), -EIO);
}

TEST_CASE(a_clock_that_fails_gives_no_anchor)
{
	struct agents agents = {.count = 1};
	struct clock_source source = {.agents = &agents, .counters = counters_fail, .kfd = -1};
	struct recorder_anchor anchor;

	assert_int_equal(clock_source_read(&source, 0, &anchor), -EIO);
}

/* ---- a runtime that says what an agent's counters are -------------------------------------- */

static uint64_t info_tick, info_tick_step, info_lag_ns;
static unsigned info_asked, info_bytes = 32;

static hsa_status_t info_answer(hsa_agent_t agent, hsa_agent_info_t what, void *to)
{
	uint64_t counters[32] = {info_tick + agent.handle, 1, 0, 1000000000};

	assert_int_equal(what, 0xA118);
	counters[2] = clock_boottime_ns() - info_lag_ns * info_asked++;
	info_tick += info_tick_step;
	memcpy(to, counters, info_bytes);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t info_refuse(hsa_agent_t agent, hsa_agent_info_t what, void *to)
{
	(void)agent, (void)what, (void)to;
	return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

static bool is_taken(hsa_status_t (*info)(hsa_agent_t, hsa_agent_info_t, void *))
{
	static struct agents agents = {.count = 2, .gpu = {{.handle = {3}}, {.handle = {7}}}};
	struct hsa_table table = {.real = {.hsa_agent_get_info = info}};
	struct clock_source source;
	struct recorder_anchor anchor;
	bool is;

	info_asked = 0;
	clock_source_open(&table, &agents, &source);
	is = source.agent_info != NULL;
	if (is) {
		uint64_t before = clock_boottime_ns();

		assert_int_equal(source.kfd, -1);
		assert_int_equal(clock_source_read(&source, 1, &anchor), 0);
		assert_in_range(anchor.tick, info_tick + 7 - 4 * info_tick_step, info_tick + 7);
		assert_in_range(anchor.boottime_ns, before - 40, clock_boottime_ns());
	}
	clock_source_close(&source);
	assert_null(source.agent_info);
	return is;
}

TEST_CASE(the_runtimes_tick_is_taken_if_a_second_reading_agrees)
{
	info_tick = 1000;
	info_tick_step = 100;
	assert_true(is_taken(info_answer));
	info_tick_step = 0; /* both in one tick */
	assert_true(is_taken(info_answer));
	info_bytes = 256; /* a later runtime, which knows more */
	assert_true(is_taken(info_answer));
	info_bytes = 0; /* it said yes, and nothing more */
	assert_false(is_taken(info_answer));
	info_bytes = 32;
	info_tick_step = (uint64_t)-100;
	assert_false(is_taken(info_answer));
	info_tick_step = 100;
	info_lag_ns = 1000000000; /* time goes backwards */
	assert_false(is_taken(info_answer));
	info_lag_ns = (uint64_t)-1000000000; /* or faster than ours */
	assert_false(is_taken(info_answer));
	info_lag_ns = 0;
	assert_false(is_taken(info_refuse));
}

/* ---- a runtime that only converts ticks ---------------------------------------------------- */

/* As it does it: a line through two readings, of which the second is renewed for what lies far
 * ahead. */
#define LINE_HZ	       100000000u
#define LINE_START_NS  5000000000u /* its first reading was so long ago */
#define LINE_AHEAD_NS  62500000
#define LINE_JITTER_NS 300
struct line_point {
	uint64_t tick, ns;
};
static struct line_point line_first, line_last;
static unsigned line_asked, line_early;
static int line_fails;

static uint64_t line_tick_at(uint64_t ns)
{
	return (uint64_t)((double)(ns - line_first.ns) * LINE_HZ * 1.00002 / 1e9) + 77000;
}

static void line_sync(void)
{
	uint64_t now_ns = clock_boottime_ns();

	line_last.tick = line_tick_at(now_ns);
	line_last.ns = now_ns + (line_asked & 1 ? LINE_JITTER_NS : 0);
}

static hsa_status_t line_convert(hsa_agent_t agent, uint64_t tick, uint64_t *ret_ns)
{
	double slope;
	int64_t elapsed = 0;

	(void)agent;
	line_asked++;
	line_early += tick < line_first.tick;
	if (line_fails)
		return line_fails > 1 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR;
	if ((line_last.tick - line_first.tick) / 4 + line_last.tick < tick)
		line_sync();
	for (int i = 0; i < 2; i++) {
		slope = (double)(line_last.ns - line_first.ns) /
			(double)(line_last.tick - line_first.tick);
		elapsed = (int64_t)(slope * (double)(int64_t)(tick - line_last.tick));
		if (elapsed < LINE_AHEAD_NS)
			break;
		line_sync();
	}
	*ret_ns = (uint64_t)elapsed + line_last.ns;
	return HSA_STATUS_SUCCESS;
}

TEST_CASE(a_tick_is_found_by_the_runtime_s_conversion_alone)
{
	static const uint64_t starts_ns[] = {2000000, LINE_START_NS, 1000000000000000};
	struct agents agents = {.count = 1, .gpu = {{.tick_hz = LINE_HZ}}};
	struct recorder_anchor anchor;

	for (size_t i = 0; i < sizeof(starts_ns) / sizeof(*starts_ns); i++) {
		struct clock_source source = {
			.agents = &agents, .kfd = -1, .convert = line_convert};

		line_first.ns = clock_boottime_ns();
		line_first.ns -= line_first.ns > starts_ns[i] ? starts_ns[i] : line_first.ns - 1;
		line_first.tick = 77000;
		line_last = line_first;
		line_early = 0;
		for (int turn = 0; turn < 50; turn++) {
			uint64_t before_ns = clock_boottime_ns(), true_tick;
			int64_t off;

			line_asked = 0;
			assert_int_equal(clock_source_read(&source, 0, &anchor), 0);
			/* Once it is found it is not searched again. */
			assert_in_range(line_asked, 1, turn ? 2 : 24);
			assert_in_range(
				anchor.boottime_ns, before_ns, clock_boottime_ns() + 1000000);
			true_tick = line_tick_at(anchor.boottime_ns);
			off = (int64_t)(anchor.tick - true_tick) * 10;
			assert_in_range((uint64_t)(off < 0 ? -off : off), 0, anchor.error_ns);
		}
		/* Of those the runtime would make a line for the program, too. */
		assert_int_equal(line_early, 0);
	}
}

TEST_CASE(without_any_clock_there_is_no_anchor)
{
	struct agents agents = {.count = 1, .gpu = {{.tick_hz = LINE_HZ}}};
	struct clock_source source = {.agents = &agents, .kfd = -1, .convert = line_convert};
	struct recorder_anchor anchor;

	line_fails = 1;
	assert_int_equal(clock_source_read(&source, 0, &anchor), -EIO);
	line_fails = 2; /* it said yes, and nothing more */
	assert_int_equal(clock_source_read(&source, 0, &anchor), -EIO);
	line_fails = 0;
	agents.gpu[0].tick_hz = 0;
	assert_int_equal(clock_source_read(&source, 0, &anchor), -EIO);
	source.convert = NULL;
	assert_int_equal(clock_source_read(&source, 0, &anchor), -EIO);
}

TEST_CASE(a_measured_frequency_is_taken_to_its_crystal)
{
	struct recorder_anchor first = {.tick = 1000, .boottime_ns = 5000};
	struct recorder_anchor last = {.tick = 1000 + 100200, .boottime_ns = 5000 + 1000000};

	assert_int_equal(clock_source_estimate_hz(&first, &last), 100000000);
	last.tick = 1000 + 24950;
	assert_int_equal(clock_source_estimate_hz(&first, &last), 25000000);
	last.tick = 1000 + 60000;
	assert_int_equal(clock_source_estimate_hz(&first, &last), 60000000);
	assert_int_equal(clock_source_estimate_hz(&last, &last), 0);
	assert_int_equal(clock_source_estimate_hz(&last, &first), 0);
}
