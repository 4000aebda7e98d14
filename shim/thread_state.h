/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What a thread is in the middle of, for the dispatches that it submits: one block of
 * thread-local memory, so that the dispatch path looks it up once. Each field has one writer,
 * the module named beside it, on the thread itself. Not initial-exec: a process with no static
 * TLS left could not load the shim at all.
 */
#include <stdint.h>

struct thread_state {
	uint64_t marker; /* innermost recorded roctx range, 0: none; markers */
	uint64_t call;	 /* innermost host call under way, 0: none; calls */
	uint32_t node;	 /* dispatches of that call so far; dispatch */
	uint32_t region; /* open ranges that the user's --region names; markers */
	uint32_t tid;	 /* 0: not asked for yet; dispatch, markers and calls */
};

extern __thread struct thread_state thread_state;

/* The kernel's id of the calling thread; no system call. */
uint32_t thread_state_tid(void);

/* fork's child: its thread has another id, and is in none of the parent's calls. */
void thread_state_forget(void);
