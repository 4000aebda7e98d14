/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Says in one sentence with its numbers why a job is slow: the first rule of rule_table.h that
 * applies to the time line and the collectives (docs/commands.md). At most REASON_SAMPLE dispatches
 * are read, so that it is quick for files of any size. Everything runs on one thread.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/trace/breakdown.h"
#include "cli/trace/categories.h"
#include "cli/trace/trace.h"
#include "cli/collectives/straggler.h"
#include "cli/database/query.h"
#include "cli/reason/rule_table.h"
#include "cli/database/session/verdict.h"

#define REASON_TEXT_BYTES 384
#define REASON_HINT_BYTES 256
/* No kernel of a job that makes progress takes so long: its dispatch hangs. */
#define REASON_HANG_NS	  (REASON_HANG_S * 1000000000ll)

/* The kernels of one category. */
struct reason_sum {
	uint64_t calls;
	double ns;
};

/* One process on one GPU. */
struct reason_lane {
	int64_t process_id, gpu_id, rank;
	bool has_rank;
	struct replica_rank replica;
	struct breakdown_row total; /* from its first step to its last */
	struct reason_sum *kinds;   /* one per kind of the figures */
};

struct reason_kind {
	char name[CATEGORY_NAME_BYTES];
	enum category_class class;
};

#define REASON_NAMED_MAX 8

/* Steps of one kind (cli/trace/steps/step_kinds.h), over all ranks that communicators connect. */
struct reason_steps {
	char name[64]; /* "": the kind has only its letter */
	uint64_t steps;
	double share_pct; /* share of the time of all steps of all ranks */
	/* Share of the time of the straggler's windows. A rank that launches other kernels has
	 * steps of another kind only. */
	double window_pct;
	double median_ns;
	double cost_pct; /* cost of the straggler as a share of its steps of this kind */
	double gain_pct; /* share of this kind in the whole cost of the straggler */
};

struct reason_place {
	int64_t process_id, gpu_id;
};

/* The ranks that the others wait for (cli/collectives/straggler.h). */
struct reason_straggler {
	bool is_found, is_in_turn, is_at_most, is_about;
	size_t count; /* at most REASON_NAMED_MAX of them are named */
	struct reason_place at[REASON_NAMED_MAX], reference;
	/* where they cost most */
	struct straggler_span *spans;
	size_t span_count;
	double cost_pct, gain_ns; /* cost_pct: of the sampled time */
	uint64_t windows;	  /* steps, or times between collectives, in which they cost time */
	enum straggler_cause cause, causes[REASON_NAMED_MAX]; /* causes: of each by itself */
	/* sums of what they take more than the reference */
	double part_ns[STRAGGLER_CAUSES], waiting_ns;
	/* ratio to the reference's computation; 0: it does not compute */
	double compute_ratio;
	bool has_comm; /* its transfers are slow in one communicator */
	int64_t comm;
	double comm_ratio; /* ratio to the median of the other communicators */
	/* Valid if computation is the cause. A pace of 0 means that there is nothing to compare. */
	double pace, pace_kernel_ratio;
	bool is_pace_slow;
	uint64_t pace_names;
	char pace_kernel[64];
};

/* Steps, or times between collectives of all ranks, that are much longer than the rest. */
struct reason_event {
	/* has_place: the others wait for one rank, or there is one GPU */
	bool is_found, has_place, is_step;
	/* GPUs are in collectives in the first window, before which ranks initialise and compile */
	bool is_first_meeting;
	uint64_t count;
	int64_t number; /* number of the longest step */
	double longest_ns, median_ns, cost_pct;
	struct reason_place place;
	enum straggler_cause cause;
};

/* Shares of the time of all ranks that communicators connect. */
struct reason_waiting {
	bool is_known;
	double wait_pct, pair_wait_pct, transfer_pct;
	double launch_wait_pct; /* part of wait_pct: short waits for ranks whose queues are empty */
	bool has_change;	/* steps take longer from one step on */
	bool is_change_of_all;	/* and all ranks that communicate are connected */
	int64_t change_number;
	double change_ratio;
	uint64_t impossible;
	bool has_busiest; /* the rank that computes most, compared with the median of all */
	struct reason_place busiest;
	double busiest_ratio;
	bool has_slow_link; /* sends between two ranks take longer than between others */
	struct reason_place link[2];
	double link_ratio;
};

struct reason_copies {
	char direction[16]; /* the direction that takes most time */
	double bytes, ns;   /* of the copies that have times */
};

/* A rank that has an endless dispatch in flight, that is missing where others wait, or that died of
 * a fault (cli/outstanding). */
struct reason_hang {
	bool is_hang, is_fault, has_process;
	int64_t process_id;
	char text[REASON_TEXT_BYTES];
};

/* The input of the rules. */
struct reason_figures {
	uint64_t dispatched, rows, sample; /* rows: in the file; sample: those that were read */
	uint64_t timed;			   /* rows of the sample that have times */
	uint64_t missing;		   /* dropped, torn or outstanding */
	uint64_t untimed_copies;
	bool is_live, is_simulated, has_steps; /* has_steps: from markers */
	bool has_calls; /* the mode records host calls */
	bool has_edges; /* of each process that leads it was recorded what waits for what */
	struct reason_kind *kinds;
	size_t kind_count;
	struct reason_lane *lanes; /* lanes with any time, sorted by process and GPU */
	size_t lane_count;
	struct breakdown_row total;
	struct reason_straggler straggler;
	struct reason_event event;
	struct reason_waiting waiting;
	struct reason_steps steps[STEP_KINDS_MAX]; /* longest total time first */
	size_t step_kinds;			   /* with fewer than two, all steps are alike */
	struct reason_hang hang;
	uint64_t filtered; /* dispatches that the user left out, other than by time */
	struct reason_copies copies;
};

struct reason {
	enum reason_code code;
	char text[REASON_TEXT_BYTES];	/* without a full stop */
	char hint[REASON_HINT_BYTES];	/* what gives more detail; empty: nothing */
	const struct reason_lane *lane; /* the lane that the reason is about; NULL: all */
	struct reason_figures figures;
};

/*
 * @categories is a file as in categories_new(), and so are the errors. @verdict belongs to the same
 * query. The query must have no open rows.
 */
int reason_new(const struct trace *trace, const struct verdict *verdict,
	char error[QUERY_ERROR_BYTES], struct reason **ret);
void reason_free_p(struct reason **reason);

/* Returns "reason: ...", the last line of rtl run and rtl summary, escaped for a terminal. The
 * caller frees it. NULL if out of memory. */
char *reason_line(const struct reason *reason);
/* Returns true if no copy in @row has a time although some copies lack one, so that the time of
 * copies is unknown. */
bool reason_lacks_copies(const struct reason_figures *f, const struct breakdown_row *row);
/* Returns the object of --json, or NULL if out of memory. */
json_t *reason_json(const struct reason *reason);
const char *reason_code_name(enum reason_code code);

/* rules.c: sets all members except the figures. Pure computation. */
void reason_judge(struct reason *reason);

/* load.c */
int reason_load(const struct trace *trace, const struct verdict *verdict,
	char error[QUERY_ERROR_BYTES], struct reason_figures *ret);
void reason_figures_done(struct reason_figures *figures);
