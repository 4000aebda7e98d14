/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Places events that may overlap: readers of Chrome JSON draw the events of one tid as a stack, so
 * they must nest. A track is a queue, a thread, or the copies of a GPU. It has lanes, and an event
 * goes to the first lane in which it crosses no other. The memory is what is open in each lane.
 * Pure computation on one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/id_map.h"

/* As many lanes as a tid has room for: number * 64 + lane + 1. */
#define TRACK_LANES 64
/* Depth of ranges within ranges; a deeper one goes to the next lane. */
#define TRACK_DEPTH 32

struct track;

/* Zeroed: empty. */
struct tracks {
	struct idmap index;
	struct track *items;
	size_t count;
};

void tracks_done(struct tracks *tracks);
/*
 * Returns the lane, from 0, of an event of the track @key. @may_nest: it may also lie inside
 * another event. Events in the order of their starts need the fewest lanes; in any other order they
 * still nest. *@ret_is_new is set for the first event of a lane. Returns -EXFULL if it crosses an
 * event in each lane, or -ENOMEM.
 */
int tracks_place(struct tracks *tracks, int64_t key, bool may_nest, int64_t start_ns,
	int64_t end_ns, bool *ret_is_new);
