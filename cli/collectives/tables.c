// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>

#include "cli/collectives/show.h"
#include "proto/names/collectives.h"

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

/* The texts of the current row. Each row overwrites those of the row before. */
static char text[4][64];

static struct render_value ratio_or_null(double sum, double count)
{
	return count > 0 ? render_real(sum / count) : render_null();
}

static struct render_value mean_ns(int64_t sum, uint64_t count)
{
	return render_optional(count > 0, count ? sum / (int64_t)count : 0);
}

static struct render_value datatype(uint8_t type)
{
	return render_text(type == COLLECTIVES_DATATYPE_NONE ? NULL : collective_type_name(type));
}

static const char *size_text(int bucket)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

	if (bucket < 0)
		return NULL;
	if (bucket >= 70)
		bucket = 69;
	snprintf(text[0], sizeof(text[0]), "%d %s", 1 << bucket % 10, units[bucket / 10]);
	return text[0];
}

bool collectives_wants_lane(const struct collectives_view *view, uint32_t lane)
{
	const struct collectives_process *p = view->c->processes + view->c->lanes[lane].process;

	if (!view->options->ranks.count)
		return true;
	return p->has_rank && p->rank >= 0 && p->rank <= UINT32_MAX &&
	       choice_has(&view->options->ranks, (uint32_t)p->rank);
}

/* ---- groups ---- */

static const struct render_column group_columns[] = {
	{"datatype", "TYPE", RENDER_TEXT},
	{"size_from_bytes", NULL, RENDER_COUNT},
	{NULL, "SIZE >=", RENDER_ANY},
	{"ranks", "RANKS", RENDER_COUNT},
	{"count", "COUNT", RENDER_COUNT},
	{"timed", NULL, RENDER_COUNT},
	{"mean_bytes", NULL, RENDER_ANY},
	{"latency_total_ns", NULL, RENDER_ID},
	{"latency_mean_ns", NULL, RENDER_ID},
	{"latency_min_ns", NULL, RENDER_ID},
	{"latency_p50_ns", "P50 us", RENDER_NS_IN_US},
	{"latency_p95_ns", "P95 us", RENDER_NS_IN_US},
	{"latency_max_ns", NULL, RENDER_ID},
	{"comm_latency_mean_ns", NULL, RENDER_ID},
	{"skew_start_mean_ns", "SKEW us", RENDER_NS_IN_US},
	{"skew_start_max_ns", "MAX us", RENDER_NS_IN_US},
	{"skew_end_mean_ns", NULL, RENDER_ID},
	{"algbw_gb_per_s", "ALGBW", RENDER_TENTHS},
	{"busbw_gb_per_s", "BUSBW", RENDER_TENTHS},
	{"imbalance_mean", NULL, RENDER_ANY},
	{"imbalance_max", NULL, RENDER_ANY},
	{"operation", "OPERATION", RENDER_TEXT},
};

static size_t group_rows(const struct collectives_view *view)
{
	return view->report->group_count;
}

