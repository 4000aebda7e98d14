// SPDX-License-Identifier: MIT
/*
 * peer-scenes SCENE: programs in which an earlier profiler changed what they do (defects.tsv).
 * Each prints what it saw; alone and profiled it must print the same.
 */
#include "tests/softgpu/test_gpu.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_PACKETS 1024u
#define ROUNDS	      200u
#define BURST	      200u
#define BURSTS	      9u /* the first is for warming up */
#define BURST_PACKETS 512u
#define EVENTS_MAX    5000u /* the kernel driver gives a process 4096 */

static struct gpu gpu;
static struct code code;

static void dispatch(hsa_queue_t *queue, uint64_t kernel, hsa_signal_t done)
{
	queue_put(queue, packet_dispatch(kernel, done));
}

/* Kernel A waits, by a barrier in front of it, for B, which is submitted later elsewhere. */
static void circle(void)
{
	hsa_queue_t *one = queue_new(gpu.agent[0], QUEUE_PACKETS);
	hsa_queue_t *two = queue_new(gpu.agent[0], QUEUE_PACKETS);
	unsigned in_order = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		hsa_signal_t a = signal_new(1), b = signal_new(1);
		const amd_signal_t *first = (const amd_signal_t *)b.handle;
		const amd_signal_t *second = (const amd_signal_t *)a.handle;

		queue_put(one, packet_barrier(
				       HSA_PACKET_TYPE_BARRIER_AND, &b, 1, (hsa_signal_t){0}));
		dispatch(one, code.kernel[0], a);
		dispatch(two, code.kernel[1], b);
		signal_wait_done(a);
		in_order += first->end_ts && first->end_ts <= second->start_ts;
		HSA_OK(hsa_signal_destroy(a));
		HSA_OK(hsa_signal_destroy(b));
	}
	printf("B before A %u of %u\n", in_order, ROUNDS);
	HSA_OK(hsa_queue_destroy(one));
	HSA_OK(hsa_queue_destroy(two));
}

/* An application that waits on each of its signals, arms it again, and reads its times. */
static void own(void)
{
	hsa_queue_t *queue = queue_new(gpu.agent[0], QUEUE_PACKETS);
	hsa_signal_t done = signal_new(1);
	uint64_t low = UINT64_MAX, high = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const amd_signal_t *raw = (const amd_signal_t *)done.handle;
		uint64_t ticks;

		hsa_signal_store_screlease(done, 1);
		dispatch(queue, code.kernel[0], done);
		signal_wait_done(done);
		ticks = raw->end_ts - raw->start_ts;
		low = ticks < low ? ticks : low;
		high = ticks > high ? ticks : high;
	}
	printf("own times %llu to %llu ticks\n", (unsigned long long)low, (unsigned long long)high);
	HSA_OK(hsa_signal_destroy(done));
	HSA_OK(hsa_queue_destroy(queue));
}

/* How many of an application's signals get an event of the driver, of which there are few. */
static void events(void)
{
	static hsa_signal_t signal[EVENTS_MAX];
	hsa_queue_t *queue = queue_new(gpu.agent[0], QUEUE_PACKETS);
	unsigned count = 0;

	for (unsigned i = 0; i < ROUNDS; i++)
		dispatch(queue, code.kernel[0], (hsa_signal_t){0});
	for (unsigned i = 0; i < EVENTS_MAX; i++) {
		signal[i] = signal_new(1);
		count += ((const amd_signal_t *)signal[i].handle)->event_mailbox_ptr != 0;
	}
	printf("signals with an event %u\n", count);
	dispatch(queue, code.kernel[0], signal[0]);
	signal_wait_done(signal[0]);
	for (unsigned i = 0; i < EVENTS_MAX; i++)
		HSA_OK(hsa_signal_destroy(signal[i]));
	HSA_OK(hsa_queue_destroy(queue));
}

/* What the runtime set up for kernels that use scratch, in a queue that leaves it the choice. */
static void scratch(void)
{
	hsa_signal_t done = signal_new(1);
	hsa_queue_t *queue;
	const amd_queue_t *raw;

	HSA_OK(hsa_queue_create(gpu.agent[0], QUEUE_PACKETS, HSA_QUEUE_TYPE_MULTI, NULL, NULL,
		UINT32_MAX, UINT32_MAX, &queue));
	raw = (const amd_queue_t *)(const void *)queue;
	printf("packets %u type %u features %u\n", queue->size, queue->type, queue->features);
	printf("scratch bytes %llu\n", (unsigned long long)raw->scratch_backing_memory_byte_size);
	dispatch(queue, code.kernel[0], done);
	signal_wait_done(done);
	HSA_OK(hsa_signal_destroy(done));
	HSA_OK(hsa_queue_destroy(queue));
}

/* Libraries that a program without HIP has not asked for. */
static void libraries(void)
{
	hsa_queue_t *queue = queue_new(gpu.agent[0], QUEUE_PACKETS);
	hsa_signal_t done = signal_new(1);
	char line[4096];
	unsigned hip = 0;
	FILE *maps;

	dispatch(queue, code.kernel[0], done);
	signal_wait_done(done);
	maps = fopen("/proc/self/maps", "re");
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		hip += strstr(line, "libamdhip64") || strstr(line, "librccl");
	fclose(maps);
	printf("mappings of HIP %u\n", hip);
	HSA_OK(hsa_signal_destroy(done));
	HSA_OK(hsa_queue_destroy(queue));
}

/* Dispatches between two calls that strace sees, and a wait until they are done after that. */
static void *burst_one(void *arg)
{
	hsa_queue_t *queue = queue_new(gpu.agent[0], BURST_PACKETS);
	hsa_signal_t done = signal_new(1);

	(void)arg;
	for (unsigned round = 0; round < BURSTS; round++) {
		hsa_signal_store_screlease(done, 1);
		if (round)
			(void)getppid();
		for (unsigned i = 0; i < BURST; i++)
			dispatch(queue, code.kernel[0], (hsa_signal_t){0});
		if (round)
			(void)getppid();
		dispatch(queue, code.kernel[0], done);
		signal_wait_done(done);
	}
	HSA_OK(hsa_signal_destroy(done));
	HSA_OK(hsa_queue_destroy(queue));
	return NULL;
}

static void burst(void)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, burst_one, NULL), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("dispatched %u\n", 2 * BURSTS * (BURST + 1));
}

static const struct scene {
	const char *name;
	void (*run)(void);
} scenes[] = {
	{"circle", circle},
	{"own", own},
	{"events", events},
	{"scratch", scratch},
	{"libraries", libraries},
	{"burst", burst},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		if (strcmp(argv[1], scenes[i].name) != 0)
			continue;
		gpu_open(&gpu);
		code_load(gpu.agent[0], &code);
		scenes[i].run();
		code_unload(&code);
		gpu_close();
		return 0;
	}
	fprintf(stderr, "usage: peer-scenes circle|own|events|scratch|libraries|burst\n");
	return 2;
}
