/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Where events are drawn that may overlap: readers of Chrome JSON show the events of one tid as a
 * stack, so that they must nest. A track is a queue, a thread, the copies of a GPU; it has lanes,
 * and an event goes to the first of them where it crosses nothing. Memory: what is open in each
 * lane. Pure; one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/trace/id_map.h"

/* As many as a tid has room for: number * 64 + lane + 1. */
#define TRACK_LANES 64
/* Ranges inside ranges; a deeper one goes to the next lane. */
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
 * The lane of an event of the track @key, from 0; @may_nest: also inside of another event. In the
 * order of their starts they need the fewest lanes; in any other order they still nest.
 * *@ret_is_new: the first event of this lane. -EXFULL: it crosses something in each lane; -ENOMEM.
 */
int tracks_place(struct tracks *tracks, int64_t key, bool may_nest, int64_t start_ns,
	int64_t end_ns, bool *ret_is_new);
