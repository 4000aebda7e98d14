/* SPDX-License-Identifier: MIT */
#include "shim/send/anchors.h"

#include <errno.h>
#include <string.h>

#include "shim/capture/harvest.h"

/*
 * Reading the clock may call the runtime, which may be gone once OnUnload has given up on this
 * thread.
 */
static int clock_read(struct anchors *anchors, uint32_t gpu, struct recorder_anchor *ret)
{
	int r;

	if (!harvest_runtime_hold(anchors->capture))
		return -ESHUTDOWN;
	r = clock_source_read(anchors->clocks, gpu, ret);
	harvest_runtime_release(anchors->capture);
	return r;
}

/* Returns false if the clock could not be read, which is counted. */
static bool anchor_take(struct anchors *anchors, uint32_t gpu, struct recorder_anchor *ret)
{
	struct recorder *recorder = capture_recorder(anchors->capture);

	if (clock_read(anchors, gpu, ret)) {
		recorder_count(recorder, RTL_P_anchor_failures, 1);
		return false;
	}
	recorder_anchor_add(recorder, gpu, ret);
	return true;
}

void anchors_take(struct anchors *anchors, uint64_t now_ns)
{
	struct recorder *recorder = capture_recorder(anchors->capture);
	uint32_t queues = recorder_queues_used(recorder);
	struct recorder_anchor anchor;
	uint64_t gpus = 0;

	for (uint32_t i = 0; i < queues; i++)
		gpus |= 1ull << (recorder->queues[i].gpu % RECORDER_GPUS);
	for (uint32_t gpu = 0; gpu < anchors->agents->count; gpu++)
		if (gpus >> gpu & 1)
			(void)anchor_take(anchors, gpu, &anchor);
	anchors->last_ns = now_ns;
	anchors->published = recorder_published(recorder);
}

bool anchors_are_due(const struct anchors *anchors)
{
	return recorder_published(capture_recorder(anchors->capture)) != anchors->published;
}

void anchors_first(struct anchors *anchors)
{
	struct recorder *recorder = capture_recorder(anchors->capture);
	struct recorder_anchor anchor;

	for (uint32_t i = 0; i < anchors->agents->count; i++) {
		(void)anchor_take(anchors, i, &anchor);
		recorder_anchor_set_rate(recorder, i, anchors->agents->gpu[i].tick_hz);
	}
}

bool anchors_have_rates(const struct anchors *anchors)
{
	for (uint32_t i = 0; i < anchors->agents->count; i++)
		if (!anchors->agents->gpu[i].tick_hz)
			return false;
	return true;
}

void anchors_rate_alone(struct anchors *anchors)
{
	struct recorder *recorder = capture_recorder(anchors->capture);
	struct agents *agents = anchors->agents;
	struct recorder_anchor last;

	for (uint32_t i = 0; i < agents->count; i++) {
		const struct recorder_anchor *first = &recorder->anchors[i].entry[0];

		if (agents->gpu[i].tick_hz || !first->tick ||
			clock_source_read(anchors->clocks, i, &last))
			continue;
		agents->gpu[i].tick_hz = clock_source_estimate_hz(first, &last);
		recorder_anchor_set_rate(recorder, i, agents->gpu[i].tick_hz);
	}
}

void anchors_rate(struct anchors *anchors)
{
	if (!harvest_runtime_hold(anchors->capture))
		return;
	anchors_rate_alone(anchors);
	harvest_runtime_release(anchors->capture);
}
