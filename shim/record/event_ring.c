// SPDX-License-Identifier: MIT
#include "shim/record/event_ring.h"

static struct recorder_event *entry_at(const struct event_ring *ring, uint64_t position)
{
	return (struct recorder_event *)(ring->entries + position % ring->count * ring->stride);
}

/* The stored turn is relative to the entry's index; this is the absolute position. */
static uint64_t turn_of(
	const struct event_ring *ring, const struct recorder_event *event, uint64_t position)
{
	return atomic_load_explicit(&event->turn, memory_order_acquire) + position % ring->count;
}

struct recorder_event *event_ring_take(const struct event_ring *ring)
{
	uint64_t position = atomic_load_explicit(&ring->ends->tail, memory_order_relaxed);

	for (;;) {
		struct recorder_event *event = entry_at(ring, position);
		uint64_t turn = turn_of(ring, event, position);

		if (turn == position) {
			if (!atomic_compare_exchange_weak_explicit(&ring->ends->tail, &position,
				    position + 1, memory_order_acq_rel, memory_order_relaxed))
				continue;
			atomic_store_explicit(&event->frame, 0, memory_order_relaxed);
			return event;
		}
		if ((int64_t)(turn - position) < 0)
			return NULL;
		position = atomic_load_explicit(&ring->ends->tail, memory_order_relaxed);
	}
}

void event_ring_publish(struct recorder_event *event)
{
	/* Only the thread that took the entry changes its turn. */
	uint64_t turn = atomic_load_explicit(&event->turn, memory_order_relaxed);

	atomic_store_explicit(&event->turn, turn + 1, memory_order_release);
}

enum event_turn event_ring_turn(
	const struct event_ring *ring, uint64_t position, struct recorder_event **ret)
{
	struct recorder_event *event = entry_at(ring, position);
	uint64_t ahead = turn_of(ring, event, position) - position;

	*ret = event;
	if (ahead == 1)
		return EVENT_IS_WHOLE;
	return ahead == 0 ? EVENT_IS_WRITTEN : EVENT_IS_BACK;
}

void event_ring_give_back(const struct event_ring *ring, struct recorder_event *event)
{
	uint64_t turn = atomic_load_explicit(&event->turn, memory_order_relaxed);

	atomic_store_explicit(&event->turn, turn - 1 + ring->count, memory_order_release);
}

void event_ring_advance(const struct event_ring *ring)
{
	uint64_t tail = event_ring_tail(ring), head = event_ring_head(ring);
	struct recorder_event *event;

	while (head != tail && event_ring_turn(ring, head, &event) == EVENT_IS_BACK)
		head++;
	atomic_store_explicit(&ring->ends->head, head, memory_order_relaxed);
}
