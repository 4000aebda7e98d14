/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Summarises collectives: sums by operation, datatype and size, and one sentence with its numbers.
 * It uses struct collectives alone and prints nothing. Everything runs on one thread.
 */
#include "cli/collectives/straggler.h"

/* A cause explains the lateness if it makes up so many percent; otherwise there are several
 * causes. */
#define COLLECTIVES_CAUSE_PCT 50

struct collectives_group {
	const char *op;
	uint8_t datatype;
	int bucket; /* bytes lie in [2^bucket, 2^(bucket + 1)); -1: unknown or none */
	uint32_t ranks;
	/* uneven: those whose amounts may differ between ranks */
	uint64_t count, timed, uneven;
	/* bytes and bus_bytes: sums over the timed ones; mean_bytes: over all */
	double bytes, bus_bytes, mean_bytes;
	int64_t latency_ns, latency_p50_ns, latency_p95_ns, latency_min_ns, latency_max_ns;
	int64_t comm_latency_ns, skew_start_ns, skew_start_max_ns, skew_end_ns;
	double imbalance, imbalance_max;
};

struct collectives_report {
	struct collectives_group *groups;
	size_t group_count;
	uint32_t *ranks; /* lanes that took part, the most often last one first */
	size_t rank_count;
	uint32_t *latest; /* operations with a late rank, the latest first */
	size_t latest_count;
	uint64_t timed, ranked;
	int64_t skew_ns;    /* sum over the ranked operations */
	uint32_t straggler; /* lane; or COLLECTIVES_NONE */
	char reading[512];
};

/*
 * Borrows @collectives. @found comes from the same collectives; without it (NULL) there is no
 * sentence.
 */
void collectives_report_new(const struct collectives *collectives, const struct stragglers *found,
	struct collectives_report **ret);
void collectives_report_free_p(struct collectives_report **report);

/* Returns the time from the last arrival to the last end. */
int64_t collectives_latency(const struct collectives_operation *operation);
/* Returns "compute", "copy", "earlier", "host", "idle", "unknown", or "several" if no cause is
 * large enough. */
const char *collectives_cause_name(int cause);
/* Returns the largest cause, or COLLECTIVES_CAUSES if none reaches COLLECTIVES_CAUSE_PCT of
 * @late_ns. */
int collectives_main_cause(const int64_t cause_ns[COLLECTIVES_CAUSES], int64_t late_ns);
