// SPDX-License-Identifier: MIT
/* Nodes by parent, kind and name; sums of the nodes below; the order of children. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/tree/tree.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

void tree_free_p(struct tree **tree)
{
	struct tree *t = *tree;

	if (!t)
		return;
	for (size_t i = 0; t->texts && !t->borrows_texts && i < t->name_count; i++)
		free(t->texts[i]);
	free(t->texts);
	free(t->nodes);
	free(t->names);
	free(t->processes);
	free(t->calls);
	free(t->markers);
	free(t->children);
	free(t->first_child);
	free(t->place);
	idmap_done(&t->node_of);
	idmap_done(&t->name_of);
	free(t);
	*tree = NULL;
}

/*
 * Ids of texts, thread ids and indexes of processes cannot be confused, because nodes have a kind.
 */
static uint32_t name_index(struct tree *tree, int64_t name)
{
	uint32_t *at = idmap_at(&tree->name_of, name);

	GROW(tree->names, tree->name_count, tree->name_capacity);
	if (*at == IDMAP_NONE) {
		*at = (uint32_t)tree->name_count;
		tree->names[tree->name_count++] = name;
	}
	return *at;
}

static uint32_t find_or_make(
	struct tree *tree, uint32_t parent, enum tree_kind kind, uint32_t name, size_t max)
{
	int64_t key = (int64_t)((uint64_t)parent << 36 | (uint64_t)kind << 32 | name);
	uint32_t found = idmap_find(&tree->node_of, key), *at;

	if (found != IDMAP_NONE || tree->node_count >= max)
		return found;
	at = idmap_at(&tree->node_of, key);
	GROW(tree->nodes, tree->node_count, tree->node_capacity);
	*at = (uint32_t)tree->node_count;
	tree->nodes[tree->node_count++] = (struct tree_node){
		.parent = parent,
		.kind = (uint8_t)kind,
		.name = name,
		.depth = (uint16_t)(tree->nodes[parent].depth + 1),
		.process = tree->nodes[parent].process,
		.gpu.slowest = TREE_NONE,
		.work.slowest = TREE_NONE,
	};
	return *at;
}

uint32_t tree_child(struct tree *tree, uint32_t parent, enum tree_kind kind, int64_t name)
{
	uint32_t index, node;

	if (tree->nodes[parent].depth >= TREE_DEPTH_MAX && kind != TREE_KERNEL)
		return parent;
	index = name_index(tree, name);
	if (index == TREE_NONE)
		return TREE_NONE;
	node = find_or_make(tree, parent, kind, index, TREE_NODES_MAX);
	if (node != TREE_NONE || tree->node_count < TREE_NODES_MAX)
		return node;
	tree->folded++;
	if (kind != TREE_KERNEL && tree->nodes[parent].kind == TREE_OTHER)
		return parent;
	index = name_index(tree, TREE_OTHER_NAME);
	/* At most two per parent, so at most three times as many nodes as the limit. */
	return index == TREE_NONE
		       ? TREE_NONE
		       : find_or_make(tree, parent, kind == TREE_KERNEL ? TREE_KERNEL : TREE_OTHER,
				 index, SIZE_MAX);
}

/* ---- sums ------------------------------------------------------------------------------ */

void tree_add_costs(struct tree_sums *to, const struct tree_sums *from)
{
	to->flops += from->flops;
	to->bytes += from->bytes;
	to->least_ns += from->least_ns;
	to->cost_ns = wrap_plus(to->cost_ns, from->cost_ns);
	to->peak_ns = wrap_plus(to->peak_ns, from->peak_ns);
}

static void add_sums(struct tree_sums *to, const struct tree_sums *from)
{
	to->kernels += from->kernels;
	to->untimed += from->untimed;
	to->gpu_ns = wrap_plus(to->gpu_ns, from->gpu_ns);
	to->communication_ns = wrap_plus(to->communication_ns, from->communication_ns);
	tree_add_costs(to, from);
	to->launch_ns = wrap_plus(to->launch_ns, from->launch_ns);
	to->queue_ns = wrap_plus(to->queue_ns, from->queue_ns);
	if (from->launched && (!to->launched || from->launch_max_ns > to->launch_max_ns))
		to->launch_max_ns = from->launch_max_ns;
	if (from->queued && (!to->queued || from->queue_max_ns > to->queue_max_ns))
		to->queue_max_ns = from->queue_max_ns;
	to->launched += from->launched;
	to->queued += from->queued;
}

