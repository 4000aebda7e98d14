// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/steps/period.h"
#include "cli/trace/steps/steps.h"
#include "tests/lib/test.h"
#include "tests/unit/cli/trace/scene.h"

static struct steps *ask(struct scene *scene, struct query *query, const char *regex)
{
	char error[QUERY_ERROR_BYTES];
	struct steps *steps = NULL;

	if (steps_new(scene_trace(scene, query), regex, error, &steps))
		fail_msg("%s %s", error, query_error(query));
	return steps;
}

static void check_step(
	const struct steps_process *process, size_t at, int64_t number, int64_t start, int64_t end)
{
	const struct step *step = process->at + at;

	assert_true(at < process->count);
	if (step->number != number || step->start_ns != start || step->end_ns != end)
		fail_msg("step %zu: %ld from %ld to %ld", at, (long)step->number,
			(long)step->start_ns, (long)step->end_ns);
}

/* The host runs ahead: step 7 begins on the GPU when it has done what step 6 submitted. */
TEST_CASE(a_step_is_when_the_gpu_does_it)
{
	struct query *query;
	struct steps *steps;
	struct scene scene;
	int64_t k, shape;

	scene_begin(&scene);
	scene_process(&scene, 1, 0);
	k = scene_kernel(&scene, "k");
	shape = scene_shape(&scene, 1, 0, 0, k);
	scene_range(&scene, 1, "ProfilerStep#6", 100, 200);
	scene_range(&scene, 1, "step 1 of something within", 120, 130);
	scene_range(&scene, 1, "ProfilerStep#7", 210, 300);
	scene_range(&scene, 1, "ProfilerStep#8", 900, 1000);
	scene_dispatch(&scene, shape, 50, 60, 40);     /* before all steps */
	scene_dispatch(&scene, shape, 150, 400, 150);  /* of 6 */
	scene_dispatch(&scene, shape, 400, 500, 220);  /* of 7 */
	scene_dispatch(&scene, shape, 950, 1100, 910); /* of 8 */
	query = scene_open(&scene);
	steps = ask(&scene, query, NULL);
	assert_int_equal(steps->source, STEPS_MARKERS);
	assert_int_equal(steps->count, 1);
	assert_int_equal(steps->step_count, 3);
	check_step(steps->processes, 0, 6, 100, 400);
	check_step(steps->processes, 1, 7, 400, 500);
	check_step(steps->processes, 2, 8, 900, 1100);
	assert_null(steps_find(steps->processes, 99));
	assert_int_equal(steps_find(steps->processes, 100)->number, 6);
	assert_int_equal(steps_find(steps->processes, 499)->number, 7);
	assert_null(steps_find(steps->processes, 500));
	assert_null(steps_of(steps, 2));
	steps_free_p(&steps);
	scene_end(&scene, &query);
}

TEST_CASE(marks_and_open_ranges_last_until_the_next)
{
	struct query *query;
	struct steps *steps;
	struct scene scene;

	scene_begin(&scene);
	scene_process(&scene, 1, 0);
	scene_process(&scene, 2, 1);
	scene_mark(&scene, 1, "step 3", 100);
	scene_mark(&scene, 1, "step 4", 200);
	scene_range(&scene, 2, "epoch 0", 10, 500);
	scene_range(&scene, 2, "step 9", 100, 150);
	scene_range(&scene, 2, "step 2", 170, SCENE_NONE); /* does not count up */
	scene_dispatch(
		&scene, scene_shape(&scene, 1, 0, 0, scene_kernel(&scene, "k")), 210, 300, 205);
	query = scene_open(&scene);
	steps = ask(&scene, query, NULL);
	check_step(steps_of(steps, 1), 0, 3, 100, 200);
	check_step(steps_of(steps, 1), 1, 4, 200, 300);
	assert_true(steps_of(steps, 1)->at[1].is_open);
	assert_false(steps_of(steps, 1)->at[0].is_open);
	check_step(steps_of(steps, 2), 0, 0, 100, 150);
	check_step(steps_of(steps, 2), 1, 1, 170, 170);
	steps_free_p(&steps);
	steps = ask(&scene, query, "^epoch");
	check_step(steps_of(steps, 2), 0, 0, 10, 500);
	/* Without markers of its own a process has one step. */
	check_step(steps_of(steps, 1), 0, 0, 210, 300);
	steps_free_p(&steps);
	scene_end(&scene, &query);
}

TEST_CASE(bad_patterns_are_one_line)
{
	char error[QUERY_ERROR_BYTES];
	struct steps *steps = NULL;
	struct query *query;
	struct scene scene;

	scene_begin(&scene);
	query = scene_open(&scene);
	assert_int_equal(steps_new(scene_trace(&scene, query), "(", error, &steps), -EINVAL);
	assert_non_null(strstr(error, "--steps (: "));
	assert_int_equal(steps_new(scene_trace(&scene, query), "^none$", error, &steps), -EINVAL);
	assert_non_null(strstr(error, "no roctx range or mark matches"));
	steps = ask(&scene, query, NULL);
	assert_int_equal(steps->source, STEPS_WHOLE);
	assert_int_equal(steps->step_count, 0);
	steps_free_p(&steps);
	scene_end(&scene, &query);
}

