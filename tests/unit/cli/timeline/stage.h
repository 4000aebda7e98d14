/* SPDX-License-Identifier: MIT */
#pragma once
/* A scene of one rank, and the time line of it. Failures fail the test. */
#include "cli/timeline/timeline.h"
#include "tests/unit/cli/trace/scene.h"

#define GEMM "Cijk_Ailk_Bljk_HHS"
#define RING "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
#define HALF "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL"
#define SOME "ncclDevKernel_Generic_1"
#define COPY "__amd_rocclr_copyBuffer"

/* A scene with a rank 0 on GPU 0 that has a shape of each kind; queue 0 computes. */
struct stage {
	struct scene scene;
	struct query *query;
	struct timeline *timeline;
	struct timeline_options options;
	int64_t gemm, ring, half, some, copy;
};

/* A test that has a stage as s, which has begun and is ended behind it. */
#define STAGE_CASE(claim) TEST_CASE_WITH(claim, stage_setup, stage_teardown, struct stage *s)
int stage_setup(void **state);
int stage_teardown(void **state);

void stage_begin(struct stage *s);
/* Again with other options, too. */
void stage_ask(struct stage *s);
void stage_end(struct stage *s);

const struct breakdown_row *stage_row(const struct stage *s, size_t lane, size_t step);
/* wall, computation, exposed communication, exposed copies, idle. */
void stage_check(const struct breakdown_row *r, uint64_t wall, uint64_t compute, uint64_t comm,
	uint64_t copies, uint64_t idle);
