// SPDX-License-Identifier: MIT
/* Joins cells to kernels: one per demangled name, the longest time first, with its percentiles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/array.h"
#include "cli/trace/kernel_totals.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"

/* Marks a kernel that is used, until its name is found: in a damaged file it may have no row. */
#define NAMELESS (MEASURE_NO_KERNEL - 1)

struct named {
	int64_t id;
	char *name, *symbol;
};

struct naming {
	struct measure *measure;
	struct named *at;
	size_t count, capacity;
	struct idmap kernel_of_id;
	const struct measure_cell **by_kernel;
	struct durations_room room;
};

static void naming_done(struct naming *n)
{
	for (size_t i = 0; i < n->count; i++) {
		free(n->at[i].name);
		free(n->at[i].symbol);
	}
	free(n->at);
	idmap_done(&n->kernel_of_id);
	free(n->by_kernel);
	durations_room_done(&n->room);
}

void measure_add(struct measure_sums *to, const struct measure_sums *from)
{
	if (from->timed && (!to->timed || from->min_ns < to->min_ns))
		to->min_ns = from->min_ns;
	if (from->timed && (!to->timed || from->max_ns > to->max_ns))
		to->max_ns = from->max_ns;
	to->calls += from->calls;
	to->timed += from->timed;
	to->total_ns = wrap_plus(to->total_ns, from->total_ns);
}

int measure_percentiles(const struct measure_cell *const *cells, size_t count,
	struct durations_room *room, struct durations_percentiles *ret)
{
	CLEANUP(free_p) const struct durations **lists = calloc(count + 1, sizeof(void *));
	int r;

	if (!lists)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		lists[i] = &cells[i]->durations;
	*ret = (struct durations_percentiles){0};
	r = durations_of(lists, count, room, ret);
	return r == -ENODATA ? 0 : r;
}

/* ---- names ----------------------------------------------------------------------------- */

static int mark_used(struct naming *n)
{
	const struct measure *m = n->measure;

	for (size_t i = 0; i < m->cell_count; i++) {
		uint32_t *at;

		if (!m->cells[i].sums.calls)
			continue;
		at = idmap_at(&n->kernel_of_id, m->cells[i].kernel_id);
		if (!at)
			return -ENOMEM;
		*at = NAMELESS;
	}
	return 0;
}

static int load_names(struct query *query, struct naming *n)
{
	CLEANUP(query_rows_free_p) struct query_rows *rows = NULL;
	int r = query_ask(query, "kernels", &rows);

	while (!r && (r = query_next(rows)) > 0) {
		int64_t id = query_integer(rows, 0);
		const char *name = query_text(rows, 1), *symbol = query_text(rows, 2);

		r = 0;
		if (idmap_find(&n->kernel_of_id, id) == IDMAP_NONE)
			continue;
		if (GROW(n->at, n->count, n->capacity))
			return -ENOMEM;
		n->at[n->count] =
			(struct named){id, strdup(name ? name : ""), strdup(symbol ? symbol : "")};
		if (!n->at[n->count].name || !n->at[n->count].symbol) {
			n->count++;
			return -ENOMEM;
		}
		n->count++;
	}
	return r;
}

static int compare_names(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->symbol, y->symbol);
}

/*
 * Symbols that demangle to the same name are one kernel, as in the view top; the alphabetically
 * first one is shown.
 */
static int make_kernels(struct naming *n)
{
	struct measure *m = n->measure;

	m->kernels = calloc(n->count + 1, sizeof(*m->kernels));
	if (!m->kernels)
		return -ENOMEM;
	if (n->count)
		qsort(n->at, n->count, sizeof(*n->at), compare_names);
	for (size_t i = 0; i < n->count; i++) {
		uint32_t *at = idmap_at(&n->kernel_of_id, n->at[i].id);

		if (!at)
			return -ENOMEM;
		if (!m->kernel_count ||
			strcmp(m->kernels[m->kernel_count - 1].name, n->at[i].name) != 0)
			m->kernels[m->kernel_count++] = (struct measure_kernel){
				.name = TAKE(n->at[i].name), .symbol = TAKE(n->at[i].symbol)};
		*at = (uint32_t)m->kernel_count - 1;
	}
	return 0;
}

