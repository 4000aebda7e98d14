// SPDX-License-Identifier: MIT
/*
 * Matches kernels whose RCCL call is unknown, because no calls, or no launches of graphs, were
 * recorded. The k-th communication kernel of each GPU is taken as the k-th collective of all, as
 * long as nothing contradicts it. One lost kernel would shift all later ones, so the match stops at
 * the first kernel that does not fit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/collectives/collectives.h"
#include "cli/base/array.h"
#include "cli/trace/kernels/leaders.h"
#include "proto/base/cleanup.h"

int collectives_add_kernel(struct collectives *c, const struct collectives_launch *launch,
	uint32_t comm, uint32_t rank, int64_t seq)
{
	GROW(c->events, c->event_count, c->event_capacity);
	c->events[c->event_count++] = (struct collectives_event){
		.seq = seq,
		.comm = comm,
		.rank = rank,
		.launch = (uint32_t)(launch - c->launches),
		.process = c->lanes[launch->lane].process,
		.op = COLLECTIVES_OP_KERNEL,
		.root = -1,
		.datatype = COLLECTIVES_DATATYPE_NONE,
	};
	return 0;
}

struct ordering {
	struct collectives *c;
	struct collectives_launch *const *sorted; /* by lane, time */
	/* index in `sorted` of each lane's first launch, and the end */
	size_t *first;
	uint32_t *lanes; /* the lanes that have launches */
	size_t count;
};

static int compare(const void *a, const void *b)
{
	const struct collectives_launch *x = *(struct collectives_launch *const *)a;
	const struct collectives_launch *y = *(struct collectives_launch *const *)b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->stop != y->stop)
		return x->stop < y->stop ? -1 : 1;
	return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static const struct collectives_launch *launch_at(const struct ordering *o, size_t lane, uint64_t k)
{
	return o->sorted[o->first[o->lanes[lane]] + k];
}

static uint64_t lane_length(const struct ordering *o, size_t lane)
{
	return o->first[o->lanes[lane] + 1] - o->first[o->lanes[lane]];
}

static void name(const struct ordering *o, size_t lane, char ret[48])
{
	collectives_name_lane(o->c, o->lanes[lane], ret, 48);
}

/* No rank leaves a collective before the last one has come, within the error of the clocks. */
static bool overlaps(const struct ordering *o, uint64_t k, size_t *ret_gone, size_t *ret_late)
{
	int64_t gone = INT64_MAX, late = INT64_MIN;
	uint64_t error_ns = 0;

	for (size_t i = 0; i < o->count; i++) {
		const struct collectives_launch *launch = launch_at(o, i, k);

		if (launch->stop < gone) {
			gone = launch->stop;
			*ret_gone = i;
		}
		if (launch->start > late) {
			late = launch->start;
			*ret_late = i;
		}
	}
	for (size_t i = 0; i < 2; i++) {
		const struct collectives_lane *lane =
			o->c->lanes + o->lanes[i ? *ret_late : *ret_gone];

		error_ns += lane->error_ns > 0 ? (uint64_t)lane->error_ns : 0;
	}
	return late <= gone || (uint64_t)late - (uint64_t)gone <= error_ns;
}

static bool fits(const struct ordering *o, uint64_t k)
{
	struct collectives *c = o->c;
	char a[48], b[48];
	size_t gone = 0, late = 0;

	for (size_t i = 0; i < o->count; i++) {
		if (lane_length(o, i) > k)
			continue;
		name(o, i, a);
		snprintf(c->stopped, sizeof(c->stopped),
			"%s has %" PRIu64 " communication kernels, others have up to %" PRIu64, a,
			lane_length(o, i), c->order_longest);
		return false;
	}
	for (size_t i = 1; i < o->count; i++) {
		if (launch_at(o, i, k)->kernel == launch_at(o, 0, k)->kernel)
			continue;
		name(o, 0, a);
		name(o, i, b);
		snprintf(c->stopped, sizeof(c->stopped),
			"%s and %s run different kernels as their number %" PRIu64, a, b, k);
		return false;
	}
	if (overlaps(o, k, &gone, &late))
		return true;
	name(o, gone, a);
	name(o, late, b);
	snprintf(c->stopped, sizeof(c->stopped),
		"%s left its number %" PRIu64 " before %s came to its own", a, k, b);
	return false;
}