static void sum_up(struct tree *tree)
{
	for (size_t i = 0; i < tree->node_count; i++)
		tree->nodes[i].all = tree->nodes[i].self;
	for (size_t i = tree->node_count; i-- > 1;) {
		const struct tree_node *node = tree->nodes + i;
		struct tree_node *parent = tree->nodes + node->parent;

		add_sums(&parent->all, &node->all);
		/* Time in a kernel's node is time of its parent itself. */
		if (node->kind == TREE_KERNEL)
			add_sums(&parent->self, &node->self);
	}
}

/* ---- children -------------------------------------------------------------------------- */

static int compare_children(const void *a, const void *b, void *context)
{
	const struct tree *tree = context;
	const struct tree_node *x = tree->nodes + *(const uint32_t *)a;
	const struct tree_node *y = tree->nodes + *(const uint32_t *)b;
	char x_name[64], y_name[64];
	int order;

	if (x->kind != y->kind && (x->kind <= TREE_THREAD || y->kind <= TREE_THREAD))
		return x->kind < y->kind ? -1 : 1;
	if (x->kind == TREE_PROCESS || x->kind == TREE_THREAD)
		return tree->names[x->name] < tree->names[y->name] ? -1 : 1;
	if (x->all.gpu_ns != y->all.gpu_ns)
		return x->all.gpu_ns < y->all.gpu_ns ? 1 : -1;
	if (x->host_ns != y->host_ns)
		return x->host_ns < y->host_ns ? 1 : -1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	/*
	 * Not sorted by id, because that depends on the order in which a collector received them.
	 */
	order = strcmp(tree_name(tree, x, x_name), tree_name(tree, y, y_name));
	if (order)
		return order;
	return tree->names[x->name] < tree->names[y->name]
		       ? -1
		       : tree->names[x->name] > tree->names[y->name];
}

/* Recursion is as deep as the tree, at most TREE_DEPTH_MAX. */
static void number(struct tree *tree, uint32_t at, uint32_t *next)
{
	tree->place[at] = (*next)++;
	for (uint32_t i = tree->first_child[at]; i < tree->first_child[at + 1]; i++)
		number(tree, tree->children[i], next);
}

void tree_finish(struct tree *tree)
{
	uint32_t next = 0;
	size_t n = tree->node_count;
	CLEANUP(free_p) uint32_t *fill = xcalloc(n + 1, sizeof(*fill));

	tree->children = xcalloc(n + 1, sizeof(*tree->children));
	tree->first_child = xcalloc(n + 2, sizeof(*tree->first_child));
	tree->place = xcalloc(n + 1, sizeof(*tree->place));
	sum_up(tree);
	for (size_t i = 1; i < n; i++)
		tree->first_child[tree->nodes[i].parent + 1]++;
	for (size_t i = 0; i < n; i++)
		tree->first_child[i + 1] += tree->first_child[i];
	for (uint32_t i = 1; i < n; i++) {
		uint32_t parent = tree->nodes[i].parent;

		tree->children[tree->first_child[parent] + fill[parent]++] = i;
	}
	for (size_t i = 0; i < n; i++)
		qsort_r(tree->children + tree->first_child[i], fill[i], sizeof(*tree->children),
			compare_children, tree);
	number(tree, 0, &next);
}

/* ---- reading --------------------------------------------------------------------------- */

const char *tree_name(const struct tree *tree, const struct tree_node *node, char buffer[64])
{
	const struct tree_process *p;

	switch ((enum tree_kind)node->kind) {
	case TREE_ROOT:
		return "all";
	case TREE_PROCESS:
		p = tree->processes + tree->names[node->name];
		if (p->has_rank)
			snprintf(buffer, 64, "rank %" PRId64, p->rank);
		else
			snprintf(buffer, 64, "process %" PRId64, p->id);
		return buffer;
	case TREE_THREAD:
		if (!tree->names[node->name])
			return "thread ?";
		snprintf(buffer, 64, "thread %" PRId64, tree->names[node->name]);
		return buffer;
	default:
		if (tree->names[node->name] == TREE_OTHER_NAME)
			return "(other names)";
		return tree->texts && tree->texts[node->name] && *tree->texts[node->name]
			       ? tree->texts[node->name]
			       : "(no name)";
	}
}
