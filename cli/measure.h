/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Everything that a summary says about dispatches, in one pass over them in the order they lie
 * in the file: per-kernel sums, per process x GPU and per GPU the union of busy time. The views
 * top and busy say the same, at the price of a sort of all rows. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "cli/intervals.h"
#include "cli/query.h"

struct measure_kernel {
	char *name;   /* demangled */
	char *symbol; /* raw; of several with this name, one */
	uint64_t calls, timed;
	int64_t total_ns, min_ns, max_ns;
};

/* One process on one GPU, or one GPU (process_id 0). */
struct measure_lane {
	int64_t process_id, gpu_id;
	uint64_t calls, timed;
	int64_t total_ns, first_ns, last_ns; /* first start, last end; only when timed > 0 */
	uint64_t busy_ns;
	struct intervals set; /* while measuring */
};

struct measure {
	struct measure_kernel *kernels; /* most total time first */
	size_t kernel_count;
	struct measure_lane *lanes; /* by process, GPU */
	size_t lane_count;
	struct measure_lane *gpus; /* by GPU */
	size_t gpu_count;
	uint64_t rows;
	int64_t total_ns;
};

/* 0 or -errno as query_open(); then query_error() tells. */
int measure_new(struct query *query, struct measure **ret);
void measure_free_p(struct measure **measure);

/* The lane of a process on a GPU, or NULL. */
const struct measure_lane *measure_find_lane(
	const struct measure *measure, int64_t process_id, int64_t gpu_id);
