/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The shadow front end: the write index of a queue is virtual, and the real one moves on only
 * when the packets before it carry our signal. Rule numbers are those of docs/capture.md.
 * Everything here except adopt, release and retire is on the application's dispatch path: no
 * locks that wait, no allocation, no system calls, no logging.
 *
 * How the hooks use it (each first asks capture_is_pass_through()):
 *   index functions  q = shadow_of_queue(c, queue); q ? shadow_index_*(q, ...) : original
 *   signal stores x4 q = shadow_of_doorbell(c, signal);
 *                    q ? shadow_doorbell(q) : (harvest_signal_store(c, signal), original)
 *   queue create     original, then shadow_front_end.adopt
 *   queue destroy    shadow_front_end.release, original, shadow_front_end.retire
 *   queue_get_info   shadow_of_queue() and DOORBELL_ID: fail it (rule 1)
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hsa/hsa.h>

#include "shim/capture/capture.h"
#include "shim/capture/front_ends/front_end.h"
#include "shim/capture/front_ends/shadow_table.h"

extern const struct front_end shadow_front_end;

/* NULL if it is not one of ours. Lock-free. */
static inline struct shadow_queue *shadow_of_queue(
	const struct capture *capture, const hsa_queue_t *queue)
{
	const struct capture_head *head = (const struct capture_head *)(const void *)capture;

	return shadow_table_find(head->shadow, SHADOW_BY_QUEUE, (uint64_t)(uintptr_t)queue);
}

static inline struct shadow_queue *shadow_of_doorbell(
	const struct capture *capture, hsa_signal_t signal)
{
	const struct capture_head *head = (const struct capture_head *)(const void *)capture;

	return shadow_table_find(head->shadow, SHADOW_BY_DOORBELL, signal.handle);
}

/*
 * Count the creates that returned this queue: each call changes the number by one and returns it.
 * Called under front_end.c's lock.
 */
uint32_t shadow_hold(struct shadow_queue *queue);
uint32_t shadow_unhold(struct shadow_queue *queue);

/* Rule 4: act on the virtual index only, sequentially consistent whatever the caller asked for. */
uint64_t shadow_index_load(const struct shadow_queue *queue);
void shadow_index_store(struct shadow_queue *queue, uint64_t value);
uint64_t shadow_index_add(struct shadow_queue *queue, uint64_t n);
/* Returns the value before, as hsa_queue_cas_write_index does. */
uint64_t shadow_index_cas(struct shadow_queue *queue, uint64_t expected, uint64_t value);

/*
 * Rules 5-7: walk, publish, ring. Never waits: if another thread holds the walk, that thread rings.
 */
void shadow_doorbell(struct shadow_queue *queue);

/*
 * Rule 5: the calling thread abandons its stack between @from and @to, by siglongjmp() out of a
 * signal handler or because it ends. Walks that it would leave unfinished there are completed
 * first. If @walker is not 0, only those of the thread with this thread pointer. Waits for the
 * harvest lock; may be called in a signal handler.
 */
void shadow_leave(struct capture *capture, uintptr_t from, uintptr_t to, uintptr_t walker);

/*
 * The same for walks that this thread has left earlier by a jump that the shim could not see, as
 * far as that is certain: @place is the address of a frame of the thread that calls, as shallow as
 * that of the runtime's function, below which a walk that it is still in would lie. Called before
 * the thread waits; its next doorbell or reservation on the same queue checks by itself.
 */
void shadow_find_left(struct capture *capture, uintptr_t place);
/* Whether any thread walks a queue at the moment. */
bool shadow_is_any_held(struct capture *capture);

/*
 * Whether no doorbell was rung for a packet that was not there yet, apart from those walked by now.
 */
bool shadow_is_settled(struct capture *capture);

/*
 * Called in OnUnload after capture_stop(): returns true once every walk that began before it has
 * ended, so that no packet can get our signal any more; false at @deadline_ns (CLOCK_MONOTONIC).
 */
bool shadow_quiesce(struct capture *capture, uint64_t deadline_ns);

/* Rules 5 and 11 for the rest of the capture (capture_internal.h). */
extern const struct walks shadow_walks;
