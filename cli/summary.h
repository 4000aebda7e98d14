/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What rtl summary shows, gathered from one database and then written as tables, one JSON
 * document or one CSV table. Also for the report that ends rtl run. One thread.
 */
#include <stdio.h>

#include "cli/categories.h"
#include "cli/measure.h"
#include "cli/query.h"
#include "cli/reason.h"
#include "cli/render.h"
#include "cli/verdict.h"

enum summary_table {
	SUMMARY_KERNEL_TABLE,
	SUMMARY_RANK_TABLE,
	SUMMARY_GPU_TABLE,
	SUMMARY_LOSS_TABLE,
	SUMMARY_COPY_TABLE,
	SUMMARY_METRIC_TABLE,
	SUMMARY_CALL_TABLE,
	SUMMARY_COLLECTIVE_TABLE,
	SUMMARY_CATEGORY_TABLE,
	SUMMARY_REASON_TABLE,
};

struct summary_options {
	enum render_format format;
	enum summary_table csv_table;
	uint64_t kernels; /* in the table; 0: all */
	bool by_category; /* that table in place of the kernels' */
	size_t width;	  /* of the terminal */
};

/* One process on one GPU, or a process that used none. */
struct summary_rank {
	int64_t process_id, pid;
	bool has_rank, has_gpu, has_measure;
	int64_t rank, gpu_id;
	char *exe;
	char state[32];	  /* live | exited 0 | killed by 9 | ... */
	const char *note; /* why there is nothing; NULL */
	uint64_t dispatched, stored, untimed, outstanding, dropped, skipped;
	struct measure_lane lane;
};

struct summary_loss {
	int64_t process_id, rank, count;
	bool has_rank, has_count;
	char *reason;
};

/* Copies of one direction. */
struct summary_copies {
	char direction[16];
	uint64_t calls, bytes;
	uint64_t timed, timed_bytes; /* of those, the ones that have times */
	int64_t total_ns, min_ns, max_ns;
};

/* What one process said of itself by roctxMark("name=value"). */
struct summary_metric {
	int64_t process_id, rank;
	bool has_rank;
	char *name;
	uint64_t count;
	double last, least, most;
};

/* One function of HIP's or RCCL's. */
struct summary_call {
	char name[64];
	uint64_t calls, nonzero; /* nonzero: results that were not success */
	int64_t total_ns, min_ns, max_ns;
	uint64_t dispatches; /* that it caused, with a time; and from its begin to their starts */
	int64_t latency_ns;
};

struct summary_collective {
	char op[64], datatype[32];
	uint64_t ranks; /* of the communicator; 0: unknown */
	uint64_t calls, bytes, communicators, processes;
};

/* Kernels of one kind of work. */
struct summary_category {
	char name[CATEGORY_NAME_BYTES];
	uint64_t kernels, calls, timed;
	int64_t total_ns, min_ns, max_ns;
};

struct summary {
	struct measure *measure;
	struct verdict *verdict;
	struct reason *reason; /* NULL: nobody asked */
	struct summary_rank *ranks;
	size_t rank_count;
	struct summary_loss *losses;
	size_t loss_count;
	struct summary_copies *copies;
	size_t copy_count;
	struct summary_metric *metrics;
	size_t metric_count;
	struct summary_call *calls;
	size_t call_count;
	struct summary_collective *collectives;
	size_t collective_count;
	struct summary_category *categories; /* most total time first */
	size_t category_count;
	int64_t unlinked;	     /* dispatches without a host call, where those were recorded */
	char *name, *command, *host; /* of the first session */
	size_t sessions;
	int64_t start_realtime_ns, wall_ns; /* wall: of the session so far; -1: unknown */
};

/* 0 or -errno; then query_error() tells, or it is -ENOMEM. */
int summary_new(struct query *query, struct summary **ret);
/*
 * Sums kernels by what kind of work they are; @file as for categories_new(), and so are errors.
 * Without it there is no such table.
 */
int summary_add_categories(struct query *query, const char *file, struct summary *summary,
	char error[QUERY_ERROR_BYTES]);
/* Why the job is slow; @file and errors likewise. */
int summary_add_reason(struct query *query, const char *file, struct summary *summary,
	char error[QUERY_ERROR_BYTES]);
/* summary_calls.c: its part of summary_new(). */
int summary_load_calls(struct query *query, struct summary *s);
void summary_free_p(struct summary **summary);

size_t summary_table_rows(const struct summary *summary, enum summary_table which);
/* The first @rows (0: all) of one table, without a title. -ENOMEM. */
int summary_put_table(const struct summary *summary, enum summary_table which,
	enum render_format format, uint64_t rows, FILE *to);

/* -ENOMEM. */
int summary_show(const struct summary *summary, const struct summary_options *options, FILE *to);
