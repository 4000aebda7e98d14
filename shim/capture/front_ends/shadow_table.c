// SPDX-License-Identifier: MIT
#include "shim/capture/front_ends/shadow_table.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "shim/base/wait.h"
#include "shim/capture/front_ends/shadow_queue.h"

#define WINDOW SHADOW_WINDOW

struct shadow_table {
	struct shadow_map map[SHADOW_KEYS];
	_Atomic uint32_t lock;
	struct shadow_queue queue[RECORDER_QUEUES];
};

static_assert(offsetof(struct shadow_table, map) == 0, "shadow_table_find");

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

struct shadow_queue *shadow_map_search(const struct shadow_map *map, uint64_t key)
{
	uint32_t first = shadow_place(key);

	if (!key)
		return NULL;
	for (uint32_t i = first;
		i <= first + atomic_load_explicit(&map->reach, memory_order_relaxed); i++)
		if (atomic_load_explicit(&map->key[i], memory_order_acquire) == key)
			return atomic_load_explicit(&map->queue[i], memory_order_relaxed);
	return NULL;
}

static void table_lock(struct shadow_table *table)
{
	unsigned checks = 0;

	while (atomic_exchange_explicit(&table->lock, 1, memory_order_acquire))
		wait_between_checks(&checks);
}

static void table_unlock(struct shadow_table *table)
{
	atomic_store_explicit(&table->lock, 0, memory_order_release);
}

int shadow_table_add(
	struct shadow_table *table, enum shadow_key by, uint64_t key, struct shadow_queue *queue)
{
	struct shadow_map *map = &table->map[by];
	uint32_t first = shadow_place(key);
	int r = -ENOSPC;

	table_lock(table);
	for (uint32_t i = first; i < first + WINDOW; i++) {
		if (atomic_load_explicit(&map->key[i], memory_order_relaxed))
			continue;
		if (i - first > atomic_load_explicit(&map->reach, memory_order_relaxed))
			atomic_store_explicit(&map->reach, i - first, memory_order_relaxed);
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
	struct shadow_map *map = &table->map[by];
	uint32_t first = shadow_place(key);

	table_lock(table);
	for (uint32_t i = first; i < first + WINDOW; i++)
		if (atomic_load_explicit(&map->key[i], memory_order_relaxed) == key)
			atomic_store_explicit(&map->key[i], 0, memory_order_relaxed);
	table_unlock(table);
}
