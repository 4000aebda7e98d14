/* SPDX-License-Identifier: MIT */
#include "shim/capture/front_ends/intercept.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "proto/base/clock.h"
#include "shim/capture/dispatch.h"
#include "shim/hsa/packet.h"
#include "shim/base/wait.h"
#include "shim/capture/front_ends/shadow_queue.h"
#include "shim/capture/front_ends/shadow_table.h"

/* One intercepted queue. Its memory is reused with the queue's block and never freed. */
struct intercept_queue {
	/* Constant from create to retire. */
	struct capture *capture;
	struct capture_queue *queue;
	hsa_kernel_dispatch_packet_t *copy; /* room for a whole ring: no batch is longer (rule 2) */
	uint32_t copy_packets, copy_limit;
	struct origins *origins;
	const uint8_t *ring;	      /* the proxy's ring */
	_Atomic(hsa_queue_t *) proxy; /* the application's queue; NULL if there is none */

	_Atomic uint32_t is_live; /* 0: pass packets on untouched and uncounted */
	_Atomic uint32_t is_busy; /* a thread is in the callback */
};

static struct intercept_queue *queue_at(struct capture *c, uint32_t block)
{
	return &c->intercept[block];
}

struct origins *intercept_origins(struct capture *c, const hsa_queue_t *queue)
{
	struct shadow_queue *block =
		shadow_table_find(c->head.shadow, SHADOW_BY_PROXY, (uint64_t)(uintptr_t)queue);

	return block ? &block->origins : NULL;
}

/* ---- the callback ---------------------------------------------------------------------------- */

/*
 * Whether @packets are what the application reserved from @index on: they are in its ring, or were
 * copied because they wrap around its end. An interceptor that was registered after us may pass
 * other packets on.
 */
static bool are_from_application(const struct intercept_queue *i,
	const hsa_kernel_dispatch_packet_t *packets, uint64_t count, uint64_t index)
{
	uint64_t at = index & i->origins->ring_mask;

	return packets == packet_in_ring(i->ring, i->origins->ring_mask, index) ||
	       (count > 1 && at + count > i->origins->ring_mask + 1);
}

static struct packet_origin packet_origin_of(
	struct intercept_queue *i, uint64_t index, bool is_dispatch, bool is_applications)
{
	struct packet_origin origin;

	if (!is_applications)
		return origin_of_caller();
	if (!origins_walk(i->origins, index, is_dispatch, &origin) && is_dispatch)
		recorder_count_queue(i->queue->block, RTL_Q_unattributed, 1);
	return origin;
}

static void packet_take(struct dispatch_batch *batch, hsa_kernel_dispatch_packet_t *packet,
	const struct packet_origin *origin)
{
	uint64_t signal = packet->completion_signal.handle;
	uint64_t injected;

	if (!packet_is_dispatch(packet, packet->header)) {
		dispatch_other(batch, packet, signal, origin->context.tid);
		return;
	}
	injected = dispatch_packet(batch, packet, signal, origin, DISPATCH_STAMP);
	if (injected)
		packet->completion_signal.handle = injected;
}

/* Rule 2: without room for a copy, packets are counted and passed on unchanged. */
static void packet_leave(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	const struct packet_origin *origin)
{
	if (!packet_is_dispatch(packet, packet->header))
		dispatch_other(
			batch, packet, packet->completion_signal.handle, origin->context.tid);
	else
		(void)dispatch_packet(
			batch, packet, packet->completion_signal.handle, origin, DISPATCH_LEAVE);
}

/* A single packet, the common case, needs no call. */
static inline void packets_copy(hsa_kernel_dispatch_packet_t *copy,
	const hsa_kernel_dispatch_packet_t *packets, uint64_t count)
{
	if (__builtin_expect(count == 1, 1))
		*copy = *packets;
	else
		memcpy(copy, packets, count * PACKET_BYTES);
}

