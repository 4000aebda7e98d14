/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The clocks of rtl, by purpose. Rows and host events: clock_boottime_ns (the axis that KFD
 * correlates GPU ticks with). Timers and deadlines: clock_monotonic_ns. People and other
 * nodes: clock_realtime_ns. No other file names a clock id.
 */
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts); /* vDSO; cannot fail for these ids */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/*
 * What to add to this process's CLOCK_BOOTTIME for that of the machine, by which drivers, collectors and
 * other containers count: a time namespace has another beginning. Written by clock_find_shift() alone;
 * defined here, since a program that never calls that need not link it.
 */
__attribute__((weak, visibility("hidden"))) int64_t clock_boottime_shift_ns;

/* Before there are threads that read the clock, and again in a process that may be in another
 * namespace: it is the same as long as the process lives. Allocates nothing. */
void clock_find_shift(void);

/* The offset of boottime in a text as /proc/PID/timens_offsets has it, in ns; 0: there is none. */
int64_t clock_parse_offsets(const char *text);

/* When a process was started, as /proc/PID/stat tells it in hundredths of a second: the machine's.
 */
static inline uint64_t clock_machine_ticks(uint64_t ticks)
{
	return ticks + (uint64_t)(clock_boottime_shift_ns / 10000000);
}

static inline uint64_t clock_boottime_ns(void)
{
	return clock_read_ns(CLOCK_BOOTTIME) + (uint64_t)clock_boottime_shift_ns;
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_realtime_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}
