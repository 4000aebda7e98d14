// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "cli/trace/kernels/percentiles.h"
#include "tests/lib/test.h"

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The definition: the smallest duration that is at least as long as @percent of them. */
static int64_t nearest(const int64_t *sorted, size_t count, size_t percent)
{
	for (size_t i = 0; i < count; i++)
		if ((i + 1) * 100 >= percent * count)
			return sorted[i];
	fail();
	return 0;
}

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 24;
}

/* @lists of them, filled in turn. */
static void check(size_t count, size_t lists, uint64_t range, struct durations_room *room)
{
	struct durations at[3] = {0};
	const struct durations *const all[3] = {at, at + 1, at + 2};
	int64_t *sorted = calloc(count, sizeof(*sorted));
	struct durations_percentiles p;
	uint64_t seed = count * 31 + range;

	assert_non_null(sorted);
	for (size_t i = 0; i < count; i++) {
		sorted[i] = (int64_t)(next(&seed) % range);
		durations_add(at + i % lists, sorted[i]);
	}
	qsort(sorted, count, sizeof(*sorted), compare);
	assert_int_equal(durations_of(all, lists, room, &p), 0);
	assert_int_equal(p.p50_ns, nearest(sorted, count, 50));
	assert_int_equal(p.p95_ns, nearest(sorted, count, 95));
	assert_int_equal(p.p99_ns, nearest(sorted, count, 99));
	for (size_t i = 0; i < 3; i++)
		durations_done(at + i);
	free(sorted);
}

TEST_CASE(percentiles_are_those_of_a_sort)
{
	static const size_t counts[] = {
		1, 2, 3, 19, 20, 21, 99, 100, 101, 511, 512, 513, 9000, 100003};
	static const uint64_t ranges[] = {1, 2, 2000, 1u << 11, UINT64_C(1) << 22,
		UINT64_C(1) << 32, (UINT64_C(1) << 32) + 2, UINT64_C(1) << 36};
	struct durations_room room = {0};

	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++)
		for (size_t r = 0; r < sizeof(ranges) / sizeof(*ranges); r++)
			check(counts[c], 1 + (c + r) % 3, ranges[r], &room);
	durations_room_done(&room);
}

TEST_CASE(no_durations_have_no_percentiles)
{
	struct durations none = {0};
	const struct durations *const all[] = {&none};
	struct durations_room room = {0};
	struct durations_percentiles p;

	assert_int_equal(durations_of(all, 1, &room, &p), -ENODATA);
	assert_int_equal(durations_of(NULL, 0, &room, &p), -ENODATA);
	/* A damaged file's. */
	durations_add(&none, INT64_MIN);
	assert_int_equal(durations_of(all, 1, &room, &p), 0);
	assert_int_equal(p.p50_ns, 0);
	durations_done(&none);
	durations_room_done(&room);
}
