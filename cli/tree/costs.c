// SPDX-License-Identifier: MIT
#include "cli/tree/costs.h"

#include <stdlib.h>

#include "cli/base/array.h"
#include "proto/base/cleanup.h"

void costs_done(struct costs *costs)
{
	free(costs->ops);
	free(costs->peaks);
	idmap_done(&costs->gpu_index);
}

static int load_ops(struct query *query, struct costs *costs)
{
	int r = 0;

	QUERY_EACH (r, query, "tree_op_kinds", rows) {
		const char *name = query_text(rows, 4);
		struct op_cost cost;

		if (!name || !op_cost(name, query_text(rows, 5), query_text(rows, 6),
				     query_text(rows, 7), &cost))
			continue;
		GROW(costs->ops, costs->count, costs->capacity);
		costs->ops[costs->count].cost = cost;
		costs->ops[costs->count++].of = (struct op_inputs){query_integer(rows, 0),
			query_integer(rows, 1), query_integer(rows, 2), query_integer(rows, 3)};
	}
	return r;
}

static int load_gpus(struct query *query, struct costs *costs)
{
	int r = 0;

	QUERY_EACH (r, query, "gpus", rows) {
		uint32_t *at = idmap_at(&costs->gpu_index, query_integer(rows, 0));

		GROW(costs->peaks, costs->gpu_count, costs->gpu_capacity);
		*at = (uint32_t)costs->gpu_count;
		costs->peaks[costs->gpu_count++] = gpu_peak_find(query_text(rows, 8));
	}
	return r;
}

int costs_load(struct query *query, struct costs *ret)
{
	int r = load_ops(query, ret);

	return r || !ret->count ? r : load_gpus(query, ret);
}

static int compare(const struct op_inputs *a, const struct op_inputs *b)
{
	const int64_t x[] = {a->name, a->shapes, a->types, a->inputs};
	const int64_t y[] = {b->name, b->shapes, b->types, b->inputs};

	for (size_t i = 0; i < 4; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

uint32_t costs_find(const struct costs *costs, const struct op_inputs *of)
{
	size_t at = PARTITION_POINT(costs->count, i, compare(&costs->ops[i].of, of) < 0);

	return at < costs->count && !compare(&costs->ops[at].of, of) ? (uint32_t)at : COST_NONE;
}

const struct gpu_peak *costs_peak(const struct costs *costs, int64_t gpu_id)
{
	uint32_t at = idmap_find(&costs->gpu_index, gpu_id);

	return at == IDMAP_NONE ? NULL : costs->peaks[at];
}
