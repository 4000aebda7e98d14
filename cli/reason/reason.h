/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Why a job is slow, in one sentence with its numbers: the first rule of rule_table.h that
 * applies to what the time line and the collectives say (docs/commands.md). At most REASON_SAMPLE
 * dispatches are looked at, so that it is quick whatever the size of the file. One thread.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/trace/breakdown.h"
#include "cli/trace/categories.h"
#include "cli/trace/replicas.h"
#include "cli/collectives/straggler.h"
#include "cli/database/query.h"
#include "cli/reason/rule_table.h"
#include "cli/database/verdict.h"

#define REASON_TEXT_BYTES 384
#define REASON_HINT_BYTES 256

/* Kernels of one category. */
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
	struct reason_sum *kinds;   /* one a kind of the figures */
};

struct reason_kind {
	char name[CATEGORY_NAME_BYTES];
	enum category_class class;
};

#define REASON_NAMED_MAX 8

/* Steps of one kind (cli/trace/step_kinds.h), of all ranks that communicators connect. */
struct reason_steps {
	char name[64]; /* "": it has none but its letter */
	uint64_t steps;
	double share_pct;  /* of the time of all steps, of all ranks */
	double window_pct; /* of the time of the straggler's windows: a rank that launches other
			    * kernels has steps of another kind, but no others */
	double median_ns;
	double cost_pct; /* what the straggler costs, of the time of its steps of this kind */
	double gain_pct; /* ... and of what it costs in all */
};

struct reason_place {
	int64_t process_id, gpu_id;
};

/* The ranks that the others wait for (cli/collectives/straggler.h). */
struct reason_straggler {
	bool is_found, is_in_turn, is_at_most, is_about;
	size_t count; /* of which REASON_NAMED_MAX are named */
	struct reason_place at[REASON_NAMED_MAX], reference;
	int64_t from_ns, to_ns; /* when */
	double cost_pct, gain_ns; /* of the time that is looked at */
	uint64_t windows;	  /* steps, or times between collectives, in which it costs something */
	enum straggler_cause cause;
	double part_ns[STRAGGLER_CAUSES], waiting_ns; /* more than the reference, in sum */
	double compute_ratio;			      /* to the reference's; 0: it computes nothing */
	bool has_comm; /* its transfers are slow in one communicator */
	int64_t comm;
	double comm_ratio; /* to the median of the others for the same */
	/* Where its computation is the cause; pace 0: there is nothing to compare. */
	double pace, pace_kernel_ratio;
	bool is_pace_slow;
	uint64_t pace_names;
	char pace_kernel[64];
};

/* Steps, or times between collectives of all ranks, that are much longer than the others. */
struct reason_event {
	bool is_found, has_place, is_step; /* has_place: one rank is waited for */
	uint64_t count;
	int64_t number; /* of the longest step */
	double longest_ns, median_ns, cost_pct;
	struct reason_place place;
	enum straggler_cause cause;
};

/* Of the time of all ranks that communicators connect. */
struct reason_waiting {
	bool is_known;
	double wait_pct, pair_wait_pct, transfer_pct;
	double launch_wait_pct; /* of wait_pct: for ranks whose queues are empty, for short times */
	bool has_change; /* steps take longer from one on */
	int64_t change_number;
	double change_ratio;
	uint64_t impossible;
	bool has_busiest; /* the rank that computes most, beside the median of all */
	struct reason_place busiest;
	double busiest_ratio;
};

struct reason_copies {
	char direction[16]; /* in which most time goes */
	double bytes, ns;   /* of those that have times */
};

/* A rank in which something is in flight that does not end, that is not in what others wait for, or
 * that died of a fault (cli/outstanding). */
struct reason_hang {
	bool is_hang, is_fault, has_process;
	int64_t process_id;
	char text[REASON_TEXT_BYTES];
};

/* What the rules are applied to. */
struct reason_figures {
	uint64_t dispatched, rows, sample; /* rows: in the file; sample: of them, looked at */
	uint64_t timed;			   /* of the sample */
	uint64_t missing;		   /* dropped, torn, outstanding */
	uint64_t untimed_copies;
	bool is_live, is_simulated, has_steps, has_calls; /* steps: from markers */
	struct reason_kind *kinds;
	size_t kind_count;
	struct reason_lane *lanes; /* by process, GPU; those that did something */
	size_t lane_count;
	struct breakdown_row total;
	struct reason_straggler straggler;
	struct reason_event event;
	struct reason_waiting waiting;
	struct reason_steps steps[STEP_KINDS_MAX]; /* by their time, the longest first */
	size_t step_kinds;			   /* fewer than two: all are alike */
	struct reason_hang hang;
	uint64_t filtered; /* dispatches that were not recorded, as was asked */
	bool is_selected_by_time; /* ... in times that are known: they are in no figure */
	struct reason_copies copies;
};

struct reason {
	enum reason_code code;
	char text[REASON_TEXT_BYTES];	/* without a full stop */
	char hint[REASON_HINT_BYTES];	/* what tells more; empty: nothing */
	const struct reason_lane *lane; /* whom it is about; NULL: all */
	struct reason_figures figures;
};

/*
 * @categories: a file, as for categories_new(), and so are errors. @verdict: of the same query. The
 * query has no open rows meanwhile.
 */
int reason_new(struct query *query, const char *categories, const struct verdict *verdict,
	char error[QUERY_ERROR_BYTES], struct reason **ret);
void reason_free_p(struct reason **reason);

/* "reason: ...", as rtl run and rtl summary end with it, fit for a terminal. malloc'ed; NULL: no
 * memory. */
char *reason_line(const struct reason *reason);
/* Of copies in @row only some without times are known, so how long they took is not. */
bool reason_lacks_copies(const struct reason_figures *f, const struct breakdown_row *row);
/* The object of --json; NULL: no memory. */
json_t *reason_json(const struct reason *reason);
const char *reason_code_name(enum reason_code code);

/* rules.c: sets all but the figures. Pure. */
void reason_judge(struct reason *reason);

/* load.c */
int reason_load(struct query *query, const char *categories, const struct verdict *verdict,
	char error[QUERY_ERROR_BYTES], struct reason_figures *ret);
void reason_figures_done(struct reason_figures *figures);
