// SPDX-License-Identifier: MIT
/*
 * Where slots and their signals come from and go to. All functions except pool_take_ready() and
 * pool_grow() run under the harvest lock. Only these two, pool_slots_free() and pool_flush() may
 * run on the dispatch path; of them only pool_grow() calls into the runtime.
 */
#include "shim/base/ahead.h"
#include "shim/capture/capture_internal.h"
#include "shim/capture/signals.h"
#include "shim/capture/touch.h"

/* The device may write this much later to a signal that fired without times or did not fire. */
#define QUARANTINE_NS	  1000000000ull
/* The last lots are reserved for queues with fewer than QUEUE_SLOTS_AMPLE slots. */
#define LOTS_RESERVED	  16u
#define QUEUE_SLOTS_AMPLE 4096u
/*
 * Once all slots are given out, queues share them in lots of at least this size, see lot_least().
 */
#define LOT_SLOTS_LEAST	  256u
/*
 * What a dispatch makes for its queue if no prepared slots are left: few enough not to take long,
 * and enough that the next dispatches need not do the same.
 */
#define LOT_SLOTS_GROWN	  256u
/*
 * A new queue gets up to QUEUE_SLOTS_FIRST ready slots; up to QUEUE_SLOTS_MADE are made if none are
 * ready.
 */
#define QUEUE_SLOTS_FIRST 16384u
#define QUEUE_SLOTS_MADE  4096u
/*
 * A queue gets at most this many slots beyond those in flight, since each costs time and memory.
 */
#define QUEUE_SLOTS_MORE  4096u

static slot_ref slot_list_take(struct capture *c, struct slot_list *list)
{
	slot_ref ref = list->head;

	list->head = slot_private_of(c, ref)->next;
	if (!list->head)
		list->tail = 0;
	list->count--;
	return ref;
}

/*
 * The least size of a lot: LOT_SLOTS_LEAST, or half of a queue's equal share of all slots if that
 * is less.
 */
static uint32_t lot_least(const struct capture *c)
{
	uint32_t half_share = RECORDER_SLOTS / 2 / (c->queues_live ? c->queues_live : 1);

	return half_share < LOT_SLOTS_LEAST ? half_share : LOT_SLOTS_LEAST;
}

static bool can_carve(const struct capture *c)
{
	return recorder_slots_used(&c->recorder) + RECORDER_SLOT_CHUNK <= RECORDER_SLOTS;
}

/*
 * Gives signals to slots that were never used: 1,024 slots take a few hundred microseconds. Pages
 * of slots take memory only once a dispatch fills the first slot of a page.
 */
static void lot_begin(struct capture *c, uint32_t first, uint32_t count, struct slot_list *lot)
{
	*lot = (struct slot_list){0};
	for (slot_ref ref = first + 1; ref <= first + count; ref++) {
		/*
		 * Written before it is read: reading first would map the zero page, and replacing
		 * that interrupts every processor that runs a thread of this process.
		 */
		slot_list_append(c, lot, ref);
		signals_give(c, ref);
	}
}

/* Takes no lock, so a thread that is preempted here holds up no other. */
static bool lot_carve(struct capture *c, struct slot_list *lot)
{
	const uint32_t count = RECORDER_SLOT_CHUNK;
	uint32_t first;

	if (!recorder_slots_carve(&c->recorder, count, 0, &first))
		return false;
	/*
	 * One call of ahead_all() costs as much as the page faults on real hardware, and far less
	 * than they do on a virtual machine.
	 */
	ahead_all(c->slots + first, count * sizeof(*c->slots));
	signals_touch(c, first + 1, count);
	lot_begin(c, first, count, lot);
	return true;
}

