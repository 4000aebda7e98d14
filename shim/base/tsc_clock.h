/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * CLOCK_BOOTTIME read from the processor's time stamp counter, without a call: a line through two
 * readings of both, which one queue's producer takes and follows. It is followed no further than
 * those two lie apart, and never past TICKS_FOLLOW_NS; then the clock itself is asked, once, and the
 * line drawn anew. So nobody else has to keep it fresh, and what it is off by is bounded by what
 * the readings are off by and by how much the kernel bends its clock in that time (ADR 0042).
 *
 * On the dispatch path: no locks, no system calls where the kernel's clock needs none. Only where
 * the kernel itself reads that counter, by itself or along a hypervisor's line (kvm-clock, Hyper-V);
 * anywhere else the counter is not touched.
 */
#include <stdbool.h>
#include <stdint.h>

/* Nobody follows a line for longer. */
#define TICKS_FOLLOW_NS 4000000u
/* The two readings lie so far apart at least; and so far apart that something may have happened in
 * between, a suspension perhaps, the first is forgotten. */
#define TICKS_BASE_NS_MIN 1000000u
#define TICKS_BASE_NS_MAX 1000000000u
/* Past this the next line begins at the latest reading. */
#define TICKS_BASE_NS_MOVE 64000000u

struct ticks {
	uint64_t usable; /* ticks past `tick` for which the line holds; 0: there is none */
	uint64_t tick;	 /* the latest reading */
	uint64_t ns;
	uint64_t ns_per_tick; /* << 32 */
	/* Off the fast path: the reading before, whence the slope. 0: none. */
	uint64_t base_tick, base_ns;
};

/* Of @tick, a counter's value just read; false: ask ticks_read_ns(). */
static inline bool ticks_to_ns(const struct ticks *t, uint64_t tick, uint64_t *ret_ns)
{
	uint64_t past = tick - t->tick;

	/* Also when the counter is behind: then it is past everything. */
	if (__builtin_expect(past >= t->usable, 0))
		return false;
	*ret_ns = t->ns + (past * t->ns_per_tick >> 32);
	return true;
}

/* Whether there is a line to follow, for ticks_to_ns(): else the counter is not to be read. */
static inline bool ticks_has_line(const struct ticks *t)
{
	return t->usable != 0;
}

/* A pair of readings: draws the line, or begins one. */
void ticks_learn(struct ticks *t, uint64_t tick, uint64_t ns);

/* The clock itself; and the line anew, where there may be one. */
uint64_t ticks_read_ns(struct ticks *t);

/* Cold, the shim's thread: whether the kernel's clock is the counter. Before that: it is not. */
void ticks_look(void);
/* The same from @clocksource, a file's first bytes, and whether the clock needs no call, for tests. */
void ticks_choose(const char *clocksource, bool is_at_hand);
