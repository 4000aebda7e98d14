// SPDX-License-Identifier: MIT
#include "tests/unit/cli/timeline/stage.h"

#include <inttypes.h>

#include "tests/lib/test.h"

void stage_begin(struct stage *s)
{
	*s = (struct stage){.options = {.micro_idle_ns = BREAKDOWN_MICRO_IDLE_NS}};
	scene_begin(&s->scene);
	scene_process(&s->scene, 1, 0);
	s->gemm = scene_shape(&s->scene, 1, 0, 0, scene_kernel(&s->scene, GEMM));
	s->ring = scene_shape(&s->scene, 1, 0, 1, scene_kernel(&s->scene, RING));
	s->half = scene_shape(&s->scene, 1, 0, 1, scene_kernel(&s->scene, HALF));
	s->some = scene_shape(&s->scene, 1, 0, 1, scene_kernel(&s->scene, SOME));
	s->copy = scene_shape(&s->scene, 1, 0, 0, scene_kernel(&s->scene, COPY));
}

void stage_ask(struct stage *s)
{
	char error[QUERY_ERROR_BYTES];

	if (!s->query)
		s->query = scene_open(&s->scene);
	timeline_free_p(&s->timeline);
	if (timeline_new(scene_trace(&s->scene, s->query), &s->options, error, &s->timeline))
		fail_msg("%s %s", error, query_error(s->query));
}

void stage_end(struct stage *s)
{
	timeline_free_p(&s->timeline);
	scene_end(&s->scene, &s->query);
}

const struct breakdown_row *stage_row(const struct stage *s, size_t lane, size_t step)
{
	assert_true(lane < s->timeline->lane_count);
	assert_true(step < s->timeline->lanes[lane].process->count);
	assert_true(breakdown_holds(s->timeline->lanes[lane].rows + step));
	return s->timeline->lanes[lane].rows + step;
}

void stage_check(const struct breakdown_row *r, uint64_t wall, uint64_t compute, uint64_t comm,
	uint64_t copies, uint64_t idle)
{
	if (r->wall_ns != wall || r->stream_ns[BREAKDOWN_COMPUTE] != compute ||
		r->exposed_communication_ns != comm || r->exposed_copy_ns != copies ||
		breakdown_idle_ns(r) != idle)
		fail_msg("wall %" PRIu64 " compute %" PRIu64 " comm %" PRIu64 " copy %" PRIu64
			 " idle %" PRIu64,
			r->wall_ns, r->stream_ns[BREAKDOWN_COMPUTE], r->exposed_communication_ns,
			r->exposed_copy_ns, breakdown_idle_ns(r));
}

int stage_setup(void **state)
{
	static struct stage stage;

	stage_begin(&stage);
	*state = &stage;
	return 0;
}

int stage_teardown(void **state)
{
	stage_end(*state);
	return 0;
}
