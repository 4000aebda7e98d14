// SPDX-License-Identifier: MIT
/*
 * The queues that are captured: each has a block of the recorder. And the lock under which slots
 * and records are moved between them.
 */
#include "shim/base/wait.h"
#include "shim/capture/capture_internal.h"

uint64_t capture_pending(const struct capture *c)
{
	uint64_t framed = atomic_load_explicit(&c->framed, memory_order_relaxed);
	uint32_t used = recorder_queues_used(&c->recorder);
	uint64_t taken = 0;

	for (uint32_t i = 0; i < used; i++)
		taken += atomic_load_explicit(&c->queues[i].taken, memory_order_relaxed);
	return taken > framed ? taken - framed : 0;
}

bool harvest_lock_try(struct capture *c)
{
	uint32_t is_free = 0;

	return atomic_compare_exchange_strong_explicit(
		&c->harvest_lock, &is_free, 1, memory_order_acquire, memory_order_relaxed);
}

void harvest_lock_wait(struct capture *c)
{
	unsigned checks = 0;

	while (!harvest_lock_try(c))
		wait_between_checks(&checks);
}

void harvest_lock_release(struct capture *c)
{
	uint32_t owed = c->walk_owed;

	c->walk_owed = 0;
	atomic_store_explicit(&c->harvest_lock, 0, memory_order_release);
	if (__builtin_expect(owed != 0, 0))
		c->walks->walk_owed(c, owed);
}

/*
 * Takes a block that was never used, else one of a destroyed queue on the same GPU, whose numbers
 * continue.
 */
static struct capture_queue *block_find(struct capture *c, uint32_t gpu)
{
	uint32_t used = recorder_queues_used(&c->recorder);
	struct capture_queue *found = NULL;

	if (used < RECORDER_QUEUES) {
		c->queues[used].index = used;
		return &c->queues[used];
	}
	for (uint32_t i = 0; i < used; i++) {
		struct capture_queue *q = &c->queues[i];

		if (q->gpu != gpu ||
			atomic_load_explicit(&q->state, memory_order_relaxed) != QUEUE_RETIRED)
			continue;
		/*
		 * Slots that wait for a cell are returned to the block's next queue, which would
		 * have more slots than it counts.
		 */
		if (!q->done.count)
			return q;
		if (!found)
			found = q;
	}
	return found;
}

static void queue_start(struct capture *c, struct capture_queue *q, uint32_t gpu,
	uint32_t ring_packets, uint64_t hsa_queue_id)
{
	struct recorder_queue *block = &c->recorder.queues[q->index];
	bool is_new = atomic_load_explicit(&q->state, memory_order_relaxed) == QUEUE_UNUSED;

	q->block = block;
	q->gate = c->hsa.gate_of ? c->hsa.gate_of(gpu) : &gate_word;
	q->gpu = gpu;
	q->ring_packets = ring_packets;
	q->barrier_fired = 0;
	q->witness = 0;
	q->dry_until_ns = 0;
	q->ticks = (struct ticks){0};
	q->trail = &q->first;
	atomic_store_explicit(&q->first, 0, memory_order_relaxed);
	q->reached = 0;
	q->is_reached_freed = false;
	atomic_store_explicit(&q->ended, 0, memory_order_relaxed);
	if (is_new)
		block->gpu = gpu;
	block->hsa_queue_id = hsa_queue_id;
	atomic_store_explicit(&block->in_use, 1, memory_order_relaxed);
	atomic_store_explicit(&q->state, QUEUE_LIVE, memory_order_relaxed);
	if (is_new)
		atomic_store_explicit(
			&c->recorder.header->queues_used, q->index + 1, memory_order_release);
	c->queues_live++;
	c->active_ns = c->now_ns;
	/* If no slots are left, its dispatches are dropped and counted until there are some. */
	pool_begin(c, q);
}

struct capture_queue *capture_queue_new(
	struct capture *c, uint32_t gpu, uint32_t ring_packets, uint64_t hsa_queue_id)
{
	struct capture_queue *q;

	harvest_lock_wait(c);
	q = block_find(c, gpu);
	if (q)
		queue_start(c, q, gpu, ring_packets, hsa_queue_id);
	harvest_lock_release(c);
	return q;
}
