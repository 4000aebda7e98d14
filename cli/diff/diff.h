/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Compares sessions with one reference session: which obstacles make them incomparable, and how
 * their steps, kernels and collectives differ (docs/commands.md has the formulas). A loaded session
 * keeps only its figures, so the peak memory is that of the largest session. Everything runs on one
 * thread.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/trace/categories.h"
#include "cli/database/query.h"
#include "cli/trace/kernels/leaders.h"
#include "cli/trace/steps/step_kinds.h"
#include "cli/trace/steps/steps.h"
#include "cli/database/session/verdict.h"

#define DIFF_FILES_MAX	  8
#define DIFF_LABEL_BYTES  256
#define DIFF_REASON_BYTES (COMPLETENESS_LINE_BYTES + 128)
/* Percent of the reference's kernel time, or of a rank's step. A kernel that takes less, and a
 * computation that grows by less, is never a regression. */
#define DIFF_KERNEL_PCT	  1.0
/* Percentage points by which the share of timed dispatches may differ. */
#define DIFF_COVERAGE_PCT 1.0
/* Percent by which the number of inferred steps, and of kernels in one, may differ. */
#define DIFF_INFERRED_PCT 10.0
/* Percent of the kernel time of each side. If the kernels of both sides take less of it, the sides
 * are different programs. */
#define DIFF_COMMON_PCT	  1.0
/* Percent of a step. The sentence leaves out a rank whose lateness changed by less. */
#define DIFF_LATE_PCT	  1.0
/* Percent by which latencies of collectives may differ and still count as unchanged. */
#define DIFF_LATENCY_PCT  5.0
/* Launches of each run that are read to find where kernels are launched: 1.5 MB. */
#define DIFF_LAUNCHES	  65536
/* Percent of a kernel's launches that must lie at the launch sites of its replacement, and the
 * other way round. */
#define DIFF_SITES_PCT	  90
/* Percent of the time of each run. If the kinds of steps that can be compared take less of it, a
 * mean of them could hide what changed, and steps are compared as each run mixes them. */
#define DIFF_KINDS_PCT	  90.0
/* Percentage points by which the share of a kind's steps may differ in mixes that are alike. */
#define DIFF_MIX_PCT	  1.0
/* Percent. The sentence names a rank whose computation grew by so much more than the median
 * rank's. */
#define DIFF_RANK_PCT	  5.0

/* The first entry is the step; the next four are its parts and add up to it. */
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

/*
 * One process on one GPU, and its identity across runs: process_nth counts the processes of its
 * rank from 0, and gpu_nth counts the GPUs of its process from 0. Processes without a rank are
 * counted together.
 */
struct diff_key {
	bool has_rank;
	int64_t rank, process_id, gpu_id;
	unsigned process_nth, gpu_nth;
};

struct diff_sum {
	size_t steps;
	double ns[DIFF_PARTS];
	double squares[DIFF_PARTS]; /* sum of squared deviations from the mean */
};

/* The sums cover the compared steps only. */
struct diff_lane {
	struct diff_key key;
	struct diff_sum all;
	size_t all_steps;	/* also those left out */
	bool lacks_copies;	/* how long its copies took is unknown */
	struct diff_sum *kinds; /* of the steps of each of diff_side.kinds */
};

/* The i-th compared step, summed over the @lanes lanes that have it. */
struct diff_step {
	size_t lanes;
	double ns[DIFF_PARTS];
};

/* One kind of steps. The sums cover the compared steps of all lanes. */
struct diff_kind {
	struct step_kind launched;
	uint64_t lane_steps;
	size_t samples; /* steps in which a lane has this kind */
	double ns[DIFF_PARTS];
	double error_squared[DIFF_PARTS]; /* of the mean; NAN for fewer than two samples */
};

struct diff_kernel_rank {
	size_t lane; /* index in diff_side.lanes */
	uint64_t timed;
	int64_t total_ns;
};

struct diff_kernel {
	char *name;
	uint64_t calls, timed;
	int64_t total_ns, p50_ns;
	struct diff_kernel_rank *ranks; /* sorted by lane */
	size_t rank_count;
};

