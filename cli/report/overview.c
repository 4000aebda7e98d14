// SPDX-License-Identifier: MIT
/* The first part of a page: whether the record is complete, why the job is slow, and its size. */
#include <time.h>

#include "cli/output/html.h"
#include "cli/report/report.h"
#include "proto/base/cleanup.h"

static void put_labelled(FILE *to, const char *label, const char *text)
{

	if (!text || !text[0])
		return;
	fprintf(to, "<span><b>%s</b> ", label);
	html_put(to, text);
	fputs("</span> ", to);
}

static void put_session(const struct summary *s, FILE *to)
{
	time_t start = (time_t)(s->start_realtime_ns / 1000000000);
	char when[32], took[48];
	struct tm tm;

	fputs("<p class=meta>", to);
	put_labelled(to, "command", s->command);
	put_labelled(to, "host", s->host);
	if (s->sessions && s->start_realtime_ns > 0 && gmtime_r(&start, &tm) &&
		strftime(when, sizeof(when), "%F %T UTC", &tm))
		put_labelled(to, "started", when);
	snprintf(took, sizeof(took), "%s",
		s->is_in_use ? "running" : "interrupted: its collector is gone");
	if (s->wall_ns >= 0)
		snprintf(took, sizeof(took), "%.3f s", (double)s->wall_ns / 1e9);
	if (s->sessions)
		put_labelled(to, "took", took);
	if (s->sessions > 1) {
		snprintf(took, sizeof(took), "%zu", s->sessions - 1);
		put_labelled(to, "more sessions in this file", took);
	}
	fputs("</p>\n", to);
}

static void put_banner(FILE *to, const char *class, const char *sign, const char *text)
{

	fprintf(to, "<p class=\"banner %s\"><span class=sign aria-hidden=true>%s</span> ", class,
		sign);
	html_put(to, text);
	fputs("</p>\n", to);
}

static void put_banners(const struct report_file *f, FILE *to)
{
	const struct verdict *v = f->summary->verdict;
	bool is_live = v->counts.live && f->summary->is_in_use;

	if (v->is_simulated)
		put_banner(to, "simulated", "&#9888;",
			"SIMULATED: these times are those of a software GPU, and of no device.");
	if (is_live)
		put_banner(to, "live", "&#9679;",
			"LIVE: the session is open; the page has what was stored until now.");
	if (v->is_empty) {
		put_banner(to, "bad", "&#10007;",
			"EMPTY: nothing was dispatched; rtl doctor says why there are no kernels.");
		return;
	}
	if (v->is_unknown) {
		put_banner(to, "live", "?", v->line);
		return;
	}
	put_banner(to,
		v->is_complete ? "good"
		: is_live      ? "live"
			       : "bad",
		v->is_complete ? "&#10003;"
		: is_live      ? "&#9679;"
			       : "&#10007;",
		v->line);
	if (!v->is_complete && !is_live)
		fputs("<p class=note>What is missing is in no figure below, and looks like idle "
		      "time."
		      "</p>\n",
			to);
}

static void put_item(FILE *to, const char *text)
{
	fputs("<li>", to);
	html_put(to, text);
}

/* A sentence begins with a capital, except if it begins with a name. */
static void put_sentence(FILE *to, const char *text, bool is_live)
{
	bool is_word = text[0] >= 'a' && text[0] <= 'z' && text[1] >= 'a' && text[1] <= 'z';

	if (is_word)
		fputc(text[0] - 'a' + 'A', to);
	html_put(to, text + is_word);
	fputs(is_live ? ", so far." : ".", to);
}

static void put_sample(FILE *to, const struct reason_figures *figures)
{
	CLEANUP(free_p) char *sample = render_count((int64_t)figures->sample);
	CLEANUP(free_p) char *rows = render_count((int64_t)figures->rows);

	fprintf(to, "<li>the sentence is of %s kernels in the middle; all else here is of all %s",
		sample, rows);
}

/* Prints the reason, then what the verbs derive from the figures. */
static void put_reason(const struct report_file *f, FILE *to)
{
	const struct reason *reason = f->summary->reason;

	fputs("<div class=reason>\n<h2>Why</h2>\n<p>", to);
	put_sentence(to, reason ? reason->text : f->summary->no_reason,
		f->summary->verdict->counts.live);
	fputs("</p>\n<ul>", to);
	if (reason && reason->hint[0])
		put_item(to, reason->hint);
	put_item(to, f->reading);
	if (f->stragglers->ranked)
		put_item(to, f->stragglers->reading);
	if (reason && reason->figures.sample && reason->figures.sample < reason->figures.rows)
		put_sample(to, &reason->figures);
	fputs("</ul>\n</div>\n", to);
}

