/* SPDX-License-Identifier: MIT */
/*
 * --dispatches: an exact number of short kernels on one queue, from one or more threads, as fast
 * as they go or at a rate. Called by the rank's main thread, which is the first producer.
 */
#pragma once

#include "tests/workload/board.h"
#include "tests/workload/model.h"
#include "tests/workload/options.h"

/* 0, or -errno after saying why. */
int storm_run(const struct options *opt, const struct model *model, struct board_rank *board);
