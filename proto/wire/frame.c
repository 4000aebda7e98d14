/* SPDX-License-Identifier: MIT */
#include "proto/wire/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* First buffer: idle tools and shims cost little. */
#define FRAME_BUFFER_MIN 4096u

void frame_reader_init(struct frame_reader *reader, size_t limit)
{
	*reader = (struct frame_reader){.limit = limit};
}

void frame_reader_done(struct frame_reader *reader)
{
	if (!reader->is_lent)
		free(reader->buffer);
	*reader = (struct frame_reader){0};
}

static int grow(struct frame_reader *reader, size_t need)
{
	uint8_t *buffer;

	if (need <= reader->capacity)
		return 0;
	buffer = realloc(reader->buffer, need);
	if (!buffer)
		return -ENOMEM;
	reader->buffer = buffer;
	reader->capacity = need;
	return 0;
}

int frame_reader_space(struct frame_reader *reader, uint8_t **ret_at, size_t *ret_bytes)
{
	size_t need = FRAME_BUFFER_MIN;
	int r;

	if (reader->fill >= FRAME_PREFIX_BYTES) {
		uint32_t bytes = frame_get_length(reader->buffer);

		if (bytes == 0 || bytes > reader->limit)
			return -EMSGSIZE;
		need = FRAME_PREFIX_BYTES + (size_t)bytes;
	}
	/* A full buffer of a busy peer doubles, up to the largest frame and its prefix. */
	if (reader->fill == reader->capacity && reader->capacity * 2 > need)
		need = reader->capacity * 2;
	if (need > reader->limit + FRAME_PREFIX_BYTES)
		need = reader->limit + FRAME_PREFIX_BYTES;
	r = grow(reader, need);
	if (r < 0)
		return r;
	*ret_at = reader->buffer + reader->fill;
	*ret_bytes = reader->capacity - reader->fill;
	return 0;
}

void frame_reader_filled(struct frame_reader *reader, size_t bytes)
{
	reader->fill += bytes;
}

int frame_reader_next(struct frame_reader *reader, size_t *cursor, const uint8_t **ret_frame,
	size_t *ret_bytes)
{
	size_t left = reader->fill - *cursor;
	uint32_t bytes;

	if (left < FRAME_PREFIX_BYTES)
		return 0;
	bytes = frame_get_length(reader->buffer + *cursor);
	if (bytes == 0 || bytes > reader->limit)
		return -EMSGSIZE;
	if (left - FRAME_PREFIX_BYTES < bytes)
		return 0;
	*ret_frame = reader->buffer + *cursor + FRAME_PREFIX_BYTES;
	*ret_bytes = bytes;
	*cursor += FRAME_PREFIX_BYTES + (size_t)bytes;
	return 1;
}

void frame_reader_compact(struct frame_reader *reader, size_t cursor)
{
	if (!cursor)
		return;
	reader->fill -= cursor;
	memmove(reader->buffer, reader->buffer + cursor, reader->fill);
}

void frame_reader_lend(struct frame_reader *reader, uint8_t *buffer, size_t bytes)
{
	if (reader->fill)
		return;
	if (!reader->is_lent)
		free(reader->buffer);
	reader->buffer = buffer;
	reader->capacity = bytes;
	reader->is_lent = true;
}

/* For the rest of the frame that has begun, or for what little is known of it. */
static size_t room_for_rest(const struct frame_reader *reader)
{
	uint32_t bytes = reader->fill < FRAME_PREFIX_BYTES ? 0 : frame_get_length(reader->buffer);
	size_t need = FRAME_PREFIX_BYTES + (bytes <= reader->limit ? bytes : 0);

	if (need < reader->fill)
		need = reader->fill; /* no frame: it is refused */
	return need > FRAME_BUFFER_MIN ? need : FRAME_BUFFER_MIN;
}

int frame_reader_give_back(struct frame_reader *reader)
{
	size_t need = reader->fill ? room_for_rest(reader) : 0;
	uint8_t *own;

	if (!reader->is_lent && need)
		return 0;
	own = need ? malloc(need) : NULL;
	if (need && !own)
		return -ENOMEM;
	if (own)
		memcpy(own, reader->buffer, reader->fill);
	if (!reader->is_lent)
		free(reader->buffer);
	reader->buffer = own;
	reader->capacity = need;
	reader->is_lent = false;
	return 0;
}
