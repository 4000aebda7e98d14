// SPDX-License-Identifier: MIT
#include "cli/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cleanup.h"

static void add_kernel(struct summary_category *to, const struct measure_kernel *kernel)
{
	if (kernel->timed && (!to->timed || kernel->min_ns < to->min_ns))
		to->min_ns = kernel->min_ns;
	if (kernel->timed && (!to->timed || kernel->max_ns > to->max_ns))
		to->max_ns = kernel->max_ns;
	to->kernels++;
	to->calls += kernel->calls;
	to->timed += kernel->timed;
	/* A damaged file may hold any numbers; sums wrap then. */
	to->total_ns = (int64_t)((uint64_t)to->total_ns + (uint64_t)kernel->total_ns);
}

/* They are few: some twenty, and what a user adds. */
static struct summary_category *find(struct summary *s, const char *name)
{
	struct summary_category *grown;

	for (size_t i = 0; i < s->category_count; i++)
		if (!strcmp(s->categories[i].name, name))
			return s->categories + i;
	grown = reallocarray(s->categories, s->category_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	s->categories = grown;
	grown += s->category_count++;
	*grown = (struct summary_category){0};
	snprintf(grown->name, sizeof(grown->name), "%s", name);
	return grown;
}

static int compare(const void *a, const void *b)
{
	const struct summary_category *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

int summary_add_categories(struct query *query, const char *file, struct summary *summary,
	char error[QUERY_ERROR_BYTES])
{
	CLEANUP(categories_free_p) struct categories *categories = NULL;
	const struct measure *m = summary->measure;
	int r = categories_new(query, file, error, &categories);

	for (size_t i = 0; i < m->kernel_count && !r; i++) {
		const struct category *category =
			categories_match(categories, m->kernels[i].name, m->kernels[i].symbol);
		struct summary_category *to = category ? find(summary, category->name) : NULL;

		if (!to)
			return -ENOMEM;
		add_kernel(to, m->kernels + i);
	}
	if (!r && summary->category_count)
		qsort(summary->categories, summary->category_count, sizeof(*summary->categories),
			compare);
	return r;
}
