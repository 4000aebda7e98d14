/* SPDX-License-Identifier: MIT */
/* Packing and unpacking: bounded memory, columns of equal length, versions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/names/counters.h"
#include "proto/wire/frame.h"
#include "proto/names/host_calls.h"
#include "proto/base/limits.h"
#include "proto/wire/msg.h"
#include "tests/lib/test.h"

#define N 3

struct sample {
	uint32_t shape[N], duration[N], from[1], tid[1], at[1], why[1];
	int64_t seq[N];
	int32_t delta[N];
	uint64_t start[N], long_submit[1];
	Rtl__Dispatches dispatches;
	Rtl__Frame frame;
};

static void sample_init(struct sample *s)
{
	Rtl__Dispatches *d = &s->dispatches;

	memset(s, 0, sizeof(*s));
	rtl__dispatches__init(d);
	rtl__frame__init(&s->frame);
	for (unsigned i = 0; i < N; i++) {
		s->shape[i] = i + 1;
		s->start[i] = 1000u * i;
		s->duration[i] = 10;
	}
	s->tid[0] = 77;
	d->has_n = 1;
	d->n = N;
	d->has_submit_base_ns = 1;
	d->shape = s->shape;
	d->seq = s->seq;
	d->start_tick = s->start;
	d->duration_ticks = s->duration;
	d->submit_delta_ns = s->delta;
	d->n_shape = d->n_seq = d->n_start_tick = d->n_duration_ticks = d->n_submit_delta_ns = N;
	d->tid_from = s->from;
	d->tid = s->tid;
	d->n_tid_from = d->n_tid = 1;
	s->frame.has_number = 1;
	s->frame.number = 1;
	s->frame.body_case = RTL__FRAME__BODY_DISPATCHES;
	s->frame.dispatches = d;
}

static int round_trip(struct sample *s, Rtl__Frame **ret, struct msg_arena *arena)
{
	size_t bytes;
	uint8_t *packed = msg_pack_new(&s->frame, &bytes);
	int r;

	assert_non_null(packed);
	assert_int_equal(frame_get_length(packed), bytes - FRAME_PREFIX_BYTES);
	r = msg_unpack(arena, packed + FRAME_PREFIX_BYTES, bytes - FRAME_PREFIX_BYTES, ret);
	free(packed);
	return r;
}

static int verdict(struct sample *s)
{
	struct msg_arena arena;
	Rtl__Frame *frame;
	int r;

	msg_arena_init(&arena, ARENA_BYTES_MAX);
	r = round_trip(s, &frame, &arena);
	msg_arena_done(&arena);
	return r;
}

TEST_CASE(a_frame_comes_back_as_it_was)
{
	struct msg_arena arena;
	struct sample s;
	Rtl__Frame *frame;

	sample_init(&s);
	msg_arena_init(&arena, ARENA_BYTES_MAX);
	for (int again = 0; again < 3; again++) {
		assert_int_equal(round_trip(&s, &frame, &arena), 0);
		assert_int_equal(frame->number, 1);
		assert_int_equal(frame->dispatches->n, N);
		assert_memory_equal(frame->dispatches->shape, s.shape, sizeof(s.shape));
		assert_memory_equal(frame->dispatches->start_tick, s.start, sizeof(s.start));
		assert_int_equal(frame->dispatches->tid[0], 77);
	}
	msg_arena_done(&arena);
}

/* One column, by its count in the message, is one entry short. */
static void expect_refused_without(size_t count_offset)
{
	struct sample s;
	size_t *count;

	sample_init(&s);
	count = (size_t *)((char *)&s.dispatches + count_offset);
	assert_true(*count > 0);
	(*count)--;
	assert_int_equal(verdict(&s), -EINVAL);
}

TEST_CASE(every_column_must_have_n_entries)
{
	static const size_t counts[] = {
		offsetof(Rtl__Dispatches, n_shape),
		offsetof(Rtl__Dispatches, n_seq),
		offsetof(Rtl__Dispatches, n_start_tick),
		offsetof(Rtl__Dispatches, n_duration_ticks),
		offsetof(Rtl__Dispatches, n_submit_delta_ns),
		offsetof(Rtl__Dispatches, n_tid_from),
		offsetof(Rtl__Dispatches, n_tid),
	};
	struct sample s;

	sample_init(&s);
	assert_int_equal(verdict(&s), 0);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		expect_refused_without(counts[i]);
}

TEST_CASE(escapes_need_their_long_value)
{
	struct sample s;

	sample_init(&s);
	s.duration[1] = UINT32_MAX;
	assert_int_equal(verdict(&s), -EINVAL);
	sample_init(&s);
	s.delta[2] = INT32_MIN;
	assert_int_equal(verdict(&s), -EINVAL);
	s.dispatches.long_submit_ns = s.long_submit;
	s.dispatches.n_long_submit_ns = 1;
	assert_int_equal(verdict(&s), 0);
}

