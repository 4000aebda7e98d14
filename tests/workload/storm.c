// SPDX-License-Identifier: MIT
#include "tests/workload/storm.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "tests/workload/queue.h"
#include "tests/workload/stamp.h"
#include "tests/workload/talk.h"

#define STORM_TICK_NS UINT64_C(1000000) /* how often a paced producer wakes */
#define STORM_NS      UINT64_C(1000000000)

struct storm_thread {
	pthread_t thread;
	const struct options *opt;
	const struct model *model;
	struct producer producer;
	struct stamp stamp;
	uint64_t dispatches;
	uint64_t rate_mhz; /* thousandths of a dispatch per second; 0: as fast as they go */
};

/* SIGUSR1: what is paced has been enough. */
static volatile sig_atomic_t storm_is_ended;

/* Submits the dispatches from @from to before @to of this thread. */
static void storm_submit(struct storm_thread *t, uint64_t from, uint64_t to)
{
	const hsa_kernel_dispatch_packet_t *kinds = t->model->storm;
	uint64_t batch = (uint64_t)t->opt->batch;

	/* A signal that is used again within a batch would wait for its own doorbell. */
	if (batch > stamp_batch_max(&t->stamp))
		batch = stamp_batch_max(&t->stamp);
	while (from < to) {
		unsigned n = (unsigned)(to - from < batch ? to - from : batch);
		uint64_t index = queue_reserve(&t->producer, n);

		for (unsigned i = 0; i < n; i++, from++)
			queue_fill(t->producer.queue, index + i, &kinds[from % 4],
				stamp_next(&t->stamp));
		queue_ring(&t->producer, index + n - 1, n);
	}
}

static void storm_end(int number)
{
	(void)number;
	storm_is_ended = 1;
}

/*
 * At each tick, what is due by then: by absolute deadlines, so that a late wake-up is made good
 * by the next and the total rate holds.
 */
static void storm_pace(struct storm_thread *t)
{
	struct timespec start;
	uint64_t sent = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (uint64_t tick = 1; sent < t->dispatches && !storm_is_ended; tick++) {
		uint64_t ns = tick * STORM_TICK_NS + (uint64_t)start.tv_nsec;
		struct timespec deadline = {.tv_sec = start.tv_sec + (time_t)(ns / STORM_NS),
			.tv_nsec = (long)(ns % STORM_NS)};
		uint64_t due = (uint64_t)((__uint128_t)tick * STORM_TICK_NS * t->rate_mhz /
					  (STORM_NS * 1000));

		if (due > t->dispatches)
			due = t->dispatches;
		if (due == sent)
			continue;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR)
			;
		storm_submit(t, sent, due);
		sent = due;
	}
}

static void *storm_produce(void *data)
{
	struct storm_thread *t = data;

	if (t->rate_mhz)
		storm_pace(t);
	else
		storm_submit(t, 0, t->dispatches);
	return NULL;
}

static int storm_wait(struct producer *producer)
{
	hsa_signal_t done;

	GPU_TRY(hsa_signal_create, 1, 0, NULL, &done);
	queue_barrier(producer, (hsa_signal_t){0}, done);
	gpu_wait(done);
	GPU_TRY(hsa_signal_destroy, done);
	return 0;
}

static int storm_produce_all(struct storm_thread *threads, int n)
{
	int started = 1, r = 0;

	while (!r && started < n) {
		r = -pthread_create(
			&threads[started].thread, NULL, storm_produce, &threads[started]);
		if (r)
			talk("thread: %s", strerror(-r));
		else
			started++;
	}
	if (!r)
		storm_produce(&threads[0]);
	for (int i = 1; i < started; i++)
		pthread_join(threads[i].thread, NULL);
	return r;
}

static void storm_close(const struct options *opt, struct storm_thread *threads, hsa_queue_t *queue)
{
	uint64_t used = 0, timed = 0;

	for (int i = 0; i < opt->threads; i++) {
		stamp_close(&threads[i].stamp);
		used += threads[i].stamp.used;
		timed += threads[i].stamp.timed;
	}
	if (opt->signal_every || opt->signal_shared)
		talk("own signals=%llu timed=%llu", (unsigned long long)used,
			(unsigned long long)timed);
	hsa_queue_destroy(queue);
}

static double storm_seconds(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - from->tv_sec) + (double)(now.tv_nsec - from->tv_nsec) / 1e9;
}

int storm_run(const struct options *opt, const struct model *model, struct board_rank *board)
{
	/* Outlives this call when --no-wait leaves kernels in flight. */
	static struct storm_thread threads[OPTIONS_THREADS_MAX];
	const uint64_t n = (uint64_t)opt->threads;
	struct sigaction on_end = {.sa_handler = storm_end};
	struct timespec from;
	hsa_queue_t *queue;
	int r = queue_open(model->gpu, opt->queue_size, &queue);

	for (uint64_t i = 0; !r && i < n; i++) {
		struct storm_thread *t = &threads[i];

		*t = (struct storm_thread){.opt = opt,
			.model = model,
			.producer = {.queue = queue, .count = &board->count[i]},
			.dispatches = opt->dispatches / n + (i < opt->dispatches % n),
			.rate_mhz = opt->rate_hz * 1000 / n};
		r = stamp_open(model->gpu, opt->signal_every, opt->signal_shared, &t->stamp);
	}
	if (r)
		return r;
	if (opt->rate_hz)
		sigaction(SIGUSR1, &on_end, NULL);
	clock_gettime(CLOCK_MONOTONIC, &from);
	r = storm_produce_all(threads, opt->threads);
	if (opt->verbose)
		talk("submitted in %.3f s", storm_seconds(&from));
	if (r || opt->no_wait)
		return r;
	r = storm_wait(&threads[0].producer);
	if (opt->verbose)
		talk("done in %.3f s", storm_seconds(&from));
	if (!r)
		storm_close(opt, threads, queue);
	return r;
}
