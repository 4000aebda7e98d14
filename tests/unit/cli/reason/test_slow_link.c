// SPDX-License-Identifier: MIT
/* The two ranks between which transfers take much longer than between any others. */
#include "cli/reason/slow_link.h"
#include "tests/lib/test.h"

#define TRANSFERS_MAX 64

/* Transfers between two lanes, each of a pair of launches. */
struct network {
	struct collectives collectives;
	struct collectives_operation operations[TRANSFERS_MAX];
	struct collectives_launch launches[2 * TRANSFERS_MAX];
	uint32_t by_operation[2 * TRANSFERS_MAX];
};

static struct collectives_operation *add(
	struct network *n, uint32_t from, uint32_t to, double bytes, int64_t ns)
{
	size_t at = n->collectives.operation_count++;

	assert_true(at < TRANSFERS_MAX);
	n->collectives.operations = n->operations;
	n->collectives.launches = n->launches;
	n->collectives.by_operation = n->by_operation;
	/* In another order than the operations are. */
	n->by_operation[2 * at] = (uint32_t)(2 * TRANSFERS_MAX - 1 - 2 * at);
	n->by_operation[2 * at + 1] = (uint32_t)(2 * TRANSFERS_MAX - 2 - 2 * at);
	n->launches[n->by_operation[2 * at]].lane = from;
	n->launches[n->by_operation[2 * at + 1]].lane = to;
	n->operations[at] = (struct collectives_operation){.first = (uint32_t)(2 * at),
		.launches = 2,
		.bytes = bytes,
		.is_pairs = true,
		.is_timed = true,
		.start_last = 1000,
		.stop_last = 1000 + ns};
	return n->operations + at;
}

/* Three transfers each way around a ring of @lanes, which take @ns; those of lanes 1 and 2
 * @slow_ns. */
static void add_ring(struct network *n, uint32_t lanes, double bytes, int64_t ns, int64_t slow_ns)
{
	for (unsigned turn = 0; turn < SLOW_LINK_LEAST; turn++)
		for (uint32_t i = 0; i < lanes; i++) {
			uint32_t next = (i + 1) % lanes;

			add(n, turn & 1 ? i : next, turn & 1 ? next : i, bytes,
				i == 1 ? slow_ns : ns);
		}
}

static struct slow_link find(const struct network *n)
{
	struct slow_link link;

	assert_int_equal(slow_link_find(&n->collectives, &link), 0);
	return link;
}

TEST_CASE(a_link_is_slow_from_twice_the_median_on)
{
	struct network n = {0}, even = {0};
	struct slow_link link;

	assert_int_equal(find(&n).lanes[0], COLLECTIVES_NONE);
	add_ring(&n, 4, 1e6, 100, 200);
	link = find(&n);
	assert_int_equal(link.lanes[0], 1);
	assert_int_equal(link.lanes[1], 2);
	assert_true(link.ratio >= 2 && link.ratio <= 2);
	assert_int_equal(link.transfer_ns, 3 * 200);
	add_ring(&even, 4, 1e6, 100, 199);
	assert_int_equal(find(&even).lanes[0], COLLECTIVES_NONE);
}

TEST_CASE(the_slowest_of_several_sizes_is_named)
{
	struct network n = {0};
	struct slow_link link;

	add_ring(&n, 3, 1e6, 100, 250);
	for (unsigned turn = 0; turn < SLOW_LINK_LEAST; turn++) {
		add(&n, 0, 1, 2e6, 100);
		add(&n, 1, 2, 2e6, 100);
		add(&n, 0, 2, 2e6, 400);
	}
	link = find(&n);
	assert_int_equal(link.lanes[0], 0);
	assert_int_equal(link.lanes[1], 2);
	assert_int_equal(link.transfer_ns, 3 * 400);
	/* Sizes are not compared with each other. */
	for (size_t i = 0; i < n.collectives.operation_count; i++)
		n.operations[i].bytes = (double)i;
	assert_int_equal(find(&n).lanes[0], COLLECTIVES_NONE);
}

TEST_CASE(what_is_no_timed_transfer_between_two_ranks_is_left_out)
{
	enum { NOT_PAIRS, MIXED, UNTIMED, ALONE, ITSELF, CASES };

	for (int left_out = 0; left_out < CASES; left_out++) {
		struct network n = {0};

		add_ring(&n, 4, 1e6, 100, 100);
		for (unsigned turn = 0; turn < SLOW_LINK_LEAST; turn++) {
			struct collectives_operation *o =
				add(&n, 5, left_out == ITSELF ? 5 : 6, 1e6, 900);

			o->is_pairs = left_out != NOT_PAIRS;
			o->is_mixed = left_out == MIXED;
			o->is_timed = left_out != UNTIMED;
			o->launches = left_out == ALONE ? 1 : 2;
		}
		assert_int_equal(find(&n).lanes[0], COLLECTIVES_NONE);
	}
}

TEST_CASE(few_links_or_transfers_or_no_time_are_not_compared)
{
	struct network two = {0}, few = {0}, idle = {0};

	for (unsigned turn = 0; turn < SLOW_LINK_LEAST; turn++) {
		add(&two, 0, 1, 1e6, 100);
		add(&two, 1, 2, 1e6, 900);
	}
	assert_int_equal(find(&two).lanes[0], COLLECTIVES_NONE);
	add_ring(&few, 3, 1e6, 100, 100);
	for (unsigned turn = 1; turn < SLOW_LINK_LEAST; turn++)
		add(&few, 5, 6, 1e6, 900);
	assert_int_equal(find(&few).lanes[0], COLLECTIVES_NONE);
	add_ring(&idle, 4, 1e6, 0, 900);
	assert_int_equal(find(&idle).lanes[0], COLLECTIVES_NONE);
}
