// SPDX-License-Identifier: MIT
#include "cli/summary/groups.h"
#include "cli/base/memory.h"
#include "cli/trace/kernels/host_call_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "proto/base/cleanup.h"

/* A cell and the group that it belongs to. */
struct member {
	uint32_t group;
	const struct measure_cell *cell;
};

struct grouping {
	const struct measure *measure;
	const struct trace *trace;
	struct summary_groups *groups;
	size_t capacity;
	struct idmap group_of; /* maps the key of a group to its index */
	uint32_t *category_of; /* maps a kernel to its group */
	struct member *members;
	size_t count;
	struct durations_room room;
};

static void grouping_done(struct grouping *g)
{
	idmap_done(&g->group_of);
	free(g->category_of);
	free(g->members);
	durations_room_done(&g->room);
}

void summary_groups_free_p(struct summary_groups **groups)
{
	struct summary_groups *g = *groups;

	if (!g)
		return;
	for (size_t i = 0; i < g->count; i++) {
		free(g->at[i].name);
		free(g->at[i].kernels);
	}
	free(g->at);
	free(g);
	*groups = NULL;
}

const char *summary_by_name(enum summary_by by)
{
	static const char *const names[SUMMARY_BYS] = {
		"", "rank", "gpu", "queue", "marker", "category"};

	return names[by];
}

static void set_process(const struct grouping *g, struct summary_group *group, int64_t process_id)
{
	const struct trace_process *process = trace_process(g->trace, process_id);

	group->has_process = true;
	group->process_id = process_id;
	group->has_rank = process && process->has_rank;
	group->rank = group->has_rank ? process->rank : 0;
}

static void name_process(const struct summary_group *group, char *ret, size_t bytes)
{
	if (group->has_rank)
		snprintf(ret, bytes, "rank %" PRId64, group->rank);
	else
		snprintf(ret, bytes, "process %" PRId64, group->process_id);
}

/* ---- groups --------------------------------------------------------------------------------- */

/* Finds the index of the group that has @key; adds a copy of @group, named @name, if there is
 * none. */
static void find_group(struct grouping *g, int64_t key, const struct summary_group *group,
	const char *name, uint32_t *ret)
{
	struct summary_groups *groups = g->groups;
	uint32_t *at = idmap_at(&g->group_of, key);

	GROW(groups->at, groups->count, g->capacity);
	if (*at == IDMAP_NONE) {
		struct summary_group *made = groups->at + groups->count;

		*made = *group;
		made->name = xstrdup(name);
		*at = (uint32_t)groups->count++;
	}
	*ret = *at;
}

static void find_group_of(struct grouping *g, const struct measure_cell *cell, uint32_t *ret)
{
	struct summary_group group = {0};
	char name[80], process[40];

	switch (g->groups->by) {
	case SUMMARY_BY_RANK:
		set_process(g, &group, cell->process_id);
		name_process(&group, name, sizeof(name));
		find_group(g, cell->process_id, &group, name, ret);
		return;
	case SUMMARY_BY_GPU:
		group.has_gpu = true;
		group.gpu_id = cell->gpu_id;
		snprintf(name, sizeof(name), "GPU %" PRId64, cell->gpu_id);
		find_group(g, cell->gpu_id, &group, name, ret);
		return;
	case SUMMARY_BY_QUEUE:
		set_process(g, &group, cell->process_id);
		group.has_queue = group.has_gpu = true;
		group.queue_id = cell->queue_id;
		group.gpu_id = cell->gpu_id;
		name_process(&group, process, sizeof(process));
		snprintf(name, sizeof(name), "%s queue %" PRId64, process, cell->queue_id);
		find_group(g, host_call_key(cell->process_id, cell->queue_id), &group, name, ret);
		return;
	case SUMMARY_BY_MARKER:
		find_group(g, cell->marker, &group, g->measure->markers[cell->marker], ret);
		return;
	default:
		*ret = g->category_of[cell->kernel];
		return;
	}
}

/* A linear search is enough: there are some twenty categories and those that the user adds. */
static void find_categories(struct grouping *g)
{
	const struct measure *m = g->measure;

	g->category_of = xcalloc(m->kernel_count + 1, sizeof(*g->category_of));
	for (size_t i = 0; i < m->kernel_count; i++) {
		const struct category *category = categories_match(
			g->trace->categories, m->kernels[i].name, m->kernels[i].symbol);
		struct summary_groups *groups = g->groups;
		size_t at = 0;

		while (at < groups->count && strcmp(groups->at[at].name, category->name) != 0)
			at++;
		g->category_of[i] = (uint32_t)at;
		if (at == groups->count)
			find_group(g, (int64_t)at, &(struct summary_group){0}, category->name,
				g->category_of + i);
	}
}

