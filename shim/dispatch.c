// SPDX-License-Identifier: MIT
#include "shim/dispatch.h"

#include "proto/clock.h"
#include "shim/appsig.h"
#include "shim/copy_watch.h"
#include "shim/packet.h"
#include "proto/fault.h"

/* A dry queue spends at most a quarter of its time on harvesting for itself; but time that went
 * to other threads, on a busy machine, is no reason not to for long. */
#define DRY_PAUSE_FACTOR 3u
#define DRY_PAUSE_NS_MAX 10000u

void dispatch_begin(struct capture *c, struct capture_queue *q, struct dispatch_batch *ret)
{
	*ret = (struct dispatch_batch){
		.capture = c,
		.queue = q,
		.submit_ns = clock_boottime_ns(),
		.is_stopped = atomic_load_explicit(&c->is_stopped, memory_order_relaxed) != 0,
	};
}

void dispatch_signal_used(struct capture *c, uint64_t signal)
{
	appsig_used(c, signal, APPSIG_PACKET);
	copy_watch_packet(signal);
}

/* Whether some came back. Tried for the first dispatch that finds none, then with pauses. */
static bool slots_harvest(struct dispatch_batch *batch)
{
	struct capture_queue *q = batch->queue;
	uint64_t now_ns = clock_boottime_ns(), end_ns, pause_ns;

	if (now_ns < q->dry_until_ns)
		return false;
	if (harvest_queue_inline(batch->capture, q, now_ns))
		return true;
	end_ns = clock_boottime_ns();
	pause_ns = DRY_PAUSE_FACTOR * (end_ns - now_ns);
	q->dry_until_ns = end_ns + (pause_ns < DRY_PAUSE_NS_MAX ? pause_ns : DRY_PAUSE_NS_MAX);
	return false;
}

/*
 * Rule 9, the dry case: prepared slots, else harvest if nobody else does, else new ones, else
 * give up. Nothing of it waits for the shim's thread, which may have no processor.
 */
static bool slots_provide(struct dispatch_batch *batch)
{
	struct capture_queue *q = batch->queue;

	q->free = pool_take_ready(batch->capture);
	if (q->free) {
		atomic_store_explicit(&q->extra,
			atomic_load_explicit(&q->extra, memory_order_relaxed) + RECORDER_SLOT_CHUNK,
			memory_order_relaxed);
		return true;
	}
	if (slots_harvest(batch))
		return true;
	q->free = pool_grow(batch->capture, q);
	return q->free != 0;
}

static bool slots_refill(struct dispatch_batch *batch)
{
	struct capture_queue *q = batch->queue;

	if (!atomic_load_explicit(&q->returned, memory_order_relaxed) && !slots_provide(batch))
		return false;
	if (!q->free)
		q->free = atomic_exchange_explicit(&q->returned, 0, memory_order_acquire);
	return q->free != 0;
}

static slot_ref slot_take(struct dispatch_batch *batch)
{
	struct capture_queue *q = batch->queue;
	slot_ref ref;

	if (__builtin_expect(!q->free, 0) && !slots_refill(batch))
		return 0;
	ref = q->free;
	q->free = slot_private_of(batch->capture, ref)->next;
	atomic_store_explicit(&q->taken, atomic_load_explicit(&q->taken, memory_order_relaxed) + 1,
		memory_order_relaxed);
	return ref;
}

static void slot_fill(struct dispatch_batch *batch, slot_ref ref,
	const hsa_kernel_dispatch_packet_t *packet, const struct packet_origin *origin,
	uint32_t symbol, uint64_t seq)
{
	struct capture *c = batch->capture;
	struct recorder_slot *slot = slot_of(c, ref);

	atomic_store_explicit(&slot->frame, 0, memory_order_relaxed);
	slot->queue = batch->queue->index;
	slot->seq = seq;
	slot->submit_ns = batch->submit_ns;
	slot->start_tick = symbol ? 0 : packet->kernel_object;
	slot->end_tick = 0;
	slot->marker = origin->marker;
	slot->call = origin->call;
	slot->node = origin->node;
	slot->symbol = symbol;
	slot->tid = origin->tid;
	packet_grid(packet, slot->grid);
	slot->workgroup[0] = packet->workgroup_size_x;
	slot->workgroup[1] = packet->workgroup_size_y;
	slot->workgroup[2] = packet->workgroup_size_z;
	slot->untimed = RTL_TIMED;
	slot->lds = packet->group_segment_size;
	slot->scratch = packet->private_segment_size;
}

