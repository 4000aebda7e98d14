// SPDX-License-Identifier: MIT
#include "shim/dispatch.h"

#include <string.h>

#include "proto/clock.h"
#include "shim/appsig.h"
#include "shim/copy_watch.h"
#include "shim/packet.h"
#include "proto/fault.h"

/* A dry queue spends at most a quarter of its time on harvesting for itself; but time that went
 * to other threads, on a busy machine, is no reason not to for long. */
#define DRY_PAUSE_FACTOR 3u
#define DRY_PAUSE_NS_MAX 10000u
/* After so many, whether others came back. */
#define REFRESH_SLOTS	 256u

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
	bool has_returned = atomic_load_explicit(&q->returned, memory_order_relaxed);

	if (!has_returned && q->spare) {
		q->free = q->spare;
		q->spare = 0;
		return true;
	}
	if (!has_returned && !slots_provide(batch))
		return false;
	if (!q->free)
		q->free = atomic_exchange_explicit(&q->returned, 0, memory_order_acquire);
	return q->free != 0;
}

/*
 * What was given back last is still in this processor's caches; a queue that goes round all of its
 * slots finds none of them there. So the rest of a long chain is put by while others come back.
 */
static __attribute__((noinline)) void slots_refresh(struct capture_queue *q)
{
	if (q->spare || !atomic_load_explicit(&q->returned, memory_order_relaxed))
		return;
	q->spare = q->free;
	q->free = atomic_exchange_explicit(&q->returned, 0, memory_order_acquire);
}

static inline slot_ref slot_take(
	struct dispatch_batch *batch, struct capture *c, struct capture_queue *q)
{
	uint64_t taken = atomic_load_explicit(&q->taken, memory_order_relaxed);
	slot_ref ref;

	if (__builtin_expect(!(taken % REFRESH_SLOTS), 0))
		slots_refresh(q);
	if (__builtin_expect(!q->free, 0) && !slots_refill(batch))
		return 0;
	ref = q->free;
	q->free = slot_private_of(c, ref)->next;
	atomic_store_explicit(&q->taken, taken + 1, memory_order_relaxed);
	return ref;
}

static inline void slot_fill(struct recorder_slot *slot, const hsa_kernel_dispatch_packet_t *packet,
	const struct packet_origin *origin, uint32_t symbol)
{
	atomic_store_explicit(&slot->frame, 0, memory_order_relaxed);
	slot->start_tick = symbol ? 0 : packet->kernel_object;
	slot->end_tick = 0;
	slot->marker = origin->marker;
	slot->call = origin->call;
	slot->node = origin->node;
	slot->symbol = symbol;
	slot->tid = origin->tid;
	packet_grid(packet, slot->grid);
	memcpy(slot->workgroup, &packet->workgroup_size_x, sizeof(slot->workgroup));
	slot->untimed = RTL_TIMED;
	slot->lds = packet->group_segment_size;
	slot->scratch = packet->private_segment_size;
}

/* No end of this packet's will be known, and why. */
static inline uint64_t slot_leave(struct slot_private *private, enum rtl_untimed why)
{
	private->kind = SLOT_PLAIN;
	private->why = (uint8_t)why;
	return 0;
}

/* The application's signal is in it. */
static __attribute__((noinline)) uint64_t slot_arm_own(
	struct dispatch_batch *batch, slot_ref ref, uint64_t signal)
{
	struct capture *c = batch->capture;

	recorder_count_queue(batch->queue->block, RTL_Q_own_signals_seen, 1);
	copy_watch_packet(signal);
	if (c->hsa.leave_own_signals)
		return slot_leave(slot_private_of(c, ref), RTL_UNTIMED_MODE);
	appsig_watch(c, ref, signal);
	return 0;
}

