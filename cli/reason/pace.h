/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How fast a GPU is beside others: kernels are compared where their work is alike (same name, grid
 * and workgroup), and of these the fastest tenth, for work differs upwards while a slow GPU slows the
 * fastest, too. A GPU's pace is the weighted median of its ratios to the median of all GPUs, in which
 * no name weighs more than a fifth (docs/commands.md, Pace). One pass over the dispatches that the
 * query shows; 16 bytes a dispatch. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"
#include "cli/trace/categories.h"

/* A GPU is slow from so many thousandths of the others' time on, and beyond what they vary by; of
 * fewer than PACE_FEW GPUs nothing is known of that. */
#define PACE_SLOW      1020
#define PACE_SLOW_FEW  1050
#define PACE_FEW       4
/* With fewer names the work may differ without a sign of it. */
#define PACE_NAMES     3

struct pace_lane {
	int64_t process_id, gpu_id;
	/* Filled: */
	double ratio; /* 0: nothing to compare */
	bool is_slow;
	size_t names;
	int64_t kernel_id;   /* that takes most of its time among what was compared */
	double kernel_ratio; /* of that one alone */
};

/* Fills @lanes from the kernels that start from @from_ns to @to_ns. 0 or -errno; query_error() tells. */
int pace_find(struct query *query, const struct categories *categories, int64_t from_ns,
	int64_t to_ns, struct pace_lane *lanes, size_t count);
