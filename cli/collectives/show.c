// SPDX-License-Identifier: MIT
#include "cli/collectives/show.h"
#include "cli/base/color.h"
#include "cli/base/wrapping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/cleanup.h"

#define NOTES_MAX 16

/* ---- text ---- */

static bool fill(const struct collectives_view *view, const struct collectives_columns *table,
	size_t i, struct render_value *ret)
{
	for (size_t column = 0; column < COLLECTIVES_COLUMNS_MAX; column++)
		ret[column] = render_null();
	return table->row(view, i, ret);
}

void collectives_put_table(const struct collectives_view *view,
	const struct collectives_columns *table, enum render_format format, uint64_t limit,
	FILE *to, uint64_t *ret)
{
	CLEANUP(render_free_p)
	struct render *render = render_new(to, format, table->columns, table->count);
	struct render_value row[COLLECTIVES_COLUMNS_MAX];
	size_t rows = table->rows(view);
	uint64_t count = 0;

	render_set_width(render, view->options->width);
	render_explain(render, COLLECTIVES_TITLES);
	for (size_t i = 0; i < rows; i++) {
		if (!fill(view, table, i, row))
			continue;
		if (!limit || count < limit)
			render_row(render, row);
		count++;
	}
	if (count)
		render_finish(render);
	*ret = count;
}

/* Writes the title and the first @limit rows (0: all) of a table, or nothing if it has no rows. */
static void put_table(const struct collectives_view *view, const struct collectives_columns *table,
	uint64_t limit, FILE *to)
{
	struct render_value row[COLLECTIVES_COLUMNS_MAX];
	uint64_t count;
	size_t first = 0;

	while (first < table->rows(view) && !fill(view, table, first, row))
		first++;
	if (first == table->rows(view))
		return;
	fprintf(to, "\n%s\n", table->title);
	collectives_put_table(view, table, RENDER_TABLE, limit, to, &count);
	if (limit && count > limit)
		fprintf(to, "... and %llu more (--top 0)\n", (unsigned long long)(count - limit));
}

/* Draws lateness over time, a row for each rank in the order of the table of ranks; a darker
 * character is later. */
static void put_heat(const struct collectives_view *view, uint64_t limit, FILE *to)
{
	static const char shades[] = " .:-=+*#%@";
	const struct collectives *c = view->c;
	float most = 0;
	uint64_t count = 0;
	char name[48];

	for (size_t i = 0; i < c->lane_count * COLLECTIVES_HEAT_BINS; i++)
		most = c->heat[i] > most ? c->heat[i] : most;
	if (!view->report->ranked || most <= 0)
		return;
	fprintf(to, "\nmean lateness behind the first to arrive, over %.3f s; @ is %.3f ms\n",
		(double)wrap_minus(c->to_ns, c->from_ns) / 1e9, (double)most / 1e6);
	for (size_t i = 0; i < view->report->rank_count; i++) {
		uint32_t lane = view->report->ranks[i];
		const float *heat = c->heat + lane * (size_t)COLLECTIVES_HEAT_BINS;

		if (!collectives_wants_lane(view, lane) || (count++ >= limit && limit))
			continue;
		collectives_name_lane(c, lane, name, sizeof(name));
		fprintf(to, "%-16s |", name);
		for (size_t bin = 0; bin < COLLECTIVES_HEAT_BINS; bin++)
			fputc(heat[bin] < 0 ? ' ' : shades[lroundf(heat[bin] / most * 9)], to);
		fputs("|\n", to);
	}
	if (limit && count > limit)
		fprintf(to, "... and %llu more (--top 0)\n", (unsigned long long)(count - limit));
}

static void put_text(const struct collectives_view *view, FILE *to)
{
	CLEANUP(free_p)
	char *reading = render_escape(view->report->reading, strlen(view->report->reading));
	char notes[NOTES_MAX][320];
	size_t count = collectives_notes(view, notes, NOTES_MAX);
	uint64_t top = view->options->top;

	color_put_verdict(to, view->verdict->line);
	render_put_reading(to, reading, 0);
	for (size_t i = 0; i < count; i++) {
		CLEANUP(free_p) char *note = render_escape(notes[i], strlen(notes[i]));

		fputs("  ", to);
		render_put_reading(to, note, 2);
	}
	put_table(view, collectives_tables + COLLECTIVES_GROUP_TABLE, top, to);
	put_table(view, &collectives_uneven, top, to);
	if (view->report->ranked) {
		put_table(view, collectives_tables + COLLECTIVES_RANK_TABLE, top, to);
		put_heat(view, top, to);
	}
	put_table(view, &collectives_latest, view->options->latest, to);
	put_table(view, collectives_tables + COLLECTIVES_MISSING_TABLE, top, to);
}

/* ---- JSON and CSV ---- */

static void put_array(const struct collectives_view *view, const struct collectives_columns *table,
	uint64_t limit, json_t *document)
{
	struct render_value row[COLLECTIVES_COLUMNS_MAX];
	json_t *array = json_array();
	size_t rows = table->rows(view);
	uint64_t shown = 0;

	/* json_object_set_new() takes the array even if it fails. */
	json_object_set_new(document, table->key, array);
	for (size_t i = 0; i < rows && (!limit || shown < limit); i++) {
		if (!fill(view, table, i, row))
			continue;
		shown++;
		json_array_append_new(array, render_json_row(table->columns, table->count, row));
	}
}

