/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * From ticks of one GPU to CLOCK_BOOTTIME: a line through anchors (tick, ns), straight between
 * two of them, at the nominal frequency before the first and after the last, and from the nearer
 * one where the ticks stood still in between (suspend). For one set of anchors it never goes
 * back. Durations do not use it: they are exact at the nominal frequency.
 * Store thread. Pure: no clock is read here, no memory allocated.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/base/limits.h"

#define TICK_LINE_NS_PER_S 1000000000u

struct tick_anchor {
	uint64_t tick;
	uint64_t boottime_ns;
	uint64_t realtime_ns;
	uint64_t error_ns; /* bound on how far tick and boottime are apart; 0: unknown */
};

/*
 * Ticks that one division converts: none of them leaves 64 bits on its way, and the results are
 * times. What was found for one tick holds for those around it, until an anchor comes.
 */
struct tick_span {
	uint64_t from_tick, ticks; /* 0: none */
	uint64_t from_ns;
	uint64_t ns, per;
};

struct tick_line {
	uint64_t hz; /* nominal; 0: unknown, nothing can be converted. Set once */
	uint64_t tick_ns; /* of a tick, where that is whole; else 0 */
	struct tick_span span;
	uint64_t since_ns;	   /* boottime of the anchor that began it again; 0: never */
	struct tick_anchor before; /* the last one of what it was until then */
	unsigned count;
	struct tick_anchor anchor[PROCESS_ANCHORS_MAX]; /* tick and boottime strictly rise */
};

void tick_line_init(struct tick_line *line, uint64_t hz);
/* Of one whose frequency is unknown. */
void tick_line_set_rate(struct tick_line *line, uint64_t hz);

enum tick_line_added {
	TICK_LINE_KNOWN, /* or of before the line began again */
	TICK_LINE_ADDED,
	TICK_LINE_STEPPED,   /* added, and the ticks before it do not fit the nominal rate: suspend,
				a counter that was set */
	TICK_LINE_RESTARTED, /* the counter went back while time went on (reset, wrap): only this
				anchor and what comes after it counts */
};

/*
 * Adds @anchor where its tick belongs; when full, every other old one goes. -EINVAL: no place on
 * a line that rises (time went back, the counter stands still, or it lies).
 */
int tick_line_add(struct tick_line *line, const struct tick_anchor *anchor);

/* How far a converted time may be off: the anchors' error, and the rate's where they are far. */
uint64_t tick_line_error(const struct tick_line *line, uint64_t tick);

/* 0; -ENODATA: no anchor or no frequency; -ERANGE: the result is no time. */
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

/* Exact, rounded down. 0; -ENODATA: no frequency; -ERANGE. */
int tick_line_long_duration(const struct tick_line *line, uint64_t ticks, int64_t *ret_ns);

static inline int tick_line_duration(const struct tick_line *line, uint64_t ticks, int64_t *ret_ns)
{
	/* What 64 bits hold on the way; other ticks have a time, too. */
	if (!line->hz || ticks > INT64_MAX / TICK_LINE_NS_PER_S)
		return tick_line_long_duration(line, ticks, ret_ns);
	*ret_ns = (int64_t)(line->tick_ns ? ticks * line->tick_ns
					  : ticks * TICK_LINE_NS_PER_S / line->hz);
	return 0;
}
