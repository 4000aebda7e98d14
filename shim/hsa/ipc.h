/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Signals that are shared with other processes. The timestamps of such a signal belong to one
 * process at a time, and the shim cannot know which. So a dispatch that carries one is recorded
 * without times, and its signal is left alone. ipc_has() is on the dispatch path and lock-free; the
 * rest is for the hooks that create, attach and destroy such signals.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define IPC_SIGNALS_MAX 1024u

extern _Atomic uint32_t ipc_signals_known;

bool ipc_find(uint64_t handle);

static inline bool ipc_has(uint64_t handle)
{
	return atomic_load_explicit(&ipc_signals_known, memory_order_acquire) && ipc_find(handle);
}

/*
 * Past half of IPC_SIGNALS_MAX every signal counts as shared: no time is better than a wrong one.
 */
void ipc_add(uint64_t handle);
void ipc_remove(uint64_t handle);
