// SPDX-License-Identifier: MIT
/* The tables of a summary: their columns and the values of each row. */
#include "cli/summary/summary_show.h"

static struct render_value count_value(uint64_t value)
{
	return render_integer((int64_t)value);
}

static struct render_value percent(int64_t part, int64_t whole)
{
	return whole > 0 ? render_real(100.0 * (double)part / (double)whole) : render_null();
}

static struct render_value mean(int64_t total, uint64_t count)
{
	return render_optional(count > 0, count ? total / (int64_t)count : 0);
}

/* ---- kernels ---- */

/* The columns that every table of kernels has. Percentiles are nearest ranks. */
#define SUM_COLUMNS                                                                                \
	{"calls", "CALLS", RENDER_COUNT}, {"total_ns", "TOTAL ms", RENDER_NS_IN_MS},               \
		{"avg_ns", "AVG us", RENDER_NS_IN_US}, {"min_ns", "MIN us", RENDER_NS_IN_US},      \
		{"p50_ns", "P50 us", RENDER_NS_IN_US}, {"p95_ns", "P95 us", RENDER_NS_IN_US},      \
		{"p99_ns", "P99 us", RENDER_NS_IN_US}, {"max_ns", "MAX us", RENDER_NS_IN_US},      \
	{                                                                                          \
		"pct", "TIME %", RENDER_TENTHS                                                     \
	}

static struct render_value *put_sums(
	const struct summary *s, const struct measure_sums *sums, struct render_value *ret)
{
	bool has = sums->timed > 0;

	*ret++ = count_value(sums->calls);
	*ret++ = render_optional(has, sums->total_ns);
	*ret++ = mean(sums->total_ns, sums->timed);
	*ret++ = render_optional(has, sums->min_ns);
	*ret++ = render_optional(has, sums->percentiles.p50_ns);
	*ret++ = render_optional(has, sums->percentiles.p95_ns);
	*ret++ = render_optional(has, sums->percentiles.p99_ns);
	*ret++ = render_optional(has, sums->max_ns);
	*ret++ = has ? percent(sums->total_ns, s->measure->total_ns) : render_null();
	return ret;
}

static const struct render_column kernel_columns[] = {
	SUM_COLUMNS,
	{"name", "KERNEL", RENDER_TEXT},
	{"symbol", NULL, RENDER_TEXT},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t kernel_rows(const struct summary *s)
{
	return s->measure->kernel_count;
}

static void kernel_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct measure_kernel *k = s->measure->kernels + i;

	ret = put_sums(s, &k->sums, ret);
	*ret++ = render_text(k->name);
	*ret++ = render_text(k->symbol);
	*ret++ = render_integer(s->verdict->is_simulated);
}

/* ---- ranks ---- */

static const struct render_column rank_columns[] = {
	{"rank", "RANK", RENDER_ID},
	{"gpuId", "GPU", RENDER_ID},
	{"pid", "PID", RENDER_ID},
	{"process_id", NULL, RENDER_ID},
	{"dispatched", "KERNELS", RENDER_COUNT},
	{"stored", NULL, RENDER_COUNT},
	{"busy_ns", "BUSY ms", RENDER_NS_IN_MS},
	{"busy_pct", "BUSY %", RENDER_TENTHS},
	{"mean_ns", "MEAN us", RENDER_NS_IN_US},
	{"dropped", "DROPPED", RENDER_COUNT},
	{"untimed", "UNTIMED", RENDER_COUNT},
	{"outstanding", "OUTSTANDING", RENDER_COUNT},
	{"skipped", "SKIPPED", RENDER_COUNT},
	{"state", "STATE", RENDER_TEXT},
	{"exe", NULL, RENDER_TEXT},
	{"note", "NOTE", RENDER_NOTE},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t rank_rows(const struct summary *s)
{
	return s->rank_count;
}

static int64_t lane_wall(const struct measure_lane *lane)
{
	return (int64_t)((uint64_t)lane->last_ns - (uint64_t)lane->first_ns);
}

static void rank_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct summary_rank *r = s->ranks + i;
	bool has_times = r->has_measure && r->lane.timed > 0;

	*ret++ = render_optional(r->has_rank, r->rank);
	*ret++ = render_optional(r->has_gpu, r->gpu_id);
	*ret++ = render_integer(r->pid);
	*ret++ = render_integer(r->process_id);
	*ret++ = count_value(r->dispatched);
	*ret++ = count_value(r->stored);
	*ret++ = render_optional(has_times, (int64_t)r->lane.busy_ns);
	*ret++ = has_times ? percent((int64_t)r->lane.busy_ns, lane_wall(&r->lane)) : render_null();
	*ret++ = mean(r->lane.total_ns, r->lane.timed);
	*ret++ = count_value(r->dropped);
	*ret++ = count_value(r->untimed);
	*ret++ = count_value(r->outstanding);
	*ret++ = count_value(r->skipped);
	*ret++ = render_text(r->state);
	*ret++ = render_text(r->exe);
	*ret++ = render_text(r->note || !r->replica[0] ? r->note : r->replica);
	*ret++ = render_integer(s->verdict->is_simulated);
}

