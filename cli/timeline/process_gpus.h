/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The GPUs on which each process computes, and the GPUs that a copy belongs to. It covers all
 * processes, whether they are shown or not; docs/commands.md has the rule. Everything runs on one
 * thread.
 */
#include "cli/database/query.h"

struct timeline_place {
	int64_t process_id, gpu_id;
};

struct timeline_places {
	struct timeline_place *at; /* sorted by process, GPU */
	size_t count, capacity;
};

/* Returns 0 or -errno as query_open() does. */
int timeline_places_load(struct query *query, struct timeline_places *ret);
void timeline_places_done(struct timeline_places *places);
/*
 * Stores the GPUs of a copy of @process_id in @ret and returns their number, at most two. @source
 * and @target are columns of @rows; NULL there is the host.
 */
size_t timeline_places_of_copy(const struct timeline_places *places, int64_t process_id,
	const struct query_rows *rows, int source, int target, int64_t ret[2]);
