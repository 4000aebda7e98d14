// SPDX-License-Identifier: MIT
/*
 * Matches collectives without RCCL (all-reduces of vLLM, SGLang and aiter, symmetric memory, MoRI,
 * DeepEP), for which no call says which ranks take part. On the GPUs of one group within a node,
 * the k-th launches of one kernel run at once and end together; those of different groups drift
 * apart. docs/commands.md, "Collectives without RCCL".
 */
#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"
#include "cli/base/wrapping.h"
#include "cli/collectives/collectives.h"
#include "cli/trace/kernels/leaders.h"
#include "proto/base/cleanup.h"

/* With fewer launches no group is formed. */
#define LAUNCHES_LEAST 20
/* Number of launches that are compared, at most about, and percent of them that must fit. */
#define COMPARED       64
#define FIT_PCT	       90
/* Launches end together if their ends are within this time, or within half of the shorter
 * launch. */
#define TOGETHER_NS    5000

/* The launches of one kernel on one lane, sorted by time. */
struct sequence {
	uint32_t kernel, lane;
	size_t first, count; /* range in `sorted` */
	uint32_t parent;     /* index of another sequence; the root is the first of the group */
};

struct grouping {
	struct collectives *c;
	struct collectives_launch **sorted; /* by kernel, lane, time */
	size_t count;
	struct sequence *sequences;
	size_t sequence_count, sequence_capacity;
};

static void grouping_done(struct grouping *g)
{
	free(g->sorted);
	free(g->sequences);
}

static int compare(const void *a, const void *b)
{
	const struct collectives_launch *x = *(struct collectives_launch *const *)a;
	const struct collectives_launch *y = *(struct collectives_launch *const *)b;

	if (x->kernel != y->kernel)
		return x->kernel < y->kernel ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->stop > y->stop) - (x->stop < y->stop);
}

static const struct collectives_launch *launch_at(
	const struct grouping *g, const struct sequence *sequence, size_t k)
{
	return g->sorted[sequence->first + k];
}

static int64_t error_between(const struct collectives *c, uint32_t a, uint32_t b)
{
	int64_t x = c->lanes[a].error_ns, y = c->lanes[b].error_ns;

	return wrap_plus(x > 0 ? x : 0, y > 0 ? y : 0);
}

static bool fit(
	const struct grouping *g, const struct sequence *a, const struct sequence *b, size_t k)
{
	const struct collectives_launch *x = launch_at(g, a, k), *y = launch_at(g, b, k);
	int64_t error = error_between(g->c, a->lane, b->lane);
	int64_t last = x->start > y->start ? x->start : y->start;
	int64_t gone = x->stop < y->stop ? x->stop : y->stop;
	int64_t apart = wrap_minus(x->stop > y->stop ? x->stop : y->stop, gone);
	int64_t length = wrap_minus(x->stop, x->start), other = wrap_minus(y->stop, y->start);
	int64_t half = (length < other ? length : other) / 2;

	if (wrap_minus(last, gone) > error)
		return false;
	return wrap_minus(apart, error) <= (half > TOGETHER_NS ? half : TOGETHER_NS);
}

static bool are_together(
	const struct grouping *g, const struct sequence *a, const struct sequence *b)
{
	const struct collectives *c = g->c;
	size_t count = a->count < b->count ? a->count : b->count, fits = 0, seen = 0;
	size_t stride = count / COMPARED + 1;

	if (a->kernel != b->kernel || c->processes[c->lanes[a->lane].process].node !=
					      c->processes[c->lanes[b->lane].process].node)
		return false;
	for (size_t k = 0; k < count; k += stride, seen++)
		fits += fit(g, a, b, k);
	return fits * 100 >= seen * FIT_PCT;
}

static uint32_t find_root(struct sequence *sequences, uint32_t at)
{
	while (sequences[at].parent != at)
		at = sequences[at].parent = sequences[sequences[at].parent].parent;
	return at;
}

