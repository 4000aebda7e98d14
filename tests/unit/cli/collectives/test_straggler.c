// SPDX-License-Identifier: MIT
/* Which rank is waited for, on windows made by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/collectives/straggler.h"
#include "tests/lib/test.h"

#define RANKS	8
#define WINDOWS 21
#define MS	1000000

struct scene {
	struct waiting waiting;
	struct waiting_group group;
	uint32_t lanes[RANKS];
	int64_t cuts[WINDOWS + 1], numbers[WINDOWS];
	struct waiting_cell cells[RANKS * WINDOWS];
	struct stragglers found;
};

static struct waiting_cell *cell(struct scene *s, size_t rank, size_t window)
{
	return s->cells + rank * WINDOWS + window;
}

/* Every rank computes 90 ms of 100, and waits the rest. */
static void begin(struct scene *s)
{
	*s = (struct scene){0};
	for (uint32_t i = 0; i < RANKS; i++)
		s->lanes[i] = i;
	for (size_t i = 0; i <= WINDOWS; i++)
		s->cuts[i] = (int64_t)i * 100 * MS;
	for (size_t i = 0; i < WINDOWS; i++)
		s->numbers[i] = (int64_t)i;
	for (size_t rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < WINDOWS; i++)
			*cell(s, rank, i) = (struct waiting_cell){
				.class_ns = {[SWEEP_COMPUTE] = 90 * MS, [SWEEP_COMM] = 10 * MS},
				.wait_ns = 10 * MS};
	s->group = (struct waiting_group){.lanes = s->lanes,
		.lane_count = RANKS,
		.source = WAITING_BY_STEPS,
		.cuts = s->cuts,
		.numbers = s->numbers,
		.windows = WINDOWS,
		.cells = s->cells};
	s->waiting = (struct waiting){.groups = &s->group, .group_count = 1};
}

/* In window @window the rank does @ns of @class instead of waiting. */
static void does(struct scene *s, size_t rank, size_t window, enum sweep_class class, int64_t ns)
{
	struct waiting_cell *c = cell(s, rank, window);

	c->wait_ns -= ns;
	c->class_ns[SWEEP_COMM] -= ns;
	c->class_ns[class] += ns;
}

static bool find(struct scene *s)
{
	stragglers_done(&s->found);
	assert_int_equal(stragglers_find(&s->waiting, &s->found), 0);
	return s->found.steady.group != NULL;
}

static void end(struct scene *s)
{
	stragglers_done(&s->found);
}

TEST_CASE(ranks_that_wait_alike_have_no_straggler)
{
	struct scene s;

	begin(&s);
	assert_false(find(&s));
	assert_int_equal(waiting_total_ns(&s.found.sum), (int64_t)RANKS * (WINDOWS - 1) * 10 * MS);
	/* A near miss: 4.9 % of the time. */
	for (size_t i = 0; i < WINDOWS; i++)
		does(&s, 3, i, SWEEP_COMPUTE, 49 * MS / 10);
	assert_false(find(&s));
	end(&s);
}

TEST_CASE(the_rank_that_waits_least_costs_what_the_next_waits_longer)
{
	struct scene s;
	const struct straggler *found = &s.found.steady;
	int64_t parts = 0;

	begin(&s);
	for (size_t i = 0; i < WINDOWS; i++)
		does(&s, 3, i, SWEEP_COMPUTE, 8 * MS);
	assert_true(find(&s));
	assert_int_equal(found->count, 1);
	assert_int_equal(found->lanes[0], 3);
	assert_int_equal(found->gain_ns, (int64_t)(WINDOWS - 1) * 8 * MS);
	assert_true(fabs(found->cost_pct - 8) < 1e-9);
	assert_int_equal(found->cause, STRAGGLER_COMPUTE);
	assert_int_not_equal(found->reference, 3);
	for (int i = 0; i < STRAGGLER_CAUSES; i++)
		parts += found->part_ns[i];
	assert_int_equal(parts, found->waiting_ns);
	assert_false(found->is_at_most);
	end(&s);
}

