/* SPDX-License-Identifier: MIT */
#include "shim/hsa/ipc.h"

#include <pthread.h>

/* Tombstone of a removed signal; no handle is odd. */
#define GONE 1u

_Atomic uint32_t ipc_signals_known;

static _Atomic uint64_t table[IPC_SIGNALS_MAX];
static atomic_bool is_full;
/* Taken by writers; no other lock is taken under it. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t table_used; /* tombstones included; protected by table_lock */

static uint32_t slot_first(uint64_t handle)
{
	return (uint32_t)(handle * 0x9e3779b97f4a7c15ull >> 32) & (IPC_SIGNALS_MAX - 1);
}

/* Index of @handle, or IPC_SIGNALS_MAX. Half of the table stays free, so the search ends. */
static uint32_t slot_find(uint64_t handle)
{
	uint32_t at = slot_first(handle);

	for (;;) {
		uint64_t entry = atomic_load_explicit(&table[at], memory_order_acquire);

		if (entry == handle)
			return at;
		if (!entry)
			return IPC_SIGNALS_MAX;
		at = (at + 1) & (IPC_SIGNALS_MAX - 1);
	}
}

bool ipc_find(uint64_t handle)
{
	return atomic_load_explicit(&is_full, memory_order_relaxed) ||
	       slot_find(handle) != IPC_SIGNALS_MAX;
}

static void entry_put(uint64_t handle)
{
	uint32_t at = slot_first(handle);
	uint64_t entry;

	while ((entry = atomic_load_explicit(&table[at], memory_order_relaxed)) && entry != GONE)
		at = (at + 1) & (IPC_SIGNALS_MAX - 1);
	if (!entry && table_used == IPC_SIGNALS_MAX / 2) {
		atomic_store_explicit(&is_full, true, memory_order_relaxed);
	} else {
		table_used += !entry;
		atomic_store_explicit(&table[at], handle, memory_order_release);
	}
	atomic_fetch_add_explicit(&ipc_signals_known, 1, memory_order_release);
}

void ipc_add(uint64_t handle)
{
	pthread_mutex_lock(&table_lock);
	if (slot_find(handle) == IPC_SIGNALS_MAX)
		entry_put(handle);
	pthread_mutex_unlock(&table_lock);
}

void ipc_remove(uint64_t handle)
{
	uint32_t at;

	if (!atomic_load_explicit(&ipc_signals_known, memory_order_relaxed))
		return;
	pthread_mutex_lock(&table_lock);
	at = slot_find(handle);
	if (at != IPC_SIGNALS_MAX) {
		atomic_store_explicit(&table[at], GONE, memory_order_release);
		atomic_fetch_sub_explicit(&ipc_signals_known, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&table_lock);
}
