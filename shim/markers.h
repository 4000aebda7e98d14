/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * roctx: our definitions of its functions, for LD_PRELOAD, chained to the real ones where they
 * exist. Called by any application thread, with or without a runtime; they never wait. Records
 * go through a bounded ring to the shim thread; a full ring drops the record and counts it.
 *
 * markers_current() is on the dispatch path.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MARKER_DEPTH_MAX 32u /* nested ranges of one thread that are told apart */

struct marker_stack {
	uint64_t current; /* innermost recorded range; 0: none */
	uint32_t depth;
	uint32_t tid;
	uint64_t open[MARKER_DEPTH_MAX]; /* 0: not recorded */
};

/* Only read once a range was ever opened: the first touch of a thread may allocate. */
extern __thread struct marker_stack marker_stack;
extern atomic_bool markers_used;

static inline uint64_t markers_current(void)
{
	if (!atomic_load_explicit(&markers_used, memory_order_relaxed))
		return 0;
	return marker_stack.current;
}

struct capture;
struct strings;

/* Before the shim thread starts: what an earlier instance could not send is dropped. */
void markers_begin(void);

/* Shim thread: what has come since, as numbered frames. */
void markers_drain(struct capture *capture, struct strings *strings);

/* Shim thread, at its end: what could not be sent is counted as dropped. */
void markers_finish(struct capture *capture);

/* fork's child: nothing of the parent's is sent by it. */
void markers_forget(void);
