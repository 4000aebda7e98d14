// SPDX-License-Identifier: MIT
#include "tests/shim/capture/synth_intercept.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* The first member is the application's queue. */
struct synth_proxy {
	struct synth_queue front;
	struct synth_queue *device;
	pthread_mutex_t lock;
	uint64_t next; /* number of packets passed on */
	hsa_intercept_handler *handler;
	void *data;
	hsa_kernel_dispatch_packet_t *staging;
	uint32_t private_bytes, group_bytes;
	uint64_t batches, faults;
	unsigned writes; /* of the running callback */
};

enum synth_proxy_mode synth_proxy_mode;
bool synth_proxy_fails;

static _Thread_local struct synth_proxy *cursor;

static void proxy_ring(struct synth_queue *front);

bool synth_is_proxy(const struct synth_queue *queue)
{
	return queue->on_ring == proxy_ring;
}

static struct synth_proxy *proxy_of(const struct synth_queue *queue)
{
	return (struct synth_proxy *)queue;
}

/* ---- passing packets on ---------------------------------------------------------------- */

static void write_to_device(const void *packets, uint64_t count)
{
	struct synth_queue *device = cursor->device;
	const hsa_kernel_dispatch_packet_t *packet = packets;
	uint64_t index;

	cursor->writes++;
	for (uint64_t i = 0; i < count; i++) {
		hsa_kernel_dispatch_packet_t *at;

		index = __atomic_load_n(&device->amd.write_dispatch_id, __ATOMIC_RELAXED);
		while (index - __atomic_load_n(&device->amd.read_dispatch_id, __ATOMIC_ACQUIRE) >=
			device->amd.hsa_queue.size)
			sched_yield();
		at = &device->ring[index & (device->amd.hsa_queue.size - 1)];
		memcpy((uint8_t *)at + sizeof(at->header),
			(const uint8_t *)&packet[i] + sizeof(at->header),
			sizeof(*at) - sizeof(at->header));
		__atomic_store_n(&at->header, packet[i].header, __ATOMIC_RELEASE);
		__atomic_store_n(&device->amd.write_dispatch_id, index + 1, __ATOMIC_RELEASE);
		atomic_store(&device->doorbell_value, index);
		atomic_fetch_add(&device->rings, 1);
	}
}

static uint64_t valid_run(const struct synth_proxy *p, uint64_t first, uint64_t end)
{
	uint64_t mask = p->front.amd.hsa_queue.size - 1;
	uint64_t n = first;

	while (n < end && (__atomic_load_n(&p->front.ring[n & mask].header, __ATOMIC_ACQUIRE) &
				  0xff) != HSA_PACKET_TYPE_INVALID)
		n++;
	return n - first;
}

static void hand_on(struct synth_proxy *p, uint64_t count)
{
	uint64_t mask = p->front.amd.hsa_queue.size - 1, first = p->next & mask;
	uint64_t to_end = mask + 1 - first;
	const hsa_kernel_dispatch_packet_t *packets = &p->front.ring[first];

	if (count > to_end) {
		memcpy(p->staging, packets, to_end * sizeof(*packets));
		memcpy(p->staging + to_end, p->front.ring, (count - to_end) * sizeof(*packets));
		packets = p->staging;
	}
	p->writes = 0;
	p->handler(packets, count, p->next, p->data, write_to_device);
	p->batches++;
	p->faults += p->writes != 1;
	for (uint64_t i = p->next; i < p->next + count; i++)
		__atomic_store_n(
			&p->front.ring[i & mask].header, HSA_PACKET_TYPE_INVALID, __ATOMIC_RELEASE);
	p->next += count;
	__atomic_store_n(&p->front.amd.read_dispatch_id, p->next, __ATOMIC_RELEASE);
}

static void proxy_ring(struct synth_queue *front)
{
	struct synth_proxy *p = proxy_of(front);
	uint64_t size = front->amd.hsa_queue.size, end, n;

	pthread_mutex_lock(&p->lock);
	cursor = p;
	end = synth_wdid(front);
	/* Packets more than a ring ahead have not been passed on yet. */
	if (end > p->next + size)
		end = p->next + size;
	while ((n = valid_run(p, p->next, end))) {
		if (synth_proxy_mode == SYNTH_PROXY_ONE)
			n = 1;
		else if (synth_proxy_mode == SYNTH_PROXY_RUN && n > size - (p->next & (size - 1)))
			n = size - (p->next & (size - 1));
		hand_on(p, n);
	}
	cursor = NULL;
	pthread_mutex_unlock(&p->lock);
}