TEST_CASE(the_cause_is_the_greatest_part_or_there_are_several)
{
	static const struct {
		enum sweep_class class;
		enum straggler_cause cause;
	} cases[] = {{SWEEP_COMPUTE, STRAGGLER_COMPUTE}, {SWEEP_COPY, STRAGGLER_COPY},
		{SWEEP_HOST, STRAGGLER_HOST}, {SWEEP_WAIT, STRAGGLER_HELD},
		{SWEEP_UNKNOWN, STRAGGLER_IDLE}};
	struct scene s;
	const struct straggler *found = &s.found.steady;

	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		begin(&s);
		for (size_t i = 0; i < WINDOWS; i++)
			does(&s, 5, i, cases[k].class, 9 * MS);
		assert_true(find(&s));
		assert_int_equal(found->cause, cases[k].cause);
		end(&s);
	}
	begin(&s);
	for (size_t i = 0; i < WINDOWS; i++) {
		does(&s, 5, i, SWEEP_COPY, 3 * MS);
		does(&s, 5, i, SWEEP_HOST, 3 * MS);
		does(&s, 5, i, SWEEP_COMPUTE, 3 * MS);
	}
	assert_true(find(&s));
	assert_int_equal(found->cause, STRAGGLER_SEVERAL);
	end(&s);
	/* A slow link: it transfers while the others wait. */
	begin(&s);
	for (size_t i = 0; i < WINDOWS; i++)
		cell(&s, 5, i)->wait_ns -= 9 * MS;
	assert_true(find(&s));
	assert_int_equal(found->cause, STRAGGLER_TRANSFER);
	end(&s);
}

TEST_CASE(ranks_that_are_late_together_are_named_together)
{
	struct scene s;
	const struct straggler *found = &s.found.steady;

	begin(&s);
	/* To mend one of them alone gains 0.5 %. */
	for (size_t i = 0; i < WINDOWS; i++) {
		does(&s, 2, i, SWEEP_COMPUTE, 8 * MS);
		does(&s, 6, i, SWEEP_COMPUTE, 75 * MS / 10);
	}
	assert_true(find(&s));
	assert_int_equal(found->count, 2);
	assert_int_equal(found->lanes[0], 2);
	assert_int_equal(found->lanes[1], 6);
	assert_false(found->is_in_turn);
	assert_true(fabs(found->cost_pct - 8) < 1e-9);
	end(&s);
}

TEST_CASE(ranks_that_are_late_in_turn_are_both_named)
{
	struct scene s;
	const struct straggler *found = &s.found.steady;

	begin(&s);
	for (size_t i = 0; i < WINDOWS; i++)
		does(&s, i % 2 ? 2 : 6, i, SWEEP_HOST, 9 * MS);
	assert_true(find(&s));
	assert_int_equal(found->count, 2);
	assert_true(found->is_in_turn);
	assert_true(fabs(found->cost_pct - 9) < 1e-9);
	assert_int_equal(found->cause, STRAGGLER_HOST);
	end(&s);
}

TEST_CASE(a_rank_that_is_last_by_chance_is_not_named)
{
	struct scene s;
	uint64_t seed = 1;

	for (int round = 0; round < 200; round++) {
		begin(&s);
		for (size_t i = 0; i < WINDOWS; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			does(&s, (seed >> 33) % RANKS, i, SWEEP_COMPUTE, 9 * MS);
		}
		assert_false(find(&s));
		end(&s);
	}
}

