/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * RCCL calls that were captured into hipGraphs, and which dispatches of each launch of such a graph
 * (a replay) are theirs. The captured call moves nothing: each replay does. A unit is what launches
 * together: a call, or the calls of a group. docs/commands.md tells how nodes are told apart.
 * One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"
#include "cli/trace/categories.h"
#include "cli/trace/id_map.h"

#define GRAPH_NONE UINT32_MAX

struct graph_unit {
	int64_t launch_id; /* the captured call, or the end of its group */
	uint64_t graph;
	uint32_t first_call, calls;	/* of calls */
	uint32_t first_kernel, kernels; /* of kernels, in the order of their launches */
};

/* A graph made executable, or one whose nodes were updated. */
struct graph_exec {
	uint32_t first_unit, units; /* of exec_units */
	uint32_t first_node, nodes; /* of nodes: communication kernels, in their order */
	uint32_t ordinal; /* how many-th of its process from the same first captured call */
	bool is_told;	  /* each node belongs to a known unit; else only its place is known */
};

struct graph_replay {
	int64_t call;	/* hipGraphLaunch */
	int64_t number; /* its how many-th launch the graph's is */
	uint32_t exec;
};

struct graph_replays {
	int64_t *calls; /* captured ones, by unit */
	size_t call_count, call_capacity;
	struct graph_unit *units;
	size_t unit_count, unit_capacity;
	struct graph_kernel *kernels;
	size_t kernel_count, kernel_capacity;
	struct graph_exec *execs;
	size_t exec_count, exec_capacity;
	uint32_t *exec_units;
	size_t exec_unit_count, exec_unit_capacity;
	struct graph_node *nodes;
	size_t node_count, node_capacity;
	struct graph_replay *replays;
	size_t replay_count, replay_capacity;
	struct idmap call_of_id, replay_of_call, node_of_key;
};

/* 0 or -errno; then query_error() tells, or it is -ENOMEM. A zeroed struct has nothing in it.
 * @categories NULL: without a look at the dispatches; then no node is told. */
int graph_replays_load(
	struct query *query, const struct categories *categories, struct graph_replays *ret);
void graph_replays_done(struct graph_replays *replays);

/* The index among the captured calls of @call_id, or GRAPH_NONE. */
uint32_t graph_replays_captured(const struct graph_replays *replays, int64_t call_id);
/* Adds to @ret, one a captured call, how often that was replayed. -ENOMEM. */
int graph_replays_count(const struct graph_replays *replays, uint64_t *ret);
/* The replay that is the call @call_id, or GRAPH_NONE. */
uint32_t graph_replays_find(const struct graph_replays *replays, int64_t call_id);
/* The place of a dispatch in its replay: of its unit among the exec's, or, where that is not told,
 * among its communication kernels. GRAPH_NONE: it is no communication. */
uint32_t graph_replays_place(const struct graph_replays *replays, uint32_t replay, int64_t node);
/* The unit of the dispatch @node of the call @call_id; NULL: it is of no replay, or not told. */
const struct graph_unit *graph_replays_unit(
	const struct graph_replays *replays, int64_t call_id, int64_t node);