/* ---- GPUs ---- */

static const struct render_column gpu_columns[] = {
	{"gpuId", "GPU", RENDER_ID},
	{"ops", "KERNELS", RENDER_COUNT},
	{"busy_ns", "BUSY ms", RENDER_NS_IN_MS},
	{"utilization_pct", "BUSY %", RENDER_TENTHS},
	{"wall_ns", "FIRST TO LAST ms", RENDER_NS_IN_MS},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t gpu_rows(const struct summary *s)
{
	return s->measure->gpu_count;
}

static void gpu_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct measure_lane *g = s->measure->gpus + i;

	*ret++ = render_integer(g->gpu_id);
	*ret++ = count_value(g->calls);
	*ret++ = render_optional(g->timed > 0, (int64_t)g->busy_ns);
	*ret++ = g->timed ? percent((int64_t)g->busy_ns, lane_wall(g)) : render_null();
	*ret++ = render_optional(g->timed > 0, lane_wall(g));
	*ret++ = render_integer(s->verdict->is_simulated);
}

/* ---- losses ---- */

static const struct render_column loss_columns[] = {
	{"reason", "REASON", RENDER_TEXT},
	{"count", "COUNT", RENDER_COUNT},
	{"rank", "RANK", RENDER_ID},
	{"process_id", "PROCESS", RENDER_ID},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t loss_rows(const struct summary *s)
{
	return s->loss_count;
}

static void loss_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct summary_loss *l = s->losses + i;

	*ret++ = render_text(l->reason);
	*ret++ = render_optional(l->has_count, l->count);
	*ret++ = render_optional(l->has_rank, l->rank);
	*ret++ = render_integer(l->process_id);
	*ret++ = render_integer(s->verdict->is_simulated);
}

/* ---- copies ---- */

static const struct render_column copy_columns[] = {
	{"direction", "DIRECTION", RENDER_TEXT},
	{"calls", "CALLS", RENDER_COUNT},
	{"bytes", "BYTES", RENDER_COUNT},
	{"timed", "TIMED", RENDER_COUNT},
	{"total_ns", "TOTAL ms", RENDER_NS_IN_MS},
	{"avg_ns", "AVG us", RENDER_NS_IN_US},
	{"min_ns", "MIN us", RENDER_NS_IN_US},
	{"max_ns", "MAX us", RENDER_NS_IN_US},
	{"gb_per_s", "GB/s", RENDER_TENTHS},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t copy_rows(const struct summary *s)
{
	return s->copy_count;
}

static void copy_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct summary_copies *c = s->copies + i;

	*ret++ = render_text(c->direction);
	*ret++ = count_value(c->calls);
	*ret++ = count_value(c->bytes);
	*ret++ = count_value(c->timed);
	*ret++ = render_optional(c->timed > 0, c->total_ns);
	*ret++ = mean(c->total_ns, c->timed);
	*ret++ = render_optional(c->timed > 0, c->min_ns);
	*ret++ = render_optional(c->timed > 0, c->max_ns);
	/* Bytes per nanosecond equal gigabytes per second. */
	*ret++ = c->total_ns > 0 ? render_real((double)c->timed_bytes / (double)c->total_ns)
				 : render_null();
	*ret++ = render_integer(s->verdict->is_simulated);
}

