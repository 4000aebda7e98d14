/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The intercept front end: ROCr's own intercept queue, a proxy ring whose packets come to a
 * callback before they go to the device. For queues that cannot be shadowed, and for runtimes
 * where it is the safer of the two (runtime.h). docs/front-ends.md has the rules by number.
 */
#include "shim/capture/front_end.h"

struct intercept_queue;
struct origins;

extern const struct front_end intercept_front_end;

/* Where reservations on the proxy @queue are noted; NULL: not one of ours. Lock-free. */
struct origins *intercept_origins(struct capture *capture, const hsa_queue_t *queue);

/* What capture keeps for it, one a queue block; NULL: no memory. */
struct intercept_queue *intercept_queues_new(void);
void intercept_queues_free(struct intercept_queue *queues);

/* For tests: as if the copy buffer of block @block had room for so many packets only. */
void intercept_limit_copy(struct capture *capture, uint32_t block, uint32_t packets);
