/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Framing: a u32 little-endian length, then that many bytes of one rtl.Frame. Bytes in,
 * frames out; no sockets, no protobuf. A reader belongs to one connection and one thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_PREFIX_BYTES 4u

struct frame_reader {
	uint8_t *buffer;
	size_t capacity; /* of buffer: grows to what a frame needs, never past the limit */
	size_t fill;
	size_t limit; /* largest frame accepted now, without its prefix */
	bool is_lent; /* buffer is its owner's */
};

/* @limit: see limits.h; may be changed by the owner between frames. */
void frame_reader_init(struct frame_reader *reader, size_t limit);
void frame_reader_done(struct frame_reader *reader);

/*
 * Where to receive to: at least one byte, at most what completes a batch of frames.
 * 0, or -ENOMEM, or -EMSGSIZE when the pending frame's length is 0 or over the limit.
 */
int frame_reader_space(struct frame_reader *reader, uint8_t **ret_at, size_t *ret_bytes);

/* @bytes were received to where frame_reader_space() said. */
void frame_reader_filled(struct frame_reader *reader, size_t bytes);

/*
 * The next whole frame, without its prefix; valid until the next frame_reader_space().
 * 1: a frame; 0: none yet; -EMSGSIZE: its length is 0 or over the limit.
 * Call until 0, then frame_reader_compact() once.
 */
int frame_reader_next(
	struct frame_reader *reader, size_t *cursor, const uint8_t **ret_frame, size_t *ret_bytes);

/* Drop what is before @cursor. */
void frame_reader_compact(struct frame_reader *reader, size_t cursor);

/*
 * Makes the reader receive into @buffer, which has room for the longest frame and its prefix, until
 * frame_reader_give_back(). Hundreds of readers can share one buffer, which stays in the
 * processor's cache. A reader that holds the beginning of a frame keeps its own buffer until the
 * frame is whole.
 */
void frame_reader_lend(struct frame_reader *reader, uint8_t *buffer, size_t bytes);

/* After frame_reader_compact(): what is left is the reader's own, and nothing else is. 0 or
 * -ENOMEM. */
int frame_reader_give_back(struct frame_reader *reader);

static inline void frame_put_length(uint8_t *at, uint32_t bytes)
{
	at[0] = (uint8_t)bytes;
	at[1] = (uint8_t)(bytes >> 8);
	at[2] = (uint8_t)(bytes >> 16);
	at[3] = (uint8_t)(bytes >> 24);
}

static inline uint32_t frame_get_length(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}
