// SPDX-License-Identifier: MIT
#include "shim/capture/dispatch.h"

#include <stddef.h>
#include <string.h>
#include <x86intrin.h>

#include "proto/base/clock.h"
#include "shim/base/undisturbed.h"
#include "shim/capture/app_signals.h"
#include "shim/capture/tables/copy_times.h"
#include "shim/hsa/packet.h"
#include "proto/base/fault.h"

/*
 * A producer without free slots harvests for at most a quarter of its time. A harvest also takes
 * long if other threads had the processor, so the pause after it is bounded.
 */
#define DRY_PAUSE_FACTOR   3u
#define DRY_PAUSE_NS_MAX   10000u
/* After this many dispatches the producer checks whether slots were returned. */
#define REFRESH_DISPATCHES 256u

void dispatch_signal_used(struct capture *c, bool is_dispatch, uint64_t signal)
{
	appsig_used(c, signal, APPSIG_PACKET);
	if (is_dispatch)
		appsig_late_suspect(c, signal);
	copy_watch_packet(signal);
}

/*
 * Harvests the queue; returns whether slots were returned. Runs for the first dispatch that finds
 * none, then with pauses.
 */
static bool harvest_for_slots(struct dispatch_batch *batch)
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
 * Finds slots for a queue that has none (docs/capture.md, rule 9): takes prepared ones, else
 * harvests if no other thread does, else makes new ones, else gives up. Never waits for the shim
 * thread, which may have no processor.
 */
static bool slots_find(struct dispatch_batch *batch)
{
	struct capture_queue *q = batch->queue;
	struct undisturbed undisturbed;

	q->free = pool_take_ready(batch->capture);
	if (q->free) {
		atomic_store_explicit(&q->extra,
			atomic_load_explicit(&q->extra, memory_order_relaxed) + RECORDER_SLOT_CHUNK,
			memory_order_relaxed);
		return true;
	}
	undisturbed_begin(&undisturbed);
	if (!harvest_for_slots(batch))
		q->free = pool_grow(batch->capture, q);
	undisturbed_end(&undisturbed);
	return q->free || atomic_load_explicit(&q->returned, memory_order_relaxed);
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
	if (!has_returned && !slots_find(batch))
		return false;
	if (!q->free)
		q->free = atomic_exchange_explicit(&q->returned, 0, memory_order_acquire);
	return q->free != 0;
}

/*
 * Recently used slots are still in the cache. So once slots have been returned, the queue uses
 * those first and puts the rest of its long chain into `spare`.
 */
static __attribute__((noinline)) void slots_refresh(struct capture_queue *q)
{
	if (q->spare || !atomic_load_explicit(&q->returned, memory_order_relaxed))
		return;
	q->spare = q->free;
	q->free = atomic_exchange_explicit(&q->returned, 0, memory_order_acquire);
}

/*
 * Takes the first free slot. `taking` names it before anything is counted, for dispatch_resume().
 */
static inline void slot_pop(struct capture *c, struct capture_queue *q, slot_ref ref)
{
	q->taking = ref;
	atomic_signal_fence(memory_order_seq_cst);
	q->free = slot_private_of(c, ref)->next;
	recorder_word_add(&q->taken, 1);
}

/* Takes a slot, or returns 0 if there is none; @seq is the dispatch's number. */
static slot_ref slot_take(struct dispatch_batch *batch, uint64_t seq)
{
	struct capture_queue *q = batch->queue;
	slot_ref ref;

	if (!(seq % REFRESH_DISPATCHES))
		slots_refresh(q);
	if (!q->free && !slots_refill(batch))
		return 0;
	ref = q->free;
	slot_pop(batch->capture, q, ref);
	return ref;
}

/*
 * Fills the fields common to every dispatch. The caller sets submit_ns and symbol, and publishes
 * the slot; until then it is FREE.
 */
