/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * kernel_object -> symbol id. A kernel's name is bound when it is dispatched, so an address that is
 * used again never gets its old name. symbols_find() is on the dispatch path: lock-free, no writes.
 * The rest is for loader hooks and the shim thread, under one mutex.
 *
 * Entries are never removed: destroying an executable sets their ids to 0, and loading one again
 * sets new ids. The table is static and zeroed, so it takes memory only for pages in use.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "shim/hsa/agents.h"
#include "shim/hsa/table.h"
#include "shim/record/strings.h"
#include "shim/capture/tables/symbol_table.h"

#define SYMBOLS_CAPACITY 131072u /* addresses ever used: kernels times GPUs */

struct symbols {
	struct symbol_entry entry[SYMBOLS_CAPACITY];
	pthread_mutex_t lock; /* taken before that of strings */
	struct recorder *recorder;
	struct strings *strings;
	uint32_t used;
	uint32_t last_id;
	uint32_t overflow_id;
};

/* @symbols must be zeroed, or used by an instance that has ended. */
void symbols_init(struct symbols *symbols, struct recorder *recorder, struct strings *strings);

/* Hot. 0 if unknown; with SYMBOL_UNWANTED if --kernels leaves the kernel out. */
static inline uint32_t symbols_find(const struct symbols *symbols, uint64_t kernel_object)
{
	uint32_t at = symbols_slot(kernel_object, SYMBOLS_CAPACITY - 1);

	for (;;) {
		const struct symbol_entry *entry = &symbols->entry[at];
		uint64_t key = atomic_load_explicit(&entry->kernel_object, memory_order_acquire);

		if (key == kernel_object)
			return atomic_load_explicit(&entry->id, memory_order_acquire);
		if (!key)
			return 0;
		at = (at + 1) & (SYMBOLS_CAPACITY - 1);
	}
}

/* @name is the raw symbol, .kd included. */
void symbols_add(struct symbols *symbols, uint64_t kernel_object, const char *name, size_t bytes);
void symbols_remove(struct symbols *symbols, uint64_t kernel_object);

/* For a dispatch of an unknown kernel: a symbol without a name, one for each address. */
uint32_t symbols_define_unknown(struct symbols *symbols, uint64_t kernel_object);

/* Called after hsa_executable_freeze(), and before hsa_executable_destroy(). */
void symbols_add_executable(struct symbols *symbols, const struct hsa_table *table,
	const struct agents *agents, hsa_executable_t executable);
void symbols_remove_executable(struct symbols *symbols, const struct hsa_table *table,
	const struct agents *agents, hsa_executable_t executable);
