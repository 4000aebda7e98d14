// SPDX-License-Identifier: MIT
/*
 * The heat map: how long after the first lane each lane came to each collective or, if there are
 * more than the page has room for, to the collectives of a column: mean and maximum.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/output/html.h"
#include "cli/report/report.h"
#include "proto/base/cleanup.h"

struct heat {
	const struct collectives *c;
	uint32_t *row_of;	   /* indexed by lane of the collectives */
	size_t cells;		   /* limit of cells */
	size_t rows, columns, per; /* per: collectives per column */
	uint64_t ranked;
	float *mean, *most; /* ms, by row and column; -1 if it was not there */
	uint32_t *count;
	float *at; /* ms after the begin of the time line, of each column */
};

static void heat_done(struct heat *heat)
{
	free(heat->row_of);
	free(heat->mean);
	free(heat->most);
	free(heat->count);
	free(heat->at);
}

static void make_room(struct heat *h)
{
	const struct collectives *c = h->c;
	size_t columns;

	h->row_of = xcalloc(c->lane_count + 1, sizeof(*h->row_of));
	for (size_t i = 0; i < c->lane_count; i++)
		h->row_of[i] = c->lanes[i].count ? (uint32_t)h->rows++ : COLLECTIVES_NONE;
	columns = h->cells / (h->rows ? h->rows : 1);
	if (columns > REPORT_COLUMNS_MAX)
		columns = REPORT_COLUMNS_MAX;
	if (!columns)
		columns = 1;
	h->per = h->ranked ? (size_t)((h->ranked + columns - 1) / columns) : 1;
	h->columns = (size_t)((h->ranked + h->per - 1) / h->per);
	h->mean = xcalloc(h->rows * h->columns + 1, sizeof(*h->mean));
	h->most = xcalloc(h->rows * h->columns + 1, sizeof(*h->most));
	h->count = xcalloc(h->rows * h->columns + 1, sizeof(*h->count));
	h->at = xcalloc(h->columns + 1, sizeof(*h->at));
}

static void add_operation(struct heat *h, const struct collectives_operation *o, size_t column)
{
	for (uint32_t i = 0; i < o->launches; i++) {
		const struct collectives_launch *launch =
			h->c->launches + h->c->by_operation[o->first + i];
		uint32_t row = h->row_of[launch->lane];
		size_t cell = row * h->columns + column;
		float late;

		if (row == COLLECTIVES_NONE)
			continue;
		late = (float)(((double)launch->start - (double)o->start_first) / 1e6);
		h->mean[cell] += late;
		h->count[cell]++;
		if (late > h->most[cell])
			h->most[cell] = late;
	}
}

static void fill(struct heat *h, int64_t origin_ns)
{
	size_t seen = 0;

	for (size_t i = 0; i < h->c->operation_count; i++) {
		const struct collectives_operation *o = h->c->operations + i;

		if (!o->is_ranked)
			continue;
		if (seen % h->per == 0)
			h->at[seen / h->per] =
				(float)(((double)o->start_first - (double)origin_ns) / 1e6);
		add_operation(h, o, seen++ / h->per);
	}
	for (size_t i = 0; i < h->rows * h->columns; i++) {
		h->mean[i] = h->count[i] ? h->mean[i] / (float)h->count[i] : -1;
		h->most[i] = h->count[i] ? h->most[i] : -1;
	}
}

static void put_floats(const char *name, const float *at, size_t count, FILE *to)
{
	struct html_base64 base64 = {.to = to};

	fprintf(to, ",\"%s\":\"", name);
	html_base64_put(&base64, at, count * sizeof(*at));
	html_base64_finish(&base64);
	fputc('"', to);
}

static uint64_t count_ranked(const struct collectives *c)
{
	uint64_t count = 0;

	for (size_t i = 0; i < c->operation_count; i++)
		count += c->operations[i].is_ranked;
	return count;
}

void report_put_heat_data(const struct report_file *file, FILE *to)
{
	CLEANUP(heat_done)
	struct heat h = {.c = file->collectives,
		.cells = REPORT_CELLS_MAX / file->share,
		.ranked = count_ranked(file->collectives)};
	const char *comma = "";
	char name[48];

	make_room(&h);
	fill(&h, file->bins.from_ns);
	fprintf(to, "\"heat\":{\"columns\":%zu,\"per\":%zu,\"collectives\":%" PRIu64 ",\"rows\":[",
		h.columns, h.per, h.ranked);
	for (uint32_t i = 0; i < h.c->lane_count; i++) {
		if (h.row_of[i] == COLLECTIVES_NONE)
			continue;
		collectives_name_lane(h.c, i, name, sizeof(name));
		fprintf(to, "%s\"%s\"", comma, name);
		comma = ",";
	}
	fputc(']', to);
	put_floats("at", h.at, h.columns, to);
	put_floats("mean", h.mean, h.rows * h.columns, to);
	put_floats("most", h.most, h.rows * h.columns, to);
	fputc('}', to);
}