/* ---- metrics ---- */

static const struct render_column metric_columns[] = {
	{"name", "METRIC", RENDER_TEXT},
	{"rank", "RANK", RENDER_ID},
	{"process_id", NULL, RENDER_ID},
	{"count", "MARKS", RENDER_COUNT},
	{"last", "LAST", RENDER_ANY},
	{"min", "MIN", RENDER_ANY},
	{"max", "MAX", RENDER_ANY},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t metric_rows(const struct summary *s)
{
	return s->metric_count;
}

static void metric_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct summary_metric *m = s->metrics + i;

	*ret++ = render_text(m->name);
	*ret++ = render_optional(m->has_rank, m->rank);
	*ret++ = render_integer(m->process_id);
	*ret++ = count_value(m->count);
	*ret++ = render_real(m->last);
	*ret++ = render_real(m->least);
	*ret++ = render_real(m->most);
	*ret++ = render_integer(s->verdict->is_simulated);
}

/* ---- host calls ---- */

static const struct render_column call_columns[] = {
	{"calls", "CALLS", RENDER_COUNT},
	{"total_ns", "TOTAL ms", RENDER_NS_IN_MS},
	{"avg_ns", "AVG us", RENDER_NS_IN_US},
	{"min_ns", "MIN us", RENDER_NS_IN_US},
	{"max_ns", "MAX us", RENDER_NS_IN_US},
	{"nonzero", "NOT 0", RENDER_COUNT},
	{"dispatches", "KERNELS", RENDER_COUNT},
	{"latency_ns", "LAUNCH us", RENDER_NS_IN_US},
	{"name", "HOST CALL", RENDER_TEXT},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t call_rows(const struct summary *s)
{
	return s->measure->call_count;
}

static void call_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct measure_call *c = s->measure->calls + i;

	*ret++ = count_value(c->calls);
	*ret++ = render_integer(c->total_ns);
	*ret++ = mean(c->total_ns, c->calls);
	*ret++ = render_integer(c->min_ns);
	*ret++ = render_integer(c->max_ns);
	*ret++ = count_value(c->nonzero);
	*ret++ = count_value(c->dispatches);
	*ret++ = mean(c->latency_ns, c->dispatches);
	*ret++ = render_text(c->name);
	*ret++ = render_integer(s->verdict->is_simulated);
}

/* ---- collectives ---- */

static const struct render_column collective_columns[] = {
	{"op", "COLLECTIVE", RENDER_TEXT},
	{"datatype", "TYPE", RENDER_TEXT},
	{"comm_size", "OF RANKS", RENDER_COUNT},
	{"calls", "CALLS", RENDER_COUNT},
	{"bytes", "BYTES", RENDER_COUNT},
	{"communicators", "COMMUNICATORS", RENDER_COUNT},
	{"processes", "PROCESSES", RENDER_COUNT},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t collective_rows(const struct summary *s)
{
	return s->collective_count;
}

static void collective_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct summary_collective *c = s->collectives + i;

	*ret++ = render_text(c->op);
	*ret++ = render_text(c->datatype);
	*ret++ = render_optional(c->ranks > 0, (int64_t)c->ranks);
	*ret++ = count_value(c->calls);
	*ret++ = count_value(c->bytes);
	*ret++ = count_value(c->communicators);
	*ret++ = count_value(c->processes);
	*ret++ = render_integer(s->verdict->is_simulated);
}

/* ---- categories ---- */

static const struct render_column category_columns[] = {
	SUM_COLUMNS,
	{"kernels", "KERNELS", RENDER_COUNT},
	{"category", "CATEGORY", RENDER_TEXT},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t category_rows(const struct summary *s)
{
	return s->categories ? s->categories->count : 0;
}

static void category_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct summary_group *c = s->categories->at + i;

	ret = put_sums(s, &c->sums, ret);
	*ret++ = count_value(c->kernel_count);
	*ret++ = render_text(c->name);
	*ret++ = render_integer(s->verdict->is_simulated);
}

/* ---- groups ---- */

