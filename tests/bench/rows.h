/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The rows that the figures of the store are about: what feeders send and what the raw loops of
 * SQLite insert are the same dispatches, so that their sizes are the same. 100 kernels in 400
 * shapes, a range of 64 kernels each, one thread.
 */
#include <stdint.h>

#define ROWS_KERNELS  100u
#define ROWS_SHAPES   400u
#define ROWS_PERIOD   4000u /* ns from one start to the next */
#define ROWS_TICK_NS  10u
#define ROWS_IN_RANGE 64u

/* The @i-th dispatch of a rank; shapes count from 0. */
static inline uint32_t row_shape(uint64_t i)
{
	return (uint32_t)((i * 7 + i / 1000) % ROWS_SHAPES);
}

static inline uint64_t row_start_ns(uint64_t base_ns, uint64_t i)
{
	return base_ns + i * ROWS_PERIOD;
}

static inline uint32_t row_duration_ticks(uint64_t i)
{
	return (uint32_t)(100 + i * 37 % 250);
}

/* Time from the submission of row @i to its start. */
static inline uint32_t row_wait_ns(uint64_t i)
{
	return (uint32_t)(5000 + i * 131 % 40000);
}

static inline uint64_t row_range(uint64_t i)
{
	return i / ROWS_IN_RANGE + 1;
}
