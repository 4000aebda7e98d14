/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds the two ranks between which sends and receives take much longer than between any others,
 * once both are there (docs/commands.md, Slow links). Pure computation on one thread.
 */
#include <stdint.h>

#include "cli/collectives/collectives.h"

/* A link is slow if its transfers take at least so many times as long as the median link's. */
#define SLOW_LINK_RATIO 2
/* With fewer links, or fewer transfers on one, nothing is compared. */
#define SLOW_LINK_LEAST 3

struct slow_link {
	uint32_t lanes[2]; /* indexes in collectives->lanes, ascending; COLLECTIVES_NONE: no link */
	double ratio;
	int64_t transfer_ns; /* sum of its transfers of that size */
};

/* Compares transfers of the same size. Returns 0 or -ENOMEM. */
int slow_link_find(const struct collectives *c, struct slow_link *ret);
