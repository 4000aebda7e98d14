/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether the ranks of a session did alike, and what to suspect where they did not: silence of
 * one rank among many is the failure that totals hide. Pure: from a summary to findings.
 */
#include <stddef.h>

#include "cli/summary/summary.h"
#include "cli/trace/leaders.h"

/* Ranks are alike within this: in kernels, of the rank with most; in work, without communication,
 * of the rank in the middle. */
#define DIAGNOSE_ALIKE_PCT  5
/* Kernels of a process, compared with the process that has most. */
#define DIAGNOSE_LOW_PCT    50
/* With fewer of them its work and its kernels by name are other work. */
#define DIAGNOSE_LIKE_PCT   80
/* Of the time of all ranks: who begins later or ends earlier than that has fewer kernels for it. */
#define DIAGNOSE_EXTENT_PCT 20
/* Of the kernels of each so many are in the rows (of work: with times), of those that would be
 * there had it been recorded as long as the rank that was recorded longest. */
#define DIAGNOSE_KNOWN_PCT  95

enum diagnose_level {
	DIAGNOSE_NOTE,
	DIAGNOSE_LOW,
	DIAGNOSE_MISSING,
};

struct diagnose_finding {
	enum diagnose_level level;
	bool has_rank, has_process;
	bool is_of_kernels; /* of some of them; in number the rank did as others */
	int64_t rank, pid, process_id;
	uint64_t kernels;
	char *text;
};

struct diagnose_process {
	const struct summary_rank *first; /* its first row; borrowed */
	char *gpus;			  /* "0,1" */
	bool leads;			  /* its rank; else it is shown, and not judged */
	uint64_t kernels, untimed, busy_ns, work_ns;
};

struct diagnose {
	struct diagnose_process *processes; /* by rank */
	size_t process_count;
	size_t others;		       /* of these: with kernels, and do not lead their rank */
	size_t ranks, ranks_with_work; /* that lead; whose work is known, and was compared */
	struct diagnose_finding *findings;
	size_t count;
};

/* -ENOMEM. Borrows @summary; @leaders are of the same session. */
int diagnose_new(
	const struct summary *summary, const struct leaders *leaders, struct diagnose **ret);
void diagnose_free_p(struct diagnose **diagnose);

/* MISSING, LOW, NOTE. */
const char *diagnose_level_name(enum diagnose_level level);
