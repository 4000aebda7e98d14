// SPDX-License-Identifier: MIT
#include "cli/collectives/totals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "proto/base/cleanup.h"

void collectives_report_free_p(struct collectives_report **report)
{
	struct collectives_report *r = *report;

	if (!r)
		return;
	free(r->groups);
	free(r->ranks);
	free(r->latest);
	free(r);
	*report = NULL;
}

int64_t collectives_latency(const struct collectives_operation *operation)
{
	return (int64_t)((uint64_t)operation->stop_last - (uint64_t)operation->start_last);
}

static int64_t skew_start(const struct collectives_operation *operation)
{
	return (int64_t)((uint64_t)operation->start_last - (uint64_t)operation->start_first);
}

/* ---- groups ---- */

struct key {
	const char *op;
	const struct collectives_operation *operation;
	int bucket;
	uint32_t ranks;
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int names = strcmp(x->op, y->op);
	int64_t x_latency, y_latency;

	if (names)
		return names;
	if (x->operation->datatype != y->operation->datatype)
		return x->operation->datatype < y->operation->datatype ? -1 : 1;
	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? 1 : -1;
	if (x->ranks != y->ranks)
		return x->ranks < y->ranks ? 1 : -1;
	if (x->operation->is_timed != y->operation->is_timed)
		return x->operation->is_timed ? -1 : 1;
	x_latency = collectives_latency(x->operation);
	y_latency = collectives_latency(y->operation);
	return (x_latency > y_latency) - (x_latency < y_latency);
}

static bool is_same_group(const struct key *a, const struct key *b)
{
	return !strcmp(a->op, b->op) && a->operation->datatype == b->operation->datatype &&
	       a->bucket == b->bucket && a->ranks == b->ranks;
}

static void add_timed(
	struct collectives_group *group, const struct collectives_operation *operation)
{
	int64_t latency = collectives_latency(operation), skew = skew_start(operation);

	if (!group->timed++ || latency < group->latency_min_ns)
		group->latency_min_ns = latency;
	if (latency > group->latency_max_ns)
		group->latency_max_ns = latency;
	if (skew > group->skew_start_max_ns)
		group->skew_start_max_ns = skew;
	group->bytes += operation->bytes;
	group->bus_bytes += operation->bus_bytes;
	group->latency_ns = (int64_t)((uint64_t)group->latency_ns + (uint64_t)latency);
	group->comm_latency_ns =
		(int64_t)((uint64_t)group->comm_latency_ns + (uint64_t)operation->min_ns);
	group->skew_start_ns = (int64_t)((uint64_t)group->skew_start_ns + (uint64_t)skew);
	group->skew_end_ns =
		(int64_t)((uint64_t)group->skew_end_ns +
			  ((uint64_t)operation->stop_last - (uint64_t)operation->stop_first));
}

static void add_amounts(
	struct collectives_group *group, const struct collectives_operation *operation)
{
	double imbalance;

	group->mean_bytes += operation->bytes;
	if (operation->launches < 2 || operation->sent_mean <= 0 || operation->is_incomplete)
		return;
	imbalance = operation->sent_max / operation->sent_mean;
	group->uneven++;
	group->imbalance += imbalance;
	if (imbalance > group->imbalance_max)
		group->imbalance_max = imbalance;
}

/* The timed operations of a group come first, sorted by latency. A percentile is the nearest
 * rank. */
static int64_t percentile(const struct key *keys, uint64_t timed, unsigned percent)
{
	uint64_t at = (timed * percent + 99) / 100;

	return timed ? collectives_latency(keys[at ? at - 1 : 0].operation) : 0;
}

static int compare_groups(const void *a, const void *b)
{
	const struct collectives_group *x = a, *y = b;

	if (x->latency_ns != y->latency_ns)
		return x->latency_ns < y->latency_ns ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->op, y->op);
}

static struct collectives_group make_group(const struct key *keys, size_t count)
{
	struct collectives_group group = {.op = keys->op,
		.datatype = keys->operation->datatype,
		.bucket = keys->bucket,
		.ranks = keys->ranks,
		.count = count};

	for (size_t i = 0; i < count; i++) {
		add_amounts(&group, keys[i].operation);
		if (keys[i].operation->is_timed)
			add_timed(&group, keys[i].operation);
	}
	group.mean_bytes /= (double)count;
	group.imbalance = group.uneven ? group.imbalance / (double)group.uneven : 0;
	group.latency_p50_ns = percentile(keys, group.timed, 50);
	group.latency_p95_ns = percentile(keys, group.timed, 95);
	return group;
}

