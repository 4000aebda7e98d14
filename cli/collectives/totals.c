// SPDX-License-Identifier: MIT
#include "cli/collectives/totals.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/table.h"
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

/* The timed ones of a group come first, by latency: a percentile is the nearest rank. */
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

static int fill_groups(const struct collectives *c, struct collectives_report *report)
{
	CLEANUP(free_p) struct key *keys = calloc(c->operation_count + 1, sizeof(*keys));
	size_t next;

	report->groups = calloc(c->operation_count + 1, sizeof(*report->groups));
	if (!keys || !report->groups)
		return -ENOMEM;
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
	return 0;
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

static int fill_orders(const struct collectives *c, struct collectives_report *report)
{
	report->ranks = calloc(c->lane_count + 1, sizeof(*report->ranks));
	report->latest = calloc(c->operation_count + 1, sizeof(*report->latest));
	if (!report->ranks || !report->latest)
		return -ENOMEM;
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
	/* qsort_r() leaves its context alone. */
	qsort_r(report->ranks, report->rank_count, sizeof(*report->ranks), compare_ranks,
		(void *)(uintptr_t)c);
	qsort_r(report->latest, report->latest_count, sizeof(*report->latest), compare_latest,
		(void *)(uintptr_t)c);
	return 0;
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

/* In whole percent: sums of thirds are not exact. */
static bool is_often_last(const struct collectives_lane *lane)
{
	unsigned chance = (unsigned)lround(
		COLLECTIVES_STRAGGLER_CHANCE_PCT * lane->last_expected / (double)lane->count);

	return lane->last * 100 >=
	       lane->count *
		       (chance > COLLECTIVES_STRAGGLER_PCT ? chance : COLLECTIVES_STRAGGLER_PCT);
}

/*
 * How probable it is that a lane is last so often though each time everybody may be: the upper tail
 * of the binomial distribution with the mean of the chances. Where they differ the tail is no
 * heavier (Hoeffding 1956).
 */
static double find_chance(const struct collectives_lane *lane)
{
	double n = (double)lane->count, k = (double)lane->last, p = lane->last_expected / n;
	double term, sum = 0;

	if (k <= lane->last_expected || p >= 1)
		return 1;
	term = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) +
		   (n - k) * log1p(-p));
	/* Beyond the mean each is smaller than the one before. */
	for (; k <= n && term > sum * 1e-9; k++) {
		sum += term;
		term *= (n - k) / (k + 1) * p / (1 - p);
	}
	return sum;
}

/* Any of @lanes could have been that one. */
static bool may_be_chance(const struct collectives_lane *lane, size_t lanes)
{
	return find_chance(lane) * (double)lanes * COLLECTIVES_STRAGGLER_RUNS > 1;
}

static bool costs_much(const struct collectives *c, const struct collectives_lane *lane)
{
	double span = (double)c->to_ns - (double)c->from_ns;

	return (double)lane->late_ns * 100 >= span * COLLECTIVES_STRAGGLER_COST_PCT;
}

/* How far a lane is from being the straggler: the first of the conditions that it does not meet. */
enum standing { RARELY_LAST, LAST_BY_CHANCE, LAST_CHEAPLY, LAST_TOO_FEW, STRAGGLER };

static enum standing judge(
	const struct collectives *c, const struct collectives_lane *lane, size_t lanes)
{
	if (!is_often_last(lane))
		return RARELY_LAST;
	if (may_be_chance(lane, lanes))
		return LAST_BY_CHANCE;
	if (!costs_much(c, lane))
		return LAST_CHEAPLY;
	return lane->last < COLLECTIVES_STRAGGLER_COUNT ? LAST_TOO_FEW : STRAGGLER;
}

/* The nearest to it, the worst of these: who has most operations may be last in many by chance. */
static uint32_t find_nearest(const struct collectives *c, const struct collectives_report *report,
	enum standing *ret_standing)
{
	uint32_t nearest = COLLECTIVES_NONE;

