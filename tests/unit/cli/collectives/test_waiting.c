// SPDX-License-Identifier: MIT
/* What windows the time of several ranks is cut into. */
#include <string.h>

#include "cli/collectives/waiting.h"
#include "tests/lib/test.h"
#include "tests/unit/cli/trace/scene.h"

#define TIMES 12

/* Two ranks compute and reduce TIMES times, for 100 ns each. */
static const struct trace *begin(struct scene *scene, struct query **query)
{
	int64_t gemm, reduction;

	scene_begin(scene);
	gemm = scene_kernel(scene, "gemm");
	reduction = scene_kernel(scene, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	for (int64_t rank = 0; rank < 2; rank++) {
		int64_t computes, reduces;

		scene_process(scene, rank + 1, rank);
		computes = scene_shape(scene, rank + 1, rank, 0, gemm);
		reduces = scene_shape(scene, rank + 1, rank, 0, reduction);
		for (int64_t i = 0; i < TIMES; i++) {
			int64_t at = 10000 + i * 100;

			scene_dispatch(scene, computes, at, at + 50, at);
			scene_dispatch(scene, reduces, at + 50, at + 90, at);
		}
	}
	*query = scene_open(scene);
	return scene_trace(scene, *query);
}

/* Both ranks warm up long before their first step. */
static struct steps make_steps(struct steps_process processes[2], struct step *at, size_t count)
{
	for (size_t i = 0; i < 2; i++)
		processes[i] = (struct steps_process){.process_id = (int64_t)i + 1,
			.has_events = true,
			.first_ns = 1000,
			.last_ns = 12000,
			.at = at,
			.count = count};
	return (struct steps){.source = STEPS_INFERRED,
		.processes = processes,
		.count = 2,
		.step_count = 2 * count};
}

TEST_CASE(ranks_are_warm_before_steps_alone)
{
	struct scene scene;
	struct query *query;
	const struct trace *trace = begin(&scene, &query);
	struct steps_process processes[2];
	/* The last ends when it begins: there is one window of steps, or there are two. */
	struct step at[] = {
		{.number = 0, .start_ns = 10000, .end_ns = 10600},
		{.number = 1, .start_ns = 10600, .end_ns = 11200},
		{.number = 2, .start_ns = 11200, .end_ns = 11200},
	};

	for (size_t count = 3; count >= 2; count--) {
		CLEANUP(collectives_free_p) struct collectives *c = NULL;
		CLEANUP(waiting_free_p) struct waiting *w = NULL;
		struct collectives_filter all = {0};
		struct steps steps = make_steps(processes, at, count);

		if (count == 2)
			at[1].end_ns = at[1].start_ns;
		assert_int_equal(collectives_new(trace, &all, &c), 0);
		assert_int_equal(waiting_new(trace, c, &steps, &w), 0);
		assert_int_equal(w->group_count, 1);
		assert_int_equal(
			w->groups->source, count == 3 ? WAITING_BY_STEPS : WAITING_BY_COLLECTIVES);
		assert_int_equal(w->groups->windows, count == 3 ? 2 : TIMES - 1);
		/* Windows between collectives begin with the one that warms up. */
		assert_int_equal(w->groups->is_warm, count == 3);
	}
	scene_end(&scene, &query);
}