static void fill_groups(const struct collectives *c, struct collectives_report *report)
{
	CLEANUP(free_p) struct key *keys = xcalloc(c->operation_count + 1, sizeof(*keys));
	size_t next;

	report->groups = xcalloc(c->operation_count + 1, sizeof(*report->groups));
	for (size_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *operation = c->operations + i;

		keys[i] = (struct key){.op = collectives_op_name(c, operation),
			.operation = operation,
			.bucket = operation->bytes >= 1 ? ilogb(operation->bytes) : -1,
			.ranks = operation->is_pairs ? operation->launches
						     : c->comms[operation->comm].size};
	}
	if (c->operation_count)
		qsort(keys, c->operation_count, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < c->operation_count; i = next) {
		for (next = i + 1;
			next < c->operation_count && is_same_group(keys + i, keys + next);)
			next++;
		report->groups[report->group_count++] = make_group(keys + i, next - i);
	}
	if (report->group_count)
		qsort(report->groups, report->group_count, sizeof(*report->groups), compare_groups);
}

/* ---- ranks and the latest ---- */

static int compare_ranks(const void *a, const void *b, void *context)
{
	const struct collectives *c = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct collectives_lane *p = c->lanes + x, *q = c->lanes + y;

	if (p->last != q->last)
		return p->last < q->last ? 1 : -1;
	if (p->late_ns != q->late_ns)
		return p->late_ns < q->late_ns ? 1 : -1;
	return (x > y) - (x < y);
}

static int compare_latest(const void *a, const void *b, void *context)
{
	const struct collectives *c = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t p = c->operations[x].late_ns, q = c->operations[y].late_ns;

	if (p != q)
		return p < q ? 1 : -1;
	return (x > y) - (x < y);
}

static void fill_orders(const struct collectives *c, struct collectives_report *report)
{
	report->ranks = xcalloc(c->lane_count + 1, sizeof(*report->ranks));
	report->latest = xcalloc(c->operation_count + 1, sizeof(*report->latest));
	for (uint32_t i = 0; i < c->lane_count; i++)
		if (c->lanes[i].count)
			report->ranks[report->rank_count++] = i;
	for (uint32_t i = 0; i < c->operation_count; i++) {
		const struct collectives_operation *operation = c->operations + i;

		report->timed += operation->is_timed;
		report->ranked += operation->is_ranked;
		if (operation->is_ranked)
			report->skew_ns = (int64_t)((uint64_t)report->skew_ns +
						    (uint64_t)skew_start(operation));
		if (operation->is_late)
			report->latest[report->latest_count++] = i;
	}
	/* qsort_r() does not write to its context. */
	qsort_r(report->ranks, report->rank_count, sizeof(*report->ranks), compare_ranks,
		(void *)(uintptr_t)c);
	qsort_r(report->latest, report->latest_count, sizeof(*report->latest), compare_latest,
		(void *)(uintptr_t)c);
}

/* ---- the reading ---- */

const char *collectives_cause_name(int cause)
{
	static const char *const names[] = {
		"compute", "copy", "earlier", "host", "idle", "unknown"};

	return cause < COLLECTIVES_CAUSES ? names[cause] : "several";
}

int collectives_main_cause(const int64_t cause_ns[COLLECTIVES_CAUSES], int64_t late_ns)
{
	int most = 0;

	for (int i = 1; i < COLLECTIVES_CAUSES; i++)
		if (cause_ns[i] > cause_ns[most])
			most = i;
	return (double)cause_ns[most] * 100 >= (double)late_ns * COLLECTIVES_CAUSE_PCT
		       ? most
		       : COLLECTIVES_CAUSES;
}

static void format_time(double ns, char ret[32])
{
	if (ns >= 1e9)
		snprintf(ret, 32, "%.1f s", ns / 1e9);
	else if (ns >= 1e6)
		snprintf(ret, 32, "%.1f ms", ns / 1e6);
	else
		snprintf(ret, 32, "%.1f us", ns / 1e3);
}

