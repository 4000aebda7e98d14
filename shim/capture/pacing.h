/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * When the shim's thread looks next, while there is work. Nobody waits for its looks, and each
 * takes a processor from somebody: so there is one when half of something bounded (a queue's slots,
 * a ring) will have been used, as fast as it went since the look before, but none in less than
 * HARVEST_NS_LEAST, and one after HARVEST_NS. The shim's thread only.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/base/limits.h"

struct capture;

/* Who needed a look soon is expected to again. */
#define PACE_HURRY_NS 100000000u

struct pace {
	uint64_t look_ns;	   /* the one that goes on, or the last */
	uint64_t elapsed_ns;	   /* to that from the one before */
	_Atomic uint64_t pause_ns; /* from that to the next; whoever looks then reads it */
	uint64_t hurry_ns;	   /* until then there is one in each HARVEST_NS_LEAST */
};

static inline uint64_t pace_pause_ns(const struct pace *pace)
{
	return atomic_load_explicit(&pace->pause_ns, memory_order_relaxed);
}

/* Somebody waits for the next one, and be it that nothing is recorded. */
static inline bool pace_is_pressed(const struct pace *pace)
{
	return pace_pause_ns(pace) < HARVEST_NS;
}

/* A look begins. */
void pace_look(struct pace *pace, uint64_t now_ns);

/* @used of something since the look before, and @room is left of it. */
void pace_use(struct pace *pace, uint64_t used, uint64_t room);

/* The slots of all queues. Holder of the harvest lock, after a harvest. */
void pace_queues(struct capture *capture);

/* The next look comes soon; so do those after it, for PACE_HURRY_NS. */
void pace_soon(struct pace *pace);
void pace_hurry(struct pace *pace);
