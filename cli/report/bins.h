/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The finest level of a page's time line: how much of each of so many equal stretches of time a
 * lane computes, communicates and copies. Filled while a timeline reads (timeline_taker); coarser
 * levels are sums, which the page makes itself. Memory is that of the bins. One thread.
 */
#include "cli/timeline/timeline.h"

/* Of all lanes of all files: 4 bytes each in the page. */
#define REPORT_BINS_MAX	     ((size_t)1 << 19)
#define REPORT_BINS_LANE_MAX ((size_t)1 << 16)
#define REPORT_BINS_LANE_MIN ((size_t)1 << 8)
/* Where the page has every kernel as well: for the view of the whole. */
#define REPORT_BINS_LANE_FEW ((size_t)1 << 12)

enum report_class {
	REPORT_COMPUTE, /* and no communication */
	REPORT_HIDDEN,	/* computation and communication */
	REPORT_EXPOSED, /* communication and no computation */
	REPORT_COPY,	/* and neither */
	REPORT_CLASSES,
};

struct report_bins {
	size_t lane_max, all_max; /* set by the caller: bins of a lane, of all lanes */
	struct timeline_taker taker;
	size_t lanes, count; /* count: of a lane */
	int64_t from_ns, to_ns;
	double bin_ns;
	float *at;		      /* share of the bin, by lane, bin, class */
	int64_t *process_id, *gpu_id; /* of each lane */
};

void report_bins_init(struct report_bins *bins, size_t lane_max, size_t all_max);
void report_bins_done(struct report_bins *bins);
/* The bins of a lane; NULL: it has none. */
const float *report_bins_of(const struct report_bins *bins, const struct timeline_lane *lane);
