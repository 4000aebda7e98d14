// SPDX-License-Identifier: MIT
/*
 * Aligns the clocks of several nodes, each of which counts from its own boot. The wall clocks of
 * the nodes say how far they are apart, as exactly as they were set. The collectives bound the
 * error, because no rank leaves an all-reduce before the last one has come.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/collectives/collectives.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"
#include "proto/names/collectives.h"

struct bound {
	int64_t low, high; /* bounds of what must be added to the node's times */
	bool has;
};

/* Several processes of a node have the same offset. */
static int load_offsets(const struct trace *trace, struct collectives *c)
{
	int64_t first;
	int r = 0;

	QUERY_EACH (r, trace->query, "realtime_offsets", rows) {
		const char *boot = query_text(rows, 0) ? query_text(rows, 0) : "";

		for (size_t i = 0; i < trace->process_count; i++)
			if (!strcmp(trace->processes[i].boot_id, boot))
				c->nodes.shift_ns[trace->processes[i].node] =
					query_integer(rows, 1);
	}
	first = c->nodes.shift_ns[0];
	for (uint32_t i = 0; i < c->nodes.count; i++)
		c->nodes.shift_ns[i] = wrap_minus(c->nodes.shift_ns[i], first);
	return r;
}

static void shift(struct collectives *c)
{
	for (size_t i = 0; i < c->launch_count; i++) {
		struct collectives_launch *launch = c->launches + i;
		int64_t by;

		if (!launch->kernels)
			continue;
		by = c->nodes.shift_ns[collectives_process_of(c, (uint32_t)i)->node];
		launch->start = wrap_plus(launch->start, by);
		launch->stop = wrap_plus(launch->stop, by);
	}
}

/* Operations in which every rank needs a contribution of every other rank. */
static bool synchronises(const struct collectives_operation *operation)
{
	return !operation->is_pairs && !operation->is_mixed &&
	       (operation->op == RTL_COLLECTIVE_ncclAllReduce ||
		       operation->op == RTL_COLLECTIVE_ncclAllGather ||
		       operation->op == RTL_COLLECTIVE_ncclReduceScatter ||
		       operation->op == RTL_COLLECTIVE_ncclAllToAll);
}

struct extent {
	int64_t start_last, stop_first;
	bool has;
};

static void add_bounds(struct collectives *c, const struct collectives_operation *operation,
	struct extent *extents, struct bound *bounds)
{
	memset(extents, 0, c->nodes.count * sizeof(*extents));
	for (uint32_t i = 0; i < operation->launches; i++) {
		uint32_t at = c->by_operation[operation->first + i];
		const struct collectives_launch *launch = c->launches + at;
		struct extent *extent;

		if (!launch->kernels)
			continue;
		extent = extents + collectives_process_of(c, at)->node;
		if (!extent->has || launch->start > extent->start_last)
			extent->start_last = launch->start;
		if (!extent->has || launch->stop < extent->stop_first)
			extent->stop_first = launch->stop;
		extent->has = true;
	}
	for (uint32_t i = 1; i < c->nodes.count && extents[0].has; i++) {
		struct bound *bound = bounds + i;
		int64_t low, high;

		if (!extents[i].has)
			continue;
		low = wrap_minus(extents[0].start_last, extents[i].stop_first);
		high = wrap_minus(extents[0].stop_first, extents[i].start_last);
		if (!bound->has || low > bound->low)
			bound->low = low;
		if (!bound->has || high < bound->high)
			bound->high = high;
		bound->has = true;
	}
}

/* Keeps the offset of the wall clocks if the collectives allow it, else takes the middle of what
 * they allow. */
static void narrow(struct collectives *c, const struct bound *bounds)
{
	for (uint32_t i = 1; i < c->nodes.count; i++) {
		const struct bound *b = bounds + i;
		bool is_known = b->has && b->low <= b->high;
		int64_t by = is_known && (b->low > 0 || b->high < 0)
				     ? wrap_plus(b->low, wrap_minus(b->high, b->low) / 2)
				     : 0;
		int64_t below = wrap_minus(by, b->low), above = wrap_minus(b->high, by);
		int64_t error = below > above ? below : above;

		c->nodes.shift_ns[i] = by;
		if (!is_known || c->nodes.bound_ns < 0)
			c->nodes.bound_ns = -1;
		else if (error > c->nodes.bound_ns)
			c->nodes.bound_ns = error;
		c->nodes.is_shifted |= by != 0;
	}
	c->nodes.shift_ns[0] = 0;
	shift(c);
}

int collectives_nodes(const struct trace *trace, struct collectives *c)
{
	CLEANUP(free_p) struct bound *bounds = xcalloc(c->nodes.count + 1, sizeof(*bounds));
	CLEANUP(free_p) struct extent *extents = xcalloc(c->nodes.count + 1, sizeof(*extents));
	int r;

	if (c->nodes.count < 2)
		return 0;
	c->nodes.shift_ns = xcalloc(c->nodes.count, sizeof(*c->nodes.shift_ns));
	r = load_offsets(trace, c);
	if (r)
		return r;
	shift(c);
	for (size_t i = 0; i < c->operation_count; i++)
		if (synchronises(c->operations + i))
			add_bounds(c, c->operations + i, extents, bounds);
	narrow(c, bounds);
	return 0;
}
