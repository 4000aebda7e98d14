/* SPDX-License-Identifier: MIT */
#include "tests/lib/mutate.h"

#include <stdbool.h>
#include <string.h>

#define FIELDS_MAX   64u
#define DEPTH_MAX    3u
#define VARINT_BYTES 10u

enum wire { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_GROUP, WIRE_GROUP_END, WIRE_FIXED32 };

/* Bytes of the message: tag [length] content. */
struct field {
	size_t at, content, end;
	uint64_t tag;
};

struct output {
	uint8_t *at;
	size_t fill, room;
	bool is_full;
};

static const uint64_t odd_numbers[] = {0, 1, 2, 3, 63, 64, 127, 128, 255, 256, 1023, 1024, 1025,
	16383, 16384, 16385, 65535, 65536, 65537, INT32_MAX - 1u, INT32_MAX, 1ull << 31,
	(1ull << 31) + 1, UINT32_MAX - 1u, UINT32_MAX, 1ull << 32, (1ull << 40) - 1, 1ull << 40,
	INT64_MAX - 1ull, INT64_MAX, 1ull << 63, (1ull << 63) + 1, UINT64_MAX - 1, UINT64_MAX};

uint64_t mutate_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

uint64_t mutate_below(uint64_t *state, uint64_t limit)
{
	return (mutate_random(state) >> 16) % limit;
}

static uint64_t odd_number(uint64_t *random)
{
	if (mutate_below(random, 8) == 0)
		return mutate_random(random);
	return odd_numbers[mutate_below(random, sizeof(odd_numbers) / sizeof(*odd_numbers))];
}

/* Bytes read; 0: none there. */
static size_t read_varint(const uint8_t *at, size_t left, uint64_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < left && i < VARINT_BYTES; i++) {
		*ret |= (uint64_t)(at[i] & 0x7f) << (7 * i);
		if (!(at[i] & 0x80))
			return i + 1;
	}
	return 0;
}

static void put_bytes(struct output *out, const uint8_t *bytes, size_t n)
{
	if (n > out->room - out->fill)
		out->is_full = true;
	if (out->is_full || !n)
		return;
	memcpy(out->at + out->fill, bytes, n);
	out->fill += n;
}

static void put_varint(struct output *out, uint64_t value)
{
	uint8_t bytes[VARINT_BYTES];
	size_t n = 0;

	do {
		bytes[n] = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
		value >>= 7;
		n++;
	} while (value);
	put_bytes(out, bytes, n);
}

/* False: no field there. */
static bool read_field(const uint8_t *data, size_t bytes, size_t at, struct field *ret)
{
	uint64_t number;
	size_t n = read_varint(data + at, bytes - at, &ret->tag);

	ret->at = at;
	ret->content = at + n;
	if (!n)
		return false;
	switch (ret->tag & 7) {
	case WIRE_VARINT:
		n = read_varint(data + ret->content, bytes - ret->content, &number);
		ret->end = ret->content + n;
		return n > 0;
	case WIRE_FIXED64:
		ret->end = ret->content + 8;
		return ret->end <= bytes;
	case WIRE_FIXED32:
		ret->end = ret->content + 4;
		return ret->end <= bytes;
	case WIRE_BYTES:
		n = read_varint(data + ret->content, bytes - ret->content, &number);
		ret->content += n;
		ret->end = ret->content + (size_t)number;
		return n > 0 && number <= bytes - ret->content;
	default:
		return false;
	}
}

/* How many; 0: it is empty, or no message. */
static size_t read_fields(const uint8_t *data, size_t bytes, struct field fields[FIELDS_MAX])
{
	size_t count = 0;

	for (size_t at = 0; at < bytes && count < FIELDS_MAX; at = fields[count++].end)
		if (!read_field(data, bytes, at, &fields[count]))
			return 0;
	return count;
}

/* ---- what becomes of bytes ------------------------------------------------------------------ */

static size_t mutate_bytes(uint8_t *data, size_t bytes, size_t room, uint64_t *random)
{
	size_t at = bytes ? mutate_below(random, bytes) : 0, n;
	uint64_t number = odd_number(random);

	switch (mutate_below(random, 5)) {
	case 0: /* cut */
		return at;
	case 1: /* one more, or some */
		n = 1 + mutate_below(random, 16);
		if (n > room - bytes)
			return bytes;
		memmove(data + at + n, data + at, bytes - at);
		memset(data + at, (int)number, n);
		return bytes + n;
	case 2:
		n = bytes - at < 8 ? bytes - at : mutate_below(random, 2) ? 8 : 4;
		memcpy(data + at, &number, n);
		return bytes;
	case 3: /* without some */
		n = 1 + mutate_below(random, 8);
		if (n > bytes - at)
			return bytes;
		memmove(data + at, data + at + n, bytes - at - n);
		return bytes - n;
	default:
		if (bytes)
			data[at] ^= (uint8_t)(1u << mutate_below(random, 8));
		return bytes;
	}
}

