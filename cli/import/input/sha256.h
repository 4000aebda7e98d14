/* SPDX-License-Identifier: MIT */
#pragma once
/* SHA-256 (FIPS 180-4), by which rtl_import recognises a file. Pure computation. */
#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX_BYTES 65

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[64];
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *bytes, size_t count);
/* Writes the digest in hex with a NUL. @sha must not be used after that. */
void sha256_end(struct sha256 *sha, char ret[SHA256_HEX_BYTES]);
