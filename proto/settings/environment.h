/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The RTL_* variables that hold one value of a few, or a number, once for shim and cli: what a good
 * value is, and what stands for a bad one in a process that cannot refuse it. Those that leave
 * something out are proto/settings/selection.h's; paths and job keys are any text. Pure; any thread.
 */
#include <stdint.h>

/* More than that is a mistake in the unit. */
#define VARIABLE_EXIT_MS_MAX 600000u

/* RTL_RINGS: rings of queues stay in a GPU's memory where the program wants them there. */
#define VARIABLE_RINGS_KEEP "keep"

/* RTL_THREAD: the shim makes no thread in the program, and keeps no socket (docs/capture.md). */
#define VARIABLE_THREAD_NO "no"

/*
 * What rtl run tells the shim of variables by which rings would have been in a GPU's memory: those
 * of hsa_queue_create() (HSA_ALLOCATE_QUEUE_DEV_MEM), and of CLR's own (DEBUG_CLR_AQL_DEV_QUEUE).
 */
#define VARIABLE_RINGS_MOVED	 "RTL_RINGS_MOVED"
#define VARIABLE_RINGS_MOVED_HSA "hsa"
#define VARIABLE_RINGS_MOVED_CLR "clr"

/* One line without a full stop; the value in it is cut, and has no byte that steers a terminal. */
#define VARIABLE_WHY_BYTES 256u

struct variable {
	const char *name;
	const char *expected; /* half a sentence: "0, 1 or 2" */
	const char *instead;  /* likewise: what a shim does with a bad value */
};

/* Every one, ended by a NULL name. */
extern const struct variable variables[];

/* NULL: fine, or unknown to this table; "" is not set. Else which row, and why. */
const struct variable *variable_check(
	const char *name, const char *text, char why[VARIABLE_WHY_BYTES]);

/* Decimal, no sign, no space, the whole text. 0; -EINVAL: no number, or above @most. */
int variable_number(const char *text, uint64_t most, uint64_t *ret);
