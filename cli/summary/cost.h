/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What recording cost the job, as far as the run itself shows it: the processor time of the shim's
 * thread, which counts it (thread_us of proto/names/counters.h). What a dispatch takes in the
 * program's own threads is in it nowhere. One thread.
 */
#include <jansson.h>
#include <stdio.h>

#include "cli/database/query.h"

/* Of one process. */
struct cost_rank {
	int64_t process_id, rank;
	bool has_rank;
	uint64_t thread_ns, dispatched;
	int64_t time_ns; /* that it lived; 0: not known */
};

struct cost {
	struct cost_rank *ranks; /* those that say it */
	size_t count;
	uint64_t thread_ns, dispatched; /* in sum */
};

/* 0 or -errno; then query_error() tells, or it is -ENOMEM. */
int cost_load(struct query *query, struct cost *ret);
void cost_done(struct cost *cost);

/* A line, where anything is known. */
void cost_put(const struct cost *cost, FILE *to);
/* The object of --json, or null; NULL: no memory. */
json_t *cost_json(const struct cost *cost);
