/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Maps ids of rows (any int64_t) to small numbers in one probe: open addressing, 16 bytes per slot,
 * at most two thirds full. A zeroed struct is an empty map. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#define IDMAP_NONE UINT32_MAX

struct idmap_slot {
	int64_t key;
	uint32_t value; /* IDMAP_NONE if the slot is empty */
};

struct idmap {
	struct idmap_slot *slots;
	size_t count, capacity; /* a power of two */
};

void idmap_done(struct idmap *map);
/* Returns the value of @key, or IDMAP_NONE. */
uint32_t idmap_find(const struct idmap *map, int64_t key);
/*
 * Returns the place of the value of @key, which contains IDMAP_NONE if the key is new; valid until
 * the next call.
 */
uint32_t *idmap_at(struct idmap *map, int64_t key);
