// SPDX-License-Identifier: MIT
/*
 * Several sessions side by side: one row per figure, one column per session. It only shows, and
 * judges nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/base/memory.h"
#include "cli/output/html.h"
#include "cli/report/report.h"
#include "proto/base/cleanup.h"

struct figure {
	const char *name;
	enum render_kind kind;
	struct render_value (*get)(const struct report_figures *f);
};

static struct render_value share(uint64_t part, uint64_t whole)
{
	return whole ? render_real(100.0 * (double)part / (double)whole) : render_null();
}

static struct render_value get_ranks(const struct report_figures *f)
{
	return render_integer((int64_t)f->ranks);
}

static struct render_value get_kernels(const struct report_figures *f)
{
	return render_integer((int64_t)f->kernels);
}

static struct render_value get_kernel_time(const struct report_figures *f)
{
	return render_integer(f->kernel_ns);
}

static struct render_value get_steps(const struct report_figures *f)
{
	return render_optional(f->has_steps, (int64_t)f->steps);
}

static struct render_value get_step_length(const struct report_figures *f)
{
	return f->has_steps && f->lane_steps
		       ? render_integer((int64_t)(f->total.wall_ns / f->lane_steps))
		       : render_null();
}

static struct render_value get_computation(const struct report_figures *f)
{
	return share(f->total.stream_ns[BREAKDOWN_COMPUTE], f->total.wall_ns);
}

static struct render_value get_exposed(const struct report_figures *f)
{
	return share(f->total.exposed_communication_ns, f->total.wall_ns);
}

static struct render_value get_copies(const struct report_figures *f)
{
	return f->lacks_copies ? render_null() : share(f->total.exposed_copy_ns, f->total.wall_ns);
}

static struct render_value get_idle(const struct report_figures *f)
{
	return share(breakdown_idle_ns(&f->total), f->total.wall_ns);
}

static struct render_value get_hidden(const struct report_figures *f)
{
	return share(f->total.with_communication_ns, f->total.communication_ns);
}

static struct render_value get_collectives(const struct report_figures *f)
{
	return render_integer((int64_t)f->collectives);
}

static struct render_value get_skew(const struct report_figures *f)
{
	return render_optional(f->collectives > 0, f->skew_ns);
}

static struct render_value get_straggler(const struct report_figures *f)
{
	return render_text(f->straggler ? f->straggler : "none");
}

static const struct figure figures[] = {
	{"ranks", RENDER_COUNT, get_ranks},
	{"kernels", RENDER_COUNT, get_kernels},
	{"kernel time, sum (ms)", RENDER_NS_IN_MS, get_kernel_time},
	{"steps of a rank, most", RENDER_COUNT, get_steps},
	{"mean step (ms)", RENDER_NS_IN_MS, get_step_length},
	{"computation (%)", RENDER_TENTHS, get_computation},
	{"exposed communication (%)", RENDER_TENTHS, get_exposed},
	{"exposed copies (%)", RENDER_TENTHS, get_copies},
	{"idle (%)", RENDER_TENTHS, get_idle},
	{"communication hidden (% of it)", RENDER_TENTHS, get_hidden},
	{"collectives", RENDER_COUNT, get_collectives},
	{"mean skew of arrivals (ms)", RENDER_NS_IN_MS, get_skew},
	{"straggler", RENDER_ANY, get_straggler},
};

/* Makes a title, then one column per session; borrows their labels. */
static struct render_column *make_columns(
	const char *title, enum render_kind kind, const struct report_part *parts, size_t count)
{
	struct render_column *columns = xcalloc(count + 1, sizeof(*columns));

	columns[0] = (struct render_column){.title = title, .kind = RENDER_TEXT};
	for (size_t i = 0; i < count; i++)
		columns[i + 1] =
			(struct render_column){.title = parts[i].figures.label, .kind = kind};
	return columns;
}

static void put_figures(const struct report_part *parts, size_t count, FILE *to)
{
	CLEANUP(free_p)
	struct render_column *columns = make_columns("FIGURE", RENDER_ANY, parts, count);
	struct render_value row[REPORT_FILES_MAX + 1];

	html_put_head(to, columns, count + 1, NULL);
	for (size_t n = 0; n < sizeof(figures) / sizeof(figures[0]); n++) {
		row[0] = render_text(figures[n].name);
		for (size_t i = 0; i < count; i++) {
			columns[i + 1].kind = figures[n].kind;
			row[i + 1] = figures[n].get(&parts[i].figures);
		}
		html_put_row(to, columns, count + 1, row);
	}
	fputs("</tbody></table>", to);
}

static const struct report_kernel *find_kernel(const struct report_figures *f, const char *name)
{
	for (size_t i = 0; i < f->kernel_count; i++)
		if (!strcmp(f->kernels_by_time[i].name, name))
			return f->kernels_by_time + i;
	return NULL;
}

static bool is_earlier(const struct report_part *parts, size_t at, const char *name)
{
	for (size_t i = 0; i < at; i++)
		if (find_kernel(&parts[i].figures, name))
			return true;
	return false;
}

/* Shows the union of the kernels that take longest in each. */
static void put_kernels(const struct report_part *parts, size_t count, FILE *to)
{
	CLEANUP(free_p)
	struct render_column *columns =
		make_columns("TOTAL ms OF KERNEL", RENDER_NS_IN_MS, parts, count);
	struct render_value row[REPORT_FILES_MAX + 1];

	html_put_head(to, columns, count + 1, NULL);
	for (size_t from = 0; from < count; from++)
		for (size_t n = 0; n < parts[from].figures.kernel_count; n++) {
			const char *name = parts[from].figures.kernels_by_time[n].name;

			if (is_earlier(parts, from, name))
				continue;
			row[0] = render_text(name);
			for (size_t i = 0; i < count; i++) {
				const struct report_kernel *kernel =
					find_kernel(&parts[i].figures, name);

				row[i + 1] = render_optional(
					kernel != NULL, kernel ? kernel->total_ns : 0);
			}
			html_put_row(to, columns, count + 1, row);
		}
	fputs("</tbody></table>", to);
}

static void put_lines(const struct report_part *parts, size_t count, FILE *to)
{

	fputs("<dl class=lines>", to);
	for (size_t i = 0; i < count; i++) {
		const struct report_figures *f = &parts[i].figures;

		fprintf(to, "<dt><a href=#f%zu>", i);
		html_put(to, f->label);
		fprintf(to, "</a><dd><p class=\"banner %s\">",
			f->is_unknown	 ? "live"
			: f->is_complete ? "good"
					 : "bad");
		html_put(to, f->line);
		fputs("</p><p>", to);
		html_put(to, f->reason);
		fputs("</p>\n", to);
	}
	fputs("</dl>\n", to);
}

void report_put_comparison(const struct report_part *parts, size_t count, FILE *to)
{

	fputs("<section id=comparison>\n<h1>Side by side</h1>\n", to);
	put_lines(parts, count, to);
	fputs("<p class=note>Figures only: whether sessions may be compared (alike in ranks, "
	      "coverage, "
	      "steps, losses) is for the reader to judge. Shares are of the steps; where a session "
	      "has "
	      "none, of its time.</p>\n"
	      "<div class=scroll tabindex=0 role=region aria-label=\"side by side\">",
		to);
	put_figures(parts, count, to);
	fprintf(to,
		"</div>\n<h3>Kernels: the %d longest of each, - where it is none of them</h3>\n"
		"<div class=scroll tabindex=0 role=region aria-label=\"kernels side by side\">",
		REPORT_TOP_KERNELS);
	put_kernels(parts, count, to);
	fputs("</div>\n</section>\n", to);
}
