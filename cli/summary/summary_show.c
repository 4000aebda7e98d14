// SPDX-License-Identifier: MIT
#include "cli/summary/summary_show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/memory.h"
#include "cli/base/color.h"
#include "proto/base/cleanup.h"

static void put_reason(const struct summary *s, FILE *to)
{
	CLEANUP(free_p) char *line = NULL, *unknown = NULL;

	if (!s->reason && !s->no_reason[0])
		return;
	unknown = xasprintf("reason: %s", s->no_reason);
	line = s->reason ? reason_line(s->reason) : render_escape(unknown, strlen(unknown));
	fputc('\n', to);
	render_put_reading(to, line, 0);
}

static void put_table(const struct summary *s, const struct summary_columns *table,
	enum render_format format, size_t rows, size_t width, FILE *to)
{
	CLEANUP(render_free_p)
	struct render *render = render_new(to, format, table->columns, table->count);
	struct render_value values[SUMMARY_COLUMNS_MAX];

	render_set_width(render, width);
	render_explain(render, SUMMARY_TITLES);
	for (size_t i = 0; i < rows; i++) {
		table->row(s, i, values);
		render_row(render, values);
	}
	render_finish(render);
}

size_t summary_table_rows(const struct summary *summary, enum summary_table which)
{
	return summary_tables[which].rows(summary);
}

void summary_put_table(const struct summary *summary, enum summary_table which,
	enum render_format format, uint64_t rows, FILE *to)
{
	size_t has = summary_tables[which].rows(summary);

	put_table(summary, summary_tables + which, format, rows && rows < has ? rows : has, 0, to);
}

static void put_titled(
	const struct summary *s, enum summary_table which, uint64_t limit, size_t width, FILE *to)
{
	const struct summary_columns *table = summary_tables + which;
	size_t rows = table->rows(s), shown = limit && limit < rows ? limit : rows;

	fprintf(to, "\n%s%s\n", table->title, s->verdict->is_simulated ? " (SIMULATED)" : "");
	put_table(s, table, RENDER_TABLE, shown, width, to);
	if (shown < rows)
		fprintf(to, "and %zu more; --top 0 shows all\n", rows - shown);
}

