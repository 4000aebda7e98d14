/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Compares the speed of GPUs. It compares kernels whose work is alike (same name, grid and
 * workgroup), and of these the fastest tenth: differences in work only slow some runs down, while a
 * slow GPU slows the fastest runs as well. The pace of a GPU is the weighted median of its ratios
 * to the median of all GPUs, in which no name weighs more than a fifth (docs/commands.md, Pace). It
 * reads the dispatches that the query shows in one pass, and keeps 16 bytes for each. Everything
 * runs on one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/collectives/straggler.h"
#include "cli/trace/trace.h"

/* A GPU is slow if it takes at least so many thousandths of the others' time and is outside their
 * spread. The second limit is for fewer than PACE_FEW GPUs, whose spread is unknown. */
#define PACE_SLOW     1020
#define PACE_SLOW_FEW 1050
#define PACE_FEW      4
/* With fewer names the work may differ without being noticed. */
#define PACE_NAMES    3

struct pace_lane {
	int64_t process_id, gpu_id;
	/* Results: */
	double ratio; /* 0: nothing to compare */
	bool is_slow;
	size_t names;
	int64_t kernel_id;   /* the compared kernel that takes most of the lane's time */
	double kernel_ratio; /* ratio of that kernel alone */
};

/* Fills in @lanes from the kernels that start within one of the @spans, which are in order. Returns
 * 0 or -errno; query_error() has the reason. */
int pace_find(const struct trace *trace, const struct straggler_span *spans, size_t span_count,
	struct pace_lane *lanes, size_t count);