/* One launch of the process of the first lane. */
struct diff_launch {
	int64_t queue, seq;
	uint32_t kernel; /* index in diff_side.kernels */
};

/* The collectives of one operation, datatype, size class and number of ranks. */
struct diff_group {
	char op[64];
	uint8_t datatype;
	int bucket; /* as in collectives_group */
	uint32_t ranks;
	uint64_t count, timed;
	/* means, except for the percentiles p50_ns and p95_ns */
	double latency_ns, p50_ns, p95_ns, comm_latency_ns, skew_ns, bus_gb_per_s;
};

/* The arrivals of one rank on one GPU at collectives. */
struct diff_straggler {
	struct diff_key key;
	uint64_t count, last;
	/* sums: its own lateness when it came last; its waiting for the last rank */
	double late_ns, wait_ns;
};

struct diff_side {
	char label[DIFF_LABEL_BYTES];
	char *path, *ways, *front_ends, *gpus, *rules; /* rules: the category rules in effect */
	struct verdict *verdict;
	bool is_empty, is_partial;
	uint64_t timed, recorded; /* recorded also counts the dispatches that a filter skipped */
	/* processes with kernels that do not lead their rank; no figure counts them */
	struct leader *others;
	size_t other_count;
	enum steps_source source;
	double confidence;
	size_t period;
	char *steps_line;
	struct diff_lane *lanes; /* sorted by rank (unknown ranks last), process, GPU */
	size_t lane_count;
	bool lacks_copies; /* of all lanes */
	/* lane_steps: the compared ones; all_lane_steps: also those left out */
	uint64_t lane_steps, all_lane_steps;
	struct diff_step *steps;
	size_t step_count;
	/* as those of `rtl timeline --by kind`, in its order; none: kinds are not known */
	struct diff_kind *kinds;
	size_t kind_count;
	struct diff_kernel *kernels; /* sorted by name */
	size_t kernel_count;
	int64_t kernel_ns; /* of all kernels */
	/* sorted by queue and seq: the first launches of the first lane's process */
	struct diff_launch *launches;
	size_t launch_count;
	struct diff_group *groups; /* sorted by operation, datatype, size, ranks */
	size_t group_count;
	struct diff_straggler *stragglers; /* sorted as the lanes are */
	size_t straggler_count;
	bool has_loss;
	double loss; /* mean of the values of roctxMark("loss=...") */
};

struct diff_options {
	const char *steps, *categories; /* as in timeline_options */
};

/* A NULL @label stands for the session's name. Returns 0, or a negative errno with one line in
 * @error. */
int diff_side_new(const char *name, const char *label, const struct diff_options *options,
	char error[QUERY_ERROR_BYTES], struct diff_side **ret);
void diff_side_free_p(struct diff_side **side);

/* ---- comparable.c: whether two sessions can be compared ---- */

