// SPDX-License-Identifier: MIT
/*
 * fuzz.frames: the frame splitter and the unpacker, as bytes come from a socket: in pieces. The
 * first byte says the limit and how they are cut.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "proto/wire/frame.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "tests/fuzz/bench.h"

static struct msg_arena arena;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	msg_arena_init(&arena, ARENA_BYTES_MAX);
	return 0;
}

/* Packs a frame that was accepted again; it must mean the same. */
static void unpack(const uint8_t *data, size_t bytes)
{
	Rtl__Frame *frame = NULL;
	uint8_t *again;
	size_t n;

	if (msg_unpack(&arena, data, bytes, &frame) < 0)
		return;
	again = msg_pack_new(frame, &n);
	FUZZ_MUST(again && n == frame_get_length(again) + FRAME_PREFIX_BYTES);
	/* Fields that came twice are one now. */
	FUZZ_MUST(n - FRAME_PREFIX_BYTES <= 2 * bytes + 64 ||
		  frame->body_case == RTL__FRAME__BODY_DISPATCHES);
	FUZZ_MUST(arena.used <= ARENA_BYTES_MAX);
	free(again);
}

static int take_all(struct frame_reader *reader)
{
	const uint8_t *frame = NULL;
	size_t bytes = 0, cursor = 0;
	int r;

	while ((r = frame_reader_next(reader, &cursor, &frame, &bytes)) == 1) {
		FUZZ_MUST(bytes > 0 && bytes <= reader->limit);
		unpack(frame, bytes);
	}
	frame_reader_compact(reader, cursor);
	/* If the rest of a frame is awaited, its length is within the limit, so it can arrive. */
	if (r == 0 && reader->fill >= FRAME_PREFIX_BYTES)
		FUZZ_MUST(frame_get_length(reader->buffer) - 1u < reader->limit);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static const size_t limits[] = {
		HELLO_BYTES_MAX, FRAME_BYTES_MAX, REQUEST_BYTES_MAX, REPLY_BYTES_MAX};
	struct tape tape = {data, bytes};
	uint64_t how = tape_number(&tape, 1);
	struct frame_reader reader;
	int r = 0;

	frame_reader_init(&reader, limits[how & 3]);
	while (r == 0 && tape.left) {
		uint8_t *at = NULL;
		const uint8_t *from;
		size_t space = 0, n;

		if (frame_reader_space(&reader, &at, &space) < 0)
			break;
		FUZZ_MUST(space > 0);
		from = tape_bytes(&tape, how >> 2 && how >> 2 < space ? how >> 2 : space, &n);
		memcpy(at, from, n);
		frame_reader_filled(&reader, n);
		r = take_all(&reader);
	}
	FUZZ_MUST(reader.capacity <= reader.limit + FRAME_PREFIX_BYTES);
	frame_reader_done(&reader);
	return 0;
}
