/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * rtl.Frame to bytes and back. Unpacking allocates from a bounded arena, so a hostile frame
 * costs at most ARENA_BYTES_MAX; columns are checked against n before a caller sees them.
 * No sockets, no logging. An arena belongs to one thread.
 */
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/wire/rtl.pb-c.h"

struct msg_arena {
	uint8_t *base;
	size_t capacity; /* grows on demand to the limit, kept between frames */
	size_t used;
	size_t limit;
	bool is_starved;	       /* the frame found no memory */
	struct msg_arena_block *extra; /* blocks of a frame that outgrew base */
};

void msg_arena_init(struct msg_arena *arena, size_t limit);
void msg_arena_done(struct msg_arena *arena);

/* Room at once for what most frames need: these find it whatever memory there is. -ENOMEM. */
int msg_arena_reserve(struct msg_arena *arena);

/*
 * Unpack one frame. What it returns lives in @arena until the next call with it.
 * 0; -EBADMSG: not a Frame, or its body is missing or unknown; -ENOBUFS: over the arena's
 * limit; -EINVAL: a column has not n entries or a run list is out of order; -ENOMEM: nothing is
 * known of it, try again.
 */
int msg_unpack(struct msg_arena *arena, const uint8_t *data, size_t bytes, Rtl__Frame **ret);

/* Bytes of @frame with its length prefix. */
size_t msg_packed_bytes(const Rtl__Frame *frame);

/* Writes prefix and frame to @at (msg_packed_bytes() of room); returns the bytes written. */
size_t msg_pack(const Rtl__Frame *frame, uint8_t *at);

/* Packs like msg_pack(), into a malloc'ed buffer of *ret_bytes. NULL: no memory. */
uint8_t *msg_pack_new(const Rtl__Frame *frame, size_t *ret_bytes);

/* The highest version common to [min,max] and ours, or 0. Absent fields mean 1. */
uint32_t msg_common_version(int has_min, uint32_t min, int has_max, uint32_t max);

/* @field as a fresh C string, cut at @max bytes and at the first NUL; NULL: absent or no memory. */
char *msg_string(int has, const ProtobufCBinaryData *field, size_t max);

/* Point @field at @text (borrowed); sets *has. NULL: absent. */
void msg_set_bytes(protobuf_c_boolean *has, ProtobufCBinaryData *field, const char *text);

/* Sets an optional number of a message. */
#define MSG_SET(message, field, value)                                                             \
	do {                                                                                       \
		(message)->has_##field = true;                                                     \
		(message)->field = (value);                                                        \
	} while (0)
