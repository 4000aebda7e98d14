/* SPDX-License-Identifier: MIT */
#pragma once
/* The kinds of steps (cli/trace/step_kinds.h) with where their time goes: rtl timeline --by kind.
 * Of the lanes and steps that are shown. One thread. */
#include <jansson.h>

#include "cli/timeline/timeline.h"

/* In the format of @show, but JSON. -ENOMEM. */
int timeline_put_kinds(const struct timeline *timeline, const struct timeline_options *options,
	const struct timeline_show *show, FILE *to);
/* An array; NULL: no memory. */
json_t *timeline_kinds_json(
	const struct timeline *timeline, const struct timeline_options *options);
