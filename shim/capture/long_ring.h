/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Prepares for a queue whose ring is longer than HIP's: a program that creates one is about to fill
 * it, perhaps at once. While the runtime creates the ring, and until it is full, the shim thread
 * makes and populates what its dispatches will use: signals and slots, one per packet of the ring,
 * and the cells of their frames. It stops when another thread needs the processor. Dispatches that
 * come before do without, like those of any other queue.
 */
#include <stdbool.h>
#include <stdint.h>

struct capture;

/*
 * A queue of @packets is being created. Any thread, cold. Wakes the shim thread if the ring is long
 * and its dispatches will be recorded.
 */
void long_ring_expect(struct capture *capture, uint32_t packets);

/*
 * Called by the shim thread: prepares what is expected until another thread needs the processor, or
 * @is_wanted (may be NULL) says that this thread is needed.
 */
void long_ring_run(struct capture *capture, bool (*is_wanted)(void));