/* Rule 14: the gate is closed. */
static void packets_skip(
	struct intercept_queue *i, const hsa_kernel_dispatch_packet_t *packets, uint64_t count)
{
	for (uint64_t n = 0; n < count; n++)
		dispatch_skip(i->capture, i->queue,
			packet_is_dispatch(&packets[n], packets[n].header),
			packets[n].completion_signal.handle);
}

static const void *packets_take(struct intercept_queue *i,
	const hsa_kernel_dispatch_packet_t *packets, uint64_t count, uint64_t index)
{
	bool has_room = count <= i->copy_limit;
	bool is_applications = are_from_application(i, packets, count, index);
	struct dispatch_batch batch;

	if (queue_is_dormant(i->queue)) {
		packets_skip(i, packets, count);
		origins_interrupt(i->origins, index + count);
		origins_walked(i->origins, index + count);
		return packets;
	}
	dispatch_begin(i->capture, i->queue, &batch);
	if (has_room)
		packets_copy(i->copy, packets, count);
	for (uint64_t n = 0; n < count; n++) {
		struct packet_origin origin = packet_origin_of(i, index + n,
			packet_is_dispatch(&packets[n], packets[n].header), is_applications);

		if (has_room)
			packet_take(&batch, &i->copy[n], &origin);
		else
			packet_leave(&batch, &packets[n], &origin);
	}
	dispatch_end(&batch);
	if (is_applications)
		origins_walked(i->origins, index + count);
	return has_room ? i->copy : packets;
}

/* Called under ROCr's queue mutex: one call at a time per queue, on any thread. */
static void on_packets(const void *packets, uint64_t count, uint64_t user_index, void *data,
	hsa_intercept_writer *writer)
{
	struct intercept_queue *i = data;
	bool is_live;

	/* A forked child has this memory, but neither a shim thread nor a recorder. */
	if (capture_is_pass_through(i->capture)) {
		writer(packets, count);
		return;
	}
	/* Stored before is_live is read: release() clears is_live first and then reads is_busy. */
	atomic_store(&i->is_busy, 1);
	is_live = atomic_load(&i->is_live);
	if (is_live)
		packets = packets_take(i, packets, count, user_index);
	/* Rule 1: exactly one call, with all packets. */
	writer(packets, count);
	if (is_live)
		dispatch_ahead(i->capture, i->queue);
	/* Release: a thread that waits for 0 does not interfere with what was read before. */
	atomic_store_explicit(&i->is_busy, 0, memory_order_release);
}

/* ---- birth and death of a queue ---------------------------------------------------------- */

