// SPDX-License-Identifier: MIT
/* Computes when each operation ran, which rank came last, and why. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/collectives/collectives.h"
#include "cli/trace/kernels/leaders.h"
#include "cli/base/wrapping.h"
#include "proto/base/cleanup.h"
#include "proto/names/collectives.h"

/* ---- names ---- */

const struct collectives_process *collectives_process_of(
	const struct collectives *c, uint32_t launch)
{
	return c->processes + c->lanes[c->launches[launch].lane].process;
}

void collectives_name_process(
	const struct collectives *c, uint32_t process, char *ret, size_t bytes)
{
	const struct collectives_process *p = c->processes + process;

	if (p->has_rank)
		snprintf(ret, bytes, "rank %" PRId64, p->rank);
	else if (p->replica.replica)
		snprintf(ret, bytes, "replica %" PRId64 ", rank %" PRId64, p->replica.replica,
			p->replica.rank);
	else
		snprintf(ret, bytes, "process %" PRId64, p->id);
}

void collectives_name_lane(const struct collectives *c, uint32_t lane, char *ret, size_t bytes)
{
	uint32_t process = c->lanes[lane].process;
	bool has_several = (lane && c->lanes[lane - 1].process == process) ||
			   (lane + 1 < c->lane_count && c->lanes[lane + 1].process == process);
	char name[REPLICA_NAME_BYTES];

	collectives_name_process(c, process, name, sizeof(name));
	if (has_several)
		snprintf(ret, bytes, "%s GPU %" PRId64, name, c->lanes[lane].gpu_id);
	else
		snprintf(ret, bytes, "%s", name);
}

const char *collectives_op_name(
	const struct collectives *c, const struct collectives_operation *operation)
{
	if (operation->is_pairs)
		return operation->launches > 2 ? "send/recv group" : "send/recv";
	if (operation->is_mixed)
		return "group of several";
	if (operation->op == COLLECTIVES_OP_KERNEL && operation->launches) {
		uint32_t kernel = c->launches[c->by_operation[operation->first]].kernel;

		/* In a damaged file a call may launch a kernel that is no communication. */
		return kernel < c->kernel_name_count ? c->kernel_names[kernel] : "other";
	}
	return operation->op < RTL_COLLECTIVE_COUNT ? collective_name(operation->op) : "other";
}

/* ---- times ---- */

struct arrival {
	int64_t start;
	uint32_t lane, launch;
};

static int compare_arrivals(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->lane > y->lane) - (x->lane < y->lane);
}

struct ranking {
	struct collectives *c;
	struct arrival *arrivals; /* of the current operation */
	float *heat_sum;
	uint32_t *heat_count;
};

static void ranking_done(struct ranking *ranking)
{
	free(ranking->arrivals);
	free(ranking->heat_sum);
	free(ranking->heat_count);
}

/* Returns false if the times of some rank are unknown. */
static bool time_operation(struct ranking *ranking, struct collectives_operation *operation)
{
	struct collectives *c = ranking->c;

	for (uint32_t i = 0; i < operation->launches; i++) {
		uint32_t at = c->by_operation[operation->first + i];
		const struct collectives_launch *launch = c->launches + at;
		int64_t length = wrap_minus(launch->stop, launch->start);

		if (!launch->kernels || launch->untimed)
			return false;
		ranking->arrivals[i] = (struct arrival){launch->start, launch->lane, at};
		if (!i || launch->start < operation->start_first)
			operation->start_first = launch->start;
		if (!i || launch->start > operation->start_last)
			operation->start_last = launch->start;
		if (!i || launch->stop < operation->stop_first)
			operation->stop_first = launch->stop;
		if (!i || launch->stop > operation->stop_last)
			operation->stop_last = launch->stop;
		if (!i || length < operation->min_ns)
			operation->min_ns = length;
	}
	return operation->launches > 0 && !operation->is_incomplete;
}

static int64_t error_of(const struct collectives *c, uint32_t launch)
{
	int64_t error = c->lanes[c->launches[launch].lane].error_ns;

	return error > 0 ? error : 0;
}

static int64_t error_between(const struct collectives *c, uint32_t a, uint32_t b)
{
	int64_t error = wrap_plus(error_of(c, a), error_of(c, b));

	if (collectives_process_of(c, a)->node != collectives_process_of(c, b)->node)
		error = wrap_plus(error, c->nodes.bound_ns > 0 ? c->nodes.bound_ns : 0);
	return error;
}