static void sum_cells(struct naming *n)
{
	struct measure *m = n->measure;

	for (size_t i = 0; i < m->cell_count; i++) {
		struct measure_cell *cell = m->cells + i;

		cell->kernel = cell->sums.calls ? idmap_find(&n->kernel_of_id, cell->kernel_id)
						: MEASURE_NO_KERNEL;
		if (cell->kernel >= m->kernel_count)
			cell->kernel = MEASURE_NO_KERNEL;
		else
			measure_add(&m->kernels[cell->kernel].sums, &cell->sums);
	}
}

/* ---- order ----------------------------------------------------------------------------- */

static int compare_totals(const void *a, const void *b, void *context)
{
	const struct measure *m = context;
	const struct measure_kernel *x = m->kernels + *(const uint32_t *)a;
	const struct measure_kernel *y = m->kernels + *(const uint32_t *)b;

	if (x->sums.total_ns != y->sums.total_ns)
		return x->sums.total_ns < y->sums.total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* The longest time first; cells refer to kernels by position. */
static int order_kernels(struct measure *m)
{
	CLEANUP(free_p) uint32_t *order = calloc(m->kernel_count + 1, sizeof(*order));
	CLEANUP(free_p) uint32_t *place = calloc(m->kernel_count + 1, sizeof(*place));
	struct measure_kernel *kernels = calloc(m->kernel_count + 1, sizeof(*kernels));

	if (!order || !place || !kernels) {
		free(kernels);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < m->kernel_count; i++)
		order[i] = i;
	if (m->kernel_count)
		qsort_r(order, m->kernel_count, sizeof(*order), compare_totals, m);
	for (uint32_t i = 0; i < m->kernel_count; i++) {
		kernels[i] = m->kernels[order[i]];
		place[order[i]] = i;
	}
	free(m->kernels);
	m->kernels = kernels;
	for (size_t i = 0; i < m->cell_count; i++)
		if (m->cells[i].kernel != MEASURE_NO_KERNEL)
			m->cells[i].kernel = place[m->cells[i].kernel];
	return 0;
}

static int compare_cells(const void *a, const void *b)
{
	const struct measure_cell *x = *(const struct measure_cell *const *)a;
	const struct measure_cell *y = *(const struct measure_cell *const *)b;

	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static int find_percentiles(struct naming *n)
{
	struct measure *m = n->measure;
	size_t count = 0, end;

	n->by_kernel = calloc(m->cell_count + 1, sizeof(*n->by_kernel));
	if (!n->by_kernel)
		return -ENOMEM;
	for (size_t i = 0; i < m->cell_count; i++)
		if (m->cells[i].kernel != MEASURE_NO_KERNEL)
			n->by_kernel[count++] = m->cells + i;
	if (count)
		qsort(n->by_kernel, count, sizeof(*n->by_kernel), compare_cells);
	for (size_t i = 0; i < count; i = end) {
		struct measure_kernel *kernel = m->kernels + n->by_kernel[i]->kernel;
		int r;

		for (end = i; end < count && n->by_kernel[end]->kernel == n->by_kernel[i]->kernel;)
			end++;
		r = measure_percentiles(
			n->by_kernel + i, end - i, &n->room, &kernel->sums.percentiles);
		if (r)
			return r;
	}
	return 0;
}

int measure_name_kernels(struct query *query, struct measure *measure, bool wants_percentiles)
{
	CLEANUP(naming_done) struct naming n = {.measure = measure};
	int r = mark_used(&n);

	if (!r)
		r = load_names(query, &n);
	if (!r)
		r = make_kernels(&n);
	if (r)
		return r;
	sum_cells(&n);
	r = order_kernels(measure);
	if (!r && wants_percentiles)
		r = find_percentiles(&n);
	for (size_t i = 0; i < measure->kernel_count; i++)
		measure->total_ns = wrap_plus(measure->total_ns, measure->kernels[i].sums.total_ns);
	return r;
}
