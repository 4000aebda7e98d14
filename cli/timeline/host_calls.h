/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the host says about the work of the GPUs: which dispatches are of which collective, and
 * when it waited. 16 bytes a call of RCCL, 24 a wait. One thread.
 */
#include "cli/database/query.h"
#include "cli/trace/breakdown.h"
#include "cli/trace/categories.h"
#include "cli/trace/graph_replays.h"
#include "cli/trace/replicas.h"

struct timeline_call {
	int64_t id; /* process_id << 40 | number */
	enum breakdown_stream stream;
};

struct timeline_process {
	int64_t id, rank;
	bool has_rank, has_calls;
	struct breakdown_wait *waits; /* disjoint, in order */
	size_t wait_count;
};

struct timeline_host {
	struct timeline_process *processes; /* by id */
	size_t process_count;
	struct replicas replicas;
	struct timeline_call *calls; /* by id */
	size_t call_count;
	struct graph_replays graphs;
};

/* 0 or -errno as query_open(). */
int timeline_host_load(
	struct query *query, const struct categories *categories, struct timeline_host *ret);
void timeline_host_done(struct timeline_host *host);
/* NULL: unknown. */
const struct timeline_process *timeline_host_process(const struct timeline_host *host, int64_t id);
/* BREAKDOWN_COMMUNICATION where nothing says more. @node: the place of the dispatch in its call. */
enum breakdown_stream timeline_host_stream(
	const struct timeline_host *host, int64_t process_id, int64_t call, int64_t node);
/* "allreduce", "ncclReduceScatter", ...; NULL: not known. */
enum breakdown_stream timeline_stream_of(const char *collective);
