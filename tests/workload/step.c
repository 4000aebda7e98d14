// SPDX-License-Identifier: MIT
#include "tests/workload/step.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/workload/collectives.h"
#include "tests/workload/queue.h"
#include "tests/workload/stamp.h"
#include "tests/workload/talk.h"
#include "tests/workload/verify.h"

/* --cause late-host and others: what a batch is late; three times what a step takes. */
#define STEP_LATE_NS	   40000000
/* --cause checkpoint: how long its rank does nothing else: longer than a busy machine stalls. */
#define STEP_SAVE_NS	   4000000000
/* --cause compile: how long all ranks do nothing else in each of the first steps. */
#define STEP_COMPILE_NS	   1500000000
#define STEP_COMPILE_STEPS 3
/* --cause launch-bound: launches a step, and what the host does for each; more than they take. */
#define STEP_LAUNCHES	   200
#define STEP_LAUNCH_NS	   30000

struct step_run {
	const struct options *opt;
	const struct model *model;
	struct producer producer[MODEL_QUEUES];
	hsa_signal_t *event;
	struct stamp stamp;
	int (*range_push)(const char *name);
	int (*range_pop)(void);
};

/* If a tracer's library exports roctx, it gets the ranges. */
static void step_find_roctx(struct step_run *run)
{
	*(void **)&run->range_push = dlsym(RTLD_DEFAULT, "roctxRangePushA");
	*(void **)&run->range_pop = dlsym(RTLD_DEFAULT, "roctxRangePop");
}

static void step_push(const struct step_run *run, const char *name)
{
	if (run->range_push)
		run->range_push(name);
}

static void step_pop(const struct step_run *run)
{
	if (run->range_pop)
		run->range_pop();
}

static int step_copy(struct step_run *run, const struct model_op *op)
{
	const struct model *m = run->model;
	size_t bytes = m->batch_bytes / (size_t)m->pieces, at = (size_t)op->piece * bytes;

	if (op->kind == MODEL_COPY_IN)
		GPU_TRY(hsa_amd_memory_async_copy, (char *)m->batch + at, m->gpu->agent,
			(char *)m->batch_host + at, m->gpu->cpu, bytes, op->dep ? 1 : 0,
			op->dep ? &run->event[op->dep] : NULL, run->event[op->event]);
	else
		GPU_TRY(hsa_amd_memory_async_copy, m->loss_host, m->gpu->cpu, m->logits,
			m->gpu->agent, m->loss_bytes, 1, &run->event[op->dep],
			run->event[op->event]);
	return 0;
}

static int step_do(struct step_run *run, const struct model_op *op, bool is_later)
{
	struct producer *producer = &run->producer[op->queue];
	const hsa_signal_t none = {0};

	switch (op->kind) {
	case MODEL_DISPATCH:
		if (op->queue == MODEL_COMM)
			return collectives_launch(producer, &op->packet, stamp_next(&run->stamp));
		queue_dispatch(producer, is_later && op->has_later ? &op->later : &op->packet,
			stamp_next(&run->stamp));
		return 0;
	case MODEL_RECORD:
		queue_barrier(producer, none, run->event[op->event]);
		return 0;
	case MODEL_WAIT:
		queue_barrier(producer, run->event[op->event], none);
		return 0;
	case MODEL_COPY_IN:
	case MODEL_COPY_OUT:
		return step_copy(run, op);
	case MODEL_PUSH:
		step_push(run, op->name);
		return 0;
	case MODEL_POP:
		step_pop(run);
		return 0;
	}
	return -EINVAL;
}

static int step_submit(struct step_run *run, int step, bool hangs)
{
	const struct model *m = run->model;
	char name[32];
	int r = 0;

	for (int i = 0; i < m->events; i++)
		hsa_signal_store_relaxed(run->event[i], 1);
	memset(m->batch_host, step & 0xff, m->batch_bytes);
	snprintf(name, sizeof(name), "step %d", step);
	step_push(run, name);
	for (size_t i = 0; !r && i < m->ops; i++) {
		/* Last on the compute queue, so that the step never ends. */
		if (hangs && m->op[i].kind == MODEL_RECORD && m->op[i].event == MODEL_DONE)
			queue_dispatch(&run->producer[MODEL_COMPUTE], &m->hang, (hsa_signal_t){0});
		r = step_do(run, &m->op[i], step >= run->opt->steps / 2);
	}
	step_pop(run);
	return r;
}

