/* SPDX-License-Identifier: MIT */
#pragma once
/* rtl tree as text, JSON, CSV, or folded stacks. One thread. */
#include <stdio.h>

#include "cli/output/table.h"
#include "cli/tree/tree.h"
#include "cli/database/verdict.h"

struct tree_options {
	enum render_format format;
	bool is_folded, is_merged, has_kernels;
	uint64_t depth;	    /* levels; 0: all */
	double min_percent; /* of the whole GPU time; smaller nodes are summed in a
			       row */
	size_t width;
};

struct tree_view {
	const struct tree *tree;    /* as it is shown */
	const struct tree *by_rank; /* its processes */
	const struct verdict *verdict;
	const struct tree_options *options;
};

/* -ENOMEM. */
int tree_show(const struct tree_view *view, FILE *to);
