/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Writes a timeline as one JSON document, row by row, because it may have half a million rows. The
 * fields named as in AORTA (total_ms, per_stream_ms, overlap_ms, active_segments, utilization,
 * overlap_ratio) hold milliseconds; those named as in TraceLens (computation_time, ...) hold
 * nanoseconds. Everything runs on one thread.
 */
#include <jansson.h>

#include "cli/timeline/timeline.h"

void timeline_show_json(
	const struct timeline *timeline, const struct timeline_options *options, FILE *to);

/* Adds total_ms, per_stream_ms, overlap_ms, utilization and the ratios of a row; null for copies if
 * it lacks them. */
void timeline_put_aorta(json_t *to, const struct breakdown_row *row, bool lacks_copies);
/*
 * Adds active_segments of step @which of @lane (the number of steps: outside of all steps); @row is
 * its row. *@at is the index where its segments begin, and is moved on to those of the next step.
 * Returns nonzero if out of memory.
 */
void timeline_put_segments(json_t *to, const struct timeline_lane *lane, size_t which,
	const struct breakdown_row *row, size_t *at);
