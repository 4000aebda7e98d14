// SPDX-License-Identifier: MIT
/*
 * Finds kernels that take the place of others (docs/commands.md, "Replaced"). A launch site is the
 * place in a queue between two kernels that both runs have. What one run launches there is compared
 * with what the other run launches there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/diff/diff.h"
#include "proto/base/cleanup.h"

#define NO_KERNEL UINT32_MAX

/* The kernels that lie at a site, and how often. `list` holds kernels of one side alone. */
struct run {
	/* kernels of the reference; NO_KERNEL at the start and the end of a queue */
	uint32_t before, after;
	/* 0: the site is empty; above DIFF_REPLACED_MAX: too many to list */
	uint32_t count;
	uint32_t list[DIFF_REPLACED_MAX];
	uint64_t times;
};

struct runs {
	struct run *at;
	size_t count, capacity;
};

/* One side, with its mapping to the kernels that both sides have. */
struct half {
	const struct diff_side *side;
	/* index of the kernel in the reference; NO_KERNEL if only this side has it */
	uint32_t *common;
	uint64_t *launches; /* launches of each kernel among those that were loaded */
	struct runs runs;
};

struct pairing {
	struct diff *diff;
	struct half before, after;
	size_t capacity;
};

static void half_done(struct half *half)
{
	free(half->common);
	free(half->launches);
	free(half->runs.at);
}

static void pairing_done(struct pairing *p)
{
	half_done(&p->before);
	half_done(&p->after);
}

void diff_replacements_done(struct diff *diff)
{
	for (size_t i = 0; i < diff->replacement_count; i++) {
		free(diff->replacements[i].before_names);
		free(diff->replacements[i].after_names);
	}
	free(diff->replacements);
}

static bool has_kernel(
	const struct diff_kernel *const *list, size_t count, const struct diff_kernel *kernel)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == kernel)
			return true;
	return false;
}

const struct diff_replacement *diff_find_replacement(
	const struct diff *diff, const struct diff_kernel *kernel)
{
	for (size_t i = 0; i < diff->replacement_count; i++) {
		const struct diff_replacement *r = diff->replacements + i;

		if (has_kernel(r->before, r->before_count, kernel) ||
			has_kernel(r->after, r->after_count, kernel))
			return r;
	}
	return NULL;
}

/* ---- sites ---- */

static int compare_runs(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->before != y->before)
		return x->before < y->before ? -1 : 1;
	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	for (size_t i = 0; i < DIFF_REPLACED_MAX; i++)
		if (x->list[i] != y->list[i])
			return x->list[i] < y->list[i] ? -1 : 1;
	return 0;
}

static int compare_sites(const struct run *x, const struct run *y)
{
	if (x->before != y->before)
		return x->before < y->before ? -1 : 1;
	return (x->after > y->after) - (x->after < y->after);
}

static void unite(struct runs *runs)
{
	size_t kept = 0;

	if (!runs->count)
		return;
	qsort(runs->at, runs->count, sizeof(*runs->at), compare_runs);
	for (size_t i = 1; i < runs->count; i++)
		if (!compare_runs(runs->at + kept, runs->at + i))
			runs->at[kept].times++;
		else
			runs->at[++kept] = runs->at[i];
	runs->count = kept + 1;
}

static void close_run(struct runs *runs, struct run *open, uint32_t after)
{
	open->after = after;
	open->times = 1;
	GROW(runs->at, runs->count, runs->capacity);
	runs->at[runs->count++] = *open;
	*open = (struct run){.before = after};
}

/* Collects the runs between common kernels. If a launch is missing, the sites on both sides of the
 * gap are unknown and left out. */
static void find_runs(struct half *half)
{
	const struct diff_side *side = half->side;
	struct run open = {.before = NO_KERNEL};
	bool is_known = true;

	for (size_t i = 0; i < side->launch_count; i++) {
		const struct diff_launch *launch = side->launches + i;
		bool is_first = !i || launch->queue != side->launches[i - 1].queue;
		uint32_t common = half->common[launch->kernel];

		half->launches[launch->kernel]++;
		if (is_first || launch->seq != side->launches[i - 1].seq + 1) {
			if (i && is_first && is_known)
				close_run(&half->runs, &open, NO_KERNEL);
			is_known = is_first && launch->seq == 0;
			open = (struct run){.before = NO_KERNEL};
		}
		if (common == NO_KERNEL) {
			if (open.count < DIFF_REPLACED_MAX)
				open.list[open.count] = launch->kernel;
			open.count++;
			continue;
		}
		if (is_known)
			close_run(&half->runs, &open, common);
		is_known = true;
		open = (struct run){.before = common};
	}
	unite(&half->runs);
}

