/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A queue whose ring is longer than HIP's: who asks for one is about to fill it, at once perhaps.
 * What its dispatches will use is made and touched by the shim's thread while the runtime makes the
 * ring, and until it is filled, as long as nobody else wants the processor: signals and slots, as
 * many as the ring has packets, and the cells of their frames. What is not made by then dispatches
 * do without, as those of any other queue.
 */
#include <stdbool.h>
#include <stdint.h>

struct capture;

/* A queue of @packets is being made: any thread, cold. Wakes the shim's thread if that is many, and
 * they are to be recorded. */
void long_ring_expect(struct capture *capture, uint32_t packets);

/* The shim's thread: whatever is expected, until somebody wants the processor or this thread; @is_wanted
 * may be NULL. */
void long_ring_run(struct capture *capture, bool (*is_wanted)(void));
