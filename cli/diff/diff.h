/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Sessions against one of them: what they have in common that makes them comparable, and by what
 * their steps, kernels and collectives differ (docs/commands.md has the formulas). Of a session
 * only its figures are kept, so that the memory is that of the largest one. One thread.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/trace/categories.h"
#include "cli/database/query.h"
#include "cli/trace/leaders.h"
#include "cli/trace/steps.h"
#include "cli/database/verdict.h"

#define DIFF_FILES_MAX	  8
#define DIFF_LABEL_BYTES  256
#define DIFF_REASON_BYTES (COMPLETENESS_LINE_BYTES + 128)
/* Of the reference's time of kernels: less of it is no regression of a kernel. */
#define DIFF_KERNEL_PCT	  1.0
/* Points of per cent by which the dispatches that have times may differ. */
#define DIFF_COVERAGE_PCT 1.0
/* Inferred steps: their count, and the kernels of one, may differ by so many per cent. */
#define DIFF_INFERRED_PCT 10.0
/* Of the time of kernels of either: with less in kernels of both they are other programs. */
#define DIFF_COMMON_PCT	  1.0
/* Of a step: a rank that comes later by less is not told in the sentence. */
#define DIFF_LATE_PCT	  1.0
/* Latencies of collectives that differ by less are told as unchanged. */
#define DIFF_LATENCY_PCT  5.0
/* Launches of each run that are looked at for where kernels are launched: 1.5 MB. */
#define DIFF_LAUNCHES	  65536
/* Of a kernel's launches so many per cent lie where another one's do, and the other way round. */
#define DIFF_SITES_PCT	  90
/* A rank is told in the sentence that changed by so much more than the one in the middle. */
#define DIFF_RANK_PCT	  5.0

/* The first five are the step and its parts, which add up to it. */
enum diff_part {
	DIFF_STEP,
	DIFF_COMPUTATION,
	DIFF_EXPOSED_COMMUNICATION,
	DIFF_EXPOSED_COPIES,
	DIFF_IDLE,
	DIFF_COMMUNICATION,
	DIFF_HIDDEN_COMMUNICATION,
	DIFF_HIDDEN_ALLREDUCE,
	DIFF_HIDDEN_REDUCESCATTER,
	DIFF_PARTS,
};

/* One process on one GPU, and who it is in another run: the how-many-th GPU of the how-many-th
 * process of its rank, from 0. Without a rank, of those processes. */
struct diff_who {
	bool has_rank;
	int64_t rank, process_id, gpu_id;
	unsigned process_nth, gpu_nth;
};

/* Sums are of the steps compared. */
struct diff_lane {
	struct diff_who who;
	size_t steps, all_steps; /* compared; with those left out */
	double ns[DIFF_PARTS];
	double squares[DIFF_PARTS]; /* of their deviations from their mean */
};

/* The i-th step compared, summed over the @lanes that have it. */
struct diff_step {
	size_t lanes;
	double ns[DIFF_PARTS];
};

struct diff_kernel_rank {
	size_t lane; /* diff_side.lanes */
	uint64_t timed;
	int64_t total_ns;
};

struct diff_kernel {
	char *name;
	uint64_t calls, timed;
	int64_t total_ns, p50_ns;
	struct diff_kernel_rank *ranks; /* by lane */
	size_t rank_count;
};

/* Of one process: what it launches, in order. */
struct diff_launch {
	int64_t queue, seq;
	uint32_t kernel; /* of diff_side.kernels */
};

/* Collectives of one operation, datatype, size and number of ranks. */
struct diff_group {
	char op[64];
	uint8_t datatype;
	int bucket; /* as collectives_group */
	uint32_t ranks;
	uint64_t count, timed;
	double latency_ns, p50_ns, p95_ns, comm_latency_ns, skew_ns, bus_gb_per_s; /* means */
};

/* A rank in collectives. */
struct diff_straggler {
	struct diff_who who;
	uint64_t count, last;
	double late_ns, wait_ns; /* in sum: as the last one; for the last one */
};

