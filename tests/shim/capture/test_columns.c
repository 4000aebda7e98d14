// SPDX-License-Identifier: MIT
/* Compares columns with the decoder of the wire: escapes, runs, untimed records, the worst case. */
#include "tests/shim/capture/fixture.h"

#include <stdlib.h>
#include <string.h>

#include "proto/wire/frame.h"
#include "shim/capture/frames.h"

/* Above 2^32, since slots contain only half of an id. */
static const uint64_t newest_call = (7ull << 32) + 5;

static uint8_t cell[RECORDER_CELL_BYTES * 4];

static Rtl__Dispatches *encoded(struct msg_arena *arena, const struct columns *columns)
{
	size_t bytes = columns_encode(columns, 77, cell);
	Rtl__Frame *frame;

	assert_true(bytes <= columns_bytes_most(columns));
	assert_int_equal(frame_get_length(cell), bytes - FRAME_PREFIX_BYTES);
	assert_int_equal(
		msg_unpack(arena, cell + FRAME_PREFIX_BYTES, bytes - FRAME_PREFIX_BYTES, &frame),
		0);
	assert_int_equal(frame->number, 77);
	assert_int_equal(frame->body_case, RTL__FRAME__BODY_DISPATCHES);
	return frame->dispatches;
}

/* No call; a graph of ten nodes from before the low half wrapped; single launches; a lost count. */
static uint32_t call_of(size_t n)
{
	return n < 5 ? 0 : n < 15 ? UINT32_MAX - 3 : n < 25 ? (uint32_t)n : 4;
}

static uint32_t node_of(size_t n)
{
	return n < 5 ? 0 : n < 15 ? (uint32_t)n - 5 : n < 25 ? 0 : RECORDER_NODE_UNKNOWN;
}

static void check_calls(const Rtl__Dispatches *d)
{
	uint64_t call = 0;
	uint32_t node = 0;

	for (size_t i = 0, k = 0; i < d->n; i++) {
		if (k < d->n_call && d->call_from[k] == i) {
			call = d->call[k];
			node = d->node[k++];
		}
		assert_int_equal((uint32_t)call, call_of(i));
		assert_int_equal(call >> 32, i < 5 ? 0 : i < 15 ? 6 : 7);
		assert_int_equal(node, node_of(i));
		node += call && node != RECORDER_NODE_UNKNOWN;
	}
	assert_int_equal(d->n_call, 1 + 10 + 1);
}

TEST_CASE(values_of_any_size_are_decoded)
{
	static const uint64_t durations[] = {0, 1, UINT32_MAX - 1ull, UINT32_MAX, 1ull << 40};
	static const int64_t deltas[] = {0, 5, -5, INT32_MAX, INT32_MIN, INT32_MAX + 1ll,
		INT32_MIN - 1ll, 1ll << 50, -(1ll << 50)};
	struct columns *columns = calloc(1, sizeof(*columns));
	struct msg_arena arena;
	Rtl__Dispatches *d;
	size_t n = 0, longs = 0, far = 0;

	msg_arena_init(&arena, ARENA_BYTES_MAX);
	columns_clear(columns, newest_call);
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
		for (size_t k = 0; k < sizeof(deltas) / sizeof(deltas[0]); k++, n++) {
			struct recorder_slot slot = {
				.seq = n * n,
				.submit_ns = (1ull << 60) + (uint64_t)deltas[k],
				.start_tick = 1000 + n,
				.end_tick = 1000 + n + durations[i],
				.tid = (uint32_t)i,
				.marker = k < 3 ? 0 : k,
				.call = call_of(n),
				.node = node_of(n),
			};

			columns_add(columns, &slot, (uint32_t)(n * 1000 + 1));
		}
	d = encoded(&arena, columns);
	assert_int_equal(d->n, n);
	for (size_t i = 0, seq = UINT64_MAX; i < n; i++) {
		uint64_t duration = durations[i / 9];
		int64_t delta = deltas[i % 9];

		seq += (uint64_t)d->seq[i] + 1;
		assert_int_equal(seq, i * i);
		assert_int_equal(d->shape[i], i * 1000 + 1);
		assert_int_equal(d->start_tick[i], 1000 + i);
		if (d->duration_ticks[i] == UINT32_MAX)
			assert_int_equal(d->long_duration[longs++], duration);
		else
			assert_int_equal(d->duration_ticks[i], duration);
		if (d->submit_delta_ns[i] == INT32_MIN)
			assert_int_equal(d->long_submit_ns[far++], (1ull << 60) + (uint64_t)delta);
		else
			assert_int_equal(d->submit_delta_ns[i], delta);
	}
	check_calls(d);
	assert_int_equal(d->n_tid, 5);
	assert_int_equal(longs, 18);
	assert_int_equal(far, 25);
	msg_arena_done(&arena);
	free(columns);
}

TEST_CASE(largest_records_fit_their_bound)
{
	struct columns *columns = calloc(1, sizeof(*columns));
	struct msg_arena arena;
	size_t before, empty;

	msg_arena_init(&arena, ARENA_BYTES_MAX);
	columns_clear(columns, newest_call);
	empty = columns_bytes_most(columns);
	assert_true(empty <= COLUMNS_FRAME_BYTES_MAX * 2);
	for (uint32_t i = 0; i < FRAME_RECORDS_MAX; i++) {
		struct recorder_slot slot = {
			.seq = i % 2 ? UINT64_MAX / 2 : i,
			.submit_ns = i * 0x0f00000000000000ull,
			.start_tick = 1,
			.end_tick = UINT64_MAX,
			.tid = UINT32_MAX - i % 2,
			.marker = UINT64_MAX - i % 2,
		};

		before = columns_bytes_most(columns);
		columns_add(columns, &slot, UINT32_MAX - i);
		assert_true(columns_bytes_most(columns) - before <=
			    (i ? COLUMNS_RECORD_BYTES_MAX : 2 * COLUMNS_RECORD_BYTES_MAX));
	}
	assert_int_equal(encoded(&arena, columns)->n, FRAME_RECORDS_MAX);
	msg_arena_done(&arena);
	free(columns);
}

TEST_CASE(untimed_records_carry_their_reason_and_no_time)
{
	struct columns *columns = calloc(1, sizeof(*columns));
	struct msg_arena arena;
	Rtl__Dispatches *d;

	msg_arena_init(&arena, ARENA_BYTES_MAX);
	columns_clear(columns, newest_call);
	for (uint32_t i = 0; i < 3 * RTL_UNTIMED_COUNT; i++) {
		struct recorder_slot slot = {.seq = i,
			.start_tick = 5,
			.end_tick = 9,
			.untimed = (uint8_t)(i % RTL_UNTIMED_COUNT)};

		columns_add(columns, &slot, 1);
	}
	d = encoded(&arena, columns);
	assert_int_equal(d->n_untimed_at, 3 * (RTL_UNTIMED_COUNT - 1));
	for (size_t i = 0; i < d->n_untimed_at; i++) {
		assert_int_equal(d->untimed_why[i], d->untimed_at[i] % RTL_UNTIMED_COUNT);
		assert_int_equal(d->start_tick[d->untimed_at[i]], 0);
		assert_int_equal(d->duration_ticks[d->untimed_at[i]], 0);
	}
	msg_arena_done(&arena);
	free(columns);
}