static inline void slot_fill(struct recorder_slot *slot, const struct capture_queue *q,
	const hsa_kernel_dispatch_packet_t *packet, const struct packet_origin *origin,
	uint64_t seq)
{
	slot->queue = (uint16_t)q->index;
	slot->node = origin->node;
	slot->seq = seq;
	atomic_store_explicit(&slot->frame, 0, memory_order_relaxed);
	slot->start_tick = packet->kernel_object;
	memcpy((char *)slot + offsetof(struct recorder_slot, marker), &origin->context,
		sizeof(origin->context));
	memcpy((char *)slot + offsetof(struct recorder_slot, symbol), packet,
		RECORDER_SLOT_PACKET_BYTES);
}

/* Publishes the filled slot; from here on it belongs to the harvester. */
static inline void slot_hand_over(struct capture_queue *q, struct recorder_slot *slot,
	struct slot_private *private, slot_ref ref)
{
	atomic_store_explicit(&slot->state, SLOT_SUBMITTED, memory_order_release);
	FAULT_POINT("after_submitted");
	atomic_store_explicit(&private->link, 0, memory_order_relaxed);
	atomic_store_explicit(q->trail, ref, memory_order_release);
	q->trail = &private->link;
}

/* Marks the slot as untimed for the reason @why. Returns 0: there is no signal to inject. */
static inline uint64_t slot_mark_untimed(struct slot_private *private, enum rtl_untimed why)
{
	private->kind = SLOT_PLAIN;
	private->why = (uint8_t)why;
	return 0;
}

/* Prepares a slot for a packet that has the program's signal. */
static __attribute__((noinline)) uint64_t slot_watch_own_signal(
	struct dispatch_batch *batch, slot_ref ref, uint64_t signal)
{
	struct capture *c = batch->capture;

	recorder_count_queue(batch->queue->block, RTL_Q_own_signals_seen, 1);
	copy_watch_packet(signal);
	if (c->hsa.leave_own_signals)
		return slot_mark_untimed(slot_private_of(c, ref), RTL_UNTIMED_MODE);
	appsig_watch(c, ref, signal);
	return 0;
}

/* Prepares a slot for a packet that gets our signal, which is returned. */
static inline uint64_t slot_inject_signal(struct recorder_queue *block,
	struct slot_private *private, const hsa_kernel_dispatch_packet_t *packet)
{
	private->begin = packet->header & SLOT_BEGIN_MASK;
	recorder_count_queue(block, RTL_Q_signals_injected, 1);
	return private->injected;
}

/* Chooses how the end of this packet will be known. Returns the signal to inject, or 0. */
static uint64_t slot_choose_signal(struct dispatch_batch *batch, slot_ref ref,
	const hsa_kernel_dispatch_packet_t *packet, uint64_t signal, enum dispatch_how how)
{
	struct slot_private *private = slot_private_of(batch->capture, ref);
	struct recorder_queue *block = batch->queue->block;

	if (!signal && how == DISPATCH_STAMP && private->injected)
		return slot_inject_signal(block, private, packet);
	private->begin = packet->header & SLOT_BEGIN_MASK;
	if (signal)
		return slot_watch_own_signal(batch, ref, signal);
	if (how == DISPATCH_STAMP)
		return slot_mark_untimed(private, RTL_UNTIMED_SIGNAL_POOL);
	recorder_count_queue(block, RTL_Q_unstamped, 1);
	return slot_mark_untimed(private, RTL_UNTIMED_UNSTAMPED);
}

/*
 * Whether the user selected this dispatch; @gate says what to check. A kernel without a name could
 * be any, so it is selected. A dispatch whose region is unknown is not.
 */
static bool is_selected(uint64_t gate, uint32_t symbol, const struct packet_origin *origin)
{
	return gate_is_open(gate) && !(gate & GATE_BY_KERNEL && symbol & SYMBOL_UNWANTED) &&
	       !(gate & GATE_BY_REGION && !(origin->context.tid & ORIGIN_IN_REGION));
}