slot_ref pool_grow(struct capture *c, struct capture_queue *q)
{
	uint32_t extra = atomic_load_explicit(&q->extra, memory_order_relaxed);
	uint32_t keep = extra < QUEUE_SLOTS_AMPLE ? 0 : LOTS_RESERVED * RECORDER_SLOT_CHUNK;
	struct slot_list lot;
	uint32_t first;

	if (!recorder_slots_carve(&c->recorder, LOT_SLOTS_GROWN, keep, &first))
		return 0;
	lot_begin(c, first, LOT_SLOTS_GROWN, &lot);
	recorder_count(&c->recorder, RTL_P_slots_grown, lot.count);
	atomic_store_explicit(&q->extra, extra + lot.count, memory_order_relaxed);
	return lot.head;
}

static void queue_give_lot(struct capture *c, struct capture_queue *q, const struct slot_list *lot)
{
	q->owned += lot->count;
	slot_chain_push(c, &q->returned, lot->head, lot->tail);
}

static bool is_scarce(const struct capture *c, const struct capture_queue *q)
{
	uint32_t left = RECORDER_SLOTS - recorder_slots_used(&c->recorder) + c->loose.count;

	return queue_owned(q) >= QUEUE_SLOTS_AMPLE && left <= LOTS_RESERVED * RECORDER_SLOT_CHUNK;
}

slot_ref pool_take_ready(struct capture *c)
{
	for (uint32_t i = 0; i < READY_LOTS; i++) {
		slot_ref first;

		if (!atomic_load_explicit(&c->ready[i], memory_order_relaxed))
			continue;
		first = atomic_exchange_explicit(&c->ready[i], 0, memory_order_acquire);
		if (first)
			return first;
	}
	return 0;
}

static bool queue_give_ready(struct capture *c, struct capture_queue *q)
{
	struct slot_list lot = {.head = pool_take_ready(c), .count = RECORDER_SLOT_CHUNK};

	if (!lot.head)
		return false;
	lot.tail = lot.head;
	while (slot_private_of(c, lot.tail)->next)
		lot.tail = slot_private_of(c, lot.tail)->next;
	queue_give_lot(c, q, &lot);
	return true;
}

/* Moves one lot from `loose` to @lot. Fails if `loose` has fewer than @least slots. */
static bool lot_take_loose(struct capture *c, uint32_t least, struct slot_list *lot)
{
	*lot = (struct slot_list){0};
	if (c->loose.count < least)
		return false;
	while (lot->count < RECORDER_SLOT_CHUNK && c->loose.count) {
		slot_ref ref = slot_list_take(c, &c->loose);

		signals_give(c, ref);
		slot_list_append(c, lot, ref);
	}
	return true;
}

static bool queue_give_loose(struct capture *c, struct capture_queue *q, uint32_t least)
{
	struct slot_list lot;

	if (!lot_take_loose(c, least, &lot))
		return false;
	queue_give_lot(c, q, &lot);
	return true;
}

static bool queue_top_up(struct capture *c, struct capture_queue *q)
{
	struct slot_list lot;

	if (queue_give_loose(c, q, RECORDER_SLOT_CHUNK))
		return true;
	if (!lot_carve(c, &lot))
		return queue_give_loose(c, q, lot_least(c)) || queue_give_ready(c, q);
	queue_give_lot(c, q, &lot);
	return true;
}

static void chain_to_list(struct capture *c, struct slot_list *list, slot_ref ref)
{
	while (ref) {
		slot_ref next = slot_private_of(c, ref)->next;

		slot_list_append(c, list, ref);
		ref = next;
	}
}

static uint32_t slots_in_use(const struct capture_queue *q)
{
	return q->in_flight.count + q->done.count;
}

static struct capture_queue *queue_with_most(const struct capture *c)
{
	uint32_t blocks = recorder_queues_used(&c->recorder), most = 2 * lot_least(c);
	struct capture_queue *victim = NULL;