static void find_common(struct half *half, const struct diff_side *other, bool is_reference)
{
	const struct diff_side *side = half->side;
	size_t k = 0;

	half->common = xcalloc(side->kernel_count + 1, sizeof(*half->common));
	half->launches = xcalloc(side->kernel_count + 1, sizeof(*half->launches));
	for (size_t i = 0; i < side->kernel_count; i++) {
		int order = 1;

		while (k < other->kernel_count &&
			(order = strcmp(other->kernels[k].name, side->kernels[i].name)) < 0)
			k++;
		half->common[i] = k == other->kernel_count || order ? NO_KERNEL
				  : is_reference		    ? (uint32_t)i
								    : (uint32_t)k;
	}
}

/* ---- pairs ---- */

/* Returns the run that nearly always lies at a site when the site is not empty, or NULL if there is
 * no such run. */
static const struct run *find_main(const struct run *runs, size_t count)
{
	const struct run *most = NULL;
	uint64_t all = 0;

	for (size_t i = 0; i < count; i++) {
		if (!runs[i].count)
			continue;
		all += runs[i].times;
		if (!most || runs[i].times > most->times)
			most = runs + i;
	}
	return most && most->count <= DIFF_REPLACED_MAX && most->times * 100 >= all * DIFF_SITES_PCT
		       ? most
		       : NULL;
}