TEST_CASE(a_rank_that_may_lie_in_the_slack_of_all_hosts_is_not_named)
{
	struct scene s;
	const struct straggler *found = &s.found.steady;

	begin(&s);
	for (size_t i = 0; i < WINDOWS; i++) {
		for (size_t rank = 0; rank < RANKS; rank++) {
			cell(&s, rank, i)->class_ns[SWEEP_COMPUTE] -= 20 * MS;
			cell(&s, rank, i)->class_ns[SWEEP_HOST] += 20 * MS;
		}
		does(&s, 3, i, SWEEP_COMPUTE, 8 * MS);
	}
	assert_false(find(&s));
	/* All idle for a fourth of what it costs: it costs that at most. */
	end(&s);
	begin(&s);
	for (size_t i = 0; i < WINDOWS; i++) {
		for (size_t rank = 0; rank < RANKS; rank++) {
			cell(&s, rank, i)->class_ns[SWEEP_COMPUTE] -= 2 * MS;
			cell(&s, rank, i)->class_ns[SWEEP_HOST] += 2 * MS;
		}
		does(&s, 3, i, SWEEP_COMPUTE, 8 * MS);
	}
	assert_true(find(&s));
	assert_true(found->is_at_most);
	end(&s);
}

/* Equal parts of the time are no steps: in some another stage of a pipeline is first. */
TEST_CASE(ranks_in_turn_in_equal_parts_of_the_time_are_no_stragglers)
{
	struct scene s;

	begin(&s);
	for (size_t i = 0; i < WINDOWS; i++)
		does(&s, i % 2 ? 3 : 5, i, SWEEP_COMPUTE, 8 * MS);
	assert_true(find(&s));
	assert_true(s.found.steady.is_in_turn);
	s.group.source = WAITING_BY_SLICES;
	assert_false(find(&s));
	end(&s);
}

/* Late by much in a few windows and by little in the others, it waits least in all of them. */
TEST_CASE(the_rank_that_waits_least_in_every_window_is_no_chance)
{
	struct scene s;
	const struct straggler *found = &s.found.steady;

	begin(&s);
	s.group.lane_count = 4;
	s.group.windows = 9;
	for (size_t i = 0; i < 9; i++)
		for (size_t rank = 0; rank < 4; rank++) {
			s.cells[rank * 9 + i] = (struct waiting_cell){
				.class_ns = {[SWEEP_COMPUTE] = 60 * MS, [SWEEP_COMM] = 40 * MS},
				.wait_ns = 40 * MS};
			if (rank == 2)
				s.cells[rank * 9 + i].wait_ns -= (i % 3 ? MS : 40 * MS);
		}
	assert_true(find(&s));
	assert_int_equal(found->count, 1);
	assert_int_equal(found->lanes[0], 2);
	/* In half of them only, it may be. */
	for (size_t i = 0; i < 9; i++)
		if (i % 3) {
			s.cells[2 * 9 + i].wait_ns += MS;
			s.cells[(i % 2) * 9 + i].wait_ns -= MS;
		}
	assert_false(find(&s));
	end(&s);
}

/* A stage that is late has a bubble of its own, which shows less meanwhile. */
TEST_CASE(what_a_late_stage_of_a_pipeline_costs_is_known_about)
{
	struct scene s;

	begin(&s);
	for (size_t i = 0; i < WINDOWS; i++)
		for (size_t rank = 0; rank < RANKS; rank++) {
			cell(&s, rank, i)->pair_wait_ns = cell(&s, rank, i)->wait_ns;
			cell(&s, rank, i)->wait_ns = 0;
			if (rank == 3)
				cell(&s, rank, i)->pair_wait_ns -= 8 * MS;
		}
	assert_true(find(&s));
	assert_true(s.found.steady.is_about);
	assert_false(s.found.steady.is_at_most);
	end(&s);
}

TEST_CASE(one_long_window_is_an_event_and_no_steady_cause)
{
	struct scene s;

	begin(&s);
	for (size_t i = 11; i <= WINDOWS; i++)
		s.cuts[i] += (int64_t)30000 * MS;
	for (size_t rank = 0; rank < RANKS; rank++) {
		cell(&s, rank, 10)->class_ns[rank ? SWEEP_COMM : SWEEP_HOST] += (int64_t)30000 * MS;
		cell(&s, rank, 10)->wait_ns += rank ? (int64_t)30000 * MS : 0;
	}
	assert_false(find(&s));
	assert_non_null(s.found.event.group);
	assert_int_equal(s.found.event.count, 1);
	assert_int_equal(s.found.event.longest, 10);
	assert_int_equal(s.found.event.lane, 0);
	assert_int_equal(s.found.event.cause, STRAGGLER_HOST);
	assert_true(s.found.event.cost_pct > 90);
	/* It is in none of the sums. */
	assert_int_equal(s.found.window_ns, (uint64_t)RANKS * (WINDOWS - 2) * 100 * MS);
	end(&s);
}