	for (uint32_t i = 0; i < blocks; i++) {
		struct capture_queue *q = &c->queues[i];
		uint32_t spare = queue_owned(q) - slots_in_use(q);

		if (!queue_is_live(q) || queue_owned(q) < slots_in_use(q) || spare < most)
			continue;
		most = spare;
		victim = q;
	}
	return victim;
}

/*
 * Takes half of the free slots of the queue that has most. Returns false if no queue can give up a
 * lot.
 */
static bool slots_steal(struct capture *c)
{
	struct capture_queue *victim = queue_with_most(c);
	struct slot_list free = {0};
	slot_ref held[2];

	if (!victim)
		return false;
	chain_to_list(
		c, &free, atomic_exchange_explicit(&victim->returned, 0, memory_order_acquire));
	/*
	 * Most free slots of an idle queue are in its producer's chains. They are taken only if no
	 * thread walks the queue.
	 */
	c->walks->take_free(c, victim->index, held);
	chain_to_list(c, &free, held[0]);
	chain_to_list(c, &free, held[1]);
	for (uint32_t half = free.count / 2; half; half--) {
		slot_list_append(c, &c->loose, slot_list_take(c, &free));
		victim->owned--;
	}
	if (free.count)
		slot_chain_push(c, &victim->returned, free.head, free.tail);
	return c->loose.count >= lot_least(c);
}

/* ---- how many slots each queue gets ---------------------------------------------------- */

/*
 * Slots that a queue gets in advance: enough for its whole ring in flight, but at most its equal
 * share of a quarter of all slots.
 */
static uint32_t share_of(const struct capture *c, const struct capture_queue *q)
{
	uint32_t equal_share = RECORDER_SLOTS / 4 / (c->queues_live ? c->queues_live : 1);
	uint32_t most = q->ring_packets < QUEUE_SLOTS_FIRST ? q->ring_packets : QUEUE_SLOTS_FIRST;

	return most < equal_share ? most : equal_share;
}

void pool_begin(struct capture *c, struct capture_queue *q)
{
	uint32_t share = share_of(c, q);
	/* A device reads on in the ring before the earlier packets have finished. */
	uint32_t most = share < q->ring_packets ? share : share + RECORDER_SLOT_CHUNK;
	uint32_t least = most < QUEUE_SLOTS_MADE ? most : QUEUE_SLOTS_MADE;

	if (queue_needs_none(q))
		return;
	while (q->owned < most && queue_give_ready(c, q))
		;
	while (q->owned < least && queue_top_up(c, q))
		;
	/* However many queues there are, none starts without slots if another can give up some. */
	if (!q->owned)
		(void)(queue_give_ready(c, q) || queue_top_up(c, q) ||
			(slots_steal(c) && queue_top_up(c, q)));
}

/*
 * A queue should have twice the slots that are in use, or QUEUE_SLOTS_MORE more: for this burst and
 * for the next one.
 */
static bool is_short(const struct capture *c, const struct capture_queue *q)
{
	uint32_t used = slots_in_use(q);
	uint32_t want =
		used + (used < QUEUE_SLOTS_MORE ? used : QUEUE_SLOTS_MORE) + RECORDER_SLOT_CHUNK;
	uint32_t share = share_of(c, q) + RECORDER_SLOT_CHUNK;

	return queue_owned(q) < (want < share ? share : want);
}

/*
 * slots_steal() leaves the victim enough slots, so queues cannot steal from each other for ever.
 */
static bool is_starving(const struct capture *c, const struct capture_queue *q)
{
	return queue_owned(q) < slots_in_use(q) + lot_least(c);
}

static struct capture_queue *queue_in_need(struct capture *c)
{
	uint32_t blocks = recorder_queues_used(&c->recorder);

	for (uint32_t i = 0; i < blocks; i++) {
		struct capture_queue *q = &c->queues[i];

		if (queue_is_live(q) && !queue_needs_none(q) && is_short(c, q) &&
			!is_scarce(c, q) && (can_carve(c) || is_starving(c, q)))
			return q;
	}
	return NULL;
}

