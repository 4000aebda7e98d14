// SPDX-License-Identifier: MIT
/* Which live ranks are said to hang, and which to be missing in a collective. */
#include "cli/outstanding/outstanding.h"
#include "proto/base/cleanup.h"
#include "tests/lib/test.h"

#define SECOND_NS  1000000000
#define NOW_NS	   (1000 * (int64_t)SECOND_NS)
#define MIN_NS	   (10 * (int64_t)SECOND_NS)
#define RANKS	   8
#define BIT(value) (1u << (value))

/* What a rank waits in, for how long, and what else is known of it. */
struct row {
	int64_t comm, seq; /* seq 0: in a kernel that is no communication */
	int64_t comm_size; /* 0: unknown */
	int64_t for_s;	   /* 0: it waits in nothing */
	int64_t ended_s;   /* since its last kernel ended; 0: as long */
	int64_t taken_s;   /* since its collector looked */
	bool is_odd, is_stopped, is_dead;
};

static char all_reduce[] = "all_reduce", gemm[] = "gemm", killed[] = "killed";

static void fill(const struct row *row, int64_t rank, struct outstanding_wait *wait,
	struct outstanding_rank *ret)
{
	int64_t ended_s = row->ended_s ? row->ended_s : row->for_s;

	*wait = (struct outstanding_wait){
		.has_collective = row->seq != 0,
		.op = all_reduce,
		.comm = row->comm,
		.comm_seq = row->seq,
		.has_comm_size = row->comm_size != 0,
		.comm_size = row->comm_size,
		.kernel = gemm,
		.for_ns = row->for_s * SECOND_NS,
		.ran_ns = row->for_s * SECOND_NS,
		.taken_ns = row->is_dead ? 0 : NOW_NS - row->taken_s * SECOND_NS,
	};
	*ret = (struct outstanding_rank){
		.has_rank = true,
		.rank = rank,
		.is_alive = !row->is_dead,
		.is_stopped = row->is_stopped,
		.ended = row->is_dead ? killed : NULL,
		.as_of_ns = NOW_NS,
		.waits = wait,
		.wait_count = row->for_s != 0,
		.has_last = true,
		.last_end_ns = NOW_NS - ended_s * SECOND_NS,
	};
}

/* @said: the line, or NULL where no rank hangs. */
static void check(const struct row rows[RANKS], const char *said)
{
	struct outstanding_wait waits[RANKS];
	struct outstanding_rank ranks[RANKS];
	bool is_odd[RANKS];
	struct outstanding o = {.ranks = ranks, .count = RANKS, .is_live = true, .is_odd = is_odd};
	CLEANUP(outstanding_hang_free_p) struct outstanding_hang *hang = NULL;

	for (int64_t i = 0; i < RANKS; i++) {
		fill(rows + i, i, waits + i, ranks + i);
		is_odd[i] = rows[i].is_odd;
	}
	hang = outstanding_find_hang(&o, MIN_NS);
	if (said)
		assert_string_equal(hang ? hang->line : "none", said);
	else
		assert_null(hang);
}

/* Copies @all to the ranks of @is_all, and @others to the rest. */
static void check_two(struct row all, unsigned is_all, struct row others, const char *said)
{
	struct row rows[RANKS];

	for (unsigned i = 0; i < RANKS; i++)
		rows[i] = is_all & BIT(i) ? all : others;
	check(rows, said);
}

TEST_CASE(ranks_hang_that_have_ended_nothing_for_so_long)
{
	const struct row none = {.ended_s = 1};

	check_two((struct row){.comm = 1, .seq = 12, .comm_size = 8, .for_s = 59}, 0xff, none,
		"Ranks 0-7 hang in all_reduce #12 for 59.0 s");
	check_two((struct row){.for_s = 59, .is_odd = true}, BIT(2), none,
		"Rank 2 hangs in gemm for 59.0 s");
	check_two((struct row){.for_s = 9, .is_odd = true}, BIT(2), none, NULL);
}

TEST_CASE(a_rank_whose_other_queue_gets_on_does_not_hang)
{
	check_two((struct row){.comm = 1, .seq = 12, .comm_size = 8, .for_s = 59, .ended_s = 1},
		0xff, (struct row){0}, NULL);
}

TEST_CASE(what_the_collector_saw_long_ago_is_no_hang)
{
	check_two((struct row){.comm = 1, .seq = 12, .comm_size = 8, .for_s = 59, .taken_s = 20},
		0xff, (struct row){0}, NULL);
	check_two((struct row){.comm = 1, .seq = 12, .for_s = 59, .is_stopped = true}, 0xff,
		(struct row){0}, NULL);
}

TEST_CASE(a_rank_is_not_in_a_collective_only_if_its_communicator_lacks_it)
{
	struct row in = {.comm = 1, .seq = 9, .comm_size = 8, .for_s = 12};

	check_two(in, 0xff & ~BIT(3), (struct row){.ended_s = 12, .is_odd = true},
		"Ranks 0-2,4-7 hang in all_reduce #9 for 12.0 s; rank 3 is not in it");
	/* Ranks 4 to 7 are in a communicator of their own, in which they wait or not. */
	in.comm_size = 4;
	check_two(in, 0x0f,
		(struct row){.comm = 2, .seq = 5, .comm_size = 4, .for_s = 9, .is_odd = true},
		"Ranks 0-3 hang in all_reduce #9 for 12.0 s");
	check_two(in, 0x0f, (struct row){.ended_s = 1, .is_odd = true},
		"Ranks 0-3 hang in all_reduce #9 for 12.0 s");
	in.comm_size = 0;
	check_two(in, 0x0f, (struct row){.comm = 2, .seq = 5, .for_s = 9, .is_odd = true},
		"Ranks 0-3 hang in all_reduce #9 for 12.0 s");
	/* No rank is missing in a kernel that is no communication. */
	check_two((struct row){.for_s = 12, .is_odd = true}, BIT(1),
		(struct row){.ended_s = 1, .is_odd = true}, "Rank 1 hangs in gemm for 12.0 s");
}

TEST_CASE(a_dead_process_does_not_hang_beside_live_ones)
{
	check_two((struct row){.comm = 1, .seq = 9, .for_s = 1800, .is_dead = true, .is_odd = true},
		0x0f, (struct row){.comm = 3, .seq = 2, .for_s = 15},
		"Ranks 4-7 hang in all_reduce #2 for 15.0 s");
}