/* Operations whose result needs a contribution of every rank: no rank leaves before all have
 * come. */
static bool needs_all(const struct collectives_operation *o)
{
	switch (o->op) {
	case RTL_COLLECTIVE_ncclAllReduce:
	case RTL_COLLECTIVE_ncclAllGather:
	case RTL_COLLECTIVE_ncclReduceScatter:
	case RTL_COLLECTIVE_ncclAllToAll:
	case RTL_COLLECTIVE_ncclAllToAllv:
		return !o->is_pairs && !o->is_mixed;
	default:
		return false;
	}
}

/* Returns true if a rank left before the last one came. Such times cannot belong to one
 * operation. */
static bool is_impossible(
	const struct ranking *ranking, const struct collectives_operation *operation)
{
	const struct collectives *c = ranking->c;
	uint32_t last = 0;

	if (!needs_all(operation))
		return false;
	for (uint32_t i = 1; i < operation->launches; i++)
		if (ranking->arrivals[i].start > ranking->arrivals[last].start)
			last = i;
	for (uint32_t i = 0; i < operation->launches; i++) {
		uint32_t launch = ranking->arrivals[i].launch;

		if (wrap_minus(operation->start_last, c->launches[launch].stop) >
			error_between(c, launch, ranking->arrivals[last].launch))
			return true;
	}
	return false;
}

/*
 * Returns true if it is known what the lane did since the operation before, which must have ended.
 * This needs the kernels of all launches, because a kernel of the earlier operation may be read
 * after those of this one.
 */
static bool has_window(const struct collectives *c, const struct collectives_launch *launch)
{
	const struct collectives_launch *before;

	if (launch->anchor == COLLECTIVES_NONE)
		return false;
	before = c->launches + launch->anchor;
	return !launch->is_spread && !before->is_spread && before->stop <= launch->start;
}

/* Computes what the last rank did between the previous operation and this one, minus what the
 * reference did. */
static bool explain(const struct collectives *c, struct collectives_operation *operation)
{
	const struct collectives_launch *last = c->launches + operation->last;
	const struct collectives_launch *other = c->launches + operation->median;
	const struct collectives_launch *before, *other_before;
	int64_t *cause = operation->cause_ns;

	if (!has_window(c, last) || !has_window(c, other))
		return false;
	before = c->launches + last->anchor;
	other_before = c->launches + other->anchor;
	if (before->operation != other_before->operation)
		return false;
	cause[COLLECTIVES_COMPUTE] =
		wrap_minus(last->window[SWEEP_COMPUTE], other->window[SWEEP_COMPUTE]);
	cause[COLLECTIVES_COPY] = wrap_minus(last->window[SWEEP_COPY], other->window[SWEEP_COPY]);
	cause[COLLECTIVES_HOST] = wrap_minus(last->window[SWEEP_HOST], other->window[SWEEP_HOST]);
	cause[COLLECTIVES_WAIT] = wrap_minus(last->window[SWEEP_WAIT], other->window[SWEEP_WAIT]);
	cause[COLLECTIVES_UNKNOWN] =
		wrap_minus(last->window[SWEEP_UNKNOWN], other->window[SWEEP_UNKNOWN]);
	cause[COLLECTIVES_EARLIER] = wrap_plus(wrap_minus(before->stop, other_before->stop),
		wrap_minus(last->window[SWEEP_COMM], other->window[SWEEP_COMM]));
	return true;
}

/* The reference is the median of the other ranks, the lower one of two. */
static void find_last(struct ranking *ranking, struct collectives_operation *operation)
{
	struct collectives *c = ranking->c;
	size_t n = operation->launches;

	operation->is_ranked = n >= 2 && !(operation->is_pairs && n == 2);
	if (!operation->is_ranked)
		return;
	qsort(ranking->arrivals, n, sizeof(*ranking->arrivals), compare_arrivals);
	operation->earliest = ranking->arrivals[0].launch;
	operation->last = ranking->arrivals[n - 1].launch;
	operation->median = ranking->arrivals[(n - 2) / 2].launch;
	operation->late_ns =
		wrap_minus(ranking->arrivals[n - 1].start, ranking->arrivals[(n - 2) / 2].start);
	operation->error_ns = error_between(c, operation->last, operation->median);
	operation->is_late = operation->late_ns > operation->error_ns;
	operation->is_explained = operation->is_late && explain(c, operation);
}

/* ---- ranks ---- */

