// SPDX-License-Identifier: MIT
/*
 * Steps as points of charts: for each lane the same number of steps per point, as many as the page
 * has room for. A point is a sequence of little-endian floats of 4 bytes.
 */
#include <inttypes.h>
#include <stdbool.h>

#include "cli/output/html.h"
#include "cli/report/report.h"

static const char fields[] = "[\"steps\",\"number\",\"start\",\"wall\",\"compute\",\"hidden\","
			     "\"exposed\",\"copy\",\"idle\",\"communication\"]";

static float ms(uint64_t ns)
{
	return (float)((double)ns / 1e6);
}

/* Returns the number of steps per point. */
static size_t choose_group(const struct report_file *f)
{
	const struct timeline *t = f->timeline;
	size_t most = 0, room = REPORT_POINTS_MAX / f->share / (t->lane_count ? t->lane_count : 1);

	for (size_t i = 0; i < t->lane_count; i++)
		if (t->lanes[i].process->count > most)
			most = t->lanes[i].process->count;
	if (!room)
		room = 1;
	return most ? (most + room - 1) / room : 1;
}

static void put_point(struct html_base64 *base64, const struct report_file *f,
	const struct timeline_lane *lane, size_t from, size_t to)
{
	struct breakdown_row sum = {0};
	int64_t start_ns = lane->rows[from].start_ns;

	for (size_t i = from; i < to; i++)
		breakdown_sum(&sum, lane->rows + i);
	{
		const float point[] = {
			(float)(to - from),
			(float)lane->process->at[from].number,
			(float)(((double)start_ns - (double)f->bins.from_ns) / 1e6),
			ms(sum.wall_ns),
			ms(sum.stream_ns[BREAKDOWN_COMPUTE] - sum.with_communication_ns),
			ms(sum.with_communication_ns),
			ms(sum.exposed_communication_ns),
			ms(sum.exposed_copy_ns),
			ms(breakdown_idle_ns(&sum)),
			ms(sum.communication_ns),
		};

		html_base64_put(base64, point, sizeof(point));
	}
}

int report_put_steps_data(const struct report_file *file, FILE *to)
{
	const struct timeline *t = file->timeline;
	size_t group = choose_group(file);

	fprintf(to, "\"steps\":{\"fields\":%s,\"group\":%zu,\"lanes\":[", fields, group);
	for (size_t i = 0; i < t->lane_count && t->steps->source != STEPS_WHOLE; i++) {
		const struct timeline_lane *lane = t->lanes + i;
		struct html_base64 base64 = {.to = to};

		fputs(i ? ",\n\"" : "\"", to);
		for (size_t n = 0; n < lane->process->count; n += group)
			put_point(&base64, file, lane, n,
				n + group < lane->process->count ? n + group
								 : lane->process->count);
		html_base64_finish(&base64);
		fputc('"', to);
	}
	fputs("]}", to);
	return 0;
}
