/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A front end is a way in which the dispatch packets of a queue pass through the shim. It is chosen
 * when the queue is created and does not change during its life. All front ends pass packets to
 * dispatch.h. Everything here is cold and may wait; it runs on the thread that creates or destroys
 * the queue, or in OnUnload.
 */
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>

struct capture;

/* The arguments of hsa_queue_create, passed on unchanged. */
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
	 * NULL if the runtime creates the queue as usual and adopt() follows it. Else creates a
	 * queue that is followed; unless it returns HSA_STATUS_SUCCESS, no queue was created.
	 */
	hsa_status_t (*create)(
		struct capture *capture, const struct queue_request *request, hsa_queue_t **queue);

	/*
	 * Follows a queue that exists and has seen no packet; @gpu is the index in Hello.gpus. NULL
	 * if only create() can. 0: followed; -ENOTSUP: this front end cannot follow such a queue
	 * (legacy doorbell, ...); -ENOSPC: no queue block; -ENOMEM. On failure the queue is
	 * unchanged.
	 */
	int (*adopt)(struct capture *capture, hsa_queue_t *queue, uint32_t gpu);

	/*
	 * Called before the original hsa_queue_destroy(); does nothing for queues that are not
	 * followed.
	 */
	void (*release)(struct capture *capture, hsa_queue_t *queue, uint32_t *ret_block);

	/*
	 * Called after it returned, with the block from release(): no signal of the queue fires any
	 * more.
	 */
	void (*retire)(struct capture *capture, uint32_t block);

	/* Called instead if it failed: the queue continues as before release(). */
	void (*restore)(struct capture *capture, hsa_queue_t *queue, uint32_t block);

	/*
	 * Called after capture_stop(): returns true once no packet can get our signal any more;
	 * false at @deadline_ns (CLOCK_MONOTONIC).
	 */
	bool (*quiesce)(struct capture *capture, uint64_t deadline_ns);
};

/*
 * The reason why a queue with its ring in GPU memory is not followed; callers compare its address.
 */
extern const char front_ends_why_device_ring[];

#define FRONT_END_NO_BLOCK UINT32_MAX /* release(): the queue was not followed */

/* The front ends of this process, constant from OnLoad on. */
struct front_ends {
	const struct front_end *first; /* NULL if no queue is followed */
	/* For queues that `first` cannot follow; NULL if those stay plain. */
	const struct front_end *fallback;
	const char *why;      /* why there is no `first`; NULL if there is one */
	bool is_asked_for;    /* because the user wants none */
	bool is_off;	      /* and no queue may be followed in any other way */
	const char *tool;     /* file of a tool that was loaded before us, "" if none */
	const char *tool_why; /* why it was loaded before us; NULL without one */
};

/*
 * Like hsa_queue_create(), but follows the queue if possible, and counts it. *@ret_why is NULL, or
 * says for the log why the queue is not followed.
 */
hsa_status_t front_ends_create(struct capture *capture, const struct front_ends *ends,
	const struct queue_request *request, hsa_queue_t **queue, const char **ret_why);

/*
 * For queues that another function of the runtime has created; counts it. Returns NULL if the queue
 * is followed, else the reason why not.
 */
const char *front_ends_adopt(
	struct capture *capture, const struct front_ends *ends, hsa_queue_t *queue, uint32_t gpu);

/*
 * The same for a cooperative queue. The runtime has one per GPU and returns it from every create,
 * so it is followed once, until there was a destroy for every create.
 */
const char *front_ends_share(
	struct capture *capture, const struct front_ends *ends, hsa_queue_t *queue, uint32_t gpu);

/*
 * Like hsa_amd_queue_intercept_create(), for another tool that creates its queues with it: our
 * callback is registered first and therefore called last, with what the tool passes to the device.
 */
hsa_status_t front_ends_intercept(struct capture *capture, const struct front_ends *ends,
	const struct queue_request *request, hsa_queue_t **queue, const char **ret_why);

/*
 * Wraps the original destroy: harvests before and after it, and counts the queue. @destroy gets
 * @queue and returns the runtime's status, which is returned.
 */
hsa_status_t front_ends_destroy(
	struct capture *capture, hsa_queue_t *queue, hsa_status_t (*destroy)(hsa_queue_t *queue));

/* Calls quiesce() of all front ends. */
bool front_ends_quiesce(struct capture *capture, uint64_t deadline_ns);
