// SPDX-License-Identifier: MIT
#include "cli/trace/kernels/leaders.h"

#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/base/wrapping.h"
#include "cli/trace/kernels/kernel_totals.h"
#include "cli/trace/steps/steps.h"
#include "proto/base/cleanup.h"

void leaders_free_p(struct leaders **leaders)
{
	if (!*leaders)
		return;
	free((*leaders)->at);
	idmap_done(&(*leaders)->place_of);
	free(*leaders);
	*leaders = NULL;
}

static struct leader *find(const struct leaders *leaders, int64_t process_id)
{
	uint32_t at = idmap_find(&leaders->place_of, process_id);

	return at == IDMAP_NONE ? NULL : leaders->at + at;
}

const struct leader *leaders_find(const struct leaders *leaders, int64_t process_id)
{
	return find(leaders, process_id);
}

bool leaders_leads(const struct leaders *leaders, int64_t process_id)
{
	const struct leader *leader = find(leaders, process_id);

	return leader && leader->leads;
}

/* ---- choosing the leader --------------------------------------------------------------- */

/* True if @b, the later one, leads instead of @a. */
static bool takes_lead(const struct leader *a, const struct leader *b)
{
	if (!a->kernels || !b->kernels)
		return b->kernels > 0;
	if (a->has_steps != b->has_steps)
		return b->has_steps;
	if (a->has_steps)
		return true;
	if (a->has_collectives != b->has_collectives)
		return b->has_collectives;
	return a->has_collectives || b->kernel_ns >= a->kernel_ns;
}

void leaders_choose(struct leaders *leaders)
{
	bool has_ranks = false;
	size_t end;

	for (size_t i = 0; i < leaders->count; i = end) {
		struct leader *first = leaders->at + i, *best = first;

		if (!first->has_rank) {
			first->leads = !has_ranks && first->kernels;
			end = i + 1;
			continue;
		}
		for (end = i; end < leaders->count && leaders->at[end].has_rank &&
			      leaders->at[end].rank == first->rank;
			end++) {
			leaders->at[end].leads = false;
			if (takes_lead(best, leaders->at + end))
				best = leaders->at + end;
		}
		best->leads = best->kernels > 0;
		has_ranks |= best->leads;
	}
}

/* ---- reading a session ----------------------------------------------------------------- */

static void add_processes(const struct trace *trace, struct leaders *ret)
{
	ret->at = xcalloc(trace->process_count + 1, sizeof(*ret->at));
	for (; ret->count < trace->process_count; ret->count++) {
		const struct trace_process *process = trace->by_rank[ret->count];
		uint32_t *place = idmap_at(&ret->place_of, process->id);

		*place = (uint32_t)ret->count;
		ret->at[ret->count] = (struct leader){.process_id = process->id,
			.has_rank = process->has_rank,
			.rank = process->rank,
			.pid = process->pid,
			.kernels = process->dispatched};
	}
}

static int load_collectives(struct query *query, struct leaders *leaders)
{
	int r = 0;

	QUERY_EACH (r, query, "collective_processes", rows) {
		struct leader *leader = find(leaders, query_integer(rows, 0));

		if (leader)
			leader->has_collectives = true;
	}
	return r;
}

static void add_sum(struct leaders *leaders, const struct leaders_sum *sum)
{
	struct leader *leader = sum->calls ? find(leaders, sum->process_id) : NULL;

	if (!leader)
		return;
	if (!leader->kernels) /* a damaged file's ledger */
		leader->kernels = sum->calls;
	leader->kernel_ns = wrap_plus(leader->kernel_ns, sum->total_ns);
	leader->has_collectives |= sum->is_communication;
}

static void add_steps(struct leaders *leaders, const struct steps *steps)
{
	if (!steps || steps->source == STEPS_WHOLE)
		return;
	for (size_t i = 0; i < leaders->count; i++) {
		const struct steps_process *process = steps_of(steps, leaders->at[i].process_id);

		leaders->at[i].has_steps = process && process->count && !process->is_whole;
	}
}

int leaders_new_of(const struct trace *trace, const struct leaders_sum *sums, size_t count,
	const struct steps *steps, struct leaders **ret)
{
	CLEANUP(leaders_free_p) struct leaders *leaders = xcalloc(1, sizeof(*leaders));
	int r;

	add_processes(trace, leaders);
	r = load_collectives(trace->query, leaders);
	if (r)
		return r;
	for (size_t i = 0; i < count; i++)
		add_sum(leaders, sums + i);
	add_steps(leaders, steps);
	leaders_choose(leaders);
	*ret = TAKE(leaders);
	return 0;
}

int leaders_new(const struct trace *trace, const struct measure *measure, const struct steps *steps,
	struct leaders **ret)
{
	CLEANUP(free_p)
	struct leaders_sum *sums = xcalloc(measure->cell_count + 1, sizeof(*sums));

	for (size_t i = 0; i < measure->cell_count; i++) {
		const struct measure_cell *cell = measure->cells + i;

		sums[i] = (struct leaders_sum){.process_id = cell->process_id,
			.total_ns = cell->sums.total_ns,
			.calls = cell->sums.calls,
			.is_communication = cell->is_communication};
	}
	return leaders_new_of(trace, sums, measure->cell_count, steps, ret);
}