static _Atomic slot_ref *find_empty_ready(struct capture *c)
{
	if (c->hsa.expects_no_queues || gate_is_shut(gate_load(&gate_word)))
		return NULL;
	for (uint32_t i = 0; i < READY_LOTS; i++)
		if (!atomic_load_explicit(&c->ready[i], memory_order_relaxed))
			return &c->ready[i];
	return NULL;
}

bool pool_provide(struct capture *c)
{
	_Atomic slot_ref *ready = find_empty_ready(c);
	struct capture_queue *q;
	struct slot_list lot;
	bool is_given, is_pressed;

	harvest_lock_wait(c);
	q = queue_in_need(c);
	/* The queue has used more than half of its slots, so it will use these at once. */
	is_pressed = q && queue_owned(q) < 2 * slots_in_use(q);
	is_given = q && queue_give_loose(c, q, RECORDER_SLOT_CHUNK);
	if (q && !is_given && !can_carve(c))
		is_given = queue_give_loose(c, q, lot_least(c)) ||
			   (slots_steal(c) && queue_give_loose(c, q, lot_least(c)));
	if (!q && ready && lot_take_loose(c, RECORDER_SLOT_CHUNK, &lot)) {
		atomic_store_explicit(ready, lot.head, memory_order_release);
		is_given = true;
	}
	harvest_lock_release(c);
	if (is_given)
		return true;
	if ((!q && !ready) || !lot_carve(c, &lot))
		return false;
	if (is_pressed || touch_is_flood(c))
		touch_lot(c, lot.head, lot.count);
	if (!q) {
		atomic_store_explicit(ready, lot.head, memory_order_release);
		return true;
	}
	harvest_lock_wait(c);
	if (queue_is_live(q))
		queue_give_lot(c, q, &lot);
	else
		chain_to_list(c, &c->loose, lot.head);
	harvest_lock_release(c);
	return true;
}

void pool_flush(struct capture *c)
{
	if (c->freed.count)
		slot_chain_push(c, &c->freed_queue->returned, c->freed.head, c->freed.tail);
	c->freed = (struct slot_list){0};
}

static __attribute__((noinline)) void slot_return_slowly(struct capture *c, slot_ref ref)
{
	struct capture_queue *q = &c->queues[slot_of(c, ref)->queue];

	if (atomic_load_explicit(&q->state, memory_order_relaxed) != QUEUE_LIVE) {
		slot_list_append(c, &c->loose, ref);
		return;
	}
	/* The producer still has to link the next slot to this one. */
	if (ref == q->reached) {
		q->is_reached_freed = true;
		return;
	}
	if (c->freed_queue != q)
		pool_flush(c);
	c->freed_queue = q;
	slot_list_append(c, &c->freed, ref);
}

/* Usually the slot returned before belongs to the same queue. */
static inline void slot_return(struct capture *c, slot_ref ref)
{
	const struct capture_queue *q = c->freed_queue;

	if (!c->freed.count || q->index != slot_of(c, ref)->queue || q->reached == ref) {
		slot_return_slowly(c, ref);
		return;
	}
	slot_private_of(c, c->freed.tail)->next = ref;
	c->freed.tail = ref;
	c->freed.count++;
}

void pool_slot_return(struct capture *c, slot_ref ref)
{
	slot_return(c, ref);
}

static void quarantine_begin(struct capture *c, slot_ref ref)
{
	if (c->quarantine_head - c->quarantine_tail == QUARANTINE_MAX) {
		/* The quarantine is full: the oldest has waited for thousands of others. */
		slot_ref oldest = c->quarantine[c->quarantine_tail++ % QUARANTINE_MAX].slot;

		signals_reset(slot_private_of(c, oldest)->injected);
		pool_slot_return(c, oldest);
	}
	c->quarantine[c->quarantine_head++ % QUARANTINE_MAX] =
		(struct quarantined){.slot = ref, .until_ns = c->now_ns + QUARANTINE_NS};
}

