// SPDX-License-Identifier: MIT
/* How many dispatches lie in a queue: random ones against a count of each time. */
#include <stdlib.h>
#include <string.h>

#include "cli/export/perfetto/queue_depth.h"
#include "tests/lib/test.h"

#define TIMES	   5000
#define DISPATCHES 800
#define ROUNDS	   40
/* Greatest distance by which a dispatch may come before its place. */
#define DISORDER   100

struct told {
	int64_t depth[TIMES];
	int64_t last_ns;
};

static uint64_t seed = 1;

static int64_t draw(int64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(seed >> 33) % below;
}

static int take(void *taker, int64_t time_ns, int64_t depth)
{
	struct told *told = taker;

	assert_true(time_ns > told->last_ns);
	assert_true(time_ns < TIMES);
	for (int64_t t = time_ns; t < TIMES; t++)
		told->depth[t] = depth;
	told->last_ns = time_ns;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct queue_depth_entry *left = a, *right = b;

	return left->submit_ns < right->submit_ns ? -1 : left->submit_ns > right->submit_ns;
}

static void check_round(void)
{
	struct queue_depth_entry entries[DISPATCHES];
	int64_t wanted[TIMES] = {0};
	struct told told = {0};
	struct queue_depth queue = {0};
	int64_t count = 1 + draw(DISPATCHES);

	for (int64_t i = 0; i < count; i++) {
		entries[i].submit_ns = 1 + draw(TIMES - 200);
		entries[i].start_ns = entries[i].submit_ns + draw(199);
		for (int64_t t = entries[i].submit_ns; t < entries[i].start_ns; t++)
			wanted[t]++;
	}
	qsort(entries, (size_t)count, sizeof(*entries), compare);
	for (int64_t i = 0; i + DISORDER < count; i += DISORDER)
		for (int64_t k = 0; k < DISORDER; k++) {
			int64_t other = i + draw(DISORDER);
			struct queue_depth_entry entry = entries[i + k];

			entries[i + k] = entries[other];
			entries[other] = entry;
		}
	for (int64_t i = 0; i < count; i++)
		assert_int_equal(queue_depth_add(&queue, entries[i].submit_ns, entries[i].start_ns,
					 take, &told),
			0);
	assert_int_equal(queue_depth_finish(&queue, take, &told), 0);
	assert_memory_equal(told.depth, wanted, sizeof(wanted));
	queue_depth_done(&queue);
}

TEST_CASE(depth_is_that_of_a_count_for_random_dispatches)
{
	for (int i = 0; i < ROUNDS; i++)
		check_round();
}

static int refuse(void *taker, int64_t time_ns, int64_t depth)
{
	(void)taker, (void)time_ns, (void)depth;
	return -5;
}

TEST_CASE(error_of_the_taker_comes_back)
{
	struct queue_depth queue = {0};

	assert_int_equal(queue_depth_add(&queue, 1, 2, refuse, NULL), 0);
	assert_int_equal(queue_depth_finish(&queue, refuse, NULL), -5);
	queue_depth_done(&queue);
}
