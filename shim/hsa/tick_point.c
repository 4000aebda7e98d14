/* SPDX-License-Identifier: MIT */
#include "shim/hsa/tick_point.h"

#include <errno.h>
#include <stdbool.h>

#include "proto/base/clock.h"

/*
 * No counter has reached this (22 years at 100 MHz), and the conversion does not overflow there.
 * The search starts above the present and comes down, because a tick before the runtime's first
 * reading would make the runtime fix a separate line, once and for the program too.
 */
#define TICK_FAR      (UINT64_C(1) << 56)
/* The slope is accurate to 1 part in this many, even if its two readings are microseconds apart. */
#define SLOPE_PART    8
/* Each step leaves at most an eighth of the distance. */
#define STEPS_MAX     24
/* Close enough: the runtime reads its clocks again for a tick that is 62 ms ahead. */
#define NEAR_NS	      1000000
/* Further behind, either this thread did not run for long, or the answers form no line. */
#define BEHIND_NS_MAX 1000000000

/*
 * Converts @tick: where it lies, and how far ahead of the present in ns. False if the runtime does
 * not answer.
 */
static bool is_ahead(tick_convert *convert, hsa_agent_t agent, uint64_t tick,
	struct tick_point *ret, int64_t *ret_ns)
{
	ret->tick = tick;
	ret->boottime_ns = 0;
	if (convert(agent, tick, &ret->boottime_ns) != HSA_STATUS_SUCCESS || !ret->boottime_ns)
		return false;
	*ret_ns = (int64_t)(ret->boottime_ns - clock_boottime_ns());
	return true;
}

static uint64_t ticks_of(int64_t ns, uint64_t tick_hz)
{
	return (uint64_t)((double)ns * (double)tick_hz / 1e9);
}

static uint64_t start_of(const struct tick_point *last, uint64_t tick_hz)
{
	uint64_t now_ns = clock_boottime_ns();

	if (!last->tick)
		return TICK_FAR;
	if (now_ns < last->boottime_ns)
		return last->tick;
	return last->tick + ticks_of((int64_t)(now_ns - last->boottime_ns), tick_hz);
}

int tick_point_read(
	tick_convert *convert, hsa_agent_t agent, uint64_t tick_hz, struct tick_point *last)
{
	uint64_t tick = start_of(last, tick_hz);
	struct tick_point found;
	int64_t ahead_ns;

	for (unsigned step = 0; tick_hz && step < STEPS_MAX; step++) {
		uint64_t back;

		if (!is_ahead(convert, agent, tick, &found, &ahead_ns) || ahead_ns < -BEHIND_NS_MAX)
			break;
		if (ahead_ns <= NEAR_NS) {
			*last = found;
			return 0;
		}
		back = ticks_of(ahead_ns - ahead_ns / SLOPE_PART, tick_hz);
		if (back >= tick)
			break;
		tick -= back;
	}
	*last = (struct tick_point){0};
	return -EIO;
}
