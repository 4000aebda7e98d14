/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One process of a trace: what a reader found of it, in any order, until the file ends. Then
 * kernels and copies meet the calls that launched them, by the numbers of that file and no other's,
 * intervals of a thread find what they are in, and all become rows. Takes some 80 bytes an event.
 * One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/import/import_store.h"

#define TRACE_NONE UINT32_MAX
#define TRACE_NO_NUMBER                                                                            \
	INT64_MIN /* for a foreign number, a rank, a pid, a gpuId that is not known */

enum trace_host_kind {
	TRACE_CALL,
	TRACE_SUBMIT, /* no call: when and where something was submitted */
	TRACE_RANGE,  /* of roctx, or user_annotation */
	TRACE_OP,
	TRACE_PYTHON,
};

/* An interval on a thread of the host. */
struct trace_host {
	int64_t start_ns, end_ns, tid;
	int64_t foreign;	  /* that kernels and copies name; TRACE_NO_NUMBER */
	uint32_t name;		  /* rocpd_string.id */
	uint32_t detail;	  /* among trace_process.details, or TRACE_NONE */
	uint32_t number;	  /* within its kind, from 1 */
	uint32_t call, op, range; /* numbers of what is around it, innermost; 0: nothing */
	uint32_t kernels;	  /* that name it */
	uint32_t launch;	  /* of a graph: the how many-th; else TRACE_NONE */
	uint8_t kind;
	bool is_graph_launch;
	bool is_mark; /* a TRACE_RANGE of no length, that roctxMark made */
};

/* What few intervals have, of a TRACE_OP mostly. */
struct trace_detail {
	int64_t external, sequence, forward_tid, stream; /* TRACE_NO_NUMBER */
	uint32_t shapes, types;				 /* rocpd_string.id; 0: none */
};

struct trace_kernel {
	int64_t start_ns, duration_ns;
	int64_t foreign;
	int64_t shape;	/* rtl_shape.id */
	int64_t range;	/* number of the range, where a file says it itself; else TRACE_NO_NUMBER */
	uint32_t queue; /* among trace_process.queues */
	uint32_t collective; /* among trace_process.collectives, or TRACE_NONE */
};

struct trace_copy {
	int64_t start_ns, duration_ns;
	int64_t foreign, bytes, source_gpu, target_gpu; /* TRACE_NO_NUMBER */
	const char *direction;				/* h2d, ...; lives on */
};

struct trace_queue {
	int64_t gpu, stream;
	int64_t busy_ns, last_end_ns;
	uint64_t kernels;
};

struct trace_collective {
	int64_t comm, size, seq, count, bytes; /* TRACE_NO_NUMBER */
	uint32_t op;			       /* rocpd_string.id */
	uint32_t group;			       /* among trace_process.groups, or TRACE_NONE */
	const char *datatype;		       /* lives on; NULL */
	char *in_split, *out_split;	       /* owned; NULL */
	int64_t peer;
};

/* A group of ranks that collectives name. */
struct trace_group {
	int64_t comm;
	char *ranks; /* "[0, 1]"; owned; NULL */
	int64_t next_seq;
};

struct trace_mark {
	int64_t time_ns, step;
	uint32_t name;
	double value;
};

struct trace_process {
	struct import_store *store; /* borrowed */
	int64_t id;		    /* rtl_process.id */
	int64_t key;		    /* by which a reader tells it from others of its file */
	enum import_clock clock;
	int64_t base_ns;			   /* added to all times */
	int64_t pid, rank, world_size, local_rank; /* TRACE_NO_NUMBER */
	char node[64];				   /* of its clock: those alike share one */
	char host[64];
	const char *front_end;

	struct trace_host *hosts;
	struct trace_detail *details;
	struct trace_kernel *kernels;
	struct trace_copy *copies;
	struct trace_queue *queues;
	struct trace_collective *collectives;
	struct trace_group *groups;
	struct trace_mark *marks;
	size_t host_count, host_capacity, detail_count, detail_capacity, kernel_count,
		kernel_capacity, copy_count, copy_capacity, queue_count, queue_capacity,
		collective_count, collective_capacity, group_count, group_capacity, mark_count,
		mark_capacity;
	uint32_t last_queue; /* that was asked for */
};

/* A row of rtl_process in the open file; -errno as import_store_fail(). */
int trace_process_new(struct import_store *store, int64_t key, struct trace_process **ret);
void trace_process_free_p(struct trace_process **process);

/* What a kernel's row repeats: @gpu and @stream (or queue), below 2^31; work-items in @grid. */
struct trace_geometry {
	int64_t gpu, stream, kernel_id;
	uint32_t workgroup[3], grid[3], lds, scratch;
};
/* -ENOMEM, -ERANGE: no such GPU; database_errno(). */
int trace_process_shape(struct trace_process *process, const struct trace_geometry *geometry,
	struct trace_kernel *kernel);

/* Each -ENOMEM. */
int trace_process_add_host(struct trace_process *process, const struct trace_host *host,
	const struct trace_detail *detail);
int trace_process_add_kernel(struct trace_process *process, const struct trace_kernel *kernel);
int trace_process_add_copy(struct trace_process *process, const struct trace_copy *copy);
int trace_process_add_mark(struct trace_process *process, const struct trace_mark *mark);
/* Takes what @collective owns. */
int trace_process_add_collective(
	struct trace_process *process, struct trace_collective *collective, uint32_t *ret);
/* The group of that communicator, made on first sight; @ranks may be NULL. */
int trace_process_group(
	struct trace_process *process, int64_t comm, const char *ranks, uint32_t *ret);

/*
 * All of it becomes rows, and is given back. -ERANGE: a time is out of range; -EBADMSG is never
 * returned; else as import_store_fail().
 */
int trace_process_write(struct trace_process *process);

/* ---- between trace_process.c, trace_links.c and trace_rows.c ---- */

/* Orders intervals by their begins, outer ones first, numbers them by kind and nests them. */
int trace_links_nest(struct trace_process *process);
/* For trace_links_find(). */
struct trace_index {
	const struct trace_process *process;
	uint32_t *by_foreign; /* hosts that have a foreign number, by it and by begin */
	size_t count;
};
int trace_links_index(const struct trace_process *process, struct trace_index *ret);
void trace_index_done(struct trace_index *index);
/* The call of that number, of several the last one that began by @start_ns; or TRACE_NONE. */
uint32_t trace_links_find(const struct trace_index *index, int64_t foreign, int64_t start_ns);