static hsa_kernel_dispatch_packet_t *copy_new(uint32_t packets)
{
	void *memory = mmap(NULL, packets * PACKET_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void queue_end(struct capture *c, struct intercept_queue *i)
{
	if (i->copy)
		munmap(i->copy, i->copy_packets * PACKET_BYTES);
	i->copy = NULL;
	i->copy_packets = 0;
	harvest_queue_retire(c, i->queue);
}

static struct intercept_queue *queue_start(struct capture *c, hsa_queue_t *proxy, uint32_t gpu)
{
	struct capture_queue *q = capture_queue_new(c, gpu, proxy->size, proxy->id);
	struct intercept_queue *i;

	if (!q)
		return NULL;
	i = queue_at(c, q->index);
	i->capture = c;
	i->queue = q;
	i->copy = copy_new(proxy->size);
	i->copy_packets = i->copy_limit = i->copy ? proxy->size : 0;
	i->origins = &shadow_table_at(c->head.shadow, q->index)->origins;
	i->ring = proxy->base_address;
	if (origins_begin(i->origins, proxy, 0) < 0 ||
		shadow_table_add(c->head.shadow, SHADOW_BY_PROXY, (uint64_t)(uintptr_t)proxy,
			shadow_table_at(c->head.shadow, q->index)) < 0) {
		queue_end(c, i);
		return NULL;
	}
	atomic_store(&i->is_busy, 0);
	atomic_store(&i->is_live, 1);
	atomic_store(&i->proxy, proxy);
	return i;
}

static hsa_status_t create(
	struct capture *c, const struct queue_request *request, hsa_queue_t **ret_queue)
{
	struct intercept_queue *i;
	hsa_queue_t *proxy;
	hsa_status_t status;

	if (!c->hsa.intercept_create || !c->hsa.intercept_register)
		return HSA_STATUS_ERROR;
	status = c->hsa.intercept_create(request->agent, request->size, request->type,
		request->callback, request->data, request->private_segment_size,
		request->group_segment_size, &proxy);
	if (status != HSA_STATUS_SUCCESS)
		return status;
	status = c->hsa.set_profiler_enabled(proxy, 1);
	i = status == HSA_STATUS_SUCCESS ? queue_start(c, proxy, request->gpu) : NULL;
	if (i) {
		status = c->hsa.intercept_register(proxy, on_packets, i);
		if (status == HSA_STATUS_SUCCESS) {
			recorder_count(&c->recorder, RTL_P_queues_intercepted, 1);
			*ret_queue = proxy;
			return status;
		}
		atomic_store(&i->proxy, NULL);
		shadow_table_remove(c->head.shadow, SHADOW_BY_PROXY, (uint64_t)(uintptr_t)proxy);
		queue_end(c, i);
	}
	(void)c->hsa.queue_destroy(proxy);
	return status == HSA_STATUS_SUCCESS ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : status;
}

static void release(struct capture *c, hsa_queue_t *queue, uint32_t *ret_block)
{
	uint32_t used = recorder_queues_used(&c->recorder);
	unsigned checks = 0;

	*ret_block = FRONT_END_NO_BLOCK;
	for (uint32_t n = 0; n < used; n++) {
		struct intercept_queue *i = queue_at(c, n);

		if (atomic_load(&i->proxy) != queue)
			continue;
		/* Waits for a thread in the callback; packets that come later are not recorded. */
		atomic_store(&i->is_live, 0);
		while (atomic_load(&i->is_busy))
			wait_between_checks(&checks);
		atomic_store(&i->proxy, NULL);
		shadow_table_remove(c->head.shadow, SHADOW_BY_PROXY, (uint64_t)(uintptr_t)queue);
		origins_end(i->origins);
		harvest_queue_release(c, i->queue);
		*ret_block = n;
		return;
	}
}

static void retire(struct capture *c, uint32_t block)
{
	if (block != FRONT_END_NO_BLOCK)
		queue_end(c, queue_at(c, block));
}

static void restore(struct capture *c, hsa_queue_t *queue, uint32_t block)
{
	struct intercept_queue *i = queue_at(c, block);

	origins_revive(i->origins);
	(void)shadow_table_add(c->head.shadow, SHADOW_BY_PROXY, (uint64_t)(uintptr_t)queue,
		shadow_table_at(c->head.shadow, block));
	atomic_store(&i->is_live, 1);
	atomic_store(&i->proxy, queue);
}

static bool quiesce(struct capture *c, uint64_t deadline_ns)
{
	uint32_t used = recorder_queues_used(&c->recorder);
	unsigned checks = 0;

	/* A callback that is not seen here begins after the stop, and sees it. */
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t n = 0; n < used; n++) {
		while (atomic_load(&queue_at(c, n)->is_busy)) {
			if (clock_monotonic_ns() >= deadline_ns)
				return false;
			wait_between_checks(&checks);
		}
	}
	return true;
}

struct intercept_queue *intercept_queues_new(void)
{
	void *memory = mmap(NULL, RECORDER_QUEUES * sizeof(struct intercept_queue),
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void intercept_queues_free(struct intercept_queue *queues)
{
	if (queues)
		munmap(queues, RECORDER_QUEUES * sizeof(*queues));
}

void intercept_limit_copy(struct capture *c, uint32_t block, uint32_t packets)
{
	queue_at(c, block)->copy_limit = packets;
}

const struct front_end intercept_front_end = {
	.name = "intercept",
	.create = create,
	.release = release,
	.retire = retire,
	.restore = restore,
	.quiesce = quiesce,
};