static bool group_row(const struct collectives_view *view, size_t i, struct render_value *ret)
{
	const struct collectives_group *g = view->report->groups + i;
	bool has = g->timed > 0, has_size = has && g->bucket >= 0 && g->latency_ns > 0;

	*ret++ = datatype(g->datatype);
	*ret++ = render_optional(g->bucket >= 0 && g->bucket < 63,
		g->bucket >= 0 && g->bucket < 63 ? INT64_C(1) << g->bucket : 0);
	*ret++ = render_text(size_text(g->bucket));
	*ret++ = render_integer(g->ranks);
	*ret++ = render_integer((int64_t)g->count);
	*ret++ = render_integer((int64_t)g->timed);
	*ret++ = g->bucket >= 0 ? render_real(g->mean_bytes) : render_null();
	*ret++ = render_optional(has, g->latency_ns);
	*ret++ = mean_ns(g->latency_ns, g->timed);
	*ret++ = render_optional(has, g->latency_min_ns);
	*ret++ = render_optional(has, g->latency_p50_ns);
	*ret++ = render_optional(has, g->latency_p95_ns);
	*ret++ = render_optional(has, g->latency_max_ns);
	*ret++ = mean_ns(g->comm_latency_ns, g->timed);
	*ret++ = mean_ns(g->skew_start_ns, g->timed);
	*ret++ = render_optional(has, g->skew_start_max_ns);
	*ret++ = mean_ns(g->skew_end_ns, g->timed);
	/* Bytes per nanosecond equal gigabytes per second. */
	*ret++ = has_size ? render_real(g->bytes / (double)g->latency_ns) : render_null();
	*ret++ = has_size ? render_real(g->bus_bytes / (double)g->latency_ns) : render_null();
	*ret++ = g->uneven ? render_real(g->imbalance) : render_null();
	*ret++ = g->uneven ? render_real(g->imbalance_max) : render_null();
	*ret++ = render_text(g->op);
	return true;
}

/* ---- all-to-all ---- */

static const struct render_column uneven_columns[] = {
	{NULL, "TYPE", RENDER_TEXT},
	{NULL, "SIZE >=", RENDER_ANY},
	{NULL, "RANKS", RENDER_COUNT},
	{NULL, "COUNT", RENDER_COUNT},
	{NULL, "MOST / MEAN", RENDER_ANY},
	{NULL, "WORST", RENDER_ANY},
	{NULL, "OPERATION", RENDER_TEXT},
};

static bool uneven_row(const struct collectives_view *view, size_t i, struct render_value *ret)
{
	const struct collectives_group *g = view->report->groups + i;

	if (!g->uneven)
		return false;
	snprintf(text[1], sizeof(text[1]), "%.2f", g->imbalance);
	snprintf(text[2], sizeof(text[2]), "%.2f", g->imbalance_max);
	*ret++ = datatype(g->datatype);
	*ret++ = render_text(size_text(g->bucket));
	*ret++ = render_integer(g->ranks);
	*ret++ = render_integer((int64_t)g->uneven);
	*ret++ = render_text(text[1]);
	*ret++ = render_text(text[2]);
	*ret++ = render_text(g->op);
	return true;
}

/* ---- ranks ---- */

static const struct render_column rank_columns[] = {
	{"rank", "RANK", RENDER_ID},
	{"gpuId", "GPU", RENDER_ID},
	{"process_id", NULL, RENDER_ID},
	{"num_collectives", "COUNT", RENDER_COUNT},
	{"times_arrived_last", NULL, RENDER_COUNT},
	{"pct_arrived_last", "LAST %", RENDER_TENTHS},
	{"times_arrived_first", NULL, RENDER_COUNT},
	{"late_mean_ns", "LATE ms", RENDER_NS_IN_MS},
	{"late_total_ns", NULL, RENDER_ID},
	{"explained", NULL, RENDER_COUNT},
	{"compute_ns", "COMPUTE", RENDER_NS_IN_MS},
	{"copy_ns", "COPY", RENDER_NS_IN_MS},
	{"earlier_ns", "EARLIER", RENDER_NS_IN_MS},
	{"host_ns", "HOST", RENDER_NS_IN_MS},
	{"idle_ns", "IDLE", RENDER_NS_IN_MS},
	{"unknown_ns", NULL, RENDER_NS_IN_MS},
	{"compute_ratio", NULL, RENDER_ANY},
	{"mean_wait_ns", "WAITS ms", RENDER_NS_IN_MS},
	{"total_wait_ns", NULL, RENDER_ID},
	{"cause", "BECAUSE", RENDER_NOTE},
};

static size_t rank_rows(const struct collectives_view *view)
{
	return view->report->rank_count;
}