static bool is_list(const struct diff_kernel *const *list, size_t count,
	const struct diff_side *side, const uint32_t *kernels, size_t kernel_count)
{
	if (count != kernel_count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (list[i] != side->kernels + kernels[i])
			return false;
	return true;
}

static struct diff_replacement *find_pair(const struct diff *d, const uint32_t *before,
	size_t before_count, const uint32_t *after, size_t after_count)
{
	for (size_t i = 0; i < d->replacement_count; i++) {
		struct diff_replacement *pair = d->replacements + i;

		if (is_list(pair->before, pair->before_count, d->reference, before, before_count) &&
			is_list(pair->after, pair->after_count, d->side, after, after_count))
			return pair;
	}
	return NULL;
}

/* Pairs the kernels at index @first of both runs, or all kernels of both runs if not @is_single. */
static void add_pair(struct pairing *p, const struct run *before, const struct run *after,
	size_t first, bool is_single)
{
	struct diff *d = p->diff;
	size_t before_count = is_single ? 1 : before->count;
	size_t after_count = is_single ? 1 : after->count;
	struct diff_replacement *pair =
		find_pair(d, before->list + first, before_count, after->list + first, after_count);

	if (!pair) {
		GROW(d->replacements, d->replacement_count, p->capacity);
		pair = d->replacements + d->replacement_count++;
		*pair = (struct diff_replacement){
			.before_count = before_count, .after_count = after_count};
		for (size_t i = 0; i < before_count; i++)
			pair->before[i] = d->reference->kernels + before->list[first + i];
		for (size_t i = 0; i < after_count; i++)
			pair->after[i] = d->side->kernels + after->list[first + i];
	}
	pair->before_times += before->times;
	pair->after_times += after->times;
}

/* Pairs the kernels one by one if both runs are equally long, else the two runs as a whole. */
static void add_site(struct pairing *p, const struct run *before, const struct run *after)
{
	if (before->count != after->count) {
		add_pair(p, before, after, 0, false);
		return;
	}
	for (size_t i = 0; i < before->count; i++)
		add_pair(p, before, after, i, true);
}

static size_t site_end(const struct runs *runs, size_t from)
{
	size_t end = from;

	while (end < runs->count && !compare_sites(runs->at + from, runs->at + end))
		end++;
	return end;
}

static void pair_sites(struct pairing *p)
{
	const struct runs *a = &p->before.runs, *b = &p->after.runs;
	size_t i = 0, k = 0;

	while (i < a->count && k < b->count) {
		size_t i_end = site_end(a, i), k_end = site_end(b, k);
		int order = compare_sites(a->at + i, b->at + k);
		const struct run *before = find_main(a->at + i, i_end - i);
		const struct run *after = find_main(b->at + k, k_end - k);

		if (!order && before && after)
			add_site(p, before, after);
		if (order <= 0)
			i = i_end;
		if (order >= 0)
			k = k_end;
	}
}

/* ---- which pairs are certain ---- */

/* Returns true if nearly all launches of each kernel lie at the sites of the pair, which was seen
 * @times times. */
static bool is_mostly_there(const struct half *half, const struct diff_kernel *const *list,
	size_t count, uint64_t times)
{
	for (size_t i = 0; i < count; i++) {
		size_t kernel = (size_t)(list[i] - half->side->kernels);
		uint64_t there = 0;

		for (size_t n = 0; n < count; n++)
			there += list[n] == list[i] ? times : 0;
		if (there * 100 < half->launches[kernel] * DIFF_SITES_PCT)
			return false;
	}
	return true;
}

/* Returns true if no other pair has a kernel of @pair. A kernel in two pairs has no certain
 * replacement. */
static bool is_alone(const struct diff *d, const struct diff_replacement *pair)
{
	for (size_t i = 0; i < d->replacement_count; i++) {
		const struct diff_replacement *other = d->replacements + i;

		for (size_t n = 0; n < pair->before_count && other != pair; n++)
			if (has_kernel(other->before, other->before_count, pair->before[n]))
				return false;
		for (size_t n = 0; n < pair->after_count && other != pair; n++)
			if (has_kernel(other->after, other->after_count, pair->after[n]))
				return false;
	}
	return true;
}

static char *join(const struct diff_kernel *const *list, size_t count)
{
	char *text = NULL;
	FILE *to = xmemstream(&text);

	for (size_t i = 0; i < count; i++)
		fprintf(to, "%s%s", i ? " + " : "", list[i]->name);
	xfclose(to);
	return text;
}

static double time_of(
	const struct diff_side *side, const struct diff_kernel *const *list, size_t count)
{
	double ns = 0;

	for (size_t i = 0; i < count; i++)
		if (!has_kernel(list, i, list[i]))
			ns += diff_of_step(side, list[i]->total_ns);
	return ns;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct diff_replacement *x = a, *y = b;
	double left = fabs(x->after_ns - x->before_ns), right = fabs(y->after_ns - y->before_ns);

	if (left > right || left < right)
		return left < right ? 1 : -1;
	return strcmp(x->before_names, y->before_names);
}

static void keep_sure(struct pairing *p)
{
	struct diff *d = p->diff;
	CLEANUP(free_p) bool *sure = xcalloc(d->replacement_count + 1, sizeof(*sure));
	size_t kept = 0;

	for (size_t i = 0; i < d->replacement_count; i++) {
		const struct diff_replacement *pair = d->replacements + i;

		sure[i] = is_alone(d, pair) &&
			  is_mostly_there(&p->before, pair->before, pair->before_count,
				  pair->before_times) &&
			  is_mostly_there(
				  &p->after, pair->after, pair->after_count, pair->after_times);
	}
	for (size_t i = 0; i < d->replacement_count; i++)
		if (sure[i])
			d->replacements[kept++] = d->replacements[i];
	d->replacement_count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct diff_replacement *pair = d->replacements + i;

		pair->before_ns = time_of(d->reference, pair->before, pair->before_count);
		pair->after_ns = time_of(d->side, pair->after, pair->after_count);
		pair->before_names = join(pair->before, pair->before_count);
		pair->after_names = join(pair->after, pair->after_count);
	}
	if (kept)
		qsort(d->replacements, kept, sizeof(*d->replacements), compare_pairs);
}

void diff_replace(struct diff *diff)
{
	CLEANUP(pairing_done)
	struct pairing p = {.diff = diff, .before.side = diff->reference, .after.side = diff->side};

	find_common(&p.before, diff->side, true);
	find_common(&p.after, diff->reference, false);
	find_runs(&p.before);
	find_runs(&p.after);
	pair_sites(&p);
	keep_sure(&p);
}
