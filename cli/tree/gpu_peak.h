/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What GPUs can do at most, by their makers' data sheets: without sparsity, at their highest
 * clocks. docs/formats.md has the table with its sources. Pure functions.
 */
#include "cli/tree/op_cost.h"

struct gpu_peak {
	const char *name; /* a part of the product's name */
	double teraflops[OP_PRECISIONS];
	double gigabytes; /* per second */
};

/* Returns the peak of the product of that name, or NULL. @name may be NULL. */
const struct gpu_peak *gpu_peak_find(const char *name);
/*
 * Returns the least ns in which the GPU can do it: those of the arithmetic, or those of the memory
 * if they are more. Negative: a figure that this needs is not known.
 */
double gpu_peak_least_ns(const struct gpu_peak *peak, const struct op_cost *cost);
