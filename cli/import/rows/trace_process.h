/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One process of a trace: what a reader found of it, in any order, until the file ends. Then
 * kernels and copies are linked to the calls that launched them, by numbers that are valid within
 * this file only; intervals of a thread are nested; and all become rows. It takes some 80 bytes per
 * event. Everything runs on one thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "cli/import/rows/import_store.h"

#define TRACE_NONE UINT32_MAX
#define TRACE_NO_NUMBER                                                                            \
	INT64_MIN /* for a foreign number, a rank, a pid, a gpuId that is not known */

enum trace_host_kind {
	TRACE_CALL,
	TRACE_SUBMIT, /* not a call: when and where something was submitted */
	TRACE_RANGE,  /* a range of roctx, or a user_annotation */
	TRACE_OP,
	TRACE_PYTHON,
};

/* An interval on a host thread. */
struct trace_host {
	int64_t start_ns, end_ns, tid;
	/* the number by which kernels and copies refer to it; TRACE_NO_NUMBER: none */
	int64_t foreign;
	uint32_t name;		  /* rocpd_string.id */
	uint32_t detail;	  /* index in trace_process.details, or TRACE_NONE */
	uint32_t number;	  /* within its kind, from 1 */
	uint32_t call, op, range; /* numbers of the innermost ones around it; 0: none */
	uint32_t kernels;	  /* number of kernels that refer to it */
	uint32_t launch;	  /* of a graph: ordinal of the launch; else TRACE_NONE */
	uint8_t kind;
	bool is_graph_launch;
	bool is_mark; /* a TRACE_RANGE without length, made by roctxMark */
};

/* Properties that few intervals have, mostly those of kind TRACE_OP. */
struct trace_detail {
	int64_t external, sequence, forward_tid, stream; /* each may be TRACE_NO_NUMBER */
	uint32_t shapes, types, inputs;			 /* rocpd_string.id; 0: none */
};

struct trace_kernel {
	int64_t start_ns, duration_ns;
	int64_t foreign;
	int64_t shape;	     /* rtl_shape.id */
	int64_t range;	     /* number of the range if the file names it, else TRACE_NO_NUMBER */
	uint32_t queue;	     /* index in trace_process.queues */
	uint32_t collective; /* index in trace_process.collectives, or TRACE_NONE */
};

struct trace_copy {
	int64_t start_ns, duration_ns;
	int64_t foreign, bytes, source_gpu, target_gpu; /* each may be TRACE_NO_NUMBER */
	const char *direction;				/* "h2d", ...; a constant */
};

struct trace_queue {
	int64_t gpu, stream;
	int64_t busy_ns, last_end_ns;
	uint64_t kernels;
};

struct trace_collective {
	int64_t comm, size, seq, count, bytes; /* each may be TRACE_NO_NUMBER */
	uint32_t op;			       /* rocpd_string.id */
	uint32_t group;			       /* index in trace_process.groups, or TRACE_NONE */
	const char *datatype;		       /* a constant; NULL: unknown */
	char *in_split, *out_split;	       /* owned; NULL: none */
	int64_t peer;
};

/* A group of ranks that collectives name. */
struct trace_group {
	int64_t comm;
	char *ranks; /* "[0, 1]"; owned; NULL: unknown */
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
	int64_t key;		    /* tells it from the other processes of its file */
	enum import_clock clock;
	int64_t base_ns;			   /* added to all times */
	int64_t pid, rank, world_size, local_rank; /* each may be TRACE_NO_NUMBER */
	/* node of its clock; processes with the same one share a clock */
	char node[64];
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
	uint32_t last_queue; /* index of the last queue that was looked up */
};

/* Adds a row of rtl_process for the open file. Returns 0, or -errno as import_store_fail() does. */
int trace_process_new(struct import_store *store, int64_t key, struct trace_process **ret);
void trace_process_free_p(struct trace_process **process);

/* The properties that many kernels share. @gpu and @stream (or queue) are below 2^31; @grid counts
 * work-items. */
struct trace_geometry {
	int64_t gpu, stream, kernel_id;
	uint32_t workgroup[3], grid[3], lds, scratch;
};
/* Finds the shape and the queue of @kernel. Returns 0, -ENOMEM, -ERANGE if the GPU's number is
 * impossible, or what database_errno() returns. */
int trace_process_shape(struct trace_process *process, const struct trace_geometry *geometry,
	struct trace_kernel *kernel);

/* These return 0 or -ENOMEM. */
int trace_process_add_host(struct trace_process *process, const struct trace_host *host,
	const struct trace_detail *detail);
int trace_process_add_kernel(struct trace_process *process, const struct trace_kernel *kernel);
int trace_process_add_copy(struct trace_process *process, const struct trace_copy *copy);
int trace_process_add_mark(struct trace_process *process, const struct trace_mark *mark);
/* Takes over what @collective owns. */
int trace_process_add_collective(
	struct trace_process *process, struct trace_collective *collective, uint32_t *ret);
/* Returns the group of that communicator; the first call makes it. @ranks may be NULL. */
int trace_process_group(
	struct trace_process *process, int64_t comm, const char *ranks, uint32_t *ret);

/*
 * Writes everything as rows. Returns 0, -ERANGE if a time is out of range, never -EBADMSG, or
 * -errno as import_store_fail() does.
 */
int trace_process_write(struct trace_process *process);

/* ---- shared by trace_process.c, trace_links.c and trace_rows.c ---- */

/* Sorts intervals by their starts, outer ones first, numbers them by kind and nests them. */
int trace_links_nest(struct trace_process *process);
/* The index for trace_links_find(). */
struct trace_index {
	const struct trace_process *process;
	uint32_t *by_foreign; /* the hosts with a foreign number, sorted by it and by start */
	size_t count;
};
int trace_links_index(const struct trace_process *process, struct trace_index *ret);
void trace_index_done(struct trace_index *index);
/* Returns the call with that number; of several, the last one that began no later than @start_ns,
 * else the first. TRACE_NONE: there is none. */
uint32_t trace_links_find(const struct trace_index *index, int64_t foreign, int64_t start_ns);
