// SPDX-License-Identifier: MIT
#include "shim/capture/front_ends/shadow.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include <hsa/amd_hsa_signal.h>

#include "proto/base/clock.h"
#include "shim/base/ahead.h"
#include "shim/capture/dispatch.h"
#include "shim/base/undisturbed.h"
#include "shim/base/wakeup.h"
#include "shim/hsa/packet.h"
#include "shim/base/wait.h"
#include "shim/capture/front_ends/shadow_queue.h"
#include "shim/capture/front_ends/shadow_table.h"
#include "shim/capture/signals.h"

/*
 * The walk word: WALK_FREE, or its holder: an address in the stack frame of a doorbell, or
 * WALK_HELD for all others. WALK_AGAIN is added if another thread rang meanwhile.
 */
#define WALK_FREE	 ((uintptr_t)0)
#define WALK_AGAIN	 ((uintptr_t)1)
#define WALK_HELD	 ((uintptr_t)2)
/* Related frames of one stack are closer than this; stacks of two threads are further apart. */
#define STACK_NEAR_BYTES ((uintptr_t)1 << 20)

static void walk_rescue_abandoned(struct shadow_queue *s, uintptr_t place);

/* ---- the virtual index (rule 4) ----------------------------------------------------------- */

uint64_t shadow_index_load(const struct shadow_queue *s)
{
	return atomic_load(&s->virtual_index);
}

/* While nothing is recorded, notes of submitting threads are not needed. */
static inline void reserve(struct shadow_queue *s, uint64_t first, uint64_t n)
{
	if (!queue_is_dormant(s->queue))
		origins_reserve(&s->origins, first, n);
}

void shadow_index_store(struct shadow_queue *s, uint64_t value)
{
	uint64_t first = atomic_load_explicit(&s->virtual_index, memory_order_relaxed);

	/*
	 * The queue has one producer. Its packets may be valid already, so the note comes before
	 * the index.
	 */
	if (value > first)
		reserve(s, first, value - first);
	atomic_store(&s->virtual_index, value);
}

uint64_t shadow_index_add(struct shadow_queue *s, uint64_t n)
{
	uint64_t first = atomic_fetch_add(&s->virtual_index, n);

	/*
	 * The caller may be about to wait for room in the ring, which an abandoned walk would never
	 * make.
	 */
	if (__builtin_expect(atomic_load_explicit(&s->walk, memory_order_relaxed) > WALK_HELD, 0))
		walk_rescue_abandoned(s, (uintptr_t)&first);

	/* Published to the walker by the packet's header, which is written later. */
	if (s->batch_tail && n > 1)
		atomic_store_explicit(
			&s->batch_tail[(first + n - 1) & s->mask], first + n, memory_order_relaxed);
	reserve(s, first, n);
	return first;
}

uint64_t shadow_index_cas(struct shadow_queue *s, uint64_t expected, uint64_t value)
{
	uint64_t first = expected;

	if (atomic_compare_exchange_strong(&s->virtual_index, &expected, value) && value > first)
		reserve(s, first, value - first);
	return expected;
}

/* ---- the walk (rules 6 and 7) ------------------------------------------------------------- */

static hsa_kernel_dispatch_packet_t *packet_at(const struct shadow_queue *s, uint64_t index)
{
	return (hsa_kernel_dispatch_packet_t *)(s->ring + (index & s->mask) * PACKET_BYTES);
}

/*
 * Returns the application's signal in a packet of any type. A ring slot that was written again
 * without that field still has ours, and so has a packet that was copied from another one in the
 * ring (rule 6). Ours may be in use for another kernel by now, so it is removed.
 */
static inline uint64_t signal_of(
	struct capture *c, hsa_kernel_dispatch_packet_t *packet, uint64_t *last)
{
	uint64_t signal = packet->completion_signal.handle;

	if (signal && (signal == *last || __builtin_expect(signals_has(c, signal), 0)))
		packet->completion_signal.handle = *last = signal = 0;
	return signal;
}

/* Stores the signal: one aligned store, no other field, never the header. */
static inline void packet_stamp(struct shadow_queue *s, hsa_kernel_dispatch_packet_t *packet,
	uint64_t index, uint64_t handle)
{
	if (handle)
		packet->completion_signal.handle = handle;
	s->last[index & s->mask] = handle;
	if (handle)
		s->stamped_end = index + s->mask + 2;
}

