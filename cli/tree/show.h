/* SPDX-License-Identifier: MIT */
#pragma once
/* Prints rtl tree as text, JSON, CSV, or folded stacks. One thread. */
#include <stdio.h>

#include "cli/output/table.h"
#include "cli/tree/tree.h"
#include "cli/database/session/verdict.h"

struct tree_options {
	enum render_format format;
	bool is_folded, is_merged, has_kernels;
	uint64_t depth;	    /* number of levels; 0 for all */
	double min_percent; /* of the total GPU time; smaller nodes are summed in one row */
	size_t width;
};

struct tree_view {
	const struct tree *tree;    /* the tree that is shown */
	const struct tree *by_rank; /* the tree with the processes */
	const struct verdict *verdict;
	const struct tree_options *options;
};

void tree_show(const struct tree_view *view, FILE *to);
