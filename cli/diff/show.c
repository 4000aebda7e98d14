// SPDX-License-Identifier: MIT
/* Writes a comparison as text and as CSV. */
#include "cli/diff/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/color.h"
#include "cli/output/table.h"
#include "proto/base/cleanup.h"

/* Processes that do not lead their rank, of which the text lists so many; --json has all. */
#define OTHERS_SHOWN 4

static void put_escaped(const char *text, FILE *to)
{
	CLEANUP(free_p) char *escaped = render_escape(text, strlen(text));

	fputs(escaped ? escaped : "?", to);
}

static void put_reading(const char *text, FILE *to)
{
	CLEANUP(free_p) char *escaped = render_escape(text, strlen(text));

	render_put_reading(to, escaped ? escaped : "?", 0);
}

/* ---- text ---- */

/* Lists the processes of the session that no figure counts. */
static void put_others(const struct diff_side *s, FILE *to)
{
	if (!s->other_count)
		return;
	fprintf(to, "  not compared: %zu process%s lead %s rank: ", s->other_count,
		s->other_count == 1 ? " that does not" : "es that do not",
		s->other_count == 1 ? "its" : "their");
	for (size_t i = 0; i < s->other_count && i < OTHERS_SHOWN; i++) {
		fprintf(to, "%sprocess %" PRId64, i ? ", " : "", s->others[i].process_id);
		if (s->others[i].has_rank)
			fprintf(to, " of rank %" PRId64, s->others[i].rank);
	}
	if (s->other_count > OTHERS_SHOWN)
		fprintf(to, " and %zu more", s->other_count - OTHERS_SHOWN);
	fputc('\n', to);
}

/* In colour, and broken between words where a terminal ends. */
static void put_verdict(const struct diff_side *side, bool is_reference, FILE *to)
{
	CLEANUP(free_p) char *label = render_escape(side->label, strlen(side->label));
	CLEANUP(free_p)
	char *line = render_escape(side->verdict->line, strlen(side->verdict->line));
	CLEANUP(free_p) char *text = NULL;

	if (label && line &&
		asprintf(&text, "%s%s: %s", label, is_reference ? " (reference)" : "", line) < 0)
		text = NULL;
	color_put_verdict(to, text ? text : "out of memory");
}

