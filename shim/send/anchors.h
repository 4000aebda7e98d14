/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Pairs each GPU's counter with the host clocks, so that the collector can convert ticks to times.
 * Used in OnLoad, then by the shim thread only, unless said otherwise.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/hsa/agents.h"
#include "shim/capture/capture.h"
#include "shim/hsa/clock.h"

/* The caller sets the first three. */
struct anchors {
	struct capture *capture;
	struct agents *agents; /* anchors_rate() sets tick_hz if the runtime does not report it */
	struct clock_source *clocks;
	uint64_t last_ns;
	uint64_t published; /* frames published at that time */
};

/* Reads the GPUs that have a queue; others have no ticks to convert. */
void anchors_take(struct anchors *anchors, uint64_t now_ns);

/* Whether frames have been published since the last anchors. */
bool anchors_are_due(const struct anchors *anchors);

/*
 * Takes the first anchor of each GPU, in OnLoad, because the shim thread may not get a processor in
 * time. Also stores the rates that the runtime reports.
 */
void anchors_first(struct anchors *anchors);
/* False if anchors_rate() has to determine rates a while later. */
bool anchors_have_rates(const struct anchors *anchors);
/*
 * Determines rates from the time since the first anchors. Hello was sent without them, so they are
 * sent with the anchors.
 */
void anchors_rate(struct anchors *anchors);
/*
 * The same for the thread that has taken the runtime from the shim thread for good
 * (harvest_detach()). The shim thread may never have run, and without rates no dispatch would have
 * a time.
 */
void anchors_rate_alone(struct anchors *anchors);
