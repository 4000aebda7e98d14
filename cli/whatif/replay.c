// SPDX-License-Identifier: MIT
/* Measures the graph and replays it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/base/wrapping.h"
#include "cli/whatif/whatif.h"
#include "proto/base/cleanup.h"

/* A host is paced by something outside if its period varies less than half as much as its pause. */
#define PACED_STEPS_LEAST 5
/* Shorter pauses, in percent of the period, make no difference. */
#define PACED_PCT	  2

struct moment {
	int64_t at;
	uint32_t class, node;
};

/* Among nodes of one moment an end comes before what waits for it. */
static uint32_t class_of(const struct whatif_job *job, const struct whatif_graph *g, uint32_t node)
{
	if (node >= g->first_host)
		return 1;
	if (node >= g->first_meeting)
		return 3;
	if (node == whatif_start_of(node / 2))
		return 2;
	return job->ops[node / 2].end == job->ops[node / 2].start ? 4 : 0;
}

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int sort_nodes(const struct whatif_job *job, struct whatif_graph *g, uint32_t *place)
{
	CLEANUP(free_p) struct moment *moments = calloc(g->node_count + 1, sizeof(*moments));

	g->order = calloc(g->node_count + 1, sizeof(*g->order));
	if (!moments || !g->order)
		return -ENOMEM;
	for (size_t i = 0; i < g->node_count; i++)
		moments[i] =
			(struct moment){g->nodes[i].at, class_of(job, g, (uint32_t)i), (uint32_t)i};
	qsort(moments, g->node_count, sizeof(*moments), compare_moments);
	for (size_t i = 0; i < g->node_count; i++) {
		g->order[i] = moments[i].node;
		place[moments[i].node] = (uint32_t)i;
	}
	return 0;
}

/*
 * Drops the edges that the recording contradicts (a kernel without the barrier bit may begin before
 * the one ahead of it has ended), and measures how long each node is after its last source.
 */
static void measure(struct whatif_graph *g, const uint32_t *place)
{
	for (size_t i = 0; i < g->node_count; i++) {
		struct whatif_node *node = g->nodes + i;
		uint32_t *sources = g->sources + node->first_source, kept = 0;
		int64_t reach = WHATIF_UNKNOWN;

		for (uint32_t k = 0; k < node->sources; k++) {
			if (place[sources[k]] >= place[i]) {
				g->contradicted++;
				continue;
			}
			if (g->nodes[sources[k]].at > reach)
				reach = g->nodes[sources[k]].at;
			sources[kept++] = sources[k];
		}
		node->sources = kept;
		g->edges += kept;
		node->length = kept ? wrap_minus(node->at, reach) : 0;
		node->floor = kept ? WHATIF_UNKNOWN : node->at;
	}
}

void whatif_replay(const struct whatif_graph *g, const int64_t *lengths, int64_t *ret)
{
	for (size_t i = 0; i < g->node_count; i++) {
		const struct whatif_node *node = g->nodes + g->order[i];
		int64_t at = WHATIF_UNKNOWN;

		for (uint32_t k = 0; k < node->sources; k++) {
			int64_t source = ret[g->sources[node->first_source + k]];

			at = source > at ? source : at;
		}
		if (at != WHATIF_UNKNOWN)
			at = wrap_plus(at, lengths[g->order[i]]);
		ret[g->order[i]] = at > node->floor ? at : node->floor;
	}
}

/* ---- what paces hosts ----------------------------------------------------------------------- */

struct beat {
	uint32_t process, kind, work, place, step, node;
};

