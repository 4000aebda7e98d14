/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What rtl summary shows, gathered from one database and then written as tables, one JSON
 * document or one CSV table. Also for the report that ends rtl run. One thread.
 */
#include <stdio.h>

#include "cli/database/exit_text.h"
#include "cli/trace/kernel_totals.h"
#include "cli/trace/replicas.h"
#include "cli/database/query.h"
#include "cli/reason/reason.h"
#include "cli/summary/cost.h"
#include "cli/summary/groups.h"
#include "cli/output/table.h"
#include "cli/database/verdict.h"

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
	SUMMARY_TABLES,
	SUMMARY_GROUP_TABLE = SUMMARY_TABLES, /* of summary.groups; no table of its own */
};

struct summary_options {
	enum render_format format;
	enum summary_table csv_table;
	uint64_t kernels;	/* in the table; 0: all */
	uint64_t group_kernels; /* of each group; 0: all */
	size_t width;		/* of the terminal */
};

/* One process on one GPU, or a process that used none. */
struct summary_rank {
	int64_t process_id, pid;
	bool has_rank, has_gpu, has_measure;
	int64_t rank, gpu_id, world_size; /* world_size: 0: unknown */
	char *exe;
	char state[ENDED_BYTES];
	const char *note; /* why there is nothing; NULL */
	char replica[REPLICA_NAME_BYTES]; /* of a rank of a replica; else "" */
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

struct summary_collective {
	char op[64], datatype[32];
	uint64_t ranks; /* of the communicator; 0: unknown */
	uint64_t calls, bytes, communicators, processes;
};

struct summary {
	struct measure *measure;
	struct verdict *verdict;
	struct reason *reason;		   /* NULL: nobody asked, or nobody knows: */
	char no_reason[QUERY_ERROR_BYTES]; /* "unknown (...)"; empty: nobody asked */
	struct summary_rank *ranks;
	size_t rank_count;
	struct summary_loss *losses;
	size_t loss_count;
	struct summary_copies *copies;
	size_t copy_count;
	struct summary_metric *metrics;
	size_t metric_count;
	struct summary_collective *collectives;
	size_t collective_count;
	struct cost cost;		   /* of recording */
	struct summary_groups *groups;	   /* as was asked for; NULL: none */
	struct summary_groups *categories; /* NULL: nobody asked */
	int64_t unlinked;	     /* dispatches without a host call, where those were recorded */
	char *name, *command, *host; /* of the first session */
	size_t sessions;
	int64_t start_realtime_ns, wall_ns; /* wall: of the session so far; -1: unknown */
	bool is_in_use; /* else nobody will close what is not closed */
};

/* What costs time, and not everybody wants. */
struct summary_wishes {
	struct measure_options measure;
	enum summary_by by;
	bool categories, reason;
	const char *category_file; /* as for categories_new(), and so are errors */
};

/* 0 or -errno; then @error, else query_error() tells, or it is -ENOMEM. */
int summary_new(struct query *query, const struct summary_wishes *wishes,
	char error[QUERY_ERROR_BYTES], struct summary **ret);
/* summary_calls.c: its part of summary_new(). */
int summary_load_calls(struct query *query, struct summary *s);
void summary_free_p(struct summary **summary);

size_t summary_table_rows(const struct summary *summary, enum summary_table which);
/* The first @rows (0: all) of one table, without a title. -ENOMEM. */
int summary_put_table(const struct summary *summary, enum summary_table which,
	enum render_format format, uint64_t rows, FILE *to);

/* -ENOMEM. */
int summary_show(const struct summary *summary, const struct summary_options *options, FILE *to);