TEST_CASE(a_window_of_twice_the_median_is_an_event_where_it_is_so_for_one_rank)
{
	struct scene s;

	for (int is_for_one = 0; is_for_one < 2; is_for_one++) {
		begin(&s);
		for (size_t i = 11; i <= WINDOWS; i++)
			s.cuts[i] += (int64_t)150 * MS;
		for (size_t rank = 0; rank < RANKS; rank++) {
			bool waits = is_for_one && rank;

			cell(&s, rank, 10)->class_ns[waits ? SWEEP_COMM : SWEEP_HOST] += 150 * MS;
			cell(&s, rank, 10)->wait_ns += waits ? 150 * MS : 0;
		}
		assert_false(find(&s));
		assert_int_equal(s.found.event.count, is_for_one);
		assert_true(!is_for_one || s.found.event.lane == 0);
		end(&s);
	}
}

TEST_CASE(since_when_steps_are_longer_is_found)
{
	struct scene s;

	begin(&s);
	for (size_t i = 0; i <= WINDOWS; i++)
		s.cuts[i] += i > 12 ? (int64_t)(i - 12) * 15 * MS : 0;
	for (size_t rank = 0; rank < RANKS; rank++)
		for (size_t i = 12; i < WINDOWS; i++) {
			cell(&s, rank, i)->class_ns[SWEEP_COMM] += 15 * MS;
			cell(&s, rank, i)->wait_ns += 15 * MS;
			if (rank == 4)
				does(&s, rank, i, SWEEP_COMPUTE, 15 * MS);
		}
	assert_true(find(&s));
	assert_int_equal(s.found.steady.lanes[0], 4);
	assert_true(s.found.change.group == &s.group);
	assert_int_equal(s.found.change.window, 12);
	assert_true(fabs(s.found.change.ratio - 1.15) < 1e-9);
	assert_int_equal(s.found.steady.spans[0].from_ns, s.cuts[12]);
	end(&s);
	begin(&s);
	(void)find(&s);
	assert_null(s.found.change.group);
	end(&s);
}

/* From window @from on all windows of all ranks take 15 ms more. */
static void slow_down(struct scene *s, size_t from)
{
	for (size_t i = from; i <= WINDOWS; i++)
		s->cuts[i] += (int64_t)(i - from) * 15 * MS;
	for (size_t rank = 0; rank < RANKS; rank++)
		for (size_t i = from; i < WINDOWS; i++)
			cell(s, rank, i)->class_ns[SWEEP_COMPUTE] += 15 * MS;
}

TEST_CASE(a_change_is_of_the_group_that_it_was_found_in)
{
	struct scene few, slower;
	struct waiting_group groups[2];
	struct waiting both = {.groups = groups, .group_count = 2};
	struct stragglers found;

	begin(&few);
	begin(&slower);
	slow_down(&slower, 12);
	/* Two windows, of which the other group's twelfth is none. */
	few.group.windows = 2;
	groups[0] = few.group;
	groups[1] = slower.group;
	assert_int_equal(stragglers_find(&both, &found), 0);
	assert_null(found.steady.group);
	assert_ptr_equal(found.change.group, &groups[1]);
	assert_int_equal(found.change.window, 12);
	stragglers_done(&found);
	/* With a straggler in the other group it tells nothing of that one. */
	few.group.windows = 9;
	for (size_t i = 0; i < 9; i++) {
		few.cells[9 * 3 + i].wait_ns -= 9 * MS;
		few.cells[9 * 3 + i].class_ns[SWEEP_COMM] -= 9 * MS;
		few.cells[9 * 3 + i].class_ns[SWEEP_COMPUTE] += 9 * MS;
	}
	groups[0] = slower.group;
	groups[1] = few.group;
	assert_int_equal(stragglers_find(&both, &found), 0);
	assert_ptr_equal(found.steady.group, &groups[1]);
	assert_null(found.change.group);
	stragglers_done(&found);
}