static int compare_beats(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	for (size_t i = 0; i < sizeof(struct beat) / sizeof(*x); i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the median deviation from the median, and the median in *@ret_middle. Sorts @at. */
static int64_t spread_of(int64_t *at, size_t count, int64_t *ret_middle)
{
	qsort(at, count, sizeof(*at), compare_numbers);
	*ret_middle = at[count / 2];
	for (size_t i = 0; i < count; i++)
		at[i] = llabs(wrap_minus(at[i], *ret_middle));
	qsort(at, count, sizeof(*at), compare_numbers);
	return at[count / 2];
}

/*
 * Where the next batch or request comes when it comes, a host pauses the less the longer the GPU
 * took, and its period is the steadier of the two. It is then paced by the clock.
 */
static void find_pace(struct whatif_graph *g, const struct beat *beats, size_t count,
	int64_t *periods, int64_t *pauses)
{
	int64_t period, pause, period_spread, pause_spread;
	size_t n = 0;

	for (size_t i = 1; i < count; i++) {
		if (beats[i].step != beats[i - 1].step + 1)
			continue;
		periods[n] = wrap_minus(g->nodes[beats[i].node].at, g->nodes[beats[i - 1].node].at);
		pauses[n++] = g->nodes[beats[i].node].length;
	}
	if (n + 1 < PACED_STEPS_LEAST)
		return;
	period_spread = spread_of(periods, n, &period);
	pause_spread = spread_of(pauses, n, &pause);
	if (pause < period / 100 * PACED_PCT || period_spread >= pause_spread / 2)
		return;
	for (size_t i = 0; i < count; i++) {
		struct whatif_node *node = g->nodes + beats[i].node;

		node->length = 0;
		node->floor = node->at;
		g->paced++;
	}
}

static int find_paces(struct whatif_graph *g)
{
	CLEANUP(free_p) struct beat *beats = calloc(g->host_count + 1, sizeof(*beats));
	CLEANUP(free_p) int64_t *periods = calloc(g->host_count + 1, sizeof(*periods));
	CLEANUP(free_p) int64_t *pauses = calloc(g->host_count + 1, sizeof(*pauses));
	size_t count = 0;

	if (!beats || !periods || !pauses)
		return -ENOMEM;
	for (size_t i = 0; i < g->host_count; i++) {
		const struct whatif_host *host = g->hosts + i;

		if (!host->is_bound && host->step != WHATIF_NONE)
			beats[count++] = (struct beat){host->process, host->kind, host->work,
				host->place, host->step, g->first_host + (uint32_t)i};
	}
	qsort(beats, count, sizeof(*beats), compare_beats);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i; next < count && beats[next].process == beats[i].process &&
			       beats[next].kind == beats[i].kind &&
			       beats[next].work == beats[i].work &&
			       beats[next].place == beats[i].place;)
			next++;
		find_pace(g, beats + i, next - i, periods, pauses);
	}
	return 0;
}

/* ---- what is not explained ------------------------------------------------------------------ */

/* Sums what starts late for no known reason, and communication whose waiting is not known. */
static int explain(const struct whatif_job *job, struct whatif_graph *g)
{
	CLEANUP(free_p) double *late = calloc(job->process_count + 1, sizeof(*late));
	CLEANUP(free_p) double *delays = calloc(job->process_count + 1, sizeof(*delays));
	CLEANUP(free_p) int64_t *from = calloc(job->process_count + 1, sizeof(*from));
	CLEANUP(free_p) int64_t *to = calloc(job->process_count + 1, sizeof(*to));

	if (!late || !delays || !from || !to)
		return -ENOMEM;
	for (size_t i = 0; i < job->op_count; i++) {
		const struct whatif_op *op = job->ops + i;
		int64_t delay = g->nodes[whatif_start_of(i)].length;

		if (from[op->process] == 0 || op->start < from[op->process])
			from[op->process] = op->start;
		if (op->end > to[op->process])
			to[op->process] = op->end;
		delays[op->process] += (double)delay;
		if (delay > WHATIF_LAUNCH_NS)
			late[op->process] += (double)delay;
		if (job->process_count > 1 && op->operation == WHATIF_NONE &&
			job->works[op->work].is_communication)
			late[op->process] += (double)wrap_minus(op->end, op->start);
	}
	for (uint32_t i = 0; i < job->process_count; i++) {
		double wall = (double)wrap_minus(to[i], from[i]);
		/* Delays of several queues at once may be more than the time. */
		double unexplained = wall > 0 ? fmin(100, 100 * late[i] / wall) : 0;

		if (unexplained > g->unexplained_pct) {
			g->unexplained_pct = unexplained;
			g->least_explained = i;
		}
		if (wall > 0 && fmin(100, 100 * delays[i] / wall) > g->delay_pct)
			g->delay_pct = fmin(100, 100 * delays[i] / wall);
	}
	return 0;
}

int whatif_graph_measure(const struct whatif_job *job, struct whatif_graph *g)
{
	CLEANUP(free_p) uint32_t *place = calloc(g->node_count + 1, sizeof(*place));
	int r = place ? sort_nodes(job, g, place) : -ENOMEM;

	if (r)
		return r;
	measure(g, place);
	r = explain(job, g);
	return r ? r : find_paces(g);
}
