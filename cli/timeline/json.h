/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A timeline as one JSON document, written row by row: it may have half a million. AORTA's names
 * (total_ms, per_stream_ms, overlap_ms, active_segments, utilization, overlap_ratio) have
 * milliseconds, TraceLens's (computation_time, ...) nanoseconds. One thread.
 */
#include "cli/timeline/timeline.h"

/* -ENOMEM. */
int timeline_show_json(
	const struct timeline *timeline, const struct timeline_options *options, FILE *to);