struct diff_side {
	char label[DIFF_LABEL_BYTES];
	char *path, *ways, *front_ends, *gpus, *rules; /* rules: those of categories in effect */
	struct verdict *verdict;
	bool is_empty, is_partial;
	uint64_t timed, recorded; /* recorded: those that a filter left out, too */
	struct leader
		*others; /* processes with kernels that do not lead their rank: in no figure */
	size_t other_count;
	enum steps_source source;
	double confidence;
	size_t period;
	char *steps_line;
	struct diff_lane *lanes; /* by rank (unknown last), process, GPU */
	size_t lane_count;
	uint64_t lane_steps, all_lane_steps; /* compared; with those left out */
	struct diff_step *steps;
	size_t step_count;
	struct diff_kernel *kernels; /* by name */
	size_t kernel_count;
	int64_t kernel_ns;	   /* of all */
	struct diff_launch *launches; /* by queue, seq: the first of the first lane's process */
	size_t launch_count;
	struct diff_group *groups; /* by operation, datatype, size, ranks */
	size_t group_count;
	struct diff_straggler *stragglers; /* likewise */
	size_t straggler_count;
	bool has_loss;
	double loss; /* mean of roctxMark("loss=...") */
};

struct diff_options {
	const char *steps, *categories; /* as timeline_options */
};

/* @label: NULL: the session's name. 0; else a negative errno with one line in @error. */
int diff_side_new(const char *name, const char *label, const struct diff_options *options,
	char error[QUERY_ERROR_BYTES], struct diff_side **ret);
void diff_side_free_p(struct diff_side **side);

/* ---- comparable.c: may they be compared? ---- */

enum diff_obstacle {
	DIFF_RANKS,
	DIFF_COVERAGE,
	DIFF_STEPS,
	DIFF_MODES,
	DIFF_LOSSES,
	DIFF_DEVICE,
	DIFF_CATEGORIES,
	DIFF_KERNELS,
	DIFF_EMPTY, /* never allowed */
	DIFF_OBSTACLES,
};

struct diff_refusal {
	enum diff_obstacle what;
	char why[DIFF_REASON_BYTES];
};

struct diff_gate {
	struct diff_refusal at[DIFF_OBSTACLES];
	size_t count;
};

void diff_check(
	const struct diff_side *reference, const struct diff_side *side, struct diff_gate *ret);
const char *diff_obstacle_name(enum diff_obstacle what);

/* ---- compare.c: by what do they differ? ---- */

/* Of a figure: means over ranks and steps, and their spread. Unknown is NAN. */
struct diff_change {
	double before, after;
	double rank_min, rank_max; /* after / before, of one rank on one GPU */
	double error; /* of after - before, from the spread of steps: 2 standard errors */
};

enum diff_clarity {
	DIFF_UNKNOWN, /* there are not steps enough */
	DIFF_WITHIN,  /* no more than steps differ among themselves */
	DIFF_CLEAR,
};

struct diff_kernel_change {
	const struct diff_kernel *before, *after; /* NULL: it has none */
	double delta_ns;			  /* of a step, on one GPU */
	double rank_min, rank_max;		  /* of mean durations, as diff_change */
	bool is_regression;
};

#define DIFF_REPLACED_MAX 4

/* Kernels that only the reference has, and those that are launched in their place. */
struct diff_replacement {
	const struct diff_kernel *before[DIFF_REPLACED_MAX], *after[DIFF_REPLACED_MAX];
	size_t before_count, after_count;
	uint64_t before_times, after_times; /* that it was seen, of DIFF_LAUNCHES */
	double before_ns, after_ns;	    /* of a step, on one GPU */
	char *before_names, *after_names;
	bool is_regression;
};

struct diff_group_change {
	const struct diff_group *before, *after;
};

/* One rank on one GPU in both. */
struct diff_rank_change {
	const struct diff_lane *before, *after;
	/* Of its step, and of what it computes in one: with the error of its own steps. The ratios
	 * of rank_min and rank_max are those of this rank alone. */
	struct diff_change step, computation;
	bool is_step_regression, is_computation_regression;
};

struct diff_thresholds {
	double step_pct, kernel_pct, rank_pct; /* NAN: none */
};

struct diff {
	const struct diff_side *reference, *side;
	struct diff_gate gate;
	struct diff_change parts[DIFF_PARTS];
	struct diff_rank_change *ranks;	    /* as side->lanes; before: NULL: it has none */
	struct diff_kernel_change *kernels; /* greatest change first */
	size_t kernel_count;
	struct diff_replacement *replacements; /* greatest change first */
	size_t replacement_count;
	struct diff_group_change *groups;
	size_t group_count;
	bool is_step_regression;
	size_t kernel_regressions, rank_regressions;
	const struct diff_rank_change *slowest; /* of the regressions, by its ratio; NULL: none */
	char reading[1024];
};

