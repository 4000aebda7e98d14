// SPDX-License-Identifier: MIT
#include "cli/info/waits_table.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/collectives/straggler.h"
#include "cli/trace/kernels/kernel_totals.h"
#include "cli/trace/kernels/leaders.h"
#include "proto/base/cleanup.h"

/* The rows of one group of ranks: all windows of the first lane, then of the next. */
struct waits_group {
	const struct waiting_group *group;
	size_t first; /* index of its first row */
	bool *counts; /* one per window, from stragglers_windows() */
};

struct waits_table {
	struct trace *trace;
	struct collectives *collectives;
	struct steps *steps;
	struct waiting *waiting;
	struct waits_group *groups;
	size_t group_count, rows;
};

const char waits_table_columns[] =
	"rank, gpuId, process_id, peers, window, step, start_ns, end_ns, counts, compute_ns, "
	"copy_ns, wait_ns, p2p_wait_ns, transfer_ns, host_ns, held_ns, idle_ns";

/* In the order of waits_table_columns. */
enum wait_column {
	WAIT_RANK,
	WAIT_GPU,
	WAIT_PROCESS,
	WAIT_PEERS,
	WAIT_WINDOW,
	WAIT_STEP,
	WAIT_START,
	WAIT_END,
	WAIT_COUNTS,
	WAIT_COMPUTE,
	WAIT_COPY,
	WAIT_WAIT,
	WAIT_PAIR_WAIT,
	WAIT_TRANSFER,
	WAIT_HOST,
	WAIT_HELD,
	WAIT_IDLE,
};

void waits_table_free_p(struct waits_table **table)
{
	struct waits_table *t = *table;

	if (!t)
		return;
	for (size_t i = 0; i < t->group_count; i++)
		free(t->groups[i].counts);
	free(t->groups);
	waiting_free_p(&t->waiting);
	steps_free_p(&t->steps);
	collectives_free_p(&t->collectives);
	trace_free_p(&t->trace);
	free(t);
	*table = NULL;
}

/* Adds the groups. Those without windows have no rows and are left out. */
static int add_groups(struct waits_table *table)
{
	const struct waiting *waiting = table->waiting;

	table->groups = calloc(waiting->group_count + 1, sizeof(*table->groups));
	if (!table->groups)
		return -ENOMEM;
	for (size_t i = 0; i < waiting->group_count; i++) {
		const struct waiting_group *from = waiting->groups + i;
		struct waits_group *group = table->groups + table->group_count;
		int r;

		if (!from->windows || !from->lane_count)
			continue;
		r = stragglers_windows(waiting, from, &group->counts);
		if (r)
			return r;
		group->group = from;
		group->first = table->rows;
		table->rows += from->lane_count * from->windows;
		table->group_count++;
	}
	return 0;
}

int waits_table_new(struct query *query, char error[QUERY_ERROR_BYTES], struct waits_table **ret)
{
	CLEANUP(waits_table_free_p) struct waits_table *table = calloc(1, sizeof(*table));
	CLEANUP(measure_free_p) struct measure *measure = NULL;
	CLEANUP(leaders_free_p) struct leaders *leaders = NULL;
	struct collectives_filter theirs = {0};
	int r;

	error[0] = '\0';
	if (!table)
		return -ENOMEM;
	r = trace_open(query, NULL, error, &table->trace);
	if (!r)
		r = steps_new(table->trace, NULL, error, &table->steps);
	if (!r)
		r = measure_new(table->trace, &(struct measure_options){0}, &measure);
	if (!r)
		r = leaders_new(table->trace, measure, table->steps, &leaders);
	/* Takes the processes that the reason judges. */
	theirs.leaders = leaders;
	if (!r)
		r = collectives_new(table->trace, &theirs, &table->collectives);
	/* `leaders` is freed before the rows are read. */
	if (!r)
		table->collectives->filter.leaders = NULL;
	if (!r)
		r = waiting_new(table->trace, table->collectives, table->steps, &table->waiting);
	if (!r)
		r = add_groups(table);
	if (r)
		return r;
	*ret = TAKE(table);
	return 0;
}

size_t waits_table_rows(const struct waits_table *table)
{
	return table->rows;
}

static int64_t time_in(const struct waiting_cell *cell, enum wait_column column)
{
	switch (column) {
	case WAIT_COMPUTE:
		return cell->class_ns[SWEEP_COMPUTE];
	case WAIT_COPY:
		return cell->class_ns[SWEEP_COPY];
	case WAIT_WAIT:
		return cell->wait_ns;
	case WAIT_PAIR_WAIT:
		return cell->pair_wait_ns;
	case WAIT_TRANSFER:
		return waiting_transfer_ns(cell);
	case WAIT_HOST:
		return cell->class_ns[SWEEP_HOST];
	case WAIT_HELD:
		return cell->class_ns[SWEEP_WAIT];
	default:
		return cell->class_ns[SWEEP_UNKNOWN];
	}
}

bool waits_table_value(const void *context, size_t row, int column, int64_t *ret)
{
	const struct waits_table *table = context;
	const struct waits_group *at = table->groups + table->group_count - 1;
	const struct collectives_process *process;
	const struct collectives_lane *lane;
	const struct waiting_group *group;
	size_t place, window;

	while (at->first > row)
		at--;
	group = at->group;
	place = (row - at->first) / group->windows;
	window = (row - at->first) % group->windows;
	lane = table->collectives->lanes + group->lanes[place];
	process = table->collectives->processes + lane->process;
	switch ((enum wait_column)column) {
	case WAIT_RANK:
		*ret = process->rank;
		return process->has_rank;
	case WAIT_GPU:
		*ret = lane->gpu_id;
		return true;
	case WAIT_PROCESS:
		*ret = process->id;
		return true;
	case WAIT_PEERS:
		*ret = at - table->groups;
		return true;
	case WAIT_WINDOW:
		*ret = (int64_t)window;
		return true;
	case WAIT_STEP:
		*ret = group->numbers ? group->numbers[window] : 0;
		return group->numbers != NULL;
	case WAIT_START:
		*ret = group->cuts[window];
		return true;
	case WAIT_END:
		*ret = group->cuts[window + 1];
		return true;
	case WAIT_COUNTS:
		*ret = at->counts[window];
		return true;
	default:
		*ret = time_in(waiting_cell(group, place, window), (enum wait_column)column);
		return true;
	}
}
