/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Why a job is slow, in one sentence with its numbers: the first rule of reason_table.h that
 * applies to what the time line and the collectives say (docs/reason.md). At most REASON_SAMPLE
 * dispatches are looked at, so that it is quick whatever the size of the file. One thread.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/trace/breakdown.h"
#include "cli/trace/categories.h"
#include "cli/collectives/collectives.h"
#include "cli/database/query.h"
#include "cli/reason/rule_table.h"
#include "cli/database/verdict.h"

#define REASON_TEXT_BYTES 384
#define REASON_HINT_BYTES 256

/* Kernels of one category. */
struct reason_sum {
	uint64_t calls;
	double ns;
	double spread_ns2; /* how far each is from the mean of those alike, squared, in sum */
};

/* One process on one GPU. */
struct reason_lane {
	int64_t process_id, gpu_id, rank;
	bool has_rank;
	uint64_t stored;	    /* in the whole file */
	struct breakdown_row total; /* from its first step to its last */
	struct reason_sum *kinds;   /* one a kind of the figures */
};

struct reason_kind {
	char name[CATEGORY_NAME_BYTES];
	enum category_class class;
};

/* Who arrives last in collectives. */
struct reason_straggler {
	bool is_found;
	int64_t process_id, gpu_id;
	uint64_t last, count;	/* times; of so many */
	double late_ns;		/* on average, when it is last */
	double late_pct;	/* all of it, of the time that the collectives span */
	int cause;		/* enum collectives_cause; COLLECTIVES_CAUSES: several */
	double cause_ns, ratio; /* on average; of computation, to the median rank's; 0: unknown */
};

struct reason_copies {
	char direction[16]; /* in which most time goes */
	double bytes, ns;   /* of those that have times */
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
/* The object of --json; NULL: no memory. */
json_t *reason_json(const struct reason *reason);
const char *reason_code_name(enum reason_code code);

/* reason_rules.c: sets all but the figures. Pure. */
void reason_judge(struct reason *reason);

/* reason_load.c */
int reason_load(struct query *query, const char *categories, const struct verdict *verdict,
	char error[QUERY_ERROR_BYTES], struct reason_figures *ret);
void reason_figures_done(struct reason_figures *figures);
