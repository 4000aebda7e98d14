// SPDX-License-Identifier: MIT
#include "cli/import/input/sha256.h"

#include <stdio.h>
#include <string.h>

/* FIPS 180-4, 4.2.2. */
static const uint32_t round_constant[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
	0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
	0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152,
	0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e,
	0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624,
	0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3,
	0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t value, unsigned bits)
{
	return value >> bits | value << (32 - bits);
}

/* The eight words are in a ring, with the word a at index @first. */
static inline __attribute__((always_inline)) void take_round(
	uint32_t s[8], int first, uint32_t input)
{
	uint32_t a = s[first & 7], b = s[(first + 1) & 7], c = s[(first + 2) & 7];
	uint32_t e = s[(first + 4) & 7], f = s[(first + 5) & 7], g = s[(first + 6) & 7];
	uint32_t one = s[(first + 7) & 7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
		       ((e & f) ^ (~e & g)) + input;

	s[(first + 3) & 7] += one;
	s[(first + 7) & 7] =
		one + (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
}

static void take_block(struct sha256 *sha, const uint8_t *block)
{
	uint32_t w[64], s[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(s, sha->state, sizeof(s));
	/* Eight rounds turn the ring once, so no word has to be moved. */
	for (int i = 0; i < 64; i += 8)
#pragma GCC unroll 8
		for (int n = 0; n < 8; n++)
			take_round(s, 8 - n, round_constant[i + n] + w[i + n]);
	for (int i = 0; i < 8; i++)
		sha->state[i] += s[i];
}

void sha256_init(struct sha256 *sha)
{
	*sha = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
				       0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;
	size_t held = sha->bytes % sizeof(sha->block);

	sha->bytes += count;
	while (held && count) {
		size_t room = sizeof(sha->block) - held, part = count < room ? count : room;

		memcpy(sha->block + held, at, part);
		at += part;
		count -= part;
		held = (held + part) % sizeof(sha->block);
		if (!held)
			take_block(sha, sha->block);
	}
	for (; count >= sizeof(sha->block); at += sizeof(sha->block), count -= sizeof(sha->block))
		take_block(sha, at);
	if (count)
		memcpy(sha->block, at, count);
}

void sha256_end(struct sha256 *sha, char ret[SHA256_HEX_BYTES])
{
	static const uint8_t padding[64] = {0x80};
	uint64_t bits = sha->bytes * 8;
	size_t held = sha->bytes % sizeof(sha->block);
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(sha, padding, held < 56 ? 56 - held : 120 - held);
	sha256_add(sha, length, sizeof(length));
	for (int i = 0; i < 8; i++)
		snprintf(ret + 8 * i, 9, "%08x", sha->state[i]);
}