static void collect(struct grouping *g)
{
	const struct measure *m = g->measure;

	if (g->groups->by == SUMMARY_BY_CATEGORY)
		find_categories(g);
	g->members = xcalloc(m->cell_count + 1, sizeof(*g->members));
	for (size_t i = 0; i < m->cell_count; i++) {
		struct member *member = g->members + g->count;

		if (m->cells[i].kernel == MEASURE_NO_KERNEL)
			continue;
		member->cell = m->cells + i;
		find_group_of(g, member->cell, &member->group);
		g->count++;
	}
}

/* ---- sums ----------------------------------------------------------------------------------- */

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->cell->kernel > y->cell->kernel) - (x->cell->kernel < y->cell->kernel);
}

static int compare_kernels(const void *a, const void *b)
{
	const struct summary_group_kernel *x = a, *y = b;

	if (x->sums.total_ns != y->sums.total_ns)
		return x->sums.total_ns < y->sums.total_ns ? 1 : -1;
	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

/* Adds the @count cells of one kernel. */
static void add_kernel(struct grouping *g, struct summary_group *group,
	const struct measure_cell *const *cells, size_t count)
{
	struct summary_group_kernel *kernel = group->kernels + group->kernel_count++;

	kernel->kernel = cells[0]->kernel;
	for (size_t i = 0; i < count; i++)
		measure_add(&kernel->sums, &cells[i]->sums);
	measure_add(&group->sums, &kernel->sums);
	measure_percentiles(cells, count, &g->room, &kernel->sums.percentiles);
}

/* Fills in one group from its @count members, which are sorted by kernel. */
static void fill_group(struct grouping *g, const struct member *members, size_t count)
{
	struct summary_group *group = g->groups->at + members->group;
	CLEANUP(free_p) const struct measure_cell **cells = xcalloc(count, sizeof(void *));
	size_t end;

	group->kernels = xcalloc(count, sizeof(*group->kernels));
	for (size_t i = 0; i < count; i++)
		cells[i] = members[i].cell;
	for (size_t i = 0; i < count; i = end) {
		for (end = i; end < count && cells[end]->kernel == cells[i]->kernel;)
			end++;
		add_kernel(g, group, cells + i, end - i);
	}
	measure_percentiles(cells, count, &g->room, &group->sums.percentiles);
	qsort(group->kernels, group->kernel_count, sizeof(*group->kernels), compare_kernels);
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_groups(const void *a, const void *b)
{
	const struct summary_group *x = a, *y = b;
	int order = 0;

	if (!x->has_process && !x->has_gpu) {
		order = compare_numbers(y->sums.total_ns, x->sums.total_ns);
		return order ? order : strcmp(x->name, y->name);
	}
	if (x->has_rank != y->has_rank)
		return x->has_rank ? -1 : 1;
	order = compare_numbers(x->rank, y->rank);
	if (!order)
		order = compare_numbers(x->process_id, y->process_id);
	if (!order)
		order = compare_numbers(x->queue_id, y->queue_id);
	return order ? order : compare_numbers(x->gpu_id, y->gpu_id);
}

static void fill(struct grouping *g)
{
	size_t end;

	if (g->count)
		qsort(g->members, g->count, sizeof(*g->members), compare_members);
	for (size_t i = 0; i < g->count; i = end) {
		for (end = i; end < g->count && g->members[end].group == g->members[i].group;)
			end++;
		fill_group(g, g->members + i, end - i);
	}
	if (g->groups->count)
		qsort(g->groups->at, g->groups->count, sizeof(*g->groups->at), compare_groups);
}

struct summary_groups *summary_groups_new(
	const struct trace *trace, const struct measure *measure, enum summary_by by)
{
	struct summary_groups *groups = xcalloc(1, sizeof(*groups));
	CLEANUP(grouping_done)
	struct grouping g = {.measure = measure, .trace = trace, .groups = groups};

	groups->by = by;
	collect(&g);
	fill(&g);
	return groups;
}
