// SPDX-License-Identifier: MIT
#include "shim/capture/tables/submitter.h"

#include <errno.h>
#include <sys/mman.h>

#include "shim/hsa/packet.h"
#include "shim/base/thread.h"

/* A note changes while it is read only if another thread is walking, which does not take long. */
#define NOTE_CHECKS_MAX 1000u
/* Fits into the low bits of a page address. */
#define MAPPED_EXPONENT (uintptr_t)63

/* Whether the ring of the reservation with @tag still exists. */
static bool tag_is_alive(const struct origins *origins, uint64_t tag)
{
	return atomic_load_explicit(&origins->life, memory_order_acquire) >> ORIGIN_LIFE_SHIFT ==
	       tag >> ORIGIN_LIFE_SHIFT;
}

/* ---- the submitting thread ---------------------------------------------------------------- */

/*
 * Counts the dispatches among the last @left packets of the latest reservation, from the headers
 * that its thread wrote.
 */
static uint32_t count_in_ring(const struct thread_count *count, uint64_t left, uint32_t node)
{
	const struct origins *origins = count->origins;

	if (!tag_is_alive(origins, count->tag))
		return RECORDER_NODE_UNKNOWN;
	for (uint64_t i = count->end - left; i < count->end; i++) {
		const hsa_kernel_dispatch_packet_t *packet =
			packet_in_ring(origins->ring, origins->ring_mask, i);
		uint16_t header = packet_header(packet);

		if (!packet_is_published(header))
			return RECORDER_NODE_UNKNOWN;
		node += packet_is_dispatch(packet, header);
	}
	return node;
}

/*
 * Number of the call's dispatches before the next reservation. The last packets of the latest
 * reservation may not have been walked. Then they are still in the ring, because the device gets
 * them only after the walker's note.
 */
static uint32_t count_settle(const struct thread_count *count)
{
	const struct origin *entry = count->entry;

	if (!entry)
		return count->node;
	for (unsigned checks = 0; checks < NOTE_CHECKS_MAX; checks++) {
		uint64_t rest = atomic_load_explicit(&entry->rest, memory_order_acquire);
		uint64_t left = rest >> 32;
		uint32_t node = (uint32_t)rest;

		/* The entry was reused, after a ring's length of packets. */
		if (atomic_load_explicit(&entry->tag, memory_order_relaxed) != count->tag ||
			node == RECORDER_NODE_UNKNOWN)
			return RECORDER_NODE_UNKNOWN;
		if (left)
			node = count_in_ring(count, left, node);
		if (atomic_load_explicit(&entry->rest, memory_order_relaxed) == rest)
			return node;
	}
	return RECORDER_NODE_UNKNOWN;
}

/* The number of the first dispatch in the reservation that the thread is making. */
static uint32_t count_next(struct thread_state *thread)
{
	/* Reservations were not counted while the gate was closed. */
	if (thread->gate_changes != gate_changes())
		return RECORDER_NODE_UNKNOWN;
	if (thread->count.call != thread->call)
		thread->count = (struct thread_count){.call = thread->call};
	return count_settle(&thread->count);
}

static void count_hold(struct thread_count *count, const struct origins *origins,
	const struct origin *entry, uint64_t tag, uint64_t end)
{
	count->entry = entry;
	count->tag = tag;
	count->origins = origins;
	count->end = end;
}

void origins_reserve_rarely(struct origins *origins, uint64_t first, uint64_t n)
{
	struct thread_state *thread = thread_state();
	struct origin *entry = &origins->entry[first & origins->mask];
	uint64_t walked = atomic_load_explicit(&origins->walked, memory_order_acquire);
	uint64_t tag = origins_tag(origins, first);
	uint32_t node = 0;

	if (thread->call)
		node = count_next(thread);
	if (first - walked > origins->mask || n > UINT32_MAX) {
		thread->count.entry = NULL;
		thread->count.node = RECORDER_NODE_UNKNOWN;
		return;
	}
	(void)thread_state_tid();
	if (!thread->call && first - walked <= origins->near_mask) {
		origin_put(&origins->near[first & origins->near_mask], tag, thread, n, 0);
		return;
	}
	if (!atomic_load_explicit(&origins->is_far, memory_order_relaxed))
		atomic_store_explicit(&origins->is_far, true, memory_order_relaxed);
	origin_put(entry, tag, thread, n, node);
	/*
	 * The entry in the large ring stays valid until the thread's next reservation in this call.
	 */
	if (thread->call)
		count_hold(&thread->count, origins, entry, tag, first + n);
}

