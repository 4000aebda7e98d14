/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * What every target shares: libFuzzer's functions, and inputs as a tape that is read byte by byte.
 */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t room);

/* Of a protobuf message: by its structure mostly, else libFuzzer's own, which knows the dictionary.
 */
size_t fuzz_mutate(uint8_t *data, size_t bytes, size_t room, unsigned seed);

struct tape {
	const uint8_t *at;
	size_t left;
};

/* 0 where it has ended. */
uint64_t tape_number(struct tape *tape, unsigned bytes);
/* Returns up to @want bytes, as many as are left, and advances. */
const uint8_t *tape_bytes(struct tape *tape, size_t want, size_t *ret);