static bool rank_row(const struct collectives_view *view, size_t i, struct render_value *ret)
{
	const struct collectives_lane *lane = view->c->lanes + view->report->ranks[i];
	const struct collectives_process *p = view->c->processes + lane->process;

	if (!collectives_wants_lane(view, view->report->ranks[i]))
		return false;
	*ret++ = render_optional(p->has_rank, p->rank);
	*ret++ = render_integer(lane->gpu_id);
	*ret++ = render_integer(p->id);
	*ret++ = render_integer((int64_t)lane->count);
	*ret++ = render_integer((int64_t)lane->last);
	*ret++ = ratio_or_null(100.0 * (double)lane->last, (double)lane->count);
	*ret++ = render_integer((int64_t)lane->first);
	*ret++ = mean_ns(lane->late_ns, lane->last);
	*ret++ = render_integer(lane->late_ns);
	*ret++ = render_integer((int64_t)lane->explained);
	*ret++ = mean_ns(lane->cause_ns[COLLECTIVES_COMPUTE], lane->explained);
	*ret++ = mean_ns(lane->cause_ns[COLLECTIVES_COPY], lane->explained);
	*ret++ = mean_ns(lane->cause_ns[COLLECTIVES_EARLIER], lane->explained);
	*ret++ = mean_ns(lane->cause_ns[COLLECTIVES_HOST], lane->explained);
	*ret++ = mean_ns(lane->cause_ns[COLLECTIVES_WAIT], lane->explained);
	*ret++ = mean_ns(lane->cause_ns[COLLECTIVES_UNKNOWN], lane->explained);
	*ret++ = ratio_or_null((double)lane->compute_ns, (double)lane->median_compute_ns);
	*ret++ = mean_ns(lane->wait_ns, lane->count);
	*ret++ = render_integer(lane->wait_ns);
	*ret++ = render_text(lane->explained ? collectives_cause_name(collectives_main_cause(
						       lane->cause_ns, lane->explained_late_ns))
					     : NULL);
	return true;
}

/* ---- operations ---- */

static const char *comm_text(const struct collectives *c, uint32_t comm)
{
	if (comm == c->order_comm)
		return NULL;
	if (c->comms[comm].is_kernels) {
		snprintf(text[1], sizeof(text[1]), "kernels %" PRId64, c->comms[comm].id);
		return text[1];
	}
	snprintf(text[1], sizeof(text[1]), "%" PRIx64, (uint64_t)c->comms[comm].id);
	return text[1];
}

static struct render_value rank_value(
	const struct collectives_view *view, bool has, uint32_t launch)
{
	const struct collectives_process *p = has ? collectives_process_of(view->c, launch) : NULL;

	return render_optional(p && p->has_rank, p ? p->rank : 0);
}

static const struct render_column operation_columns[] = {
	{"operation", NULL, RENDER_TEXT},
	{"comm", NULL, RENDER_TEXT},
	{"seq", NULL, RENDER_ID},
	{"parts", NULL, RENDER_ID},
	{"datatype", NULL, RENDER_TEXT},
	{"ranks", NULL, RENDER_ID},
	{"bytes", NULL, RENDER_ANY},
	{"start_ns", NULL, RENDER_ID},
	{"latency_ns", NULL, RENDER_ID},
	{"comm_latency_ns", NULL, RENDER_ID},
	{"skew_start_ns", NULL, RENDER_ID},
	{"skew_end_ns", NULL, RENDER_ID},
	{"algbw_gb_per_s", NULL, RENDER_ANY},
	{"busbw_gb_per_s", NULL, RENDER_ANY},
	{"last_rank", NULL, RENDER_ID},
	{"earliest_rank", NULL, RENDER_ID},
	{"late_ns", NULL, RENDER_ID},
	{"compute_ns", NULL, RENDER_ID},
	{"copy_ns", NULL, RENDER_ID},
	{"earlier_ns", NULL, RENDER_ID},
	{"host_ns", NULL, RENDER_ID},
	{"idle_ns", NULL, RENDER_ID},
	{"unknown_ns", NULL, RENDER_ID},
	{"imbalance", NULL, RENDER_ANY},
	{"state", NULL, RENDER_TEXT},
	{"replay", NULL, RENDER_ID},
	{"matched_by", NULL, RENDER_TEXT},
};

