// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/tree/costs.h"
#include "cli/tree/tree.h"
#include "cli/trace/steps/step_names.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

/* Host calls are numbered within their process; the upper bits of an id contain the process. */
#define CALL_NUMBER_MASK 0xffffffffffll

struct tree_shape {
	uint32_t process; /* TREE_NONE: not wanted */
	int64_t kernel;
	const struct gpu_peak *peak; /* NULL: unknown */
	uint32_t parent, leaf;	     /* the last pair of these, because dispatches repeat */
};

struct tree_op_name {
	char *text; /* "aten::mm [[8, 16], [16, 4]]" */
	const char *category;
};

/* An operation of a framework. */
struct tree_op {
	uint32_t node;
	bool has_marker;
	int64_t marker;	 /* the range around it */
	uint32_t around; /* the operation around it, or TREE_NONE */
	/* the outermost one of these, and of itself, whose cost is known, or TREE_NONE */
	uint32_t costed;
	uint32_t cost; /* of itself: index in costs, or COST_NONE */
	bool has_kernel, has_peak;
};

struct loading {
	const struct trace *trace;
	struct query *query; /* of the trace */
	struct tree *tree;
	struct idmap process_of;
	struct step_names steps;
	struct tree_shape *shapes; /* as those of the trace */
	/* Keyed by ids of operations, of calls, of names. */
	struct idmap op_of, op_of_call, op_name_of;
	struct tree_op *ops;
	size_t op_count, op_capacity;
	struct tree_op_name *op_names;
	size_t op_name_count, op_name_capacity;
	struct costs costs;
};

static void loading_done(struct loading *loading)
{
	idmap_done(&loading->process_of);
	idmap_done(&loading->op_of);
	idmap_done(&loading->op_of_call);
	idmap_done(&loading->op_name_of);
	for (size_t i = 0; i < loading->op_name_count; i++)
		free(loading->op_names[i].text);
	free(loading->op_names);
	free(loading->ops);
	costs_done(&loading->costs);
	step_names_done(&loading->steps);
	free(loading->shapes);
}

/* ---- processes ------------------------------------------------------------------------- */

static bool is_wanted(const struct choice_list *ranks, const struct tree_process *p)
{
	return !ranks->count || (p->has_rank && p->rank >= 0 && p->rank <= UINT32_MAX &&
					choice_has(ranks, (uint32_t)p->rank));
}

/* Sorted by rank like all other tables: this is the order in the tree. */
static void add_processes(struct loading *loading, const struct choice_list *ranks)
{
	const struct trace *trace = loading->trace;
	struct tree *tree = loading->tree;

	tree->processes = xcalloc(trace->process_count + 1, sizeof(*tree->processes));
	for (; tree->process_count < trace->process_count; tree->process_count++) {
		const struct trace_process *from = trace->by_rank[tree->process_count];
		struct tree_process *p = tree->processes + tree->process_count;
		uint32_t *at = idmap_at(&loading->process_of, from->id);

		*at = (uint32_t)tree->process_count;
		*p = (struct tree_process){.id = from->id,
			.has_rank = from->has_rank,
			.rank = from->rank,
			.pid = from->pid,
			.node = TREE_NONE};
		p->is_wanted = is_wanted(ranks, p);
		tree->wanted += p->is_wanted;
	}
}

/* Returns NULL if the process is not wanted or the file is damaged. */
static struct tree_process *find_process(const struct loading *loading, int64_t id)
{
	uint32_t at = idmap_find(&loading->process_of, id);

	return at == IDMAP_NONE || !loading->tree->processes[at].is_wanted
		       ? NULL
		       : loading->tree->processes + at;
}

static uint32_t thread_node(struct tree *tree, struct tree_process *p, int64_t tid)
{
	if (p->node == TREE_NONE) {
		p->node = tree_child(tree, 0, TREE_PROCESS, p - tree->processes);
		tree->nodes[p->node].process = (uint32_t)(p - tree->processes);
	}
	return tree_child(tree, p->node, TREE_THREAD, tid);
}

/* ---- ranges ---------------------------------------------------------------------------- */