enum diff_obstacle {
	DIFF_RANKS,
	DIFF_COVERAGE,
	DIFF_STEPS,
	DIFF_MODES,
	DIFF_LOSSES,
	DIFF_DEVICE,
	DIFF_CATEGORIES,
	DIFF_KERNELS,
	DIFF_EMPTY, /* --allow cannot lift this one */
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

/* ---- compare.c: how two sessions differ ---- */

/* The change of one figure: its means over ranks and steps, and their spread. NAN if unknown. */
struct diff_change {
	double before, after;
	/* smallest and largest ratio after / before of one rank on one GPU */
	double rank_min, rank_max;
	double error; /* two standard errors of after - before, from the spread of the steps */
};

enum diff_clarity {
	DIFF_UNKNOWN, /* there are too few steps to tell */
	DIFF_WITHIN,  /* the change is within that error */
	DIFF_CLEAR,
};

/* A kind of steps in both sessions. */
struct diff_kind_change {
	const struct diff_kind *before, *after; /* NULL: that side does not have the kind */
	struct diff_change step;
	bool has_steps; /* both sides have steps enough to judge it */
	bool is_regression;
};

struct diff_kernel_change {
	const struct diff_kernel *before, *after; /* NULL: that side does not have the kernel */
	double delta_ns;			  /* change per step on one GPU */
	double rank_min, rank_max;		  /* ratios of mean durations, as in diff_change */
	bool is_regression;
};

#define DIFF_REPLACED_MAX 4

/* Kernels that only the reference has, and the kernels that the other side launches in their
 * place. */
struct diff_replacement {
	const struct diff_kernel *before[DIFF_REPLACED_MAX], *after[DIFF_REPLACED_MAX];
	size_t before_count, after_count;
	/* how often the pair was seen in DIFF_LAUNCHES launches */
	uint64_t before_times, after_times;
	double before_ns, after_ns; /* per step on one GPU */
	char *before_names, *after_names;
	bool is_regression;
};

struct diff_group_change {
	const struct diff_group *before, *after;
};

/* One rank on one GPU, in both sessions. */
struct diff_rank_change {
	const struct diff_lane *before, *after;
	/* The change of its step, and of its computation in a step, with the error of its own
	 * steps. rank_min and rank_max are both the ratio of this rank alone. */
	struct diff_change step, computation;
	bool is_step_regression, is_computation_regression;
};

struct diff_thresholds {
	double step_pct, kernel_pct, rank_pct; /* NAN: no threshold */
};

struct diff {
	const struct diff_side *reference, *side;
	struct diff_gate gate;
	struct diff_change parts[DIFF_PARTS];
	/* The reference's kinds, then those of the side alone; none if both have one kind. */
	struct diff_kind_change *kinds;
	size_t kind_count, kind_regressions;
	/* Figures of steps are means of each kind's, weighed by the reference's steps of it. */
	bool by_kind;
	/* in the order of side->lanes; a NULL `before` means that the reference does not have the
	 * lane */
	struct diff_rank_change *ranks;
	struct diff_kernel_change *kernels; /* largest change first */
	size_t kernel_count;
	struct diff_replacement *replacements; /* largest change first */
	size_t replacement_count;
	struct diff_group_change *groups;
	size_t group_count;
	bool is_step_regression;
	size_t kernel_regressions, rank_regressions;
	/* the regression with the largest ratio; NULL if there is none */
	const struct diff_rank_change *slowest;
	char reading[1536];
};

/* Borrows both sides. Returns 0 or -ENOMEM. */
int diff_new(const struct diff_side *reference, const struct diff_side *side,
	const struct diff_thresholds *thresholds, struct diff **ret);
void diff_free_p(struct diff **diff);

/* replaced.c: pairs kernels by their launch sites. */
void diff_replace(struct diff *diff);
void diff_replacements_done(struct diff *diff);
/* Returns the replacement that contains @kernel, or NULL if none does. */
const struct diff_replacement *diff_find_replacement(
	const struct diff *diff, const struct diff_kernel *kernel);
/* Converts a kernel's time in the whole run to its time per step on one GPU. */
double diff_of_step(const struct diff_side *side, int64_t total_ns);

/* kinds.c: pairs kinds of steps by what they launch, and weighs them. */
/* Sums the kinds over the lanes. @steps has @most steps of each kind, as diff_side.steps. */
void diff_sum_kinds(struct diff_side *side, const struct diff_step *steps, size_t most);
/* Returns the squared standard error of the mean; the samples are the steps that a lane has. NAN
 * for fewer than two. */
double diff_error_squared(const struct diff_step *steps, size_t count, enum diff_part part);
void diff_pair_kinds(struct diff *diff);
/* Returns the change of one kind, which both sides have. */
struct diff_change diff_kind_part(const struct diff_kind_change *kind, enum diff_part part);
/* Makes those of the values NAN that are not known, and with them the error. */
void diff_leave_out(struct diff_change *change, bool is_before, bool is_after);
/* Returns the change of the means, each kind weighed by the reference's steps of it. */
struct diff_change diff_weigh(const struct diff *diff, enum diff_part part);
/* Does so for one lane. Returns false if the kinds that can be compared take less than
 * DIFF_KINDS_PCT of its time. */
bool diff_weigh_lane(const struct diff *diff, const struct diff_lane *before,
	const struct diff_lane *after, enum diff_part part, struct diff_change *ret);
/* Returns true if the kinds that both have are not equally frequent, or one has kinds of its own.
 */
bool diff_has_other_mix(const struct diff *diff);
/* Writes "kind B (prefill)", with the letter of the reference if that has the kind. */
void diff_name_kind(
	const struct diff *diff, const struct diff_kind_change *kind, char *ret, size_t bytes);
/* Returns its part of the time of the compared steps of @side. */
double diff_kind_share_pct(const struct diff_side *side, const struct diff_kind *kind);

/* Returns the change of one lane, which both sides have. */
struct diff_change diff_lane_change(const struct diff *diff, const struct diff_lane *before,
	const struct diff_lane *after, enum diff_part part);
/* Returns true if the comparison exceeds a threshold. */
bool diff_is_regression(const struct diff *diff);
/* Returns true if a rank over its threshold is so at least as much by its step as by its
 * computation. */
bool diff_slower_is_step(const struct diff_rank_change *rank);
enum diff_clarity diff_clarity(const struct diff_change *change);
/* Returns NAN if the ratio is undefined. */
double diff_ratio(double before, double after);
/* Writes "rank 3", "GPU 2 of rank 3", or "process 7" if the process has no rank. */
void diff_name_lane(
	const struct diff_side *side, const struct diff_key *key, char *ret, size_t bytes);
/* reading.c: puts the comparison into one sentence. */
void diff_read(struct diff *diff);
/* Sets process_nth and gpu_nth from @before, the predecessor in the order; NULL: there is none. */
void diff_number(const struct diff_key *before, struct diff_key *key);
int diff_key_order(const struct diff_key *a, const struct diff_key *b);
/* Both return NULL if there is no match. */
const struct diff_lane *diff_find_lane(const struct diff_side *side, const struct diff_key *key);
const struct diff_straggler *diff_find_straggler(
	const struct diff_side *side, const struct diff_key *key);
/* Returns the mean over the lane's compared steps, or NAN if it has none or it is unknown. */
double diff_lane_mean(const struct diff_lane *lane, enum diff_part part);
/* Returns the mean over all lanes and their compared steps, or NAN if there are none or it is
 * unknown. */
double diff_side_mean(const struct diff_side *side, enum diff_part part);
int diff_group_order(const struct diff_group *a, const struct diff_group *b);
const char *diff_part_name(enum diff_part part);  /* for JSON and CSV */
const char *diff_part_words(enum diff_part part); /* for text */

/* ---- show.c, json.c ---- */

enum diff_table {
	DIFF_TIMELINE_TABLE,
	DIFF_KIND_TABLE,
	DIFF_RANK_TABLE,
	DIFF_KERNEL_TABLE,
	DIFF_REPLACEMENT_TABLE,
	DIFF_COLLECTIVE_TABLE,
	DIFF_STRAGGLER_TABLE,
	DIFF_TABLES,
};

/* Everything that is shown of the comparisons. */
struct diff_view {
	struct diff_side *const *sides;
	size_t side_count, reference;
	/* one per side except the reference, in the order of the sides */
	struct diff *const *diffs;
	size_t diff_count;
	bool is_refused; /* the sides are not compared; diffs[i]->gate holds the reasons */
	struct diff_thresholds thresholds;
	uint64_t rows; /* kernels to list; 0: all */
	size_t width;
};

void diff_show(const struct diff_view *view, FILE *to);
void diff_show_csv(const struct diff_view *view, enum diff_table table, FILE *to);
void diff_show_json(const struct diff_view *view, FILE *to);

/* tables.c: the rows of the tables for text, CSV and JSON. */
struct render_column;
struct render_value;
struct diff_columns {
	const char *name, *title;
	const struct render_column *columns;
	size_t count;
	size_t (*rows)(const struct diff *diff);
	/* The texts stay valid until the next call. */
	void (*row)(const struct diff *diff, size_t at, struct render_value *ret);
};
extern const struct diff_columns diff_tables[DIFF_TABLES];
#define DIFF_COLUMNS_MAX 24

/*
 * Returns "ranks: 4 ranks ...; losses: ..." for the obstacles that are not @allowed (NULL: for
 * all). The caller frees the text.
 */
char *diff_refusals(const struct diff *diff, const bool allowed[DIFF_OBSTACLES]);
