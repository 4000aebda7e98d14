/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a thread is inside of when it submits a dispatch, in one block, so that the dispatch path
 * finds it with one lookup. Only the thread itself writes a field, and only the module named beside
 * the field.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/gate.h"
#include "shim/base/thread_parts.h"

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
