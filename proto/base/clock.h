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

static inline uint64_t clock_boottime_ns(void)
{
	return clock_read_ns(CLOCK_BOOTTIME);
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_realtime_ns(void)
{
	return clock_read_ns(CLOCK_REALTIME);
}

/* The processor time of the calling thread: no time of day, and a system call. */
static inline uint64_t clock_thread_ns(void)
{
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}
