// SPDX-License-Identifier: MIT
/* The time line, and what the time of each rank is spent on, in total and step by step. */
#include <inttypes.h>

#include "cli/output/html.h"
#include "cli/report/report.h"
#include "proto/base/cleanup.h"

struct part {
	const char *class, *name;
};

/* In the order in which bars are stacked; classes belong to the style sheet. */
static const struct part parts[] = {
	{"compute", "computation"},
	{"hidden", "computation and communication"},
	{"exposed", "exposed communication"},
	{"copy", "exposed copies"},
	{"idle", "idle"},
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static void split(const struct breakdown_row *row, uint64_t ret[PARTS])
{
	ret[0] = row->stream_ns[BREAKDOWN_COMPUTE] - row->with_communication_ns;
	ret[1] = row->with_communication_ns;
	ret[2] = row->exposed_communication_ns;
	ret[3] = row->exposed_copy_ns;
	ret[4] = breakdown_idle_ns(row);
}

static void put_legend(FILE *to)
{
	fputs("<p class=legend>", to);
	for (size_t i = 0; i < PARTS; i++)
		fprintf(to, "<span class=key><i class=%s></i>%s</span> ", parts[i].class,
			parts[i].name);
	fputs("</p>\n", to);
}

/* Equal lengths are equal times: the longest of all lanes is the full width. */
static void put_bar(const struct timeline_lane *lane, uint64_t longest, FILE *to)
{
	const struct render_value wall = render_integer((int64_t)lane->total.wall_ns);
	CLEANUP(free_p) char *time = render_cell(RENDER_NS_IN_MS, &wall);
	uint64_t values[PARTS];
	double x = 0;
	char name[REPORT_LANE_BYTES];

	report_name_lane(lane, name);
	split(&lane->total, values);
	fprintf(to,
		"<div><span>%s</span><svg viewBox=\"0 0 1000 1\" preserveAspectRatio=none "
		"role=img aria-label=\"",
		name);
	for (size_t i = 0; i < PARTS; i++)
		fprintf(to, "%s%s %.1f %%", i ? ", " : "", parts[i].name,
			lane->total.wall_ns
				? 100.0 * (double)values[i] / (double)lane->total.wall_ns
				: 0);
	fputs("\">", to);
	for (size_t i = 0; i < PARTS; i++) {
		double width = 1000.0 * (double)values[i] / (double)longest;

		if (width > 0)
			fprintf(to, "<rect class=%s x=%.2f width=%.2f height=1 />", parts[i].class,
				x, width);
		x += width;
	}
	fprintf(to, "</svg><span class=n>%s ms</span></div>\n", time ? time : "");
}

static void put_bars(const struct timeline *t, FILE *to)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < t->lane_count; i++)
		if (t->lanes[i].total.wall_ns > longest)
			longest = t->lanes[i].total.wall_ns;
	if (!longest)
		return;
	put_legend(to);
	fputs("<div class=\"bars scroll\" tabindex=0 role=region aria-label=\"time of each "
	      "rank\">\n",
		to);
	for (size_t i = 0; i < t->lane_count; i++)
		put_bar(t->lanes + i, longest, to);
	fputs("</div>\n", to);
}

static void put_chart(const struct report_file *f, size_t at, FILE *to)
{
	fprintf(to, "<section id=f%zu-timeline class=scripted>\n<h2>Time line</h2>\n", at);
	put_legend(to);
	fputs("<div class=timeline></div>\n", to);
	if (f->detail.window_count && !f->detail.windows[0].is_all)
		fputs("<p class=note>Every kernel is here in the stretches that the buttons show; "
		      "elsewhere a column is what a lane did in its time.</p>\n",
			to);
	fputs("</section>\n", to);
}

static void put_notes(const struct timeline *t, FILE *to)
{

	fputs("<p class=note>", to);
	html_put(to, t->steps->line);
	if (t->untimed)
		html_print(to, "; %" PRIu64 " kernels have no times: they look like idle time",
			t->untimed);
	if (t->untimed_copies)
		html_print(to,
			"; %" PRIu64 " copies have no times (--mode full records them): they look "
			"like idle time",
			t->untimed_copies);
	if (t->outside_ns)
		html_print(to, "; outside of steps: %.1f ms, not in these sums",
			(double)t->outside_ns / 1e6);
	fputs("</p>\n", to);
}

static void put_steps(const struct report_file *f, size_t at, FILE *to)
{
	const struct timeline_show show = {.format = RENDER_HTML, .rows = REPORT_STEPS_MAX};

	if (f->timeline->steps->source == STEPS_WHOLE)
		return;
	fprintf(to,
		"<section id=f%zu-steps>\n<h2>Steps</h2>\n"
		"<div class=\"charts scripted\"><div class=steps-chart></div>"
		"<div class=overlap-chart></div></div>\n<h3>Longest steps</h3>\n"
		"<div class=scroll tabindex=0 role=region aria-label=\"longest steps\">",
		at);
	timeline_put_longest(f->timeline, &f->timeline_options, &show, to);
	fputs("</div>\n</section>\n", to);
}

void report_put_breakdown(const struct report_file *file, size_t at, FILE *to)
{
	const struct timeline_show show = {.format = RENDER_HTML};

	if (!file->timeline->lane_count) {
		fprintf(to,
			"<section id=f%zu-ranks><h2>Ranks</h2><p class=note>no kernel or copy has "
			"a "
			"time</p></section>\n",
			at);
		return;
	}
	put_chart(file, at, to);
	fprintf(to, "<section id=f%zu-ranks>\n<h2>Where the time of each rank goes</h2>\n", at);
	put_bars(file->timeline, to);
	put_notes(file->timeline, to);
	fputs("<div class=scroll tabindex=0 role=region aria-label=\"ranks\">", to);
	timeline_put_ranks(file->timeline, &show, to);
	fputs("</div>\n</section>\n", to);
	put_steps(file, at, to);
}
