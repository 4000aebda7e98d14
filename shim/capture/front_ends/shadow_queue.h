/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One virtualised queue; used inside the shadow front end only. Fields on cache lines of their own
 * are written by many threads, the others by the holder of the walk.
 */
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hsa/amd_hsa_queue.h>

#include "shim/capture/capture.h"
#include "shim/capture/dispatch.h"
#include "shim/capture/tables/submitter.h"

struct capture_queue;

struct shadow_queue {
	/* Constant from adopt to retire. */
	alignas(CACHE_LINE_BYTES) struct capture *capture;
	struct capture_queue *queue;
	amd_queue_t *real;
	uint8_t *ring;
	uint64_t mask;
	uint64_t *last; /* by ring slot: the handle that we stored there last (rule 6) */
	/* By ring slot: index + 1 of a batch's last packet (rule 10). */
	_Atomic uint64_t *batch_tail;
	hsa_signal_t doorbell;
	/*
	 * Creates of this queue without a destroy: one, except for a cooperative queue, which the
	 * runtime returns from every create. Protected by front_end.c's lock.
	 */
	uint32_t holders;

	alignas(CACHE_LINE_BYTES) _Atomic uint64_t virtual_index; /* written by all producers */

	/* Rule 5: 0 if free, else the holder, perhaps with WALK_AGAIN. */
	alignas(CACHE_LINE_BYTES) _Atomic uintptr_t walk;
	_Atomic uint32_t is_live;
	bool is_unstamped; /* a foreign writer was seen: no more signals are stored (rule 11) */
	/* Published index; written by the holder of the walk, read by the housekeeper. */
	_Atomic uint64_t next;
	uint64_t read_cached;
	bool is_dormant; /* the last packet was skipped because the gate was closed */
	/* Ring slots of packets before this may still have a signal of ours. */
	uint64_t stamped_end;
	/* For a walk that is abandoned: thread pointer of its thread, and its progress. */
	_Atomic uintptr_t walker;
	uint64_t walked; /* each packet before this one is recorded and has its signal */
	uint64_t marked; /* `mark` has the counters before this packet */
	struct dispatch_mark mark;
	/*
	 * A walk met a packet that was announced but not written. Set by the holder of the walk,
	 * cleared by the housekeeper.
	 */
	_Atomic uint32_t is_left_behind;
	struct origins origins; /* of the queue that uses the block, in either front end */
	uint64_t seen;		/* `next` at the last housekeeping; the harvesting thread */
};