void pool_quarantine_end(struct capture *c)
{
	while (c->quarantine_head != c->quarantine_tail) {
		struct quarantined *entry = &c->quarantine[c->quarantine_tail % QUARANTINE_MAX];

		if (c->now_ns < entry->until_ns)
			break;
		c->quarantine_tail++;
		signals_reset(slot_private_of(c, entry->slot)->injected);
		pool_slot_return(c, entry->slot);
	}
	pool_flush(c);
}

/*
 * True if the dispatch has finished, but its signal fired without times or not at all: the device
 * may still write to it.
 */
static inline bool is_doubtful(struct capture *c, slot_ref ref)
{
	uint8_t why = slot_of(c, ref)->untimed;

	return slot_private_of(c, ref)->kind == SLOT_INJECTED &&
	       (why == RTL_UNTIMED_TIMESTAMP_INVALID || why == RTL_UNTIMED_TIMESTAMP_FAILED);
}

static inline void slot_free(struct capture *c, slot_ref ref)
{
	const struct slot_private *private = slot_private_of(c, ref);
	struct recorder_slot *slot = slot_of(c, ref);

	atomic_store_explicit(&slot->state, SLOT_FREE, memory_order_release);
	slot->end_tick = RECORDER_NO_TICK | ++c->uses;
	if (is_doubtful(c, ref)) {
		quarantine_begin(c, ref);
		return;
	}
	if (private->kind == SLOT_INJECTED)
		signals_reset(private->injected);
	slot_return(c, ref);
}

void pool_slots_free(struct capture *c, const slot_ref *refs, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		slot_free(c, refs[i]);
}

void pool_retire(struct capture *c, struct capture_queue *q)
{
	chain_to_list(c, &c->loose, q->free);
	chain_to_list(c, &c->loose, q->spare);
	q->free = q->spare = 0;
	chain_to_list(
		c, &c->loose, atomic_exchange_explicit(&q->returned, 0, memory_order_acquire));
	q->owned = 0;
	atomic_store_explicit(&q->extra, 0, memory_order_relaxed);
}

/*
 * Leaves the signals in packets of @q to the device, which may still write to them. Slots in flight
 * are found through lists, since slots that were never taken are memory that was never touched.
 */
static void keep_signals_in_flight(struct capture *c, struct capture_queue *q)
{
	slot_ref ref = q->in_flight.head;

	for (; ref; ref = slot_private_of(c, ref)->next)
		signals_keep(c, ref);
	ref = atomic_load_explicit(q->reached ? &slot_private_of(c, q->reached)->link : &q->first,
		memory_order_acquire);
	while (ref) {
		signals_keep(c, ref);
		ref = atomic_load_explicit(&slot_private_of(c, ref)->link, memory_order_acquire);
	}
}

/* Keeps the doubtful signals of slots that wait for a cell; the others have their times. */
static void keep_doubtful_signals(struct capture *c, const struct capture_queue *q)
{
	for (slot_ref ref = q->done.head; ref; ref = slot_private_of(c, ref)->next)
		if (is_doubtful(c, ref))
			signals_keep(c, ref);
}

void pool_release(struct capture *c)
{
	/* The device may still write to signals in quarantine, so they are kept. */
	for (uint32_t i = c->quarantine_tail; i != c->quarantine_head; i++)
		signals_keep(c, c->quarantine[i % QUARANTINE_MAX].slot);
	/* The device may also still write to signals of running dispatches. */
	for (uint32_t i = 0; capture_pending(c) && i < recorder_queues_used(&c->recorder); i++) {
		keep_doubtful_signals(c, &c->queues[i]);
		if (queue_is_live(&c->queues[i]))
			keep_signals_in_flight(c, &c->queues[i]);
	}
	signals_done(c);
}
