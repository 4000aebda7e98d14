/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Ranges and host calls as a tree, with the GPU time of the kernels that were
 * submitted in them (docs/commands.md). Siblings of one name are one node. One pass
 * over the dispatches; memory: 16 bytes a host call and a range, and the nodes,
 * of which there are at most TREE_NODES_MAX. One thread.
 */
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/id_map.h"
#include "cli/database/query.h"
#include "proto/settings/selection.h"

#define TREE_NONE	UINT32_MAX
/* Further names become one node "(other names)" of their parent. */
#define TREE_NODES_MAX	((size_t)1 << 19)
#define TREE_OTHER_NAME INT64_MIN
/* Names of operations with their shapes are no texts of the file: this and below. */
#define TREE_OP_NAME	(-((int64_t)1 << 48))
/* What is nested deeper belongs to the node at this depth. */
#define TREE_DEPTH_MAX	128

enum tree_kind {
	TREE_ROOT,
	TREE_PROCESS, /* name: index of processes */
	TREE_THREAD,  /* name: tid; 0: unknown */
	TREE_RANGE,   /* name: id of a text, as below */
	TREE_STARTED, /* a range that may end on another thread; no kernel hangs on it
		       */
	TREE_OP, /* of a framework; name: TREE_OP_NAME and below */
	TREE_CALL,
	TREE_KERNEL,
	TREE_OTHER, /* names for which there was no room */
};

struct tree_sums {
	uint64_t kernels, untimed;
	int64_t gpu_ns;
	uint64_t launched; /* kernels with a call; from its begin to their start */
	int64_t launch_ns, launch_max_ns;
	uint64_t queued; /* kernels with a submission; from that to their start */
	int64_t queue_ns, queue_max_ns;
};

struct tree_node {
	uint32_t parent;
	uint8_t kind;
	uint16_t depth;
	uint32_t process; /* in a tree by rank */
	uint32_t name;	  /* index of names */
	uint64_t count;	  /* ranges, calls; kernels of a kernel's node */
	uint64_t open;	  /* without an end; in no host_ns */
	int64_t host_ns;
	struct tree_sums self; /* of the kernels right here */
	struct tree_sums all;  /* and below */
	/* In a merged tree: processes that have it, and the extremes of their
	 * all.gpu_ns. */
	uint32_t processes, slowest;
	int64_t slowest_ns, fastest_ns;
};

struct tree_process {
	int64_t id, pid;
	bool has_rank, is_wanted;
	int64_t rank;
	uint32_t node;
	size_t first_call, calls, first_marker, markers; /* of those below */
};

struct tree_call {
	uint32_t number, node; /* in its process */
	int64_t start_ns;
};

struct tree_marker {
	int64_t id;
	uint32_t node;
};

struct tree {
	struct tree_node *nodes; /* a parent comes before its children; [0] is the root */
	size_t node_count, node_capacity;
	struct idmap node_of; /* parent, kind, name */
	int64_t *names;	      /* ids of texts, tids, indexes of processes */
	size_t name_count, name_capacity;
	struct idmap name_of;
	char **texts; /* one a name; NULL: it is no text */
	bool borrows_texts;
	struct tree_process *processes;
	size_t process_count, wanted;
	struct tree_call *calls;
	size_t call_count, call_capacity;
	struct tree_marker *markers;
	size_t marker_count, marker_capacity;
	uint64_t lost_calls, lost_ranges; /* kernels that name one without a row */
	uint64_t folded;		  /* names that became "(other names)" */
	uint32_t *children;		  /* grouped by parent, most GPU time first */
	uint32_t *first_child;		  /* of each node, and the end */
	uint32_t *place;		  /* of each node, depth first */
};

/*
 * One node a process and thread above those of ranges. @ranks: these alone.
 * @steps: ranges whose text matches (POSIX extended, compiled) are one for all
 * numbers at the end of the match; NULL: each text is a name of its own. 0 or
 * -errno; then query_error() tells, or it is -ENOMEM.
 */
int tree_new(struct query *query, const struct choice_list *ranks, const regex_t *steps,
	struct tree **ret);
/* All processes and threads of @tree as one, with their spread; it borrows
 * texts of @tree. -ENOMEM.
 */
int tree_merge(const struct tree *tree, struct tree **ret);
void tree_free_p(struct tree **tree);

/* The child of this kind and name, made when it is new; TREE_NONE: no memory.
 */
uint32_t tree_child(struct tree *tree, uint32_t parent, enum tree_kind kind, int64_t name);
/* Sums of what is below, and children in order. -ENOMEM. */
int tree_finish(struct tree *tree);
/* "rank 3", "thread 7", or the text, unescaped; @buffer for what is no text. */
const char *tree_name(const struct tree *tree, const struct tree_node *node, char buffer[64]);
