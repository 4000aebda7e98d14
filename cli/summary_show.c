// SPDX-License-Identifier: MIT
#include "cli/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto/cleanup.h"

/* A table: its columns, and one value a column for each of its rows. */
struct table {
	const char *title, *key; /* key: of its array in --json; NULL: it is none */
	const struct render_column *columns;
	size_t count;
	size_t (*rows)(const struct summary *s);
	void (*row)(const struct summary *s, size_t i, struct render_value *ret);
};

#define TABLE_COLUMNS_MAX 20

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

static const struct render_column kernel_columns[] = {
	{"calls", "CALLS", RENDER_COUNT},
	{"total_ns", "TOTAL ms", RENDER_NS_IN_MS},
	{"avg_ns", "AVG us", RENDER_NS_IN_US},
	{"min_ns", "MIN us", RENDER_NS_IN_US},
	{"max_ns", "MAX us", RENDER_NS_IN_US},
	{"pct", "TIME %", RENDER_TENTHS},
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

	*ret++ = count_value(k->calls);
	*ret++ = render_integer(k->total_ns);
	*ret++ = mean(k->total_ns, k->timed);
	*ret++ = render_optional(k->timed > 0, k->min_ns);
	*ret++ = render_optional(k->timed > 0, k->max_ns);
	*ret++ = percent(k->total_ns, s->measure->total_ns);
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

	*ret++ = render_optional(r->has_rank, r->rank);
	*ret++ = render_optional(r->has_gpu, r->gpu_id);
	*ret++ = render_integer(r->pid);
	*ret++ = render_integer(r->process_id);
	*ret++ = count_value(r->dispatched);
	*ret++ = count_value(r->stored);
	*ret++ = render_optional(r->has_measure, (int64_t)r->lane.busy_ns);
	*ret++ = r->has_measure ? percent((int64_t)r->lane.busy_ns, lane_wall(&r->lane))
				: render_null();
	*ret++ = mean(r->lane.total_ns, r->lane.timed);
	*ret++ = count_value(r->dropped);
	*ret++ = count_value(r->untimed);
	*ret++ = count_value(r->outstanding);
	*ret++ = count_value(r->skipped);
	*ret++ = render_text(r->state);
	*ret++ = render_text(r->exe);
	*ret++ = render_text(r->note);
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
	/* Bytes a nanosecond are GB a second. */
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
	{"latency_ns", "LATENCY us", RENDER_NS_IN_US},
	{"name", "HOST CALL", RENDER_TEXT},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t call_rows(const struct summary *s)
{
	return s->call_count;
}

static void call_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct summary_call *c = s->calls + i;

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
	{"calls", "CALLS", RENDER_COUNT},
	{"total_ns", "TOTAL ms", RENDER_NS_IN_MS},
	{"avg_ns", "AVG us", RENDER_NS_IN_US},
	{"min_ns", "MIN us", RENDER_NS_IN_US},
	{"max_ns", "MAX us", RENDER_NS_IN_US},
	{"pct", "TIME %", RENDER_TENTHS},
	{"kernels", "KERNELS", RENDER_COUNT},
	{"category", "CATEGORY", RENDER_TEXT},
	{"simulated", NULL, RENDER_BOOL},
};

static size_t category_rows(const struct summary *s)
{
	return s->category_count;
}