/* ---- the runtime's functions ----------------------------------------------------------- */

static hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **ret)
{
	struct synth_queue *queue = synth_queue_new(size);

	(void)type, (void)callback, (void)data;
	(void)private_segment_size, (void)group_segment_size;
	/* Agent 2 has doorbells that cannot be followed. */
	if (agent.handle == 2)
		queue->doorbell.kind = AMD_SIGNAL_KIND_LEGACY_DOORBELL;
	*ret = synth_hsa_queue(queue);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t queue_destroy(hsa_queue_t *queue)
{
	struct synth_queue *of = synth_of_hsa(queue);
	struct synth_proxy *p = proxy_of(of);

	if (!synth_is_proxy(of)) {
		synth_queue_free(of);
		return HSA_STATUS_SUCCESS;
	}
	synth_queue_free(p->device);
	free(p->front.ring);
	free(p->staging);
	free(p);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t intercept_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
	void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
	uint32_t private_segment_size, uint32_t group_segment_size, hsa_queue_t **ret)
{
	struct synth_proxy *p;
	hsa_queue_t *device;

	if (synth_proxy_fails)
		return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
	p = aligned_alloc(64, (sizeof(*p) + 63) / 64 * 64);
	memset(p, 0, sizeof(*p));
	(void)queue_create(agent, size, type, callback, data, private_segment_size,
		group_segment_size, &device);
	p->device = synth_of_hsa(device);
	p->front.amd = p->device->amd;
	p->front.ring = calloc(size, sizeof(*p->front.ring));
	p->staging = calloc(size, sizeof(*p->staging));
	for (uint32_t i = 0; i < size; i++)
		p->front.ring[i].header = HSA_PACKET_TYPE_INVALID;
	p->front.amd.hsa_queue.base_address = p->front.ring;
	p->front.amd.hsa_queue.doorbell_signal.handle = (uint64_t)(uintptr_t)&p->front.doorbell;
	p->front.doorbell.kind = AMD_SIGNAL_KIND_USER;
	p->front.doorbell.queue_ptr = &p->front.amd;
	p->front.on_ring = proxy_ring;
	p->private_bytes = private_segment_size;
	p->group_bytes = group_segment_size;
	pthread_mutex_init(&p->lock, NULL);
	*ret = synth_hsa_queue(&p->front);
	return HSA_STATUS_SUCCESS;
}

static hsa_status_t intercept_register(
	hsa_queue_t *queue, hsa_intercept_handler *handler, void *data)
{
	struct synth_proxy *p = proxy_of(synth_of_hsa(queue));

	if (!synth_is_proxy(&p->front))
		return HSA_STATUS_ERROR_INVALID_QUEUE;
	p->handler = handler;
	p->data = data;
	return HSA_STATUS_SUCCESS;
}

void synth_intercept_hsa(struct capture_hsa *hsa)
{
	hsa->queue_create = queue_create;
	hsa->queue_destroy = queue_destroy;
	hsa->intercept_create = intercept_create;
	hsa->intercept_register = intercept_register;
}

/* ---- queries of the test --------------------------------------------------------------- */

struct synth_queue *synth_of_hsa(hsa_queue_t *queue)
{
	return (struct synth_queue *)queue; /* the first member of its first member */
}

struct synth_queue *synth_device_of(struct synth_queue *queue)
{
	return synth_is_proxy(queue) ? proxy_of(queue)->device : queue;
}

uint64_t synth_proxy_batches(const struct synth_queue *proxy)
{
	return proxy_of(proxy)->batches;
}

uint64_t synth_proxy_faults(const struct synth_queue *proxy)
{
	return proxy_of(proxy)->faults;
}

uint32_t synth_proxy_private_bytes(const struct synth_queue *proxy)
{
	return proxy_of(proxy)->private_bytes;
}

uint32_t synth_proxy_group_bytes(const struct synth_queue *proxy)
{
	return proxy_of(proxy)->group_bytes;
}
