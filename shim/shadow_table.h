/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Which shadow queue belongs to a queue pointer or a doorbell handle (rule 3). Look-ups are
 * lock-free and run for every signal store of the application; changes come from the threads
 * that create and destroy queues and take a lock of their own.
 */
#include <stdint.h>

struct shadow_queue;
struct shadow_table;

struct shadow_table *shadow_table_new(void);
void shadow_table_free(struct shadow_table *table);

/* @index: of the queue's block; its shadow queue is re-used with it, never freed. */
struct shadow_queue *shadow_table_at(struct shadow_table *table, uint32_t index);

enum shadow_key {
	SHADOW_BY_QUEUE,
	SHADOW_BY_DOORBELL,
	SHADOW_BY_PROXY, /* an intercepted queue: only the origins of its block are in use */
	SHADOW_KEYS,
};

struct shadow_queue *shadow_table_find(
	struct shadow_table *table, enum shadow_key by, uint64_t key);

/* -ENOSPC: no place near where the key belongs. */
int shadow_table_add(
	struct shadow_table *table, enum shadow_key by, uint64_t key, struct shadow_queue *queue);
void shadow_table_remove(struct shadow_table *table, enum shadow_key by, uint64_t key);