/* How this packet's end will be known. Returns the signal to inject, or 0. */
static inline uint64_t slot_arm(struct dispatch_batch *batch, struct recorder_queue *block,
	slot_ref ref, struct slot_private *private, uint64_t signal, enum dispatch_how how)
{
	uint64_t injected = private->injected;

	if (signal)
		return slot_arm_own(batch, ref, signal);
	if (__builtin_expect(how == DISPATCH_LEAVE, 0)) {
		recorder_count_queue(block, RTL_Q_unstamped, 1);
		return slot_leave(private, RTL_UNTIMED_UNSTAMPED);
	}
	if (__builtin_expect(!injected, 0))
		return slot_leave(private, RTL_UNTIMED_SIGNAL_POOL);
	recorder_count_queue(block, RTL_Q_signals_injected, 1);
	private->kind = SLOT_INJECTED;
	return injected;
}

static inline void batch_append(
	struct dispatch_batch *batch, struct slot_private *private, slot_ref ref)
{
	private->next = batch->first;
	batch->first = ref;
	if (!batch->last)
		batch->last = ref;
}

/*
 * Whether the user wants this dispatch: @gate says what to look at. A kernel that nobody has
 * named may be any, so it is wanted; who is not known to be in a region is not.
 */
static inline bool is_wanted(uint64_t gate, uint32_t symbol, const struct packet_origin *origin)
{
	if (__builtin_expect(!(gate & (GATE_CLOSED | GATE_BY_KERNEL | GATE_BY_REGION)), 1))
		return true;
	return gate_is_open(gate) && !(gate & GATE_BY_KERNEL && symbol & SYMBOL_UNWANTED) &&
	       !(gate & GATE_BY_REGION && !origin->is_in_region);
}

/* It is counted and left alone. */
static __attribute__((noinline, cold)) uint64_t dispatch_drop(
	struct dispatch_batch *batch, uint64_t signal, enum rtl_queue_counter why)
{
	recorder_count_queue(batch->queue->block, why, 1);
	/* After the stop nobody reads times any more. */
	if (signal && why != RTL_Q_skipped_shutdown)
		dispatch_signal_used(batch->capture, signal);
	return 0;
}

uint64_t dispatch_packet(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, const struct packet_origin *origin, enum dispatch_how how)
{
	struct capture *c = batch->capture;
	struct capture_queue *q = batch->queue;
	struct recorder_queue *block = q->block;
	struct slot_private *private;
	struct recorder_slot *slot;
	uint64_t injected, seq;
	uint32_t symbol;
	slot_ref ref;

	/* The calls come first: nothing has to be kept over them. */
	if (!batch->submit_ns)
		batch->submit_ns = clock_boottime_ns();
	symbol = c->hsa.symbol_of(packet->kernel_object);
	seq = recorder_queue_value(block, RTL_Q_dispatched);
	/* The number is given before anything can drop the dispatch (docs/recorder.md, 2.1). */
	recorder_count_queue(block, RTL_Q_dispatched, 1);
	FAULT_POINT("after_dispatched");
	if (__builtin_expect(atomic_load_explicit(&c->is_stopped, memory_order_relaxed), 0))
		return dispatch_drop(batch, signal, RTL_Q_skipped_shutdown);
	if (__builtin_expect(!is_wanted(gate_load(q->gate), symbol, origin), 0))
		return dispatch_drop(batch, signal, RTL_Q_skipped_filter);
	ref = slot_take(batch, c, q);
	if (__builtin_expect(!ref, 0))
		return dispatch_drop(batch, signal, RTL_Q_dropped_recorder_full);
	if (__builtin_expect(c->hsa.count_unlinked, 0) && !origin->call)
		recorder_count_queue(block, RTL_Q_unlinked, 1);
	slot = slot_of(c, ref);
	slot->queue = (uint16_t)q->index;
	slot->seq = seq;
	slot->submit_ns = batch->submit_ns;
	slot_fill(slot, packet, origin, symbol & ~SYMBOL_UNWANTED);
	private = slot_private_of(c, ref);
	private->has_barrier = packet->header >> HSA_PACKET_HEADER_BARRIER & 1;
	private->why = RTL_TIMED;
	private->phase = PHASE_NONE;
	injected = slot_arm(batch, block, ref, private, signal, how);
	atomic_store_explicit(&slot->state, SLOT_SUBMITTED, memory_order_release);
	FAULT_POINT("after_submitted");
	batch_append(batch, private, ref);
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
