/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The search for a straggler in one group: shared by what chooses ranks (straggler.c) and what
 * finds their cost and cause (straggler_price.c). Pure computation on one thread.
 */
#include "cli/collectives/straggler.h"

struct order {
	int64_t wait;
	uint32_t lane;
};

/* What is found in one group. */
struct search {
	const struct waiting_group *group;
	const struct waiting *waiting;
	const struct waiting_group *steps; /* whose windows were joined to these; or the same */
	const struct meetings *meetings;   /* that join its windows; NULL: none do */
	bool *is_event; /* one per window; of joined windows also those that are not whole */
	size_t first;	/* first window that counts; those before it are warm-up */
	/* The window before it has first operations of communicators: it judges no rank, and what
	 * one costs in it counts. */
	bool prices_before;
	int64_t wall_ns;
	struct order *order; /* of one window, the shortest wait first */
	/* By lane: the gain if it alone became faster, and the sum of the squares of that gain over
	 * the windows; the gain if it and the lanes that are equally late became faster. */
	double *alone, *alone_squares, *together;
	double together_sum, together_squares;
	int64_t median_ns;
	int64_t *typical_ns; /* of each window: the median of its kind */
};

static inline int64_t length_of(const struct waiting_group *group, size_t window)
{
	return group->cuts[window + 1] - group->cuts[window];
}

static inline bool has_lane(const struct straggler *straggler, uint32_t lane)
{
	for (size_t i = 0; i < straggler->count; i++)
		if (straggler->lanes[i] == lane)
			return true;
	return false;
}

static inline bool is_counted(const struct search *s, size_t window)
{
	return window >= s->first && !s->is_event[window] && !waiting_is_empty(s->group, window);
}

/* ---- straggler_price.c ---- */

int straggler_compare_order(const void *a, const void *b);
/* Fills s->order with the waits of the window, the shortest first. */
void straggler_sort_window(struct search *s, size_t window);
/* Adds by how much each part of a cell exceeds that of the cell it is compared with. */
void straggler_take_parts(const struct waiting_cell *own, const struct waiting_cell *other,
	int64_t part_ns[STRAGGLER_CAUSES]);
enum straggler_cause straggler_main_cause(const int64_t part_ns[STRAGGLER_CAUSES], int64_t whole);
/* Finds the cost, the cause and the spans of @straggler, whose lanes are set. Returns 0 or -ENOMEM.
 */
int straggler_price(struct search *s, struct straggler *straggler);
/* Leaves out what lies before @from_ns, unless that is all. */
void straggler_cut_spans(struct straggler *straggler, int64_t from_ns);
