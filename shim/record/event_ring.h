/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * A bounded ring of many producers and one consumer over entries that begin with struct
 * recorder_event (proto/recorder/layout.h has the turn rule, docs/recorder.md why it survives a
 * crash). Producers: any thread, no wait, no system call, no allocation. Consumer: the shim
 * thread, which may give entries back in any order.
 */
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/recorder/layout.h"

/* Where a ring stands. Zeroed: at position 0. */
struct event_ends {
	alignas(64) _Atomic uint64_t tail; /* next position to take; producers */
	alignas(64) _Atomic uint64_t head; /* oldest one not given back; consumer */
};

/* Constant once it is shared; its entries and its ends are the ring. */
struct event_ring {
	uint8_t *entries;
	struct event_ends *ends;
	uint32_t count;
	uint32_t stride; /* bytes */
};

/* An entry of the caller's, to be filled and published soon: later ones wait for it. NULL: full. */
struct recorder_event *event_ring_take(const struct event_ring *ring);
void event_ring_publish(struct recorder_event *event);

/* As of the consumer's last look. */
static inline bool event_ring_is_half_full(const struct event_ring *ring)
{
	uint64_t head = atomic_load_explicit(&ring->ends->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&ring->ends->tail, memory_order_relaxed);

	return tail - head > ring->count / 2 && tail > head;
}

/* ---- consumer ---------------------------------------------------------------------------- */

enum event_turn {
	EVENT_IS_WRITTEN, /* taken or not, it is not whole */
	EVENT_IS_WHOLE,
	EVENT_IS_BACK, /* given back, and maybe taken again since */
};

/* Of @position, which is not before the head. @ret: its entry. */
enum event_turn event_ring_turn(
	const struct event_ring *ring, uint64_t position, struct recorder_event **ret);

/* Step R of a whole one. */
void event_ring_give_back(const struct event_ring *ring, struct recorder_event *event);

/* Moves the head past what was given back. */
void event_ring_advance(const struct event_ring *ring);

static inline uint64_t event_ring_tail(const struct event_ring *ring)
{
	return atomic_load_explicit(&ring->ends->tail, memory_order_acquire);
}

static inline uint64_t event_ring_head(const struct event_ring *ring)
{
	return atomic_load_explicit(&ring->ends->head, memory_order_relaxed);
}

/* Nothing taken that was not given back. */
static inline bool event_ring_is_empty(const struct event_ring *ring)
{
	return event_ring_head(ring) == event_ring_tail(ring);
}
