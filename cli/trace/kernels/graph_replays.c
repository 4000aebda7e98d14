// SPDX-License-Identifier: MIT
#include "cli/trace/kernels/graph_replays.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/trace/kernels/host_call_key.h"
#include "proto/base/cleanup.h"

/*
 * Limit for all executable graphs together: some thousand graphs of some thousand calls. A forged
 * file may name more than there is memory for; its further graphs have no calls.
 */
#define EXEC_UNITS_MAX (UINT32_C(1) << 24)
/* Marks an address that is now an executable graph without RCCL calls; not an index. */
#define NO_CALLS       (GRAPH_NONE - 1)

/* A kernel that a captured call launched. */
struct graph_kernel {
	uint32_t unit;
	uint64_t stream; /* from which it was captured */
	bool has_size;
	int64_t size[TRACE_SIZES];
};

/* A communication kernel among the dispatches of an executable graph. */
struct graph_node {
	uint32_t exec, place;
	int64_t node; /* its position among all dispatches of a replay */
	int64_t size[TRACE_SIZES];
};

void graph_replays_done(struct graph_replays *g)
{
	free(g->calls);
	free(g->units);
	free(g->kernels);
	free(g->execs);
	free(g->exec_units);
	free(g->nodes);
	free(g->replays);
	idmap_done(&g->call_of_id);
	idmap_done(&g->replay_of_call);
	idmap_done(&g->node_of_key);
	*g = (struct graph_replays){0};
}

static int64_t process_of(int64_t call_id)
{
	return call_id >> HOST_CALL_PROCESS_SHIFT;
}

/* ---- captured calls and their kernels -------------------------------------------------- */

/* Expected from the calls alone: one kernel, or a copy if each communicator has one rank. */
struct expected {
	uint64_t stream;
	bool has_kernel;
};

static void add_call(struct graph_replays *g, const struct query_rows *rows,
	struct expected **expected, size_t *capacity)
{
	int64_t launch_id = query_integer(rows, 1);
	uint64_t graph = (uint64_t)query_integer(rows, 2);
	struct graph_unit *unit = g->unit_count ? g->units + g->unit_count - 1 : NULL;
	uint32_t *at;

	if (!unit || unit->launch_id != launch_id || unit->graph != graph) {
		GROW(*expected, g->unit_count, *capacity);
		GROW(g->units, g->unit_count, g->unit_capacity);
		(*expected)[g->unit_count] =
			(struct expected){.stream = (uint64_t)query_integer(rows, 4)};
		unit = g->units + g->unit_count++;
		*unit = (struct graph_unit){.launch_id = launch_id,
			.graph = graph,
			.first_call = (uint32_t)g->call_count};
	}
	(*expected)[g->unit_count - 1].has_kernel |= query_integer(rows, 3) != 1;
	GROW(g->calls, g->call_count, g->call_capacity);
	at = idmap_at(&g->call_of_id, query_integer(rows, 0));
	*at = (uint32_t)g->call_count;
	g->calls[g->call_count++] = query_integer(rows, 0);
	unit->calls++;
}

/*
 * Both are sorted by launch_id. If a group goes into several graphs, one for each GPU, its kernels
 * cannot be assigned, so none of them is known.
 */
static void add_kernel(struct graph_replays *g, const struct query_rows *rows, uint32_t *unit)
{
	int64_t launch_id = query_integer(rows, 0);
	struct graph_kernel kernel = {.stream = (uint64_t)query_integer(rows, 1), .has_size = true};

	while (*unit < g->unit_count && g->units[*unit].launch_id < launch_id)
		++*unit;
	if (*unit == g->unit_count || g->units[*unit].launch_id != launch_id ||
		(*unit + 1 < g->unit_count && g->units[*unit + 1].launch_id == launch_id))
		return;
	kernel.unit = *unit;
	for (int i = 0; i < TRACE_SIZES; i++) {
		kernel.size[i] = query_integer(rows, 2 + i);
		kernel.has_size &= !query_is_null(rows, 2 + i);
	}
	GROW(g->kernels, g->kernel_count, g->kernel_capacity);
	if (!g->units[*unit].kernels++)
		g->units[*unit].first_kernel = (uint32_t)g->kernel_count;
	g->kernels[g->kernel_count++] = kernel;
}

static int load_kernels(struct query *query, struct graph_replays *g)
{
	uint32_t unit = 0;
	int r = 0;

	QUERY_EACH (r, query, "captured_kernels", rows)
		add_kernel(g, rows, &unit);
	return r;
}

