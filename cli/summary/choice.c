// SPDX-License-Identifier: MIT
#include "cli/summary/choice.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/summary/summary.h"
#include "proto/base/cleanup.h"

const char *summary_sort_name(enum summary_sort sort)
{
	static const char *const names[SUMMARY_SORTS] = {"total", "calls", "avg", "max", "name"};

	return names[sort];
}

bool summary_choice_is_set(const struct summary_choice *choice)
{
	return choice->has_ranks || choice->has_kernels || choice->category;
}

/* ---- what is chosen ------------------------------------------------------------------------- */

static bool has_rank(const struct summary_choice *choice, const struct summary_rank *rank)
{
	return rank->has_rank && rank->rank >= 0 && rank->rank <= UINT32_MAX &&
	       choice_has(&choice->ranks, (uint32_t)rank->rank);
}

static void choose_ranks(const struct summary_choice *choice, struct summary *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->rank_count; i++) {
		if (has_rank(choice, s->ranks + i))
			s->ranks[kept++] = s->ranks[i];
		else
			free(s->ranks[i].exe);
	}
	s->rank_count = kept;
}

/* The ranks that are left are in the order of rtl_process, not in that of their ids. */
static bool is_process_chosen(const struct summary *s, int64_t process_id)
{
	for (size_t i = 0; i < s->rank_count; i++)
		if (s->ranks[i].process_id == process_id)
			return true;
	return false;
}

static bool is_kernel_chosen(const struct summary_choice *choice,
	const struct categories *categories, const struct measure_kernel *kernel)
{
	if (choice->has_kernels && regexec(&choice->kernels, kernel->name, 0, NULL, 0) != 0 &&
		regexec(&choice->kernels, kernel->symbol, 0, NULL, 0) != 0)
		return false;
	return !choice->category ||
	       !strcmp(categories_match(categories, kernel->name, kernel->symbol)->name,
		       choice->category);
}

static void choose_kernels(const struct summary_choice *choice, const struct categories *categories,
	struct measure *m, bool *ret)
{
	for (size_t i = 0; i < m->kernel_count; i++)
		ret[i] = is_kernel_chosen(choice, categories, m->kernels + i);
}

/* ---- the sums of what is left --------------------------------------------------------------- */

/* Cells that are left out belong to no kernel. Lists the others. */
static size_t leave_out(const struct summary_choice *choice, const bool *is_chosen,
	struct summary *s, const struct measure_cell **ret)
{
	size_t count = 0;

	for (size_t i = 0; i < s->measure->cell_count; i++) {
		struct measure_cell *cell = s->measure->cells + i;

		if (cell->kernel == MEASURE_NO_KERNEL)
			continue;
		if (!is_chosen[cell->kernel] ||
			(choice->has_ranks && !is_process_chosen(s, cell->process_id)))
			cell->kernel = MEASURE_NO_KERNEL;
		else
			ret[count++] = cell;
	}
	return count;
}

static int compare_cells(const void *a, const void *b)
{
	const struct measure_cell *x = *(const struct measure_cell *const *)a;
	const struct measure_cell *y = *(const struct measure_cell *const *)b;

	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static void sum_again(struct measure *m, const struct measure_cell **cells, size_t count)
{
	CLEANUP(durations_room_done) struct durations_room room = {0};
	size_t end;

	for (size_t i = 0; i < m->kernel_count; i++)
		m->kernels[i].sums = (struct measure_sums){0};
	if (count)
		qsort(cells, count, sizeof(*cells), compare_cells);
	for (size_t i = 0; i < count; i = end) {
		struct measure_sums *sums = &m->kernels[cells[i]->kernel].sums;

		for (end = i; end < count && cells[end]->kernel == cells[i]->kernel; end++)
			measure_add(sums, &cells[end]->sums);
		measure_percentiles(cells + i, end - i, &room, &sums->percentiles);
	}
}

/* ---- order ---------------------------------------------------------------------------------- */

struct order {
	const struct measure *measure;
	enum summary_sort by;
};

static int descending(int64_t a, int64_t b)
{
	return (a < b) - (a > b);
}

static int64_t mean(const struct measure_sums *sums)
{
	return sums->timed ? sums->total_ns / (int64_t)sums->timed : 0;
}

static int compare_kernels(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const struct measure_kernel *x = order->measure->kernels + *(const uint32_t *)a;
	const struct measure_kernel *y = order->measure->kernels + *(const uint32_t *)b;
	int r = 0;

	switch (order->by) {
	case SUMMARY_SORT_CALLS:
		r = descending((int64_t)x->sums.calls, (int64_t)y->sums.calls);
		break;
	case SUMMARY_SORT_AVG:
		r = descending(mean(&x->sums), mean(&y->sums));
		break;
	case SUMMARY_SORT_MAX:
		r = descending(x->sums.max_ns, y->sums.max_ns);
		break;
	case SUMMARY_SORT_NAME:
		break;
	default:
		r = descending(x->sums.total_ns, y->sums.total_ns);
	}
	return r ? r : strcmp(x->name, y->name);
}

/* Orders the kernels that have a call, and frees the others. Cells refer to them by position. */
static void order_kernels(struct measure *m, enum summary_sort by)
{
	CLEANUP(free_p) uint32_t *order = xcalloc(m->kernel_count + 1, sizeof(*order));
	CLEANUP(free_p) uint32_t *place = xcalloc(m->kernel_count + 1, sizeof(*place));
	struct measure_kernel *kernels = xcalloc(m->kernel_count + 1, sizeof(*kernels));
	size_t count = 0;

	for (uint32_t i = 0; i < m->kernel_count; i++)
		if (m->kernels[i].sums.calls)
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), compare_kernels, &(struct order){m, by});
	for (uint32_t i = 0; i < count; i++) {
		kernels[i] = m->kernels[order[i]];
		place[order[i]] = i;
	}
	free(m->kernels);
	m->kernels = kernels;
	m->kernel_count = count;
	for (size_t i = 0; i < m->cell_count; i++)
		if (m->cells[i].kernel != MEASURE_NO_KERNEL)
			m->cells[i].kernel = place[m->cells[i].kernel];
}

void summary_choose(const struct summary_choice *choice, const struct categories *categories,
	struct summary *summary)
{
	struct measure *m = summary->measure;
	CLEANUP(free_p) bool *is_chosen = xcalloc(m->kernel_count + 1, sizeof(*is_chosen));
	CLEANUP(free_p)
	const struct measure_cell **cells = xcalloc(m->cell_count + 1, sizeof(*cells));

	choose_kernels(choice, categories, m, is_chosen);
	if (choice->has_ranks)
		choose_ranks(choice, summary);
	sum_again(m, cells, leave_out(choice, is_chosen, summary, cells));
	order_kernels(m, choice->sort);
}
