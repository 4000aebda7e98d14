// SPDX-License-Identifier: MIT
/*
 * Ranks that come late to collectives: the place of the heat map, and the tables of rtl
 * collectives.
 */
#include <inttypes.h>

#include "cli/output/html.h"
#include "cli/report/report.h"

#define NOTES_MAX 16

static void put_table(const struct collectives_view *view, const struct collectives_columns *table,
	const char *title, FILE *to)
{
	uint64_t count = 0;

	if (!table->rows(view))
		return;
	fprintf(to, "<h3>%s</h3>\n<div class=scroll tabindex=0 role=region aria-label=\"%s\">",
		title, title);
	collectives_put_table(view, table, RENDER_HTML, REPORT_ROWS_MAX, to, &count);
	fputs("</div>\n", to);
	if (count > REPORT_ROWS_MAX)
		fprintf(to, "<p class=note>and %" PRIu64 " more: rtl collectives --top 0</p>\n",
			count - REPORT_ROWS_MAX);
}

/* Only for sends in groups, which are few. */
static bool has_uneven(const struct collectives_report *report)
{
	for (size_t i = 0; i < report->group_count; i++)
		if (report->groups[i].uneven)
			return true;
	return false;
}

static void put_notes(const struct collectives_view *view, FILE *to)
{
	char notes[NOTES_MAX][320];
	size_t count = collectives_notes(view, notes, NOTES_MAX);

	if (!count)
		return;
	fputs("<ul class=note>", to);
	for (size_t i = 0; i < count; i++) {
		fputs("<li>", to);
		html_put(to, notes[i]);
	}
	fputs("</ul>\n", to);
}

static void put_ranked(const struct collectives_view *view, FILE *to)
{

	fputs("<h3 class=scripted>Lateness behind the first to arrive</h3>\n"
	      "<div class=\"heat scripted\"></div>\n",
		to);
	put_table(view, collectives_tables + COLLECTIVES_RANK_TABLE,
		"Stragglers: ranks that arrive last, how late and why (ms, mean when last)", to);
	put_table(view, &collectives_latest, "The latest arrivals", to);
}

void report_put_stragglers(const struct report_file *file, size_t at, FILE *to)
{
	const struct collectives_options options = {.format = RENDER_HTML};
	const struct collectives_view view = {
		file->collectives, file->stragglers, file->summary->verdict, &options};

	fprintf(to, "<section id=f%zu-collectives>\n<h2>Collectives</h2>\n<p>", at);
	html_put(to, file->stragglers->reading);
	fputs("</p>\n", to);
	put_notes(&view, to);
	if (file->stragglers->ranked)
		put_ranked(&view, to);
	put_table(&view, collectives_tables + COLLECTIVES_GROUP_TABLE,
		"By operation, type and size (bandwidth in GB/s)", to);
	if (has_uneven(file->stragglers))
		put_table(&view, &collectives_uneven,
			"All-to-all and sends: the most that a rank sends, to the mean", to);
	put_table(&view, collectives_tables + COLLECTIVES_MISSING_TABLE,
		"Processes that lack a part", to);
	fputs("</section>\n", to);
}
