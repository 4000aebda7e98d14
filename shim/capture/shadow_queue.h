/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * One virtualised queue; inside of the shadow front end only. Fields on a cache line of their
 * own are written by many threads; the rest by the holder of the walk.
 */
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hsa/amd_hsa_queue.h>

#include "shim/capture/capture.h"
#include "shim/capture/dispatch.h"
#include "shim/capture/submitter.h"

struct capture_queue;

struct shadow_queue {
	/* Constant from adopt to retire. */
	alignas(CACHE_LINE_BYTES) struct capture *capture;
	struct capture_queue *queue;
	amd_queue_t *real;
	uint8_t *ring;
	uint64_t mask;
	uint64_t *last; /* by ring slot: the handle we stored there last (rule 6) */
	_Atomic uint64_t
		*batch_tail; /* by ring slot: index + 1 of a batch's last packet (rule 10) */
	hsa_signal_t doorbell;
	/* Creates of this queue without a destroy so far: one, but for a cooperative queue, which
	 * the runtime returns from every create. Under front_end.c's lock. */
	uint32_t holders;

	alignas(CACHE_LINE_BYTES) _Atomic uint64_t virtual_index; /* all producers */

	alignas(CACHE_LINE_BYTES) _Atomic uintptr_t
		walk; /* rule 5: 0 free; else the holder, and perhaps WALK_AGAIN */
	_Atomic uint32_t is_live;
	bool is_plain;	       /* a foreign writer was seen: no more stamps (rule 11) */
	_Atomic uint64_t next; /* published; the holder of the walk, read by the housekeeper */
	uint64_t read_cached;
	bool is_dormant;      /* the packet before was skipped: the gate was closed */
	uint64_t stamped_end; /* ring slots of packets before this one may still carry a signal of
				 ours */
	/* For a walk that is left in its middle: whose it is, a thread pointer, and how far it is.
	 */
	_Atomic uintptr_t walker;
	uint64_t walked; /* each packet before this one is recorded and has its signal */
	uint64_t marked; /* of this one `mark` says how it was before */
	struct dispatch_mark mark;
	/* A walk met a packet that was announced and not written: the holder of the walk sets it,
	 * the housekeeper takes it back. */
	_Atomic uint32_t is_left_behind;
	struct origins origins; /* of the block's queue, whoever follows it */
	uint64_t seen;		/* next, as of the last housekeeping; the harvester's thread */
};
