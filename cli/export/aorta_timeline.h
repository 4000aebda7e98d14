/* SPDX-License-Identifier: MIT */
#pragma once
/* The picture of steps that AORTA's overlap_report.py draws, as SVG. Pure. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct aorta_point {
	int64_t step;
	double overlap_ms, compute_ms;
};

/* Sorts @points by their steps, of all ranks. */
int aorta_put_timeline(
	FILE *to, const char *label, bool is_simulated, struct aorta_point *points, size_t count);
