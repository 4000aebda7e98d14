// SPDX-License-Identifier: MIT
/*
 * Collectives in hipGraphs. Each launch of an executable graph runs one collective for every RCCL
 * call that was captured into it. The arguments of the calls come from the capture. graph_replays.h
 * tells which kernels belong to which call; if it cannot, only their places among the communication
 * kernels of the replay are known.
 */

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/base/wrapping.h"
#include "cli/collectives/collectives.h"

static void add_launch(struct collectives *c, int64_t id, uint32_t comm)
{
	GROW(c->launches, c->launch_count, c->launch_capacity);
	c->launches[c->launch_count++] = (struct collectives_launch){.id = id,
		.comm = comm,
		.anchor = COLLECTIVES_NONE,
		.lane = COLLECTIVES_NONE,
		.operation = COLLECTIVES_NONE};
}

static void add_event(struct collectives *c, const struct graph_replay *replay,
	const struct collectives_event *event)
{
	GROW(c->events, c->event_count, c->event_capacity);
	c->events[c->event_count] = *event;
	c->events[c->event_count].launch = (uint32_t)c->launch_count - 1;
	c->events[c->event_count].exec = c->graphs.execs[replay->exec].ordinal;
	c->events[c->event_count++].replay = wrap_plus(replay->number, 1);
}

static void add_unit(struct collectives *c, const struct graph_replay *replay,
	const struct graph_unit *unit, const struct collectives_event *captured)
{
	const struct collectives_event *calls = captured + unit->first_call;

	add_launch(c, replay->call, calls->comm);
	for (uint32_t i = 0; i < unit->calls; i++)
		if (calls[i].op != COLLECTIVES_OP_NONE)
			add_event(c, replay, calls + i);
}

static void add_told(struct collectives *c, const struct graph_replay *replay,
	const struct collectives_event *captured)
{
	const struct graph_exec *exec = c->graphs.execs + replay->exec;
	const uint32_t *units = c->graphs.exec_units + exec->first_unit;

	for (uint32_t i = 0; i < exec->units; i++)
		add_unit(c, replay, c->graphs.units + units[i], captured);
}

/* Matches the k-th communication kernel of this replay on one rank with the k-th on the others. */
static void add_ordered(struct collectives *c, const struct graph_replay *replay,
	const struct collectives_event *captured)
{
	const struct graph_exec *exec = c->graphs.execs + replay->exec;
	const struct graph_unit *unit = c->graphs.units + c->graphs.exec_units[exec->first_unit];

	collectives_need_order(c);
	for (uint32_t i = 0; i < exec->nodes; i++) {
		add_launch(c, replay->call, c->order_comm);
		add_event(c, replay,
			&(struct collectives_event){
				.seq = wrap_plus(captured[unit->first_call].seq, i),
				.comm = c->order_comm,
				.rank = captured[unit->first_call].process,
				.process = captured[unit->first_call].process,
				.root = -1,
				.op = COLLECTIVES_OP_KERNEL,
				.datatype = COLLECTIVES_DATATYPE_NONE,
			});
	}
}

void collectives_add_replays(struct collectives *c, const struct collectives_event *captured)
{
	const struct graph_replays *g = &c->graphs;

	c->first_of_replay = xcalloc(g->replay_count + 1, sizeof(*c->first_of_replay));
	for (size_t i = 0; i < g->exec_count; i++)
		c->ordered_execs += !g->execs[i].is_told;
	for (size_t i = 0; i < g->replay_count; i++) {
		if (c->event_count + c->launch_count >= 2 * COLLECTIVES_REPLAYED_MAX) {
			c->first_of_replay[i] = COLLECTIVES_NONE;
			c->replays_left_out++;
			continue;
		}
		c->first_of_replay[i] = (uint32_t)c->launch_count;
		if (g->execs[g->replays[i].exec].is_told)
			add_told(c, g->replays + i, captured);
		else
			add_ordered(c, g->replays + i, captured);
	}
}