static uint32_t marker_node(const struct tree *tree, const struct tree_process *p, int64_t id)
{
	const struct tree_marker *markers = tree->markers + p->first_marker;
	size_t at = PARTITION_POINT(p->markers, i, markers[i].id < id);

	return at < p->markers && markers[at].id == id ? markers[at].node : TREE_NONE;
}

static void count_node(struct tree_node *node, const struct query_rows *rows, int start, int end)
{
	node->count++;
	if (query_is_null(rows, end) || query_is_null(rows, start))
		node->open += query_is_null(rows, end);
	else
		node->host_ns =
			(int64_t)((uint64_t)node->host_ns + (uint64_t)query_integer(rows, end) -
				  (uint64_t)query_integer(rows, start));
}

static void add_marker(struct loading *loading, const struct query_rows *rows)
{
	struct tree *tree = loading->tree;
	struct tree_process *p = find_process(loading, query_integer(rows, 0));
	const char *kind = query_text(rows, 4);
	bool is_push = !kind || strcmp(kind, "start") != 0;
	uint32_t parent = TREE_NONE, node;

	if (!p)
		return;
	if (!p->markers)
		p->first_marker = tree->marker_count;
	if (!query_is_null(rows, 2))
		parent = marker_node(tree, p, query_integer(rows, 2));
	if (parent == TREE_NONE)
		parent = thread_node(tree, p, query_integer(rows, 3));
	node = tree_child(tree, parent, is_push ? TREE_RANGE : TREE_STARTED,
		step_names_name(&loading->steps, query_integer(rows, 5)));
	GROW(tree->markers, tree->marker_count, tree->marker_capacity);
	count_node(tree->nodes + node, rows, 6, 7);
	tree->markers[tree->marker_count++] = (struct tree_marker){query_integer(rows, 1), node};
	p->markers++;
}

/* ---- operations of a framework --------------------------------------------------------- */

/* Ids of texts in a file are below 2^31; without shapes only the name counts. */
static int64_t op_name_key(const struct query_rows *rows, int column)
{
	return (int64_t)((uint64_t)query_integer(rows, column) << 32 |
			 (uint64_t)query_integer(rows, column + 1));
}

static void add_op_name(struct loading *loading, const struct query_rows *rows)
{
	uint32_t *at = idmap_at(&loading->op_name_of, op_name_key(rows, 0));
	const char *name = query_text(rows, 2), *shapes = query_text(rows, 3);
	char *text;

	GROW(loading->op_names, loading->op_name_count, loading->op_name_capacity);
	text = xasprintf("%s%s%s", name ? name : "", shapes ? " " : "", shapes ? shapes : "");
	*at = (uint32_t)loading->op_name_count;
	loading->op_names[loading->op_name_count++] =
		(struct tree_op_name){text, name ? op_category(name) : NULL};
}

static const struct tree_op *find_op(const struct loading *loading, int64_t id)
{
	uint32_t at = idmap_find(&loading->op_of, id);

	return at == IDMAP_NONE ? NULL : loading->ops + at;
}

/*
 * True if the operation is the inner one of an operation and a range that both contain something: a
 * range that does not contain the operation began within it.
 */
static bool is_inner(const struct tree_op *op, bool has_marker, int64_t marker)
{
	return op && (!has_marker || (op->has_marker && op->marker == marker));
}

static void add_op(struct loading *loading, const struct query_rows *rows)
{
	struct tree *tree = loading->tree;
	struct tree_process *p = find_process(loading, query_integer(rows, 0));
	int64_t id = query_integer(rows, 1), process = id & ~CALL_NUMBER_MASK;
	const struct tree_op *around;
	struct tree_op op = {.has_marker = !query_is_null(rows, 8),
		.marker = query_integer(rows, 8),
		.around = TREE_NONE,
		.costed = TREE_NONE,
		.cost = COST_NONE};
	uint32_t name = idmap_find(&loading->op_name_of, op_name_key(rows, 4)), parent = TREE_NONE,
		 *at;

	if (!p || name == IDMAP_NONE)
		return;
	around = query_is_null(rows, 2) ? NULL : find_op(loading, process | query_integer(rows, 2));
	if (around)
		op.around = (uint32_t)(around - loading->ops);
	if (is_inner(around, op.has_marker, op.marker))
		parent = around->node;
	else if (op.has_marker)
		parent = marker_node(tree, p, op.marker);
	if (parent == TREE_NONE)
		parent = thread_node(tree, p, query_integer(rows, 3));
	op.node = tree_child(tree, parent, TREE_OP, TREE_OP_NAME - (int64_t)name);
	at = idmap_at(&loading->op_of, id);
	GROW(loading->ops, loading->op_count, loading->op_capacity);
	*at = (uint32_t)loading->op_count;
	count_node(tree->nodes + op.node, rows, 6, 7);
	tree->nodes[op.node].is_frame = query_integer(rows, 9);
	tree->nodes[op.node].category = loading->op_names[name].category;
	loading->ops[loading->op_count++] = op;
}

