// SPDX-License-Identifier: MIT
/* rtl summary's tables. */
#include "cli/report/report.h"

struct table {
	enum summary_table which;
	const char *id, *title;
};

static const struct table tables[] = {
	{SUMMARY_KERNEL_TABLE, "kernels", "Kernels"},
	{SUMMARY_CATEGORY_TABLE, "categories", "Kinds of work"},
	{SUMMARY_RANK_TABLE, "processes", "Processes"},
	{SUMMARY_GPU_TABLE, "gpus", "GPUs"},
	{SUMMARY_COPY_TABLE, "copies", "Copies"},
	{SUMMARY_CALL_TABLE, "calls", "Host calls"},
	{SUMMARY_METRIC_TABLE, "metrics", "Metrics"},
	{SUMMARY_LOSS_TABLE, "losses", "Losses"},
};

static int put_table(const struct summary *s, const struct table *table, size_t at, FILE *to)
{
	size_t rows = summary_table_rows(s, table->which);
	int r;

	if (!rows)
		return 0;
	fprintf(to,
		"<section id=f%zu-%s>\n<h2>%s</h2>\n"
		"<div class=scroll tabindex=0 role=region aria-label=\"%s\">",
		at, table->id, table->title, table->title);
	r = summary_put_table(s, table->which, RENDER_HTML, REPORT_ROWS_MAX, to);
	fputs("</div>\n", to);
	if (rows > REPORT_ROWS_MAX)
		fprintf(to, "<p class=note>and %zu more: rtl summary --top 0</p>\n",
			rows - REPORT_ROWS_MAX);
	fputs("</section>\n", to);
	return r;
}

int report_put_tables(const struct report_file *file, size_t at, FILE *to)
{
	int r = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !r; i++)
		r = put_table(file->summary, tables + i, at, to);
	return r;
}
