/* SPDX-License-Identifier: MIT */
#include "shim/capture/ends.h"

#include <hsa/amd_hsa_signal.h>

#include "proto/base/clock.h"
#include "proto/base/fault.h"
#include "shim/base/wait.h"
#include "shim/capture/app_signals.h"
#include "shim/capture/capture_internal.h"

/*
 * A queue's chain leads from `first` through slot_private.link over everything in flight, oldest
 * first. The producer appends to it, and the harvester unlinks what is DONE. A slot that a thread
 * reads here may meanwhile belong to a later dispatch. Before a slot that was unlinked can be used
 * again, the harvester raises `changes`, so a reader that finds it unchanged has read slots of the
 * chain. A write takes effect only if the slot still belongs to the same dispatch: number and queue
 * are compared together with the state, and until there are ticks, end_tick holds a value that is
 * unique to each use.
 */

/* The contents of one slot; the fields may be read at different moments. */
struct glimpse {
	uint64_t head; /* the slot's first eight bytes: state, queue, node */
	uint64_t seq;
	uint64_t start, end; /* as in the slot; unique to this use, see above */
	slot_ref link;
	uint8_t kind, has_barrier;
	uint64_t injected;
};

struct times {
	uint64_t start, end;
};

__extension__ typedef unsigned __int128 pair;

static enum recorder_slot_state state_in(uint64_t head)
{
	return (enum recorder_slot_state)(head & UINT16_MAX);
}

static uint32_t queue_in(uint64_t head)
{
	return head >> 16 & UINT16_MAX;
}

/*
 * Marks functions that read slots while other threads write them, see above. Inline, unless TSan is
 * on.
 */
#ifdef __SANITIZE_THREAD__
#define RACING __attribute__((no_sanitize_thread, noinline)) static
#else
#define RACING __attribute__((always_inline)) static inline
#endif

RACING struct glimpse slot_glimpse(struct capture *c, slot_ref ref)
{
	const struct recorder_slot *slot = slot_of(c, ref);
	const struct slot_private *private = slot_private_of(c, ref);

	return (struct glimpse){
		.head = __atomic_load_n((const uint64_t *)(const void *)slot, __ATOMIC_ACQUIRE),
		.seq = __atomic_load_n(&slot->seq, __ATOMIC_ACQUIRE),
		.start = __atomic_load_n(&slot->start_tick, __ATOMIC_ACQUIRE),
		.end = __atomic_load_n(&slot->end_tick, __ATOMIC_ACQUIRE),
		.link = __atomic_load_n((const slot_ref *)&private->link, __ATOMIC_ACQUIRE),
		.kind = __atomic_load_n(&private->kind, __ATOMIC_ACQUIRE),
		.has_barrier = __atomic_load_n(&private->has_barrier, __ATOMIC_ACQUIRE),
		.injected = __atomic_load_n(&private->injected, __ATOMIC_ACQUIRE),
	};
}

/*
 * Returns false if the memory held another value. In assembly, since GCC has no builtin for this
 * that all sanitizers leave alone.
 */
static inline bool pair_exchange(
	void *at, uint64_t old_low, uint64_t old_high, uint64_t low, uint64_t high)
{
	bool is_done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(is_done), "+m"(*(pair *)at), "+a"(old_low), "+d"(old_high)
			 : "b"(low), "c"(high)
			 : "memory");
	return is_done;
}

/* Whether ticks can be stored: for a kernel without a name, start_tick holds its object. */
RACING bool has_room(const struct recorder_slot *slot, const struct glimpse *seen)
{
	/* Exactly RECORDER_NO_TICK means that the harvester is writing them. */
	return __atomic_load_n(&slot->symbol, __ATOMIC_RELAXED) &&
	       (!seen->end || seen->end > RECORDER_NO_TICK);
}

static void slot_end(
	struct capture *c, slot_ref ref, const struct glimpse *seen, const struct times *times)
{
	struct recorder_slot *slot = slot_of(c, ref);

	FAULT_POINT("end_seen");
	if (times->start && times->end >= times->start && has_room(slot, seen))
		(void)pair_exchange(
			&slot->start_tick, seen->start, seen->end, times->start, times->end);
	FAULT_POINT("end_ticks");
	(void)pair_exchange(slot, seen->head, seen->seq,
		(seen->head & ~(uint64_t)UINT16_MAX) | SLOT_ENDED, seen->seq);
	FAULT_POINT("end_written");
}

