// SPDX-License-Identifier: MIT
#include "cli/summary/summary_show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/color.h"
#include "proto/base/cleanup.h"

static int put_reason(const struct summary *s, FILE *to)
{
	CLEANUP(free_p) char *line = NULL, *unknown = NULL;

	if (!s->reason && !s->no_reason[0])
		return 0;
	if (!s->reason && asprintf(&unknown, "reason: %s", s->no_reason) < 0) {
		unknown = NULL;
		return -ENOMEM;
	}
	line = s->reason ? reason_line(s->reason) : render_escape(unknown, strlen(unknown));
	if (!line)
		return -ENOMEM;
	fputc('\n', to);
	render_put_reading(to, line, 0);
	return 0;
}

static int put_table(const struct summary *s, const struct summary_columns *table,
	enum render_format format, size_t rows, size_t width, FILE *to)
{
	CLEANUP(render_free_p) struct render *render = NULL;
	struct render_value values[SUMMARY_COLUMNS_MAX];
	int r = render_new(to, format, table->columns, table->count, &render);

	if (r)
		return r;
	render_set_width(render, width);
	render_explain(render, SUMMARY_TITLES);
	for (size_t i = 0; i < rows && !r; i++) {
		table->row(s, i, values);
		r = render_row(render, values);
	}
	render_finish(render);
	return r;
}

size_t summary_table_rows(const struct summary *summary, enum summary_table which)
{
	return summary_tables[which].rows(summary);
}

int summary_put_table(const struct summary *summary, enum summary_table which,
	enum render_format format, uint64_t rows, FILE *to)
{
	size_t has = summary_tables[which].rows(summary);

	return put_table(
		summary, summary_tables + which, format, rows && rows < has ? rows : has, 0, to);
}