static void category_row(const struct summary *s, size_t i, struct render_value *ret)
{
	const struct summary_category *c = s->categories + i;

	*ret++ = count_value(c->calls);
	*ret++ = render_integer(c->total_ns);
	*ret++ = mean(c->total_ns, c->timed);
	*ret++ = render_optional(c->timed > 0, c->min_ns);
	*ret++ = render_optional(c->timed > 0, c->max_ns);
	*ret++ = percent(c->total_ns, s->measure->total_ns);
	*ret++ = count_value(c->kernels);
	*ret++ = render_text(c->name);
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

	(void)i; /* there is one */
	*ret++ = render_text(reason_code_name(r->code));
	*ret++ = render_text(r->text);
	*ret++ = render_text(r->hint[0] ? r->hint : NULL);
	*ret++ = render_optional(r->lane && r->lane->has_rank, r->lane ? r->lane->rank : 0);
	*ret++ = render_optional(r->lane, r->lane ? r->lane->gpu_id : 0);
	*ret++ = count_value(r->figures.sample);
	*ret++ = count_value(r->figures.rows);
	*ret++ = render_integer(s->verdict->is_simulated);
}

static int put_reason(const struct summary *s, FILE *to)
{
	CLEANUP(free_p) char *line = NULL;

	if (!s->reason)
		return 0;
	line = reason_line(s->reason);
	if (!line)
		return -ENOMEM;
	fprintf(to, "\n%s\n", line);
	return 0;
}

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(columns[0])

