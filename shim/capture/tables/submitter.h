/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Records which thread submitted a packet. The thread that rings first walks over the packets of
 * all producers that share the queue. So each submitting thread leaves a note when it reserves
 * packet indices: one entry per reservation, in a ring indexed by its first packet, where the
 * walker finds it.
 *
 * A reservation gets an entry only if the previous one in its place is not needed any more, which
 * means that it is at most a ring's length ahead of the walk. Otherwise its packets are
 * unattributed: counted, but never attributed to the wrong thread. So an entry has one writer at a
 * time, which has finished before its packet can be walked. A reservation close to the walk, as
 * nearly all are, has its entry in a small ring that stays in the caches. A tag identifies the
 * reservation of an entry in either ring.
 *
 * Dispatches of a host call are numbered 0, 1, 2, ... in the order in which its thread reserved
 * them, over all queues. A reserved packet may become a barrier instead. What it became is known by
 * the next reservation of the same thread, from the walker's note in the entry or, if no thread has
 * walked there yet, from the ring itself.
 */
#include <stdatomic.h>
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hsa/hsa.h>

#include "proto/recorder/layout.h"
#include "shim/base/ahead.h"
#include "shim/base/thread.h"

/* Laid out as in a slot, so that it is copied with one move. */
struct origin_context {
	uint64_t marker; /* innermost open range; 0: none */
	uint32_t call;	 /* low half of the host call's id; 0: none */
	uint32_t tid;	 /* 0 if the submitting thread is unknown; may include ORIGIN_IN_REGION */
};
#define SAME_PLACE_IN_SLOT(field)                                                                  \
	static_assert(                                                                             \
		offsetof(struct recorder_slot, field) - offsetof(struct recorder_slot, marker) ==  \
			offsetof(struct origin_context, field),                                    \
		#field)
SAME_PLACE_IN_SLOT(call);
SAME_PLACE_IN_SLOT(tid);

struct origin {
	_Atomic uint64_t tag; /* identifies the life of the queue and the first packet */
	struct origin_context context;
	/*
	 * Packets << 32 | number of the next dispatch within the call. Written by the submitting
	 * thread; within a call then by the walker, which subtracts the packets it has passed.
	 */
	_Atomic uint64_t rest;
};
static_assert(sizeof(struct origin) == 32, "two in a cache line");

/*
 * A flag beside a thread id, which the kernel keeps below 2^22: a range that --region names was
 * open. Only used with --region, which disables the fast path of dispatch_packet().
 */
#define ORIGIN_IN_REGION (1u << 31)

/* What the walker learns of one packet. */
struct packet_origin {
	struct origin_context context;
	uint32_t node; /* number within the call, or RECORDER_NODE_UNKNOWN */
};

static inline struct origin_context origin_context_of(
	const struct thread_state *thread, uint32_t tid)
{
	return (struct origin_context){
		.marker = thread->marker,
		.call = (uint32_t)thread->call,
		.tid = tid | (thread_state_is_in_region(thread) ? ORIGIN_IN_REGION : 0),
	};
}

/*
 * For queues whose reservations are not seen: the calling thread is the submitter. The number
 * within a call is unknown.
 */
static inline struct packet_origin origin_of_caller(void)
{
	return (struct packet_origin){
		.context = origin_context_of(thread_state(), thread_state_tid()),
		.node = RECORDER_NODE_UNKNOWN,
	};
}

/* How far a program that rings for a few packets at a time gets ahead of the walk. */
#define ORIGINS_NEAR 1024u

/* The notes of one queue. */
struct origins {
	/* Constant while the queue lives; the memory is kept for the next queue of the block. */
	struct origin *near; /* ORIGINS_NEAR entries, or `entry` itself if that has no more */
	uint64_t near_mask;
	struct origin *entry;
	uint64_t mask;
	_Atomic uint64_t life; /* part of the tag; changes when the ring is gone */
	const uint8_t *ring;
	uint64_t ring_mask;
	thread_state_hint submitter; /* thread of the latest reservation, or of an earlier one */
	/* Owned by the walker. */
	_Atomic uint64_t walked; /* entries before this index are not needed any more */
	struct origin *run;	 /* covers the packets before run_end; NULL if unattributed */
	uint64_t run_first, run_end;
	/*
	 * Written for the shim thread, which populates by it: the address of `entry`, with the
	 * exponent of its size in the lower bits.
	 */
	_Atomic uintptr_t mapped;
	_Atomic bool is_far; /* an entry was put into `entry` since the shim thread's last pass */
	struct ahead ahead;
};

/*
 * Cold: called before any other thread knows the queue. @index is that of its first packet.
 * -ENOMEM.
 */
int origins_begin(struct origins *origins, const hsa_queue_t *queue, uint64_t index);
/*
 * Called by the walker: from @index on no thread reads entries for a while, so existing ones become
 * invalid. What was reserved before and is walked later is unattributed.
 */
void origins_interrupt(struct origins *origins, uint64_t index);
/* Called by the shim thread while packets are recorded: populates the entries that come next. */
void origins_touch(struct origins *origins);
/* Cold: called before the ring is freed. */
void origins_end(struct origins *origins);
/* Cold: called if the ring was not freed after all. */
void origins_revive(struct origins *origins);
/* Cold, for tests: frees the memory; no thread uses the notes any more. */
void origins_free(struct origins *origins);

/* Tags tell lives of the same memory apart; no packet index has bits this high. */
#define ORIGIN_LIFE_SHIFT 48

static inline uint64_t origins_tag(const struct origins *origins, uint64_t first)
{
	return atomic_load_explicit(&origins->life, memory_order_relaxed) + first + 1;
}

static inline void origin_put(struct origin *entry, uint64_t tag, const struct thread_state *thread,
	uint64_t packets, uint32_t node)
{
	/* The tag first, so that a thread that sees the new rest also sees the new tag. */
	atomic_store_explicit(&entry->tag, tag, memory_order_relaxed);
	entry->context = origin_context_of(thread, thread->tid);
	atomic_store_explicit(&entry->rest, packets << 32 | node, memory_order_release);
}

/*
 * The rare cases of origins_reserve(): a thread's first reservation, one within a call, one far
 * ahead.
 */
void origins_reserve_rarely(struct origins *origins, uint64_t first, uint64_t n);

/*
 * The calling thread has reserved @n packets from @first on; called before it publishes any of
 * them.
 */
static inline void origins_reserve(struct origins *origins, uint64_t first, uint64_t n)
{
	const struct thread_state *thread = thread_state_near(&origins->submitter);
	uint64_t walked = atomic_load_explicit(&origins->walked, memory_order_acquire);

	if (__builtin_expect(thread->call || !thread->tid || first - walked > origins->near_mask ||
				     n > UINT32_MAX,
		    0))
		origins_reserve_rarely(origins, first, n);
	else
		origin_put(&origins->near[first & origins->near_mask], origins_tag(origins, first),
			thread, n, 0);
}

/* Within a call: notes that another packet of @run was walked. */
void origin_walk_note(struct origin *run, bool is_dispatch, struct packet_origin *ret);

static inline struct origin *origins_find(const struct origins *origins, uint64_t index)
{
	struct origin *entry = &origins->near[index & origins->near_mask];
	uint64_t tag = origins_tag(origins, index);

	if (__builtin_expect(atomic_load_explicit(&entry->tag, memory_order_relaxed) == tag, 1))
		return entry;
	entry = &origins->entry[index & origins->mask];
	return atomic_load_explicit(&entry->tag, memory_order_relaxed) == tag ? entry : NULL;
}

/*
 * Called by the walker for each packet in order: finds its submitter. Returns false if it is
 * unattributed; then *ret is empty.
 */
static inline bool origins_walk(
	struct origins *origins, uint64_t index, bool is_dispatch, struct packet_origin *ret)
{
	struct origin *run = origins->run;

	if (index >= origins->run_end) {
		uint64_t packets = 1;

		run = origins_find(origins, index);
		if (run)
			packets = atomic_load_explicit(&run->rest, memory_order_relaxed) >> 32;
		origins->run = run;
		origins->run_first = index;
		origins->run_end = index + packets;
	}
	if (__builtin_expect(!run, 0)) {
		*ret = (struct packet_origin){.node = RECORDER_NODE_UNKNOWN};
		return false;
	}
	ret->context = run->context;
	ret->node = 0;
	if (__builtin_expect(run->context.call != 0, 0))
		origin_walk_note(run, is_dispatch, ret);
	return true;
}

/*
 * Called by the walker when it stops before @index, and before the device may have the walked
 * packets.
 */
static inline void origins_walked(struct origins *origins, uint64_t index)
{
	/* The entry of a reservation that is half walked is still needed. */
	atomic_store_explicit(&origins->walked,
		index < origins->run_end ? origins->run_first : index, memory_order_release);
}