static size_t operation_rows(const struct collectives_view *view)
{
	return view->c->operation_count;
}

static bool operation_row(const struct collectives_view *view, size_t i, struct render_value *ret)
{
	const struct collectives *c = view->c;
	const struct collectives_operation *o = c->operations + i;
	int64_t latency = collectives_latency(o);
	bool has = o->is_timed, has_bandwidth = has && latency > 0 && o->bytes >= 1;

	*ret++ = render_text(collectives_op_name(c, o));
	*ret++ = render_text(comm_text(c, o->comm));
	*ret++ = render_integer(o->seq);
	*ret++ = render_integer(o->parts);
	*ret++ = datatype(o->datatype);
	*ret++ = render_integer(o->launches);
	*ret++ = o->bytes >= 1 ? render_real(o->bytes) : render_null();
	*ret++ = render_optional(has, o->start_first);
	*ret++ = render_optional(has, latency);
	*ret++ = render_optional(has, o->min_ns);
	*ret++ =
		render_optional(has, (int64_t)((uint64_t)o->start_last - (uint64_t)o->start_first));
	*ret++ = render_optional(has, (int64_t)((uint64_t)o->stop_last - (uint64_t)o->stop_first));
	*ret++ = has_bandwidth ? render_real(o->bytes / (double)latency) : render_null();
	*ret++ = has_bandwidth ? render_real(o->bus_bytes / (double)latency) : render_null();
	*ret++ = rank_value(view, o->is_late, o->last);
	*ret++ = rank_value(view, o->is_late, o->earliest);
	*ret++ = render_optional(o->is_ranked, o->late_ns);
	*ret++ = render_optional(o->is_explained, o->cause_ns[COLLECTIVES_COMPUTE]);
	*ret++ = render_optional(o->is_explained, o->cause_ns[COLLECTIVES_COPY]);
	*ret++ = render_optional(o->is_explained, o->cause_ns[COLLECTIVES_EARLIER]);
	*ret++ = render_optional(o->is_explained, o->cause_ns[COLLECTIVES_HOST]);
	*ret++ = render_optional(o->is_explained, o->cause_ns[COLLECTIVES_WAIT]);
	*ret++ = render_optional(o->is_explained, o->cause_ns[COLLECTIVES_UNKNOWN]);
	*ret++ = ratio_or_null(o->sent_max, o->sent_mean);
	*ret++ = render_text(o->is_incomplete	? "incomplete"
			     : o->is_impossible ? "impossible"
			     : o->is_mismatched ? "mismatched"
			     : has		? "timed"
						: "untimed");
	*ret++ = render_optional(o->replay > 0, o->replay - 1);
	*ret++ = render_text(o->comm == c->order_comm	    ? "order"
			     : c->comms[o->comm].is_kernels ? "kernels"
							    : "sequence");
	return true;
}

static const struct render_column latest_columns[] = {
	{"at_ns", "AT ms", RENDER_NS_IN_MS},
	{"last_rank", "RANK", RENDER_ID},
	{"late_ns", "LATE ms", RENDER_NS_IN_MS},
	{"cause", "BECAUSE", RENDER_NOTE},
	{"cause_ns", "OF IT ms", RENDER_NS_IN_MS},
	{"comm", "COMMUNICATOR", RENDER_TEXT},
	{"seq", "NUMBER", RENDER_ID},
	{"operation", "OPERATION", RENDER_TEXT},
};

static size_t latest_rows(const struct collectives_view *view)
{
	return view->report->latest_count;
}