/* From here on `mark` belongs to this packet. */
static inline void mark_packet(struct shadow_queue *s, uint64_t index)
{
	atomic_signal_fence(memory_order_seq_cst);
	s->marked = index;
	atomic_signal_fence(memory_order_seq_cst);
}

static void packet_walk(
	struct shadow_queue *s, struct dispatch_batch *batch, uint64_t index, uint16_t header)
{
	hsa_kernel_dispatch_packet_t *packet = packet_at(s, index);
	uint64_t *last = &s->last[index & s->mask];
	uint64_t signal = signal_of(s->capture, packet, last);
	enum dispatch_how how = s->is_unstamped ? DISPATCH_LEAVE : DISPATCH_STAMP;
	bool is_dispatch = packet_is_dispatch(packet, header);
	struct packet_origin origin;
	uint64_t handle;

	if (!origins_walk(&s->origins, index, is_dispatch, &origin) && is_dispatch)
		recorder_count_queue(s->queue->block, RTL_Q_unattributed, 1);
	if (!is_dispatch) {
		s->mark.others = recorder_queue_value(s->queue->block, RTL_Q_skipped_not_kernel);
		mark_packet(s, index);
		dispatch_other(batch, packet, signal, origin.context.tid);
		return;
	}
	s->mark.dispatched = recorder_queue_value(s->queue->block, RTL_Q_dispatched);
	s->mark.injected = recorder_queue_value(s->queue->block, RTL_Q_signals_injected);
	mark_packet(s, index);
	/* Rule 10. */
	if (s->batch_tail && atomic_load_explicit(&s->batch_tail[index & s->mask],
				     memory_order_relaxed) == index + 1)
		how = DISPATCH_LEAVE;
	handle = dispatch_packet(batch, packet, signal, &origin, how);
	/* Rule 8: a signal of the application stays. */
	if (!signal)
		packet_stamp(s, packet, index, handle);
}

/* Rule 14: the gate is closed. Only an old signal of ours is removed from the packet. */
static inline void packet_skip(struct shadow_queue *s, uint64_t index, uint16_t header)
{
	hsa_kernel_dispatch_packet_t *packet = packet_at(s, index);
	uint64_t signal = packet->completion_signal.handle;

	if (__builtin_expect(index < s->stamped_end, 0)) {
		uint64_t *last = &s->last[index & s->mask];

		signal = signal_of(s->capture, packet, last);
		*last = 0;
	} else if (signal && __builtin_expect(signals_has(s->capture, signal), 0)) {
		packet->completion_signal.handle = signal = 0;
	}
	if (!s->is_dormant) {
		s->is_dormant = true;
		origins_interrupt(&s->origins, index);
	}
	dispatch_skip(s->capture, s->queue, packet_is_dispatch(packet, header), signal);
}

/* Walks only as far as the ring has room: beyond, ring slots still have older packets. */
static uint64_t walk_bound(struct shadow_queue *s, uint64_t next)
{
	uint64_t bound = atomic_load(&s->virtual_index);
	uint64_t size = s->mask + 1;

	if (bound > s->read_cached + size) {
		s->read_cached = __atomic_load_n(&s->real->read_dispatch_id, __ATOMIC_ACQUIRE);
		if (bound > s->read_cached + size)
			bound = s->read_cached + size;
	}
	return bound > next ? bound : next;
}

/* Rule 11: another writer moves the real index. Packets that are visible already get no signal. */
static __attribute__((noinline, cold)) void foreign_writer_seen(
	struct shadow_queue *s, uint64_t real)
{
	uint64_t virtual = atomic_load(&s->virtual_index);

	recorder_count_queue(s->queue->block, RTL_Q_foreign_writers, 1);
	s->is_unstamped = true;
	while (virtual < real && !atomic_compare_exchange_weak(&s->virtual_index, &virtual, real))
		;
}

/*
 * A doorbell or reservation announced a packet that is not written yet. It may not be announced
 * again, so the shim thread must not doze over it.
 */
static __attribute__((noinline, cold)) void note_left_behind(struct shadow_queue *s)
{
	atomic_store(&s->is_left_behind, 1);
	doze_alert();
}

