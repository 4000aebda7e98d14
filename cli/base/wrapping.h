/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A damaged file may hold any numbers: sums and differences of them wrap then, and are wrong, but
 * nothing breaks. Pure.
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
