/* SPDX-License-Identifier: MIT */
#pragma once
/* Fills the lanes of a timeline in one pass over dispatches and copies. Everything runs on one
 * thread. */
#include "cli/timeline/timeline.h"

/* Reads timeline->steps. Sets the lanes, their rows and the counts; the caller sorts the lanes and
 * sums the rows. Returns what timeline_new() returns. */
int timeline_pass(const struct trace *trace, struct timeline *timeline,
	const struct timeline_options *options, char error[QUERY_ERROR_BYTES]);
