/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Whether the ranks of a session did alike, and what to suspect where they did not: silence of
 * one rank among many is the failure that totals hide. Pure: from a summary to findings.
 */
#include <stddef.h>

#include "cli/summary.h"

/* Kernels of a process, compared with the process that has most. */
#define DIAGNOSE_LOW_PCT  50
#define DIAGNOSE_NOTE_PCT 80
/* Busy time, over that of the rank in the middle. */
#define DIAGNOSE_SLOW_PCT 20

enum diagnose_level {
	DIAGNOSE_NOTE,
	DIAGNOSE_LOW,
	DIAGNOSE_MISSING,
};

struct diagnose_finding {
	enum diagnose_level level;
	bool has_rank, has_process;
	int64_t rank, pid, process_id;
	uint64_t kernels;
	char *text;
};

struct diagnose {
	struct diagnose_finding *findings;
	size_t count;
};

/* -ENOMEM. */
int diagnose_new(const struct summary *summary, struct diagnose **ret);
void diagnose_free_p(struct diagnose **diagnose);

/* MISSING, LOW, NOTE. */
const char *diagnose_level_name(enum diagnose_level level);
