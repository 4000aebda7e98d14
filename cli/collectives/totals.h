/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What is said of collectives: sums by operation, datatype and size, and the reading, one sentence
 * with its numbers. From struct collectives alone; prints nothing. One thread.
 */
#include "cli/collectives/straggler.h"

/* One cause explains it with so many percent of the lateness; else several do. */
#define COLLECTIVES_CAUSE_PCT		 50

struct collectives_group {
	const char *op;
	uint8_t datatype;
	int bucket; /* bytes are in [2^bucket, 2^(bucket + 1)); -1: unknown or none */
	uint32_t ranks;
	uint64_t count, timed, uneven;	     /* uneven: of those whose amounts may differ */
	double bytes, bus_bytes, mean_bytes; /* of the timed; mean: of all */
	int64_t latency_ns, latency_p50_ns, latency_p95_ns, latency_min_ns, latency_max_ns;
	int64_t comm_latency_ns, skew_start_ns, skew_start_max_ns, skew_end_ns;
	double imbalance, imbalance_max;
};

struct collectives_report {
	struct collectives_group *groups;
	size_t group_count;
	uint32_t *ranks; /* lanes that took part, the worst first */
	size_t rank_count;
	uint32_t *latest; /* operations with somebody late, the latest first */
	size_t latest_count;
	uint64_t timed, ranked;
	int64_t skew_ns;    /* of the ranked, in sum */
	uint32_t straggler; /* lane; or COLLECTIVES_NONE */
	char reading[512];
};

/* -ENOMEM. Borrows @collectives. @found: of the same; NULL: nothing is read out of the figures. */
int collectives_report_new(const struct collectives *collectives, const struct stragglers *found,
	struct collectives_report **ret);
void collectives_report_free_p(struct collectives_report **report);

/* From when everybody had come until everybody had left. */
int64_t collectives_latency(const struct collectives_operation *operation);
/* "compute", "copy", "earlier", "host", "idle", "unknown"; "several": none is enough. */
const char *collectives_cause_name(int cause);
/* The greatest of them, COLLECTIVES_CAUSES where none reaches COLLECTIVES_CAUSE_PCT of @late_ns. */
int collectives_main_cause(const int64_t cause_ns[COLLECTIVES_CAUSES], int64_t late_ns);
