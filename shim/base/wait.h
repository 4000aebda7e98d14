/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How a cold path waits for another thread that needs only a moment: to give back a lock of ours,
 * or to come out of a call. It yields; but where the other may run on this processor alone, and the
 * waiter is in a real-time class, that lets nobody in, so it sleeps after a while. Never on the
 * dispatch path. Who waits so can be told from who looks for ever: lint.layers lets nobody in the
 * shim yield but this.
 */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* By then the other has had his turn, if yielding can give him one. */
#define PATIENCE_YIELDS	  64u
#define PATIENCE_SLEEP_NS 50000

/*
 * Between two looks; *looks is how many there were, 0 before the first. Keeps errno. As a system
 * call: nanosleep() would end here a thread that somebody cancels, with all that it holds.
 */
static inline void patience_take(unsigned *looks)
{
	const struct timespec pause = {.tv_nsec = PATIENCE_SLEEP_NS};
	int saved = errno;

	/* Where a sandbox forbids to sleep, too. */
	sched_yield();
	if (*looks < PATIENCE_YIELDS)
		++*looks;
	else
		(void)syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
	errno = saved;
}