TEST_CASE(runs_and_reasons_must_be_in_range)
{
	struct sample s;

	sample_init(&s);
	s.from[0] = N;
	assert_int_equal(verdict(&s), -EINVAL);
	sample_init(&s);
	s.dispatches.untimed_at = s.at;
	s.dispatches.untimed_why = s.why;
	s.dispatches.n_untimed_at = s.dispatches.n_untimed_why = 1;
	s.why[0] = RTL_UNTIMED_COUNT;
	assert_int_equal(verdict(&s), -EINVAL);
	s.why[0] = RTL_UNTIMED_EARLY;
	assert_int_equal(verdict(&s), 0);
}

TEST_CASE(a_record_frame_needs_its_number)
{
	struct sample s;

	sample_init(&s);
	s.frame.has_number = 0;
	assert_int_equal(verdict(&s), -EINVAL);
}

TEST_CASE(random_bytes_are_not_a_frame)
{
	static const uint8_t truncated[] = {0x2a, 0x7f, 0x01};
	static const uint8_t unknown_body[] = {0xfa, 0x0f, 0x01, 0x00};
	struct msg_arena arena;
	Rtl__Frame *frame;

	msg_arena_init(&arena, ARENA_BYTES_MAX);
	assert_int_equal(msg_unpack(&arena, truncated, sizeof(truncated), &frame), -EBADMSG);
	assert_int_equal(msg_unpack(&arena, unknown_body, sizeof(unknown_body), &frame), -EBADMSG);
	msg_arena_done(&arena);
}

/* 256 KiB of empty submessages would be a hundred thousand objects. */
TEST_CASE(amplification_ends_at_the_limit_of_the_arena)
{
	size_t bytes = FRAME_BYTES_MAX, at = 0;
	uint8_t *frame_bytes = malloc(bytes);
	struct msg_arena arena;
	Rtl__Frame *frame;
	uint32_t inner;

	assert_non_null(frame_bytes);
	inner = (uint32_t)((bytes - 4) / 2 * 2);
	frame_bytes[at++] = 4 << 3 | 2; /* Frame.defines, its length as a 3-byte varint */
	frame_bytes[at++] = (uint8_t)(inner | 0x80);
	frame_bytes[at++] = (uint8_t)(inner >> 7 | 0x80);
	frame_bytes[at++] = (uint8_t)(inner >> 14);
	while (at + 2 <= bytes) {
		frame_bytes[at++] = 1 << 3 | 2; /* Defines.strings, empty */
		frame_bytes[at++] = 0;
	}
	msg_arena_init(&arena, ARENA_BYTES_MAX);
	assert_true(msg_unpack(&arena, frame_bytes, at, &frame) < 0);
	assert_true(arena.used <= ARENA_BYTES_MAX);
	msg_arena_done(&arena);
	free(frame_bytes);
}

TEST_CASE(the_highest_common_version_is_chosen)
{
	assert_int_equal(msg_common_version(0, 0, 0, 0), 1);
	assert_int_equal(msg_common_version(1, 1, 1, 9), PROTO_VERSION_MAX);
	assert_int_equal(msg_common_version(1, PROTO_VERSION_MAX + 1, 1, 99), 0);
	assert_int_equal(msg_common_version(1, 0, 1, 0), 0);
}

/* Whatever is missing, in excess or of no known function: such a frame never gets further. */
TEST_CASE(host_calls_have_the_words_of_their_function)
{
	uint32_t api[] = {RTL_HOST_hipFree, RTL_HOST_hipMemcpy}, tid[2] = {1, 1}, words[] = {1, 4};
	uint64_t id[] = {1, 2}, zero[2] = {0}, arg[6] = {0};
	int32_t result[2] = {0};
	Rtl__HostCalls calls = RTL__HOST_CALLS__INIT;
	Rtl__Frame frame = RTL__FRAME__INIT, *back;
	struct msg_arena arena;
	struct sample s = {0};

	msg_arena_init(&arena, ARENA_BYTES_MAX);
	calls.has_n = 1;
	calls.n = 2;
	calls.n_api = calls.n_id = calls.n_parent = calls.n_tid = calls.n_start_ns = 2;
	calls.n_duration_ns = calls.n_marker = calls.n_result = calls.n_stream = 2;
	calls.n_arg_count = 2;
	calls.api = api;
	calls.tid = tid;
	calls.id = id;
	calls.parent = calls.start_ns = calls.duration_ns = calls.marker = calls.stream = zero;
	calls.result = result;
	calls.arg_count = words;
	calls.arg = arg;
	calls.n_arg = 5;
	frame.has_number = 1;
	frame.number = 1;
	frame.body_case = RTL__FRAME__BODY_HOST_CALLS;
	frame.host_calls = &calls;
	s.frame = frame;
	assert_int_equal(round_trip(&s, &back, &arena), 0);
	calls.n_arg = 6;
	assert_int_equal(round_trip(&s, &back, &arena), -EINVAL);
	calls.n_arg = 5;
	words[0] = 2;
	words[1] = 3;
	assert_int_equal(round_trip(&s, &back, &arena), -EINVAL);
	words[0] = 1;
	words[1] = 4;
	api[1] = RTL_HOST_COUNT;
	assert_int_equal(round_trip(&s, &back, &arena), -EINVAL);
	api[1] = RTL_HOST_hipMemcpy;
	calls.n_result = 1;
	assert_int_equal(round_trip(&s, &back, &arena), -EINVAL);
	msg_arena_done(&arena);
}
