// SPDX-License-Identifier: MIT
#include "cli/timeline/host_calls.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "proto/base/cleanup.h"

void timeline_host_done(struct timeline_host *host)
{
	for (size_t i = 0; host->waits && i < host->trace->process_count; i++)
		free(host->waits[i].at);
	free(host->waits);
	free(host->calls);
	graph_replays_done(&host->graphs);
	*host = (struct timeline_host){0};
}

enum breakdown_stream timeline_stream_of(const char *collective)
{
	if (collective && !strncmp(collective, "nccl", 4))
		collective += 4;
	if (collective && !strcasecmp(collective, "allreduce"))
		return BREAKDOWN_ALLREDUCE;
	if (collective && !strcasecmp(collective, "reducescatter"))
		return BREAKDOWN_REDUCESCATTER;
	return BREAKDOWN_COMMUNICATION;
}

static int load_calls(struct timeline_host *host)
{
	int r = 0;

	QUERY_EACH (r, host->trace->query, "timeline_collectives", rows) {
		enum breakdown_stream stream = timeline_stream_of(query_text(rows, 1));
		/* A call without a row counts as communication anyway. */
		if (stream == BREAKDOWN_COMMUNICATION)
			continue;
		host->calls = grow_by_one(host->calls, host->call_count, sizeof(*host->calls));
		host->calls[host->call_count++] =
			(struct timeline_call){query_integer(rows, 0), stream};
	}
	return r;
}

enum breakdown_stream timeline_host_stream(
	const struct timeline_host *host, int64_t process_id, int64_t call, int64_t node)
{
	int64_t id = (int64_t)((uint64_t)process_id << 40 | (uint64_t)call);
	const struct graph_unit *unit = graph_replays_unit(&host->graphs, id, node);
	size_t at;

	if (unit)
		id = unit->launch_id;
	at = PARTITION_POINT(host->call_count, i, host->calls[i].id < id);
	return at < host->call_count && host->calls[at].id == id ? host->calls[at].stream
								 : BREAKDOWN_COMMUNICATION;
}

/* Adds the part of a wait that no earlier wait covers. Waits may be nested, or of several threads
 * at once. */
static void add_wait(struct timeline_waits *waits, int64_t start, int64_t end, bool is_peer)
{
	struct breakdown_wait *last = waits->count ? waits->at + waits->count - 1 : NULL;

	if (last && start < last->end_ns)
		start = last->end_ns;
	if (end <= start)
		return;
	if (last && last->end_ns == start && last->is_peer == is_peer) {
		last->end_ns = end;
		return;
	}
	waits->at = grow_by_one(waits->at, waits->count, sizeof(*waits->at));
	waits->at[waits->count++] = (struct breakdown_wait){start, end, is_peer};
}

static int load_waits(struct timeline_host *host)
{
	const struct trace *trace = host->trace;
	const struct trace_process *process = NULL;
	int r = 0;

	host->waits = xcalloc(trace->process_count + 1, sizeof(*host->waits));
	QUERY_EACH (r, trace->query, "timeline_waits", rows) {
		int64_t id = query_integer(rows, 0);

		if (!process || process->id != id)
			process = trace_process(trace, id);
		if (process)
			add_wait(host->waits + (process - trace->processes), query_integer(rows, 1),
				query_integer(rows, 2), query_integer(rows, 3));
	}
	return r;
}

int timeline_host_load(const struct trace *trace, struct timeline_host *ret)
{
	int r;

	ret->trace = trace;
	r = load_calls(ret);
	if (!r && ret->call_count)
		r = graph_replays_load(trace, true, &ret->graphs);
	return r ? r : load_waits(ret);
}
