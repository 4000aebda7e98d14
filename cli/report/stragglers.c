// SPDX-License-Identifier: MIT
/*
 * Ranks that come late to collectives: the place of the heat map, and the tables of rtl
 * collectives.
 */
#include <inttypes.h>

#include "cli/output/html.h"
#include "cli/report/report.h"

#define NOTES_MAX 16

static int put_table(const struct collectives_view *view, const struct collectives_columns *table,
	const char *title, FILE *to)
{
	uint64_t count = 0;
	int r;

	if (!table->rows(view))
		return 0;
	fprintf(to, "<h3>%s</h3>\n<div class=scroll tabindex=0 role=region aria-label=\"%s\">",
		title, title);
	r = collectives_put_table(view, table, RENDER_HTML, REPORT_ROWS_MAX, to, &count);
	fputs("</div>\n", to);
	if (!r && count > REPORT_ROWS_MAX)
		fprintf(to, "<p class=note>and %" PRIu64 " more: rtl collectives --top 0</p>\n",
			count - REPORT_ROWS_MAX);
	return r;
}

/* Only for sends in groups, which are few. */
static bool has_uneven(const struct collectives_report *report)
{
	for (size_t i = 0; i < report->group_count; i++)
		if (report->groups[i].uneven)
			return true;
	return false;
}

static int put_notes(const struct collectives_view *view, FILE *to)
{
	char notes[NOTES_MAX][320];
	size_t count = collectives_notes(view, notes, NOTES_MAX);
	int r = 0;

	if (!count)
		return 0;
	fputs("<ul class=note>", to);
	for (size_t i = 0; i < count && !r; i++) {
		fputs("<li>", to);
		r = html_put(to, notes[i]);
	}
	fputs("</ul>\n", to);
	return r;
}

static int put_ranked(const struct collectives_view *view, FILE *to)
{
	int r;

	fputs("<h3 class=scripted>Lateness behind the first to arrive</h3>\n"
	      "<div class=\"heat scripted\"></div>\n",
		to);
	r = put_table(view, collectives_tables + COLLECTIVES_RANK_TABLE,
		"Stragglers: ranks that arrive last, how late and why (ms, mean when last)", to);
	return r ? r : put_table(view, &collectives_latest, "The latest arrivals", to);
}

int report_put_stragglers(const struct report_file *file, size_t at, FILE *to)
{
	const struct collectives_options options = {.format = RENDER_HTML};
	const struct collectives_view view = {
		file->collectives, file->stragglers, file->summary->verdict, &options};
	int r;

	fprintf(to, "<section id=f%zu-collectives>\n<h2>Collectives</h2>\n<p>", at);
	r = html_put(to, file->stragglers->reading);
	fputs("</p>\n", to);
	if (!r)
		r = put_notes(&view, to);
	if (!r && file->stragglers->ranked)
		r = put_ranked(&view, to);
	if (!r)
		r = put_table(&view, collectives_tables + COLLECTIVES_GROUP_TABLE,
			"By operation, type and size (bandwidth in GB/s)", to);
	if (!r && has_uneven(file->stragglers))
		r = put_table(&view, &collectives_uneven,
			"All-to-all and sends: the most that a rank sends, to the mean", to);
	if (!r)
		r = put_table(&view, collectives_tables + COLLECTIVES_MISSING_TABLE,
			"Processes that lack a part", to);
	fputs("</section>\n", to);
	return r;
}
