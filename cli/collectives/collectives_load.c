// SPDX-License-Identifier: MIT
#include "cli/collectives/collectives.h"
#include "cli/base/memory.h"
#include "cli/trace/kernels/host_call_key.h"

#include <stdlib.h>
#include <string.h>

#include "cli/database/session/exit_text.h"
#include "cli/base/array.h"
#include "proto/base/cleanup.h"
#include "proto/names/collectives.h"

/* The columns of the queries collective_parts and kernel_collective_parts. */
enum {
	K_ID,
	K_LAUNCH,
	K_COMM,
	K_RANK,
	K_SIZE,
	K_SEQ,
	K_BYTES,
	K_DATATYPE,
	K_OP,
	K_PEER,
	K_RESULT,
};

void collectives_free_p(struct collectives **collectives)
{
	struct collectives *c = *collectives;

	if (!c)
		return;
	for (size_t i = 0; i < c->lane_count; i++)
		sweep_lane_done(&c->lanes[i].sweep);
	free(c->kernel_names);
	free(c->processes);
	free(c->lanes);
	free(c->comms);
	free(c->members);
	free(c->launches);
	free(c->events);
	free(c->operations);
	free(c->by_operation);
	free(c->missing);
	free(c->nodes.shift_ns);
	free(c->heat);
	idmap_done(&c->launch_of_call);
	free(c->first_of_replay);
	graph_replays_done(&c->graphs);
	free(c);
	*collectives = NULL;
}

/* ---- processes and lanes ---- */

static void load_processes(const struct trace *trace, struct collectives *c)
{
	c->processes = xcalloc(trace->process_count + 1, sizeof(*c->processes));
	c->process_count = trace->process_count;
	c->nodes.count = trace->node_count;
	for (size_t i = 0; i < c->process_count; i++) {
		const struct trace_process *from = trace->processes + i;

		c->processes[i] = (struct collectives_process){
			.id = from->id,
			.has_rank = from->has_rank,
			.rank = from->rank,
			.pid = from->pid,
			.replica = from->replica,
			.node = from->node,
		};
		ended_describe(from->ended, from->has_status, from->status,
			query_is_in_use(trace->query), c->processes[i].state);
	}
}

static uint32_t find_process(const struct collectives *c, int64_t id)
{
	size_t at = PARTITION_POINT(c->process_count, i, c->processes[i].id < id);

	return at < c->process_count && c->processes[at].id == id ? (uint32_t)at : COLLECTIVES_NONE;
}

/* A process without a row, in a damaged file, has no lane. */
static void load_lanes(const struct trace *trace, struct collectives *c)
{
	c->lanes = xcalloc(trace->lane_count + 1, sizeof(*c->lanes));
	for (size_t i = 0; i < trace->lane_count; i++) {
		uint32_t process = find_process(c, trace->lanes[i].process_id);

		if (process != COLLECTIVES_NONE)
			c->lanes[c->lane_count++] = (struct collectives_lane){.process = process,
				.gpu_id = trace->lanes[i].gpu_id,
				.error_ns = -1};
	}
}

/* Lanes and rows are both sorted by process and GPU. */
static int load_clock_errors(struct query *query, struct collectives *c)
{
	size_t at = 0;
	int r = 0;

	QUERY_EACH (r, query, "clock_errors", rows) {
		int64_t process = query_integer(rows, 0), gpu = query_integer(rows, 1);
		struct collectives_lane *lane;

		while (at < c->lane_count &&
			(c->processes[c->lanes[at].process].id < process ||
				(c->processes[c->lanes[at].process].id == process &&
					c->lanes[at].gpu_id < gpu)))
			at++;
		lane = c->lanes + at;
		if (at < c->lane_count && c->processes[lane->process].id == process &&
			lane->gpu_id == gpu && !query_is_null(rows, 2))
			lane->error_ns = query_integer(rows, 2);
	}
	return r;
}

/* ---- calls ---- */

static uint8_t find_op(const char *name)
{
	for (uint8_t op = 0; op < RTL_COLLECTIVE_COUNT; op++)
		if (name && !strcmp(name, collective_name(op)))
			return op;
	return COLLECTIVES_OP_OTHER;
}

static uint8_t find_datatype(const char *name)
{
	const char *known;

	for (uint8_t type = 0; name && (known = collective_type_name(type)); type++)
		if (!strcmp(name, known))
			return type;
	return COLLECTIVES_DATATYPE_NONE;
}

struct loading {
	struct collectives *c;
	struct idmap comms;
	struct collectives_event
		/* one per captured call; op is COLLECTIVES_OP_NONE for a call without a
		 * communicator or number */
		*captured;
};

static void loading_done(struct loading *loading)
{
	idmap_done(&loading->comms);
	free(loading->captured);
}

static uint32_t *launch_at(struct loading *loading, int64_t id, uint32_t comm)
{
	struct collectives *c = loading->c;
	uint32_t *at = idmap_at(&c->launch_of_call, id);

	if (*at != IDMAP_NONE)
		return at;
	GROW(c->launches, c->launch_count, c->launch_capacity);
	c->launches[c->launch_count] = (struct collectives_launch){.id = id,
		.comm = comm,
		.anchor = COLLECTIVES_NONE,
		.lane = COLLECTIVES_NONE,
		.operation = COLLECTIVES_NONE};
	*at = (uint32_t)c->launch_count++;
	return at;
}

static uint32_t *comm_at(struct loading *loading, int64_t id, uint32_t size)
{
	struct collectives *c = loading->c;
	uint32_t *at = idmap_at(&loading->comms, id);

	if (*at != IDMAP_NONE)
		return at;
	GROW(c->comms, c->comm_count, c->comm_capacity);
	c->comms[c->comm_count] = (struct collectives_comm){.id = id, .size = size};
	*at = (uint32_t)c->comm_count++;
	return at;
}

