/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * From ids of rows (any int64_t) to small numbers, in one probe: open addressing, 16 bytes a slot,
 * at most two thirds full. A zeroed struct is an empty map. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#define IDMAP_NONE UINT32_MAX

struct idmap_slot {
	int64_t key;
	uint32_t value; /* IDMAP_NONE: empty */
};

struct idmap {
	struct idmap_slot *slots;
	size_t count, capacity; /* a power of two */
};

void idmap_done(struct idmap *map);
/* The value of @key, or IDMAP_NONE. */
uint32_t idmap_find(const struct idmap *map, int64_t key);
/* Where the value of @key is kept, IDMAP_NONE when it is new; until the next call. NULL: no memory.
 */
uint32_t *idmap_at(struct idmap *map, int64_t key);
