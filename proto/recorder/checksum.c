/* SPDX-License-Identifier: MIT */
#include "proto/recorder/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint32_t checksum32(const void *data, size_t bytes, uint64_t number)
{
	return (uint32_t)XXH3_64bits_withSeed(data, bytes, number);
}
