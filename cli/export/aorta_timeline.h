/* SPDX-License-Identifier: MIT */
#pragma once
/* Draws the chart of steps that AORTA's overlap_report.py draws, as SVG. Pure computation. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct aorta_point {
	int64_t step;
	double overlap_ms, compute_ms;
};

/* Sorts @points, which are of all ranks, by step. Returns 0 or -errno. */
int aorta_put_timeline(
	FILE *to, const char *label, bool is_simulated, struct aorta_point *points, size_t count);