static void put_card(FILE *to, const char *title, const char *value, const char *unit)
{
	fprintf(to, "<div><dt>%s<dd>%s <small>%s</small></div>\n", title, value, unit);
}

static void put_share(FILE *to, const char *title, uint64_t part, uint64_t whole, const char *unit)
{
	char value[32];

	if (!whole)
		return;
	snprintf(value, sizeof(value), "%.1f %%", 100.0 * (double)part / (double)whole);
	put_card(to, title, value, unit);
}

static void put_count(FILE *to, const char *title, uint64_t count, const char *unit)
{
	CLEANUP(free_p) char *value = render_count((int64_t)count);

	put_card(to, title, value ? value : "", unit);
}

static uint64_t count_steps(const struct timeline *t)
{
	uint64_t most = 0;

	for (size_t i = 0; i < t->lane_count; i++)
		if (t->lanes[i].shown > most)
			most = t->lanes[i].shown;
	return most;
}

/* Prints the mean of all steps of all lanes. */
static void put_step_length(const struct timeline *t, FILE *to)
{
	uint64_t rows = 0;
	char value[32];

	for (size_t i = 0; i < t->lane_count; i++)
		rows += t->lanes[i].shown;
	if (!rows || t->steps->source == STEPS_WHOLE)
		return;
	snprintf(value, sizeof(value), "%.3f", (double)t->total.wall_ns / (double)rows / 1e6);
	put_card(to, "Mean step", value, "ms");
}

/*
 * A process has one row per GPU, and a rank may have several processes: attempts, helpers; all are
 * adjacent. If no rank is known, processes are counted.
 */
static void put_ranks(const struct summary *s, FILE *to)
{
	uint64_t ranks = 0, processes = 0;

	for (size_t i = 0; i < s->rank_count; i++) {
		const struct summary_rank *rank = s->ranks + i;

		processes += !i || rank->process_id != rank[-1].process_id;
		ranks += rank->has_rank && (!i || rank->rank != rank[-1].rank);
	}
	if (ranks)
		put_count(to, "Ranks", ranks, "");
	else
		put_count(to, "Processes", processes, "");
}

static void put_cards(const struct report_file *f, FILE *to)
{
	const struct breakdown_row *total = &f->timeline->total;
	/* The time between steps is in none of their rows. */
	const char *base = f->timeline->steps->source == STEPS_WHOLE ? "of time" : "of steps";

	fputs("<dl class=cards>\n", to);
	put_ranks(f->summary, to);
	put_count(to, "GPUs", f->summary->measure->gpu_count, "");
	put_count(to, "Kernels", f->summary->verdict->counts.stored, "");
	if (f->timeline->steps->source != STEPS_WHOLE)
		put_count(to, "Steps", count_steps(f->timeline), "a rank");
	put_step_length(f->timeline, to);
	put_share(to, "Computation", total->stream_ns[BREAKDOWN_COMPUTE], total->wall_ns, base);
	put_share(
		to, "Exposed communication", total->exposed_communication_ns, total->wall_ns, base);
	if (timeline_lacks_copies(f->timeline, total))
		put_card(to, "Exposed copies", "-", base);
	else
		put_share(to, "Exposed copies", total->exposed_copy_ns, total->wall_ns, base);
	put_share(to, "Idle", breakdown_idle_ns(total), total->wall_ns, base);
	put_share(to, "Communication hidden", total->with_communication_ns, total->communication_ns,
		"of it");
	fputs("</dl>\n", to);
}

void report_put_verdict(const struct report_file *file, FILE *to)
{

	fputs("<header>\n<h1>", to);
	html_put(to, file->label);
	fputs("</h1>\n", to);
	put_session(file->summary, to);
	put_banners(file, to);
	put_reason(file, to);
	put_cards(file, to);
	fputs("</header>\n", to);
}

/* ---- tables ---------------------------------------------------------------------------- */

/* One of rtl summary's tables. */
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

static void put_table(const struct summary *s, const struct table *table, size_t at, FILE *to)
{
	size_t rows = summary_table_rows(s, table->which);

	if (!rows)
		return;
	fprintf(to,
		"<section id=f%zu-%s>\n<h2>%s</h2>\n"
		"<div class=scroll tabindex=0 role=region aria-label=\"%s\">",
		at, table->id, table->title, table->title);
	summary_put_table(s, table->which, RENDER_HTML, REPORT_ROWS_MAX, to);
	fputs("</div>\n", to);
	if (rows > REPORT_ROWS_MAX)
		fprintf(to, "<p class=note>and %zu more: rtl summary --top 0</p>\n",
			rows - REPORT_ROWS_MAX);
	fputs("</section>\n", to);
}

void report_put_tables(const struct report_file *file, size_t at, FILE *to)
{

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		put_table(file->summary, tables + i, at, to);
}
