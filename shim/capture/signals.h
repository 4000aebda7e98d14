/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The signals that the shim puts into packets, one for each slot, for ever. They lie by themselves
 * in memory that all GPUs reach (capture_hsa.signal_memory_get): only the device ever sees them,
 * and of a signal it knows these 64 bytes. The runtime's own are 240, two allocations and a lock
 * each. Where that memory is not to be had, or another tool makes the queues and might show our
 * signals to the runtime, they are the runtime's.
 *
 * signals_give() and signals_touch() are any thread's that has the slots for itself; the others but
 * signals_has() are cold, under the harvest lock or where no other thread is.
 */
#include <hsa/amd_hsa_signal.h>

#include "shim/capture/capture_internal.h"

/* A signal for a slot that has none; there may be none to give, then its dispatches have no times.
 */
void signals_give(struct capture *c, slot_ref ref);

/* The next calls are for @count slots from @first on: their memory at once. */
void signals_touch(struct capture *c, slot_ref first, uint32_t count);

/* signals_has() of a handle that lies between ours, or among them. */
bool signals_has_among(struct capture *c, uint64_t handle);

/*
 * Whether @handle is one of those that lie in memory of our own; whatever it is, nobody looks
 * there. For the dispatch path: a packet of the program's has it where it was made out of an
 * earlier one.
 */
static inline bool signals_has(struct capture *c, uint64_t handle)
{
	return handle < atomic_load_explicit(&c->signals_end, memory_order_relaxed) &&
	       handle >= ~atomic_load_explicit(&c->signals_before, memory_order_relaxed) &&
	       signals_has_among(c, handle);
}

/* As the device expects it, for the next packet (rule 12). 0: nothing. */
void signals_reset(uint64_t handle);

/* The device may still write to it: signals_done() leaves it, and the memory around it. */
void signals_keep(struct capture *c, slot_ref ref);

/* All others go back to the runtime; twice is as once. Nothing is dispatched any more. */
void signals_done(struct capture *c);