/* Operations come before those in them. */
static void add_op_cost(struct loading *loading, const struct query_rows *rows)
{
	uint32_t at = idmap_find(&loading->op_of, query_integer(rows, 0));
	struct tree_op *op = at == IDMAP_NONE ? NULL : loading->ops + at;

	if (!op || !loading->costs.count)
		return;
	op->cost = costs_find(
		&loading->costs, &(struct op_inputs){query_integer(rows, 1), query_integer(rows, 2),
					 query_integer(rows, 3), query_integer(rows, 4)});
	if (op->around != TREE_NONE)
		op->costed = loading->ops[op->around].costed;
	if (op->costed == TREE_NONE && op->cost != COST_NONE)
		op->costed = at;
}

static void add_call_op(struct loading *loading, const struct query_rows *rows)
{
	int64_t id = query_integer(rows, 0);
	uint32_t op =
		idmap_find(&loading->op_of, (id & ~CALL_NUMBER_MASK) | query_integer(rows, 1));

	if (op != IDMAP_NONE)
		*idmap_at(&loading->op_of_call, id) = op;
}

/* ---- calls ----------------------------------------------------------------------------- */

/* Numbers nearly always have no gaps. */
static const struct tree_call *find_call(
	const struct tree *tree, const struct tree_process *p, int64_t number)
{
	const struct tree_call *calls = tree->calls + p->first_call;
	uint64_t guess;
	size_t at;

	if (!p->calls || number < calls[0].number || number > UINT32_MAX)
		return NULL;
	guess = (uint64_t)number - calls[0].number;
	if (guess < p->calls && calls[guess].number == number)
		return calls + guess;
	at = PARTITION_POINT(p->calls, i, calls[i].number < number);
	return at < p->calls && calls[at].number == number ? calls + at : NULL;
}

static uint32_t call_parent(
	const struct loading *loading, struct tree_process *p, const struct query_rows *rows)
{
	struct tree *tree = loading->tree;
	uint32_t op = idmap_find(&loading->op_of_call, query_integer(rows, 1));
	const struct tree_call *around =
		query_is_null(rows, 2) ? NULL : find_call(tree, p, query_integer(rows, 2));
	uint32_t parent = around ? around->node : TREE_NONE;

	if (parent == TREE_NONE && op != IDMAP_NONE &&
		is_inner(loading->ops + op, !query_is_null(rows, 7), query_integer(rows, 7)))
		parent = loading->ops[op].node;
	if (parent == TREE_NONE && !query_is_null(rows, 7))
		parent = marker_node(tree, p, query_integer(rows, 7));
	return parent == TREE_NONE ? thread_node(tree, p, query_integer(rows, 3)) : parent;
}

static void add_call(struct loading *loading, const struct query_rows *rows)
{
	struct tree *tree = loading->tree;
	struct tree_process *p = find_process(loading, query_integer(rows, 0));
	int64_t number = query_integer(rows, 1) & CALL_NUMBER_MASK;
	uint32_t parent, node;

	if (!p || number > UINT32_MAX)
		return;
	if (!p->calls)
		p->first_call = tree->call_count;
	parent = call_parent(loading, p, rows);
	node = tree_child(tree, parent, TREE_CALL, query_integer(rows, 4));
	GROW(tree->calls, tree->call_count, tree->call_capacity);
	count_node(tree->nodes + node, rows, 5, 6);
	tree->calls[tree->call_count++] =
		(struct tree_call){(uint32_t)number, node, query_integer(rows, 5)};
	p->calls++;
}

