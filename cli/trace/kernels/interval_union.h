/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The length of a union of intervals that come nearly in order, in bounded memory: kernels of one
 * GPU overlap if several queues run, and must not count twice. One pass keeps at most
 * INTERVALS_HELD_MAX disjoint intervals. An interval that comes for a time that is settled already
 * is detected, and the caller starts again with intervals_init(set, SIZE_MAX). Pure functions; one
 * thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 2 MiB per GPU: a second of kernels at 100,000 per second, from several processes. */
#define INTERVALS_HELD_MAX ((size_t)1 << 17)

struct interval {
	int64_t start, stop;
};

struct intervals {
	struct interval *held;
	size_t count, capacity, limit;
	bool is_unsorted;
	bool has_floor;
	bool is_inexact; /* an interval came before the floor */
	int64_t floor;	 /* everything before it is summed */
	uint64_t summed;
};

void intervals_init(struct intervals *set, size_t limit);
void intervals_done(struct intervals *set);
/* Does nothing if @stop <= @start. */
void intervals_add(struct intervals *set, int64_t start, int64_t stop);
/* Returns the length of the union of all that was added, unless is_inexact. */
uint64_t intervals_length(struct intervals *set);