/* Used if no calls of HIP within those of RCCL were recorded. */
static void expect_kernels(struct graph_replays *g, const struct expected *expected)
{
	for (uint32_t i = 0; i < g->unit_count; i++) {
		if (!expected[i].has_kernel)
			continue;
		GROW(g->kernels, g->kernel_count, g->kernel_capacity);
		g->units[i].first_kernel = (uint32_t)g->kernel_count;
		g->units[i].kernels = 1;
		g->kernels[g->kernel_count++] =
			(struct graph_kernel){.unit = i, .stream = expected[i].stream};
	}
}

static int load_captured(struct query *query, struct graph_replays *g)
{
	CLEANUP(free_p) struct expected *expected = NULL;
	size_t capacity = 0;
	int r = 0;

	QUERY_EACH (r, query, "captured_calls", rows)
		add_call(g, rows, &expected, &capacity);
	if (!r && g->unit_count)
		r = load_kernels(query, g);
	if (!r && !g->kernel_count)
		expect_kernels(g, expected);
	return r;
}

/* ---- executable graphs and their launches ---------------------------------------------- */

enum what { MADE, ENDED, LAUNCHED };

/* The newest graph of each address, because addresses are reused. */
struct making {
	struct graph_replays *g;
	struct idmap exec_of_address, end_of_address; /* keys are per process */
	int64_t *ends;				      /* calls that ended a graph */
	size_t end_count, end_capacity;
	/* Keyed by the index of a captured call: number of executable graphs that begin with it. */
	struct idmap execs_of_call;
};

static void making_done(struct making *making)
{
	idmap_done(&making->exec_of_address);
	idmap_done(&making->end_of_address);
	idmap_done(&making->execs_of_call);
	free(making->ends);
}

/*
 * A key of an address in a process; two of them collide only if they differ in their upper bits
 * alone.
 */
static int64_t key_of(int64_t call_id, uint64_t address)
{
	return (int64_t)((uint64_t)process_of(call_id) << 48 ^ address);
}

static uint64_t address_of(const struct query_rows *rows, int column)
{
	const char *text = query_text(rows, column);

	return text ? strtoull(text, NULL, 16) : 0;
}

/* Adds the units that were captured into @graph since the previous graph of that address ended. */
static void add_units(struct making *m, struct graph_exec *exec, int64_t id, uint64_t graph)
{
	struct graph_replays *g = m->g;
	uint32_t end = idmap_find(&m->end_of_address, key_of(id, graph));
	int64_t from = end == IDMAP_NONE ? 0 : m->ends[end];

	exec->first_unit = (uint32_t)g->exec_unit_count;
	for (uint32_t i = 0; i < g->unit_count; i++) {
		const struct graph_unit *unit = g->units + i;

		if (unit->graph != graph || process_of(unit->launch_id) != process_of(id) ||
			unit->launch_id < from || unit->launch_id > id)
			continue;
		if (g->exec_unit_count == EXEC_UNITS_MAX)
			break;
		GROW(g->exec_units, g->exec_unit_count, g->exec_unit_capacity);
		g->exec_units[g->exec_unit_count++] = i;
		exec->units++;
	}
}

static void add_exec(struct making *m, const struct query_rows *rows)
{
	struct graph_replays *g = m->g;
	int64_t id = query_integer(rows, 0);
	struct graph_exec exec = {0};
	uint32_t *at, *before;

	add_units(m, &exec, id, address_of(rows, 3));
	at = idmap_at(&m->exec_of_address, key_of(id, address_of(rows, 2)));
	*at = NO_CALLS;
	if (!exec.units)
		return;
	*at = (uint32_t)g->exec_count;
	before = idmap_at(&m->execs_of_call, g->units[g->exec_units[exec.first_unit]].first_call);
	GROW(g->execs, g->exec_count, g->exec_capacity);
	*before = *before == IDMAP_NONE ? 0 : *before + 1;
	exec.ordinal = *before;
	g->execs[g->exec_count++] = exec;
}

static void add_end(struct making *m, const struct query_rows *rows)
{
	int64_t id = query_integer(rows, 0);
	uint32_t *at = idmap_at(&m->end_of_address, key_of(id, address_of(rows, 3)));

	GROW(m->ends, m->end_count, m->end_capacity);
	*at = (uint32_t)m->end_count;
	m->ends[m->end_count++] = id;
}