/* Counts the dispatch and leaves its packet alone. */
static __attribute__((noinline, cold)) uint64_t dispatch_drop(
	struct dispatch_batch *batch, uint64_t signal, enum rtl_queue_counter why)
{
	recorder_count_queue(batch->queue->block, why, 1);
	/* After capture_stop() no times are read any more. */
	if (signal && why != RTL_Q_skipped_shutdown)
		dispatch_signal_used(batch->capture, true, signal);
	return 0;
}

/*
 * Computes the submit time by the queue's clock line. False if there is no line, or if it has to be
 * refreshed.
 */
static inline bool submit_time_read(struct dispatch_batch *batch, const struct ticks *ticks)
{
	return batch->submit_ns ||
	       (ticks_has_line(ticks) && ticks_to_ns(ticks, __rdtsc(), &batch->submit_ns));
}

/*
 * The slow path for a dispatch that has its number @seq; @ref is its slot, 0 if it has none yet.
 */
static __attribute__((noinline)) uint64_t dispatch_numbered(struct dispatch_batch *batch,
	const hsa_kernel_dispatch_packet_t *packet, uint64_t signal,
	const struct packet_origin *origin, enum dispatch_how how, uint64_t seq, slot_ref ref)
{
	struct capture *c = batch->capture;
	struct capture_queue *q = batch->queue;
	uint32_t symbol = c->hsa.symbol_of(packet->kernel_object);
	struct recorder_slot *slot;
	uint64_t injected;

	if (!ref && atomic_load_explicit(&c->is_stopped, memory_order_relaxed))
		return dispatch_drop(batch, signal, RTL_Q_skipped_shutdown);
	if (!ref && !is_selected(gate_load(q->gate), symbol, origin)) {
		if (!gate_is_open(gate_load(q->gate)))
			dispatch_batch_is_skipped(batch);
		return dispatch_drop(batch, signal, RTL_Q_skipped_filter);
	}
	if (!ref)
		ref = slot_take(batch, seq);
	if (!ref)
		return dispatch_drop(batch, signal, RTL_Q_dropped_recorder_full);
	if (c->hsa.count_unlinked && !origin->context.call)
		recorder_count_queue(q->block, RTL_Q_unlinked, 1);
	slot = slot_of(c, ref);
	slot_fill(slot, q, packet, origin, seq);
	slot->submit_ns = batch->submit_ns;
	slot->symbol = symbol & ~SYMBOL_UNWANTED;
	slot->tid &= ~ORIGIN_IN_REGION;
	packet_grid(packet, slot->grid);
	injected = slot_choose_signal(batch, ref, packet, signal, how);
	slot_hand_over(q, slot, slot_private_of(c, ref), ref);
	if (signal && c->hsa.packet_note)
		c->hsa.packet_note(&(struct packet_note){.type = HSA_PACKET_TYPE_KERNEL_DISPATCH,
			.queue = q->index,
			.tid = origin->context.tid & ~ORIGIN_IN_REGION,
			.dispatches = seq + 1,
			.submit_ns = batch->submit_ns,
			.signal = signal});
	return injected;
}

/* The slow path, which handles every kind of dispatch. */
static __attribute__((noinline)) uint64_t dispatch_slow(struct dispatch_batch *batch,
	const hsa_kernel_dispatch_packet_t *packet, uint64_t signal,
	const struct packet_origin *origin, enum dispatch_how how)
{
	struct capture_queue *q = batch->queue;
	uint64_t seq = recorder_queue_value(q->block, RTL_Q_dispatched);

	if (!submit_time_read(batch, &q->ticks))
		batch->submit_ns = ticks_read_ns(&q->ticks);
	q->taking = 0;
	atomic_signal_fence(memory_order_seq_cst);
	/*
	 * The dispatch gets its number before anything can drop it (docs/recorder.md, section 2).
	 */
	recorder_count_queue(q->block, RTL_Q_dispatched, 1);
	FAULT_POINT("after_dispatched");
	return dispatch_numbered(batch, packet, signal, origin, how, seq, 0);
}

