// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectord/ingest/process/ranks.h"
#include "tests/lib/test.h"

#define NONE  (-1)
#define ALIVE INT64_MAX

/* A process, -1: not known. Ancestors are letters, itself first. */
struct process_row {
	int64_t start, end, gpu, declared, world, attempt, comm, comm_rank, comm_size;
	const char *ancestors;
	int64_t rank, group_rank;
	char group; /* those of one letter are one group; 0: none */
};

#define ROWS_MAX 16

struct scene {
	const char *claim;
	struct process_row rows[ROWS_MAX];
};

#define PLAIN(start, gpu, declared, world, ancestors, rank)                                        \
	{                                                                                          \
		start, ALIVE, gpu, declared, world, NONE, NONE, NONE, NONE, ancestors, rank, NONE, \
			0                                                                          \
	}

static const struct scene scenes[] = {
	{"ranks of one job keep them, and are in no group",
		{PLAIN(1, 0, 0, 2, "ax", 0), PLAIN(1, 1, 1, 2, "bx", 1)}},
	{"a process that says nothing has no rank", {PLAIN(1, 0, NONE, NONE, "ax", NONE)}},
	{"the communicator has a rank that the environment does not declare",
		{{1, ALIVE, 0, NONE, NONE, NONE, 7, 3, 8, "ax", 3, 3, 'A'}}},
	{"a rank that is said stands before the communicator's, where their worlds agree",
		{{1, ALIVE, 0, 5, 8, NONE, 7, 3, 8, "ax", 5, 3, 'A'}}},
	{"a world that is smaller than the communicator is not the job's",
		{{1, ALIVE, 0, 0, 1, NONE, 7, 3, 8, "ax", 3, 3, 'A'}}},
	{"of several ranks of such a communicator in one process none is its rank",
		{{1, ALIVE, 0, 0, 1, NONE, 7, NONE, 8, "ax", NONE, NONE, 'A'}}},
	{"ranks of one communicator that were all told the same have the communicator's",
		{{1, ALIVE, 0, 0, NONE, NONE, 7, 0, 2, "ax", 0, 0, 'A'},
			{1, ALIVE, 1, 0, NONE, NONE, 7, 1, 2, "bx", 1, 1, 'A'}}},
	{"two communicators with the same ranks are two replicas",
		{{1, ALIVE, 0, NONE, NONE, NONE, 7, 0, 2, "ax", NONE, 0, 'A'},
			{1, ALIVE, 1, NONE, NONE, NONE, 7, 1, 2, "bx", NONE, 1, 'A'},
			{1, ALIVE, 2, NONE, NONE, NONE, 8, 0, 2, "cx", NONE, 0, 'B'},
			{1, ALIVE, 3, NONE, NONE, NONE, 8, 1, 2, "dx", NONE, 1, 'B'}}},
	{"of a larger replica no rank is the job's, either",
		{{1, ALIVE, 0, NONE, NONE, NONE, 7, 0, 2, "ax", NONE, 0, 'A'},
			{1, ALIVE, 1, NONE, NONE, NONE, 7, 1, 2, "bx", NONE, 1, 'A'},
			{1, ALIVE, 2, NONE, NONE, NONE, 8, 0, 1, "cx", NONE, 0, 'B'}}},
	{"replicas without a communicator are the engines around them",
		{{1, ALIVE, 0, 0, 2, NONE, NONE, NONE, NONE, "apx", NONE, 0, 'A'},
			{1, ALIVE, 1, 1, 2, NONE, NONE, NONE, NONE, "bpx", NONE, 1, 'A'},
			{1, ALIVE, 2, 0, 2, NONE, NONE, NONE, NONE, "cqx", NONE, 0, 'B'},
			{1, ALIVE, 3, 1, 2, NONE, NONE, NONE, NONE, "dqx", NONE, 1, 'B'}}},
	{"an engine with a script around each rank is still one",
		{{1, ALIVE, 0, 0, 2, NONE, NONE, NONE, NONE, "aspx", NONE, 0, 'A'},
			{1, ALIVE, 1, 1, 2, NONE, NONE, NONE, NONE, "btpx", NONE, 1, 'A'},
			{1, ALIVE, 2, 0, 2, NONE, NONE, NONE, NONE, "cuqx", NONE, 0, 'B'}}},
	{"replicas of one process each are groups of one",
		{{1, ALIVE, 0, 0, 1, NONE, NONE, NONE, NONE, "ax", NONE, 0, 'A'},
			{1, ALIVE, 1, 0, 1, NONE, NONE, NONE, NONE, "bx", NONE, 0, 'B'}}},
	{"one that says there are others, and stands alone, is in no group",
		{{1, ALIVE, 0, 0, 4, NONE, NONE, NONE, NONE, "ax", NONE, 0, 0},
			{1, ALIVE, 1, 0, 4, NONE, NONE, NONE, NONE, "bx", NONE, 0, 0}}},
	{"processes of one rank on one GPU are no replicas",
		{PLAIN(1, 0, 0, 2, "ax", 0), PLAIN(1, 0, 0, 2, "bx", 0)}},
	{"a rank that comes when the one before has ended is no replica of it",
		{{1, 5, 0, 0, 2, NONE, NONE, NONE, NONE, "ax", 0, NONE, 0},
			PLAIN(5, 1, 0, 2, "bx", 0)}},
	{"nor is a restart that comes a moment before that is seen",
		{{1, 5, 0, 0, 2, 0, NONE, NONE, NONE, "ax", 0, NONE, 0},
			{4, ALIVE, 1, 0, 2, 1, NONE, NONE, NONE, "bx", 0, NONE, 0}}},
	{"a helper that a rank has started on another GPU is of that rank",
		{PLAIN(1, 1, 1, 2, "ax", 1), PLAIN(2, 0, 1, 2, "bax", 1)}},
	{"a process without a GPU contests no rank",
		{PLAIN(1, 0, 0, 2, "ax", 0), PLAIN(1, NONE, 0, 2, "bx", 0)}},
};

