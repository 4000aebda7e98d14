/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * uthash as the store uses it. If there is no memory for an entry, uthash marks the entry (is_lost)
 * instead of ending the daemon, and the caller that added it frees it. Keys that peers choose are
 * hashed with a seed of this process, so that no peer can choose names that all fall into one
 * bucket.
 */
#include <stdbool.h>
#include <stddef.h>

/* XXH3, seeded. Any thread. */
unsigned hash_bytes(const void *key, size_t bytes);

#define HASH_NONFATAL_OOM		1
#define uthash_nonfatal_oom(entry)	((entry)->is_lost = true)
#define HASH_FUNCTION(key, bytes, hash) ((hash) = hash_bytes(key, bytes))
#include <uthash.h>