/* Whether only the kernel and the time remain to be checked; @ref is the next free slot. */
static inline bool is_fast_case(struct capture *c, const struct capture_queue *q,
	const hsa_kernel_dispatch_packet_t *packet, slot_ref ref, uint64_t seq)
{
	return ref && slot_private_of(c, ref)->injected && seq % REFRESH_DISPATCHES &&
	       !atomic_load_explicit(&c->is_careful, memory_order_relaxed) &&
	       !(gate_load(q->gate) & (GATE_CLOSED | GATE_BY_KERNEL | GATE_BY_REGION)) &&
	       packet_type(packet->header) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
}

/*
 * The fast path. Without @signal it contains no call, so that no registers have to be saved. It
 * takes and counts nothing until it is sure to finish: what it has written before is in a slot that
 * is still FREE, and the slow path writes it again.
 */
static inline __attribute__((always_inline)) uint64_t dispatch_fast(struct dispatch_batch *batch,
	const hsa_kernel_dispatch_packet_t *packet, uint64_t signal,
	const struct packet_origin *origin)
{
	struct capture *c = batch->capture;
	struct capture_queue *q = batch->queue;
	uint64_t seq = recorder_queue_value(q->block, RTL_Q_dispatched), injected;
	struct slot_private *private = slot_private_of(c, q->free);
	struct recorder_slot *slot = slot_of(c, q->free);
	slot_ref ref;

	if (__builtin_expect(!is_fast_case(c, q, packet, q->free, seq), 0))
		return dispatch_slow(batch, packet, signal, origin, DISPATCH_STAMP);
	slot_fill(slot, q, packet, origin, seq);
	slot->symbol = symbols_glance(c->hsa.symbols, c->hsa.symbols_mask, packet->kernel_object);
	/* The gate is loaded before the time is read, and again: the time lies in the interval. */
	if (__builtin_expect(!slot->symbol || !submit_time_read(batch, &q->ticks) ||
				     !gate_is_open(gate_load(q->gate)),
		    0))
		return dispatch_slow(batch, packet, signal, origin, DISPATCH_STAMP);
	slot->submit_ns = batch->submit_ns;
	ref = q->taking = q->free;
	atomic_signal_fence(memory_order_seq_cst);
	recorder_count_queue(q->block, RTL_Q_dispatched, 1);
	FAULT_POINT("after_dispatched");
	atomic_signal_fence(memory_order_seq_cst);
	q->free = private->next;
	recorder_word_add(&q->taken, 1);
	if (signal) {
		private->begin = packet->header & SLOT_BEGIN_MASK;
		injected = slot_watch_own_signal(batch, ref, signal);
	} else {
		injected = slot_inject_signal(q->block, private, packet);
	}
	slot_hand_over(q, slot, private, ref);
	return injected;
}

static __attribute__((noinline)) uint64_t dispatch_fast_injected(struct dispatch_batch *batch,
	const hsa_kernel_dispatch_packet_t *packet, const struct packet_origin *origin)
{
	return dispatch_fast(batch, packet, 0, origin);
}

/* @signal belongs to the program. */
static __attribute__((noinline)) uint64_t dispatch_fast_own(struct dispatch_batch *batch,
	const hsa_kernel_dispatch_packet_t *packet, uint64_t signal,
	const struct packet_origin *origin)
{
	return dispatch_fast(batch, packet, signal, origin);
}

uint64_t dispatch_packet(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, const struct packet_origin *origin, enum dispatch_how how)
{
	if (__builtin_expect(how != DISPATCH_STAMP, 0))
		return dispatch_slow(batch, packet, signal, origin, how);
	if (signal)
		return dispatch_fast_own(batch, packet, signal, origin);
	return dispatch_fast_injected(batch, packet, origin);
}

/*
 * Reports a barrier packet. AND and OR packets have dep_signal at the same offset, so one cast
 * serves both.
 */
