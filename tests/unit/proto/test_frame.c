/* SPDX-License-Identifier: MIT */
/* The frame reader: any cut of the bytes gives the same frames; lengths are checked first. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "proto/frame.h"

#define LIMIT 10000u

struct stream {
	uint8_t bytes[64 * 1024];
	size_t fill;
	size_t frames;
};

static void stream_add(struct stream *s, uint32_t bytes, uint8_t with)
{
	frame_put_length(s->bytes + s->fill, bytes);
	memset(s->bytes + s->fill + FRAME_PREFIX_BYTES, with, bytes);
	s->fill += FRAME_PREFIX_BYTES + bytes;
	s->frames++;
}

/* Feeds at most @step bytes at a time; checks that frame i is filled with byte i. */
static size_t feed(struct frame_reader *reader, const struct stream *s, size_t step)
{
	size_t frames = 0;

	for (size_t at = 0; at < s->fill;) {
		const uint8_t *frame;
		size_t room, bytes, cursor = 0;
		uint8_t *to;

		assert_int_equal(frame_reader_space(reader, &to, &room), 0);
		assert_true(room > 0);
		room = room < step ? room : step;
		room = room < s->fill - at ? room : s->fill - at;
		memcpy(to, s->bytes + at, room);
		frame_reader_filled(reader, room);
		at += room;
		while (frame_reader_next(reader, &cursor, &frame, &bytes) == 1) {
			frames++;
			for (size_t i = 0; i < bytes; i++)
				assert_int_equal(frame[i], frames);
		}
		frame_reader_compact(reader, cursor);
	}
	return frames;
}

static void any_cut_gives_the_same_frames(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 5, 4096, 4093, 9999, 10000, 1, 7000};
	static const size_t steps[] = {1, 2, 3, 4, 5, 7, 4095, 4096, 4097, 65536};
	static struct stream s;

	(void)state;
	memset(&s, 0, sizeof(s));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		stream_add(&s, sizes[i], (uint8_t)(i + 1));
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct frame_reader reader;

		frame_reader_init(&reader, LIMIT);
		assert_int_equal(feed(&reader, &s, steps[i]), s.frames);
		assert_true(reader.capacity <= LIMIT + FRAME_PREFIX_BYTES);
		frame_reader_done(&reader);
	}
}

static void refuse(uint32_t length)
{
	struct frame_reader reader;
	const uint8_t *frame;
	size_t room, bytes, cursor = 0;
	uint8_t *to;

	frame_reader_init(&reader, LIMIT);
	assert_int_equal(frame_reader_space(&reader, &to, &room), 0);
	frame_put_length(to, length);
	frame_reader_filled(&reader, FRAME_PREFIX_BYTES);
	assert_int_equal(frame_reader_next(&reader, &cursor, &frame, &bytes), -EMSGSIZE);
	assert_int_equal(frame_reader_space(&reader, &to, &room), -EMSGSIZE);
	assert_true(reader.capacity <= 4096);
	frame_reader_done(&reader);
}

static void a_bad_length_is_refused_before_anything_is_allocated(void **state)
{
	(void)state;
	refuse(0);
	refuse(LIMIT + 1);
	refuse(UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_cut_gives_the_same_frames),
		cmocka_unit_test(a_bad_length_is_refused_before_anything_is_allocated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
