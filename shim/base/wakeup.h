/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The doze of the shim thread: while nothing is recorded, and only the shim thread itself can
 * change that, it wakes up once in DOZE_NS. A thread that leaves work which cannot wait so long
 * wakes it: a range or host call, whose ring may fill up, or a doorbell that rang before its packet
 * was written (docs/capture.md, rule 11), which the program will not ring again.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic uint32_t doze_word; /* 1 while the shim thread dozes */

/* For doze_alert(): wakes the shim thread at most once per doze. Keeps errno. */
void doze_wake(void);

/* Any thread may call, in signal handlers too. */
static inline void doze_alert(void)
{
	/*
	 * Sequentially consistent: either this sees the doze, or doze_begin()'s caller sees all
	 * that was done before this call.
	 */
	if (__builtin_expect(atomic_load(&doze_word), 0))
		doze_wake();
}

/*
 * Any thread, cold path: makes the shim thread check now, whether it dozes or waits for its next
 * period. Keeps errno.
 */
void doze_rouse(void);

/* Called by the shim thread at its start and end. @wake wakes it. */
void doze_open(void (*wake)(void));
void doze_close(void);

/*
 * From doze_begin() on, other threads wake the shim thread. For what happened earlier they did not,
 * so it must check for work after this call.
 */
void doze_begin(void);
void doze_end(void);
bool doze_is_on(void);

/* Valid after doze_close(): whether a thread is still in @wake and needs what it uses. */
bool doze_is_waking(void);
/* For a forked child, which has no threads of the parent. */
void doze_forget(void);