static __attribute__((noinline, cold)) void barrier_note(struct dispatch_batch *batch,
	const hsa_kernel_dispatch_packet_t *packet, uint64_t signal, uint32_t tid)
{
	unsigned type = packet_type(packet->header);
	struct capture_queue *q = batch->queue;

	if (type != HSA_PACKET_TYPE_BARRIER_AND && type != HSA_PACKET_TYPE_BARRIER_OR)
		return;
	if (!submit_time_read(batch, &q->ticks))
		batch->submit_ns = ticks_read_ns(&q->ticks);
	batch->capture->hsa.packet_note(&(struct packet_note){.type = type,
		.queue = q->index,
		.tid = tid & ~ORIGIN_IN_REGION,
		.dispatches = recorder_queue_value(q->block, RTL_Q_dispatched),
		.submit_ns = batch->submit_ns,
		.signal = signal,
		.dep = ((const hsa_barrier_and_packet_t *)(const void *)packet)->dep_signal});
}

void dispatch_other(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, uint32_t tid)
{
	recorder_count_queue(batch->queue->block, RTL_Q_skipped_not_kernel, 1);
	if (__builtin_expect(batch->capture->hsa.packet_note != NULL, 0))
		barrier_note(batch, packet, signal, tid);
	/* A barrier packet that completes with a watched signal overwrites the times in it. */
	dispatch_signal_used(batch->capture, false, signal);
}

void dispatch_end(struct dispatch_batch *batch)
{
	recorder_count_queue(batch->queue->block, RTL_Q_intercept_calls, 1);
}

/* ---- a dispatch that was left half done ------------------------------------------------ */

/* Every dispatch with a number either has a slot or is counted as one without. */
static bool is_accounted(const struct capture_queue *q)
{
	static const enum rtl_queue_counter without[] = {
		RTL_Q_skipped_shutdown, RTL_Q_skipped_filter, RTL_Q_dropped_recorder_full};
	uint64_t count = atomic_load_explicit(&q->taken, memory_order_relaxed);

	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		count += recorder_queue_value(q->block, without[i]);
	return count == recorder_queue_value(q->block, RTL_Q_dispatched);
}

bool dispatch_skip_resume(struct capture_queue *q)
{
	if (is_accounted(q))
		return false;
	recorder_count_queue(q->block, RTL_Q_skipped_filter, 1);
	return true;
}

bool dispatch_resume(struct dispatch_batch *batch, const hsa_kernel_dispatch_packet_t *packet,
	uint64_t signal, const struct dispatch_mark *mark, uint64_t *ret_signal)
{
	static const struct packet_origin none = {.node = RECORDER_NODE_UNKNOWN};
	struct capture *c = batch->capture;
	struct capture_queue *q = batch->queue;
	slot_ref ref = q->taking;
	struct slot_private *private = slot_private_of(c, ref);

	/*
	 * The clock line may be half updated. A chain that was being moved between free and spare
	 * may be in both.
	 */
	q->ticks = (struct ticks){0};
	if (q->spare == q->free)
		q->spare = 0;
	*ret_signal = 0;
	if (recorder_queue_value(q->block, RTL_Q_dispatched) == mark->dispatched)
		return false;
	if (ref && harvest_has_reached(c, q, ref)) {
		q->trail = &private->link;
		*ret_signal = private->kind == SLOT_INJECTED ? private->injected : 0;
		return true;
	}
	if (!ref && is_accounted(q))
		return true;
	if (ref && q->free == ref)
		q->free = private->next;
	if (ref && !is_accounted(q))
		recorder_word_add(&q->taken, 1);
	if (ref)
		atomic_store_explicit(&slot_of(c, ref)->state, SLOT_FREE, memory_order_relaxed);
	if (ref && signal)
		appsig_forget(c, ref, signal);
	atomic_store_explicit(
		&q->block->producer[RTL_Q_signals_injected], mark->injected, memory_order_relaxed);
	recorder_count_queue(q->block, RTL_Q_unattributed, 1);
	batch->submit_ns = ticks_read_ns(&q->ticks);
	*ret_signal = dispatch_numbered(batch, packet, signal, &none,
		signal ? DISPATCH_LEAVE : DISPATCH_STAMP, mark->dispatched, ref);
	return true;
}