static int put_titled(
	const struct summary *s, enum summary_table which, uint64_t limit, size_t width, FILE *to)
{
	const struct summary_columns *table = summary_tables + which;
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

static void write_session(const struct summary *s, FILE *line)
{
	time_t start = (time_t)(s->start_realtime_ns / 1000000000);
	struct tm tm;
	char when[32];

	put_text(line, "session ", s->name);
	put_text(line, "  host ", s->host);
	/* An import may not know the start. */
	if (s->start_realtime_ns > 0 && gmtime_r(&start, &tm) &&
		strftime(when, sizeof(when), "%F %T UTC", &tm))
		fprintf(line, "  started %s", when);
	if (s->wall_ns >= 0)
		fprintf(line, "  took %" PRId64 ".%03" PRId64 " s", s->wall_ns / 1000000000,
			s->wall_ns / 1000000 % 1000);
	else
		fprintf(line, s->is_in_use ? "  running" : "  interrupted: its collector is gone");
	if (s->sessions > 1)
		fprintf(line, "  and %zu more sessions in this file", s->sessions - 1);
}

static void put_session(const struct summary *s, FILE *to)
{
	CLEANUP(free_p) char *text = NULL;
	size_t bytes = 0, width = render_terminal_width(fileno(to), 0);
	FILE *line = s->sessions ? open_memstream(&text, &bytes) : NULL;

	if (!line)
		return;
	write_session(s, line);
	if (fclose(line))
		return;
	if (width && render_width(text) > width)
		render_put_sentence(to, text, 0, width);
	else
		fprintf(to, "%s\n", text);
	if (s->command && s->command[0]) {
		put_text(to, "command ", s->command);
		fputc('\n', to);
	}
}

/* Unless processes share a GPU, the table of GPUs equals that of ranks. */
static bool is_gpu_shared(const struct summary *s)
{
	return s->measure->lane_count > s->measure->gpu_count;
}

static const char *group_title(enum summary_by by)
{
	static const char *const titles[SUMMARY_BYS] = {"", "KERNELS BY RANK", "KERNELS BY GPU",
		"KERNELS BY QUEUE", "KERNELS BY RANGE", "CATEGORIES"};

	return titles[by];
}

static size_t shown_kernels(const struct summary_group *group, uint64_t limit)
{
	return limit && limit < group->kernel_count ? limit : group->kernel_count;
}

/* Writes the row of a group, then the rows of its kernels. */
static int put_group(const struct summary *s, const struct summary_groups *groups, size_t at,
	uint64_t limit, bool is_indented, struct render *render)
{
	const struct summary_group *group = groups->at + at;
	struct render_value values[SUMMARY_COLUMNS_MAX];
	int r;

	summary_group_row(s, groups, at, SUMMARY_GROUP_ITSELF, values);
	r = render_row(render, values);
	for (size_t i = 0; i < shown_kernels(group, limit) && !r; i++) {
		CLEANUP(free_p) char *name = NULL;

		summary_group_row(s, groups, at, i, values);
		if (is_indented && asprintf(&name, "  %s",
					   s->measure->kernels[group->kernels[i].kernel].name) < 0)
			return -ENOMEM;
		if (name)
			values[SUMMARY_GROUP_KERNEL] = render_text(name);
		r = render_row(render, values);
	}
	return r;
}

static int put_groups(
	const struct summary *s, enum render_format format, uint64_t limit, size_t width, FILE *to)
{
	CLEANUP(render_free_p) struct render *render = NULL;
	bool is_cut = false;
	int r = render_new(to, format, summary_group_columns, summary_group_column_count, &render);

	if (r)
		return r;
	render_set_width(render, width);
	render_explain(render, SUMMARY_TITLES);
	for (size_t i = 0; i < s->groups->count && !r; i++) {
		r = put_group(s, s->groups, i, limit, format == RENDER_TABLE, render);
		is_cut |= shown_kernels(s->groups->at + i, limit) < s->groups->at[i].kernel_count;
	}
	render_finish(render);
	if (is_cut && format == RENDER_TABLE)
		fprintf(to, "%" PRIu64 " kernels of each; --top 0 shows all\n", limit);
	return r;
}

static int put_titled_groups(const struct summary *s, const struct summary_options *o, FILE *to)
{
	fprintf(to, "\n%s%s\n", group_title(s->groups->by),
		s->verdict->is_simulated ? " (SIMULATED)" : "");
	return put_groups(s, RENDER_TABLE, o->group_kernels, o->width, to);
}

static int show_tables(const struct summary *s, const struct summary_options *o, FILE *to)
{
	int r = 0;

	color_put_verdict(to, s->verdict->line);
	if (s->unlinked)
		fprintf(to, "%" PRId64 " dispatches not linked to a host call\n", s->unlinked);
	put_session(s, to);
	if (s->groups && s->groups->count)
		r = put_titled_groups(s, o, to);
	else if (s->measure->kernel_count)
		r = put_titled(s, SUMMARY_KERNEL_TABLE, o->kernels, o->width, to);
	if (!r && s->rank_count)
		r = put_titled(s, SUMMARY_RANK_TABLE, 0, o->width, to);
	/* The other tables are of all kernels, and so is the reason. */
	if (s->is_chosen)
		return r;
	if (!r && is_gpu_shared(s))
		r = put_titled(s, SUMMARY_GPU_TABLE, 0, o->width, to);
	if (!r && s->copy_count)
		r = put_titled(s, SUMMARY_COPY_TABLE, 0, o->width, to);
	if (!r && s->metric_count)
		r = put_titled(s, SUMMARY_METRIC_TABLE, 0, o->width, to);
	if (!r && s->measure->call_count)
		r = put_titled(s, SUMMARY_CALL_TABLE, o->kernels, o->width, to);
	if (!r && s->collective_count)
		r = put_titled(s, SUMMARY_COLLECTIVE_TABLE, 0, o->width, to);
	if (!r && s->loss_count)
		r = put_titled(s, SUMMARY_LOSS_TABLE, 0, o->width, to);
	cost_put(&s->cost, to);
	return r ? r : put_reason(s, to);
}

static json_t *table_json(const struct summary *s, const struct summary_columns *table)
{
	struct render_value values[SUMMARY_COLUMNS_MAX];
	json_t *array = json_array();

	for (size_t i = 0; array && i < table->rows(s); i++) {
		table->row(s, i, values);
		/* json_array_append_new() takes the row even if it fails. */
		if (json_array_append_new(
			    array, render_json_row(table->columns, table->count, values))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *group_json(const struct summary *s, size_t at)
{
	const struct summary_group *group = s->groups->at + at;
	struct render_value values[SUMMARY_COLUMNS_MAX];
	json_t *object, *kernels = json_array();

	summary_group_row(s, s->groups, at, SUMMARY_GROUP_ITSELF, values);
	object = render_json_row(summary_group_columns, summary_group_column_count, values);
	for (size_t i = 0; i < group->kernel_count; i++) {
		summary_group_row(s, s->groups, at, i, values);
		(void)json_array_append_new(kernels,
			render_json_row(summary_group_columns, summary_group_column_count, values));
	}
	/* Detects rows that could not be appended because memory ran out. */
	if (json_array_size(kernels) != group->kernel_count ||
		json_object_set_new(object, "top_kernels", kernels)) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *groups_json(const struct summary *s)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < s->groups->count; i++)
		if (json_array_append_new(array, group_json(s, i))) {
			json_decref(array);
			return NULL;
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
	for (size_t i = 0; !r && i < SUMMARY_TABLES; i++)
		if (summary_tables[i].key)
			r = json_object_set_new(
				document, summary_tables[i].key, table_json(s, summary_tables + i));
	if (!r)
		r = json_object_set_new(document, "cost", cost_json(&s->cost));
	if (!r && s->groups)
		r = json_object_set_new(
			document, "by", json_string(summary_by_name(s->groups->by)));
	if (!r && s->groups)
		r = json_object_set_new(document, "groups", groups_json(s));
	if (!r && (s->reason || s->no_reason[0]))
		r = json_object_set_new(
			document, "reason", s->reason ? reason_json(s->reason) : json_null());
	if (!r)
		render_json(to, document, false);
	json_decref(document);
	return r ? -ENOMEM : 0;
}

int summary_show(const struct summary *summary, const struct summary_options *options, FILE *to)
{
	const struct summary_columns *table;

	switch (options->format) {
	case RENDER_JSON:
		return show_json(summary, to);
	case RENDER_CSV:
		if (options->csv_table == SUMMARY_GROUP_TABLE)
			return put_groups(summary, RENDER_CSV, 0, 0, to);
		table = summary_tables + options->csv_table;
		return put_table(summary, table, RENDER_CSV, table->rows(summary), 0, to);
	default:
		return show_tables(summary, options, to);
	}
}
