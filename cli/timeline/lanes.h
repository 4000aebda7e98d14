/* SPDX-License-Identifier: MIT */
#pragma once
/* The lanes of a timeline, filled by one pass over dispatches and copies. One thread. */
#include "cli/timeline/timeline.h"

/* Takes timeline->steps; leaves lanes, rows and counts, not yet sorted or summed. As
 * timeline_new(). */
int timeline_pass(struct query *query, struct timeline *timeline,
	const struct timeline_options *options, char error[QUERY_ERROR_BYTES]);