/* For a batch that its loader has not ready in time, or until something is saved. */
static void step_wait_for_batch(const struct options *opt, int rank, int step)
{
	struct timespec left;
	int64_t ns = 0;

	switch (opt->cause) {
	case CAUSE_LATE_HOST:
		ns = STEP_LATE_NS;
		break;
	case CAUSE_LATE_RANK:
		ns = rank == 1 ? STEP_LATE_NS : 0;
		break;
	case CAUSE_LATE_IN_TURN:
		ns = rank == 1 + step % 2 ? STEP_LATE_NS : 0;
		break;
	case CAUSE_COMPILE:
		ns = step < STEP_COMPILE_STEPS ? STEP_COMPILE_NS : 0;
		break;
	case CAUSE_CHECKPOINT:
		ns = rank == 0 && step == opt->steps / 2 ? STEP_SAVE_NS : 0;
		break;
	default:
		return;
	}
	left = (struct timespec){ns / 1000000000, ns % 1000000000};
	while (nanosleep(&left, &left))
		;
}

/* Takes the processor time that a framework needs on the host for each launch. */
static void step_prepare_launch(void)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec <
		STEP_LAUNCH_NS);
}

/* Short kernels, each submitted only when the one before has ended. */
static int step_launch_each(struct step_run *run, int step)
{
	const hsa_signal_t none = {0};
	char name[32];

	snprintf(name, sizeof(name), "step %d", step);
	step_push(run, name);
	for (int i = 0; i < STEP_LAUNCHES; i++) {
		struct producer *producer = &run->producer[MODEL_COMPUTE];

		hsa_signal_store_relaxed(run->event[MODEL_DONE], 1);
		step_prepare_launch();
		queue_dispatch(producer, &run->model->storm[i % 3], stamp_next(&run->stamp));
		queue_barrier(producer, none, run->event[MODEL_DONE]);
		gpu_wait(run->event[MODEL_DONE]);
	}
	step_pop(run);
	return 0;
}

static int step_open(struct step_run *run, struct board_count *count)
{
	int events = run->model->events;

	run->event = calloc((size_t)events, sizeof(*run->event));
	if (!run->event)
		return -ENOMEM;
	for (int i = 0; i < events; i++)
		GPU_TRY(hsa_signal_create, 1, 0, NULL, &run->event[i]);
	for (int q = 0; q < MODEL_QUEUES; q++) {
		int r = queue_open(run->model->gpu, run->opt->queue_size, &run->producer[q].queue);

		if (r)
			return r;
		run->producer[q].count = count;
	}
	step_find_roctx(run);
	return stamp_open(
		run->model->gpu, run->opt->signal_every, run->opt->signal_shared, &run->stamp);
}

static void step_close(struct step_run *run)
{
	collectives_close();
	stamp_close(&run->stamp);
	if (run->opt->signal_every || run->opt->signal_shared)
		talk("own signals=%llu timed=%llu", (unsigned long long)run->stamp.used,
			(unsigned long long)run->stamp.timed);
	for (int q = 0; q < MODEL_QUEUES; q++)
		hsa_queue_destroy(run->producer[q].queue);
	for (int i = 0; i < run->model->events; i++)
		hsa_signal_destroy(run->event[i]);
	free(run->event);
}

int step_run_all(
	const struct options *opt, const struct model *model, struct board *board, int rank)
{
	/* Outlives this call when --no-wait leaves kernels in flight. */
	static struct step_run run;
	struct timespec from, to;
	int r;

	run = (struct step_run){.opt = opt, .model = model};
	r = step_open(&run, &board->rank[rank].count[0]);

	if (!r)
		r = collectives_open(model->code, board, rank);
	if (!r && opt->steps)
		r = verify_run(model, &run.producer[MODEL_COMPUTE]);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int step = 0; !r && step < opt->steps; step++) {
		bool hangs = step == opt->hang_at && options_hits(opt, rank);

		step_wait_for_batch(opt, rank, step);
		r = opt->cause == CAUSE_LAUNCH_BOUND ? step_launch_each(&run, step)
						     : step_submit(&run, step, hangs);
		if (r || (opt->no_wait && step == opt->steps - 1))
			return r;
		if (opt->cause != CAUSE_LAUNCH_BOUND)
			gpu_wait(run.event[MODEL_LOSS]);
		gpu_wait(run.event[MODEL_DONE]);
		board_meet(board, rank, step + 1);
	}
	if (r)
		return r;
	clock_gettime(CLOCK_MONOTONIC, &to);
	if (opt->verbose && opt->steps)
		talk("%d steps, %.3f ms/step", opt->steps,
			((double)(to.tv_sec - from.tv_sec) * 1e3 +
				(double)(to.tv_nsec - from.tv_nsec) / 1e6) /
				opt->steps);
	step_close(&run);
	return 0;
}