/* The packet is complete, whatever happens to the walk. */
static inline void walked(struct shadow_queue *s, uint64_t index)
{
	atomic_signal_fence(memory_order_seq_cst);
	s->walked = index + 1;
}

static uint64_t packets_walk(struct shadow_queue *s, uint64_t next, uint64_t bound)
{
	struct dispatch_batch batch;
	bool is_begun = false;
	uint64_t i;

	for (i = next; i < bound; i++) {
		uint16_t header = packet_header(packet_at(s, i));

		if (__builtin_expect(!packet_is_published(header), 0)) {
			note_left_behind(s);
			break;
		}
		/*
		 * Read after the header: a packet that was published after the gate was closed
		 * finds it closed.
		 */
		if (queue_is_dormant(s->queue)) {
			packet_skip(s, i, header);
			walked(s, i);
			if (is_begun)
				dispatch_batch_is_skipped(&batch);
			continue;
		}
		if (!is_begun)
			dispatch_begin(s->capture, s->queue, &batch);
		is_begun = true;
		s->is_dormant = false;
		packet_walk(s, &batch, i, header);
		walked(s, i);
	}
	if (is_begun)
		dispatch_end(&batch);
	if (i != next)
		origins_walked(&s->origins, i);
	return i;
}

/* The device may have consumed packets of a foreign writer; their headers are INVALID then. */
static __attribute__((noinline, cold)) uint64_t walk_past_foreign(
	struct shadow_queue *s, uint64_t next, uint64_t real)
{
	while (next < real) {
		uint64_t end = packets_walk(s, next, real);
		struct packet_origin none;

		if (end < real)
			(void)origins_walk(&s->origins, end++, false, &none);
		next = end;
	}
	return next;
}

/* Inlined into the doorbell, because a call would save all registers a second time. */
static inline __attribute__((always_inline)) bool walk(struct shadow_queue *s)
{
	uint64_t next = atomic_load_explicit(&s->next, memory_order_relaxed);
	uint64_t real = __atomic_load_n(&s->real->write_dispatch_id, __ATOMIC_RELAXED);
	uint64_t from = next;

	if (__builtin_expect(real != next, 0)) {
		foreign_writer_seen(s, real);
		next = walk_past_foreign(s, next, real);
	}
	next = packets_walk(s, next, walk_bound(s, next));
	atomic_store_explicit(&s->next, next, memory_order_relaxed);
	/* Rule 7: the records are published, so now the device may fetch the packets. */
	if (next != from || real != next)
		__atomic_store_n(&s->real->write_dispatch_id, next, __ATOMIC_RELEASE);
	/* Rings even without new packets, since the application did. */
	if (next)
		s->capture->hsa.signal_store_screlease(s->doorbell, (hsa_signal_value_t)(next - 1));
	/* The device was the last to access this packet. */
	dispatch_ask(packet_at(s, next));
	dispatch_ahead(s->capture, s->queue);
	return next != from;
}

static __attribute__((noinline)) bool walk_rarely(struct shadow_queue *s)
{
	return walk(s);
}

/* ---- holding the walk (rule 5) --------------------------------------------------------- */

/*
 * Returns true if the caller holds the walk now. False: the holder will walk once more for the
 * caller.
 */
static inline bool walk_take(struct shadow_queue *s, uintptr_t holder)
{
	uintptr_t word = WALK_FREE;

	while (!atomic_compare_exchange_strong(
		&s->walk, &word, word == WALK_FREE ? holder : word | WALK_AGAIN)) {
		if (word & WALK_AGAIN)
			return false;
	}
	return word == WALK_FREE;
}

/* Leaves no WALK_AGAIN: a caller that has no new packets must not keep the holder walking. */
static bool walk_hold(struct shadow_queue *s)
{
	uintptr_t word = WALK_FREE;

	return atomic_compare_exchange_strong(&s->walk, &word, WALK_HELD);
}

/* Returns false, and still holds the walk, if another thread has rung meanwhile. */
static inline bool walk_leave(struct shadow_queue *s, uintptr_t holder)
{
	uintptr_t word = holder;

	if (atomic_compare_exchange_strong(&s->walk, &word, WALK_FREE))
		return true;
	atomic_store(&s->walk, holder);
	return false;
}

