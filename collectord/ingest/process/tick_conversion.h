/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Converts ticks of one GPU to CLOCK_BOOTTIME by a line through anchors (tick, ns): straight
 * between two of them, at the nominal frequency before the first and after the last, and from the
 * nearer one if the ticks stood still in between (suspend). For a fixed set of anchors the line
 * never decreases. Durations do not use it: they are exact at the nominal frequency. Store thread.
 * Pure: reads no clock and allocates no memory.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/base/limits.h"

#define TICK_LINE_NS_PER_S 1000000000u

struct tick_anchor {
	uint64_t tick;
	uint64_t boottime_ns;
	uint64_t realtime_ns;
	uint64_t error_ns; /* upper bound for the difference between tick and boottime; 0:
			    * unknown */
};

/*
 * A range of ticks that one division converts without an overflow of 64 bits. It holds until an
 * anchor is added.
 */
struct tick_span {
	uint64_t from_tick, ticks; /* number of ticks; 0: none */
	uint64_t from_ns;
	uint64_t ns, per;
};

struct tick_line {
	uint64_t hz;	  /* nominal; 0: unknown, so nothing can be converted. Set once */
	uint64_t tick_ns; /* length of a tick if it is a whole number, else 0 */
	struct tick_span span;
	uint64_t since_ns;	   /* boottime of the first anchor after a restart; 0: none */
	struct tick_anchor before; /* the last anchor before the restart */
	unsigned count;
	struct tick_anchor anchor[PROCESS_ANCHORS_MAX]; /* tick and boottime strictly increase */
};

void tick_line_init(struct tick_line *line, uint64_t hz);
/* Sets the frequency of a line that was initialised without one. */
void tick_line_set_rate(struct tick_line *line, uint64_t hz);

enum tick_line_added {
	TICK_LINE_KNOWN, /* known, or from before a restart */
	TICK_LINE_ADDED,
	TICK_LINE_STEPPED,   /* added, but the ticks before it do not fit the nominal rate:
			      * suspend, or a counter that was set */
	TICK_LINE_RESTARTED, /* the counter went back while time went on (reset, wrap): only this
			      * anchor and later ones count */
};

/*
 * Inserts @anchor by its tick; if the line is full, every other old anchor is dropped. -EINVAL: it
 * does not fit on an increasing line (time went back, the counter stands still, or the values are
 * false).
 */
int tick_line_add(struct tick_line *line, const struct tick_anchor *anchor);

/*
 * Upper bound for the error of a converted time: the error of the anchors, and that of the rate far
 * away from them.
 */
uint64_t tick_line_error(const struct tick_line *line, uint64_t tick);

/* Returns 0; -ENODATA: no anchor or no frequency; -ERANGE: the result is not a time. */
int tick_line_find(struct tick_line *line, uint64_t tick, int64_t *ret_ns);

static inline int tick_line_convert(struct tick_line *line, uint64_t tick, int64_t *ret_ns)
{
	const struct tick_span *span = &line->span;
	uint64_t ticks = tick - span->from_tick;

	if (ticks >= span->ticks)
		return tick_line_find(line, tick, ret_ns);
	*ret_ns = (int64_t)(span->from_ns + ticks * span->ns / span->per);
	return 0;
}

/* Exact, rounded down. Returns 0; -ENODATA: no frequency; -ERANGE. */
int tick_line_long_duration(const struct tick_line *line, uint64_t ticks, int64_t *ret_ns);

static inline int tick_line_duration(const struct tick_line *line, uint64_t ticks, int64_t *ret_ns)
{
	/* More ticks would overflow 64 bits on the way. */
	if (!line->hz || ticks > INT64_MAX / TICK_LINE_NS_PER_S)
		return tick_line_long_duration(line, ticks, ret_ns);
	*ret_ns = (int64_t)(line->tick_ns ? ticks * line->tick_ns
					  : ticks * TICK_LINE_NS_PER_S / line->hz);
	return 0;
}