static void add_replay(struct making *m, const struct query_rows *rows)
{
	struct graph_replays *g = m->g;
	int64_t id = query_integer(rows, 0);
	uint32_t exec = idmap_find(&m->exec_of_address, key_of(id, address_of(rows, 2)));
	uint32_t *at;

	/* Beyond the shim's limit a replay has no number, so nothing can be matched. */
	if (exec >= NO_CALLS || query_is_null(rows, 4))
		return;
	at = idmap_at(&g->replay_of_call, id);
	GROW(g->replays, g->replay_count, g->replay_capacity);
	*at = (uint32_t)g->replay_count;
	g->replays[g->replay_count++] =
		(struct graph_replay){.call = id, .number = query_integer(rows, 4), .exec = exec};
}

static int load_graphs(struct query *query, struct graph_replays *g)
{
	CLEANUP(making_done) struct making m = {.g = g};
	int r = 0;

	QUERY_EACH (r, query, "graph_calls", rows) {
		switch (query_integer(rows, 1)) {
		case MADE:
			add_exec(&m, rows);
			break;
		case ENDED:
			add_end(&m, rows);
			break;
		case LAUNCHED:
			add_replay(&m, rows);
			break;
		}
	}
	return r;
}

/* ---- nodes ----------------------------------------------------------------------------- */

static int64_t node_key(uint32_t exec, int64_t node)
{
	return (int64_t)((uint64_t)exec << 32 | (uint32_t)node);
}

static void read_node(
	const struct trace *trace, struct graph_replays *g, const struct query_rows *rows)
{
	size_t shape_at = trace_shape(trace, query_integer(rows, 0));
	const struct trace_shape *shape = trace->shapes + shape_at;
	int64_t node = query_integer(rows, 2);
	uint32_t replay, exec, *at;

	if (shape_at == trace->shape_count || shape->category->class != CATEGORY_COMMUNICATION ||
		query_is_null(rows, 1) || query_is_null(rows, 2))
		return;
	replay = idmap_find(
		&g->replay_of_call, host_call_key(shape->process_id, query_integer(rows, 1)));
	if (replay == IDMAP_NONE)
		return;
	exec = g->replays[replay].exec;
	at = idmap_at(&g->node_of_key, node_key(exec, node));
	if (*at != IDMAP_NONE)
		return;
	*at = 0;
	GROW(g->nodes, g->node_count, g->node_capacity);
	g->nodes[g->node_count] = (struct graph_node){.exec = exec, .node = node};
	memcpy(g->nodes[g->node_count++].size, shape->size, sizeof(shape->size));
}

static int compare_nodes(const void *a, const void *b)
{
	const struct graph_node *x = a, *y = b;

	if (x->exec != y->exec)
		return x->exec < y->exec ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int load_nodes(const struct trace *trace, struct graph_replays *g)
{
	int r = 0;

	QUERY_EACH (r, trace->query, "graph_nodes", rows)
		read_node(trace, g, rows);
	if (r)
		return r;
	if (g->node_count)
		qsort(g->nodes, g->node_count, sizeof(*g->nodes), compare_nodes);
	for (uint32_t i = 0; i < g->node_count; i++) {
		struct graph_exec *exec = g->execs + g->nodes[i].exec;

		*idmap_at(&g->node_of_key, node_key(g->nodes[i].exec, g->nodes[i].node)) = i;
		if (!exec->nodes++)
			exec->first_node = i;
	}
	return 0;
}

/* ---- assigning nodes to units ---------------------------------------------------------- */

/* A captured or a dispatched kernel, for comparison by size and order. */
struct candidate {
	const int64_t *size;
	uint32_t order, at; /* at: for a kernel the position of its unit, for a node its index */
	uint64_t stream;
	bool has_size;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = memcmp(x->size, y->size, TRACE_SIZES * sizeof(*x->size));

	return order ? order : (x->order > y->order) - (x->order < y->order);
}

static uint32_t captured_kernels(
	const struct graph_replays *g, const struct graph_exec *exec, struct candidate *ret)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < exec->units; i++) {
		const struct graph_unit *unit = g->units + g->exec_units[exec->first_unit + i];

		for (uint32_t k = 0; k < unit->kernels; k++) {
			const struct graph_kernel *kernel = g->kernels + unit->first_kernel + k;

			if (ret)
				ret[n] = (struct candidate){
					kernel->size, n, i, kernel->stream, kernel->has_size};
			n++;
		}
	}
	return n;
}

