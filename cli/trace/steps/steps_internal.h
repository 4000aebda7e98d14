/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The parts of steps.c: the period that tells what begins a step (steps_period.c), and one pass
 * over all dispatches that finds the time of each step from the work of the GPUs (steps_place.c).
 * One thread.
 */
#include "cli/trace/steps/steps.h"

struct steps_shape {
	size_t process;	  /* index in steps->processes */
	bool begins_step; /* each of its dispatches begins a step */
};

struct steps_work {
	const struct trace *trace;
	struct steps *steps;
	struct steps_shape *shapes; /* as those of the trace */
};

struct steps_process *steps_process(struct steps *steps, int64_t process_id);
/*
 * Appends a step; takes over @text on success. Returns 0 or -E2BIG, after which the process has
 * none.
 */
int steps_add(struct steps *steps, struct steps_process *process, struct step step);
/* Removes all steps. */
void steps_clear(struct steps *steps);

/* Searches a period; sets begins_step of shapes if there is one. */
int steps_find_period(struct steps_work *work);
/*
 * Moves steps of markers to the time when the GPUs reached them, or adds a step where one begins.
 */
int steps_place(struct steps_work *work);
