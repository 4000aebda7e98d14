/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * On which GPUs each process computes, and so to which of them a copy belongs, whatever of it all
 * is shown: docs/commands.md has the rule. One thread.
 */
#include "cli/database/query.h"

struct timeline_place {
	int64_t process_id, gpu_id;
};

struct timeline_places {
	struct timeline_place *at; /* by process, GPU */
	size_t count, capacity;
};

/* 0 or -errno as query_open(). */
int timeline_places_load(struct query *query, struct timeline_places *ret);
void timeline_places_done(struct timeline_places *places);
/*
 * The GPUs of a copy of @process_id, whose @source and @target are columns of @rows (NULL: the
 * host): how many of @ret, at most two.
 */
size_t timeline_places_of_copy(const struct timeline_places *places, int64_t process_id,
	const struct query_rows *rows, int source, int target, int64_t ret[2]);
