/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The cost of recording, as far as the run itself shows it: the processor time of the shim's
 * thread, which the shim counts (thread_us of proto/names/counters.h). The time that a dispatch
 * takes in the program's own threads is not included. Everything runs on one thread.
 */
#include <jansson.h>
#include <stdio.h>

#include "cli/database/query.h"

/* The cost in one process. */
struct cost_rank {
	int64_t process_id, rank;
	bool has_rank;
	uint64_t thread_ns, dispatched;
	int64_t time_ns; /* lifetime of the process; 0: unknown */
};

struct cost {
	struct cost_rank *ranks; /* the processes that report a cost */
	size_t count;
	uint64_t thread_ns, dispatched; /* sums over the ranks */
};

/* Returns 0 or -errno; query_error() has the reason. */
int cost_load(struct query *query, struct cost *ret);
void cost_done(struct cost *cost);

/* Writes one line if any process reports a cost. */
void cost_put(const struct cost *cost, FILE *to);
/* Returns the object of --json, a JSON null if no process reports a cost, or NULL if out of
 * memory. */
json_t *cost_json(const struct cost *cost);