/* How this packet's end will be known. Returns the signal to inject, or 0. */
static uint64_t slot_arm(
	struct dispatch_batch *batch, slot_ref ref, uint64_t signal, enum dispatch_how how)
{
	struct recorder_queue *block = batch->queue->block;
	struct slot_private *private = slot_private_of(batch->capture, ref);

	if (signal) {
		recorder_count_queue(block, RTL_Q_own_signals_seen, 1);
		copy_watch_packet(signal);
		if (!batch->capture->hsa.leave_own_signals) {
			appsig_watch(batch->capture, ref, signal);
			return 0;
		}
		private->kind = SLOT_PLAIN;
		private->why = RTL_UNTIMED_MODE;
		return 0;
	}
	if (how == DISPATCH_LEAVE) {
		recorder_count_queue(block, RTL_Q_unstamped, 1);
		private->kind = SLOT_PLAIN;
		private->why = RTL_UNTIMED_UNSTAMPED;
		return 0;
	}
	if (!private->injected) {
		private->kind = SLOT_PLAIN;
		private->why = RTL_UNTIMED_SIGNAL_POOL;
		return 0;
	}
	recorder_count_queue(block, RTL_Q_signals_injected, 1);
	private->kind = SLOT_INJECTED;
	return private->injected;
}

static void batch_append(struct dispatch_batch *batch, slot_ref ref)
{
	slot_private_of(batch->capture, ref)->next = batch->first;
	batch->first = ref;
	if (!batch->last)
		batch->last = ref;
}

/*
 * Whether the user wants this dispatch: @gate says what to look at. A kernel that nobody has
 * named may be any, so it is wanted; who is not known to be in a region is not.
 */
static bool is_wanted(uint64_t gate, uint32_t symbol, const struct packet_origin *origin)
{
	return gate_is_open(gate) && !(gate & GATE_BY_KERNEL && symbol & SYMBOL_UNWANTED) &&
	       !(gate & GATE_BY_REGION && !origin->is_in_region);
}

uint64_t dispatch_packet(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, uint64_t index, const struct packet_origin *origin, enum dispatch_how how)
{
	struct recorder_queue *block = batch->queue->block;
	uint64_t seq = recorder_queue_value(block, RTL_Q_dispatched);
	uint32_t symbol = batch->capture->hsa.symbol_of(packet->kernel_object);
	struct slot_private *private;
	uint64_t injected;
	slot_ref ref;

	/* The number is given before anything can drop the dispatch (docs/recorder.md, 2.1). */
	recorder_count_queue(block, RTL_Q_dispatched, 1);
	FAULT_POINT("after_dispatched");
	if (__builtin_expect(batch->is_stopped, 0)) {
		recorder_count_queue(block, RTL_Q_skipped_shutdown, 1);
		return 0;
	}
	if (__builtin_expect(!is_wanted(gate_load(batch->queue->gate), symbol, origin), 0)) {
		recorder_count_queue(block, RTL_Q_skipped_filter, 1);
		if (signal)
			dispatch_signal_used(batch->capture, signal);
		return 0;
	}
	ref = slot_take(batch);
	if (__builtin_expect(!ref, 0)) {
		recorder_count_queue(block, RTL_Q_dropped_recorder_full, 1);
		if (signal)
			dispatch_signal_used(batch->capture, signal);
		return 0;
	}
	if (__builtin_expect(batch->capture->hsa.count_unlinked, 0) && !origin->call)
		recorder_count_queue(block, RTL_Q_unlinked, 1);
	slot_fill(batch, ref, packet, origin, symbol & ~SYMBOL_UNWANTED, seq);
	private = slot_private_of(batch->capture, ref);
	private->packet = index;
	private->has_barrier = packet->header >> HSA_PACKET_HEADER_BARRIER & 1;
	private->why = RTL_TIMED;
	private->phase = PHASE_NONE;
	injected = slot_arm(batch, ref, signal, how);
	atomic_store_explicit(
		&slot_of(batch->capture, ref)->state, SLOT_SUBMITTED, memory_order_release);
	FAULT_POINT("after_submitted");
	batch_append(batch, ref);
	return injected;
}

void dispatch_other(struct dispatch_batch *batch, uint64_t signal)
{
	recorder_count_queue(batch->queue->block, RTL_Q_skipped_not_kernel, 1);
	/* A barrier that completes with a watched signal overwrites its times. */
	dispatch_signal_used(batch->capture, signal);
}

void dispatch_end(struct dispatch_batch *batch)
{
	recorder_count_queue(batch->queue->block, RTL_Q_intercept_calls, 1);
	if (batch->first)
		slot_chain_push(
			batch->capture, &batch->queue->submitted, batch->first, batch->last);
	batch->first = batch->last = 0;
}
