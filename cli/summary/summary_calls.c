// SPDX-License-Identifier: MIT
/* Sums collectives by operation, datatype and size of the communicator. */
#include "cli/base/memory.h"
#include "cli/trace/kernels/host_call_key.h"
#include "cli/summary/summary.h"

#include <stdlib.h>
#include <string.h>

#include "cli/collectives/collectives.h"
#include "cli/base/array.h"
#include "cli/trace/kernels/graph_replays.h"
#include "proto/base/cleanup.h"

/* The communicators and processes of one sum that were counted already. */
struct group {
	int64_t api_id;
	struct idmap comms, processes;
};

struct groups {
	struct summary *summary;
	struct graph_replays graphs;
	uint64_t *replays; /* number of replays of each captured call */
	struct group *at;
	size_t capacity, sums_capacity, count, last;
};

static void groups_done(struct groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		idmap_done(&groups->at[i].comms);
		idmap_done(&groups->at[i].processes);
	}
	free(groups->at);
	free(groups->replays);
	graph_replays_done(&groups->graphs);
}

static bool is_of(const struct groups *groups, size_t at, int64_t api_id, const char *datatype,
	uint64_t ranks)
{
	const struct summary_collective *sums = groups->summary->collectives + at;

	return groups->at[at].api_id == api_id && sums->ranks == ranks &&
	       !strcmp(sums->datatype, datatype);
}

/* A linear search is enough: there are few sums, and the next call usually belongs to the last
 * one. */
static void find(struct groups *groups, const struct query_rows *rows, size_t *ret)
{
	struct summary *s = groups->summary;
	int64_t api_id = measure_api_of(s->measure, query_integer(rows, 0));
	const char *text = query_text(rows, 1);
	uint64_t ranks = (uint64_t)query_integer(rows, 3);
	struct summary_collective sums = {.ranks = ranks};

	snprintf(sums.datatype, sizeof(sums.datatype), "%s", text ? text : "");
	*ret = groups->last;
	if (groups->last < groups->count &&
		is_of(groups, groups->last, api_id, sums.datatype, ranks))
		return;
	for (*ret = 0; *ret < groups->count; ++*ret)
		if (is_of(groups, *ret, api_id, sums.datatype, ranks))
			return;
	GROW(groups->at, groups->count, groups->capacity);
	GROW(s->collectives, s->collective_count, groups->sums_capacity);
	groups->at[groups->count++] = (struct group){.api_id = api_id};
	s->collectives[s->collective_count++] = sums;
}

/* Adds one to @count if @id is new in @seen. */
static void count_once(struct idmap *seen, int64_t id, uint64_t *count)
{
	uint32_t *at = idmap_at(seen, id);

	*count += *at == IDMAP_NONE;
	*at = 0;
}

static void add(struct groups *groups, const struct query_rows *rows)
{
	struct summary_collective *sums;
	uint32_t captured = graph_replays_captured(&groups->graphs, query_integer(rows, 0));
	uint64_t times = captured == GRAPH_NONE ? 1 : groups->replays[captured];
	struct group *group;
	size_t at;

	/* A captured call moves data only when its graph is replayed. */
	if (!times)
		return;
	find(groups, rows, &at);
	groups->last = at;
	sums = groups->summary->collectives + at;
	group = groups->at + at;
	sums->calls += times;
	sums->bytes += times * (uint64_t)query_integer(rows, 4);
	if (!query_is_null(rows, 2))
		count_once(&group->comms, query_integer(rows, 2), &sums->communicators);
	count_once(&group->processes, query_integer(rows, 0) >> HOST_CALL_PROCESS_SHIFT,
		&sums->processes);
}

static int compare(const void *a, const void *b)
{
	const struct summary_collective *x = a, *y = b;
	int order;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	order = strcmp(x->op, y->op);
	if (!order)
		order = strcmp(x->datatype, y->datatype);
	return order ? order : (x->ranks > y->ranks) - (x->ranks < y->ranks);
}

static void name_groups(struct groups *groups)
{
	struct summary *s = groups->summary;

	for (size_t i = 0; i < groups->count; i++)
		for (size_t k = 0; k < s->measure->call_count; k++)
			if (s->measure->calls[k].api_id == groups->at[i].api_id)
				memcpy(s->collectives[i].op, s->measure->calls[k].name,
					sizeof(s->collectives[i].op));
	if (s->collective_count)
		qsort(s->collectives, s->collective_count, sizeof(*s->collectives), compare);
}

static int load_collectives(const struct trace *trace, struct summary *s)
{
	CLEANUP(groups_done) struct groups groups = {.summary = s};
	int r = graph_replays_load(trace, false, &groups.graphs);

	if (r)
		return r;
	groups.replays = xcalloc(groups.graphs.call_count + 1, sizeof(*groups.replays));
	graph_replays_count(&groups.graphs, groups.replays);
	QUERY_EACH (r, trace->query, "collectives", rows)
		add(&groups, rows);
	if (!r)
		name_groups(&groups);
	return r;
}

int summary_load_calls(const struct trace *trace, struct summary *s)
{
	int r = s->measure->host ? load_collectives(trace, s) : 0;

	/* All calls have been counted, so the host calls, one word each, are no longer needed. */
	measure_free_host(s->measure);
	return r ? r : query_number(trace->query, "unlinked", 0, &s->unlinked);
}