/* Here the results of processes that have ended are final. */
static const struct scene final_scenes[] = {
	{"a process that ended long ago contests by its rank, not by what it was told",
		{{1, 5, 0, 0, NONE, NONE, 7, 1, 2, "ax", 1, 1, 'A'}, PLAIN(3, 1, 0, 1, "bx", 0)}},
	{"a replica that ended long ago is one, though the other is not compared any more",
		{{1, 5, 0, 0, 1, NONE, NONE, NONE, NONE, "ax", NONE, 0, 'A'},
			PLAIN(6, 1, 0, 1, "bx", 0)}},
	{"a replica of one that ended long ago is one, and the first keeps its group",
		{{1, 5, 0, 0, 1, NONE, NONE, NONE, NONE, "ax", NONE, 0, 'A'},
			{3, ALIVE, 1, 0, 1, NONE, NONE, NONE, NONE, "bx", NONE, 0, 'B'}}},
};

static struct rank_number_of number(int64_t value)
{
	return (struct rank_number_of){value != NONE, value};
}

static int64_t value_of(struct rank_number_of number)
{
	return number.is_known ? number.value : NONE;
}

static size_t fill(const struct scene *scene, bool has_finals, struct rank_claim claims[ROWS_MAX])
{
	size_t count = 0;

	for (; count < ROWS_MAX && scene->rows[count].ancestors; count++) {
		const struct process_row *row = &scene->rows[count];
		struct rank_claim *claim = &claims[count];

		*claim = (struct rank_claim){
			.process_id = (int64_t)count + 1,
			.start_ns = row->start,
			.end_ns = row->end,
			.declared = number(row->declared),
			.world_size = number(row->world),
			.attempt = number(row->attempt),
			.comm = number(row->comm),
			.comm_rank = number(row->comm_rank),
			.comm_size = number(row->comm_size),
			.gpus = row->gpu == NONE ? 0 : 1ull << row->gpu,
		};
		if (has_finals && row->end != ALIVE) {
			claim->is_final = true;
			claim->rank = number(row->rank);
			claim->group_rank = number(row->group_rank);
			claim->group = number(row->group);
		}
		for (const char *at = row->ancestors; *at; at++)
			claim->ancestors[claim->n_ancestors++] = (uint64_t)*at;
	}
	return count;
}

