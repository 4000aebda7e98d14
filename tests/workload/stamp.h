/* SPDX-License-Identifier: MIT */
/*
 * Completion signals of the application's own, for one producer: each Nth dispatch gets one from
 * a small ring, or each N in a row share one that counts them down. Before one is used again its
 * kernel must have ended, and its times are read as hipEventElapsedTime would: a profiler that
 * spoils them shows here. Their order is not judged: the runtime may fit its clock anew between
 * translating a start and its end.
 */
#pragma once

#include <hsa/hsa.h>
#include <stdint.h>

#include "tests/workload/gpu.h"

#define STAMP_SIGNALS 64

struct stamp {
	const struct gpu *gpu;
	uint64_t every;	 /* 0: none has a signal, or groups have */
	uint64_t shared; /* 0: none has a signal, or each Nth; else dispatches in a group */
	uint64_t dispatches;
	uint64_t used;	/* signals handed out so far; the last STAMP_SIGNALS may be in flight */
	uint64_t timed; /* of those that ended, how many had times */
	hsa_signal_t signal[STAMP_SIGNALS];
};

/* At most one of @every and @shared is not 0. -EIO after saying why. */
int stamp_open(const struct gpu *gpu, uint64_t every, uint64_t shared, struct stamp *ret);

/* How many dispatches may get their signals before the first of them must be rung for. */
uint64_t stamp_batch_max(const struct stamp *stamp);

/* The signal for the next dispatch, zero for most. */
hsa_signal_t stamp_next(struct stamp *stamp);

/* Waits for what is in flight and destroys the signals. */
void stamp_close(struct stamp *stamp);
