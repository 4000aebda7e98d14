/* SPDX-License-Identifier: MIT */
#include "shim/base/process/communicators.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "proto/names/collectives.h"

/* Programs have a few tens: one for each dimension of their parallelism. */
#define COMMUNICATORS_MAX 1024u
/*
 * Pipelines talk to two neighbours, expert parallelism to all ranks: 4 communicators of 8 ranks x
 * 64.
 */
#define LINKS_MAX	  16384u
#define PROBES_MAX	  64u

/* Handles are addresses; no address has these values. */
#define HANDLE_NONE 0u
#define HANDLE_GONE 1u
#define HANDLE_BUSY 2u

struct entry {
	_Atomic uintptr_t handle;
	struct communicator known; /* constant while `handle` is set */
	uint32_t life;		   /* distinguishes communicators that had the same address */
	_Atomic uint64_t collectives;
	_Atomic uint64_t splits;
};

/* One direction between two ranks of a communicator. */
struct link {
	_Atomic uint64_t key; /* 0: unused */
	_Atomic uint64_t count;
};

/*
 * The largest communicator in one word, so that threads which make one at the same time agree: its
 * size, this process's rank in it, and the index of its identity in largest_identity. Each
 * communicator that is larger than all before gets its own index; a program has few sizes.
 */
#define LARGEST_MAX	   256u
#define LARGEST_SIZE_LSB   40
#define LARGEST_RANK_LSB   16
#define LARGEST_RANKS_MAX  0xfffffeu
#define LARGEST_NO_RANK	   0xffffffu
#define LARGEST_PLACE_MASK 0xffffu

static _Atomic uint64_t largest;
static _Atomic uint32_t largest_places;
static _Atomic uint64_t largest_identity[LARGEST_MAX];

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

static uint64_t size_of(uint64_t word)
{
	return word >> LARGEST_SIZE_LSB;
}

static uint32_t rank_of(uint64_t word)
{
	return (uint32_t)(word >> LARGEST_RANK_LSB) & LARGEST_NO_RANK;
}

static bool is_largest(uint64_t word, uint64_t identity)
{
	return word && atomic_load_explicit(&largest_identity[word & LARGEST_PLACE_MASK],
			       memory_order_relaxed) == identity;
}

/* Stores @identity under a new index. LARGEST_MAX if none is left. */
static uint32_t place_identity(uint64_t identity)
{
	uint32_t place = atomic_fetch_add_explicit(&largest_places, 1, memory_order_relaxed);

	if (place >= LARGEST_MAX)
		return LARGEST_MAX;
	atomic_store_explicit(&largest_identity[place], identity, memory_order_relaxed);
	return place;
}

void communicators_count_ranks(const struct communicator *known)
{
	uint64_t old = atomic_load_explicit(&largest, memory_order_acquire);
	uint32_t place = LARGEST_MAX;
	uint64_t new;

	if (known->identity == COLLECTIVE_NO_COMM || known->size > LARGEST_RANKS_MAX ||
		known->rank >= known->size)
		return;
	do {
		if (is_largest(old, known->identity)) {
			if (rank_of(old) == known->rank)
				return;
			new = old | (uint64_t)LARGEST_NO_RANK << LARGEST_RANK_LSB;
			continue;
		}
		if (known->size <= size_of(old))
			return;
		if (place == LARGEST_MAX)
			place = place_identity(known->identity);
		if (place == LARGEST_MAX)
			return;
		new = (uint64_t)known->size << LARGEST_SIZE_LSB |
		      (uint64_t)known->rank << LARGEST_RANK_LSB | place;
	} while (!atomic_compare_exchange_weak(&largest, &old, new));
}

struct communicator communicators_largest(void)
{
	uint64_t word = atomic_load_explicit(&largest, memory_order_acquire);
	struct communicator known = {.identity = COLLECTIVE_NO_COMM, .rank = COLLECTIVE_NO_RANK};

	if (!word)
		return known;
	known.identity = atomic_load_explicit(
		&largest_identity[word & LARGEST_PLACE_MASK], memory_order_relaxed);
	known.size = (uint32_t)size_of(word);
	if (rank_of(word) != LARGEST_NO_RANK)
		known.rank = rank_of(word);
	return known;
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
