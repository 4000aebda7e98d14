/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A damaged file may contain any numbers: sums and differences of them then wrap around and are
 * wrong, but nothing breaks. Pure functions.
 */
#include <stdint.h>

static inline int64_t wrap_plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrap_minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}
