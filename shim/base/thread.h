/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a thread is in the middle of, for the dispatches that it submits: one block, so that the
 * dispatch path looks it up once. Each field has one writer, the module named beside it, on the
 * thread itself.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/gate.h"
#include "shim/base/thread_parts.h"

struct thread_state {
	uint64_t marker;	   /* innermost recorded roctx range, 0: none; markers */
	uint64_t call;		   /* innermost host call under way, 0: none; calls */
	uint32_t gate_changes;	   /* at the entry of the call; with call */
	struct thread_count count; /* origin */
	uint32_t region;	   /* open ranges that the user's --region names; markers */
	uint32_t tid;		   /* 0: not asked for yet; origin, markers and calls */
	/* The thread pointer of the thread that has the block, 0: none, or it goes with the thread.
	 */
	_Atomic uintptr_t owner;

	/* Off the dispatch path. */
	uintptr_t rccl_inside; /* address of the RCCL call that the thread is in, 0: none; rccl */
	struct marker_stack markers;
	struct open_calls calls;
	struct rccl_group group; /* rccl_groups */
};

/* The calling thread's; for as long as it runs. No system call, no lock, no allocation. */
struct thread_state *thread_state(void) __attribute__((const));

/* Where the thread that was here last is mostly the one that comes next. */
typedef _Atomic(struct thread_state *) thread_state_hint;

/* The same as thread_state(), faster where the hint is right. Blocks are never unmapped, and who
 * finds itself the owner of one is. */
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

/* Open started ranges that --region names: these are the process's, not a thread's. markers */
extern _Atomic uint32_t thread_state_regions;

/* Whether what @thread, the caller, submits now lies in a range of --region. */
static inline bool thread_state_is_in_region(const struct thread_state *thread)
{
	return thread->region || atomic_load_explicit(&thread_state_regions, memory_order_relaxed);
}

/* The kernel's id of the calling thread; no system call. */
uint32_t thread_state_tid(void);

/* One for the whole library: called at the end of each thread that has a block, on that thread;
 * perhaps several times. */
void thread_state_watch_ends(void (*watcher)(void));

/* fork's child: its thread has another id, and is in none of the parent's calls. */
void thread_state_forget(void);