/* ---- a walk that was abandoned --------------------------------------------------------- */

/* Completes a packet that is no dispatch; returns false if it was not counted yet. */
static bool other_resume(struct shadow_queue *s, uint64_t signal)
{
	if (recorder_queue_value(s->queue->block, RTL_Q_skipped_not_kernel) == s->mark.others)
		return false;
	dispatch_signal_used(s->capture, false, signal);
	return true;
}

/* Completes the packet at @index. Returns the first index that is not walked. */
static uint64_t packet_resume(struct shadow_queue *s, uint64_t index)
{
	hsa_kernel_dispatch_packet_t *packet = packet_at(s, index);
	uint64_t signal = signal_of(s->capture, packet, &s->last[index & s->mask]), handle;
	struct dispatch_batch batch;

	/* The packet's note may have been taken already, and must not be counted twice. */
	if (s->origins.run && s->origins.run->context.call)
		origins_interrupt(&s->origins, index);
	if (!packet_is_dispatch(packet, packet_header(packet)))
		return index + other_resume(s, signal);
	dispatch_begin(s->capture, s->queue, &batch);
	if (!dispatch_resume(&batch, packet, signal, &s->mark, &handle))
		return index;
	if (!signal)
		packet_stamp(s, packet, index, handle);
	return index + 1;
}

/*
 * Called by a thread that takes the place of the abandoned walk's holder: makes sure that what the
 * walk had done counts once, and does the rest.
 */
static __attribute__((noinline, cold)) void walk_rescue(struct shadow_queue *s)
{
	uintptr_t holder = atomic_load(&s->walk) & ~WALK_AGAIN;
	uint64_t next = atomic_load_explicit(&s->next, memory_order_relaxed);
	uint64_t to = s->walked > next ? s->walked : next;
	struct undisturbed undisturbed;

	undisturbed_begin(&undisturbed);
	if (s->marked == to)
		to = packet_resume(s, to);
	else if (s->is_dormant && packet_is_published(packet_header(packet_at(s, to))))
		to += dispatch_skip_resume(s->queue);
	s->walked = to;
	origins_walked(&s->origins, to);
	atomic_store_explicit(&s->next, to, memory_order_relaxed);
	if ((int64_t)(__atomic_load_n(&s->real->write_dispatch_id, __ATOMIC_RELAXED) - to) < 0)
		__atomic_store_n(&s->real->write_dispatch_id, to, __ATOMIC_RELEASE);
	recorder_count(&s->capture->recorder, RTL_P_walks_rescued, 1);
	do
		(void)walk_rarely(s);
	while (!walk_leave(s, holder));
	undisturbed_end(&undisturbed);
}

void shadow_leave(struct capture *c, uintptr_t from, uintptr_t to, uintptr_t walker)
{
	uint32_t used = recorder_queues_used(&c->recorder);

	for (uint32_t i = 0; i < used; i++) {
		struct shadow_queue *s = shadow_table_at(c->head.shadow, i);
		uintptr_t holder = atomic_load(&s->walk) & ~WALK_AGAIN;

		if (holder > WALK_HELD && holder >= from && holder < to &&
			(!walker || s->walker == walker))
			walk_rescue(s);
	}
}

bool shadow_is_any_held(struct capture *c)
{
	uint32_t used = recorder_queues_used(&c->recorder);

	for (uint32_t i = 0; i < used; i++)
		if (atomic_load(&shadow_table_at(c->head.shadow, i)->walk) > WALK_HELD)
			return true;
	return false;
}

/*
 * For a thread that finds the walk held when its stack is at @place: whether this thread itself has
 * abandoned the walk by a jump that the shim did not see. That is so if the holder's frame is at an
 * address where the stack has no frame any more. Not on a signal handler's alternate stack, whose
 * addresses tell nothing.
 */
static __attribute__((noinline, cold)) bool walk_is_abandoned(
	struct shadow_queue *s, uintptr_t place)
{
	uintptr_t holder = atomic_load(&s->walk) & ~WALK_AGAIN;
	stack_t other = {.ss_flags = 0};

