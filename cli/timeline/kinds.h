/* SPDX-License-Identifier: MIT */
#pragma once
/* rtl timeline --by kind: the kinds of steps (cli/trace/steps/step_kinds.h) and where their time
 * goes. Only the lanes and steps that are shown count. Everything runs on one thread. */
#include <jansson.h>

#include "cli/timeline/timeline.h"

/* Writes the kinds in the format of @show, which must not be JSON. */
void timeline_put_kinds(const struct timeline *timeline, const struct timeline_options *options,
	const struct timeline_show *show, FILE *to);
json_t *timeline_kinds_json(
	const struct timeline *timeline, const struct timeline_options *options);