/* -ENOMEM. Borrows both. */
int diff_new(const struct diff_side *reference, const struct diff_side *side,
	const struct diff_thresholds *thresholds, struct diff **ret);
void diff_free_p(struct diff **diff);

/* replaced.c: pairs kernels by where they are launched. -ENOMEM. */
int diff_replace(struct diff *diff);
void diff_replacements_done(struct diff *diff);
/* Of which @kernel is a part; NULL: of none. */
const struct diff_replacement *diff_find_replacement(
	const struct diff *diff, const struct diff_kernel *kernel);
/* Of one run's time of a kernel: that of a step, on one GPU. */
double diff_of_step(const struct diff_side *side, int64_t total_ns);

/* Is a threshold passed? */
bool diff_is_regression(const struct diff *diff);
/* Of a rank over its threshold: is it so more by its step than by what it computes? */
bool diff_slower_is_step(const struct diff_rank_change *rank);
enum diff_clarity diff_clarity(const struct diff_change *change);
/* NAN where it cannot be told. */
double diff_ratio(double before, double after);
/* "rank 3", "GPU 2 of rank 3", "process 7" where it has no rank. */
void diff_name_lane(
	const struct diff_side *side, const struct diff_who *who, char *ret, size_t bytes);
/* reading.c: the comparison in one sentence. */
void diff_read(struct diff *diff);
/* Sets process_nth and gpu_nth by whoever is @before it in order; NULL: it is the first. */
void diff_number(const struct diff_who *before, struct diff_who *who);
int diff_who_order(const struct diff_who *a, const struct diff_who *b);
/* NULL: there is none. */
const struct diff_lane *diff_find_lane(const struct diff_side *side, const struct diff_who *who);
const struct diff_straggler *diff_find_straggler(
	const struct diff_side *side, const struct diff_who *who);
/* Mean of a step of the lane; NAN: it has none. */
double diff_lane_mean(const struct diff_lane *lane, enum diff_part part);
/* Of all lanes and steps. */
double diff_side_mean(const struct diff_side *side, enum diff_part part);
int diff_group_order(const struct diff_group *a, const struct diff_group *b);
const char *diff_part_name(enum diff_part part);  /* of JSON and CSV */
const char *diff_part_words(enum diff_part part); /* for people */

/* ---- show.c, json.c ---- */

enum diff_table {
	DIFF_TIMELINE_TABLE,
	DIFF_RANK_TABLE,
	DIFF_KERNEL_TABLE,
	DIFF_REPLACEMENT_TABLE,
	DIFF_COLLECTIVE_TABLE,
	DIFF_STRAGGLER_TABLE,
	DIFF_TABLES,
};

/* All that is shown of a comparison. */
struct diff_view {
	struct diff_side *const *sides;
	size_t side_count, reference;
	struct diff *const *diffs; /* of all sides but the reference, in their order */
	size_t diff_count;
	bool is_refused; /* they are not compared: diffs[i]->gate says why */
	struct diff_thresholds thresholds;
	uint64_t rows; /* of kernels; 0: all */
	size_t width;
};

/* -ENOMEM, all of them. */
int diff_show(const struct diff_view *view, FILE *to);
int diff_show_csv(const struct diff_view *view, enum diff_table table, FILE *to);
int diff_show_json(const struct diff_view *view, FILE *to);

/* Rows of tables, for all three. tables.c */
struct render_column;
struct render_value;
struct diff_columns {
	const char *name, *title;
	const struct render_column *columns;
	size_t count;
	size_t (*rows)(const struct diff *diff);
	/* The texts live until the next row. */
	void (*row)(const struct diff *diff, size_t at, struct render_value *ret);
};
extern const struct diff_columns diff_tables[DIFF_TABLES];
#define DIFF_COLUMNS_MAX 24

/* "ranks: 4 ranks ...; losses: ...", of what is not allowed (NULL: of all). malloc'ed. */
char *diff_refusals(const struct diff *diff, const bool allowed[DIFF_OBSTACLES]);