static void format_why(
	const struct collectives *c, const struct straggler *s, char *ret, size_t bytes)
{
	static const char *const why[] = {[STRAGGLER_COPY] = "its copies take longer",
		[STRAGGLER_TRANSFER] = "its transfers take longer",
		[STRAGGLER_HOST] = "its host submits late",
		[STRAGGLER_HELD] = "its GPU idles with work submitted",
		[STRAGGLER_IDLE] = "its GPU idles, and nothing says when its work was submitted"};
	char reference[48], each[32];

	if (s->cause == STRAGGLER_SEVERAL) {
		snprintf(ret, bytes, "for several reasons");
		return;
	}
	format_time((double)s->part_ns[s->cause] / (double)s->windows, each);
	if (s->cause != STRAGGLER_COMPUTE) {
		snprintf(ret, bytes, "%s (%s each time)", why[s->cause], each);
		return;
	}
	collectives_name_lane(c, s->group->lanes[s->reference], reference, sizeof(reference));
	if (s->reference_compute_ns > 0)
		snprintf(ret, bytes, "it computes longer (%s each time, %.2fx as long as %s)", each,
			(double)s->compute_ns / (double)s->reference_compute_ns, reference);
	else
		snprintf(ret, bytes, "it computes longer (%s each time)", each);
}

static void read_straggler(
	const struct collectives *c, const struct straggler *s, struct collectives_report *report)
{
	char lane_name[48], others[32] = "", why[192];
	uint32_t lane = s->group->lanes[s->lanes[0]];

	collectives_name_lane(c, lane, lane_name, sizeof(lane_name));
	lane_name[0] = (char)(lane_name[0] - 'a' + 'A');
	if (s->count > 1)
		snprintf(others, sizeof(others), " and %zu more", s->count - 1);
	format_why(c, s, why, sizeof(why));
	if (!s->is_in_slack)
		report->straggler = lane;
	snprintf(report->reading, sizeof(report->reading),
		"%s%s %s waited for%s, which costs %s%.0f %% of the time: %s%s", lane_name, others,
		s->count > 1 ? "are" : "is", s->is_in_turn ? " in turn" : "",
		s->is_in_slack	? "0 to "
		: s->is_at_most ? "at most "
		: s->is_about	? "about "
				: "",
		s->cost_pct, why,
		!s->is_in_slack ? ""
		: s->is_about	? "; its own bubble may hide it"
				: "; all GPUs idle for their hosts as long");
}

static void read_event(const struct collectives *c, const struct straggler_event *event,
	struct collectives_report *report)
{
	char longest[32], median[32], lane_name[48] = "no rank";

	format_time((double)event->longest_ns, longest);
	format_time((double)event->median_ns, median);
	if (event->lane != COLLECTIVES_NONE)
		collectives_name_lane(
			c, event->group->lanes[event->lane], lane_name, sizeof(lane_name));
	snprintf(report->reading, sizeof(report->reading),
		"%zu of %zu %s take up to %s (the median is %s), %.0f %% of the time: %s is waited "
		"for",
		event->count, event->group->windows,
		event->group->source == WAITING_BY_STEPS ? "steps" : "times between collectives",
		longest, median, event->cost_pct, lane_name);
}

static void read_even(const struct stragglers *found, struct collectives_report *report)
{
	double all = (double)found->window_ns;
	char apart[32];

	format_time((double)report->skew_ns / (double)report->ranked, apart);
	snprintf(report->reading, sizeof(report->reading),
		"no rank stands out: ranks wait for each other %.0f %% of the time; arrivals are "
		"%s "
		"apart",
		all > 0 ? 100.0 * (double)waiting_total_ns(&found->sum) / all : 0, apart);
}

static void read_it(const struct collectives *c, const struct stragglers *found,
	struct collectives_report *report)
{
	const char *text = NULL;

	report->straggler = COLLECTIVES_NONE;
	if (!found)
		return;
	if (found->event.group && found->event.cost_pct > found->steady.cost_pct)
		read_event(c, &found->event, report);
	else if (found->steady.group)
		read_straggler(c, &found->steady, report);
	else if (found->slack.group)
		read_straggler(c, &found->slack, report);
	else if (report->ranked)
		read_even(found, report);
	else if (!c->event_count && !c->comm_kernels)
		text = "no collectives: neither RCCL calls nor communication kernels are in here";
	else if (!c->operation_count)
		text = "no collective could be matched";
	else if (!report->timed)
		text = "no collective has its times on all ranks: which rank is late cannot be "
		       "said";
	else
		text = "no collective has two ranks in here: there is nothing to compare";
	if (text)
		snprintf(report->reading, sizeof(report->reading), "%s", text);
}

void collectives_report_new(const struct collectives *collectives, const struct stragglers *found,
	struct collectives_report **ret)
{
	CLEANUP(collectives_report_free_p)
	struct collectives_report *report = xcalloc(1, sizeof(*report));

	fill_groups(collectives, report);
	fill_orders(collectives, report);
	read_it(collectives, found, report);
	*ret = TAKE(report);
}
