/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Per-thread state of the modules for ranges, host calls and collectives. It is part of the
 * thread's block in thread.h, off the dispatch path. No module has __thread variables of its own,
 * because the first touch of one may allocate in the middle of the program's call.
 */
#include <stdint.h>

#include "proto/base/limits.h"
#include "shim/base/communicators.h"

#define MARKER_DEPTH_MAX 32u /* nested ranges of one thread that are recorded */

/* Ranges that the thread has pushed and not popped; thread_state()->marker is the innermost one. */
struct marker_stack {
	uint32_t depth;
	uint32_t in_region;		 /* bit i is set if --region names the range at level i */
	uint64_t open[MARKER_DEPTH_MAX]; /* ids; 0 if not recorded */
};

/*
 * RCCL calls HIP, which may call itself. A call deeper than this is recorded, but becomes no
 * parent.
 */
#define CALL_DEPTH_MAX 6u

struct origin;
struct origins;

/*
 * State of the counter that numbers the dispatches of a host call. The number of a dispatch is
 * fixed once the kind of each packet in the latest reservation is known (shim/capture/submitter.h).
 * A nested call restores the counter of the outer one when it ends.
 */
struct thread_count {
	/* Id of the call; if it is not the thread's current call, counting starts at 0. */
	uint64_t call;
	const struct origin *entry; /* latest reservation; NULL if none, then `node` is the count */
	uint64_t tag;		    /* value of the entry's tag while it belongs to this thread */
	const struct origins *origins;
	uint64_t end; /* index after the last packet of the reservation */
	uint32_t node;
};

struct open_call {
	uint64_t id;
	uintptr_t frame;	   /* address of its struct call_frame */
	struct thread_count count; /* count of its own dispatches while a nested call runs */
	uint32_t gate_changes;	   /* gate_changes() at its entry */
};

/* Host calls that the thread is in, outermost first. */
struct open_calls {
	uint32_t depth;
	struct open_call at[CALL_DEPTH_MAX];
};

/* Communicators that one group can make: one for each GPU of the node. */
#define RCCL_DEFERRED_MAX RECORDER_GPUS

/* An ncclGroupStart ... ncclGroupEnd section of the thread. */
struct rccl_group {
	uint32_t depth;
	uint32_t count; /* number of entries in deferred */
	uint64_t end;	/* id of the call that ends the group */
	struct rccl_deferred {
		void **comm;
		struct communicator known;
	} deferred[RCCL_DEFERRED_MAX];
};
