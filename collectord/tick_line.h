/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * From ticks of one GPU to CLOCK_BOOTTIME: a line through anchors (tick, ns), straight between
 * two of them, at the nominal frequency before the first and after the last. For one set of
 * anchors it never goes back. Durations do not use it: they are exact at the nominal frequency.
 * Store thread. Pure: no clock is read here, no memory allocated.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/limits.h"

struct tick_anchor {
	uint64_t tick;
	uint64_t boottime_ns;
	uint64_t realtime_ns;
};

struct tick_line {
	uint64_t hz; /* nominal; 0: unknown, nothing can be converted */
	unsigned count;
	struct tick_anchor anchor[PROCESS_ANCHORS_MAX]; /* tick and boottime strictly rise */
};

void tick_line_init(struct tick_line *line, uint64_t hz);

/*
 * Adds @anchor where its tick belongs; when full, every other old one goes. 1: added.
 * 0: known already. -EINVAL: no place on a line that rises (a clock that was set back, or lies).
 */
int tick_line_add(struct tick_line *line, const struct tick_anchor *anchor);

/* 0; -ENODATA: no anchor or no frequency; -ERANGE: the result is no time. */
int tick_line_convert(const struct tick_line *line, uint64_t tick, int64_t *ret_ns);

/* Exact, rounded down. -ENODATA: no frequency; -ERANGE. */
int tick_line_duration(const struct tick_line *line, uint64_t ticks, int64_t *ret_ns);
