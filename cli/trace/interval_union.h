/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The length of a union of intervals that come nearly in order, in bounded memory: kernels of
 * one GPU overlap when several queues run, and must not count twice. One pass holds at most
 * INTERVALS_HELD_MAX disjoint intervals; what arrives for a time already given up is noticed,
 * and the caller asks again with intervals_init(set, SIZE_MAX). Pure; one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 2 MiB a GPU: a second of kernels at 100,000 a second, from several processes. */
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
	int64_t floor;	 /* up to here everything is summed */
	uint64_t summed;
};

void intervals_init(struct intervals *set, size_t limit);
void intervals_done(struct intervals *set);
/* -ENOMEM. Nothing when @stop <= @start. */
int intervals_add(struct intervals *set, int64_t start, int64_t stop);
/* The length of the union of all that was added, unless is_inexact. */
uint64_t intervals_length(struct intervals *set);
