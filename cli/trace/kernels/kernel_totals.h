/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * All that a summary tells about dispatches, in one pass over them in the order of the file: sums
 * and percentiles per kernel, the union of busy time per process and GPU and per GPU, and what host
 * calls caused. The views top and busy return the same after sorting all rows. Memory: 8 bytes per
 * dispatch for percentiles, 16 per host call. One thread.
 */
#include <regex.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/kernels/percentiles.h"
#include "cli/trace/id_map.h"
#include "cli/trace/kernels/interval_union.h"
#include "cli/trace/trace.h"

struct measure_options {
	bool wants_percentiles, wants_calls;
	bool wants_work; /* work_ns of lanes */
	bool by_marker;	 /* separate cells for each innermost roctx range */
	const regex_t
		/*
		 * With by_marker: for ranges whose text matches, the number at the end is ignored.
		 */
		*steps;
};

struct measure_sums {
	uint64_t calls, timed;
	int64_t total_ns, min_ns, max_ns;
	struct durations_percentiles percentiles; /* if requested, and timed > 0 */
};

struct measure_kernel {
	const char *name;   /* demangled; of the trace */
	const char *symbol; /* raw; one of those that have this name */
	struct measure_sums sums;
};

/* A combination that dispatches repeat (rtl_shape), or the part of it in ranges of one name. */
struct measure_cell {
	int64_t process_id, gpu_id, queue_id, kernel_id;
	size_t lane;
	uint32_t kernel; /* in kernels; MEASURE_NO_KERNEL if it has no row */
	uint32_t marker; /* in markers */
	uint32_t host;	 /* used while measuring: the calls of the process */
	bool is_communication;
	struct measure_sums sums; /* without percentiles */
	struct durations durations;
};

#define MEASURE_NO_KERNEL   UINT32_MAX
/* Names of ranges: the first two entries of markers. */
#define MEASURE_NO_MARKER   0
#define MEASURE_LOST_MARKER 1

/* One process on one GPU, or one GPU (process_id 0). */
struct measure_lane {
	int64_t process_id, gpu_id;
	uint64_t calls, timed;
	int64_t total_ns, first_ns, last_ns; /* first start, last end; valid if timed > 0 */
	uint64_t busy_ns, work_ns;	     /* work: without communication, which may be waiting */
	struct intervals set, work;	     /* used while measuring */
};

/* A function of HIP or RCCL. */
struct measure_call {
	char name[64];
	int64_t api_id;
	uint64_t calls, nonzero; /* nonzero: calls that did not succeed */
	int64_t total_ns, min_ns, max_ns;
	/* Dispatches that it caused, with a time; and the sum from its begin to their starts. */
	uint64_t dispatches;
	int64_t latency_ns;
};

struct measure_host;

struct measure {
	struct measure_kernel *kernels; /* the longest total time first */
	size_t kernel_count;
	struct measure_cell *cells;
	size_t cell_count, cell_capacity;
	char **markers; /* names of ranges, if requested */
	size_t marker_count, marker_capacity;
	struct measure_lane *lanes; /* sorted by process and GPU */
	size_t lane_count;
	struct measure_lane *gpus; /* sorted by GPU */
	size_t gpu_count;
	struct measure_call *calls; /* the longest time first, if requested */
	size_t call_count;
	struct measure_host *host;
	uint64_t rows;
	int64_t total_ns;
};

/*
 * Returns 0, or -errno like query_open() with the reason in query_error(). @trace must live longer.
 */
int measure_new(
	const struct trace *trace, const struct measure_options *options, struct measure **ret);
void measure_free_p(struct measure **measure);

/* Returns the lane of a process on a GPU, or NULL. */
const struct measure_lane *measure_find_lane(
	const struct measure *measure, int64_t process_id, int64_t gpu_id);
/* Adds @from to @to, except for percentiles. */
void measure_add(struct measure_sums *to, const struct measure_sums *from);
/*
 * Computes the percentiles of @count cells together; zeros if none has a time.
 */
void measure_percentiles(const struct measure_cell *const *cells, size_t count,
	struct durations_room *room, struct durations_percentiles *ret);
/* Returns the function of a host call (measure_call.api_id); -1 if unknown. */
int64_t measure_api_of(const struct measure *measure, int64_t call_id);

/* kernel_totals_calls.c */
int measure_load_host(struct query *query, struct measure *measure);
void measure_free_host(struct measure *measure);
/* Returns the value for measure_cell.host. */
uint32_t measure_find_host(const struct measure *measure, int64_t process_id);
void measure_add_launch(struct measure *measure, uint32_t host, int64_t call, int64_t start_ns);
int measure_name_calls(struct query *query, struct measure *measure);