	return atomic_load_explicit(&s->walker, memory_order_relaxed) ==
		       (uintptr_t)__builtin_thread_pointer() &&
	       holder > WALK_HELD && holder <= place && place - holder < STACK_NEAR_BYTES &&
	       !sigaltstack(NULL, &other) && !(other.ss_flags & SS_ONSTACK);
}

static __attribute__((noinline, cold)) void walk_rescue_abandoned(
	struct shadow_queue *s, uintptr_t place)
{
	if (walk_is_abandoned(s, place))
		walk_rescue(s);
}

void shadow_find_left(struct capture *c, uintptr_t place)
{
	uint32_t used = recorder_queues_used(&c->recorder);

	for (uint32_t i = 0; i < used; i++) {
		struct shadow_queue *s = shadow_table_at(c->head.shadow, i);

		if (__builtin_expect(
			    atomic_load_explicit(&s->walk, memory_order_relaxed) > WALK_HELD, 0))
			walk_rescue_abandoned(s, place);
	}
}

void shadow_doorbell(struct shadow_queue *s)
{
	uint64_t place;
	uintptr_t holder = (uintptr_t)&place;

	/* Gives the thread a block, so that its end is noticed: thread_state_watch_ends(). */
	(void)thread_state_near(&s->origins.submitter);
	if (__builtin_expect(!walk_take(s, holder), 0)) {
		walk_rescue_abandoned(s, holder);
		return;
	}
	atomic_store_explicit(
		&s->walker, (uintptr_t)__builtin_thread_pointer(), memory_order_relaxed);
	(void)walk(s);
	while (__builtin_expect(!walk_leave(s, holder), 0))
		(void)walk_rarely(s);
}

/* Whether there is a packet to publish that no doorbell of ours has announced. */
static bool has_unannounced_packet(struct shadow_queue *s)
{
	uint64_t next = atomic_load_explicit(&s->next, memory_order_relaxed);
	uint16_t header;

	if (__atomic_load_n(&s->real->write_dispatch_id, __ATOMIC_RELAXED) != next)
		return true; /* a foreign writer */
	if (walk_bound(s, next) == next)
		return false;
	/* Not if the packet is still being written. */
	header = packet_header(packet_at(s, next));
	return packet_is_published(header);
}

static void queue_housekeep(struct shadow_queue *s)
{
	uint64_t next = atomic_load_explicit(&s->next, memory_order_relaxed);
	bool is_new = false;

	if (!atomic_load_explicit(&s->is_live, memory_order_acquire))
		return;
	/*
	 * While a queue moves, its doorbell is being rung; only one that has stood still is
	 * checked.
	 */
	if (s->seen != next) {
		s->seen = next;
		return;
	}
	if (!walk_hold(s))
		return;
	if (atomic_load_explicit(&s->is_live, memory_order_relaxed) && has_unannounced_packet(s))
		is_new = walk_rarely(s);
	if (is_new) {
		recorder_count_queue(s->queue->block, RTL_Q_housekeeping_publishes, 1);
		pace_hurry(&s->capture->pace);
	}
	while (!walk_leave(s, WALK_HELD))
		(void)walk_rarely(s);
}

/*
 * Returns whether no packet is left behind; if one is left behind meanwhile, that is noted again.
 */
static bool queue_is_settled(struct shadow_queue *s)
{
	if (!atomic_load_explicit(&s->is_live, memory_order_acquire) ||
		!atomic_load(&s->is_left_behind) || !atomic_exchange(&s->is_left_behind, 0))
		return true;
	if (atomic_load(&s->virtual_index) == atomic_load(&s->next))
		return true;
	atomic_store(&s->is_left_behind, 1);
	return false;
}

static void housekeep(struct capture *c)
{
	uint32_t used = recorder_queues_used(&c->recorder);

	for (uint32_t i = 0; i < used; i++) {
		struct shadow_queue *s = shadow_table_at(c->head.shadow, i);

		queue_housekeep(s);
		if (!queue_is_settled(s))
			pace_soon(&c->pace);
	}
}

bool shadow_is_settled(struct capture *c)
{
	uint32_t used = recorder_queues_used(&c->recorder);

	for (uint32_t i = 0; i < used; i++)
		if (!queue_is_settled(shadow_table_at(c->head.shadow, i)))
			return false;
	return true;
}

