/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Kinds of steps: those that launch the same (prefill and decode, training and evaluation, batches
 * of another size) are of one kind, whatever their ranks, so that a step is compared with its like.
 * docs/commands.md, "Kinds of steps", has the formulas. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"
#include "cli/trace/steps.h"

/* Of more steps, of all processes, no kinds are told: what is kept of each takes 512 bytes. */
#define STEP_KINDS_STEPS_MAX   100000
/* Of more kinds than that there are none. */
#define STEP_KINDS_MAX	       26
/* Steps are of one kind with so many percent of their launches in common. */
#define STEP_KINDS_ALIKE_PCT   70
/* Of fewer steps of a kind nothing is said by their median. */
#define STEP_KINDS_STEPS_LEAST 3

struct step_kind {
	size_t steps;	   /* of all processes */
	uint64_t total_ns; /* of their lengths */
	int64_t median_ns, longest_ns;
	uint64_t launches; /* kernels and copies with a time, of all its steps */
	char name[64]; /* of its markers, without numbers, where no other kind has it; else "" */
};

struct step_kinds {
	struct step_kind
		*at; /* by their total time, the longest first; fewer than two: all alike */
	size_t count;
	/* Of each step of steps->processes[i] the index in @at. */
	uint8_t **of_process;
	size_t processes;
};

/* Steps of every source but STEPS_WHOLE; of that, and of too many, the count is 0. 0 or -errno;
 * then query_error() tells, or it is -ENOMEM. */
int step_kinds_new(struct query *query, const struct steps *steps, struct step_kinds **ret);
void step_kinds_free_p(struct step_kinds **kinds);

/* "A", "B", ... */
static inline char step_kinds_letter(size_t kind)
{
	return (char)('A' + kind);
}
