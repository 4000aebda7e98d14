/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Reads CLOCK_BOOTTIME from the processor's time stamp counter without a call: extrapolates a line
 * through two pairs of readings. Each queue's producer owns and refreshes its line. A line is used
 * for no longer than the distance of its two readings, and never past TICKS_FOLLOW_NS; then the
 * clock itself is read once and the line is drawn again. So no other thread has to refresh it, and
 * its error is bounded by the error of the readings plus what the kernel slews its clock by in that
 * time (ADR 0005).
 *
 * Used on the dispatch path: no locks, and no system calls if the kernel's clock needs none. Used
 * only where the kernel itself derives its clock from that counter, directly or along a
 * hypervisor's line (kvm-clock, Hyper-V); elsewhere the counter is not touched.
 */
#include <stdbool.h>
#include <stdint.h>

/* A line is followed for at most this long. */
#define TICKS_FOLLOW_NS	   4000000u
/*
 * Least and greatest distance of the two readings. Past the greatest, something such as a suspend
 * may have happened in between, so the first reading is discarded.
 */
#define TICKS_BASE_NS_MIN  1000000u
#define TICKS_BASE_NS_MAX  1000000000u
/* Past this distance the next line begins at the latest reading. */
#define TICKS_BASE_NS_MOVE 64000000u

struct ticks {
	uint64_t usable; /* ticks past `tick` for which the line holds; 0 if there is no line */
	uint64_t tick;	 /* the latest reading */
	uint64_t ns;
	uint64_t ns_per_tick; /* << 32 */
	/* Off the fast path: the earlier reading, which gives the slope. 0 if there is none. */
	uint64_t base_tick, base_ns;
};

/* Converts @tick, which the caller has just read. False: call ticks_read_ns() instead. */
static inline bool ticks_to_ns(const struct ticks *t, uint64_t tick, uint64_t *ret_ns)
{
	uint64_t past = tick - t->tick;

	/* A counter behind `tick` wraps to a huge difference, so it fails this check too. */
	if (__builtin_expect(past >= t->usable, 0))
		return false;
	*ret_ns = t->ns + (past * t->ns_per_tick >> 32);
	return true;
}

/* Whether ticks_to_ns() has a line; without one the caller must not read the counter. */
static inline bool ticks_has_line(const struct ticks *t)
{
	return t->usable != 0;
}

/* Adds a pair of readings: draws the line, or begins a new one. */
void ticks_learn(struct ticks *t, uint64_t tick, uint64_t ns);

/* Reads the clock itself, and refreshes the line if the counter may be used. */
uint64_t ticks_read_ns(struct ticks *t);

/*
 * Cold, on the shim thread: finds out whether the kernel's clock is the counter. Until then it
 * counts as not.
 */
void ticks_look(void);
/*
 * For tests: the same from @clocksource, the first bytes of the file, and whether the clock needs
 * no call.
 */
void ticks_choose(const char *clocksource, bool needs_no_call);
