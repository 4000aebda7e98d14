// SPDX-License-Identifier: MIT
#include "shim/shadow_table.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "proto/limits.h"
#include "shim/shadow_queue.h"

/* At most a quarter full. A key lies within so many places from where it belongs. */
#define PLACES (4u * RECORDER_QUEUES)
#define WINDOW 16u

struct map {
	_Atomic uint64_t key[PLACES + WINDOW];
	_Atomic(struct shadow_queue *) queue[PLACES + WINDOW];
};

struct shadow_table {
	struct map map[SHADOW_KEYS];
	_Atomic uint32_t lock;
	struct shadow_queue queue[RECORDER_QUEUES];
};

struct shadow_table *shadow_table_new(void)
{
	void *memory = mmap(NULL, sizeof(struct shadow_table), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void shadow_table_free(struct shadow_table *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < RECORDER_QUEUES; i++)
		origins_free(&table->queue[i].origins);
	munmap(table, sizeof(*table));
}

struct shadow_queue *shadow_table_at(struct shadow_table *table, uint32_t index)
{
	return &table->queue[index];
}

static uint32_t place_of(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) % PLACES;
}

struct shadow_queue *shadow_table_find(struct shadow_table *table, enum shadow_key by, uint64_t key)
{
	struct map *map = &table->map[by];
	uint32_t first = place_of(key);

	if (!key)
		return NULL;
	for (uint32_t i = first; i < first + WINDOW; i++)
		if (atomic_load_explicit(&map->key[i], memory_order_acquire) == key)
			return atomic_load_explicit(&map->queue[i], memory_order_relaxed);
	return NULL;
}

static void table_lock(struct shadow_table *table)
{
	while (atomic_exchange_explicit(&table->lock, 1, memory_order_acquire))
		sched_yield();
}

static void table_unlock(struct shadow_table *table)
{
	atomic_store_explicit(&table->lock, 0, memory_order_release);
}

int shadow_table_add(
	struct shadow_table *table, enum shadow_key by, uint64_t key, struct shadow_queue *queue)
{
	struct map *map = &table->map[by];
	uint32_t first = place_of(key);
	int r = -ENOSPC;

	table_lock(table);
	for (uint32_t i = first; i < first + WINDOW; i++) {
		if (atomic_load_explicit(&map->key[i], memory_order_relaxed))
			continue;
		atomic_store_explicit(&map->queue[i], queue, memory_order_relaxed);
		/* The entry is published last (rule 2). */
		atomic_store_explicit(&map->key[i], key, memory_order_release);
		r = 0;
		break;
	}
	table_unlock(table);
	return r;
}

void shadow_table_remove(struct shadow_table *table, enum shadow_key by, uint64_t key)
{
	struct map *map = &table->map[by];
	uint32_t first = place_of(key);

	table_lock(table);
	for (uint32_t i = first; i < first + WINDOW; i++)
		if (atomic_load_explicit(&map->key[i], memory_order_relaxed) == key)
			atomic_store_explicit(&map->key[i], 0, memory_order_relaxed);
	table_unlock(table);
}
