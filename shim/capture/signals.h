/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The signals that the shim stores into packets, one for each slot, for the life of the slot. They
 * are in memory of their own that all GPUs access (capture_hsa.signal_memory_get): only the device
 * uses them, and it knows just these 64 bytes of a signal. The runtime's signals take 240 bytes,
 * two allocations and a lock each. They are used if there is no such memory, or if another tool
 * creates the queues and might pass our signals to the runtime.
 *
 * signals_give() and signals_touch() are for any thread that owns the slots; signals_has() for any
 * thread. The others are cold: under the harvest lock, or when there is no other thread.
 */
#include <hsa/amd_hsa_signal.h>

#include "shim/capture/capture_internal.h"

/*
 * Gives a signal to a slot that has none. There may be none left; then the slot's dispatches have
 * no times.
 */
void signals_give(struct capture *c, slot_ref ref);

/*
 * Populates memory for the signals of @count slots from @first on, before signals_give() for them.
 */
void signals_touch(struct capture *c, slot_ref first, uint32_t count);

/* The second half of signals_has(), for a handle in the range of our signals. */
bool signals_has_among(struct capture *c, uint64_t handle);

/*
 * Whether @handle is one of our own signals; @handle is not dereferenced. For the dispatch path: a
 * packet of the program contains one if it was copied from an earlier packet.
 */
static inline bool signals_has(struct capture *c, uint64_t handle)
{
	return handle < atomic_load_explicit(&c->signals_end, memory_order_relaxed) &&
	       handle >= ~atomic_load_explicit(&c->signals_before, memory_order_relaxed) &&
	       signals_has_among(c, handle);
}

/* Prepares the signal for the next packet (rule 12). Handle 0 does nothing. */
void signals_reset(uint64_t handle);

/* The device may still write to this signal, so signals_done() does not free it, nor its chunk. */
void signals_keep(struct capture *c, slot_ref ref);

/* Returns all other signals to the runtime; may be called twice. Nothing is dispatched any more. */
void signals_done(struct capture *c);
