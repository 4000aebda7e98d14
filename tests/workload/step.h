/* SPDX-License-Identifier: MIT */
/*
 * Runs training steps: submits the model's operations and waits at the end of a step, for the
 * GPU and then for the other ranks. Called by the rank's main thread.
 */
#pragma once

#include "tests/workload/board.h"
#include "tests/workload/model.h"
#include "tests/workload/options.h"

/* 0, or -EIO after saying why. With --hang-at it does not return. */
int step_run_all(
	const struct options *opt, const struct model *model, struct board *board, int rank);
