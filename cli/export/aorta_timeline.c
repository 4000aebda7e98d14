// SPDX-License-Identifier: MIT
#include "cli/export/aorta_timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cli/output/html.h"

#define WIDTH  1000
#define HEIGHT 500
#define LEFT   70
#define RIGHT  20
#define TOP    50
#define BOTTOM 50
#define LINES  5 /* lines of the grid above the axis */

static int compare_points(const void *left, const void *right)
{
	const struct aorta_point *a = left, *b = right;

	return (a->step > b->step) - (a->step < b->step);
}

/* Maps steps and times to coordinates. */
struct scale {
	int64_t first_step, last_step;
	double most_ms;
};

static double x_of(const struct scale *scale, int64_t step)
{
	double steps = (double)scale->last_step - (double)scale->first_step;
	double part = steps > 0 ? ((double)step - (double)scale->first_step) / steps : 0.5;

	return LEFT + part * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct scale *scale, double ms)
{
	return HEIGHT - BOTTOM - ms / scale->most_ms * (HEIGHT - TOP - BOTTOM);
}

static void put_grid(FILE *to, const struct scale *scale)
{
	for (int i = 0; i <= LINES; i++) {
		double ms = scale->most_ms * i / LINES, y = y_of(scale, ms);

		fprintf(to,
			"<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n",
			LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, ms);
	}
	fprintf(to,
		"<text x=\"%d\" y=\"%d\">%" PRId64 "</text>\n"
		"<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%" PRId64 "</text>\n"
		"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">global step</text>\n"
		"<text x=\"6\" y=\"%d\">ms</text>\n",
		LEFT, HEIGHT - BOTTOM + 20, scale->first_step, WIDTH - RIGHT, HEIGHT - BOTTOM + 20,
		scale->last_step, WIDTH / 2, HEIGHT - 10, TOP - 8);
}

static void put_series(FILE *to, const struct scale *scale, const struct aorta_point *points,
	size_t count, bool is_overlap)
{
	const char *color = is_overlap ? "#1f77b4" : "#ff7f0e";
	int x = WIDTH - RIGHT - 330 + (is_overlap ? 0 : 190);

	fprintf(to, "<polyline fill=\"none\" stroke=\"%s\" points=\"", color);
	for (size_t i = 0; i < count; i++)
		fprintf(to, "%s%.1f,%.1f", i ? " " : "", x_of(scale, points[i].step),
			y_of(scale, is_overlap ? points[i].overlap_ms : points[i].compute_ms));
	fprintf(to, "\"/>\n<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", x, TOP - 8, color,
		is_overlap ? "compute-comm overlap" : "compute duration");
}

int aorta_put_timeline(
	FILE *to, const char *label, bool is_simulated, struct aorta_point *points, size_t count)
{
	struct scale scale = {.most_ms = 0};

	if (count)
		qsort(points, count, sizeof(*points), compare_points);
	scale.first_step = count ? points[0].step : 0;
	scale.last_step = count ? points[count - 1].step : 0;
	for (size_t i = 0; i < count; i++) {
		double most = points[i].overlap_ms > points[i].compute_ms ? points[i].overlap_ms
									  : points[i].compute_ms;

		scale.most_ms = most > scale.most_ms ? most : scale.most_ms;
	}
	if (!(scale.most_ms > 0))
		scale.most_ms = 1;
	fprintf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
		"font-family=\"sans-serif\" font-size=\"13\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"%d\" y=\"22\" "
		"font-size=\"16\">%sOverlap and compute by step: ",
		WIDTH, HEIGHT, LEFT, is_simulated ? "SIMULATED " : "");
	html_put(to, label);
	fputs("</text>\n", to);
	put_grid(to, &scale);
	put_series(to, &scale, points, count, true);
	put_series(to, &scale, points, count, false);
	fputs("</svg>\n", to);
	return ferror(to) ? -EIO : 0;
}