static json_t *make_heat(const struct collectives_view *view)
{
	const struct collectives *c = view->c;
	json_t *rows = json_array();

	for (uint32_t lane = 0; rows && lane < c->lane_count; lane++) {
		const float *heat = c->heat + lane * (size_t)COLLECTIVES_HEAT_BINS;
		const struct collectives_process *p = c->processes + c->lanes[lane].process;
		json_t *cells = json_array(), *row;

		if (!c->lanes[lane].count || !collectives_wants_lane(view, lane)) {
			json_decref(cells);
			continue;
		}
		for (size_t bin = 0; bin < COLLECTIVES_HEAT_BINS; bin++)
			(void)json_array_append_new(cells, /* the length is checked below */
				heat[bin] < 0 ? json_null() : json_integer(llroundf(heat[bin])));
		row = json_pack("{s:o, s:I, s:o}", "rank",
			p->has_rank ? json_integer(p->rank) : json_null(), "gpuId",
			(json_int_t)c->lanes[lane].gpu_id, "late_mean_ns", cells);
		if (json_array_size(cells) != COLLECTIVES_HEAT_BINS ||
			json_array_append_new(rows, row)) {
			json_decref(rows);
			return NULL;
		}
	}
	return rows;
}

static void put_head(const struct collectives_view *view, json_t *document)
{
	const struct collectives *c = view->c;
	char notes[NOTES_MAX][320];
	size_t count = collectives_notes(view, notes, NOTES_MAX);
	json_t *array = json_array();

	json_object_set_new(document, "schema", json_integer(1));
	json_object_set(document, "notes", array);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, render_json_text(notes[i], strlen(notes[i])));
	json_decref(array);
	verdict_put_json(view->verdict, document);
	json_object_set_new(document, "reading",
		render_json_text(view->report->reading, strlen(view->report->reading)));
	json_object_set_new(document, "matched_by",
		json_string(c->by_kernels && c->matched == COLLECTIVES_BY_ORDER ? "kernels"
			    : c->by_kernels			 ? "sequence and kernels"
			    : c->matched == COLLECTIVES_BY_ORDER ? "order"
			    : c->by_order			 ? "sequence and order"
								 : "sequence"));
	json_object_set_new(document, "matched_by_order", json_integer((json_int_t)c->by_order));
	json_object_set_new(
		document, "matched_by_kernels", json_integer((json_int_t)c->by_kernels));
	json_object_set_new(
		document, "match_stopped", c->stopped[0] ? json_string(c->stopped) : json_null());
	json_object_set_new(document, "operations", json_integer((json_int_t)c->operation_count));
	json_object_set_new(document, "timed", json_integer((json_int_t)view->report->timed));
	json_object_set_new(document, "missing_parts", json_integer((json_int_t)c->missing_total));
	json_object_set_new(document, "mismatched", json_integer((json_int_t)c->mismatched));
	json_object_set_new(document, "impossible", json_integer((json_int_t)c->impossible));
	json_object_set_new(document, "unlinked", json_integer((json_int_t)c->unlinked));
	json_object_set_new(document, "nodes", json_integer(c->nodes.count));
	json_object_set_new(document, "nodes_clock_error_ns",
		c->nodes.count > 1 && c->nodes.bound_ns >= 0 ? json_integer(c->nodes.bound_ns)
							     : json_null());
	json_object_set_new(
		document, "from_ns", view->report->timed ? json_integer(c->from_ns) : json_null());
	json_object_set_new(
		document, "to_ns", view->report->timed ? json_integer(c->to_ns) : json_null());
}

static void put_json(const struct collectives_view *view, FILE *to)
{
	json_t *document = json_object();

	put_head(view, document);
	put_array(view, collectives_tables + COLLECTIVES_GROUP_TABLE, 0, document);
	put_array(view, collectives_tables + COLLECTIVES_RANK_TABLE, 0, document);
	put_array(view, &collectives_latest, view->options->top, document);
	put_array(view, collectives_tables + COLLECTIVES_MISSING_TABLE, 0, document);
	json_object_set_new(document, "heat", make_heat(view));
	render_json(to, document, false);
	json_decref(document);
}

static void put_csv(const struct collectives_view *view, FILE *to)
{
	const struct collectives_columns *table = collectives_tables + view->options->csv_table;
	CLEANUP(render_free_p) struct render *render = NULL;
	struct render_column columns[COLLECTIVES_COLUMNS_MAX];
	struct render_value row[COLLECTIVES_COLUMNS_MAX], kept[COLLECTIVES_COLUMNS_MAX];
	size_t rows = table->rows(view), count = 0;

	for (size_t i = 0; i < table->count; i++)
		if (table->columns[i].key)
			columns[count++] = table->columns[i];
	render = render_new(to, RENDER_CSV, columns, count);
	render_tell_simulated(render, view->verdict->is_simulated);
	for (size_t i = 0; i < rows; i++) {
		size_t n = 0;

		if (!fill(view, table, i, row))
			continue;
		for (size_t column = 0; column < table->count; column++)
			if (table->columns[column].key)
				kept[n++] = row[column];
		render_row(render, kept);
	}
	render_finish(render);
}

void collectives_show(const struct collectives_view *view, FILE *to)
{
	switch (view->options->format) {
	case RENDER_JSON:
		put_json(view, to);
		break;
	case RENDER_CSV:
		put_csv(view, to);
		break;
	default:
		put_text(view, to);
	}
}
