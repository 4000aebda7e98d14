/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The finest level of a page's time line: the share of each of many equal intervals in which a lane
 * computes, communicates and copies. It is filled while a timeline is read (timeline_taker).
 * Coarser levels are sums, which the page computes itself. Memory is that of the bins. One thread.
 */
#include "cli/timeline/timeline.h"

/* Limits for all lanes of all files: 4 bytes per bin in the page. */
#define REPORT_BINS_MAX	     ((size_t)1 << 19)
#define REPORT_BINS_LANE_MAX ((size_t)1 << 16)
#define REPORT_BINS_LANE_MIN ((size_t)1 << 8)
/* Used if the page also contains every kernel: for the overview. */
#define REPORT_BINS_LANE_FEW ((size_t)1 << 12)

enum report_class {
	REPORT_COMPUTE, /* computation without communication */
	REPORT_HIDDEN,	/* computation and communication */
	REPORT_EXPOSED, /* communication without computation */
	REPORT_COPY,	/* a copy without either */
	REPORT_CLASSES,
};

struct report_bins {
	size_t lane_max, all_max; /* set by the caller: number of bins of a lane, of all lanes */
	struct timeline_taker taker;
	size_t lanes, count; /* count: bins per lane */
	int64_t from_ns, to_ns;
	double bin_ns;
	float *at;		      /* share of the bin, by lane, bin, class */
	int64_t *process_id, *gpu_id; /* of each lane */
};

void report_bins_init(struct report_bins *bins, size_t lane_max, size_t all_max);
void report_bins_done(struct report_bins *bins);
/* Returns the bins of a lane; NULL if it has none. */
const float *report_bins_of(const struct report_bins *bins, const struct timeline_lane *lane);
