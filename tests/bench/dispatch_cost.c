// SPDX-License-Identifier: MIT
/*
 * dispatch-cost ROUNDS cpu|wall|apart SIGNALS [DISPATCHES]: dispatches short kernels in rounds, and
 * prints four numbers: the ns per dispatch of the median round and of the quickest one, those of
 * the median of the rounds in which this thread never slept, and the number of these (0 0: there
 * was none).
 *
 * A round fills half of a ring of 16,384 packets, so that the thread never waits for room. Its
 * kernels have ended before the next round begins. Without signals a pause follows in which a tool
 * can write what it has noted, so that the load comes in bursts. With DISPATCHES a round has that
 * many, on a ring of 131,072 packets, and no round warms up before: nothing has been touched.
 *
 * cpu measures the processor time of the submitting thread, of the submission alone. wall measures
 * the time from the first dispatch to the end of the last one. With SIGNALS each packet has one of
 * that many completion signals of the program, which waits for a signal before it uses it again; a
 * round is over when all of them have fired.
 *
 * apart is wall with the software GPU on a processor of its own, as a GPU would be. Otherwise the
 * kernel may put both threads on one processor for some rounds, and then 64 dispatches take the
 * 200 us for which the runtime polls a signal before it sleeps.
 *
 * It uses the GPU that there is, as rtl-demo does, whose short kernels these are.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/workload/model.h"
#include "tests/workload/options.h"
#include "tests/workload/queue.h"

#define RING	    16384
#define ROUND	    (RING / 2)
#define RING_LONG   131072
#define ROUNDS_MAX  1000
#define SIGNALS_MAX 4096
#define KINDS	    4 /* of short kernels */
#define PAUSE_NS    20000000

struct job {
	struct gpu gpu;
	struct code code;
	struct model model;
	struct board_count count;
	struct producer producer;
	hsa_signal_t last;
	hsa_signal_t own[SIGNALS_MAX];
	unsigned signals;
	unsigned ring, round; /* packets */
	bool is_wall, is_apart;
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec at;

	clock_gettime(clock, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static uint64_t job_ns(const struct job *job)
{
	return now_ns(job->is_wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
}

static void wait_all(struct job *job)
{
	hsa_signal_store_relaxed(job->last, 1);
	queue_barrier(&job->producer, (hsa_signal_t){0}, job->last);
	gpu_wait(job->last);
	/* A tool that replaces these signals by its own may lower them later. */
	for (unsigned i = 0; i < job->signals; i++)
		gpu_wait(job->own[i]);
}

/* Moves the calling thread, and those that it starts from now on, to the first processor of @all,
 * or to the others. */
static void processors_take(const cpu_set_t *all, bool is_first)
{
	cpu_set_t some;
	int first = 0;

	if (CPU_COUNT(all) < 2)
		return;
	while (!CPU_ISSET(first, all))
		first++;
	some = *all;
	CPU_CLR(first, &some);
	if (is_first) {
		CPU_ZERO(&some);
		CPU_SET(first, &some);
	}
	sched_setaffinity(0, sizeof(some), &some);
}

static hsa_signal_t own_signal(const struct job *job, unsigned n)
{
	hsa_signal_t signal = job->own[n % job->signals];

	gpu_wait(signal);
	hsa_signal_store_relaxed(signal, 1);
	return signal;
}

/* How often this thread has given up its processor to wait. */
static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Measures a round as a whole, or, if the program waits in between, the sum without its waits. */
static uint64_t round_ns(struct job *job, bool *ret_is_awake)
{
	bool is_split = job->signals && !job->is_wall;
	long slept = sleeps();
	uint64_t spent_ns = 0, start_ns = job_ns(job);

	for (unsigned i = 0; i < job->round; i++) {
		hsa_signal_t signal = job->signals ? own_signal(job, i) : (hsa_signal_t){0};

		if (is_split)
			start_ns = job_ns(job);
		queue_dispatch(&job->producer, &job->model.storm[i % KINDS], signal);
		if (is_split)
			spent_ns += job_ns(job) - start_ns;
	}
	if (job->is_wall)
		wait_all(job);
	if (!is_split)
		spent_ns = job_ns(job) - start_ns;
	*ret_is_awake = sleeps() == slept;
	if (!job->is_wall)
		wait_all(job);
	if (!job->signals)
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	return spent_ns / job->round;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int job_open(struct job *job)
{
	cpu_set_t all;
	int r;

	sched_getaffinity(0, sizeof(all), &all);
	if (job->is_apart)
		processors_take(&all, false);
	r = gpu_open(0, 0, &job->gpu);
	if (!r)
		r = code_load(&job->gpu, &job->code);
	if (!r)
		r = model_open(&job->gpu, &job->code,
			&(struct options){.layers = 1, .cause = CAUSE_NONE}, false, &job->model);
	if (!r)
		r = queue_open(&job->gpu, job->ring, &job->producer.queue);
	job->producer.count = &job->count;
	if (!r)
		GPU_TRY(hsa_signal_create, 1, 0, NULL, &job->last);
	for (unsigned i = 0; !r && i < job->signals; i++)
		GPU_TRY(hsa_signal_create, 0, 0, NULL, &job->own[i]);
	if (job->is_apart)
		processors_take(&all, true);
	return r;
}

static void job_close(struct job *job)
{
	hsa_queue_destroy(job->producer.queue);
	hsa_signal_destroy(job->last);
	for (unsigned i = 0; i < job->signals; i++)
		hsa_signal_destroy(job->own[i]);
	model_close(&job->model);
	code_unload(&job->code);
	gpu_close();
}

static bool arguments(int argc, char **argv, unsigned *ret_rounds, struct job *ret)
{
	if (argc != 4 && argc != 5)
		return false;
	ret->ring = argc == 5 ? RING_LONG : RING;
	ret->round = argc == 5 ? (unsigned)strtoul(argv[4], NULL, 10) : ROUND;
	*ret_rounds = (unsigned)strtoul(argv[1], NULL, 10);
	ret->is_apart = !strcmp(argv[2], "apart");
	ret->is_wall = ret->is_apart || !strcmp(argv[2], "wall");
	ret->signals = (unsigned)strtoul(argv[3], NULL, 10);
	return *ret_rounds >= 1 && *ret_rounds <= ROUNDS_MAX && ret->signals <= SIGNALS_MAX &&
	       ret->round >= 1 && ret->round <= ret->ring &&
	       (ret->is_wall || !strcmp(argv[2], "cpu"));
}

int main(int argc, char **argv)
{
	static struct job job;
	uint64_t ns[ROUNDS_MAX], awake_ns[ROUNDS_MAX] = {0};
	unsigned rounds, awake = 0;
	bool is_awake;

	if (!arguments(argc, argv, &rounds, &job)) {
		fprintf(stderr,
			"usage: dispatch-cost ROUNDS(1-%d) cpu|wall|apart SIGNALS(0-%d) "
			"[DISPATCHES(1-%d)]\n",
			ROUNDS_MAX, SIGNALS_MAX, RING_LONG);
		return 2;
	}
	if (job_open(&job))
		return 1;
	if (job.ring == RING)
		(void)round_ns(&job, &is_awake); /* faults its pages in */
	for (unsigned i = 0; i < rounds; i++) {
		ns[i] = round_ns(&job, &is_awake);
		if (is_awake)
			awake_ns[awake++] = ns[i];
	}
	qsort(ns, rounds, sizeof(*ns), compare);
	qsort(awake_ns, awake, sizeof(*awake_ns), compare);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n", ns[rounds / 2], ns[0],
		awake_ns[awake / 2], awake);
	job_close(&job);
	return 0;
}
