/* SPDX-License-Identifier: MIT */
#include "shim/capture/front_ends/front_end.h"

#include <errno.h>
#include <stddef.h>

#include "shim/base/wait.h"
#include "shim/capture/capture_internal.h"
#include "shim/capture/front_ends/intercept.h"
#include "shim/capture/front_ends/shadow.h"

/* Those that follow more queues come first. */
static const struct front_end *const all[] = {&shadow_front_end, &intercept_front_end};

#define ALL (sizeof(all) / sizeof(*all))

static const char why_not_eligible[] = "its ring, its doorbell or the number of queues";

const char front_ends_why_device_ring[] =
	"its ring is in device memory; unset HSA_ALLOCATE_QUEUE_DEV_MEM and RTL_RINGS, set "
	"DEBUG_CLR_AQL_DEV_QUEUE=0";

/* Why no front end could follow the queue. */
static const char *why_not_followed(
	struct capture *c, const struct front_ends *ends, const hsa_queue_t *queue)
{
	if (!ends->first)
		return ends->why;
	if (c->hsa.is_ring_readable && !c->hsa.is_ring_readable(queue))
		return front_ends_why_device_ring;
	return why_not_eligible;
}

static void coop_lock(struct capture *c)
{
	unsigned checks = 0;

	while (atomic_exchange_explicit(&c->coop_lock, 1, memory_order_acquire))
		wait_between_checks(&checks);
}

static void coop_unlock(struct capture *c)
{
	atomic_store_explicit(&c->coop_lock, 0, memory_order_release);
}

/* Queues are counted only here: a queue that was offered to two front ends counts once. */
static void queue_count(struct capture *c, enum rtl_process_counter as)
{
	recorder_count(capture_recorder(c), RTL_P_queues_created, 1);
	recorder_count(capture_recorder(c), as, 1);
}

static hsa_status_t create_original(
	struct capture *c, const struct queue_request *request, hsa_queue_t **queue)
{
	return capture_hsa_of(c)->queue_create(request->agent, request->size, request->type,
		request->callback, request->data, request->private_segment_size,
		request->group_segment_size, queue);
}

/* Creates a queue with one front end. *@ret_is_followed is false if it does not follow the queue.
 */
static hsa_status_t create_by(struct capture *c, const struct front_end *end,
	const struct queue_request *request, hsa_queue_t **queue, bool *ret_is_followed)
{
	hsa_status_t status;

	*ret_is_followed = false;
	if (end && end->create) {
		status = end->create(c, request, queue);
		*ret_is_followed = status == HSA_STATUS_SUCCESS;
		if (*ret_is_followed)
			return status;
	}
	status = create_original(c, request, queue);
	if (status == HSA_STATUS_SUCCESS && end && end->adopt)
		*ret_is_followed = end->adopt(c, *queue, request->gpu) == 0;
	return status;
}

hsa_status_t front_ends_intercept(struct capture *c, const struct front_ends *ends,
	const struct queue_request *request, hsa_queue_t **queue, const char **ret_why)
{
	hsa_status_t status = HSA_STATUS_ERROR;

	*ret_why = ends->is_off ? ends->why : NULL;
	if (!*ret_why)
		status = intercept_front_end.create(c, request, queue);
	if (status != HSA_STATUS_SUCCESS) {
		if (!*ret_why)
			*ret_why = why_not_eligible;
		status = capture_hsa_of(c)->intercept_create(request->agent, request->size,
			request->type, request->callback, request->data,
			request->private_segment_size, request->group_segment_size, queue);
	}
	if (status == HSA_STATUS_SUCCESS)
		queue_count(c, *ret_why ? RTL_P_queues_ineligible : RTL_P_queues_followed);
	return status;
}

