/* SPDX-License-Identifier: MIT */
#include "collectord/hash.h"

#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

unsigned hash_bytes(const void *key, size_t bytes)
{
	/* Sixteen random bytes that the kernel gave this process, the same for its whole life. */
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t seed = 0;

	if (random)
		memcpy(&seed, random, sizeof(seed));
	return (unsigned)XXH3_64bits_withSeed(key, bytes, seed);
}
