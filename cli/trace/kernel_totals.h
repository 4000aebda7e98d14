/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Everything that a summary says about dispatches, in one pass over them in the order they lie
 * in the file: per-kernel sums and percentiles, per process x GPU and per GPU the union of busy
 * time, what host calls caused. The views top and busy say the same, at the price of a sort of all
 * rows. Memory: 4 bytes a dispatch where percentiles are wanted, 16 a host call. One thread.
 */
#include <regex.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/categories.h"
#include "cli/trace/percentiles.h"
#include "cli/trace/id_map.h"
#include "cli/trace/interval_union.h"
#include "cli/database/query.h"

struct measure_options {
	bool wants_percentiles, wants_calls;
	bool by_marker;			     /* cells apart by the innermost roctx range */
	const struct categories *categories; /* NULL: lanes have no work_ns */
	const regex_t
		*steps; /* then: of ranges whose text matches the number at the end is left out */
};

struct measure_sums {
	uint64_t calls, timed;
	int64_t total_ns, min_ns, max_ns;
	struct durations_percentiles percentiles; /* where wanted, and timed > 0 */
};

struct measure_kernel {
	char *name;   /* demangled */
	char *symbol; /* raw; of several with this name, one */
	struct measure_sums sums;
};

/* What dispatches repeat (rtl_shape), or those of them in ranges of one name. */
struct measure_cell {
	int64_t process_id, gpu_id, queue_id, kernel_id;
	size_t lane;
	uint32_t kernel;	  /* in kernels; MEASURE_NO_KERNEL: it has no row */
	uint32_t marker;	  /* in markers */
	uint32_t host;		  /* while measuring: the process's calls */
	bool is_communication;	  /* where there are categories */
	struct measure_sums sums; /* without percentiles */
	struct durations durations;
};

#define MEASURE_NO_KERNEL   UINT32_MAX
/* Names of ranges: the first two of markers. */
#define MEASURE_NO_MARKER   0
#define MEASURE_LOST_MARKER 1

/* One process on one GPU, or one GPU (process_id 0). */
struct measure_lane {
	int64_t process_id, gpu_id;
	uint64_t calls, timed;
	int64_t total_ns, first_ns, last_ns; /* first start, last end; only when timed > 0 */
	uint64_t busy_ns, work_ns;	     /* work: without communication, which may be waiting */
	struct intervals set, work;	     /* while measuring */
};

/* One function of HIP's or RCCL's. */
struct measure_call {
	char name[64];
	int64_t api_id;
	uint64_t calls, nonzero; /* nonzero: results that were not success */
	int64_t total_ns, min_ns, max_ns;
	uint64_t dispatches; /* that it caused, with a time; and from its begin to their starts */
	int64_t latency_ns;
};

struct measure_host;

struct measure {
	struct measure_kernel *kernels; /* most total time first */
	size_t kernel_count;
	struct measure_cell *cells;
	size_t cell_count, cell_capacity;
	char **markers; /* names of ranges, where wanted */
	size_t marker_count, marker_capacity;
	struct measure_lane *lanes; /* by process, GPU */
	size_t lane_count;
	struct measure_lane *gpus; /* by GPU */
	size_t gpu_count;
	struct measure_call *calls; /* most time first, where wanted */
	size_t call_count;
	struct measure_host *host;
	uint64_t rows;
	int64_t total_ns;
};

/* 0 or -errno as query_open(); then query_error() tells. */
int measure_new(struct query *query, struct measure **ret);
int measure_new_of(
	struct query *query, const struct measure_options *options, struct measure **ret);
void measure_free_p(struct measure **measure);

/* The lane of a process on a GPU, or NULL. */
const struct measure_lane *measure_find_lane(
	const struct measure *measure, int64_t process_id, int64_t gpu_id);
/* @to += @from, but for percentiles. */
void measure_add(struct measure_sums *to, const struct measure_sums *from);
/* Percentiles of @count cells together; zeros where none has a time. -ENOMEM. */
int measure_percentiles(const struct measure_cell *const *cells, size_t count,
	struct durations_room *room, struct durations_percentiles *ret);
/* The function that a host call is of (measure_call.api_id); -1: not known. */
int64_t measure_api_of(const struct measure *measure, int64_t call_id);

/* measure_kernels.c: kernels by name, of cells that have their sums. */
int measure_name_kernels(struct query *query, struct measure *measure, bool wants_percentiles);

/* kernel_totals_calls.c */
int measure_load_host(struct query *query, struct measure *measure);
void measure_free_host(struct measure *measure);
/* For measure_cell.host. */
uint32_t measure_find_host(const struct measure *measure, int64_t process_id);
void measure_add_launch(struct measure *measure, uint32_t host, int64_t call, int64_t start_ns);
int measure_name_calls(struct query *query, struct measure *measure);

/* measure_markers.c: from markers of a process to their names. */
struct measure_ranges {
	struct idmap name_of; /* by process and id */
};

int measure_load_ranges(struct query *query, const regex_t *steps, struct measure *measure,
	struct measure_ranges *ret);
void measure_ranges_done(struct measure_ranges *ranges);
/* MEASURE_LOST_MARKER: it has no row. */
uint32_t measure_find_range(const struct measure_ranges *ranges, int64_t process_id, int64_t id);
