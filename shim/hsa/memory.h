/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Memory of the runtime that the host and every GPU access coherently, the kind that its own
 * signals are in. system_memory_open() is for OnLoad. Any thread may call the others, which call
 * into the runtime; that may allocate and map (some 100 us on a GPU).
 */
#include <stdbool.h>
#include <stddef.h>

#include "shim/hsa/table.h"

/* False if this runtime has no such memory; then neither of the others may be called. */
bool system_memory_open(const struct hsa_table *table);

/* At least @bytes in whole pages, uninitialised; NULL if there is no memory. */
void *system_memory_get(size_t bytes);
void system_memory_put(void *memory);