static void take_free(struct capture *c, uint32_t block, uint32_t ret[2])
{
	struct shadow_queue *s = shadow_table_at(c->head.shadow, block);

	ret[0] = ret[1] = 0;
	/* Until the queue is live, adopt() still sets the walk word. */
	if (!atomic_load_explicit(&s->is_live, memory_order_acquire) || !walk_hold(s))
		return;
	if (atomic_load_explicit(&s->is_live, memory_order_relaxed)) {
		ret[0] = s->queue->free;
		ret[1] = s->queue->spare;
		s->queue->free = s->queue->spare = 0;
	}
	if (walk_leave(s, WALK_HELD))
		return;
	/*
	 * A doorbell has rung, so the queue is not idle and keeps its slots. The walk is left to
	 * harvest_lock_release(), because it may take long and may need the lock.
	 */
	s->queue->free = ret[0];
	s->queue->spare = ret[1];
	ret[0] = ret[1] = 0;
	c->walk_owed = block + 1;
}

static void walk_owed(struct capture *c, uint32_t owed)
{
	struct shadow_queue *s = shadow_table_at(c->head.shadow, owed - 1);

	do
		(void)walk_rarely(s);
	while (!walk_leave(s, WALK_HELD));
}

static struct origins *origins_of(struct capture *c, uint32_t block)
{
	return &shadow_table_at(c->head.shadow, block)->origins;
}

const struct walks shadow_walks = {
	.housekeep = housekeep,
	.take_free = take_free,
	.walk_owed = walk_owed,
	.origins_of = origins_of,
};

bool shadow_quiesce(struct capture *c, uint64_t deadline_ns)
{
	uint32_t used = recorder_queues_used(&c->recorder);
	unsigned checks = 0;

	/* A walk that is not seen here begins after the stop, and sees it. */
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < used; i++) {
		struct shadow_queue *s = shadow_table_at(c->head.shadow, i);

		while (atomic_load(&s->is_live) && atomic_load(&s->walk) != WALK_FREE) {
			if (clock_monotonic_ns() >= deadline_ns)
				return false;
			wait_between_checks(&checks);
		}
	}
	return true;
}

/* ---- birth and death of a queue (rules 2, 13, 15) ------------------------------------------- */

