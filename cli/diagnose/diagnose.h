/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether the ranks of a session behaved alike, and what to suspect if they did not: one silent
 * rank among many is the failure that totals hide. Pure functions: from a summary to findings.
 */
#include <stddef.h>

#include "cli/summary/summary.h"
#include "cli/trace/kernels/leaders.h"

/*
 * Ranks are alike within this: in kernels compared with the rank that has most; in work, without
 * communication, compared with the rank in the middle.
 */
#define DIAGNOSE_ALIKE_PCT  5
/* Kernels of a process, compared with the process that has most. */
#define DIAGNOSE_LOW_PCT    50
/* With fewer kernels than this, its work and its kernels by name are not comparable. */
#define DIAGNOSE_LIKE_PCT   80
/*
 * Part of the time of all ranks: a process that begins later or ends earlier than this has fewer
 * kernels because of that.
 */
#define DIAGNOSE_EXTENT_PCT 20
/*
 * Part of the kernels that must be in the rows (for work: with times), of the number that would be
 * there if it had been recorded as long as the rank that was recorded longest.
 */
#define DIAGNOSE_KNOWN_PCT  95

enum diagnose_level {
	DIAGNOSE_NOTE,
	DIAGNOSE_LOW,
	DIAGNOSE_MISSING,
};

struct diagnose_finding {
	enum diagnose_level level;
	bool has_rank, has_process;
	bool is_of_kernels; /* about some kernels; the rank has as many as others */
	int64_t rank, pid, process_id;
	uint64_t kernels;
	char *text;
};

struct diagnose_process {
	const struct summary_rank *first; /* its first row; borrowed */
	char *gpus;			  /* "0,1" */
	bool leads; /* it leads its rank; otherwise it is shown, but not judged */
	uint64_t kernels, untimed, busy_ns, work_ns;
};

struct diagnose {
	struct diagnose_process *processes; /* sorted by rank */
	size_t process_count;
	size_t others; /* of these, those that have kernels and do not lead their rank */
	/* Ranks that lead; ranks with known work, which was compared. */
	size_t ranks, ranks_with_work;
	struct diagnose_finding *findings;
	size_t count;
};

/* Borrows @summary; @leaders are of the same session. */
struct diagnose *diagnose_new(const struct summary *summary, const struct leaders *leaders);
void diagnose_free_p(struct diagnose **diagnose);

/* Returns MISSING, LOW or NOTE. */
const char *diagnose_level_name(enum diagnose_level level);
