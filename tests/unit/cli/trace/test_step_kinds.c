// SPDX-License-Identifier: MIT
#include <string.h>

#include "cli/trace/steps/step_kinds.h"
#include "tests/lib/test.h"
#include "tests/unit/cli/trace/scene.h"

struct fixture {
	struct scene scene;
	struct query *query;
	struct steps *steps;
	struct step_kinds *kinds;
	int64_t now;
};

static void begin(struct fixture *f)
{
	*f = (struct fixture){.now = 1000};
	scene_begin(&f->scene);
	scene_process(&f->scene, 1, 0);
}

/* A shape of a grid of its own. */
static int64_t shape(struct fixture *f, int64_t kernel, int grid)
{
	int64_t id = scene_shape(&f->scene, 1, 0, 0, kernel);

	scene_sql(&f->scene, "UPDATE rtl_shape SET gridX=%d WHERE id=%lld", grid, (long long)id);
	return id;
}

/* @count launches of each shape, 10 ns each. */
static void step(struct fixture *f, const char *text, const int64_t *shapes, size_t n, int count)
{
	int64_t start = f->now;

	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < count; k++, f->now += 10)
			scene_dispatch(&f->scene, shapes[i], f->now, f->now + 9, f->now);
	scene_range(&f->scene, 1, text, start, f->now);
}

static void find(struct fixture *f)
{
	char error[QUERY_ERROR_BYTES];
	const struct trace *trace;

	f->query = scene_open(&f->scene);
	trace = scene_trace(&f->scene, f->query);
	assert_int_equal(steps_new(trace, "^(train|eval|step)", error, &f->steps), 0);
	assert_int_equal(step_kinds_new(trace, f->steps, &f->kinds), 0);
}

static void end(struct fixture *f)
{
	step_kinds_free_p(&f->kinds);
	steps_free_p(&f->steps);
	scene_end(&f->scene, &f->query);
}

TEST_CASE(steps_that_launch_the_same_are_of_one_kind)
{
	struct fixture f;
	int64_t shapes[3];
	char text[32];

	begin(&f);
	for (int i = 0; i < 3; i++)
		shapes[i] =
			shape(&f, scene_kernel(&f.scene, (const char *[]){"a", "b", "c"}[i]), 64);
	for (int i = 0; i < 12; i++) {
		bool is_eval = i % 4 == 3;

		snprintf(text, sizeof(text), "%s %d", is_eval ? "eval" : "train", i);
		/* One launch more or less in ten makes no other kind. */
		step(&f, text, shapes, is_eval ? 1 : 3, 10 + (i == 5));
	}
	find(&f);
	assert_int_equal(f.kinds->count, 2);
	assert_int_equal(f.kinds->at[0].steps, 9);
	assert_int_equal(f.kinds->at[1].steps, 3);
	assert_string_equal(f.kinds->at[0].name, "train");
	assert_string_equal(f.kinds->at[1].name, "eval");
	assert_int_equal(f.kinds->at[1].launches, 30);
	assert_int_equal(f.kinds->at[1].median_ns, 100);
	for (int i = 0; i < 12; i++)
		assert_int_equal(f.kinds->of_process[0][i], i % 4 == 3);
	end(&f);
}

TEST_CASE(batches_of_another_size_are_of_another_kind)
{
	struct fixture f;
	int64_t kernel, shapes[2];

	begin(&f);
	kernel = scene_kernel(&f.scene, "gemm");
	shapes[0] = shape(&f, kernel, 64);
	shapes[1] = shape(&f, kernel, 4096);
	for (int i = 0; i < 12; i++)
		step(&f, "step", shapes + (i % 2), 1, 10 * (i % 2 + 1));
	find(&f);
	assert_int_equal(f.kinds->count, 2);
	assert_int_equal(f.kinds->at[0].steps, 6);
	assert_int_equal(f.kinds->of_process[0][1], 0); /* the one with most time */
	assert_int_equal(f.kinds->of_process[0][0], 1);
	/* 20 launches a step against 10, of another grid; of the same kernel. */
	assert_true(step_kinds_similarity(f.kinds->at, f.kinds->at) == 100);
	assert_true(step_kinds_similarity(f.kinds->at, f.kinds->at + 1) == 0);
	f.kinds->at[1].is_by_name = true;
	assert_true(step_kinds_similarity(f.kinds->at, f.kinds->at + 1) == 50);
	/* Both have the same markers: the text tells neither. */
	assert_string_equal(f.kinds->at[0].name, "");
	end(&f);
}

/* Sequences of any length: each step has a grid of its own. */
TEST_CASE(where_every_grid_differs_names_tell)
{
	struct fixture f;
	int64_t train, eval;

	begin(&f);
	train = scene_kernel(&f.scene, "train");
	eval = scene_kernel(&f.scene, "eval");
	for (int i = 0; i < 12; i++) {
		int64_t own = shape(&f, i % 4 == 3 ? eval : train, 100 + i);

		step(&f, "step", &own, 1, 10);
	}
	find(&f);
	assert_int_equal(f.kinds->count, 2);
	assert_int_equal(f.kinds->at[0].steps, 9);
	end(&f);
}

TEST_CASE(where_no_two_steps_are_alike_there_is_one_kind)
{
	struct fixture f;
	char name[16];

	begin(&f);
	for (int i = 0; i < 12; i++) {
		int64_t own;

		snprintf(name, sizeof(name), "k%d", i);
		own = shape(&f, scene_kernel(&f.scene, name), 64);
		step(&f, "step", &own, 1, 10);
	}
	find(&f);
	assert_int_equal(f.kinds->count, 1);
	assert_int_equal(f.kinds->at[0].steps, 12);
	end(&f);
}