/* In the order of enum summary_table. */
static const struct table tables[] = {
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

static int put_table(const struct summary *s, const struct table *table, enum render_format format,
	size_t rows, size_t width, FILE *to)
{
	CLEANUP(render_free_p) struct render *render = NULL;
	struct render_value values[TABLE_COLUMNS_MAX];
	int r = render_new(to, format, table->columns, table->count, &render);

	if (r)
		return r;
	render_set_width(render, width);
	for (size_t i = 0; i < rows && !r; i++) {
		table->row(s, i, values);
		r = render_row(render, values);
	}
	render_finish(render);
	return r;
}

size_t summary_table_rows(const struct summary *summary, enum summary_table which)
{
	return tables[which].rows(summary);
}

int summary_put_table(const struct summary *summary, enum summary_table which,
	enum render_format format, uint64_t rows, FILE *to)
{
	size_t has = tables[which].rows(summary);

	return put_table(summary, tables + which, format, rows && rows < has ? rows : has, 0, to);
}

static int put_titled(
	const struct summary *s, enum summary_table which, uint64_t limit, size_t width, FILE *to)
{
	const struct table *table = tables + which;
	size_t rows = table->rows(s), shown = limit && limit < rows ? limit : rows;
	int r;

	fprintf(to, "\n%s%s\n", table->title, s->verdict->is_simulated ? " (SIMULATED)" : "");
	r = put_table(s, table, RENDER_TABLE, shown, width, to);
	if (shown < rows)
		fprintf(to, "and %zu more; --top 0 shows all\n", rows - shown);
	return r;
}

static void put_text(FILE *to, const char *label, const char *text)
{
	CLEANUP(free_p) char *safe = NULL;

	if (!text)
		return;
	safe = render_escape_cut(text, strlen(text), 200);
	fprintf(to, "%s%s", label, safe ? safe : "");
}

static void put_session(const struct summary *s, FILE *to)
{
	time_t start = (time_t)(s->start_realtime_ns / 1000000000);
	struct tm tm;
	char when[32];

	if (!s->sessions)
		return;
	put_text(to, "session ", s->name);
	put_text(to, "  host ", s->host);
	if (gmtime_r(&start, &tm) && strftime(when, sizeof(when), "%F %T UTC", &tm))
		fprintf(to, "  started %s", when);
	if (s->wall_ns >= 0)
		fprintf(to, "  took %" PRId64 ".%03" PRId64 " s", s->wall_ns / 1000000000,
			s->wall_ns / 1000000 % 1000);
	else
		fprintf(to, "  running");
	if (s->sessions > 1)
		fprintf(to, "  and %zu more sessions in this file", s->sessions - 1);
	fputc('\n', to);
	if (s->command && s->command[0]) {
		put_text(to, "command ", s->command);
		fputc('\n', to);
	}
}

/* The same as the table of ranks unless processes share a GPU. */
static bool is_gpu_shared(const struct summary *s)
{
	return s->measure->lane_count > s->measure->gpu_count;
}

static int show_tables(const struct summary *s, const struct summary_options *o, FILE *to)
{
	int r = 0;

	fprintf(to, "%s\n", s->verdict->line);
	if (s->unlinked)
		fprintf(to, "%" PRId64 " dispatches not linked to a host call\n", s->unlinked);
	put_session(s, to);
	if (o->by_category && s->category_count)
		r = put_titled(s, SUMMARY_CATEGORY_TABLE, 0, o->width, to);
	else if (s->measure->kernel_count)
		r = put_titled(s, SUMMARY_KERNEL_TABLE, o->kernels, o->width, to);
	if (!r && s->rank_count)
		r = put_titled(s, SUMMARY_RANK_TABLE, 0, o->width, to);
	if (!r && is_gpu_shared(s))
		r = put_titled(s, SUMMARY_GPU_TABLE, 0, o->width, to);
	if (!r && s->copy_count)
		r = put_titled(s, SUMMARY_COPY_TABLE, 0, o->width, to);
	if (!r && s->metric_count)
		r = put_titled(s, SUMMARY_METRIC_TABLE, 0, o->width, to);
	if (!r && s->call_count)
		r = put_titled(s, SUMMARY_CALL_TABLE, o->kernels, o->width, to);
	if (!r && s->collective_count)
		r = put_titled(s, SUMMARY_COLLECTIVE_TABLE, 0, o->width, to);
	if (!r && s->loss_count)
		r = put_titled(s, SUMMARY_LOSS_TABLE, 0, o->width, to);
	return r ? r : put_reason(s, to);
}

static json_t *table_json(const struct summary *s, const struct table *table)
{
	struct render_value values[TABLE_COLUMNS_MAX];
	json_t *array = json_array();

	for (size_t i = 0; array && i < table->rows(s); i++) {
		table->row(s, i, values);
		/* Takes the row, whether it works or not. */
		if (json_array_append_new(
			    array, render_json_row(table->columns, table->count, values))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *text_or_null(const char *text)
{
	return render_json_text(text, text ? strlen(text) : 0);
}

static json_t *session_json(const struct summary *s)
{
	json_t *object = json_object();

	if (!object || json_object_set_new(object, "name", text_or_null(s->name)) ||
		json_object_set_new(object, "host", text_or_null(s->host)) ||
		json_object_set_new(object, "command", text_or_null(s->command)) ||
		json_object_set_new(
			object, "start_realtime_ns", json_integer(s->start_realtime_ns)) ||
		json_object_set_new(object, "wall_ns",
			s->wall_ns >= 0 ? json_integer(s->wall_ns) : json_null())) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static int show_json(const struct summary *s, FILE *to)
{
	json_t *document = json_object();
	int r = document ? json_object_set_new(document, "schema", json_integer(1)) : -1;

	if (!r)
		r = verdict_put_json(s->verdict, document);
	if (!r)
		r = json_object_set_new(document, "session", session_json(s));
	if (!r)
		r = json_object_set_new(document, "unlinked", json_integer(s->unlinked));
	for (size_t i = 0; !r && i < sizeof(tables) / sizeof(*tables); i++)
		if (tables[i].key)
			r = json_object_set_new(document, tables[i].key, table_json(s, tables + i));
	if (!r && s->reason)
		r = json_object_set_new(document, "reason", reason_json(s->reason));
	if (!r)
		render_json(to, document, false);
	json_decref(document);
	return r ? -ENOMEM : 0;
}

int summary_show(const struct summary *summary, const struct summary_options *options, FILE *to)
{
	const struct table *table = tables + options->csv_table;

	switch (options->format) {
	case RENDER_JSON:
		return show_json(summary, to);
	case RENDER_CSV:
		return put_table(summary, table, RENDER_CSV, table->rows(summary), 0, to);
	default:
		return show_tables(summary, options, to);
	}
}
