/* SPDX-License-Identifier: MIT */
/* The frame reader: any cut of the bytes gives the same frames; lengths are checked first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wire/frame.h"
#include "tests/lib/test.h"

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

TEST_CASE(any_cut_gives_the_same_frames)
{
	static const uint32_t sizes[] = {1, 2, 3, 5, 4096, 4093, 9999, 10000, 1, 7000};
	static const size_t steps[] = {1, 2, 3, 4, 5, 7, 4095, 4096, 4097, 65536};
	static struct stream s;

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

/* Bytes of @s from *@at on, at most @step, into @lent. */
static void feed_lent(struct frame_reader *reader, uint8_t *lent, size_t lent_bytes,
	const struct stream *s, size_t step, size_t *at, size_t *frames)
{
	size_t room, bytes, cursor = 0;
	const uint8_t *frame;
	uint8_t *to;

	frame_reader_lend(reader, lent, lent_bytes);
	assert_int_equal(frame_reader_space(reader, &to, &room), 0);
	assert_true(room > 0);
	room = room < step ? room : step;
	room = room < s->fill - *at ? room : s->fill - *at;
	memcpy(to, s->bytes + *at, room);
	frame_reader_filled(reader, room);
	*at += room;
	while (frame_reader_next(reader, &cursor, &frame, &bytes) == 1) {
		++*frames;
		for (size_t i = 0; i < bytes; i++)
			assert_int_equal(frame[i], *frames);
	}
	frame_reader_compact(reader, cursor);
	assert_int_equal(frame_reader_give_back(reader), 0);
	assert_false(reader->is_lent);
	assert_ptr_not_equal(reader->buffer, lent);
	assert_int_equal(!reader->buffer, !reader->fill);
	/* The next reader overwrites the buffer. */
	memset(lent, 0xff, lent_bytes);
}

TEST_CASE(two_readers_share_a_buffer)
{
	static const uint32_t sizes[] = {1, 2, 3, 5, 4096, 4093, 9999, 10000, 1, 7000};
	static const size_t steps[] = {1, 3, 5, 4095, 4096, 9000, 65536};
	static uint8_t lent[LIMIT + FRAME_PREFIX_BYTES];
	static struct stream s;

	memset(&s, 0, sizeof(s));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		stream_add(&s, sizes[i], (uint8_t)(i + 1));
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct frame_reader reader[2];
		size_t at[2] = {0}, frames[2] = {0};

		frame_reader_init(&reader[0], LIMIT);
		frame_reader_init(&reader[1], LIMIT);
		while (at[0] < s.fill || at[1] < s.fill)
			for (unsigned r = 0; r < 2; r++)
				feed_lent(&reader[r], lent, sizeof(lent), &s, steps[i] + r, &at[r],
					&frames[r]);
		for (unsigned r = 0; r < 2; r++) {
			assert_int_equal(frames[r], s.frames);
			assert_int_equal(reader[r].capacity, 0);
			frame_reader_done(&reader[r]);
		}
	}
}

TEST_CASE(a_lent_buffer_is_not_freed)
{
	static uint8_t lent[LIMIT + FRAME_PREFIX_BYTES];
	struct frame_reader reader;
	size_t room;
	uint8_t *to;

	frame_reader_init(&reader, LIMIT);
	frame_reader_lend(&reader, lent, sizeof(lent));
	assert_int_equal(frame_reader_space(&reader, &to, &room), 0);
	assert_ptr_equal(to, lent);
	frame_put_length(to, LIMIT + 1);
	frame_reader_filled(&reader, FRAME_PREFIX_BYTES);
	frame_reader_done(&reader);
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

TEST_CASE(a_bad_length_is_refused_before_anything_is_allocated)
{
	refuse(0);
	refuse(LIMIT + 1);
	refuse(UINT32_MAX);
}
