/* SPDX-License-Identifier: MIT */
#pragma once
/* What the parts of diagnose share. */
#include "cli/diagnose/diagnose.h"

/* A process, all its GPUs together. */
struct diagnose_share {
	const struct summary_rank *first;
	size_t rows; /* of the summary, from first on: its GPUs */
	uint64_t kernels, stored, untimed, dropped, skipped, outstanding, busy_ns, work_ns;
	double expected; /* rows, were it recorded as long as the rank recorded longest */
	bool has_times, rank_works; /* rank_works: some process of its rank has kernels */
	bool leads;		    /* its rank; the others are shown, and not judged */
	int64_t first_ns, last_ns;  /* of its kernels */
};

struct diagnose_shares {
	struct diagnose_share *at;
	size_t count;
	uint64_t most; /* kernels of one that leads */
	bool has_times;
	int64_t first_ns, last_ns; /* of those that lead */
};

/* -ENOMEM. @share NULL: it is about no process. */
__attribute__((format(printf, 4, 5))) int diagnose_add(struct diagnose *d,
	enum diagnose_level level, const struct diagnose_share *share, const char *format, ...);
/* Leads a rank, did about as many kernels as any, and the rows have them as they have the others'.
 */
bool diagnose_has_rows(const struct diagnose_share *share, uint64_t most);
/* diagnose_kernels.c. -ENOMEM. */
int diagnose_kernels(
	struct diagnose *d, const struct summary *s, const struct diagnose_shares *shares);