static uint64_t *ring_memory(uint64_t packets)
{
	void *memory = mmap(NULL, packets * sizeof(uint64_t), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void ring_memory_free(uint64_t *memory, uint64_t packets)
{
	if (memory)
		munmap(memory, packets * sizeof(uint64_t));
}

static bool is_eligible(const struct capture *c, const hsa_queue_t *queue)
{
	const amd_signal_t *doorbell =
		(const amd_signal_t *)(uintptr_t)queue->doorbell_signal.handle;

	return doorbell && queue->base_address && queue->size &&
	       !(queue->size & (queue->size - 1)) && doorbell->kind == AMD_SIGNAL_KIND_DOORBELL &&
	       (!c->hsa.is_ring_readable || c->hsa.is_ring_readable(queue));
}

static int shadow_start(struct capture *c, struct shadow_queue *s, hsa_queue_t *queue)
{
	amd_queue_t *real = (amd_queue_t *)queue;
	uint64_t index = __atomic_load_n(&real->write_dispatch_id, __ATOMIC_ACQUIRE);
	bool is_read_back = c->hsa.reads_packets_back && c->hsa.reads_packets_back();

	s->last = ring_memory(queue->size);
	s->batch_tail = NULL;
	if (is_read_back)
		s->batch_tail = (_Atomic uint64_t *)ring_memory(queue->size);
	if (!s->last || (is_read_back && !s->batch_tail))
		return -ENOMEM;
	s->capture = c;
	s->real = real;
	s->ring = queue->base_address;
	s->mask = queue->size - 1;
	s->doorbell = queue->doorbell_signal;
	s->holders = 1;
	s->is_unstamped = false;
	s->is_dormant = false;
	atomic_store_explicit(&s->is_left_behind, 0, memory_order_relaxed);
	s->stamped_end = 0;
	s->walked = index;
	s->marked = UINT64_MAX;
	s->read_cached = __atomic_load_n(&real->read_dispatch_id, __ATOMIC_ACQUIRE);
	atomic_store_explicit(&s->next, index, memory_order_relaxed);
	atomic_store_explicit(&s->virtual_index, index, memory_order_relaxed);
	return origins_begin(&s->origins, queue, index);
}

/* Populates memory that the queue uses at once, if it is recorded. */
static void shadow_touch(struct shadow_queue *s)
{
	if (queue_is_dormant(s->queue))
		return;
	ahead_all(s->origins.near, (s->origins.near_mask + 1) * sizeof(*s->origins.near));
}

static void shadow_end(struct shadow_queue *s)
{
	ring_memory_free(s->last, s->mask + 1);
	ring_memory_free((uint64_t *)s->batch_tail, s->mask + 1);
	s->last = NULL;
	s->batch_tail = NULL;
}

/* From now on the hooks find the queue. */
static int shadow_publish(struct capture *c, struct shadow_queue *s, hsa_queue_t *queue)
{
	uint64_t key = (uint64_t)(uintptr_t)queue;
	int r = shadow_table_add(c->head.shadow, SHADOW_BY_QUEUE, key, s);

	if (r < 0)
		return r;
	r = shadow_table_add(c->head.shadow, SHADOW_BY_DOORBELL, s->doorbell.handle, s);
	if (r < 0) {
		shadow_table_remove(c->head.shadow, SHADOW_BY_QUEUE, key);
		return r;
	}
	atomic_store(&s->walk, WALK_FREE);
	atomic_store_explicit(&s->is_live, 1, memory_order_release);
	return 0;
}

uint32_t shadow_hold(struct shadow_queue *s)
{
	return ++s->holders;
}

uint32_t shadow_unhold(struct shadow_queue *s)
{
	return --s->holders;
}

static int adopt(struct capture *c, hsa_queue_t *queue, uint32_t gpu)
{
	struct capture_queue *q;
	struct shadow_queue *s;
	int r;

	if (!is_eligible(c, queue) || c->hsa.set_profiler_enabled(queue, 1) != HSA_STATUS_SUCCESS)
		return -ENOTSUP;
	q = capture_queue_new(c, gpu, queue->size, queue->id);
	if (!q)
		return -ENOSPC;
	s = shadow_table_at(c->head.shadow, q->index);
	s->queue = q;
	r = shadow_start(c, s, queue);
	if (r == 0)
		shadow_touch(s);
	if (r == 0)
		r = shadow_publish(c, s, queue);
	if (r < 0) {
		shadow_end(s);
		harvest_queue_retire(c, q);
	}
	return r;
}

static void release(struct capture *c, hsa_queue_t *queue, uint32_t *ret_block)
{
	struct shadow_queue *s = shadow_of_queue(c, queue);
	unsigned checks = 0;

	*ret_block = FRONT_END_NO_BLOCK;
	if (!s)
		return;
	/*
	 * Held for good: the last walk has ended, and no thread walks a queue that is being
	 * destroyed.
	 */
	while (!walk_hold(s)) {
		walk_rescue_abandoned(s, (uintptr_t)&checks);
		wait_between_checks(&checks);
	}
	atomic_store_explicit(&s->is_live, 0, memory_order_relaxed);
	shadow_table_remove(c->head.shadow, SHADOW_BY_DOORBELL, s->doorbell.handle);
	shadow_table_remove(c->head.shadow, SHADOW_BY_QUEUE, (uint64_t)(uintptr_t)queue);
	origins_end(&s->origins);
	harvest_queue_release(c, s->queue);
	*ret_block = s->queue->index;
}

static void retire(struct capture *c, uint32_t block)
{
	if (block == FRONT_END_NO_BLOCK)
		return;
	shadow_end(shadow_table_at(c->head.shadow, block));
	harvest_queue_retire(c, &c->queues[block]);
}

/* The virtual index is unchanged; the program must not have used the queue meanwhile. */
static void restore(struct capture *c, hsa_queue_t *queue, uint32_t block)
{
	struct shadow_queue *s = shadow_table_at(c->head.shadow, block);

	origins_revive(&s->origins);
	if (shadow_publish(c, s, queue) < 0)
		retire(c, block); /* its place in the table was taken: not followed from now on */
}

const struct front_end shadow_front_end = {
	.name = "shadow",
	.adopt = adopt,
	.release = release,
	.retire = retire,
	.restore = restore,
	.quiesce = shadow_quiesce,
};