	*ret_standing = RARELY_LAST;
	for (size_t i = 0; i < report->rank_count; i++) {
		enum standing standing = judge(c, c->lanes + report->ranks[i], report->rank_count);

		if (nearest != COLLECTIVES_NONE && standing <= *ret_standing)
			continue;
		nearest = report->ranks[i];
		*ret_standing = standing;
	}
	return nearest;
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

static void format_why(const struct collectives_lane *lane, char *ret, size_t bytes)
{
	static const char *const why[] = {"it computes longer", "its copies take longer",
		"an earlier collective let it go later", "its host submits late",
		"its GPU idles with work submitted",
		"its GPU idles, and nothing says when its work was submitted"};
	int cause = collectives_main_cause(lane->cause_ns, lane->explained_late_ns);
	double n = (double)lane->explained;
	char part[32], ratio[48] = "";

	if (!lane->explained) {
		snprintf(ret, bytes, "; nothing tells why");
		return;
	}
	if (cause == COLLECTIVES_CAUSES) {
		snprintf(ret, bytes, ": for several reasons");
		return;
	}
	format_time((double)lane->cause_ns[cause] / n, part);
	if (cause == COLLECTIVES_COMPUTE && lane->median_compute_ns > 0)
		snprintf(ratio, sizeof(ratio), ", %.2fx the median rank's",
			(double)lane->compute_ns / (double)lane->median_compute_ns);
	snprintf(ret, bytes, ": %s (%s%s)", why[cause], part, ratio);
}

static void read_straggler(const struct collectives *c, struct collectives_report *report)
{
	const struct collectives_lane *lane = c->lanes + report->straggler;
	CLEANUP(free_p) char *count = render_count((int64_t)lane->count);
	char who[48], late[32], why[192];

	collectives_name_lane(c, report->straggler, who, sizeof(who));
	who[0] = (char)(who[0] - 'a' + 'A');
	format_time((double)lane->late_ns / (double)lane->last, late);
	format_why(lane, why, sizeof(why));
	snprintf(report->reading, sizeof(report->reading),
		"%s arrives last in %.0f %% of %s collectives, %s late%s", who,
		100.0 * (double)lane->last / (double)lane->count, count ? count : "", late, why);
}

/* Of all ranks the one @nearest to be the straggler is named. */
static void read_even(const struct collectives *c, uint32_t nearest, enum standing standing,
	struct collectives_report *report)
{
	static const char *const before[] = {
		[LAST_BY_CHANCE] = "no rank stands out beyond chance: ",
		[LAST_CHEAPLY] = "no rank costs much: ",
		[LAST_TOO_FEW] = "too few to tell: "};
	CLEANUP(free_p) char *count = render_count((int64_t)report->ranked);
	const struct collectives_lane *lane = c->lanes + nearest;
	char who[48], apart[32];

	collectives_name_lane(c, nearest, who, sizeof(who));
	format_time((double)report->skew_ns / (double)report->ranked, apart);
	if (standing != RARELY_LAST)
		snprintf(report->reading, sizeof(report->reading),
			"%s%s is last in %" PRIu64 " of %" PRIu64
			" collectives; arrivals are %s apart",
			before[standing], who, lane->last, lane->count, apart);
	else if (lane->last)
		snprintf(report->reading, sizeof(report->reading),
			"no rank stands out: of %s collectives %s is last most often (%.0f %%); "
			"arrivals are %s apart",
			count ? count : "", who, 100.0 * (double)lane->last / (double)lane->count,
			apart);
	else
		snprintf(report->reading, sizeof(report->reading),
			"no rank stands out: arrivals of %s collectives are %s apart, which the "
			"clocks cannot tell from 0",
			count ? count : "", apart);
}

static void read_it(const struct collectives *c, struct collectives_report *report)
{
	const char *text = NULL;
	enum standing standing;
	uint32_t nearest = find_nearest(c, report, &standing);

	report->straggler = standing == STRAGGLER ? nearest : COLLECTIVES_NONE;
	if (standing == STRAGGLER)
		read_straggler(c, report);
	else if (report->ranked)
		read_even(c, nearest, standing, report);
	else if (!c->event_count && !c->comm_kernels)
		text = "no collectives: neither RCCL calls nor communication kernels are in here";
	else if (!c->operation_count)
		text = c->filter.has_comm || c->filter.op
			       ? "no collective of that communicator and operation could be matched"
			       : "no collective could be matched";
	else if (!report->timed)
		text = "no collective has its times on all ranks: who is late cannot be said";
	else
		text = "no collective has two ranks in here: there is nothing to compare";
	if (text)
		snprintf(report->reading, sizeof(report->reading), "%s", text);
}

int collectives_report_new(const struct collectives *collectives, struct collectives_report **ret)
{
	CLEANUP(collectives_report_free_p)
	struct collectives_report *report = calloc(1, sizeof(*report));
	int r;

	if (!report)
		return -ENOMEM;
	r = fill_groups(collectives, report);
	if (!r)
		r = fill_orders(collectives, report);
	if (r)
		return r;
	read_it(collectives, report);
	*ret = TAKE(report);
	return 0;
}
