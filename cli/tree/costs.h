/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The costs of the operations of a file (op_cost.h), and the peaks of its GPUs. An operation in
 * another one is a part of that, so that only the outer one counts. One thread.
 */
#include "cli/database/query.h"
#include "cli/trace/id_map.h"
#include "cli/tree/gpu_peak.h"

#define COST_NONE UINT32_MAX

/* Ids of texts; 0: none. */
struct op_inputs {
	int64_t name, shapes, types, inputs;
};

struct costs {
	struct {
		struct op_inputs of;
		struct op_cost cost;
	} * ops; /* sorted */
	size_t count, capacity;
	struct idmap gpu_index;
	const struct gpu_peak **peaks; /* by index of the GPU; NULL: unknown */
	size_t gpu_count, gpu_capacity;
};

/* Returns 0 or what query_ask() does. The caller calls costs_done() in either case. */
int costs_load(struct query *query, struct costs *ret);
void costs_done(struct costs *costs);
/* Returns an index in ops, or COST_NONE. */
uint32_t costs_find(const struct costs *costs, const struct op_inputs *of);
/* Returns NULL if the peak is not known. */
const struct gpu_peak *costs_peak(const struct costs *costs, int64_t gpu_id);