/* ---- periods ------------------------------------------------------------------------------ */

#define LAYERS 12

/* A step: 7 0 (1 2 3 1) x LAYERS 4 5 6; 7 waits for the data. */
static size_t put_step(struct period_item *items, size_t at, int64_t *now)
{
	static const int64_t layer[] = {1, 2, 3, 1};
	int64_t ids[2 + 4 * LAYERS + 3];
	size_t n = 0;

	ids[n++] = 7;
	ids[n++] = 0;
	for (size_t i = 0; i < 4 * (size_t)LAYERS; i++)
		ids[n++] = layer[i % 4];
	for (int64_t id = 4; id < 7; id++)
		ids[n++] = id;
	for (size_t i = 0; i < n; i++) {
		*now += i ? 1 : 50;
		items[at + i] = (struct period_item){ids[i], *now, *now + 10};
		*now += 10;
	}
	return at + n;
}

#define STEP_KERNELS (5 + 4 * LAYERS)

TEST_CASE(a_step_is_found_and_not_its_layers)
{
	static struct period_item items[STEP_KERNELS * 40];
	struct period period;
	int64_t now = 0;
	size_t n = 0;

	for (int i = 0; i < 40; i++)
		n = put_step(items, n, &now);
	period_find(items, n, &period);
	assert_int_equal(period.kernels, STEP_KERNELS);
	assert_true(period.confidence > 0.999);
	assert_int_equal(period.first_kernel_id, 7);
	/* Beginning anywhere. */
	period_find(items + 20, n - 31, &period);
	assert_int_equal(period.kernels, STEP_KERNELS);
	assert_int_equal(period.first_kernel_id, 7);
}

TEST_CASE(a_dropped_record_and_a_stray_one_do_not_hide_it)
{
	static struct period_item items[STEP_KERNELS * 40];
	struct period period;
	int64_t now = 0;
	size_t n = 0;

	for (int i = 0; i < 40; i++)
		n = put_step(items, n, &now);
	memmove(items + 700, items + 701, (n - 701) * sizeof(*items));
	n--;
	items[1000].kernel_id = 99;
	period_find(items, n, &period);
	assert_int_equal(period.kernels, STEP_KERNELS);
	assert_true(period.confidence > 0.9 && period.confidence < 1);
	assert_int_equal(period.first_kernel_id, 7);
}

TEST_CASE(what_does_not_repeat_has_no_period)
{
	static struct period_item items[5000];
	uint64_t random = 7;
	struct period period;

	for (size_t i = 0; i < 5000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		items[i] = (struct period_item){
			(int64_t)(random >> 60), (int64_t)i * 10, (int64_t)i * 10 + 5};
	}
	period_find(items, 5000, &period);
	assert_int_equal(period.kernels, 0);
	assert_true(period.confidence < PERIOD_CONFIDENCE_MIN);
	/* One kernel over and over, two in turn, too few, none. */
	for (size_t i = 0; i < 5000; i++)
		items[i].kernel_id = 1;
	period_find(items, 5000, &period);
	assert_int_equal(period.kernels, 0);
	for (size_t i = 0; i < 5000; i++)
		items[i].kernel_id = (int64_t)(i % 5);
	period_find(items, 9, &period);
	assert_int_equal(period.kernels, 0);
	period_find(items, 1, &period);
	period_find(items, 0, &period);
	assert_int_equal(period.kernels, 0);
	period_find(items, 5000, &period);
	assert_int_equal(period.kernels, 5);
}

/* One lane of the database stands for all: each process begins its steps with the same kernel. */
TEST_CASE(without_markers_steps_are_inferred)
{
	struct query *query;
	struct steps *steps;
	struct scene scene;
	int64_t kernels[5];

	scene_begin(&scene);
	for (int k = 0; k < 5; k++) {
		char name[16];

		snprintf(name, sizeof(name), "k%d", k);
		kernels[k] = scene_kernel(&scene, name);
	}
	for (int64_t p = 1; p <= 2; p++) {
		int64_t shapes[5];

		scene_process(&scene, p, p - 1);
		for (int k = 0; k < 5; k++)
			shapes[k] = scene_shape(&scene, p, p - 1, 0, kernels[k]);
		for (int64_t i = 0; i < 20; i++)
			for (int k = 0; k < 5; k++)
				scene_dispatch(&scene, shapes[k], p * 1000000 + i * 100 + k * 10,
					p * 1000000 + i * 100 + k * 10 + 9, SCENE_NONE);
	}
	query = scene_open(&scene);
	steps = ask(&scene, query, NULL);
	assert_int_equal(steps->source, STEPS_INFERRED);
	assert_int_equal(steps->period, 5);
	assert_true(steps->confidence > 0.99);
	assert_int_equal(steps->step_count, 40);
	for (int64_t p = 1; p <= 2; p++) {
		check_step(steps_of(steps, p), 0, 0, p * 1000000, p * 1000000 + 100);
		check_step(steps_of(steps, p), 19, 19, p * 1000000 + 1900, p * 1000000 + 1949);
	}
	steps_free_p(&steps);
	scene_end(&scene, &query);
}