static void add_to_last(struct collectives *c, const struct collectives_operation *operation)
{
	struct collectives_lane *lane = c->lanes + c->launches[operation->last].lane;

	lane->last++;
	lane->late_ns = wrap_plus(lane->late_ns, operation->late_ns);
	if (!operation->is_explained)
		return;
	lane->explained++;
	lane->explained_late_ns = wrap_plus(lane->explained_late_ns, operation->late_ns);
	for (int i = 0; i < COLLECTIVES_CAUSES; i++)
		lane->cause_ns[i] = wrap_plus(lane->cause_ns[i], operation->cause_ns[i]);
	lane->compute_ns =
		wrap_plus(lane->compute_ns, c->launches[operation->last].window[SWEEP_COMPUTE]);
	lane->median_compute_ns = wrap_plus(
		lane->median_compute_ns, c->launches[operation->median].window[SWEEP_COMPUTE]);
}

static size_t find_bin(const struct collectives *c, int64_t at)
{
	double length = (double)wrap_minus(c->to_ns, c->from_ns);
	double bin = length > 0
			     ? (double)wrap_minus(at, c->from_ns) / length * COLLECTIVES_HEAT_BINS
			     : 0;

	return bin < 0 ? 0 : bin >= COLLECTIVES_HEAT_BINS ? COLLECTIVES_HEAT_BINS - 1 : (size_t)bin;
}

static void add_to_ranks(struct ranking *ranking, const struct collectives_operation *operation)
{
	struct collectives *c = ranking->c;
	size_t bin = find_bin(c, operation->start_first);

	if (operation->is_late) {
		add_to_last(c, operation);
		c->lanes[c->launches[operation->earliest].lane].first++;
	}
	for (uint32_t i = 0; i < operation->launches; i++) {
		const struct collectives_launch *launch =
			c->launches + c->by_operation[operation->first + i];
		size_t at = launch->lane * (size_t)COLLECTIVES_HEAT_BINS + bin;

		c->lanes[launch->lane].count++;
		c->lanes[launch->lane].last_expected += 1.0 / operation->launches;
		c->lanes[launch->lane].wait_ns = wrap_plus(c->lanes[launch->lane].wait_ns,
			wrap_minus(operation->start_last, launch->start));
		ranking->heat_sum[at] += (float)wrap_minus(launch->start, operation->start_first);
		ranking->heat_count[at]++;
	}
}

static void finish_heat(struct ranking *ranking)
{
	struct collectives *c = ranking->c;

	for (size_t i = 0; i < c->lane_count * COLLECTIVES_HEAT_BINS; i++)
		c->heat[i] = ranking->heat_count[i]
				     ? ranking->heat_sum[i] / (float)ranking->heat_count[i]
				     : -1;
}

static int compare_operations(const void *a, const void *b)
{
	const struct collectives_operation *x = a, *y = b;

	if (x->is_timed != y->is_timed)
		return x->is_timed ? -1 : 1;
	if (x->start_first != y->start_first)
		return x->start_first < y->start_first ? -1 : 1;
	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static bool has_leader(const struct collectives *c, const struct collectives_operation *operation)
{
	for (uint32_t i = 0; i < operation->launches; i++) {
		const struct collectives_launch *launch =
			c->launches + c->by_operation[operation->first + i];
		uint32_t process = launch->lane != COLLECTIVES_NONE ? c->lanes[launch->lane].process
				   : launch->has_event ? c->events[launch->event].process
						       : COLLECTIVES_NONE;

		if (process != COLLECTIVES_NONE &&
			leaders_leads(c->filter.leaders, c->processes[process].id))
			return true;
	}
	return false;
}

/* Launches that were not matched have operations without parts. */
static bool is_wanted(const struct collectives *c, const struct collectives_operation *operation)
{
	const struct collectives_filter *filter = &c->filter;

	return operation->parts && (!filter->leaders || has_leader(c, operation)) &&
	       (!filter->has_comm || c->comms[operation->comm].id == filter->comm) &&
	       (!filter->op || strcasestr(collectives_op_name(c, operation), filter->op));
}

static void drop_unwanted(struct collectives *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->operation_count; i++)
		if (is_wanted(c, c->operations + i))
			c->operations[kept++] = c->operations[i];
	c->operation_count = kept;
}

static size_t most_launches(const struct collectives *c)
{
	size_t most = 0;

	for (size_t i = 0; i < c->operation_count; i++)
		if (c->operations[i].launches > most)
			most = c->operations[i].launches;
	return most;
}