/* What stands below the verdict: a note, broken between words where a terminal ends. */
static void put_note(FILE *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put_note(FILE *to, const char *format, ...)
{
	CLEANUP(free_p) char *text = NULL;
	CLEANUP(free_p) char *safe = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	safe = text ? render_escape(text, strlen(text)) : NULL;
	fputs("  ", to);
	render_put_reading(to, safe ? safe : "out of memory", 2);
}

static void put_side(const struct diff_view *view, size_t at, FILE *to)
{
	const struct diff_side *s = view->sides[at];

	put_verdict(s, at == view->reference, to);
	put_note(to, "%s; mode %s; %zu ranks and GPUs; %" PRIu64 " steps of them compared", s->path,
		s->ways && *s->ways ? s->ways : "unknown", s->lane_count, s->lane_steps);
	put_note(to, "%s", s->steps_line ? s->steps_line : "");
	put_others(s, to);
}

static void put_banner(const struct diff *diff, FILE *to)
{
	CLEANUP(free_p) char *why = NULL;

	if (!diff->gate.count)
		return;
	why = diff_refusals(diff, NULL);
	fputs("\nNOT COMPARABLE, compared all the same: ", to);
	put_escaped(why, to);
	fputc('\n', to);
}

/* Counts the kernels that changed, which come first in the order. */
static size_t count_changed(const struct diff *diff)
{
	size_t changed = 0;

	for (size_t i = 0; i < diff->kernel_count; i++) {
		const struct diff_kernel_change *k = diff->kernels + i;

		changed += !k->before || !k->after || k->before->calls != k->after->calls ||
			   fabs(k->delta_ns) >= 1;
	}
	return changed;
}

/* Writes the title, which also says how many rows are left out. Returns the number of rows to
 * show. */
static size_t put_title(
	const struct diff_view *view, const struct diff *diff, enum diff_table which, FILE *to)
{
	size_t rows = diff_tables[which].rows(diff), shown = rows;

	if (which == DIFF_KERNEL_TABLE && view->rows) {
		shown = count_changed(diff);
		if (shown > view->rows)
			shown = (size_t)view->rows;
	}
	fprintf(to, "\n%s%s", diff_tables[which].title,
		diff->side->verdict->is_simulated || diff->reference->verdict->is_simulated
			? " (SIMULATED)"
			: "");
	if (diff->by_kind && which == DIFF_TIMELINE_TABLE)
		fputs(", kinds of steps as often as in the reference", to);
	if (shown < rows)
		fprintf(to, ": %zu of %zu, that changed most; --top 0 shows all", shown, rows);
	fputc('\n', to);
	return shown;
}

static void put_table(
	const struct diff_view *view, const struct diff *diff, enum diff_table which, FILE *to)
{
	const struct diff_columns *table = diff_tables + which;
	CLEANUP(render_free_p) struct render *render = NULL;
	struct render_value row[DIFF_COLUMNS_MAX];
	size_t shown;

	if (!table->rows(diff))
		return;
	shown = put_title(view, diff, which, to);
	if (!shown)
		return;
	render = render_new(to, RENDER_TABLE, table->columns, table->count);
	render_set_width(render, view->width);
	for (size_t i = 0; i < shown; i++) {
		table->row(diff, i, row);
		render_row(render, row);
	}
	render_finish(render);
}

static void put_rank_regression(const struct diff_view *view, const struct diff *diff, FILE *to)
{
	const struct diff_rank_change *slowest = diff->slowest;
	bool is_of_step = diff_slower_is_step(slowest);
	const struct diff_change *change = is_of_step ? &slowest->step : &slowest->computation;
	char rank[96];

	diff_name_lane(diff->side, &slowest->after->key, rank, sizeof(rank));
	if (diff->rank_regressions == 1)
		fprintf(to, "REGRESSION: %s takes over %.4g %% more: ", rank,
			view->thresholds.rank_pct);
	else
		fprintf(to, "REGRESSION: %zu ranks take over %.4g %% more, %s by most: ",
			diff->rank_regressions, view->thresholds.rank_pct, rank);
	fprintf(to, "%s %.3f ms against %.3f\n",
		is_of_step ? "its step" : "what it computes in a step", change->after / 1e6,
		change->before / 1e6);
}

static void put_kind_regression(const struct diff_view *view, const struct diff *diff,
	const struct diff_kind_change *kind, FILE *to)
{
	char name[80];

	diff_name_kind(diff, kind, name, sizeof(name));
	fputs("REGRESSION: a step of ", to);
	put_escaped(name, to);
	fprintf(to, " takes over %.4g %% more: %.3f ms against %.3f\n", view->thresholds.step_pct,
		kind->step.after / 1e6, kind->step.before / 1e6);
}

static void put_regressions(const struct diff_view *view, const struct diff *diff, FILE *to)
{
	if (diff->is_step_regression)
		fprintf(to, "REGRESSION: a step takes over %.4g %% more\n",
			view->thresholds.step_pct);
	for (size_t i = 0; i < diff->kind_count; i++)
		if (diff->kinds[i].is_regression)
			put_kind_regression(view, diff, diff->kinds + i, to);
	if (diff->kernel_regressions)
		fprintf(to, "REGRESSION: %zu kernel%s over %.4g %% more of a step\n",
			diff->kernel_regressions,
			diff->kernel_regressions == 1 ? " takes" : "s take",
			view->thresholds.kernel_pct);
	if (diff->rank_regressions)
		put_rank_regression(view, diff, to);
}

static void put_diff(const struct diff_view *view, const struct diff *diff, FILE *to)
{

	if (view->diff_count > 1) {
		fputs("\n== ", to);
		put_escaped(diff->side->label, to);
		fputs(" against ", to);
		put_escaped(diff->reference->label, to);
		fputs(" ==\n", to);
	}
	put_banner(diff, to);
	for (int i = 0; i < DIFF_TABLES; i++)
		put_table(view, diff, (enum diff_table)i, to);
	fputc('\n', to);
	put_reading(diff->reading, to);
	put_regressions(view, diff, to);
}

void diff_show(const struct diff_view *view, FILE *to)
{

	for (size_t i = 0; i < view->side_count; i++)
		put_side(view, i, to);
	for (size_t i = 0; i < view->diff_count; i++)
		put_diff(view, view->diffs[i], to);
}

/* ---- CSV ---- */

/* Keeps the columns that have a key; the others appear only in the text. */
static size_t keep_keyed(const struct diff_columns *table, size_t kept[DIFF_COLUMNS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < table->count; i++)
		if (table->columns[i].key)
			kept[count++] = i;
	return count;
}

static void put_csv_rows(const struct diff *diff, const struct diff_columns *table,
	const size_t *kept, size_t count, struct render *render)
{
	struct render_value row[DIFF_COLUMNS_MAX + 3], values[DIFF_COLUMNS_MAX];

	row[0] = render_text(diff->reference->label);
	row[1] = render_text(diff->side->label);
	row[2] = render_integer(
		diff->reference->verdict->is_simulated || diff->side->verdict->is_simulated);
	for (size_t n = 0; n < table->rows(diff); n++) {
		table->row(diff, n, values);
		for (size_t i = 0; i < count; i++)
			row[i + 3] = values[kept[i]];
		render_row(render, row);
	}
}

void diff_show_csv(const struct diff_view *view, enum diff_table which, FILE *to)
{
	const struct diff_columns *table = diff_tables + which;
	struct render_column columns[DIFF_COLUMNS_MAX + 3] = {{"reference", NULL, RENDER_TEXT},
		{"candidate", NULL, RENDER_TEXT}, {"simulated", NULL, RENDER_BOOL}};
	CLEANUP(render_free_p) struct render *render = NULL;
	size_t kept[DIFF_COLUMNS_MAX], count = keep_keyed(table, kept);

	for (size_t i = 0; i < count; i++)
		columns[i + 3] = table->columns[kept[i]];
	render = render_new(to, RENDER_CSV, columns, count + 3);
	for (size_t i = 0; i < view->diff_count; i++)
		put_csv_rows(view->diffs[i], table, kept, count, render);
	if (render)
		render_finish(render);
}
