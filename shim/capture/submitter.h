/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Who submitted a packet. Whoever rings first walks over everybody's packets (several producers
 * share a queue), so the submitting thread leaves its mark when it reserves packet indices: one
 * entry a reservation, in a ring indexed by the first packet. The walker finds it there.
 *
 * A reservation gets an entry only when nobody can still need what lies in its place, which is
 * when it is not more than a ring's length ahead of the walk; otherwise its packets are
 * unattributed: counted, never somebody else's. So an entry has one writer at a time, and that
 * one is done before its packet can be walked. Who is close to the walk, as nearly everybody, has it
 * in a ring of few entries, which stay in the caches; a tag says whose an entry is, wherever it lies.
 *
 * Dispatches of a host call are numbered 0, 1, 2, ... in the order in which its thread reserved
 * them, over all queues. A reservation may become a barrier instead; what it became is known by
 * the next reservation of the same thread, from the walker's note in the entry or, if nobody has
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

/* As a slot has it: copied there in one move. */
struct origin_who {
	uint64_t marker; /* innermost open range; 0: none */
	uint32_t call;	 /* low half of the host call's id; 0: none */
	uint32_t tid;	 /* 0: not known who submitted it; with ORIGIN_IN_REGION */
};
#define SAME_PLACE_IN_SLOT(field)                                                                  \
	static_assert(offsetof(struct recorder_slot, field) -                                      \
				      offsetof(struct recorder_slot, marker) ==                    \
			      offsetof(struct origin_who, field),                                  \
		#field)
SAME_PLACE_IN_SLOT(call);
SAME_PLACE_IN_SLOT(tid);

struct origin {
	_Atomic uint64_t tag; /* of the life of the queue, and the first packet */
	struct origin_who who;
	/* Packets << 32 | number of the next dispatch within the call. The submitting thread
	 * first; within a call then the walker, who takes off the packets that he passed. */
	_Atomic uint64_t rest;
};
static_assert(sizeof(struct origin) == 32, "two in a cache line");

/* Beside a thread's id, which the kernel keeps below 2^22: a range that --region names was open.
 * Only where there is a --region, which closes the short way through dispatch_packet(). */
#define ORIGIN_IN_REGION (1u << 31)

/* What the walker learns of one packet. */
struct packet_origin {
	struct origin_who who;
	uint32_t node; /* number within the call; RECORDER_NODE_UNKNOWN */
};

static inline struct origin_who origin_who_is(const struct thread_state *thread, uint32_t tid)
{
	return (struct origin_who){
		.marker = thread->marker,
		.call = (uint32_t)thread->call,
		.tid = tid | (thread_state_is_in_region(thread) ? ORIGIN_IN_REGION : 0),
	};
}

/* Where reservations are not seen: whoever submits now. Its place in a call is not known. */
static inline struct packet_origin origin_of_caller(void)
{
	return (struct packet_origin){
		.who = origin_who_is(thread_state(), thread_state_tid()),
		.node = RECORDER_NODE_UNKNOWN,
	};
}

/* As far ahead of the walk as a program is that rings for a few packets at a time. */
#define ORIGINS_NEAR 1024u

/* Of one queue. */
struct origins {
	/* Constant while the queue lives; the memory stays, also from one life to the next. */
	struct origin *near; /* ORIGINS_NEAR of them, or entry itself, if that has no more */
	uint64_t near_mask;
	struct origin *entry;
	uint64_t mask;
	_Atomic uint64_t life; /* as tags have it; another one once the ring is gone */
	const uint8_t *ring;
	uint64_t ring_mask;
	thread_state_hint submitter; /* of the latest reservation, or one before */
	/* Of the walker. */
	_Atomic uint64_t walked; /* no entry before it is needed */
	struct origin *run;	 /* covers the packets before run_end; NULL: unattributed */
	uint64_t run_first, run_end;
	/* Of the shim's thread, and what it goes by: entry, and in its lower bits the exponent of how
	 * many there are. */
	_Atomic uintptr_t mapped;
	_Atomic bool is_far; /* somebody has put one into entry since its last look */
	struct ahead ahead;
};

/* Cold: before the queue is known to anybody. -ENOMEM. @index: the first one to come. */
int origins_begin(struct origins *origins, const hsa_queue_t *queue, uint64_t index);
/*
 * The walker: from @index on nobody looks at entries for a while, so nobody may count on notes
 * in those that there are. What was reserved before and is walked later is unattributed.
 */
void origins_interrupt(struct origins *origins, uint64_t index);
/* The shim's thread: packets come and are recorded; it touches the entries that are next. */
void origins_touch(struct origins *origins);
/* Cold: before the ring goes away. */
void origins_end(struct origins *origins);
/* Cold: it stayed. */
void origins_revive(struct origins *origins);
/* Cold, for tests: nobody uses them any more, in any life. */
void origins_free(struct origins *origins);

/* Tags tell lives of the same memory apart: a packet index does not reach so high. */
#define ORIGIN_LIFE_SHIFT 48

static inline uint64_t origins_tag(const struct origins *origins, uint64_t first)
{
	return atomic_load_explicit(&origins->life, memory_order_relaxed) + first + 1;
}

static inline void origin_put(struct origin *entry, uint64_t tag, const struct thread_state *thread,
	uint64_t packets, uint32_t node)
{
	/* The tag first: who finds a new rest finds a new tag. */
	atomic_store_explicit(&entry->tag, tag, memory_order_relaxed);
	entry->who = origin_who_is(thread, thread->tid);
	atomic_store_explicit(&entry->rest, packets << 32 | node, memory_order_release);
}

/* The rest of origins_reserve(): a thread's first one, within a call, far ahead. */
void origins_reserve_rarely(struct origins *origins, uint64_t first, uint64_t n);

/* The calling thread reserves @n packets from @first on; before it publishes any. */
static inline void origins_reserve(struct origins *origins, uint64_t first, uint64_t n)
{
	const struct thread_state *thread = thread_state_near(&origins->submitter);
	uint64_t walked = atomic_load_explicit(&origins->walked, memory_order_acquire);

	if (__builtin_expect(thread->call || !thread->tid ||
				     first - walked > origins->near_mask || n > UINT32_MAX,
		    0))
		origins_reserve_rarely(origins, first, n);
	else
		origin_put(&origins->near[first & origins->near_mask], origins_tag(origins, first),
			thread, n, 0);
}

/* Within a call: notes that one more packet of @run was walked over. */
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

/* The walker, for each packet in order: whose is it? False: unattributed; *ret is empty. */
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
	ret->who = run->who;
	ret->node = 0;
	if (__builtin_expect(run->who.call != 0, 0))
		origin_walk_note(run, is_dispatch, ret);
	return true;
}

/* The walker, when it stops before @index and before the device may have what it walked over. */
static inline void origins_walked(struct origins *origins, uint64_t index)
{
	/* The entry of a reservation that is half walked is needed again. */
	atomic_store_explicit(&origins->walked,
		index < origins->run_end ? origins->run_first : index, memory_order_release);
}
