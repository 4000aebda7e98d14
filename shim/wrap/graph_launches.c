/* SPDX-License-Identifier: MIT */
#include "shim/wrap/graph_launches.h"

#include <stdatomic.h>
#include <stddef.h>

/* Serving programs keep some hundreds: a graph for each batch size and model. */
#define GRAPHS_MAX 8192u
/* An address is at most this many places after its hash, or not in the table. */
#define PROBES_MAX 64u

struct graph {
	/* 0 if unused; entries are never removed, because addresses are reused */
	_Atomic uintptr_t exec;
	_Atomic uint64_t launches;
};

static struct graph graphs[GRAPHS_MAX];

static struct graph *graph_of(const void *exec)
{
	uintptr_t key = (uintptr_t)exec;
	uint64_t at = (key >> 4) * 0x9e3779b97f4a7c15u >> 32;

	for (uint32_t i = 0; key && i < PROBES_MAX; i++) {
		struct graph *graph = &graphs[(at + i) % GRAPHS_MAX];
		uintptr_t found = atomic_load_explicit(&graph->exec, memory_order_relaxed);

		if (!found && atomic_compare_exchange_strong(&graph->exec, &found, key))
			return graph;
		if (found == key)
			return graph;
	}
	return NULL;
}

uint64_t graph_launches_next(const void *exec)
{
	struct graph *graph = graph_of(exec);

	return graph ? atomic_fetch_add_explicit(&graph->launches, 1, memory_order_relaxed)
		     : GRAPH_LAUNCH_UNKNOWN;
}

void graph_launches_forget(const void *exec)
{
	struct graph *graph = graph_of(exec);

	if (graph)
		atomic_store_explicit(&graph->launches, 0, memory_order_relaxed);
}