/* Whether this dispatch has ended; its times are 0 if they are not available (yet). */
static inline bool has_ended(
	struct capture *c, slot_ref ref, const struct glimpse *seen, struct times *ret)
{
	const amd_signal_t *signal = (const amd_signal_t *)(uintptr_t)seen->injected;

	*ret = (struct times){0};
	switch ((enum slot_kind)seen->kind) {
	case SLOT_INJECTED:
		if (!signal || __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE) >= 1)
			return false;
		ret->end = __atomic_load_n(&signal->end_ts, __ATOMIC_RELAXED);
		ret->start = __atomic_load_n(&signal->start_ts, __ATOMIC_RELAXED);
		return true;
	case SLOT_APP:
		return appsig_observe(c, ref, &ret->start, &ret->end);
	case SLOT_PLAIN:
		break;
	}
	return true;
}

/* ---- one queue ---------------------------------------------------------------------------- */

/*
 * Everything up to this slot has ended: its reference, with the number in the upper half, both
 * modulo 2^32.
 */
static uint64_t mark_of(slot_ref ref, uint64_t seq)
{
	return seq << 32 | ref;
}

/* The slot of the queue's mark, if it is still in the chain; 0 if not. */
static slot_ref chain_mark(struct capture *c, struct capture_queue *q)
{
	uint64_t mark = atomic_load_explicit(&q->ended, memory_order_acquire);
	struct glimpse seen;
	slot_ref ref = (slot_ref)mark;

	if (!ref)
		return 0;
	seen = slot_glimpse(c, ref);
	return state_in(seen.head) == SLOT_ENDED && queue_in(seen.head) == q->index &&
			       mark_of(ref, seen.seq) == mark
		       ? ref
		       : 0;
}

/* Returns false if the harvester has changed the chain meanwhile. */
static bool chain_look(struct capture *c, struct capture_queue *q)
{
	uint64_t changes = atomic_load_explicit(&q->changes, memory_order_acquire);
	uint64_t old_mark = atomic_load_explicit(&q->ended, memory_order_relaxed);
	uint64_t mark = old_mark;
	bool is_blocked = false;
	slot_ref ref = chain_mark(c, q);

	if (!ref)
		ref = atomic_load_explicit(&q->first, memory_order_acquire);
	while (ref) {
		struct glimpse seen = slot_glimpse(c, ref);
		struct times times;

		if (atomic_load_explicit(&q->changes, memory_order_acquire) != changes)
			return false;
		if (state_in(seen.head) == SLOT_SUBMITTED) {
			if (has_ended(c, ref, &seen, &times)) {
				slot_end(c, ref, &seen, &times);
			} else if (is_blocked && seen.has_barrier) {
				break; /* and nothing behind it has begun */
			} else {
				is_blocked = true;
			}
		}
		if (!is_blocked && state_in(seen.head) != SLOT_FREE)
			mark = mark_of(ref, seen.seq);
		ref = seen.link;
	}
	/* A thread that has seen less may write last; then some slots are checked again. */
	if (mark != old_mark)
		atomic_store_explicit(&q->ended, mark, memory_order_release);
	return true;
}

static __attribute__((noinline)) void queue_look(struct capture *c, struct capture_queue *q)
{
	while (!chain_look(c, q))
		;
}

/* ---- all queues ------------------------------------------------------------------------ */

void ends_look(struct capture *c)
{
	uint32_t used;

	atomic_fetch_add(&c->lookers, 1);
	used = atomic_load(&c->is_closed) ? 0 : recorder_queues_used(&c->recorder);
	for (uint32_t i = 0; i < used; i++)
		if (queue_is_live(&c->queues[i]))
			queue_look(c, &c->queues[i]);
	atomic_fetch_sub_explicit(&c->lookers, 1, memory_order_release);
}

bool ends_stop(struct capture *c, uint64_t deadline_ns)
{
	unsigned checks = 0;

	atomic_store(&c->is_closed, 1);
	while (atomic_load(&c->lookers)) {
		if (clock_monotonic_ns() >= deadline_ns)
			return false;
		wait_between_checks(&checks);
	}
	return true;
}