/* ---- dispatches ------------------------------------------------------------------------ */

static void set_shapes(struct loading *loading)
{
	const struct trace *trace = loading->trace;

	loading->shapes = xcalloc(trace->shape_count + 1, sizeof(*loading->shapes));
	for (size_t i = 0; i < trace->shape_count; i++) {
		const struct trace_shape *from = trace->shapes + i;
		const struct tree_process *p = find_process(loading, from->process_id);

		loading->shapes[i] = (struct tree_shape){
			.process = p ? (uint32_t)(p - loading->tree->processes) : TREE_NONE,
			.kernel = from->kernel ? from->kernel->same->id : from->kernel_id,
			.peak = costs_peak(&loading->costs, from->gpu_id),
			.parent = TREE_NONE,
		};
	}
}

/* Returns the parent of a dispatch: its call, otherwise its range, otherwise its thread. */
static uint32_t dispatch_parent(struct tree *tree, struct tree_process *p,
	const struct query_rows *rows, const struct tree_call **ret_call)
{
	uint32_t parent = TREE_NONE;

	*ret_call = NULL;
	if (!query_is_null(rows, 6)) {
		*ret_call = find_call(tree, p, query_integer(rows, 6));
		if (*ret_call)
			return (*ret_call)->node;
		tree->lost_calls++;
	}
	if (!query_is_null(rows, 5)) {
		parent = marker_node(tree, p, query_integer(rows, 5));
		tree->lost_ranges += parent == TREE_NONE;
	}
	return parent == TREE_NONE ? thread_node(tree, p, query_integer(rows, 4)) : parent;
}

static void add_latency(uint64_t *count, int64_t *sum, int64_t *most, int64_t latency)
{
	if (!(*count)++ || latency > *most)
		*most = latency;
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)latency);
}

static void add_kernel(struct tree_node *node, const struct category *category,
	const struct query_rows *rows, const struct tree_call *call)
{
	struct tree_sums *self = &node->self;
	int64_t start = query_integer(rows, 1);

	node->count++;
	self->kernels++;
	if (query_is_null(rows, 1)) {
		self->untimed++;
		return;
	}
	self->gpu_ns = wrap_plus(self->gpu_ns, query_integer(rows, 2));
	if (category->class == CATEGORY_COMMUNICATION)
		self->communication_ns = wrap_plus(self->communication_ns, query_integer(rows, 2));
	if (call)
		add_latency(&self->launched, &self->launch_ns, &self->launch_max_ns,
			(int64_t)((uint64_t)start - (uint64_t)call->start_ns));
	if (!query_is_null(rows, 3))
		add_latency(&self->queued, &self->queue_ns, &self->queue_max_ns,
			query_integer(rows, 3));
}

/* Counts what the operation around @call costs, with its first kernel, and the kernel's time. */
static void add_cost(struct loading *loading, const struct tree_process *p,
	const struct tree_shape *shape, const struct tree_call *call, const struct query_rows *rows)
{
	uint32_t at = idmap_find(&loading->op_of_call, p->id << 40 | call->number);
	struct tree_op *op = at == IDMAP_NONE || loading->ops[at].costed == TREE_NONE
				     ? NULL
				     : loading->ops + loading->ops[at].costed;
	struct tree_sums *self;
	const struct op_cost *cost;
	double least_ns;

	if (!op || query_is_null(rows, 1))
		return;
	self = &loading->tree->nodes[op->node].self;
	cost = &loading->costs.ops[op->cost].cost;
	if (!op->has_kernel) {
		least_ns = gpu_peak_least_ns(shape->peak, cost);
		op->has_kernel = true;
		op->has_peak = least_ns >= 0;
		self->flops += cost->flops;
		self->bytes += cost->has_bytes ? cost->bytes : 0;
		self->least_ns += op->has_peak ? least_ns : 0;
	}
	self->cost_ns = wrap_plus(self->cost_ns, query_integer(rows, 2));
	if (op->has_peak)
		self->peak_ns = wrap_plus(self->peak_ns, query_integer(rows, 2));
}

