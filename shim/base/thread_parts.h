/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the modules of ranges, host calls and collectives keep of a thread. Parts of its block in
 * thread.h, off the dispatch path: no module has __thread variables of its own, whose first
 * touch may allocate in the middle of the program's call.
 */
#include <stdint.h>

#include "proto/base/limits.h"
#include "shim/base/communicators.h"

#define MARKER_DEPTH_MAX 32u /* nested ranges of one thread that are told apart */

/* Ranges that the thread has pushed; the innermost one is thread_state()->marker. */
struct marker_stack {
	uint32_t depth;
	uint32_t in_region;		 /* bit i: level i is one of --region */
	uint64_t open[MARKER_DEPTH_MAX]; /* 0: not recorded */
};

/* RCCL asks HIP, which may ask itself; deeper ones have a record and no children. */
#define CALL_DEPTH_MAX 6u

struct origin;
struct origins;

/*
 * Where the count of a call's dispatches stands: known once it is known what kind of packets its
 * latest reservation got (shim/capture/submitter.h). A call inside of another one puts it back at
 * its end.
 */
struct thread_count {
	uint64_t call;		    /* whose: 0 or another one than the thread is in: start at 0 */
	const struct origin *entry; /* the latest reservation; NULL: none, the count is `node` */
	uint64_t tag;		    /* what the entry holds as long as it is this one's */
	const struct origins *origins;
	uint64_t end; /* index after its last packet */
	uint32_t node;
};

struct open_call {
	uint64_t id;
	uintptr_t frame;	   /* address of its struct call_frame */
	struct thread_count count; /* of its dispatches, while another one is inside */
	uint32_t gate_changes;	   /* at its entry */
};

/* Calls that the thread is in, outermost first. */
struct open_calls {
	uint32_t depth;
	struct open_call at[CALL_DEPTH_MAX];
};

/* Communicators that one group makes: one for each GPU of the node. */
#define RCCL_DEFERRED_MAX RECORDER_GPUS

/* A group of RCCL calls. */
struct rccl_group {
	uint32_t depth;
	uint32_t count; /* of deferred */
	uint64_t end;	/* number of the call that ends it */
	struct rccl_deferred {
		void **comm;
		struct communicator known;
	} deferred[RCCL_DEFERRED_MAX];
};
