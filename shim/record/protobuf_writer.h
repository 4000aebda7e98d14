/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * The few pieces of the protobuf encoding that frames are built from, written straight into a cell.
 * The caller has computed that the bytes fit. tests/shim/capture decodes the output with
 * protobuf-c.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PB_VARINT32_BYTES_MAX 5u
#define PB_VARINT64_BYTES_MAX 10u

enum pb_wire {
	PB_VARINT = 0,
	PB_FIXED64 = 1,
	PB_BYTES = 2,
};

static inline size_t pb_varint_bytes(uint64_t value)
{
	return (size_t)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

static inline uint8_t *pb_put_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline size_t pb_tag_bytes(unsigned field)
{
	return pb_varint_bytes((uint64_t)field << 3);
}

static inline uint8_t *pb_put_tag(uint8_t *at, unsigned field, enum pb_wire wire)
{
	return pb_put_varint(at, (uint64_t)field << 3 | wire);
}

static inline uint8_t *pb_put_uint(uint8_t *at, unsigned field, uint64_t value)
{
	return pb_put_varint(pb_put_tag(at, field, PB_VARINT), value);
}

/* Size of a length-delimited field with @bytes of content; 0 if the content is empty. */
static inline size_t pb_field_bytes(unsigned field, size_t bytes)
{
	return bytes ? pb_tag_bytes(field) + pb_varint_bytes(bytes) + bytes : 0;
}

static inline uint8_t *pb_put_head(uint8_t *at, unsigned field, size_t bytes)
{
	return pb_put_varint(pb_put_tag(at, field, PB_BYTES), bytes);
}

/*
 * Writes a packed column: fixed-width values as they are in memory (little-endian), below also
 * varints.
 */
static inline uint8_t *pb_put_fixed(uint8_t *at, unsigned field, const void *column, size_t bytes)
{
	if (!bytes)
		return at;
	at = pb_put_head(at, field, bytes);
	memcpy(at, column, bytes);
	return at + bytes;
}

static inline uint8_t *pb_put_packed(
	uint8_t *at, unsigned field, const uint64_t *column, size_t n, size_t bytes)
{
	if (!n)
		return at;
	at = pb_put_head(at, field, bytes);
	for (size_t i = 0; i < n; i++)
		at = pb_put_varint(at, column[i]);
	return at;
}

static inline uint8_t *pb_put_packed32(
	uint8_t *at, unsigned field, const uint32_t *column, size_t n, size_t bytes)
{
	if (!n)
		return at;
	at = pb_put_head(at, field, bytes);
	for (size_t i = 0; i < n; i++)
		at = pb_put_varint(at, column[i]);
	return at;
}

static inline uint64_t pb_zigzag(int64_t value)
{
	return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}
