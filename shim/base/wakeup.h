/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The shim's thread while nothing is recorded, and nothing but itself can change that: it looks once
 * in DOZE_NS, and whoever leaves something behind that cannot wait so long wakes it. That is a range
 * or a host call, whose ring may fill up, and a doorbell that rang before its packet was written
 * (docs/shadow.md, rule 11), which nobody announces a second time.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic uint32_t doze_word; /* 1: it dozes */

/* For doze_alert(): a wake for each doze, no more. Keeps errno. */
void doze_wake(void);

/* Any thread, signal handlers too. */
static inline void doze_alert(void)
{
	/* All that was done before is seen by doze_begin()'s caller, or it is seen to doze here. */
	if (__builtin_expect(atomic_load(&doze_word), 0))
		doze_wake();
}

/* Any thread, cold: it looks now, whether it dozes or only waits for its next look. Keeps errno. */
void doze_rouse(void);

/* The shim's thread, at its beginning and end: @wake wakes it. */
void doze_open(void (*wake)(void));
void doze_close(void);

/* From now on it is woken. What has happened until now it looks for after this, since nobody has
 * woken it for that. */
void doze_begin(void);
void doze_end(void);
bool doze_is_on(void);

/* After doze_close(): whether somebody is still about to wake it, and needs what he does that
 * with. */
bool doze_is_waking(void);
/* A forked child, whose parent's threads are not there. */
void doze_forget(void);