static void find_extent(struct collectives *c)
{
	bool has = false;

	for (size_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *operation = c->operations + i;

		if (!operation->is_timed)
			continue;
		if (!has || operation->start_first < c->from_ns)
			c->from_ns = operation->start_first;
		if (!has || operation->stop_last > c->to_ns)
			c->to_ns = operation->stop_last;
		has = true;
	}
}

int collectives_rank(struct collectives *c)
{
	CLEANUP(ranking_done) struct ranking ranking = {.c = c};
	size_t cells = c->lane_count * COLLECTIVES_HEAT_BINS;

	drop_unwanted(c);
	ranking.arrivals = calloc(most_launches(c) + 1, sizeof(*ranking.arrivals));
	ranking.heat_sum = calloc(cells + 1, sizeof(*ranking.heat_sum));
	ranking.heat_count = calloc(cells + 1, sizeof(*ranking.heat_count));
	c->heat = calloc(cells + 1, sizeof(*c->heat));
	if (!ranking.arrivals || !ranking.heat_sum || !ranking.heat_count || !c->heat)
		return -ENOMEM;
	for (size_t i = 0; i < c->operation_count; i++) {
		struct collectives_operation *operation = c->operations + i;

		operation->is_timed = time_operation(&ranking, operation);
		operation->is_impossible =
			operation->is_timed && is_impossible(&ranking, operation);
		if (operation->is_impossible) {
			operation->is_timed = false;
			c->impossible++;
		}
		if (operation->is_timed)
			find_last(&ranking, operation);
	}
	find_extent(c);
	for (size_t i = 0; i < c->operation_count; i++)
		if (c->operations[i].is_ranked)
			add_to_ranks(&ranking, c->operations + i);
	finish_heat(&ranking);
	/* Operations are sorted only now, because launches refer to them by index. */
	if (c->operation_count)
		qsort(c->operations, c->operation_count, sizeof(*c->operations),
			compare_operations);
	return 0;
}

/* ---- slow communicators ---- */

static int compare_reals(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the median latency of a communicator's operations of one kind and size, or 0 if there are
 * too few. */
static double median_latency(
	const struct collectives *c, uint32_t comm, uint8_t op, int bucket, double *values)
{
	size_t count = 0;

	for (size_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *o = c->operations + i;

		if (o->is_timed && !o->is_pairs && !o->is_mixed && o->comm == comm && o->op == op &&
			ilogb(o->bytes + 1) == bucket)
			values[count++] = (double)wrap_minus(o->stop_last, o->start_last);
	}
	if (count < 3)
		return 0;
	qsort(values, count, sizeof(*values), compare_reals);
	return values[count / 2];
}

/* Returns true if @lane has a launch in the operation, and so is a member. */
static bool is_member(
	const struct collectives *c, const struct collectives_operation *o, uint32_t lane)
{
	for (uint32_t i = 0; i < o->launches; i++)
		if (c->launches[c->by_operation[o->first + i]].lane == lane)
			return true;
	return false;
}

int collectives_slow_comm(
	const struct collectives *c, uint32_t lane, uint32_t *ret_comm, double *ret_ratio)
{
	CLEANUP(free_p) double *values = calloc(c->operation_count + 1, sizeof(*values));
	CLEANUP(free_p) double *others = calloc(c->comm_count + 1, sizeof(*others));
	CLEANUP(free_p) bool *seen = calloc(c->comm_count + 1, sizeof(*seen));

	if (!values || !others || !seen)
		return -ENOMEM;
	*ret_comm = COLLECTIVES_NONE;
	*ret_ratio = 0;
	for (size_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *o = c->operations + i;
		int bucket = ilogb(o->bytes + 1);
		double own, ratio;
		size_t count = 0;

		if (!o->is_timed || o->is_pairs || o->is_mixed || seen[o->comm] ||
			!is_member(c, o, lane))
			continue;
		seen[o->comm] = true;
		own = median_latency(c, o->comm, o->op, bucket, values);
		for (uint32_t k = 0; k < c->comm_count && own > 0; k++)
			if (k != o->comm && c->comms[k].size == c->comms[o->comm].size) {
				others[count] = median_latency(c, k, o->op, bucket, values);
				count += others[count] > 0;
			}
		if (!count)
			continue;
		qsort(others, count, sizeof(*others), compare_reals);
		ratio = own / others[count / 2];
		if (ratio > *ret_ratio) {
			*ret_ratio = ratio;
			*ret_comm = o->comm;
		}
	}
	if (*ret_ratio < 1.2)
		*ret_comm = COLLECTIVES_NONE;
	return 0;
}
