/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A timeline as one JSON document, written row by row: it may have half a million. AORTA's names
 * (total_ms, per_stream_ms, overlap_ms, active_segments, utilization, overlap_ratio) have
 * milliseconds, TraceLens's (computation_time, ...) nanoseconds. One thread.
 */
#include <jansson.h>

#include "cli/timeline/timeline.h"

/* -ENOMEM. */
int timeline_show_json(
	const struct timeline *timeline, const struct timeline_options *options, FILE *to);

/* total_ms, per_stream_ms, overlap_ms, utilization and the ratios of a row. -ENOMEM. */
int timeline_put_aorta(json_t *to, const struct breakdown_row *row);
/*
 * active_segments of the step @which of @lane (its count: outside of all steps), whose row is @row;
 * *@at is where its segments begin, and then those of the next step. -ENOMEM.
 */
int timeline_put_segments(json_t *to, const struct timeline_lane *lane, size_t which,
	const struct breakdown_row *row, size_t *at);