/*
 * Kernels that were captured from one stream are dispatched in the order of the capture, whatever
 * is between. Kernels of several streams can be distinguished only by size: all that have one size
 * must be from one stream.
 */
static bool assign_nodes(struct candidate *captured, struct candidate *nodes, uint32_t n)
{
	bool is_one_stream = true, has_sizes = true;

	for (uint32_t i = 0; i < n; i++) {
		is_one_stream &= captured[i].stream == captured[0].stream;
		has_sizes &= captured[i].has_size;
	}
	if (!has_sizes)
		return is_one_stream;
	if (!is_one_stream) {
		qsort(captured, n, sizeof(*captured), compare_candidates);
		qsort(nodes, n, sizeof(*nodes), compare_candidates);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct candidate *a = captured + i, *before = i ? a - 1 : a;

		if (memcmp(a->size, nodes[i].size, TRACE_SIZES * sizeof(*a->size)) ||
			(a->stream != before->stream &&
				!memcmp(a->size, before->size, TRACE_SIZES * sizeof(*a->size))))
			return false;
	}
	return true;
}

static void tell(struct graph_replays *g, struct graph_exec *exec)
{
	uint32_t n = captured_kernels(g, exec, NULL);
	CLEANUP(free_p) struct candidate *captured = xcalloc(n + 1u, sizeof(*captured));
	CLEANUP(free_p) struct candidate *nodes = xcalloc(exec->nodes + 1u, sizeof(*nodes));

	(void)captured_kernels(g, exec, captured);
	for (uint32_t i = 0; i < exec->nodes; i++) {
		struct graph_node *node = g->nodes + exec->first_node + i;

		node->place = i;
		nodes[i] = (struct candidate){.size = node->size, .order = i, .at = i};
	}
	exec->is_told = n == exec->nodes && (!n || assign_nodes(captured, nodes, n));
	for (uint32_t i = 0; exec->is_told && i < n; i++)
		g->nodes[exec->first_node + nodes[i].at].place = captured[i].at;
}

int graph_replays_load(const struct trace *trace, bool has_nodes, struct graph_replays *ret)
{
	int r = load_captured(trace->query, ret);

	if (!r && ret->unit_count)
		r = load_graphs(trace->query, ret);
	if (!r && ret->replay_count && has_nodes)
		r = load_nodes(trace, ret);
	for (size_t i = 0; i < ret->exec_count && !r && has_nodes; i++)
		tell(ret, ret->execs + i);
	return r;
}

/* ---- queries --------------------------------------------------------------------------- */

uint32_t graph_replays_captured(const struct graph_replays *g, int64_t call_id)
{
	return idmap_find(&g->call_of_id, call_id);
}

void graph_replays_count(const struct graph_replays *g, uint64_t *ret)
{
	CLEANUP(free_p) uint64_t *launches = xcalloc(g->exec_count + 1, sizeof(*launches));

	for (size_t i = 0; i < g->replay_count; i++)
		launches[g->replays[i].exec]++;
	for (size_t i = 0; i < g->exec_count; i++) {
		const struct graph_exec *exec = g->execs + i;

		for (uint32_t u = 0; u < exec->units; u++) {
			const struct graph_unit *unit =
				g->units + g->exec_units[exec->first_unit + u];

			for (uint32_t k = 0; k < unit->calls; k++)
				ret[unit->first_call + k] += launches[i];
		}
	}
}

uint32_t graph_replays_find(const struct graph_replays *g, int64_t call_id)
{
	return idmap_find(&g->replay_of_call, call_id);
}

uint32_t graph_replays_place(const struct graph_replays *g, uint32_t replay, int64_t node)
{
	uint32_t at = idmap_find(&g->node_of_key, node_key(g->replays[replay].exec, node));

	return at == IDMAP_NONE ? GRAPH_NONE : g->nodes[at].place;
}

const struct graph_unit *graph_replays_unit(
	const struct graph_replays *g, int64_t call_id, int64_t node)
{
	uint32_t replay = graph_replays_find(g, call_id);
	uint32_t place = replay == GRAPH_NONE ? GRAPH_NONE : graph_replays_place(g, replay, node);
	const struct graph_exec *exec;

	if (place == GRAPH_NONE)
		return NULL;
	exec = g->execs + g->replays[replay].exec;
	return exec->is_told ? g->units + g->exec_units[exec->first_unit + place] : NULL;
}
