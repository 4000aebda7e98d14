/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a front end is: the way in which dispatch packets of one queue come past us. It is
 * chosen when a queue is created and never changed while that queue lives. The shadow front
 * end is the first; ROCr's intercept queue can be a second one. Both hand packets to
 * dispatch.h. adopt, release and retire are cold and may wait; they run on the thread that
 * creates or destroys the queue.
 */
#include <stdint.h>

#include <hsa/hsa.h>

struct capture;

struct front_end {
	const char *name; /* Hello.front_end */

	/*
	 * The queue was created by the original function; @gpu: index in Hello.gpus.
	 * 0: followed, counted queues_followed. -ENOTSUP: not a queue that this front end can
	 * follow (legacy doorbell, ...), -ENOSPC: no queue block; both are counted
	 * queues_ineligible and the queue stays plain.
	 */
	int (*adopt)(struct capture *capture, hsa_queue_t *queue, uint32_t gpu);

	/* Before the original hsa_queue_destroy; harmless for queues that are not ours. */
	void (*release)(struct capture *capture, hsa_queue_t *queue, uint32_t *ret_block);

	/* After it returned, with the block that release gave: nothing fires any more. */
	void (*retire)(struct capture *capture, uint32_t block);
};

#define FRONT_END_NO_BLOCK UINT32_MAX /* release: the queue was not followed */
