/* SPDX-License-Identifier: MIT */
/*
 * Adds two vectors on the GPU and compares, so that nothing is said of a GPU that computes
 * wrongly. On a software GPU the kernel is dispatched all the same, and not compared.
 */
#pragma once

#include "tests/workload/model.h"
#include "tests/workload/queue.h"

/* One dispatch. -EIO after saying why, -EILSEQ for a wrong sum. */
int verify_run(const struct model *model, struct producer *producer);