TEST_CASE(two_ranks_that_are_late_for_other_causes_are_both_named)
{
	struct scene s;
	const struct straggler *found = &s.found.steady;

	begin(&s);
	for (size_t i = 0; i < WINDOWS; i++) {
		for (size_t rank = 0; rank < RANKS; rank++)
			does(&s, rank, i, SWEEP_COMPUTE, -40 * MS);
		does(&s, 2, i, SWEEP_COMPUTE, 26 * MS);
		does(&s, 5, i, SWEEP_HOST, 20 * MS);
	}
	/* To mend one of them alone gains 6 %, and both 26 %. */
	assert_true(find(&s));
	assert_int_equal(found->count, 2);
	assert_int_equal(found->lanes[0], 2);
	assert_int_equal(found->lanes[1], 5);
	assert_false(found->is_in_turn);
	assert_true(fabs(found->cost_pct - 26) < 1e-9);
	assert_int_equal(found->cause, STRAGGLER_SEVERAL);
	assert_int_equal(found->causes[0], STRAGGLER_COMPUTE);
	assert_int_equal(found->causes[1], STRAGGLER_HOST);
	/* Where one is far less late than the other it alone is named. */
	for (size_t i = 0; i < WINDOWS; i++)
		does(&s, 5, i, SWEEP_HOST, -12 * MS);
	assert_true(find(&s));
	assert_int_equal(found->count, 1);
	assert_int_equal(found->lanes[0], 2);
	assert_true(fabs(found->cost_pct - 18) < 1e-9);
	end(&s);
}

/* Operations of all ranks at the end of every @often-th window. */
struct meeting_scene {
	struct scene s;
	struct collectives c;
	struct collectives_operation operations[WINDOWS];
	struct collectives_launch launches[RANKS];
	uint32_t launched[RANKS], groups[RANKS], places[RANKS];
};

static void meet(struct meeting_scene *m, size_t often)
{
	m->c = (struct collectives){
		.operations = m->operations, .launches = m->launches, .by_operation = m->launched};
	for (uint32_t i = 0; i < RANKS; i++) {
		m->launches[i].lane = m->launched[i] = m->places[i] = i;
		m->launches[i].start = i == 3 ? 25 * MS : 0;
		m->groups[i] = 0;
	}
	for (size_t i = often; i <= WINDOWS; i += often)
		m->operations[m->c.operation_count++] = (struct collectives_operation){
			.launches = RANKS, .is_timed = true, .start_last = m->s.cuts[i] - MS};
	m->s.waiting.collectives = &m->c;
	m->s.waiting.group_of_lane = m->groups;
	m->s.waiting.place_of_lane = m->places;
}

TEST_CASE(ranks_that_meet_every_third_step_are_compared_over_three)
{
	struct meeting_scene m;

	begin(&m.s);
	for (size_t rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < WINDOWS; i++)
			does(&m.s, rank, i, SWEEP_COMPUTE, i % 3 < 2 ? 10 * MS : -20 * MS);
	/* Rank 3 is late by 8 ms in each step: the three ranks that it shares each with wait as
	 * often, the others three times as long in every third. */
	for (size_t i = 0; i < WINDOWS; i++)
		for (size_t rank = 0; rank < RANKS; rank++)
			does(&m.s, rank, i, SWEEP_COMPUTE,
				rank == 3  ? (i % 3 < 2 ? 0 : 30 * MS)
				: rank < 4 ? (i % 3 < 2 ? -8 * MS : 22 * MS)
					   : (i % 3 < 2 ? 0 : 6 * MS));
	assert_false(find(&m.s));
	meet(&m, 3);
	assert_true(find(&m.s));
	assert_ptr_equal(m.s.found.steady.group, &m.s.group);
	assert_int_equal(m.s.found.steady.count, 1);
	assert_int_equal(m.s.found.steady.lanes[0], 3);
	assert_true(fabs(m.s.found.steady.cost_pct - 8) < 1e-9);
	end(&m.s);
}

