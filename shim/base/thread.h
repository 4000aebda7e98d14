/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a thread is inside of when it submits a dispatch, in one block, so that the dispatch path
 * finds it with one lookup. Only the thread itself writes a field, and only the module named beside
 * the field. No module has __thread variables of its own, because the first touch of one may
 * allocate in the middle of the program's call.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/base/limits.h"
#include "shim/base/process/communicators.h"
#include "shim/base/gate.h"

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
 * fixed once the kind of each packet in the latest reservation is known (shim/capture/tables/submitter.h).
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

struct thread_state {
	uint64_t marker;       /* innermost recorded roctx range, 0 if none; written by markers */
	uint64_t call;	       /* innermost host call, 0 if none; written by calls */
	uint32_t gate_changes; /* gate_changes() at the entry of the call; written by calls */
	struct thread_count count; /* written by origin */
	uint32_t region; /* number of open ranges that --region names; written by markers */
	uint32_t tid;	 /* 0 if not read yet; written by origin, markers and calls */
	/*
	 * Thread pointer of the thread that has the block; 0 if there is none, or for the __thread
	 * fallback.
	 */
	_Atomic uintptr_t owner;

	/* The rest is not used on the dispatch path. */
	/* Address of the RCCL function that the thread is in, 0 if none; written by rccl. */
	uintptr_t rccl_inside;
	struct marker_stack markers;
	struct open_calls calls;
	struct rccl_group group; /* written by rccl_groups */
};

/*
 * The block of the calling thread, valid as long as the thread runs. No system call, lock or
 * allocation.
 */
struct thread_state *thread_state(void) __attribute__((const));

/* Remembers the last thread's block for a place where mostly the same thread returns. */
typedef _Atomic(struct thread_state *) thread_state_hint;

/*
 * Same result as thread_state(), but faster if the hint is right. Blocks are never unmapped, and a
 * thread that finds its own thread pointer in one owns it.
 */
static inline struct thread_state *thread_state_near(thread_state_hint *hint)
{
	struct thread_state *state = atomic_load_explicit(hint, memory_order_relaxed);

	if (__builtin_expect(state && atomic_load_explicit(&state->owner, memory_order_relaxed) ==
					      (uintptr_t)__builtin_thread_pointer(),
		    1))
		return state;
	state = thread_state();
	if (atomic_load_explicit(&state->owner, memory_order_relaxed))
		atomic_store_explicit(hint, state, memory_order_relaxed);
	return state;
}

/*
 * Number of open started ranges that --region names; these belong to the process, not to a thread.
 * Written by markers.
 */
extern _Atomic uint32_t thread_state_regions;

/* Whether a dispatch that @thread, the calling thread, submits now lies in a range of --region. */
static inline bool thread_state_is_in_region(const struct thread_state *thread)
{
	return thread->region || atomic_load_explicit(&thread_state_regions, memory_order_relaxed);
}

/* The kernel's id of the calling thread, read without a system call. */
uint32_t thread_state_tid(void);

/* Sets the one function that each thread with a block calls when it ends, perhaps several times. */
void thread_state_watch_ends(void (*watcher)(void));

/* For the child of fork(): its thread has a new id and is in none of the parent's calls. */
void thread_state_forget(void);
