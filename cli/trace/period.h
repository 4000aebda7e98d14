/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The period of a sequence of kernels: after how many of them it repeats, how well, and with
 * which of them a period begins. Candidates come from how far apart the same kernel occurs, so
 * the cost is n log n. Pure; one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer kernels than that are a loop within a step, fewer periods a coincidence. */
#define PERIOD_KERNELS_MIN    3
#define PERIOD_COUNT_MIN      3
/* How well it has to repeat. */
#define PERIOD_CONFIDENCE_MIN 0.8

struct period_item {
	int64_t kernel_id;
	int64_t start_ns, end_ns; /* start > end: no time */
};

struct period {
	size_t kernels;	   /* 0: there is none */
	double confidence; /* of the best that was found: the kernels' mean share of repetitions */
	int64_t first_kernel_id;
};

/* @items in the order of their queue. 0; -ENOMEM. */
int period_find(const struct period_item *items, size_t count, struct period *ret);
