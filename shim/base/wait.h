/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How a cold path waits for another thread that needs only a moment, for instance to release one of
 * our locks or to return from a call. It yields. If both threads share one processor and the waiter
 * is in a real-time class, yielding does not let the other run, so after a while it sleeps. Never
 * on the dispatch path. lint.layers forbids to yield elsewhere in the shim, so that these bounded
 * waits stay apart from polling loops.
 */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* By then the other thread has run, if yielding can let it run at all. */
#define PATIENCE_YIELDS	  64u
#define PATIENCE_SLEEP_NS 50000

/*
 * Called between two checks; *checks counts them, 0 before the first. Keeps errno. A raw system
 * call, because nanosleep() is a cancellation point: a thread cancelled there would keep the locks
 * it holds.
 */
static inline void wait_between_checks(unsigned *checks)
{
	const struct timespec pause = {.tv_nsec = PATIENCE_SLEEP_NS};
	int saved = errno;

	/* Yields in any case, since a sandbox may forbid the sleep. */
	sched_yield();
	if (*checks < PATIENCE_YIELDS)
		++*checks;
	else
		(void)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
	errno = saved;
}
