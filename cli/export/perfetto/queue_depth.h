/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Counts the dispatches in a queue: one more when a dispatch is submitted, one less when it starts.
 * Dispatches come nearly in the order of their submission; one that comes more than
 * QUEUE_DEPTH_WINDOW places late is counted from the last reported time on. The memory is that
 * window, and the dispatches that are submitted and have not started. Pure computation on one
 * thread.
 */
#include <stddef.h>
#include <stdint.h>

#define QUEUE_DEPTH_WINDOW 256
/* No queue of AMD's is longer, but a damaged file may claim so. 512 KiB. */
#define QUEUE_DEPTH_MAX	   ((size_t)1 << 16)

struct queue_depth_entry {
	int64_t submit_ns, start_ns;
};

/* Zeroed: empty. */
struct queue_depth {
	struct queue_depth_entry window[QUEUE_DEPTH_WINDOW]; /* a heap by submit_ns */
	size_t window_count;
	int64_t *starts; /* a heap of the starts of what was submitted */
	size_t start_count;
	int64_t now_ns, depth;
};

/* Gets the depth from @time_ns on, once per time, in order. Returns 0 or -errno. */
typedef int (*queue_depth_take)(void *taker, int64_t time_ns, int64_t depth);

/* Returns 0, -ENOMEM, or what @take returned. */
int queue_depth_add(struct queue_depth *queue, int64_t submit_ns, int64_t start_ns,
	queue_depth_take take, void *taker);
int queue_depth_finish(struct queue_depth *queue, queue_depth_take take, void *taker);
void queue_depth_done(struct queue_depth *queue);
