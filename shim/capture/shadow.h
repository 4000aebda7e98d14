/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The shadow front end: the write index of a queue is virtual, and the real one moves on only
 * when the packets before it carry our signal. Rule numbers are those of docs/shadow.md.
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
#include "shim/capture/front_end.h"
#include "shim/capture/shadow_table.h"

extern const struct front_end shadow_front_end;

/* NULL: not one of ours. Lock-free. */
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

/* Of a followed queue that is given out once more, or taken back: the number of those that have it now. Under
 * front_end.c's lock. */
uint32_t shadow_hold(struct shadow_queue *queue);
uint32_t shadow_unhold(struct shadow_queue *queue);

/* Rule 4: on the virtual index only, sequentially consistent whatever was asked for. */
uint64_t shadow_index_load(const struct shadow_queue *queue);
void shadow_index_store(struct shadow_queue *queue, uint64_t value);
uint64_t shadow_index_add(struct shadow_queue *queue, uint64_t n);
/* Returns the value before, as hsa_queue_cas_write_index does. */
uint64_t shadow_index_cas(struct shadow_queue *queue, uint64_t expected, uint64_t value);

/* Rules 5-7: walk, publish, ring. Never waits; whoever holds the walk rings for us. */
void shadow_doorbell(struct shadow_queue *queue);

/*
 * Rule 5: the calling thread goes away from its stack between @from and @to without coming back: by
 * siglongjmp() out of a signal handler, or because it ends. Walks that it leaves there go on to
 * their end first. @walker, a thread pointer: that thread's only; 0: whoever's is there. Waits for
 * the harvest lock; a signal handler may call it.
 */
void shadow_leave(struct capture *capture, uintptr_t from, uintptr_t to, uintptr_t walker);

/*
 * For a thread that nobody could tell of its jump, before it waits: the same for what it has left,
 * as far as that is certain. Its next doorbell or reservation of the same queue asks by itself.
 */
void shadow_find_left(struct capture *capture);
/* Whether a queue is walked at the moment, by any thread. */
bool shadow_is_any_held(struct capture *capture);

/* Rule 11: walks every queue whose doorbell was rung too early or not through us. Harvester. */
void shadow_housekeep(struct capture *capture);
/* No doorbell rang for a packet that was not there, but for those that are walked by now. */
bool shadow_is_settled(struct capture *capture);

/*
 * OnUnload, after capture_stop(): true once no walk runs any more that began before it, so
 * that no packet gets our signal from now on. False at @deadline_ns (CLOCK_MONOTONIC).
 */
bool shadow_quiesce(struct capture *capture, uint64_t deadline_ns);

/*
 * The free slots that the producer of block @block holds, as two chains; 0: none, or somebody walks
 * the queue at the moment. Holder of the harvest lock; who rang meanwhile has his walk made when
 * that is released, by harvest_lock_release().
 */
void shadow_take_free(struct capture *capture, uint32_t block, uint32_t ret[2]);
/* @owed: a block + 1, whose walk shadow_take_free() left held. */
void shadow_walk_owed(struct capture *capture, uint32_t owed);