/* The kernel that begins a step runs on another queue as well, and the steps of its own take turns.
 */
TEST_CASE(a_step_begins_on_any_queue_of_the_gpu)
{
	struct query *query;
	struct steps *steps;
	struct scene scene;
	int64_t kernels[5], shapes[2][5], other_gpu;

	scene_begin(&scene);
	scene_process(&scene, 1, 0);
	for (int k = 0; k < 5; k++) {
		char name[16];

		snprintf(name, sizeof(name), "k%d", k);
		kernels[k] = scene_kernel(&scene, name);
		for (int queue = 0; queue < 2; queue++)
			shapes[queue][k] = scene_shape(&scene, 1, 0, queue, kernels[k]);
	}
	/* A GPU beside it begins no steps of the process. */
	other_gpu = scene_shape(&scene, 1, 7, 2, kernels[0]);
	for (int64_t i = 0; i < 20; i++) {
		for (int k = 0; k < 5; k++)
			scene_dispatch(&scene, shapes[i % 2][k], 1000 + i * 100 + k * 10,
				1000 + i * 100 + k * 10 + 9, SCENE_NONE);
		scene_dispatch(
			&scene, other_gpu, 1000 + i * 100 + 45, 1000 + i * 100 + 47, SCENE_NONE);
	}
	query = scene_open(&scene);
	steps = ask(&scene, query, NULL);
	assert_int_equal(steps->source, STEPS_INFERRED);
	assert_int_equal(steps->period, 5);
	assert_int_equal(steps->step_count, 20);
	check_step(steps->processes, 7, 7, 1700, 1800);
	steps_free_p(&steps);
	scene_end(&scene, &query);
}

/* Two threads submit to queues of their own, now one first, now the other: then the queue with most
 * of the kernels tells, and what the other one has of the same kernel begins nothing. */
TEST_CASE(without_an_order_between_queues_one_queue_tells)
{
	struct query *query;
	struct steps *steps;
	struct scene scene;
	int64_t shapes[5], beside = 0;
	uint32_t random = 1;

	scene_begin(&scene);
	scene_process(&scene, 1, 0);
	for (int k = 0; k < 5; k++) {
		char name[16];
		int64_t kernel;

		snprintf(name, sizeof(name), "k%d", k);
		kernel = scene_kernel(&scene, name);
		shapes[k] = scene_shape(&scene, 1, 0, 0, kernel);
		if (!k)
			beside = scene_shape(&scene, 1, 0, 1, kernel);
	}
	for (int64_t i = 0; i < 40; i++)
		for (int k = 0; k < 5; k++) {
			scene_dispatch(&scene, shapes[k], 1000 + i * 100 + k * 10,
				1000 + i * 100 + k * 10 + 9, SCENE_NONE);
			random = random * 1103515245 + 12345;
			if (random >> 16 & 1)
				scene_dispatch(&scene, beside, 1005 + i * 100 + k * 10,
					1005 + i * 100 + k * 10 + 3, SCENE_NONE);
		}
	query = scene_open(&scene);
	steps = ask(&scene, query, NULL);
	assert_int_equal(steps->source, STEPS_INFERRED);
	assert_int_equal(steps->period, 5);
	assert_int_equal(steps->step_count, 40);
	steps_free_p(&steps);
	scene_end(&scene, &query);
}

/* Short loops have many of them. */
TEST_CASE(more_than_20000_steps_are_steps)
{
	struct query *query;
	struct steps *steps;
	struct scene scene;
	int64_t shapes[3];

	scene_begin(&scene);
	scene_process(&scene, 1, 0);
	for (int k = 0; k < 3; k++) {
		char name[16];

		snprintf(name, sizeof(name), "k%d", k);
		shapes[k] = scene_shape(&scene, 1, 0, 0, scene_kernel(&scene, name));
	}
	for (int64_t i = 0; i < 20500; i++)
		for (int k = 0; k < 3; k++)
			scene_dispatch(&scene, shapes[k], 1000 + i * 30 + k * 10,
				1000 + i * 30 + k * 10 + 9, SCENE_NONE);
	query = scene_open(&scene);
	steps = ask(&scene, query, NULL);
	assert_int_equal(steps->source, STEPS_INFERRED);
	assert_int_equal(steps->step_count, 20500);
	steps_free_p(&steps);
	scene_end(&scene, &query);
}
