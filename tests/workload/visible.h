/* SPDX-License-Identifier: MIT */
/*
 * --one-gpu-each: what ROCR_VISIBLE_DEVICES a rank gets, as a launcher's wrapper script would set
 * it. Called before HSA is initialised in this process, by its only thread.
 */
#pragma once

#include "tests/workload/options.h"

struct visible {
	char *list; /* the user's own ROCR_VISIBLE_DEVICES, or NULL */
	int count;
};

/*
 * How many GPUs there are to share: the user's own list, else --gpus, else as many as another
 * process sees, which runs without the tools of this one. -ENODEV, -errno after saying why.
 */
int visible_open(const struct options *opt, struct visible *ret);

/* Sets ROCR_VISIBLE_DEVICES to the GPU of @turn. -errno. */
int visible_set(const struct visible *visible, int turn);

void visible_close(struct visible *visible);
