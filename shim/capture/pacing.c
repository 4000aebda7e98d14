/* SPDX-License-Identifier: MIT */
#include "shim/capture/pacing.h"

#include "shim/capture/capture_internal.h"

/* A pass after a longer pause says nothing about the rate. */
#define ELAPSED_NS_MAX HARVEST_IDLE_NS

static void pause_set(struct pace *pace, uint64_t ns)
{
	atomic_store_explicit(&pace->pause_ns, ns, memory_order_relaxed);
}

void pace_begin_pass(struct pace *pace, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns > pace->pass_ns ? now_ns - pace->pass_ns : 0;
	bool is_hurried = now_ns < pace->hurry_ns && pace->hurry_ns - now_ns <= PACE_HURRY_NS;

	pace->elapsed_ns = elapsed_ns < ELAPSED_NS_MAX ? elapsed_ns : ELAPSED_NS_MAX;
	pace->pass_ns = now_ns;
	pause_set(pace, is_hurried ? HARVEST_NS_LEAST : HARVEST_NS);
}

void pace_use(struct pace *pace, uint64_t used, uint64_t room)
{
	/*
	 * Room and used fit in 32 bits, since they count entries in memory, so the product fits in
	 * 64.
	 */
	uint64_t pause_ns = used ? pace->elapsed_ns * (room / 2) / used : HARVEST_NS;

	if (pause_ns < HARVEST_NS_LEAST)
		pause_ns = HARVEST_NS_LEAST;
	if (pause_ns < pace_pause_ns(pace))
		pause_set(pace, pause_ns);
}

void pace_queues(struct capture *c)
{
	uint32_t used = recorder_queues_used(&c->recorder);

	for (uint32_t i = 0; i < used; i++) {
		struct capture_queue *q = &c->queues[i];
		uint64_t taken = atomic_load_explicit(&q->taken, memory_order_relaxed);
		uint32_t owned = queue_owned(q), busy = q->in_flight.count + q->done.count;

		if (queue_is_live(q) && taken != q->taken_paced)
			pace_use(&c->pace, taken - q->taken_paced, owned > busy ? owned - busy : 0);
		q->taken_paced = taken;
	}
}

void pace_soon(struct pace *pace)
{
	pause_set(pace, HARVEST_NS_LEAST);
}

void pace_hurry(struct pace *pace)
{
	pace_soon(pace);
	pace->hurry_ns = pace->pass_ns + PACE_HURRY_NS;
}
