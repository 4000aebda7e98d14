/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A page that answers why a job is slow: the results of rtl summary, timeline and collectives for
 * one or several sessions, as one HTML document without other files (docs/commands.md). Reading and
 * writing are separate, so that the first text can use what was read last. One thread.
 */
#include <stdio.h>

#include "cli/collectives/show.h"
#include "cli/report/bins.h"
#include "cli/report/detail.h"
#include "cli/summary/summary.h"
#include "cli/timeline/timeline.h"

/* Each gets a share of the page's bins, kernels and points. */
#define REPORT_FILES_MAX   8
/* Rows of a table; the verbs print more. */
#define REPORT_ROWS_MAX	   1000
#define REPORT_STEPS_MAX   50
/* Points of step charts for all lanes; cells of heat maps; and columns of one. */
#define REPORT_POINTS_MAX  16384
#define REPORT_CELLS_MAX   65536
#define REPORT_COLUMNS_MAX 1024

struct report_options {
	const char *steps, *categories; /* as in timeline_options */
	size_t files;			/* number of files that share the page */
};

/* All data of one session. */
struct report_file {
	char *label;
	size_t share; /* its part of the page is 1 / share */
	struct query *query;
	struct trace *trace;
	struct summary *summary;
	struct timeline_options timeline_options;
	struct report_bins bins;
	struct timeline *timeline;
	struct collectives *collectives;
	struct collectives_report *stragglers;
	struct report_detail detail;
	char *reading;
};

/* With @label NULL the session's name is used. Returns 0, or -errno with one line in @error. */
int report_file_new(const char *name, const char *label, const struct report_options *options,
	char error[QUERY_ERROR_BYTES], struct report_file **ret);
void report_file_free_p(struct report_file **file);

/*
 * The figures that are compared, which are all that is kept of a session after its part of the page
 * was written.
 */
#define REPORT_TOP_KERNELS 20

struct report_kernel {
	char *name;
	uint64_t calls;
	int64_t total_ns;
};

struct report_figures {
	char *label, *line, *reason, *straggler; /* straggler is NULL if there is none */
	bool is_complete, is_simulated;
	bool is_unknown; /* another tool recorded it */
	bool has_steps;	 /* otherwise the run of each lane counts as one step */
	uint64_t ranks, kernels, collectives;
	/* steps: of the rank that has most; lane_steps: sum over all lanes. */
	uint64_t steps, lane_steps;
	int64_t kernel_ns, skew_ns; /* of collectives; skew_ns is the mean */
	struct breakdown_row total;
	bool lacks_copies; /* how long they took is unknown */
	struct report_kernel kernels_by_time[REPORT_TOP_KERNELS];
	size_t kernel_count;
};

/* One session's part of the page, and its figures. */
struct report_part {
	char *html;
	size_t bytes;
	struct report_figures figures;
};

/* Reads, writes, and frees everything except the part. Errors are those of report_file_new(). */
int report_part_make(const char *name, const char *label, const struct report_options *options,
	size_t at, char error[QUERY_ERROR_BYTES], struct report_part *ret);
void report_part_done(struct report_part *part);

/* Writes the whole page. */
void report_put(const struct report_part *parts, size_t count, FILE *to);

/* The pieces of a page, each in its own file; @at is the index of the session. */
void report_put_head(const struct report_part *parts, size_t count, FILE *to);
void report_put_scripts(FILE *to);
void report_put_comparison(const struct report_part *parts, size_t count, FILE *to);
void report_put_verdict(const struct report_file *file, FILE *to);
void report_put_breakdown(const struct report_file *file, size_t at, FILE *to);
void report_put_stragglers(const struct report_file *file, size_t at, FILE *to);
void report_put_tables(const struct report_file *file, size_t at, FILE *to);
/* Write the data of the page's charts as JSON. */
void report_put_data(const struct report_file *file, size_t at, FILE *to);
void report_put_heat_data(const struct report_file *file, FILE *to);

/* Writes "rank 3, GPU 3". */
#define REPORT_LANE_BYTES (REPLICA_NAME_BYTES + 32u)
void report_name_lane(const struct timeline_lane *lane, char ret[REPORT_LANE_BYTES]);
