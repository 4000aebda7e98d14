// SPDX-License-Identifier: MIT
#include "cli/timeline/host_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/base/array.h"
#include "proto/base/cleanup.h"

void timeline_host_done(struct timeline_host *host)
{
	for (size_t i = 0; i < host->process_count; i++)
		free(host->processes[i].waits);
	free(host->processes);
	free(host->calls);
	replicas_done(&host->replicas);
	graph_replays_done(&host->graphs);
	*host = (struct timeline_host){0};
}

static int load_processes(struct query *query, struct timeline_host *host)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "timeline_ranks", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		struct timeline_process *grown =
			grow_by_one(host->processes, host->process_count, sizeof(*grown));

		r = 0;
		if (!grown)
			return -ENOMEM;
		host->processes = grown;
		grown[host->process_count++] = (struct timeline_process){
			.id = query_integer(rows, 0),
			.rank = query_integer(rows, 1),
			.has_rank = !query_is_null(rows, 1),
			.has_calls = query_integer(rows, 2),
		};
	}
	return r;
}

const struct timeline_process *timeline_host_process(const struct timeline_host *host, int64_t id)
{
	const struct timeline_process *processes = host->processes;
	size_t at = PARTITION_POINT(host->process_count, i, processes[i].id < id);

	return at < host->process_count && processes[at].id == id ? processes + at : NULL;
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

static int load_calls(struct query *query, struct timeline_host *host)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "timeline_collectives", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		enum breakdown_stream stream = timeline_stream_of(query_text(rows, 1));
		struct timeline_call *grown;

		r = 0;
		/* A call without a row counts as communication anyway. */
		if (stream == BREAKDOWN_COMMUNICATION)
			continue;
		grown = grow_by_one(host->calls, host->call_count, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		host->calls = grown;
		grown[host->call_count++] = (struct timeline_call){query_integer(rows, 0), stream};
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
static int add_wait(struct timeline_process *process, int64_t start, int64_t end, bool is_peer)
{
	struct breakdown_wait *last =
		process->wait_count ? process->waits + process->wait_count - 1 : NULL;
	struct breakdown_wait *grown;

	if (last && start < last->end_ns)
		start = last->end_ns;
	if (end <= start)
		return 0;
	if (last && last->end_ns == start && last->is_peer == is_peer) {
		last->end_ns = end;
		return 0;
	}
	grown = grow_by_one(process->waits, process->wait_count, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	process->waits = grown;
	grown[process->wait_count++] = (struct breakdown_wait){start, end, is_peer};
	return 0;
}

static int load_waits(struct query *query, struct timeline_host *host)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	struct timeline_process *process = NULL;
	int r = query_ask(query, "timeline_waits", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		int64_t id = query_integer(rows, 0);

		if (!process || process->id != id)
			process = (struct timeline_process *)timeline_host_process(host, id);
		r = process ? add_wait(process, query_integer(rows, 1), query_integer(rows, 2),
				      query_integer(rows, 3))
			    : 0;
	}
	return r;
}

int timeline_host_load(
	struct query *query, const struct categories *categories, struct timeline_host *ret)
{
	int r = load_processes(query, ret);

	if (!r)
		r = replicas_load(query, &ret->replicas);
	if (!r)
		r = load_calls(query, ret);
	if (!r && ret->call_count)
		r = graph_replays_load(query, categories, &ret->graphs);
	return r ? r : load_waits(query, ret);
}
