// SPDX-License-Identifier: MIT
/* Answers questions: replaces times in the graph, and replays it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/wrapping.h"
#include "cli/whatif/whatif.h"
#include "proto/base/cleanup.h"

/* Both replays of a host that may wait or not agree within 15 %, or one point. */
#define AGREE_PART   0.15
#define AGREE_POINTS 1.0

struct replay {
	const struct whatif_job *job;
	struct whatif_graph graph;
	struct whatif_peers peers;
	int64_t *lengths, *times;
	double step_ns;
};

static void replay_done(struct replay *r)
{
	whatif_graph_done(&r->graph);
	whatif_peers_done(&r->peers);
	free(r->lengths);
	free(r->times);
}

void whatif_done(struct whatif *whatif)
{
	whatif_graph_done(&whatif->graph);
	whatif_job_free_p(&whatif->job);
	free(whatif->predictions);
}

void whatif_name_process(const struct whatif_job *job, uint32_t process, char ret[48])
{
	const struct whatif_process *p = job->processes + process;

	snprintf(ret, 48, "%s %" PRId64, p->has_rank ? "rank" : "process",
		p->has_rank ? p->rank : p->id);
}

/* ---- the length of a step ------------------------------------------------------------------- */

struct extent {
	int64_t before, first,
		last; /* the last end before the steps; their first start, last end */
};

/* Returns the mean over ranks and steps; of each rank from the end of what it did before. */
static int measure_step(const struct whatif_job *job, const int64_t *times, double *ret)
{
	CLEANUP(free_p) struct extent *extents = calloc(job->process_count + 1, sizeof(*extents));
	double sum = 0, steps = 0;

	if (!extents)
		return -ENOMEM;
	for (size_t i = 0; i < job->process_count; i++)
		extents[i] = (struct extent){INT64_MIN, INT64_MAX, INT64_MIN};
	for (size_t i = 0; i < job->op_count; i++) {
		const struct whatif_op *op = job->ops + i;
		const struct whatif_process *p = job->processes + op->process;
		struct extent *e = extents + op->process;
		int64_t start = times[whatif_start_of(i)], end = times[whatif_end_of(i)];

		if (op->step == WHATIF_NONE || op->step < p->first_step) {
			e->before = end > e->before ? end : e->before;
		} else if (op->step < p->first_step + p->steps) {
			e->first = start < e->first ? start : e->first;
			e->last = end > e->last ? end : e->last;
		}
	}
	for (size_t i = 0; i < job->process_count; i++) {
		const struct extent *e = extents + i;
		int64_t from = e->before == INT64_MIN ? e->first : e->before;

		if (e->last == INT64_MIN || e->last <= from)
			continue;
		sum += (double)wrap_minus(e->last, from);
		steps += job->processes[i].steps;
	}
	*ret = steps > 0 ? sum / steps : 0;
	return 0;
}

static int begin_replay(const struct whatif_job *job, bool hosts_wait, struct replay *ret)
{
	int r = whatif_graph_make(job, hosts_wait, &ret->graph);

	ret->job = job;
	if (!r)
		r = whatif_peers_find(job, &ret->graph, &ret->peers);
	ret->lengths = calloc(ret->graph.node_count + 1, sizeof(*ret->lengths));
	ret->times = calloc(ret->graph.node_count + 1, sizeof(*ret->times));
	if (r || !ret->lengths || !ret->times)
		return r ? r : -ENOMEM;
	for (size_t i = 0; i < ret->graph.node_count; i++)
		ret->lengths[i] = ret->graph.nodes[i].length;
	whatif_replay(&ret->graph, ret->lengths, ret->times);
	return measure_step(job, ret->times, &ret->step_ns);
}

/* ---- questions ------------------------------------------------------------------------------ */

static void replace(struct replay *r, uint32_t node, int64_t ns, struct whatif_prediction *p)
{
	if (ns == WHATIF_UNKNOWN) {
		p->without_peer++;
		return;
	}
	p->replaced++;
	r->lengths[node] = ns;
}