/* Ranks meet every third step. The first meeting's waiting does not count. */
TEST_CASE(the_steps_before_the_first_meeting_cost_what_a_rank_does_longer_in_them)
{
	struct meeting_scene m;
	const struct straggler *found = &m.s.found.steady;

	for (int is_always = 0; is_always < 2; is_always++) {
		begin(&m.s);
		m.c.operation_count = 0;
		meet(&m, 3);
		for (size_t i = is_always ? 0 : 3; i < WINDOWS; i++)
			does(&m.s, 3, i, SWEEP_COMPUTE, 8 * MS);
		for (size_t rank = 0; rank < RANKS; rank++)
			for (size_t i = 0; i < 3; i++)
				cell(&m.s, rank, i)->wait_ns = 0;
		assert_true(find(&m.s));
		assert_int_equal(found->lanes[0], 3);
		/* Since the third of 21 steps, of which the first warms up, or always. */
		assert_true(fabs(found->cost_pct - (is_always ? 8 : 8 * 18 / 20.)) < 1e-9);
		/* In a host that comes late to the first meeting alone lies no more than that. */
		does(&m.s, 3, 1, SWEEP_HOST, 9 * MS);
		does(&m.s, 3, 2, SWEEP_HOST, 9 * MS);
		assert_true(find(&m.s));
		assert_true(found->cost_pct < 8 + 1e-9);
		end(&m.s);
	}
}

TEST_CASE(the_first_window_counts_where_ranks_warmed_up_before_it)
{
	struct scene s;

	begin(&s);
	for (size_t i = 0; i < WINDOWS; i++)
		does(&s, 3, i, SWEEP_COMPUTE, 8 * MS);
	s.group.is_warm = true;
	assert_true(find(&s));
	assert_int_equal(s.found.steady.windows, WINDOWS);
	/* The waiting of the first meeting does not count: the work in that window tells. */
	for (size_t rank = 0; rank < RANKS; rank++)
		cell(&s, rank, 0)->wait_ns = 0;
	s.group.met_windows = 1;
	assert_true(find(&s));
	assert_int_equal(s.found.steady.windows, WINDOWS - 1);
	assert_int_equal(s.found.steady.gain_ns, (int64_t)WINDOWS * 8 * MS);
	assert_true(fabs(s.found.steady.cost_pct - 8) < 1e-9);
	s.group.is_warm = false;
	assert_true(find(&s));
	assert_int_equal(s.found.steady.windows, WINDOWS - 1);
	end(&s);
}

/* Communication takes its time even if no rank is late: what it takes is hidden behind the
 * computation of a late rank, and shows where that is mended. */
TEST_CASE(a_rank_costs_no_more_than_the_others_wait_beside_their_computation_too)
{
	struct scene s;

	begin(&s);
	for (size_t rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < WINDOWS; i++) {
			cell(&s, rank, i)->wait_ns = rank == 3 ? 0 : 5 * MS;
			cell(&s, rank, i)->hidden_wait_ns = rank == 3 ? 0 : 1 * MS;
			if (rank != 3)
				continue;
			cell(&s, rank, i)->class_ns[SWEEP_COMM] -= 8 * MS;
			cell(&s, rank, i)->class_ns[SWEEP_COMPUTE] += 8 * MS;
		}
	/* The others transfer for 5 ms, and rank 3 for 2: so much could be hidden, but for 2. */
	assert_true(find(&s));
	assert_true(fabs(s.found.steady.cost_pct - 6) < 1e-9);
	for (size_t rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < WINDOWS; i++)
			cell(&s, rank, i)->hidden_wait_ns *= 5;
	assert_true(find(&s));
	assert_true(fabs(s.found.steady.cost_pct - 8) < 1e-9);
	end(&s);
}

