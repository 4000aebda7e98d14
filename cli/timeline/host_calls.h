/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The host calls that explain GPU work: which dispatches belong to which collective, and when the
 * host waited. An RCCL call takes 16 bytes, a wait 24. Everything runs on one thread.
 */
#include "cli/trace/breakdown.h"
#include "cli/trace/kernels/graph_replays.h"
#include "cli/trace/trace.h"

struct timeline_call {
	int64_t id; /* process_id << 40 | number */
	enum breakdown_stream stream;
};

struct timeline_waits {
	struct breakdown_wait *at; /* disjoint and sorted by time */
	size_t count;
};

struct timeline_host {
	const struct trace *trace;
	struct timeline_waits *waits; /* as the processes of the trace */
	struct timeline_call *calls;  /* sorted by id */
	size_t call_count;
	struct graph_replays graphs;
};

/* Returns 0 or -errno as query_open() does. */
int timeline_host_load(const struct trace *trace, struct timeline_host *ret);
void timeline_host_done(struct timeline_host *host);
/* Returns BREAKDOWN_COMMUNICATION unless more is known. @node is the place of the dispatch in its
 * call. */
enum breakdown_stream timeline_host_stream(
	const struct timeline_host *host, int64_t process_id, int64_t call, int64_t node);
/* Takes "allreduce", "ncclReduceScatter", ..., or NULL if the collective is unknown. */
enum breakdown_stream timeline_stream_of(const char *collective);
