/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Readings of each GPU's counter and the clocks together, by which the collector makes times of
 * ticks. OnLoad, then the shim's thread only, unless said.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/hsa/agents.h"
#include "shim/capture/capture.h"
#include "shim/hsa/clock.h"

/* The first three are filled in by the caller. */
struct anchors {
	struct capture *capture;
	struct agents *agents; /* tick_hz is filled in where the runtime does not say */
	struct clock_source *clocks;
	uint64_t last_ns;
	uint64_t published; /* frames, as of then */
};

/* Of the GPUs that have a queue: others have no ticks to convert. */
void anchors_take(struct anchors *anchors, uint64_t now_ns);

/* Frames have been published since the last ones. */
bool anchors_are_due(const struct anchors *anchors);

/* The first anchor of each GPU, before there is a thread that may get no processor, and the rates that
 * the runtime knows. */
void anchors_first(struct anchors *anchors);
/* False: the rest are to be found by anchors_rate(), a while later. */
bool anchors_have_rates(const struct anchors *anchors);
/* By what has passed since the first anchors. Hello has gone without these rates, so they travel with
 * the anchors. */
void anchors_rate(struct anchors *anchors);
/* By who has taken the runtime from that thread for good (harvest_detach()), which may never have
 * had a processor: without the rates no dispatch would have its time. */
void anchors_rate_alone(struct anchors *anchors);