TEST_CASE(a_rank_costs_no_more_than_all_others_wait_for_it_in_operations)
{
	struct meeting_scene m;

	begin(&m.s);
	m.c.operation_count = 0;
	meet(&m, 1);
	for (size_t i = 0; i < WINDOWS; i++)
		does(&m.s, 3, i, SWEEP_COMPUTE, 8 * MS);
	assert_true(find(&m.s));
	assert_true(fabs(m.s.found.steady.cost_pct - 8) < 1e-9);
	/* Another rank comes to each by chance, 6 ms before it. */
	m.launches[5].start = 19 * MS;
	assert_true(find(&m.s));
	assert_true(fabs(m.s.found.steady.cost_pct - 6) < 1e-9);
	/* Ranks that come no later are not waited for. */
	m.launches[5].start = 25 * MS;
	assert_false(find(&m.s));
	end(&m.s);
}

TEST_CASE(a_step_in_which_hosts_that_are_ahead_wait_is_no_event)
{
	struct meeting_scene m;

	begin(&m.s);
	for (size_t i = 0; i <= WINDOWS; i++)
		m.s.cuts[i] = (int64_t)(i / 7 * 700 + i % 7 * 10) * MS;
	assert_false(find(&m.s));
	assert_int_equal(m.s.found.event.count, 3);
	meet(&m, 7);
	assert_false(find(&m.s));
	assert_null(m.s.found.event.group);
	/* A pause in a step between two meetings is one, and is told of that step. */
	for (size_t i = 10; i <= WINDOWS; i++)
		m.s.cuts[i] += 9000 * (int64_t)MS;
	m.c.operation_count = 0;
	meet(&m, 7);
	(void)find(&m.s);
	assert_ptr_equal(m.s.found.event.group, &m.s.group);
	assert_int_equal(m.s.found.event.longest, 9);
	end(&m.s);
}

/* After four steps some ranks have nothing to do, and run through the others. */
TEST_CASE(steps_in_which_half_of_the_ranks_have_no_work_left_make_no_median)
{
	struct scene s;

	for (size_t done = RANKS / 2 - 1; done <= RANKS / 2; done++) {
		begin(&s);
		for (size_t i = 5; i <= WINDOWS; i++)
			s.cuts[i] = (int64_t)(400 + i - 4) * MS;
		for (size_t rank = 0; rank < RANKS; rank++)
			for (size_t i = 4; i < WINDOWS; i++) {
				*cell(&s, rank, i) = (struct waiting_cell){0};
				cell(&s, rank, i)
					->class_ns[rank < done ? SWEEP_UNKNOWN : SWEEP_COMPUTE] =
					MS;
			}
		assert_false(find(&s));
		assert_int_equal(s.found.event.count, done * 2 < RANKS ? 4 : 0);
		end(&s);
	}
}

/* What bounds the cost bounds that of each kind of steps: they cost all of it together. */
TEST_CASE(the_kinds_of_steps_cost_together_what_the_rank_does)
{
	struct meeting_scene m;
	const struct straggler *found = &m.s.found.steady;
	uint8_t kinds[WINDOWS];

	begin(&m.s);
	m.c.operation_count = 0;
	meet(&m, 1);
	m.s.group.kinds = kinds;
	for (size_t i = 0; i < WINDOWS; i++) {
		kinds[i] = i % 4 ? 1 : 0;
		does(&m.s, 3, i, SWEEP_COMPUTE, kinds[i] ? 6 * MS : 9 * MS);
	}
	/* Another rank comes to each operation 5.5 ms before it. */
	m.launches[5].start = 195 * MS / 10;
	assert_true(find(&m.s));
	assert_true(fabs(found->cost_pct - 5.5) < 1e-9);
	assert_int_equal(found->kind_wall_ns[0], 5 * 100 * MS);
	assert_true(llabs(found->kind_gain_ns[0] - found->gain_ns * 45 / 135) < 3);
	assert_true(llabs(found->kind_gain_ns[0] + found->kind_gain_ns[1] - found->gain_ns) < 3);
	end(&m.s);
}
