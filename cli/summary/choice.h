/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Chooses among the kernels of a summary: by rank, name or kind of work, and their order. Kernels
 * count with the dispatches that are chosen; shares of the time stay those of all. One thread.
 */
#include <regex.h>
#include <stdbool.h>

#include "cli/trace/categories.h"
#include "proto/settings/selection.h"

struct summary;

enum summary_sort {
	SUMMARY_SORT_TOTAL,
	SUMMARY_SORT_CALLS,
	SUMMARY_SORT_AVG,
	SUMMARY_SORT_MAX,
	SUMMARY_SORT_NAME,
	SUMMARY_SORTS
};

struct summary_choice {
	bool has_ranks, has_kernels;
	struct choice_list ranks;
	regex_t kernels; /* is in the name or in the symbol */
	const char *category;
	enum summary_sort sort;
};

const char *summary_sort_name(enum summary_sort sort);

/* True if it leaves something out. */
bool summary_choice_is_set(const struct summary_choice *choice);

/*
 * Applies @choice to the kernels, cells and ranks of @summary. @categories may be NULL without
 * choice->category. -ENOMEM.
 */
void summary_choose(const struct summary_choice *choice, const struct categories *categories,
	struct summary *summary);
