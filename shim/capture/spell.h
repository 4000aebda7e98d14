/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Work on a thread of the program's that could be done later, too: for as long as it keeps the
 * processor. Who lost it, since others want it or there is no memory at hand, leaves the rest to
 * whoever needs it. Cold: each look is a system call.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "proto/base/clock.h"

/* In all, and of that without the processor. */
#define SPELL_NS_MAX	  20000000u
#define SPELL_LOST_NS_MAX 2000000u

struct spell {
	uint64_t begin_ns;	/* of the clock */
	uint64_t begin_self_ns; /* of this thread's processor time */
};

static inline void spell_begin(struct spell *spell)
{
	spell->begin_ns = clock_monotonic_ns();
	spell->begin_self_ns = clock_thread_ns();
}

/* The same thread asks. */
static inline bool spell_lasts(const struct spell *spell)
{
	/* What it has had by now, first: what it loses between the two is seen. */
	uint64_t self_ns = clock_thread_ns() - spell->begin_self_ns;
	uint64_t elapsed_ns = clock_monotonic_ns() - spell->begin_ns;

	return elapsed_ns < SPELL_NS_MAX && elapsed_ns < self_ns + (getenv("X_LOST") ? (unsigned)atoi(getenv("X_LOST")) : SPELL_LOST_NS_MAX);
}
