/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Kinds of steps: steps that launch the same (prefill and decode, training and evaluation, batches
 * of another size) are of one kind, whatever their ranks, so that a step is compared with similar
 * ones. docs/commands.md, "Kinds of steps", contains the formulas. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/steps/steps.h"

/* Kinds are not computed for more steps than this, of all processes: each takes 512 bytes. */
#define STEP_KINDS_STEPS_MAX   100000
/* With more kinds than this there are none. */
#define STEP_KINDS_MAX	       26
/* Steps are of one kind if this percentage of their launches is the same. */
#define STEP_KINDS_ALIKE_PCT   70
/* The median of fewer steps of a kind is not used. */
#define STEP_KINDS_STEPS_LEAST 3
/* Launches are counted in this many classes of what is launched. */
#define STEP_KINDS_CLASSES     64

struct step_kind {
	size_t steps;	   /* of all processes */
	uint64_t total_ns; /* sum of their lengths */
	int64_t median_ns, longest_ns;
	uint64_t launches; /* kernels and copies with a time, in all its steps */
	/* Name of its markers, without numbers, if no other kind has it; otherwise "". */
	char name[64];
	/* Its launches by name and grid, and by name alone. */
	uint64_t by_work[STEP_KINDS_CLASSES], by_name[STEP_KINDS_CLASSES];
	bool is_by_name; /* grids are of no use in its file */
};

struct step_kinds {
	struct step_kind
		/* Sorted by total time, the longest first; fewer than two if all steps are alike.
		 */
		*at;
	size_t count;
	/* For each step of steps->processes[i], its index in @at. */
	uint8_t **of_process;
	size_t processes;
};

/*
 * Steps may have any source except STEPS_WHOLE; for that, and if there are too many, the count is
 * 0. Returns 0, or -errno with the reason in query_error().
 */
int step_kinds_new(const struct trace *trace, const struct steps *steps, struct step_kinds **ret);
void step_kinds_free_p(struct step_kinds **kinds);

/*
 * Returns the percentage of the launches of a mean step that two kinds have in common, which may be
 * of two files; names alone count if grids are of no use in one of them.
 */
double step_kinds_similarity(const struct step_kind *a, const struct step_kind *b);

/* Returns 'A', 'B', ... */
static inline char step_kinds_letter(size_t kind)
{
	return (char)('A' + kind);
}
