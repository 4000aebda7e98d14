/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Ranges and host calls as a tree, with the GPU time of the kernels that were submitted in them
 * (docs/commands.md). Siblings of one name are one node. One pass over the dispatches. Memory: 16
 * bytes per host call and range, and the nodes, at most TREE_NODES_MAX. One thread.
 */
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/id_map.h"
#include "cli/trace/trace.h"
#include "proto/settings/selection.h"

#define TREE_NONE	UINT32_MAX
/* Further names become one node "(other names)" below their parent. */
#define TREE_NODES_MAX	((size_t)1 << 19)
#define TREE_OTHER_NAME INT64_MIN
/*
 * Names of operations with their shapes are not texts of the file: they have this id and lower
 * ones.
 */
#define TREE_OP_NAME	(-((int64_t)1 << 48))
/* Deeper nodes belong to the node at this depth. */
#define TREE_DEPTH_MAX	128

enum tree_kind {
	TREE_ROOT,
	TREE_PROCESS, /* name: index of processes */
	TREE_THREAD,  /* name: tid; 0 if unknown */
	TREE_RANGE,   /* name: id of a text, as for TREE_OP and TREE_CALL */
	TREE_STARTED, /* a range that may end on another thread, so no kernel belongs to it */
	TREE_OP,      /* operation of a framework; name: TREE_OP_NAME and lower */
	TREE_CALL,
	TREE_KERNEL,
	TREE_OTHER, /* names for which there was no room */
};

struct tree_sums {
	uint64_t kernels, untimed;
	int64_t gpu_ns;
	int64_t communication_ns; /* of gpu_ns: a rank that others wait for has least of it */
	/*
	 * Of the operations whose cost is known (op_cost.h), each once, with the GPU time of their
	 * kernels; least_ns: what they take at the GPU's peak, and peak_ns: the GPU time of those
	 * for which that is known.
	 */
	double flops, bytes, least_ns;
	int64_t cost_ns, peak_ns;
	uint64_t launched; /* kernels with a call; the times are from its begin to their start */
	int64_t launch_ns, launch_max_ns;
	uint64_t queued; /* kernels with a submission; the times are from that to their start */
	int64_t queue_ns, queue_max_ns;
};

/* Time in a collective is mostly that of waiting for the last rank, so ranks are compared without
 * it. */
static inline int64_t tree_work_ns(const struct tree_sums *sums)
{
	return (int64_t)((uint64_t)sums->gpu_ns - (uint64_t)sums->communication_ns);
}

/* Of the processes that have a node: the one with most, and the extremes. */
struct tree_extremes {
	uint32_t slowest;
	int64_t slowest_ns, fastest_ns;
};

struct tree_node {
	uint32_t parent;
	uint8_t kind;
	bool is_frame; /* an operation that is a frame of Python */
	uint16_t depth;
	uint32_t process;     /* in a tree by rank */
	uint32_t name;	      /* index in names */
	const char *category; /* of an operation; a constant; NULL: unknown */
	uint64_t count;	      /* ranges or calls; in a kernel's node kernels */
	uint64_t open;	      /* without an end, so not in host_ns */
	int64_t host_ns;
	struct tree_sums self; /* of the kernels of this node itself */
	struct tree_sums all;  /* including the nodes below */
	/*
	 * In a merged tree: the number of processes that have the node, and what of their GPU time
	 * is most and least: of all of it, and of tree_work_ns().
	 */
	uint32_t processes;
	struct tree_extremes gpu, work;
};

struct tree_process {
	int64_t id, pid;
	bool has_rank, is_wanted;
	int64_t rank;
	uint32_t node;
	size_t first_call, calls, first_marker, markers; /* indexes in calls and markers below */
};

struct tree_call {
	uint32_t number, node; /* number: in its process */
	int64_t start_ns;
};

struct tree_marker {
	int64_t id;
	uint32_t node;
};

struct tree {
	struct tree_node *nodes; /* parents come before their children; [0] is the root */
	size_t node_count, node_capacity;
	struct idmap node_of; /* keyed by parent, kind and name */
	int64_t *names;	      /* ids of texts, tids, or indexes of processes */
	size_t name_count, name_capacity;
	struct idmap name_of;
	char **texts; /* one per name; NULL if it is not a text */
	bool borrows_texts;
	struct tree_process *processes;
	size_t process_count, wanted;
	struct tree_call *calls;
	size_t call_count, call_capacity;
	struct tree_marker *markers;
	size_t marker_count, marker_capacity;
	uint64_t lost_calls, lost_ranges; /* kernels that refer to one that has no row */
	uint64_t folded;		  /* names that became "(other names)" */
	uint32_t *children;		  /* grouped by parent, the most GPU time first */
	uint32_t *first_child;		  /* of each node, and the end */
	uint32_t *place;		  /* of each node, in depth-first order */
};

/*
 * Builds a tree with one node per process and thread above the ranges. @ranks limits it to these.
 * With @steps (POSIX extended, compiled), ranges whose text matches are one node for all numbers at
 * the end of the match; with NULL each text is a name of its own. Returns 0, or -errno with the
 * reason in query_error().
 */
int tree_new(const struct trace *trace, const struct choice_list *ranks, const regex_t *steps,
	struct tree **ret);
/* Merges all processes and threads of @tree, with their spread; borrows texts of @tree. */
struct tree *tree_merge(const struct tree *tree);
void tree_free_p(struct tree **tree);

/*
 * Returns the child of this kind and name, and creates it if needed; TREE_NONE if memory is short.
 */
uint32_t tree_child(struct tree *tree, uint32_t parent, enum tree_kind kind, int64_t name);
void tree_add_costs(struct tree_sums *to, const struct tree_sums *from);
/* Sums up the nodes and sorts the children. */
void tree_finish(struct tree *tree);
/*
 * Returns "rank 3", "thread 7", or the text, unescaped; @buffer is used for names that are not
 * texts.
 */
const char *tree_name(const struct tree *tree, const struct tree_node *node, char buffer[64]);
