/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The period of a sequence of kernels: after how many of them it repeats, how well, and with which
 * of them a period begins. Candidates are the distances between occurrences of the same kernel, so
 * the cost is n log n. Pure functions; one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer kernels are a loop within a step, and fewer periods are a coincidence. */
#define PERIOD_KERNELS_MIN    3
#define PERIOD_COUNT_MIN      3
/* Minimum quality of the repetition. */
#define PERIOD_CONFIDENCE_MIN 0.8

struct period_item {
	int64_t kernel_id;
	int64_t start_ns, end_ns; /* start > end if it has no time */
};

struct period {
	size_t kernels; /* 0 if there is none */
	/* Of the best candidate: the mean over kernels of the share that repeats. */
	double confidence;
	int64_t first_kernel_id;
};

/* @items are in the order of their queue. */
void period_find(const struct period_item *items, size_t count, struct period *ret);
