/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * RCCL calls that were captured into hipGraphs, and which dispatches of each launch of such a graph
 * (a replay) belong to them. The captured call itself moves no data; each replay does. A unit is a
 * call, or the calls of a group, that launch together. docs/commands.md tells how nodes are
 * assigned. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/database/query.h"
#include "cli/trace/id_map.h"
#include "cli/trace/trace.h"

#define GRAPH_NONE UINT32_MAX

struct graph_unit {
	int64_t launch_id; /* the captured call, or the end of its group */
	uint64_t graph;
	uint32_t first_call, calls;	/* index in calls */
	uint32_t first_kernel, kernels; /* index in kernels, in the order of their launches */
};

/* A graph made executable, or one whose nodes were updated. */
struct graph_exec {
	uint32_t first_unit, units; /* index in exec_units */
	uint32_t first_node, nodes; /* index in nodes: communication kernels, in order */
	/* Number among the graphs of its process that begin with the same captured call. */
	uint32_t ordinal;
	bool is_told; /* each node belongs to a known unit; otherwise only its position is known */
};

struct graph_replay {
	int64_t call;	/* hipGraphLaunch */
	int64_t number; /* number among the launches of the graph */
	uint32_t exec;
};

struct graph_replays {
	int64_t *calls; /* captured calls, by unit */
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

/*
 * Returns 0, or -errno with the reason in query_error(). A zeroed struct is empty. Unless
 * @has_nodes, the dispatches are not read, and no node is assigned.
 */
int graph_replays_load(const struct trace *trace, bool has_nodes, struct graph_replays *ret);
void graph_replays_done(struct graph_replays *replays);

/* Returns the index of @call_id among the captured calls, or GRAPH_NONE. */
uint32_t graph_replays_captured(const struct graph_replays *replays, int64_t call_id);
/* Adds to @ret, for each captured call, how often it was replayed. */
void graph_replays_count(const struct graph_replays *replays, uint64_t *ret);
/* Returns the replay that is the call @call_id, or GRAPH_NONE. */
uint32_t graph_replays_find(const struct graph_replays *replays, int64_t call_id);
/*
 * Returns the position of a dispatch in its replay: that of its unit among those of the executable
 * graph or, if that is not known, its own among the communication kernels. GRAPH_NONE if it is no
 * communication.
 */
uint32_t graph_replays_place(const struct graph_replays *replays, uint32_t replay, int64_t node);
/*
 * Returns the unit of the dispatch @node of the call @call_id; NULL if it belongs to no replay or
 * is not assigned.
 */
const struct graph_unit *graph_replays_unit(
	const struct graph_replays *replays, int64_t call_id, int64_t node);
