// SPDX-License-Identifier: MIT
/* The data of the time line: lanes, bins of one byte per class, and the kernels of the windows. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "cli/output/html.h"
#include "cli/report/report.h"

/* Times in the page are ns after the first kernel. */
static int64_t origin(const struct report_file *f)
{
	return f->bins.from_ns;
}

static int64_t since(const struct report_file *f, int64_t time_ns)
{
	return (int64_t)((uint64_t)time_ns - (uint64_t)origin(f));
}

static void put_lanes(const struct report_file *f, FILE *to)
{
	const struct timeline *t = f->timeline;
	char name[REPORT_LANE_BYTES];

	fputs("\"lanes\":[", to);
	for (size_t i = 0; i < t->lane_count; i++) {
		report_name_lane(t->lanes + i, name);
		fprintf(to, "%s\"%s\"", i ? "," : "", name);
	}
	fputs("],\n", to);
}

/* A share above 0 is never shown as 0. */
static unsigned char quantize(float share)
{
	long value = lroundf(share * 255);

	return (unsigned char)(value > 255 ? 255 : value < 1 && share > 0 ? 1 : value);
}

static void put_bins(const struct report_file *f, FILE *to)
{
	const struct report_bins *bins = &f->bins;
	struct html_base64 base64 = {.to = to};

	fprintf(to, "\"bins\":{\"count\":%zu,\"ns\":%.17g,\"data\":\"", bins->count, bins->bin_ns);
	for (size_t i = 0; i < f->timeline->lane_count; i++) {
		const float *at = report_bins_of(bins, f->timeline->lanes + i);

		for (size_t n = 0; at && n < bins->count * REPORT_CLASSES; n++) {
			unsigned char byte = quantize(at[n]);

			html_base64_put(&base64, &byte, 1);
		}
	}
	html_base64_finish(&base64);
	fputs("\"},\n", to);
}

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

/* Writes start minus the previous start, length and name, lane by lane. */
static void put_events(const struct report_file *f, const struct report_window *window, FILE *to)
{
	size_t at = 0, lanes = window->is_place ? 0 : f->timeline->lane_count;

	fputs("\"lanes\":[", to);
	for (size_t lane = 0; lane < lanes; lane++) {
		struct html_base64 base64 = {.to = to};
		int64_t before = origin(f);

		fputs(lane ? ",\"" : "\"", to);
		for (; at < window->count && window->events[at].lane == lane; at++) {
			const struct report_event *event = window->events + at;

			html_base64_varint(&base64,
				zigzag((int64_t)((uint64_t)event->start_ns - (uint64_t)before)));
			html_base64_varint(&base64, (uint64_t)event->length_ns);
			html_base64_varint(&base64, event->name);
			before = event->start_ns;
		}
		html_base64_finish(&base64);
		fputc('"', to);
	}
	fputc(']', to);
}

static void put_windows(const struct report_file *f, FILE *to)
{
	const struct report_detail *d = &f->detail;

	fputs("\"windows\":[", to);
	for (size_t i = 0; i < d->window_count; i++) {
		const struct report_window *window = d->windows + i;
		bool is_all = window->is_all && !window->is_cut;

		fprintf(to, "%s{\"label\":", i ? ",\n" : "");
		html_put_json(to, window->label);
		fprintf(to, ",\"all\":%s,\"from\":%" PRId64 ",\"to\":%" PRId64 ",\"cut\":%s,",
			is_all ? "true" : "false",
			window->from_ns == INT64_MIN ? 0 : since(f, window->from_ns),
			since(f, window->to_ns == INT64_MAX ? f->bins.to_ns : window->to_ns),
			window->is_cut ? "true" : "false");
		put_events(f, window, to);
		fputc('}', to);
	}
	fputs("],\n", to);
}

static void put_names(const struct report_file *f, FILE *to)
{
	/* Matches report_class: the colours of the time line. */
	static const char *const classes[] = {
		[CATEGORY_COMMUNICATION] = "exposed",
		[CATEGORY_COPY] = "copy",
		[CATEGORY_COMPUTATION] = "compute",
	};

	fputs("\"names\":[", to);
	for (size_t i = 0; i < f->detail.name_count; i++) {
		const struct report_name *name = f->detail.names + i;

		fputs(i ? ",\n[" : "[", to);
		html_put_json(to, name->text ? name->text : "?");
		fputc(',', to);
		html_put_json(to, name->category);
		fprintf(to, ",\"%s\"]", classes[name->class]);
	}
	fputs("],\n", to);
}

/* ---- steps ----------------------------------------------------------------------------- */

/*
 * Steps as points of charts: for each lane the same number of steps per point, as many as the page
 * has room for. A point is a sequence of little-endian floats of 4 bytes.
 */

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

static void put_steps_data(const struct report_file *file, FILE *to)
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
}

/* ---- all data -------------------------------------------------------------------------- */

void report_put_data(const struct report_file *file, size_t at, FILE *to)
{

	if (!file->timeline->lane_count)
		return;
	fprintf(to, "<script type=\"application/json\" id=data-f%zu>\n{\"ns\":%" PRId64 ",\n", at,
		since(file, file->bins.to_ns));
	put_lanes(file, to);
	put_bins(file, to);
	put_windows(file, to);
	put_names(file, to);
	put_steps_data(file, to);
	fputs(",\n", to);
	report_put_heat_data(file, to);
	fputs("}\n</script>\n", to);
}
