/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Guarantees that what the program has seen to end is in the recorder before the program's next
 * instruction: the thread that has seen a signal fire writes the ends of the dispatches into their
 * slots, whatever the shim thread does meanwhile (docs/recorder.md, section 2; docs/adr/0007). Any
 * thread may call, also in a signal handler: no lock, wait, system call or thread-local memory.
 */
#include <stdbool.h>
#include <stdint.h>

struct capture;

/*
 * When this returns, every dispatch that had ended is SLOT_ENDED or DONE, on all queues. For each
 * queue it checks dispatches from the oldest that is not known to have ended, up to the point
 * behind which, by the barrier bit, none can have run.
 */
void ends_look(struct capture *capture);

/*
 * Called in OnUnload before the signals go back to the runtime: from now on ends_look() does
 * nothing. Returns false if a thread is still inside one at @deadline_ns (CLOCK_MONOTONIC), or once
 * left one by siglongjmp(): it may still read a signal.
 */
bool ends_stop(struct capture *capture, uint64_t deadline_ns);
