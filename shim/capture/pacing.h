/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Chooses when the shim thread runs its next pass while there is work. No thread waits for a pass,
 * and each takes processor time from the program. So the next pass comes when, at the rate since
 * the previous one, half of a bounded resource (a queue's slots, a ring) will have been used; at
 * the earliest after HARVEST_NS_LEAST, at the latest after HARVEST_NS. Shim thread only.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/base/limits.h"

struct capture;

/* After a pass had to come soon, passes stay frequent for this long. */
#define PACE_HURRY_NS 100000000u

struct pace {
	uint64_t pass_ns;	   /* start of the current or last pass */
	uint64_t elapsed_ns;	   /* from the start of the pass before to that */
	_Atomic uint64_t pause_ns; /* from that to the next pass; read by other threads too */
	uint64_t hurry_ns;	   /* until then passes come every HARVEST_NS_LEAST */
};

static inline uint64_t pace_pause_ns(const struct pace *pace)
{
	return atomic_load_explicit(&pace->pause_ns, memory_order_relaxed);
}

/* Whether the next pass is needed soon, even if nothing is recorded. */
static inline bool pace_is_pressed(const struct pace *pace)
{
	return pace_pause_ns(pace) < HARVEST_NS;
}

/* Called when a pass begins. */
void pace_begin_pass(struct pace *pace, uint64_t now_ns);

/* Notes that @used of a resource went since the previous pass, and that @room is left. */
void pace_use(struct pace *pace, uint64_t used, uint64_t room);

/*
 * Does so for the slots of all queues. Called by the holder of the harvest lock, after a harvest.
 */
void pace_queues(struct capture *capture);

/* Makes the next pass come soon; with pace_hurry() also those after it, for PACE_HURRY_NS. */
void pace_soon(struct pace *pace);
void pace_hurry(struct pace *pace);
