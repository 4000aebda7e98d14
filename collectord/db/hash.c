/* SPDX-License-Identifier: MIT */
#include "collectord/db/hash.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A seed from the 16 random bytes that the kernel gives each process; it never changes. */
static uint64_t get_seed(void)
{
	static _Atomic uint64_t known; /* cached, since a look-up takes as long as a hash */
	uint64_t seed = atomic_load_explicit(&known, memory_order_relaxed);
	const void *random;

	if (seed)
		return seed;
	random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&seed, random, sizeof(seed));
	atomic_store_explicit(&known, seed, memory_order_relaxed);
	return seed;
}

unsigned hash_bytes(const void *key, size_t bytes)
{
	return (unsigned)XXH3_64bits_withSeed(key, bytes, get_seed());
}