const struct render_column summary_group_columns[] = {
	{"group", NULL, RENDER_TEXT},
	{"rank", NULL, RENDER_ID},
	{"gpuId", NULL, RENDER_ID},
	{"queueId", NULL, RENDER_ID},
	{"process_id", NULL, RENDER_ID},
	SUM_COLUMNS,
	{"kernels", NULL, RENDER_COUNT},
	{NULL, "KERNEL", RENDER_TEXT},
	{"name", NULL, RENDER_TEXT},
	{"symbol", NULL, RENDER_TEXT},
	{"simulated", NULL, RENDER_BOOL},
};

const size_t summary_group_column_count =
	sizeof(summary_group_columns) / sizeof(*summary_group_columns);

void summary_group_row(const struct summary *s, const struct summary_groups *groups, size_t group,
	size_t kernel, struct render_value *ret)
{
	const struct summary_group *g = groups->at + group;
	bool is_group = kernel == SUMMARY_GROUP_ITSELF;
	const struct summary_group_kernel *k = is_group ? NULL : g->kernels + kernel;
	const struct measure_kernel *names = k ? s->measure->kernels + k->kernel : NULL;

	*ret++ = render_text(g->name);
	*ret++ = render_optional(g->has_rank, g->rank);
	*ret++ = render_optional(g->has_gpu, g->gpu_id);
	*ret++ = render_optional(g->has_queue, g->queue_id);
	*ret++ = render_optional(g->has_process, g->process_id);
	ret = put_sums(s, k ? &k->sums : &g->sums, ret);
	*ret++ = render_optional(is_group, (int64_t)g->kernel_count);
	*ret++ = render_text(is_group ? g->name : names->name);
	*ret++ = render_text(is_group ? NULL : names->name);
	*ret++ = render_text(is_group ? NULL : names->symbol);
	*ret++ = render_integer(s->verdict->is_simulated);
}

/* ---- reason ---- */

static const struct render_column reason_columns[] = {
	{"code", NULL, RENDER_TEXT},
	{"text", NULL, RENDER_TEXT},
	{"hint", NULL, RENDER_TEXT},
	{"rank", NULL, RENDER_ID},
	{"gpuId", NULL, RENDER_ID},
	{"kernels", NULL, RENDER_COUNT},
	{"of", NULL, RENDER_COUNT},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t reason_rows(const struct summary *s)
{
	return s->reason ? 1 : 0;
}

static void reason_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct reason *r = s->reason;

	(void)i; /* the table has one row */
	*ret++ = render_text(reason_code_name(r->code));
	*ret++ = render_text(r->text);
	*ret++ = render_text(r->hint[0] ? r->hint : NULL);
	*ret++ = render_optional(r->lane && r->lane->has_rank, r->lane ? r->lane->rank : 0);
	*ret++ = render_optional(r->lane, r->lane ? r->lane->gpu_id : 0);
	*ret++ = count_value(r->figures.sample);
	*ret++ = count_value(r->figures.rows);
	*ret++ = render_integer(s->verdict->is_simulated);
}

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(columns[0])

/* In the order of enum summary_table. */
const struct summary_columns summary_tables[SUMMARY_TABLES] = {
	{"TOP KERNELS", "kernels", COLUMNS(kernel_columns), kernel_rows, kernel_row},
	{"RANKS", "ranks", COLUMNS(rank_columns), rank_rows, rank_row},
	{"GPUS", "gpus", COLUMNS(gpu_columns), gpu_rows, gpu_row},
	{"LOSSES", "losses", COLUMNS(loss_columns), loss_rows, loss_row},
	{"COPIES", "copies", COLUMNS(copy_columns), copy_rows, copy_row},
	{"METRICS", "metrics", COLUMNS(metric_columns), metric_rows, metric_row},
	{"HOST CALLS", "host_calls", COLUMNS(call_columns), call_rows, call_row},
	{"COLLECTIVES", "collectives", COLUMNS(collective_columns), collective_rows,
		collective_row},
	{"CATEGORIES", "categories", COLUMNS(category_columns), category_rows, category_row},
	{"REASON", NULL, COLUMNS(reason_columns), reason_rows, reason_row},
};
