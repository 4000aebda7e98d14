/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What the program has seen to end is in the recorder before its next instruction: the thread that
 * has seen a signal fire writes the ends of its dispatches into their slots, whatever the shim's
 * thread does meanwhile (docs/recorder.md, section 2; docs/adr/0075). Any thread, a signal
 * handler's too: no lock, no wait, no system call, no memory of the thread's own.
 */
#include <stdbool.h>
#include <stdint.h>

struct capture;

/*
 * Whatever has ended by now, of all queues, is SLOT_ENDED or DONE when this returns. It looks at
 * each queue's dispatches from the oldest that is not known to have ended, up to where the barrier
 * bit says that nothing behind can have run.
 */
void ends_look(struct capture *capture);

/*
 * OnUnload, before the signals go back to the runtime: from now on ends_look() looks at nothing.
 * False: a thread is still in one at @deadline_ns (CLOCK_MONOTONIC), or has left one by
 * siglongjmp() once, and may read any of them.
 */
bool ends_stop(struct capture *capture, uint64_t deadline_ns);
