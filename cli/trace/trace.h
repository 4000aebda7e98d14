/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What all answers about a session share, read once a command: its processes and their ranks, the
 * GPUs that each used, the kernels with their names and categories, and the shapes that dispatches
 * repeat. Dispatches, copies and host calls are not in it: answers read them row by row. The trace
 * owns its arrays and texts, which do not move or change; an answer that knows more of a shape or a
 * lane has an array of its own, with the same index. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/base/array.h"
#include "cli/database/query.h"
#include "cli/trace/categories.h"

#define TRACE_SIZES 6 /* work-group and grid, in work-items */

/* "replica ", ", rank " and two numbers. */
#define REPLICA_NAME_BYTES 64u

/* A rank of one of several replicas, which has no rank in the job (docs/launchers.md). */
struct replica_rank {
	int64_t replica; /* from 1, in the order of appearance; 0 if none */
	int64_t rank;	 /* rank in the replica */
};

/* Writes "replica 2, rank 3". */
void replica_name(const struct replica_rank *rank, char ret[REPLICA_NAME_BYTES]);

struct trace_process {
	int64_t id, pid, rank;
	bool has_rank;
	bool has_calls; /* its host calls were recorded */
	struct replica_rank replica;
	uint32_t node;	     /* its node, by boot id; numbered in the order of processes */
	uint64_t dispatched; /* kernels, whether recorded or not */
	char *boot_id;	     /* "" if unknown */
	char *ended;	     /* NULL if it is not known to have ended */
	bool has_status;
	int64_t status;
};

struct trace_kernel {
	int64_t id;
	char *name, *symbol;		 /* demangled, and raw */
	uint64_t hash;			 /* of the name */
	const struct trace_kernel *same; /* the first kernel with this name */
	const struct category *category;
};

/* One process on one GPU. */
struct trace_lane {
	int64_t process_id, gpu_id;
	size_t gpu; /* index in gpus */
};

/* A combination that dispatches repeat (rtl_shape). */
struct trace_shape {
	int64_t id, process_id, gpu_id, queue_id, kernel_id;
	const struct trace_process *process; /* NULL, in a damaged file, if it has no row */
	const struct trace_kernel *kernel;   /* the same */
	const struct category *category;     /* of its kernel; never NULL */
	size_t lane;			     /* index in lanes */
	uint64_t queue_stored;		     /* dispatches that are stored of its queue */
	int64_t size[TRACE_SIZES];
};

struct trace {
	struct query *query;	       /* borrowed */
	struct categories *categories; /* NULL before trace_categorise() */
	struct trace_process *processes;
	size_t process_count;		      /* sorted by id */
	const struct trace_process **by_rank; /* by rank (unknown last), attempt and start */
	uint32_t node_count;
	struct trace_kernel *kernels; /* sorted by id */
	size_t kernel_count;
	struct trace_lane *lanes; /* sorted by process and GPU */
	size_t lane_count;
	int64_t *gpus; /* sorted; those of the lanes */
	size_t gpu_count;
	struct trace_shape *shapes; /* sorted by id */
	size_t shape_count;
	int64_t first_shape; /* its id; if they are dense, ids minus this are indices */
	bool is_dense;
};

/*
 * Reads everything but categories: all kernels have CATEGORY_OTHER. Returns 0, or -errno like
 * query_open() with the reason in query_error(). @query must live longer.
 */
int trace_new(struct query *query, struct trace **ret);
/* Gives each kernel its category. @file and errors are those of categories_new(). */
int trace_categorise(struct trace *trace, const char *file, char error[QUERY_ERROR_BYTES]);
/* Both of these. */
int trace_open(
	struct query *query, const char *file, char error[QUERY_ERROR_BYTES], struct trace **ret);
void trace_free_p(struct trace **trace);

/* Begins a bar (progress_begin_rows()) for an answer that reads each dispatch @times times, about.
 */
void trace_begin_progress(const struct trace *trace, const char *what, double times);

/* These return NULL if there is none. */
const struct trace_process *trace_process(const struct trace *trace, int64_t id);
const struct trace_kernel *trace_kernel(const struct trace *trace, int64_t id);
const struct trace_lane *trace_lane(const struct trace *trace, int64_t process_id, int64_t gpu_id);

/*
 * Stores the GPUs of a copy of @process_id in @ret and returns their number, at most two: those on
 * which its process computes (docs/commands.md). @source and @target are columns of @rows; NULL
 * there is the host.
 */
size_t trace_copy_gpus(const struct trace *trace, int64_t process_id, const struct query_rows *rows,
	int source, int target, int64_t ret[2]);

/* Returns the index of a shape; trace->shape_count, in a damaged file, if there is none. */
static inline size_t trace_shape(const struct trace *trace, int64_t id)
{
	size_t at;

	if (trace->is_dense) {
		at = (size_t)id - (size_t)trace->first_shape;
		return at < trace->shape_count ? at : trace->shape_count;
	}
	at = PARTITION_POINT(trace->shape_count, i, trace->shapes[i].id < id);
	return at < trace->shape_count && trace->shapes[at].id == id ? at : trace->shape_count;
}

/* Returns the name of a kernel by its id; "" if it has none. */
static inline const char *trace_kernel_name(const struct trace *trace, int64_t id)
{
	const struct trace_kernel *kernel = trace_kernel(trace, id);

	return kernel ? kernel->name : "";
}