static void check_groups(const struct scene *scene, const struct rank_claim *claims, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (claims[i].group.is_known != (scene->rows[i].group != 0))
			fail_msg("%s: process %zu: group", scene->claim, i);
		for (size_t k = 0; k < i; k++)
			if (claims[i].group.is_known && claims[k].group.is_known &&
				(claims[i].group.value == claims[k].group.value) !=
					(scene->rows[i].group == scene->rows[k].group))
				fail_msg("%s: processes %zu and %zu: groups", scene->claim, k, i);
	}
}

static void check_scenes(const struct scene *all, size_t scene_count, bool has_finals)
{
	for (size_t s = 0; s < scene_count; s++) {
		const struct scene *scene = &all[s];
		struct rank_claim claims[ROWS_MAX];
		size_t count = fill(scene, has_finals, claims);

		assert_int_equal(ranks_resolve(claims, count), 0);
		for (size_t i = 0; i < count; i++)
			if (value_of(claims[i].rank) != scene->rows[i].rank ||
				value_of(claims[i].group_rank) != scene->rows[i].group_rank)
				fail_msg("%s: process %zu: rank %lld, group_rank %lld",
					scene->claim, i, (long long)value_of(claims[i].rank),
					(long long)value_of(claims[i].group_rank));
		check_groups(scene, claims, count);
	}
}

TEST_CASE(each_scene_has_its_ranks_and_groups)
{
	check_scenes(scenes, sizeof(scenes) / sizeof(scenes[0]), false);
}

TEST_CASE(a_final_result_stays_and_is_compared)
{
	check_scenes(final_scenes, sizeof(final_scenes) / sizeof(final_scenes[0]), true);
}

/* A second search finds the same ranks: results do not count as claims. */
TEST_CASE(a_second_look_finds_the_same)
{
	for (size_t s = 0; s < sizeof(scenes) / sizeof(scenes[0]); s++) {
		struct rank_claim claims[ROWS_MAX], again[ROWS_MAX];
		size_t count = fill(&scenes[s], false, claims);

		assert_int_equal(ranks_resolve(claims, count), 0);
		memcpy(again, claims, sizeof(again));
		assert_int_equal(ranks_resolve(again, count), 0);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(value_of(again[i].rank), value_of(claims[i].rank));
			assert_int_equal(value_of(again[i].group), value_of(claims[i].group));
		}
	}
}

TEST_CASE(as_many_processes_as_are_compared_are_compared)
{
	struct rank_claim *claims = calloc(RANKS_COMPARED_MAX, sizeof(*claims));

	assert_non_null(claims);
	for (unsigned i = 0; i < RANKS_COMPARED_MAX; i++) {
		claims[i] = (struct rank_claim){.process_id = i + 1,
			.end_ns = ALIVE,
			.declared = number(0),
			.gpus = 1ull << i % 64,
			.n_ancestors = RANKS_ANCESTORS_MAX};
		for (unsigned a = 0; a < RANKS_ANCESTORS_MAX; a++)
			claims[i].ancestors[a] = a < 2 ? 1000 * (i + 1) + a : a;
	}
	assert_int_equal(ranks_resolve(claims, RANKS_COMPARED_MAX), 0);
	for (unsigned i = 0; i < RANKS_COMPARED_MAX; i++) {
		assert_false(claims[i].rank.is_known);
		assert_int_equal(claims[i].group.value, 1000 * (i + 1) + 1);
	}
	free(claims);
}

TEST_CASE(ancestors_begin_with_the_process_and_its_parent)
{
	char text[RANKS_ANCESTORS_BYTES], own[32], parent[32];

	ranks_read_ancestors(getpid(), 0, text);
	snprintf(own, sizeof(own), "%d.", (int)getpid());
	snprintf(parent, sizeof(parent), ",%d.", (int)getppid());
	assert_int_equal(strncmp(text, own, strlen(own)), 0);
	assert_ptr_equal(strchr(text, ','), strstr(text, parent));
	ranks_read_ancestors(getpid(), 1, text); /* the pid of another process, by then */
	assert_string_equal(text, "");
}
