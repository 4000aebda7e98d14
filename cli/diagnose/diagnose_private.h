/* SPDX-License-Identifier: MIT */
#pragma once
/* Shared by the parts of diagnose. */
#include "cli/diagnose/diagnose.h"

/* A process with all its GPUs. */
struct diagnose_share {
	const struct summary_rank *first;
	size_t rows; /* number of rows in the summary, from first on: one per GPU */
	uint64_t kernels, stored, untimed, dropped, skipped, outstanding, busy_ns, work_ns;
	/* Number of rows if it had been recorded as long as the rank recorded longest. */
	double expected;
	bool has_times, rank_works; /* rank_works: a process of its rank has kernels */
	bool leads;		    /* it leads its rank; others are shown, but not judged */
	int64_t first_ns, last_ns;  /* of its kernels */
};

struct diagnose_shares {
	struct diagnose_share *at;
	size_t count;
	uint64_t most; /* kernels of the leading process that has most */
	bool has_times;
	int64_t first_ns, last_ns; /* of the leading processes */
};

/* @share is NULL if the finding is about no process. */
__attribute__((format(printf, 4, 5))) void diagnose_add(struct diagnose *d,
	enum diagnose_level level, const struct diagnose_share *share, const char *format, ...);
/*
 * True if it leads a rank, ran about as many kernels as any other, and the rows contain as many of
 * them as those of the others.
 */
bool diagnose_has_rows(const struct diagnose_share *share, uint64_t most);
/* diagnose_kernels.c */
void diagnose_kernels(
	struct diagnose *d, const struct summary *s, const struct diagnose_shares *shares);