static void replace_host(struct replay *r, struct whatif_prediction *p)
{
	const struct whatif_graph *g = &r->graph;

	for (size_t i = 0; i < g->host_count; i++)
		if (g->hosts[i].process == p->question.process && !g->hosts[i].is_bound &&
			g->nodes[g->first_host + i].floor == WHATIF_UNKNOWN)
			replace(r, g->first_host + (uint32_t)i, r->peers.host_ns[i], p);
}

static bool is_asked(
	const struct replay *r, const struct whatif_op *op, const struct whatif_question *question)
{
	if (op->operation != WHATIF_NONE)
		return false;
	if (question->kind == WHATIF_RANK)
		return op->process == question->process;
	return query_glob(question->pattern, r->job->works[op->work].name);
}

static void replace_ops(struct replay *r, struct whatif_prediction *p)
{
	bool is_of_all = p->question.kind == WHATIF_KERNEL;
	const int64_t *ns = is_of_all ? r->peers.op_all_ns : r->peers.op_ns;

	for (size_t i = 0; i < r->job->op_count; i++)
		if (is_asked(r, r->job->ops + i, &p->question))
			replace(r, whatif_end_of(i), ns[i], p);
}

/* A transfer is the time from when all have come to the end, on each rank. */
static void replace_transfers(struct replay *r, struct whatif_prediction *p)
{
	const struct collectives *c = r->job->collectives;

	for (size_t i = 0; i < r->job->op_count; i++) {
		uint32_t operation = r->job->ops[i].operation, node = whatif_end_of(i);
		double factor = p->question.factor;
		int64_t other;

		if (operation == WHATIF_NONE)
			continue;
		if (p->question.kind == WHATIF_COMM) {
			if (c->operations[operation].comm != p->question.comm)
				continue;
			other = r->peers.other_transfer_ns[operation];
			if (other == WHATIF_UNKNOWN) {
				p->without_peer++;
				continue;
			}
			factor = (double)other / (double)r->peers.transfer_ns[operation];
		}
		replace(r, node, (int64_t)((double)r->graph.nodes[node].length * factor), p);
	}
}

static int answer(struct replay *r, struct whatif_prediction *p)
{
	int error;

	p->replaced = p->without_peer = 0;
	switch (p->question.kind) {
	case WHATIF_RANK:
		replace_host(r, p);
		replace_ops(r, p);
		break;
	case WHATIF_KERNEL:
		replace_ops(r, p);
		break;
	case WHATIF_HOST:
		replace_host(r, p);
		break;
	case WHATIF_COMM:
	case WHATIF_TRANSFER:
		replace_transfers(r, p);
	}
	whatif_replay(&r->graph, r->lengths, r->times);
	error = measure_step(r->job, r->times, &p->step_ns);
	p->gain_pct = r->step_ns > 0 ? 100 * (1 - p->step_ns / r->step_ns) : 0;
	for (size_t i = 0; i < r->graph.node_count; i++)
		r->lengths[i] = r->graph.nodes[i].length;
	return error;
}

/* ---- why there is no answer ----------------------------------------------------------------- */

/*
 * What another tool recorded cannot be recorded again by rtl, and most tools leave out which event
 * a stream waits for: then the calls do not connect the queues.
 */
static bool knows_order(const struct whatif_process *p)
{
	return p->queues < 2 || (p->tool[0] ? p->has_events : p->has_calls);
}

static bool has_edges(struct whatif *w)
{
	char name[48];

	for (uint32_t i = 0; i < w->job->process_count; i++) {
		const struct whatif_process *p = w->job->processes + i;

		if (knows_order(p) && p->queues <= WHATIF_QUEUES_MAX)
			continue;
		whatif_name_process(w->job, i, name);
		if (p->queues > WHATIF_QUEUES_MAX)
			snprintf(w->refused, sizeof(w->refused),
				"%s used %u queues, and more than %d are not followed", name,
				p->queues, WHATIF_QUEUES_MAX);
		else if (p->tool[0])
			snprintf(w->refused, sizeof(w->refused),
				"%s used %u queues, and what %s recorded does not tell which of "
				"them waits for which: the events that streams wait for are "
				"missing",
				name, p->queues, p->tool);
		else
			snprintf(w->refused, sizeof(w->refused),
				"%s used %u queues, and neither host calls nor barrier packets "
				"were recorded, which tell what waits for what: rtl run --mode "
				"barriers records them",
				name, p->queues);
		return false;
	}
	return true;
}