hsa_status_t front_ends_create(struct capture *c, const struct front_ends *ends,
	const struct queue_request *request, hsa_queue_t **queue, const char **ret_why)
{
	bool is_followed;
	hsa_status_t status;

	status = create_by(c, ends->first, request, queue, &is_followed);
	*ret_why = NULL;
	if (status != HSA_STATUS_SUCCESS)
		return status;
	/*
	 * The program has not seen the queue yet, so it can be destroyed and created by the other
	 * front end.
	 */
	if (!is_followed && ends->fallback &&
		capture_hsa_of(c)->queue_destroy(*queue) == HSA_STATUS_SUCCESS)
		status = create_by(c, ends->fallback, request, queue, &is_followed);
	if (status != HSA_STATUS_SUCCESS)
		return status;
	if (!is_followed)
		*ret_why = why_not_followed(c, ends, *queue);
	queue_count(c, *ret_why ? RTL_P_queues_ineligible : RTL_P_queues_followed);
	return status;
}

static const char *adopt_by_any(
	struct capture *c, const struct front_ends *ends, hsa_queue_t *queue, uint32_t gpu)
{
	const struct front_end *end[] = {ends->first, ends->fallback};

	for (size_t i = 0; i < sizeof(end) / sizeof(*end); i++)
		if (end[i] && end[i]->adopt && end[i]->adopt(c, queue, gpu) == 0)
			return NULL;
	return why_not_followed(c, ends, queue);
}

const char *front_ends_adopt(
	struct capture *c, const struct front_ends *ends, hsa_queue_t *queue, uint32_t gpu)
{
	const char *why = adopt_by_any(c, ends, queue, gpu);

	queue_count(c, why ? RTL_P_queues_ineligible : RTL_P_queues_followed);
	return why;
}

const char *front_ends_share(
	struct capture *c, const struct front_ends *ends, hsa_queue_t *queue, uint32_t gpu)
{
	struct shadow_queue *shadow;
	const char *why = NULL;

	/* Under the lock, so that the first create adopts the queue before another one finds it. */
	coop_lock(c);
	shadow = shadow_of_queue(c, queue);
	if (shadow)
		(void)shadow_hold(shadow);
	else
		why = adopt_by_any(c, ends, queue, gpu);
	coop_unlock(c);
	queue_count(c, why ? RTL_P_queues_coop : RTL_P_queues_followed);
	return why;
}

/*
 * Stops following @queue and returns the front end that did; NULL if there is none, or if other
 * holders of the cooperative queue remain.
 */
static const struct front_end *release(struct capture *c, hsa_queue_t *queue, uint32_t *ret_block)
{
	struct shadow_queue *shadow = shadow_of_queue(c, queue);

	*ret_block = FRONT_END_NO_BLOCK;
	if (shadow && shadow_unhold(shadow))
		return NULL;
	for (size_t i = 0; i < ALL; i++) {
		all[i]->release(c, queue, ret_block);
		if (*ret_block != FRONT_END_NO_BLOCK)
			return all[i];
	}
	return NULL;
}

static void restore(
	struct capture *c, const struct front_end *followed_by, hsa_queue_t *queue, uint32_t block)
{
	struct shadow_queue *shadow;

	if (followed_by)
		followed_by->restore(c, queue, block);
	shadow = shadow_of_queue(c, queue);
	if (shadow)
		(void)shadow_hold(shadow);
}

hsa_status_t front_ends_destroy(
	struct capture *c, hsa_queue_t *queue, hsa_status_t (*destroy)(hsa_queue_t *queue))
{
	const struct front_end *followed_by = NULL;
	uint32_t block = FRONT_END_NO_BLOCK;
	hsa_status_t status;

	/*
	 * NULL must reach the original, which refuses it; no table is searched for it, since free
	 * table entries hold 0.
	 */
	coop_lock(c);
	if (queue)
		followed_by = release(c, queue, &block);
	coop_unlock(c);
	status = destroy(queue);
	if (status != HSA_STATUS_SUCCESS) {
		coop_lock(c);
		restore(c, followed_by, queue, block);
		coop_unlock(c);
		return status;
	}
	if (followed_by)
		followed_by->retire(c, block);
	recorder_count(capture_recorder(c), RTL_P_queues_destroyed, 1);
	return status;
}

bool front_ends_quiesce(struct capture *c, uint64_t deadline_ns)
{
	bool is_quiet = true;

	for (size_t i = 0; i < ALL; i++)
		is_quiet &= all[i]->quiesce(c, deadline_ns);
	return is_quiet;
}
