/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Bounds optional work on a thread of the program: it goes on only while the thread keeps the
 * processor. If the thread has lost it, because other threads need it or memory is short, the rest
 * is left to the thread that needs the result. Cold: each check is a system call.
 */
#include <stdbool.h>
#include <stdint.h>

#include "proto/base/clock.h"

/* Limits of the elapsed time, and of the part of it without the processor. */
#define SPELL_NS_MAX	  20000000u
#define SPELL_LOST_NS_MAX 2000000u

struct spell {
	uint64_t begin_ns;	/* CLOCK_MONOTONIC */
	uint64_t begin_self_ns; /* processor time of this thread */
};

static inline void spell_begin(struct spell *spell)
{
	spell->begin_ns = clock_monotonic_ns();
	spell->begin_self_ns = clock_thread_ns();
}

/* Called by the same thread. */
static inline bool spell_lasts(const struct spell *spell)
{
	/* Read first, so that a preemption between the two readings counts as lost. */
	uint64_t self_ns = clock_thread_ns() - spell->begin_self_ns;
	uint64_t elapsed_ns = clock_monotonic_ns() - spell->begin_ns;

	return elapsed_ns < SPELL_NS_MAX && elapsed_ns < self_ns + SPELL_LOST_NS_MAX;
}