/* ---- the walker --------------------------------------------------------------------------- */

void origin_walk_note(struct origin *run, bool is_dispatch, struct packet_origin *ret)
{
	uint64_t rest = atomic_load_explicit(&run->rest, memory_order_relaxed);
	uint32_t node = (uint32_t)rest;

	ret->node = node;
	if (is_dispatch && node != RECORDER_NODE_UNKNOWN)
		node++;
	/* Only the holder of the walk writes here now. */
	atomic_store_explicit(&run->rest, ((rest >> 32) - 1) << 32 | node, memory_order_release);
}

/* ---- life ----------------------------------------------------------------------------------- */

int origins_begin(struct origins *origins, const hsa_queue_t *queue, uint64_t index)
{
	/* Twice the ring: for the packets in it, and one waiting reservation per thread. */
	uint64_t entries = 2 * (uint64_t)queue->size;
	void *memory;

	if (!origins->entry || origins->mask + 1 < entries) {
		memory = mmap(NULL, (entries + ORIGINS_NEAR) * sizeof(*origins->entry),
			PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			return -ENOMEM;
		/*
		 * The smaller memory is not freed, because a thread may hold an entry in it. Sizes
		 * double, so all that is left behind is less than what is in use.
		 */
		origins->entry = memory;
		origins->mask = entries - 1;
		origins->near = entries > ORIGINS_NEAR ? origins->entry + entries : memory;
		origins->near_mask = (entries > ORIGINS_NEAR ? ORIGINS_NEAR : entries) - 1;
		atomic_store_explicit(&origins->mapped,
			(uintptr_t)memory | (unsigned)__builtin_ctzll(entries),
			memory_order_release);
	}
	origins->ring = queue->base_address;
	origins->ring_mask = queue->size - 1;
	atomic_fetch_add_explicit(&origins->life, 1ull << ORIGIN_LIFE_SHIFT, memory_order_release);
	origins->run = NULL;
	origins->run_first = origins->run_end = index;
	atomic_store_explicit(&origins->walked, index, memory_order_relaxed);
	return 0;
}

void origins_interrupt(struct origins *origins, uint64_t index)
{
	origins->run = NULL;
	origins->run_first = origins->run_end = index;
	atomic_fetch_add_explicit(&origins->life, 1ull << ORIGIN_LIFE_SHIFT, memory_order_release);
}

void origins_touch(struct origins *origins)
{
	uintptr_t mapped = atomic_load_explicit(&origins->mapped, memory_order_acquire);
	uint64_t entries = 1ull << (mapped & MAPPED_EXPONENT);
	uint64_t walked = atomic_load_explicit(&origins->walked, memory_order_relaxed);

	if (!mapped || !atomic_load_explicit(&origins->is_far, memory_order_relaxed))
		return;
	/* Set again by the next reservation that is far ahead. */
	atomic_store_explicit(&origins->is_far, false, memory_order_relaxed);
	/* After one round all entries have been used. */
	if (walked < entries)
		ahead_of(&origins->ahead, (void *)(mapped & ~MAPPED_EXPONENT),
			entries * sizeof(*origins->entry), walked * sizeof(*origins->entry));
}

void origins_end(struct origins *origins)
{
	atomic_fetch_add_explicit(&origins->life, 1ull << ORIGIN_LIFE_SHIFT, memory_order_release);
}

void origins_revive(struct origins *origins)
{
	atomic_fetch_sub_explicit(&origins->life, 1ull << ORIGIN_LIFE_SHIFT, memory_order_release);
}

void origins_free(struct origins *origins)
{
	if (origins->entry)
		munmap(origins->entry,
			(origins->mask + 1 + ORIGINS_NEAR) * sizeof(*origins->entry));
	origins->entry = NULL;
	atomic_store_explicit(&origins->mapped, 0, memory_order_relaxed);
}
