/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A bounded ring with many producers and one consumer, whose entries begin with struct
 * recorder_event (proto/recorder/layout.h has the rule for turns; docs/recorder.md explains why the
 * ring survives a crash). Any thread may produce: no wait, system call or allocation. The shim
 * thread consumes, and may return entries in any order.
 */
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/recorder/layout.h"

/* The two ends of a ring. Zeroed, both are at position 0. */
struct event_ends {
	alignas(64) _Atomic uint64_t tail; /* next position to take; written by producers */
	/* Oldest position not returned; written by the consumer. */
	alignas(64) _Atomic uint64_t head;
};

/* Constant once it is shared; the mutable state is in the entries and the ends. */
struct event_ring {
	uint8_t *entries;
	struct event_ends *ends;
	uint32_t count;
	uint32_t stride; /* bytes */
};

/*
 * Takes an entry that the caller must fill and publish soon, because later entries wait for it.
 * NULL if the ring is full.
 */
struct recorder_event *event_ring_take(const struct event_ring *ring);
void event_ring_publish(struct recorder_event *event);

/* Based on the head that the consumer wrote last. */
static inline bool event_ring_is_half_full(const struct event_ring *ring)
{
	uint64_t head = atomic_load_explicit(&ring->ends->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&ring->ends->tail, memory_order_relaxed);

	return tail - head > ring->count / 2 && tail > head;
}

/* ---- consumer ---------------------------------------------------------------------------- */

enum event_turn {
	EVENT_IS_WRITTEN, /* not taken yet, or not fully written */
	EVENT_IS_WHOLE,
	EVENT_IS_BACK, /* returned, and perhaps taken again since */
};

/* State of the entry at @position, which is not before the head. @ret is the entry. */
enum event_turn event_ring_turn(
	const struct event_ring *ring, uint64_t position, struct recorder_event **ret);

/* Returns a whole entry to the producers: step R in docs/recorder.md. */
void event_ring_give_back(const struct event_ring *ring, struct recorder_event *event);

/* Moves the head past the entries that were returned. */
void event_ring_advance(const struct event_ring *ring);

static inline uint64_t event_ring_tail(const struct event_ring *ring)
{
	return atomic_load_explicit(&ring->ends->tail, memory_order_acquire);
}

static inline uint64_t event_ring_head(const struct event_ring *ring)
{
	return atomic_load_explicit(&ring->ends->head, memory_order_relaxed);
}

/* Whether every entry that was taken has been returned. */
static inline bool event_ring_is_empty(const struct event_ring *ring)
{
	return event_ring_head(ring) == event_ring_tail(ring);
}
