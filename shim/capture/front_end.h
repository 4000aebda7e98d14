/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a front end is: the way in which dispatch packets of one queue come past us. It is
 * chosen when a queue is created and never changed while that queue lives. All of them hand
 * packets to dispatch.h. Everything here is cold and may wait; it runs on the thread that
 * creates or destroys the queue, or in OnUnload.
 */
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>

struct capture;

/* hsa_queue_create's arguments, handed on as they are. */
struct queue_request {
	hsa_agent_t agent;
	uint32_t gpu; /* the agent's index in Hello.gpus */
	uint32_t size;
	hsa_queue_type32_t type;
	void (*callback)(hsa_status_t status, hsa_queue_t *queue, void *data);
	void *data;
	uint32_t private_segment_size, group_segment_size;
};

struct front_end {
	const char *name; /* Hello.front_end */

	/*
	 * NULL where the queue comes from the runtime as ever and is adopted. Else it makes one
	 * that is followed; not HSA_STATUS_SUCCESS: nothing was made.
	 */
	hsa_status_t (*create)(
		struct capture *capture, const struct queue_request *request, hsa_queue_t **queue);

	/*
	 * A queue that exists and has seen no packet; @gpu: index in Hello.gpus. NULL where only
	 * create can do it. 0: followed. -ENOTSUP: not a queue that this front end can follow
	 * (legacy doorbell, ...), -ENOSPC: no queue block, -ENOMEM; the queue is as it was.
	 */
	int (*adopt)(struct capture *capture, hsa_queue_t *queue, uint32_t gpu);

	/* Before the original hsa_queue_destroy; harmless for queues that are not ours. */
	void (*release)(struct capture *capture, hsa_queue_t *queue, uint32_t *ret_block);

	/* After it returned, with the block that release gave: nothing fires any more. */
	void (*retire)(struct capture *capture, uint32_t block);

	/* Instead, where it failed: the queue goes on as before release. */
	void (*restore)(struct capture *capture, hsa_queue_t *queue, uint32_t block);

	/*
	 * After capture_stop(): true once no packet gets our signal from now on. False at
	 * @deadline_ns (CLOCK_MONOTONIC).
	 */
	bool (*quiesce)(struct capture *capture, uint64_t deadline_ns);
};

/* Why a queue stays plain that has its ring in a GPU's memory; told from other reasons by its
 * address. */
extern const char front_ends_why_device_ring[];

#define FRONT_END_NO_BLOCK UINT32_MAX /* release: the queue was not followed */

/* The choice of a process, constant from OnLoad on. */
struct front_ends {
	const struct front_end *first;	  /* NULL: every queue stays plain */
	const struct front_end *fallback; /* for queues that `first` cannot follow; NULL: plain */
	const char *why;		  /* there is no `first`; NULL where there is */
	bool is_asked_for;		  /* ... because the user wants none */
	bool is_off;			  /* ... and no queue may be followed in any other way */
	const char *tool;		  /* file of a tool that came before us, "" without one */
	const char *tool_why;		  /* how it came to be before us; NULL without one */
};

/*
 * As hsa_queue_create, with the queue followed where that is possible; counts it. *@ret_why:
 * NULL, or why it is left plain, for a log line.
 */
hsa_status_t front_ends_create(struct capture *capture, const struct front_ends *ends,
	const struct queue_request *request, hsa_queue_t **queue, const char **ret_why);

/* For queues that another function of the runtime made; counts it. NULL: followed; else why not. */
const char *front_ends_adopt(
	struct capture *capture, const struct front_ends *ends, hsa_queue_t *queue, uint32_t gpu);

/*
 * Likewise for a cooperative queue, of which the runtime has one for each GPU and returns it from
 * every create: it is followed once, until every create has had its destroy.
 */
const char *front_ends_share(
	struct capture *capture, const struct front_ends *ends, hsa_queue_t *queue, uint32_t gpu);

/*
 * As hsa_amd_queue_intercept_create, for another tool that makes its queues by it: our callback
 * is registered first and so is called last, with what the tool hands to the device.
 */
hsa_status_t front_ends_intercept(struct capture *capture, const struct front_ends *ends,
	const struct queue_request *request, hsa_queue_t **queue, const char **ret_why);

/*
 * Around the original destroy: harvests before and after it, counts it. @destroy gets @queue and
 * returns the runtime's status, which is returned.
 */
hsa_status_t front_ends_destroy(
	struct capture *capture, hsa_queue_t *queue, hsa_status_t (*destroy)(hsa_queue_t *queue));

/* quiesce() of all of them. */
bool front_ends_quiesce(struct capture *capture, uint64_t deadline_ns);
