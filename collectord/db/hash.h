/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * uthash as the store uses it: an entry that found no memory is marked (is_lost) and has to be
 * freed by who added it, instead of ending the daemon; and keys of strangers are hashed with a
 * seed of this process, so that nobody can choose names that all fall into one bucket.
 */
#include <stdbool.h>
#include <stddef.h>

/* XXH3, seeded. Any thread. */
unsigned hash_bytes(const void *key, size_t bytes);

#define HASH_NONFATAL_OOM		1
#define uthash_nonfatal_oom(entry)	((entry)->is_lost = true)
#define HASH_FUNCTION(key, bytes, hash) ((hash) = hash_bytes(key, bytes))
#include <uthash.h>
