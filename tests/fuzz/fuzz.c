/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "tests/lib/mutate.h"

size_t fuzz_mutate(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
	uint64_t random = seed * 0x9e3779b97f4a7c15ull | 1;
	unsigned times = 1 + (unsigned)mutate_below(&random, 4);

	if (!bytes || mutate_below(&random, 4) == 0)
		return LLVMFuzzerMutate(data, bytes, room);
	while (times--)
		bytes = mutate_message(data, bytes, room, &random);
	return bytes ? bytes : LLVMFuzzerMutate(data, bytes, room);
}

uint64_t tape_number(struct tape *tape, unsigned bytes)
{
	size_t n;
	const uint8_t *from = tape_bytes(tape, bytes, &n);
	uint64_t number = 0;

	memcpy(&number, from, n);
	return number;
}

const uint8_t *tape_bytes(struct tape *tape, size_t want, size_t *ret)
{
	const uint8_t *from = tape->at;

	*ret = want < tape->left ? want : tape->left;
	tape->at += *ret;
	tape->left -= *ret;
	return from;
}