static bool latest_row(const struct collectives_view *view, size_t i, struct render_value *ret)
{
	const struct collectives *c = view->c;
	const struct collectives_operation *o = c->operations + view->report->latest[i];
	int cause = collectives_main_cause(o->cause_ns, o->late_ns);

	if (!collectives_wants_lane(view, c->launches[o->last].lane))
		return false;
	*ret++ = render_integer((int64_t)((uint64_t)o->start_first - (uint64_t)c->from_ns));
	*ret++ = rank_value(view, true, o->last);
	*ret++ = render_integer(o->late_ns);
	*ret++ = render_text(o->is_explained ? collectives_cause_name(cause) : NULL);
	*ret++ = render_optional(o->is_explained && cause < COLLECTIVES_CAUSES,
		o->cause_ns[cause < COLLECTIVES_CAUSES ? cause : 0]);
	*ret++ = render_text(comm_text(c, o->comm));
	*ret++ = render_integer(o->seq);
	*ret++ = render_text(collectives_op_name(c, o));
	return true;
}

/* ---- missing ---- */

static const struct render_column missing_columns[] = {
	{"rank", "RANK", RENDER_ID},
	{"process_id", NULL, RENDER_ID},
	{"operation", "OPERATION", RENDER_TEXT},
	{"comm", "COMMUNICATOR", RENDER_TEXT},
	{"seq", "NUMBER", RENDER_ID},
	{"process", "PROCESS", RENDER_TEXT},
	{"why", "WHAT IS KNOWN", RENDER_TEXT},
	{"replay", NULL, RENDER_ID},
};

static size_t missing_rows(const struct collectives_view *view)
{
	return view->c->missing_count;
}

static bool missing_row(const struct collectives_view *view, size_t i, struct render_value *ret)
{
	static const char *const why[] = {
		"lost: it has earlier and later ones",
		"it has later ones only",
		"it has earlier ones only",
		"the other side is there",
	};
	const struct collectives *c = view->c;
	const struct collectives_missing *m = c->missing + i;
	const struct collectives_process *p = c->processes + m->process;

	if (view->options->ranks.count &&
		!(p->has_rank && p->rank >= 0 && p->rank <= UINT32_MAX &&
			choice_has(&view->options->ranks, (uint32_t)p->rank)))
		return false;
	*ret++ = render_optional(p->has_rank, p->rank);
	*ret++ = render_integer(p->id);
	*ret++ = render_text(m->op < RTL_COLLECTIVE_COUNT ? collective_name(m->op) : "other");
	*ret++ = render_text(comm_text(c, m->comm));
	*ret++ = render_integer(m->seq);
	*ret++ = render_text(p->state);
	*ret++ = render_text(why[m->kind]);
	*ret++ = render_optional(m->replay > 0, m->replay - 1);
	return true;
}

const struct collectives_columns collectives_tables[] = {
	[COLLECTIVES_GROUP_TABLE] = {"groups",
		"by operation, datatype and size (bandwidth in GB/s, as nccl-tests has it)",
		group_columns, COUNT(group_columns), group_rows, group_row},
	[COLLECTIVES_RANK_TABLE] = {"ranks",
		"ranks that arrive last; how late, and why (ms, mean when last)", rank_columns,
		COUNT(rank_columns), rank_rows, rank_row},
	[COLLECTIVES_OPERATION_TABLE] = {"operations", "operations", operation_columns,
		COUNT(operation_columns), operation_rows, operation_row},
	[COLLECTIVES_MISSING_TABLE] = {"missing", "processes that lack a part", missing_columns,
		COUNT(missing_columns), missing_rows, missing_row},
};

const struct collectives_columns collectives_latest = {"latest", "the latest arrivals",
	latest_columns, COUNT(latest_columns), latest_rows, latest_row};
const struct collectives_columns collectives_uneven = {"uneven",
	"all-to-all and sends: the most that a rank sends, to the mean", uneven_columns,
	COUNT(uneven_columns), group_rows, uneven_row};
