/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How many dispatches lie in a queue: one more when one is submitted, one less when one starts.
 * Dispatches come nearly in the order of their submission; one that comes QUEUE_DEPTH_WINDOW places
 * late is counted from the last time that was told. Memory: that window, and what has been
 * submitted and not started. Pure; one thread.
 */
#include <stddef.h>
#include <stdint.h>

#define QUEUE_DEPTH_WINDOW 256
/* No queue of AMD's is longer; a damaged file may say so. 512 KiB. */
#define QUEUE_DEPTH_MAX	   ((size_t)1 << 16)

struct queue_depth_entry {
	int64_t submit_ns, start_ns;
};

/* Zeroed: nothing in it. */
struct queue_depth {
	struct queue_depth_entry window[QUEUE_DEPTH_WINDOW]; /* heap by submit_ns */
	size_t window_count;
	int64_t *starts; /* heap, of what was submitted */
	size_t start_count;
	int64_t now_ns, depth;
};

/* Told the depth from @time_ns on; at each time once, in order. 0 or -errno. */
typedef int (*queue_depth_take)(void *taker, int64_t time_ns, int64_t depth);

/* 0; -ENOMEM; what @take returned. */
int queue_depth_add(struct queue_depth *queue, int64_t submit_ns, int64_t start_ns,
	queue_depth_take take, void *taker);
int queue_depth_finish(struct queue_depth *queue, queue_depth_take take, void *taker);
void queue_depth_done(struct queue_depth *queue);
