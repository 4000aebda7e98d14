/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Maps queue pointers and doorbell handles to shadow queues (rule 3). Look-ups are lock-free and
 * run for every signal store of the application. The threads that create and destroy queues change
 * the table under a lock of its own.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/limits.h"
#include "proto/recorder/layout.h"

struct shadow_queue;
struct shadow_table;

struct shadow_table *shadow_table_new(void);
void shadow_table_free(struct shadow_table *table);

/*
 * @index is that of the queue's block; the shadow queue is reused with the block and never freed.
 */
struct shadow_queue *shadow_table_at(struct shadow_table *table, uint32_t index);

enum shadow_key {
	SHADOW_BY_QUEUE,
	SHADOW_BY_DOORBELL,
	SHADOW_BY_PROXY, /* an intercepted queue, for which only the block's origins are used */
	SHADOW_KEYS,
};

/* At most a quarter full. A key is at most SHADOW_WINDOW places after its hash. */
#define SHADOW_PLACES (4u * RECORDER_QUEUES)
#define SHADOW_WINDOW 16u

/* A table begins with an array of these, indexed by enum shadow_key. */
struct shadow_map {
	_Atomic uint32_t reach; /* greatest distance that a key ever had from its hash */
	_Atomic uint64_t key[SHADOW_PLACES + SHADOW_WINDOW];
	_Atomic(struct shadow_queue *) queue[SHADOW_PLACES + SHADOW_WINDOW];
};

static inline uint32_t shadow_place(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) % SHADOW_PLACES;
}

/* Finds a key that is not at its hash. */
struct shadow_queue *shadow_map_search(const struct shadow_map *map, uint64_t key);

static inline struct shadow_queue *shadow_table_find(
	const struct shadow_table *table, enum shadow_key by, uint64_t key)
{
	const struct shadow_map *map = (const struct shadow_map *)(const void *)table + by;
	uint32_t first = shadow_place(key);

	/* No key is 0, which marks free places. */
	if (__builtin_expect(
		    key && atomic_load_explicit(&map->key[first], memory_order_acquire) == key, 1))
		return atomic_load_explicit(&map->queue[first], memory_order_relaxed);
	/* Most signals that a program stores to are no doorbells, so a miss has to be quick. */
	if (!atomic_load_explicit(&map->reach, memory_order_relaxed))
		return NULL;
	return shadow_map_search(map, key);
}

/* -ENOSPC if no place near the hash is free. */
int shadow_table_add(
	struct shadow_table *table, enum shadow_key by, uint64_t key, struct shadow_queue *queue);
void shadow_table_remove(struct shadow_table *table, enum shadow_key by, uint64_t key);