static void set_pair(struct collectives_event *event, const struct query_rows *rows)
{
	uint32_t peer = (uint32_t)query_integer(rows, K_PEER);

	event->is_pair =
		event->op == RTL_COLLECTIVE_ncclSend || event->op == RTL_COLLECTIVE_ncclRecv;
	if (!event->is_pair)
		return;
	event->from = event->op == RTL_COLLECTIVE_ncclSend ? event->rank : peer;
	event->to = event->op == RTL_COLLECTIVE_ncclSend ? peer : event->rank;
}

static void add_part(struct loading *loading, const struct query_rows *rows)
{
	struct collectives *c = loading->c;
	int64_t id = query_integer(rows, K_ID), launch_id = query_integer(rows, K_LAUNCH);
	struct collectives_event event = {
		.seq = query_integer(rows, K_SEQ),
		.bytes = (uint64_t)query_integer(rows, K_BYTES),
		.rank = (uint32_t)query_integer(rows, K_RANK),
		.process = find_process(c, id >> HOST_CALL_PROCESS_SHIFT),
		.op = find_op(query_text(rows, K_OP)),
		.datatype = find_datatype(query_text(rows, K_DATATYPE)),
		.is_failed = query_integer(rows, K_RESULT) != 0,
		.root = query_is_null(rows, K_PEER) ? -1 : (int32_t)query_integer(rows, K_PEER),
	};
	uint32_t captured = graph_replays_captured(&c->graphs, id), *comm, *launch;

	if (event.process == COLLECTIVES_NONE)
		return;
	if (query_is_null(rows, K_COMM) || query_is_null(rows, K_SEQ) ||
		query_is_null(rows, K_RANK) || query_is_null(rows, K_SIZE)) {
		c->unnumbered++;
		return;
	}
	c->failed += event.is_failed;
	comm = comm_at(loading, query_integer(rows, K_COMM), (uint32_t)query_integer(rows, K_SIZE));
	if (captured != GRAPH_NONE) {
		event.comm = *comm;
		set_pair(&event, rows);
		loading->captured[captured] = event;
		return;
	}
	launch = launch_at(loading, launch_id, *comm);
	GROW(c->events, c->event_count, c->event_capacity);
	event.comm = *comm;
	event.launch = *launch;
	set_pair(&event, rows);
	c->events[c->event_count++] = event;
}

/* Assigns a call within the call of a launch to that launch. */
static int load_nested(struct query *query, struct idmap *launch_of_call)
{
	int r = 0;

	if (!launch_of_call->count)
		return 0;
	QUERY_EACH (r, query, "nested_calls", rows) {
		int64_t id = query_integer(rows, 0), process = query_integer(rows, 1);
		uint32_t launch =
			idmap_find(launch_of_call, host_call_key(process, query_integer(rows, 2)));
		uint32_t *at;

		if (launch == IDMAP_NONE)
			continue;
		at = idmap_at(launch_of_call, id);
		if (*at == IDMAP_NONE)
			*at = launch;
	}
	return r;
}

void collectives_need_order(struct collectives *c)
{
	if (c->order_comm != COLLECTIVES_NONE)
		return;
	GROW(c->comms, c->comm_count, c->comm_capacity);
	c->comms[c->comm_count] = (struct collectives_comm){0};
	c->order_comm = (uint32_t)c->comm_count++;
}

static int add_parts(struct query *query, struct loading *loading, const char *name)
{
	int r = 0;

	QUERY_EACH (r, query, name, rows)
		add_part(loading, rows);
	return r;
}

int collectives_load_calls(const struct trace *trace, struct collectives *c)
{
	struct query *query = trace->query;
	CLEANUP(loading_done) struct loading loading = {.c = c};
	int r = graph_replays_load(trace, true, &c->graphs);

	loading.captured = xcalloc(c->graphs.call_count + 1, sizeof(*loading.captured));
	for (size_t i = 0; i < c->graphs.call_count; i++)
		loading.captured[i].op = COLLECTIVES_OP_NONE;
	if (!r)
		r = add_parts(query, &loading, "collective_parts");
	if (!r)
		r = add_parts(query, &loading, "kernel_collective_parts");
	if (r)
		return r;
	collectives_add_replays(c, loading.captured);
	c->has_blind_graphs = c->graphs.call_count && !c->graphs.replay_count;
	c->matched = c->event_count ? COLLECTIVES_BY_SEQUENCE : COLLECTIVES_BY_ORDER;
	if (c->matched == COLLECTIVES_BY_ORDER || c->has_blind_graphs)
		collectives_need_order(c);
	c->known_launches = c->launch_count;
	return load_nested(query, &c->launch_of_call);
}

static int load(const struct trace *trace, struct collectives *c)
{

	load_processes(trace, c);
	load_lanes(trace, c);
	return load_clock_errors(trace->query, c);
}

int collectives_new(const struct trace *trace, const struct collectives_filter *filter,
	struct collectives **ret)
{
	CLEANUP(collectives_free_p) struct collectives *c = xcalloc(1, sizeof(*c));
	int r;

	c->filter = *filter;
	c->order_comm = COLLECTIVES_NONE;
	r = load(trace, c);
	if (!r)
		r = collectives_load_calls(trace, c);
	if (!r)
		r = collectives_time(trace, c);
	if (!r && c->launch_count > c->known_launches)
		r = collectives_order(c);
	if (!r)
		r = collectives_match(c);
	if (!r)
		r = collectives_nodes(trace, c);
	if (!r)
		r = collectives_rank(c);
	if (r)
		return r;
	*ret = TAKE(c);
	return 0;
}