static bool is_whole(const struct grouping *g, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (!g->sorted[i]->kernels || g->sorted[i]->untimed)
			return false;
	return count >= LAUNCHES_LEAST;
}

static void find_sequences(struct grouping *g)
{
	for (size_t i = 0, next; i < g->count; i = next) {
		const struct collectives_launch *launch = g->sorted[i];

		for (next = i; next < g->count && g->sorted[next]->kernel == launch->kernel &&
			       g->sorted[next]->lane == launch->lane;)
			next++;
		if (!is_whole(g, i, next - i))
			continue;
		GROW(g->sequences, g->sequence_count, g->sequence_capacity);
		g->sequences[g->sequence_count] = (struct sequence){.kernel = launch->kernel,
			.lane = launch->lane,
			.first = i,
			.count = next - i,
			.parent = (uint32_t)g->sequence_count};
		g->sequence_count++;
	}
	for (uint32_t i = 0; i < g->sequence_count; i++)
		for (uint32_t k = 0; k < i; k++) {
			uint32_t a = find_root(g->sequences, i), b = find_root(g->sequences, k);

			if (a != b && are_together(g, g->sequences + i, g->sequences + k))
				g->sequences[a > b ? a : b].parent = a > b ? b : a;
		}
}

/* Returns true if the k-th launches of all members fit, so that no rank left before the last one
 * came. */
static bool are_one(const struct grouping *g, const uint32_t *members, size_t count, size_t k)
{
	for (size_t i = 1; i < count; i++)
		for (size_t n = 0; n < i; n++)
			if (!fit(g, g->sequences + members[i], g->sequences + members[n], k))
				return false;
	return true;
}

static int add_group(struct grouping *g, const uint32_t *members, size_t count)
{
	struct collectives *c = g->c;
	size_t length = SIZE_MAX;
	uint32_t comm = (uint32_t)c->comm_count;
	int r = 0;

	for (size_t i = 0; i < count; i++)
		if (g->sequences[members[i]].count < length)
			length = g->sequences[members[i]].count;
	GROW(c->comms, c->comm_count, c->comm_capacity);
	c->comms[c->comm_count++] = (struct collectives_comm){
		.id = (int64_t)++c->kernel_groups, .size = (uint32_t)count, .is_kernels = true};
	for (size_t k = 0; k < length && !r; k++) {
		if (!are_one(g, members, count, k))
			continue;
		for (size_t i = 0; i < count && !r; i++)
			r = collectives_add_kernel(c, launch_at(g, g->sequences + members[i], k),
				comm, (uint32_t)i, (int64_t)k);
	}
	return r;
}

static int add_groups(struct grouping *g)
{
	CLEANUP(free_p) uint32_t *members = xcalloc(g->sequence_count + 1, sizeof(*members));
	int r = 0;

	for (uint32_t i = 0; i < g->sequence_count && !r; i++) {
		size_t count = 0;

		for (uint32_t k = i; k < g->sequence_count && g->sequences[i].parent == i; k++)
			if (find_root(g->sequences, k) == i)
				members[count++] = k;
		if (count > 1)
			r = add_group(g, members, count);
	}
	return r;
}

int collectives_group_kernels(struct collectives *c)
{
	CLEANUP(grouping_done) struct grouping g = {.c = c};

	g.sorted = xcalloc(c->launch_count + 1, sizeof(struct collectives_launch *));
	for (size_t i = c->known_launches; i < c->launch_count; i++) {
		const struct collectives_lane *lane = c->lanes + c->launches[i].lane;

		if (!c->filter.leaders ||
			leaders_leads(c->filter.leaders, c->processes[lane->process].id))
			g.sorted[g.count++] = c->launches + i;
	}
	if (g.count)
		qsort(g.sorted, g.count, sizeof(struct collectives_launch *), compare);
	find_sequences(&g);
	return add_groups(&g);
}
