// SPDX-License-Identifier: MIT
#include "cli/trace/id_map.h"

#include <stdlib.h>

#include "cli/base/memory.h"

#define IDMAP_FIRST 256

void idmap_done(struct idmap *map)
{
	free(map->slots);
	*map = (struct idmap){0};
}

/* The last step of splitmix64, because most ids are consecutive. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static struct idmap_slot *probe(const struct idmap *map, int64_t key)
{
	size_t mask = map->capacity - 1, i = mix((uint64_t)key) & mask;

	while (map->slots[i].value != IDMAP_NONE && map->slots[i].key != key)
		i = (i + 1) & mask;
	return map->slots + i;
}

uint32_t idmap_find(const struct idmap *map, int64_t key)
{
	return map->capacity ? probe(map, key)->value : IDMAP_NONE;
}

static void make_room(struct idmap *map)
{
	struct idmap grown = {.capacity = map->capacity ? map->capacity * 2 : IDMAP_FIRST};

	if (map->capacity && map->count < map->capacity / 3 * 2)
		return;
	grown.slots = xreallocarray(NULL, grown.capacity, sizeof(*grown.slots));
	for (size_t i = 0; i < grown.capacity; i++)
		grown.slots[i].value = IDMAP_NONE;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value != IDMAP_NONE)
			*probe(&grown, map->slots[i].key) = map->slots[i];
	grown.count = map->count;
	free(map->slots);
	*map = grown;
}

uint32_t *idmap_at(struct idmap *map, int64_t key)
{
	struct idmap_slot *slot;

	make_room(map);
	slot = probe(map, key);
	if (slot->value == IDMAP_NONE) {
		slot->key = key;
		map->count++;
	}
	return &slot->value;
}
