/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Memory of the runtime's that the host and every GPU read and write coherently: what its own
 * signals lie in. system_memory_open() is for OnLoad; the others are any thread's, and call into
 * the runtime, which may allocate and map (some 100 us on a GPU).
 */
#include <stdbool.h>
#include <stddef.h>

#include "shim/hsa/table.h"

/* False: this runtime has none of it to give; neither of the others may be called then. */
bool system_memory_open(const struct hsa_table *table);

/* At least @bytes, in whole pages, of any content; NULL: none left. */
void *system_memory_get(size_t bytes);
void system_memory_put(void *memory);