static void add_dispatch(struct loading *loading, const struct query_rows *rows)
{
	struct tree *tree = loading->tree;
	size_t at = trace_shape(loading->trace, query_integer(rows, 0));
	struct tree_shape *shape = loading->shapes + at;
	const struct tree_call *call;
	uint32_t parent;

	/* It is not wanted, or the file is damaged. */
	if (at == loading->trace->shape_count || shape->process == TREE_NONE)
		return;
	parent = dispatch_parent(tree, tree->processes + shape->process, rows, &call);
	if (parent != shape->parent) {
		shape->leaf = tree_child(tree, parent, TREE_KERNEL, shape->kernel);
		shape->parent = parent;
	}
	add_kernel(tree->nodes + shape->leaf, loading->trace->shapes[at].category, rows, call);
	if (call && loading->costs.count)
		add_cost(loading, tree->processes + shape->process, shape, call, rows);
}

/* ---- the whole tree -------------------------------------------------------------------- */

/* Loads the texts that are names of nodes. */
static int load_texts(struct loading *loading)
{
	struct tree *tree = loading->tree;
	int r = 0;

	tree->texts = xcalloc(tree->name_count + 1, sizeof(*tree->texts));
	for (size_t i = 0; i < tree->name_count; i++) {
		int64_t name = tree->names[i];
		const char *text = name <= TREE_OP_NAME && name != TREE_OTHER_NAME
					   ? loading->op_names[TREE_OP_NAME - name].text
					   : step_names_text(&loading->steps, name);

		tree->texts[i] = text ? xstrdup(text) : NULL;
	}
	QUERY_EACH (r, loading->query, "strings", rows) {
		uint32_t at = idmap_find(&tree->name_of, query_integer(rows, 0));

		if (at == IDMAP_NONE || tree->texts[at])
			continue;
		tree->texts[at] = xstrdup(query_text(rows, 1) ? query_text(rows, 1) : "");
	}
	return r;
}

/* Gives operations whose names tell no category that of the first kernel that they launched. */
static void name_categories(struct tree *tree)
{
	for (size_t i = 0; i < tree->node_count; i++) {
		const struct tree_node *kernel = tree->nodes + i;
		struct tree_node *op = tree->nodes + kernel->parent;
		char buffer[64];

		if (kernel->kind != TREE_KERNEL)
			continue;
		while (op->kind == TREE_CALL)
			op = tree->nodes + op->parent;
		if (op->kind == TREE_OP && !op->is_frame && !op->category)
			op->category = op_category_of_kernel(tree_name(tree, kernel, buffer));
	}
}

static int load(struct loading *loading, const struct choice_list *ranks, const regex_t *steps)
{
	/* In this order: each finds the nodes of those before it. */
	static const struct {
		const char *query;
		void (*add)(struct loading *loading, const struct query_rows *rows);
	} parts[] = {
		{"tree_markers", add_marker},
		{"tree_op_names", add_op_name},
		{"tree_ops", add_op},
		{"tree_op_inputs", add_op_cost},
		{"tree_call_ops", add_call_op},
		{"tree_calls", add_call},
		{"tree_dispatches", add_dispatch},
	};
	int r = steps ? step_names_load(loading->query, steps, &loading->steps) : 0;

	if (!r)
		r = costs_load(loading->query, &loading->costs);
	add_processes(loading, ranks);
	set_shapes(loading);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		QUERY_EACH (r, loading->query, parts[i].query, rows)
			parts[i].add(loading, rows);
	if (!r)
		r = load_texts(loading);
	if (r)
		return r;
	name_categories(loading->tree);
	tree_finish(loading->tree);
	return 0;
}

int tree_new(const struct trace *trace, const struct choice_list *ranks, const regex_t *steps,
	struct tree **ret)
{
	CLEANUP(tree_free_p) struct tree *tree = xcalloc(1, sizeof(*tree));
	CLEANUP(loading_done)
	struct loading loading = {.trace = trace, .query = trace->query, .tree = tree};
	int r;

	GROW(tree->nodes, tree->node_count, tree->node_capacity);
	tree->nodes[tree->node_count++] = (struct tree_node){.kind = TREE_ROOT};
	r = load(&loading, ranks, steps);
	if (r)
		return r;
	*ret = TAKE(tree);
	return 0;
}