static int add_events(const struct ordering *o, uint64_t k)
{
	int r = 0;

	for (size_t i = 0; i < o->count && !r; i++)
		r = collectives_add_kernel(
			o->c, launch_at(o, i, k), o->c->order_comm, (uint32_t)i, (int64_t)k);
	return r;
}

static int match(struct ordering *o)
{
	struct collectives *c = o->c;
	uint64_t longest = 0;
	int r = 0;

	for (size_t i = 0; i < o->count; i++)
		if (lane_length(o, i) > longest)
			longest = lane_length(o, i);
	c->order_longest = longest;
	for (size_t i = 0; i < o->count; i++) {
		const struct collectives_launch *launch = launch_at(o, i, 0);
		char lane_name[48];

		if (!launch->untimed)
			continue;
		name(o, i, lane_name);
		snprintf(c->stopped, sizeof(c->stopped),
			"%s has communication kernels without times, so without an order",
			lane_name);
		return 0;
	}
	for (uint64_t k = 0; k < longest && !r && fits(o, k); k++) {
		r = add_events(o, k);
		c->matched_until = k + 1;
	}
	return r;
}

/* A process that leads no rank has collectives of its own, which would shift those of the ranks. */
static bool is_asked_for(const struct collectives *c, size_t lane)
{
	return !c->filter.leaders ||
	       leaders_leads(c->filter.leaders, c->processes[c->lanes[lane].process].id);
}

static int match_in_order(struct collectives *c)
{
	CLEANUP(free_p)
	struct collectives_launch **sorted =
		xcalloc(c->launch_count + 1, sizeof(struct collectives_launch *));
	CLEANUP(free_p) size_t *first = xcalloc(c->lane_count + 2, sizeof(*first));
	CLEANUP(free_p) uint32_t *lanes = xcalloc(c->lane_count + 1, sizeof(*lanes));
	struct ordering o = {.c = c, .sorted = sorted, .first = first, .lanes = lanes};

	for (size_t i = c->known_launches; i < c->launch_count; i++) {
		sorted[i - c->known_launches] = c->launches + i;
		first[c->launches[i].lane + 1]++;
		/* An untimed launch sorts first in its lane. */
		if (!c->launches[i].kernels)
			c->launches[i].start = c->launches[i].stop = INT64_MIN;
	}
	qsort(sorted, c->launch_count - c->known_launches, sizeof(struct collectives_launch *),
		compare);
	for (size_t i = 0; i < c->lane_count; i++) {
		if (first[i + 1] && is_asked_for(c, i))
			lanes[o.count++] = (uint32_t)i;
		first[i + 1] += first[i];
	}
	c->comms[c->order_comm].size = (uint32_t)o.count;
	return match(&o);
}

/* If the order of all kernels does not fit, or only kernels without RCCL are left, groups are found
 * by the kernels that run together. */
int collectives_order(struct collectives *c)
{
	bool is_ordered = c->matched == COLLECTIVES_BY_ORDER || c->has_blind_graphs;
	size_t known = c->event_count, ordered;
	int r = is_ordered ? match_in_order(c) : 0;

	if (r || (is_ordered && !c->stopped[0]))
		return r;
	ordered = c->event_count;
	r = collectives_group_kernels(c);
	if (r || !c->kernel_groups)
		return r;
	memmove(c->events + known, c->events + ordered,
		(c->event_count - ordered) * sizeof(*c->events));
	c->event_count -= ordered - known;
	c->stopped[0] = '\0';
	return 0;
}
