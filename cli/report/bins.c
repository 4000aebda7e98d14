// SPDX-License-Identifier: MIT
#include "cli/report/bins.h"

#include <stdlib.h>

#include "cli/base/memory.h"
#include "cli/base/array.h"

static size_t choose_count(const struct report_bins *b, size_t lanes)
{
	size_t count = b->lane_max;

	while (count > REPORT_BINS_LANE_MIN && count * lanes > b->all_max)
		count /= 2;
	return count;
}

static int begin(void *taker, const struct timeline_lane *lanes, size_t count)
{
	struct report_bins *b = taker;

	free(b->at);
	free(b->process_id);
	free(b->gpu_id);
	b->lanes = count;
	b->count = choose_count(b, count ? count : 1);
	b->at = xcalloc(count * b->count * REPORT_CLASSES + 1, sizeof(*b->at));
	b->process_id = xcalloc(count + 1, sizeof(*b->process_id));
	b->gpu_id = xcalloc(count + 1, sizeof(*b->gpu_id));
	for (size_t i = 0; i < count; i++) {
		const struct steps_process *process = lanes[i].process;

		b->process_id[i] = lanes[i].process_id;
		b->gpu_id[i] = lanes[i].gpu_id;
		if (!i || process->first_ns < b->from_ns)
			b->from_ns = process->first_ns;
		if (!i || process->last_ns > b->to_ns)
			b->to_ns = process->last_ns;
	}
	b->bin_ns = ((double)b->to_ns - (double)b->from_ns) / (double)b->count;
	if (b->bin_ns <= 0)
		b->bin_ns = 1;
	return 0;
}

static enum report_class class_of(unsigned streams)
{
	const unsigned communication = 1u << BREAKDOWN_ALLREDUCE | 1u << BREAKDOWN_REDUCESCATTER |
				       1u << BREAKDOWN_COMMUNICATION;

	if (streams & 1u << BREAKDOWN_COMPUTE)
		return streams & communication ? REPORT_HIDDEN : REPORT_COMPUTE;
	return streams & communication ? REPORT_EXPOSED : REPORT_COPY;
}

/* Returns the position of a time in bins; a damaged file may contain any times. */
static double place(const struct report_bins *b, int64_t time_ns)
{
	double at = ((double)time_ns - (double)b->from_ns) / b->bin_ns;

	return at < 0 ? 0 : at > (double)b->count ? (double)b->count : at;
}

static int take(void *taker, size_t lane, const struct breakdown_segment *segment)
{
	struct report_bins *b = taker;
	float *at = b->at + lane * b->count * REPORT_CLASSES + class_of(segment->streams);
	double from = place(b, segment->start_ns), to = place(b, segment->end_ns);

	for (size_t i = (size_t)from; i < b->count && (double)i < to; i++) {
		double begins = from > (double)i ? from : (double)i;
		double ends = to < (double)(i + 1) ? to : (double)(i + 1);

		at[i * REPORT_CLASSES] += (float)(ends - begins);
	}
	return 0;
}

void report_bins_init(struct report_bins *bins, size_t lane_max, size_t all_max)
{
	*bins = (struct report_bins){
		.lane_max = lane_max, .all_max = all_max, .taker = {begin, take, bins}};
}

void report_bins_done(struct report_bins *bins)
{
	free(bins->at);
	free(bins->process_id);
	free(bins->gpu_id);
	bins->at = NULL;
	bins->process_id = bins->gpu_id = NULL;
}

const float *report_bins_of(const struct report_bins *bins, const struct timeline_lane *lane)
{
	size_t at = PARTITION_POINT(bins->lanes, i,
		bins->process_id[i] < lane->process_id ||
			(bins->process_id[i] == lane->process_id &&
				bins->gpu_id[i] < lane->gpu_id));

	if (at == bins->lanes || bins->process_id[at] != lane->process_id ||
		bins->gpu_id[at] != lane->gpu_id)
		return NULL;
	return bins->at + at * bins->count * REPORT_CLASSES;
}
