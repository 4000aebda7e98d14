/* SPDX-License-Identifier: MIT */
#include "shim/base/communicators.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "proto/names/collectives.h"

/* Programs have a few tens: one for each dimension of their parallelism. */
#define COMMUNICATORS_MAX 1024u
/* Pipelines talk to two neighbours, expert parallelism to everybody: 4 of 8 ranks x 64. */
#define LINKS_MAX	  16384u
#define PROBES_MAX	  64u

/* Handles are addresses; these are none. */
#define HANDLE_NONE 0u
#define HANDLE_GONE 1u
#define HANDLE_BUSY 2u

struct entry {
	_Atomic uintptr_t handle;
	struct communicator known; /* constant while the handle is there */
	uint32_t life;		   /* tells communicators of one address apart */
	_Atomic uint64_t collectives;
	_Atomic uint64_t splits;
};

/* One direction between two ranks of a communicator. */
struct link {
	_Atomic uint64_t key; /* 0: unused */
	_Atomic uint64_t count;
};

static struct entry entries[COMMUNICATORS_MAX];
static struct link links[LINKS_MAX];
static _Atomic uint32_t lives;

static uint64_t mix(uint64_t value)
{
	value *= 0x9e3779b97f4a7c15u;
	return value ^ value >> 29;
}

uint64_t communicator_identity(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t hash = 0xcbf29ce484222325u;

	/* FNV-1a; 0 means unknown, and SQLite's integers are signed. */
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	hash = mix(hash) & INT64_MAX;
	return hash != COLLECTIVE_NO_COMM ? hash : 1;
}

static struct entry *place_of(const void *comm, uint32_t probe)
{
	return &entries[(mix((uintptr_t)comm >> 4) + probe) % COMMUNICATORS_MAX];
}

static struct entry *entry_of(const void *comm)
{
	for (uint32_t i = 0; comm && i < PROBES_MAX; i++) {
		struct entry *entry = place_of(comm, i);
		uintptr_t handle = atomic_load_explicit(&entry->handle, memory_order_acquire);

		if (handle == (uintptr_t)comm)
			return entry;
		if (handle == HANDLE_NONE)
			break;
	}
	return NULL;
}

static bool entry_claim(struct entry *entry)
{
	uintptr_t handle = atomic_load_explicit(&entry->handle, memory_order_relaxed);

	return handle <= HANDLE_GONE &&
	       atomic_compare_exchange_strong(&entry->handle, &handle, HANDLE_BUSY);
}

void communicators_add(const void *comm, const struct communicator *known)
{
	communicators_remove(comm);
	for (uint32_t i = 0; comm && i < PROBES_MAX; i++) {
		struct entry *entry = place_of(comm, i);

		if (!entry_claim(entry))
			continue;
		entry->known = *known;
		entry->life = atomic_fetch_add_explicit(&lives, 1, memory_order_relaxed) + 1;
		atomic_store_explicit(&entry->collectives, 0, memory_order_relaxed);
		atomic_store_explicit(&entry->splits, 0, memory_order_relaxed);
		atomic_store_explicit(&entry->handle, (uintptr_t)comm, memory_order_release);
		return;
	}
}

void communicators_remove(const void *comm)
{
	struct entry *entry = entry_of(comm);
	uintptr_t handle = (uintptr_t)comm;

	if (entry)
		atomic_compare_exchange_strong(&entry->handle, &handle, HANDLE_GONE);
}

struct communicator communicators_find(const void *comm)
{
	struct entry *entry = entry_of(comm);

	return entry ? entry->known
		     : (struct communicator){
			       .identity = COLLECTIVE_NO_COMM, .rank = COLLECTIVE_NO_RANK};
}

uint64_t communicators_next(const void *comm)
{
	struct entry *entry = entry_of(comm);

	return entry ? atomic_fetch_add_explicit(&entry->collectives, 1, memory_order_relaxed)
		     : COLLECTIVE_NO_SEQ;
}

uint64_t communicators_next_split(const void *comm)
{
	struct entry *entry = entry_of(comm);

	return entry ? atomic_fetch_add_explicit(&entry->splits, 1, memory_order_relaxed)
		     : COLLECTIVE_NO_SEQ;
}

uint64_t communicators_next_to(const void *comm, uint32_t peer, enum communicator_way way)
{
	struct entry *entry = entry_of(comm);
	uint64_t key;

	if (!entry)
		return COLLECTIVE_NO_SEQ;
	key = (uint64_t)entry->life << 32 | (peer & 0x7fffffffu) << 1 | way;
	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		struct link *link = &links[(mix(key) + i) % LINKS_MAX];
		uint64_t found = atomic_load_explicit(&link->key, memory_order_relaxed);

		if (found == key ||
			(!found && (atomic_compare_exchange_strong(&link->key, &found, key) ||
					   found == key)))
			return atomic_fetch_add_explicit(&link->count, 1, memory_order_relaxed);
	}
	return COLLECTIVE_NO_SEQ;
}
