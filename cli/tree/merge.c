// SPDX-License-Identifier: MIT
/* Merges the trees of all processes and threads. */
#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/base/wrapping.h"
#include "cli/tree/tree.h"
#include "proto/base/cleanup.h"

struct merging {
	const struct tree *from;
	struct tree *to;
	uint32_t *into; /* for each node of @from, its node in @to */
	/* For the current process: GPU time in each node of @to, the same without communication,
	 * and which nodes it has. */
	int64_t *gpu_ns, *work_ns;
	bool *has;
	uint32_t *touched;
	/* Nodes of @from, sorted by process. */
	uint32_t *nodes;
	size_t *first;
};

static void merging_done(struct merging *m)
{
	free(m->into);
	free(m->gpu_ns);
	free(m->work_ns);
	free(m->has);
	free(m->touched);
	free(m->nodes);
	free(m->first);
}

static void add_most(uint64_t count, uint64_t other, int64_t *most, int64_t value)
{
	if (other && (!count || value > *most))
		*most = value;
}

static void add_node(struct tree_node *to, const struct tree_node *from)
{
	struct tree_sums *self = &to->self;

	to->count += from->count;
	to->open += from->open;
	to->host_ns = (int64_t)((uint64_t)to->host_ns + (uint64_t)from->host_ns);
	if (from->kind == TREE_OP) {
		to->category = from->category;
		tree_add_costs(self, &from->self);
	}
	/* The sums of its kernels are added when all nodes are summed up. */
	if (from->kind != TREE_KERNEL)
		return;
	self->kernels += from->self.kernels;
	self->untimed += from->self.untimed;
	self->gpu_ns = wrap_plus(self->gpu_ns, from->self.gpu_ns);
	self->communication_ns = wrap_plus(self->communication_ns, from->self.communication_ns);
	add_most(self->launched, from->self.launched, &self->launch_max_ns,
		from->self.launch_max_ns);
	add_most(self->queued, from->self.queued, &self->queue_max_ns, from->self.queue_max_ns);
	self->launched += from->self.launched;
	self->queued += from->self.queued;
	self->launch_ns = (int64_t)((uint64_t)self->launch_ns + (uint64_t)from->self.launch_ns);
	self->queue_ns = (int64_t)((uint64_t)self->queue_ns + (uint64_t)from->self.queue_ns);
}

/* Parents come before their children. */
static void map_nodes(struct merging *m)
{
	const struct tree *from = m->from;

	for (size_t i = 1; i < from->node_count; i++) {
		const struct tree_node *node = from->nodes + i;
		uint32_t into = m->into[node->parent];

		if (node->kind > TREE_THREAD)
			into = tree_child(m->to, into, node->kind, from->names[node->name]);
		m->into[i] = into;
		if (node->kind > TREE_THREAD)
			add_node(m->to->nodes + into, node);
	}
}

/* ---- spread over the processes --------------------------------------------------------- */

static void group_by_process(struct merging *m)
{
	const struct tree *from = m->from;
	size_t n = from->process_count;

	m->nodes = xcalloc(from->node_count + 1, sizeof(*m->nodes));
	m->first = xcalloc(n + 2, sizeof(*m->first));
	m->gpu_ns = xcalloc(m->to->node_count + 1, sizeof(*m->gpu_ns));
	m->work_ns = xcalloc(m->to->node_count + 1, sizeof(*m->work_ns));
	m->has = xcalloc(m->to->node_count + 1, sizeof(*m->has));
	m->touched = xcalloc(m->to->node_count + 1, sizeof(*m->touched));
	for (size_t i = 1; i < from->node_count; i++)
		m->first[from->nodes[i].process + 2]++;
	for (size_t i = 1; i < n + 2; i++)
		m->first[i] += m->first[i - 1];
	for (uint32_t i = 1; i < from->node_count; i++)
		m->nodes[m->first[from->nodes[i].process + 1]++] = i;
}

static void add_extreme(
	struct tree_extremes *extremes, bool is_first, uint32_t process, int64_t took_ns)
{
	if (is_first || took_ns > extremes->slowest_ns) {
		extremes->slowest = process;
		extremes->slowest_ns = took_ns;
	}
	if (is_first || took_ns < extremes->fastest_ns)
		extremes->fastest_ns = took_ns;
}

static void spread_process(struct merging *m, uint32_t process)
{
	size_t touched = 0;

	for (size_t i = m->first[process]; i < m->first[process + 1]; i++) {
		const struct tree_node *node = m->from->nodes + m->nodes[i];
		uint32_t into = m->into[m->nodes[i]];

		if (node->kind <= TREE_THREAD)
			continue;
		if (!m->has[into]) {
			m->has[into] = true;
			m->gpu_ns[into] = m->work_ns[into] = 0;
			m->touched[touched++] = into;
		}
		m->gpu_ns[into] = wrap_plus(m->gpu_ns[into], node->all.gpu_ns);
		m->work_ns[into] = wrap_plus(m->work_ns[into], tree_work_ns(&node->all));
	}
	for (size_t i = 0; i < touched; i++) {
		struct tree_node *node = m->to->nodes + m->touched[i];

		add_extreme(&node->gpu, !node->processes, process, m->gpu_ns[m->touched[i]]);
		add_extreme(&node->work, !node->processes, process, m->work_ns[m->touched[i]]);
		node->processes++;
		m->has[m->touched[i]] = false;
	}
}

static void take_texts(const struct tree *from, struct tree *to)
{
	to->borrows_texts = true;
	to->texts = xcalloc(to->name_count + 1, sizeof(*to->texts));
	for (size_t i = 0; i < to->name_count; i++) {
		uint32_t at = idmap_find(&from->name_of, to->names[i]);

		if (at != IDMAP_NONE)
			to->texts[i] = from->texts[at];
	}
}

struct tree *tree_merge(const struct tree *tree)
{
	struct tree *to = xcalloc(1, sizeof(*to));
	CLEANUP(merging_done)
	struct merging m = {
		.from = tree,
		.to = to,
		.into = xcalloc(tree->node_count + 1, sizeof(*m.into)),
	};

	to->nodes = xcalloc(1, sizeof(*to->nodes));
	to->node_count = to->node_capacity = 1;
	map_nodes(&m);
	group_by_process(&m);
	for (uint32_t i = 0; i < tree->process_count; i++)
		spread_process(&m, i);
	take_texts(tree, to);
	tree_finish(to);
	return to;
}