static void put_text(FILE *to, const char *label, const char *text)
{
	CLEANUP(free_p) char *safe = NULL;

	if (!text)
		return;
	safe = render_escape_cut(text, strlen(text), 200);
	fprintf(to, "%s%s", label, safe);
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

/* On a terminal that is too narrow it is broken between words, behind @indent columns. */
static void put_line(FILE *to, const char *text, size_t indent)
{
	size_t width = render_terminal_width(fileno(to), 0);

	if (!width || render_width(text) <= width) {
		fprintf(to, "%s\n", text);
		return;
	}
	fprintf(to, "%.*s", (int)indent, text);
	render_put_sentence(to, text + indent, indent, width);
}

static void put_session(const struct summary *s, FILE *to)
{
	CLEANUP(free_p) char *session = NULL;
	CLEANUP(free_p) char *command = NULL;
	FILE *line;

	if (!s->sessions)
		return;
	line = xmemstream(&session);
	write_session(s, line);
	xfclose(line);
	put_line(to, session, 0);
	if (!s->command || !s->command[0])
		return;
	line = xmemstream(&command);
	put_text(line, "command ", s->command);
	xfclose(line);
	put_line(to, command, strlen("command "));
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
static void put_group(const struct summary *s, const struct summary_groups *groups, size_t at,
	uint64_t limit, bool is_indented, struct render *render)
{
	const struct summary_group *group = groups->at + at;
	struct render_value values[SUMMARY_COLUMNS_MAX];

	summary_group_row(s, groups, at, SUMMARY_GROUP_ITSELF, values);
	render_row(render, values);
	for (size_t i = 0; i < shown_kernels(group, limit); i++) {
		CLEANUP(free_p) char *name = NULL;

		summary_group_row(s, groups, at, i, values);
		if (is_indented) {
			name = xasprintf(
				"  %s", s->measure->kernels[group->kernels[i].kernel].name);
			values[SUMMARY_GROUP_KERNEL] = render_text(name);
		}
		render_row(render, values);
	}
}

static void put_groups(
	const struct summary *s, enum render_format format, uint64_t limit, size_t width, FILE *to)
{
	CLEANUP(render_free_p)
	struct render *render =
		render_new(to, format, summary_group_columns, summary_group_column_count);
	bool is_cut = false;

	render_set_width(render, width);
	render_explain(render, SUMMARY_TITLES);
	for (size_t i = 0; i < s->groups->count; i++) {
		put_group(s, s->groups, i, limit, format == RENDER_TABLE, render);
		is_cut |= shown_kernels(s->groups->at + i, limit) < s->groups->at[i].kernel_count;
	}
	render_finish(render);
	if (is_cut && format == RENDER_TABLE)
		fprintf(to, "%" PRIu64 " kernels of each; --top 0 shows all\n", limit);
}

static void put_titled_groups(const struct summary *s, const struct summary_options *o, FILE *to)
{
	fprintf(to, "\n%s%s\n", group_title(s->groups->by),
		s->verdict->is_simulated ? " (SIMULATED)" : "");
	put_groups(s, RENDER_TABLE, o->group_kernels, o->width, to);
}

static void show_tables(const struct summary *s, const struct summary_options *o, FILE *to)
{
	color_put_verdict(to, s->verdict->line);
	if (s->unlinked)
		fprintf(to, "%" PRId64 " dispatches not linked to a host call\n", s->unlinked);
	put_session(s, to);
	if (s->groups && s->groups->count)
		put_titled_groups(s, o, to);
	else if (s->measure->kernel_count)
		put_titled(s, SUMMARY_KERNEL_TABLE, o->kernels, o->width, to);
	if (s->rank_count)
		put_titled(s, SUMMARY_RANK_TABLE, 0, o->width, to);
	/* The other tables are of all kernels, and so is the reason. */
	if (s->is_chosen)
		return;
	if (is_gpu_shared(s))
		put_titled(s, SUMMARY_GPU_TABLE, 0, o->width, to);
	if (s->copy_count)
		put_titled(s, SUMMARY_COPY_TABLE, 0, o->width, to);
	if (s->metric_count)
		put_titled(s, SUMMARY_METRIC_TABLE, 0, o->width, to);
	if (s->measure->call_count)
		put_titled(s, SUMMARY_CALL_TABLE, o->kernels, o->width, to);
	if (s->collective_count)
		put_titled(s, SUMMARY_COLLECTIVE_TABLE, 0, o->width, to);
	if (s->loss_count)
		put_titled(s, SUMMARY_LOSS_TABLE, 0, o->width, to);
	cost_put(&s->cost, to);
	put_reason(s, to);
}

static json_t *table_json(const struct summary *s, const struct summary_columns *table)
{
	struct render_value values[SUMMARY_COLUMNS_MAX];
	json_t *array = json_array();

	for (size_t i = 0; i < table->rows(s); i++) {
		table->row(s, i, values);
		json_array_append_new(array, render_json_row(table->columns, table->count, values));
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
		json_array_append_new(kernels,
			render_json_row(summary_group_columns, summary_group_column_count, values));
	}
	json_object_set_new(object, "top_kernels", kernels);
	return object;
}

static json_t *groups_json(const struct summary *s)
{
	json_t *array = json_array();

	for (size_t i = 0; i < s->groups->count; i++)
		json_array_append_new(array, group_json(s, i));
	return array;
}

static json_t *text_or_null(const char *text)
{
	return render_json_text(text, text ? strlen(text) : 0);
}

static json_t *session_json(const struct summary *s)
{
	return json_pack("{s:o, s:o, s:o, s:I, s:o}", "name", text_or_null(s->name), "host",
		text_or_null(s->host), "command", text_or_null(s->command), "start_realtime_ns",
		(json_int_t)s->start_realtime_ns, "wall_ns",
		s->wall_ns >= 0 ? json_integer(s->wall_ns) : json_null());
}

static void show_json(const struct summary *s, FILE *to)
{
	json_t *document = json_object();

	json_object_set_new(document, "schema", json_integer(1));
	verdict_put_json(s->verdict, document);
	json_object_set_new(document, "session", session_json(s));
	json_object_set_new(document, "unlinked", json_integer(s->unlinked));
	for (size_t i = 0; i < SUMMARY_TABLES; i++)
		if (summary_tables[i].key)
			json_object_set_new(
				document, summary_tables[i].key, table_json(s, summary_tables + i));
	json_object_set_new(document, "cost", cost_json(&s->cost));
	if (s->groups) {
		json_object_set_new(document, "by", json_string(summary_by_name(s->groups->by)));
		json_object_set_new(document, "groups", groups_json(s));
	}
	if (s->reason || s->no_reason[0])
		json_object_set_new(
			document, "reason", s->reason ? reason_json(s->reason) : json_null());
	render_json(to, document, false);
	json_decref(document);
}

void summary_show(const struct summary *summary, const struct summary_options *options, FILE *to)
{
	const struct summary_columns *table = summary_tables + options->csv_table;

	switch (options->format) {
	case RENDER_JSON:
		show_json(summary, to);
		break;
	case RENDER_CSV:
		if (options->csv_table == SUMMARY_GROUP_TABLE)
			put_groups(summary, RENDER_CSV, 0, 0, to);
		else
			put_table(summary, table, RENDER_CSV, table->rows(summary), 0, to);
		break;
	default:
		show_tables(summary, options, to);
	}
}