static bool is_explained(struct whatif *w)
{
	char name[48];

	if (w->graph.unexplained_pct <= WHATIF_UNEXPLAINED_PCT)
		return true;
	whatif_name_process(w->job, w->graph.least_explained, name);
	snprintf(w->refused, sizeof(w->refused),
		"%.0f %% of the time of %s is delay that nothing recorded explains, and more than "
		"%d %% is too much for a prediction",
		w->graph.unexplained_pct, name, WHATIF_UNEXPLAINED_PCT);
	return false;
}

/* The first tool that recorded processes here; NULL: rtl recorded all of them. */
static const char *tool_of(const struct whatif_job *job)
{
	for (size_t i = 0; i < job->process_count; i++)
		if (job->processes[i].tool[0])
			return job->processes[i].tool;
	return NULL;
}

static bool agrees(struct whatif *w, const struct whatif_prediction *p, double other_pct)
{
	const char *tool = tool_of(w->job);
	double apart = fabs(p->gain_pct - other_pct);

	if (apart <= fmax(AGREE_POINTS, AGREE_PART * fmax(fabs(p->gain_pct), fabs(other_pct))))
		return true;
	snprintf(w->refused, sizeof(w->refused),
		"whether hosts wait for their GPUs was not recorded%s%s and decides between a gain "
		"of %.1f %% and one of %.1f %%%s",
		tool ? " by " : "", tool ? tool : "", fmin(p->gain_pct, other_pct),
		fmax(p->gain_pct, other_pct),
		tool ? "" : "; record it with rtl run --mode barriers");
	return false;
}

static int compare_predictions(const void *a, const void *b)
{
	const struct whatif_prediction *x = a, *y = b;

	if (x->gain_pct != y->gain_pct)
		return x->gain_pct > y->gain_pct ? -1 : 1;
	return (x->question.process > y->question.process) -
	       (x->question.process < y->question.process);
}

/* Keeps the smaller gain of the two. */
static int check_either_way(struct whatif *w, struct replay *other)
{
	int r = begin_replay(w->job, true, other);

	for (size_t i = 0; i < w->count && !r && !w->refused[0]; i++) {
		struct whatif_prediction p = w->predictions[i];

		r = answer(other, &p);
		if (!r && agrees(w, w->predictions + i, p.gain_pct) &&
			p.gain_pct < w->predictions[i].gain_pct) {
			w->predictions[i].gain_pct = p.gain_pct;
			w->predictions[i].step_ns = w->step_ns * (1 - p.gain_pct / 100);
		}
	}
	return r;
}

int whatif_predict(struct whatif *w, const struct whatif_question *questions, size_t count)
{
	CLEANUP(replay_done) struct replay replay = {0};
	CLEANUP(replay_done) struct replay other = {0};
	int r;

	if (!has_edges(w))
		return 0;
	w->predictions = calloc(count + 1, sizeof(*w->predictions));
	r = w->predictions ? begin_replay(w->job, false, &replay) : -ENOMEM;
	w->graph = replay.graph;
	replay.graph = (struct whatif_graph){0};
	w->step_ns = replay.step_ns;
	if (r || !is_explained(w))
		return r;
	replay.graph = w->graph;
	for (size_t i = 0; i < w->job->process_count; i++) {
		w->steps += w->job->processes[i].steps;
		w->is_either_way |= !w->job->processes[i].has_calls;
	}
	for (; w->count < count && !r; w->count++) {
		w->predictions[w->count].question = questions[w->count];
		r = answer(&replay, w->predictions + w->count);
	}
	if (!r && w->is_either_way)
		r = check_either_way(w, &other);
	qsort(w->predictions, w->count, sizeof(*w->predictions), compare_predictions);
	replay.graph = (struct whatif_graph){0}; /* @w has it */
	return r;
}
