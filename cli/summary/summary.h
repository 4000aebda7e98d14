/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The contents of rtl summary: gathered from one database, then written as tables, one JSON
 * document or one CSV table. rtl run uses it for its final report. Everything runs on one thread.
 */
#include <stdio.h>

#include "cli/database/session/exit_text.h"
#include "cli/trace/kernels/kernel_totals.h"
#include "cli/trace/trace.h"
#include "cli/reason/reason.h"
#include "cli/summary/choice.h"
#include "cli/summary/cost.h"
#include "cli/summary/groups.h"
#include "cli/output/table.h"
#include "cli/database/session/verdict.h"

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
	SUMMARY_GROUP_TABLE = SUMMARY_TABLES, /* of summary.groups, outside summary_tables */
};

struct summary_options {
	enum render_format format;
	enum summary_table csv_table;
	uint64_t kernels;	/* kernels in the table; 0: all */
	uint64_t group_kernels; /* kernels of each group; 0: all */
	size_t width;		/* width of the terminal in columns */
};

/* One process on one GPU, or a process that used no GPU. */
struct summary_rank {
	int64_t process_id, pid;
	bool has_rank, has_gpu, has_measure;
	int64_t rank, gpu_id, world_size; /* world_size: 0 if unknown */
	char *exe;
	char state[ENDED_BYTES];
	const char *note; /* why the process recorded nothing, else NULL */
	/* name of the replica that the rank belongs to, else "" */
	char replica[REPLICA_NAME_BYTES];
	uint64_t dispatched, stored, untimed, outstanding, dropped, skipped;
	struct measure_lane lane;
};

struct summary_loss {
	int64_t process_id, rank, count;
	bool has_rank, has_count;
	char *reason;
};

/* The copies of one direction. */
struct summary_copies {
	char direction[16];
	uint64_t calls, bytes;
	uint64_t timed, timed_bytes; /* the calls that have times, and their bytes */
	int64_t total_ns, min_ns, max_ns;
};

/* The values of one name that one process reported with roctxMark("name=value"). */
struct summary_metric {
	int64_t process_id, rank;
	bool has_rank;
	char *name;
	uint64_t count;
	double last, least, most;
};

struct summary_collective {
	char op[64], datatype[32];
	uint64_t ranks; /* size of the communicator; 0: unknown */
	uint64_t calls, bytes, communicators, processes;
};

struct summary {
	struct measure *measure;
	struct verdict *verdict;
	struct reason *reason;		   /* NULL: not requested, or unknown, see no_reason */
	char no_reason[QUERY_ERROR_BYTES]; /* "unknown (...)"; empty if not requested or known */
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
	struct cost cost;		   /* the cost of recording */
	struct summary_groups *groups;	   /* the groups of summary_wishes.by; NULL: none */
	struct summary_groups *categories; /* NULL: not requested */
	/* dispatches without a host call, if host calls were recorded */
	int64_t unlinked;
	char *name, *command, *host; /* of the first session */
	size_t sessions;
	int64_t start_realtime_ns, wall_ns; /* wall_ns: duration of the session; -1: unknown */
	/* a collector still writes the file; if not, open entries are never closed */
	bool is_in_use;
	/* only some of the kernels are counted: summary_wishes.choice */
	bool is_chosen;
};

/* The optional parts, which cost time. */
struct summary_wishes {
	struct measure_options measure;
	enum summary_by by;
	bool categories, reason;
	struct summary_choice choice;
};

/* Returns 0 or -errno. @error has the reason; if it is empty, query_error() has it, or it is
 * -ENOMEM. */
int summary_new(
	const struct trace *trace, const struct summary_wishes *wishes, struct summary **ret);
/* summary_calls.c: the part of summary_new() that loads host calls and collectives. */
int summary_load_calls(const struct trace *trace, struct summary *s);
void summary_free_p(struct summary **summary);

size_t summary_table_rows(const struct summary *summary, enum summary_table which);
/* Writes the first @rows rows (0: all) of one table without a title. */
void summary_put_table(const struct summary *summary, enum summary_table which,
	enum render_format format, uint64_t rows, FILE *to);

void summary_show(const struct summary *summary, const struct summary_options *options, FILE *to);