/* Mutates a packed column: one number is changed, removed or repeated. */
static size_t mutate_packed(uint8_t *data, size_t bytes, size_t room, uint64_t *random)
{
	uint8_t copy[MUTATE_BYTES_MAX];
	struct output out = {.at = data, .room = room};
	size_t at = 0, chosen = bytes ? mutate_below(random, bytes) : 0;
	unsigned how = (unsigned)mutate_below(random, 4);

	if (bytes > sizeof(copy))
		return bytes;
	memcpy(copy, data, bytes);
	while (at < bytes) {
		uint64_t number;
		size_t n = read_varint(copy + at, bytes - at, &number);

		if (!n)
			return mutate_bytes(data, bytes, room, random);
		if (chosen >= at && chosen < at + n)
			put_varint(&out, how < 2 ? odd_number(random) : number);
		if (chosen < at || chosen >= at + n || how == 3)
			put_bytes(&out, copy + at, n);
		at += n;
	}
	return out.fill;
}

static size_t mutate_at(uint8_t *data, size_t bytes, size_t room, uint64_t *random, unsigned depth);

static void put_changed_content(struct output *out, const uint8_t *data, const struct field *field,
	uint64_t *random, unsigned depth)
{
	uint8_t content[MUTATE_BYTES_MAX];
	size_t n = field->end - field->content;

	if (n > sizeof(content) - 64) {
		put_bytes(out, data + field->at, field->end - field->at);
		return;
	}
	memcpy(content, data + field->content, n);
	switch (mutate_below(random, 3)) {
	case 0:
		n = mutate_packed(content, n, sizeof(content), random);
		break;
	case 1:
		n = depth < DEPTH_MAX ? mutate_at(content, n, sizeof(content), random, depth + 1)
				      : mutate_bytes(content, n, sizeof(content), random);
		break;
	default:
		n = mutate_bytes(content, n, sizeof(content), random);
	}
	put_varint(out, field->tag);
	put_varint(out, n);
	put_bytes(out, content, n);
}

static void put_changed(struct output *out, const uint8_t *data, const struct field *field,
	uint64_t *random, unsigned depth)
{
	uint64_t number = odd_number(random);

	switch (field->tag & 7) {
	case WIRE_VARINT:
		put_varint(out, field->tag);
		put_varint(out, number);
		break;
	case WIRE_BYTES:
		put_changed_content(out, data, field, random, depth);
		break;
	default:
		put_varint(out, field->tag);
		put_bytes(out, (const uint8_t *)&number, field->end - field->content);
	}
}

/* Writes a false length, so that the following bytes are parsed as something else. */
static void put_false_length(
	struct output *out, const uint8_t *data, const struct field *field, uint64_t *random)
{
	uint64_t n = field->end - field->content;

	put_varint(out, field->tag);
	put_varint(out, mutate_below(random, 2)	  ? n + 1
			: mutate_below(random, 2) ? n - 1
						  : odd_number(random));
	put_bytes(out, data + field->content, (size_t)n);
}

static void put_chosen(struct output *out, const uint8_t *data, const struct field *field,
	uint64_t *random, unsigned depth)
{
	size_t whole = field->end - field->at;

	switch (mutate_below(random, 16)) {
	case 0: /* missing */
		break;
	case 1: /* doubled */
		put_bytes(out, data + field->at, whole);
		put_bytes(out, data + field->at, whole);
		break;
	case 2: /* of another type */
		put_varint(out, (field->tag & ~7ull) | mutate_below(random, 8));
		put_bytes(out, data + field->content, field->end - field->content);
		break;
	case 3: /* of another number, known or not */
		put_varint(out, mutate_below(random, 40) << 3 | (field->tag & 7));
		if ((field->tag & 7) == WIRE_BYTES)
			put_varint(out, field->end - field->content);
		put_bytes(out, data + field->content, field->end - field->content);
		break;
	case 4:
		put_false_length(out, data, field, random);
		break;
	case 5: /* with an unknown one in front */
		put_varint(out, odd_number(random) << 3 | mutate_below(random, 8));
		put_varint(out, odd_number(random));
		put_bytes(out, data + field->at, whole);
		break;
	default:
		put_changed(out, data, field, random, depth);
	}
}

static size_t mutate_at(uint8_t *data, size_t bytes, size_t room, uint64_t *random, unsigned depth)
{
	uint8_t mutated[MUTATE_BYTES_MAX];
	struct output out = {
		.at = mutated, .room = room < sizeof(mutated) ? room : sizeof(mutated)};
	struct field fields[FIELDS_MAX];
	size_t count = read_fields(data, bytes, fields), chosen, other;

	if (!count)
		return mutate_bytes(data, bytes, room, random);
	chosen = mutate_below(random, count);
	other = mutate_below(random, 16) ? chosen : mutate_below(random, count);
	for (size_t i = 0; i < count; i++) {
		const struct field *field = &fields[i];

		if (other != chosen && (i == chosen || i == other)) /* they change places */
			field = &fields[i == chosen ? other : chosen];
		if (i == chosen)
			put_chosen(&out, data, field, random, depth);
		else
			put_bytes(&out, data + field->at, field->end - field->at);
	}
	put_bytes(&out, data + fields[count - 1].end, bytes - fields[count - 1].end);
	if (out.is_full)
		return mutate_bytes(data, bytes, room, random);
	memcpy(data, mutated, out.fill);
	return out.fill;
}

size_t mutate_message(uint8_t *data, size_t bytes, size_t room, uint64_t *random)
{
	return mutate_at(data, bytes, room, random, 0);
}
