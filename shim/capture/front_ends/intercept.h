/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The intercept front end: ROCr's own intercept queue, a proxy ring whose packets reach a callback
 * before they reach the device. For queues that cannot be shadowed, and for runtimes where it is
 * the safer choice (runtime.h). docs/capture.md has the rules by number.
 */
#include "shim/capture/front_ends/front_end.h"

struct intercept_queue;
struct origins;

extern const struct front_end intercept_front_end;

/* Where reservations on the proxy @queue are noted; NULL if it is not one of ours. Lock-free. */
struct origins *intercept_origins(struct capture *capture, const hsa_queue_t *queue);

/* State of the front end, one entry per queue block; NULL if there is no memory. */
struct intercept_queue *intercept_queues_new(void);
void intercept_queues_free(struct intercept_queue *queues);

/* For tests: limits the copy buffer of block @block to this many packets. */
void intercept_limit_copy(struct capture *capture, uint32_t block, uint32_t packets);
