// SPDX-License-Identifier: MIT
/*
 * rtl-copies: asynchronous copies on the real runtime, and how they are recorded.
 *
 *   rtl-copies each N        N rounds of a copy of each kind, one after the other
 *   rtl-copies flood N       N copies at once, each with its own signal
 *   rtl-copies reuse N       N copies with one signal that is set again at once; checks each time
 *                            the times that the program itself reads from it
 *   rtl-copies shared        three copies that count one signal down
 *   rtl-copies packets N     each signal serves a copy and then a barrier packet
 *   rtl-copies hang          one copy that is done, and one that waits for ever; prints "hangs"
 *   rtl-copies threads N     four threads with N copies each
 *
 * Prints a line "copy DIRECTION HOW BYTES" for each copy that was submitted, in order (threads: at
 * the end).
 */
#include "tests/softgpu/test_gpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES	(9u << 20) /* more than one SDMA packet can copy */
#define THREADS 4u

static struct gpu gpu;
static uint8_t *host, *host2, *vram[2], *vram2;

static uint8_t *allocate(hsa_amd_memory_pool_t pool)
{
	void *p = NULL;

	HSA_OK(hsa_amd_memory_pool_allocate(pool, BYTES, 0, &p));
	HSA_OK(hsa_amd_agents_allow_access(gpu.count, gpu.agent, NULL, p));
	return p;
}

static void say(const char *direction, const char *how, size_t bytes)
{
	printf("copy %s %s %zu\n", direction, how, bytes);
}

static void submit(void *to, hsa_agent_t to_agent, const void *from, hsa_agent_t from_agent,
	size_t bytes, hsa_signal_t signal)
{
	HSA_OK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, bytes, 0, NULL, signal));
}

static void wait_and_arm(hsa_signal_t signal)
{
	signal_wait_done(signal);
	hsa_signal_store_relaxed(signal, 1);
}

static void rect(hsa_signal_t signal)
{
	hsa_pitched_ptr_t from = {host, 512, 512 * 40}, to = {vram[0], 512, 512 * 40};
	hsa_pitched_ptr_t other = {vram2, 512, 512 * 40};
	hsa_dim3_t at = {20, 3, 1}, range = {301, 17, 2};

	HSA_OK(hsa_amd_memory_async_copy_rect(
		&to, &at, &from, &at, &range, gpu.agent[0], hsaHostToDevice, 0, NULL, signal));
	say("h2d", "rect", 301 * 17 * 2);
	wait_and_arm(signal);
	HSA_OK(hsa_amd_memory_async_copy_rect(
		&from, &at, &to, &at, &range, gpu.agent[0], hsaDeviceToHost, 0, NULL, signal));
	say("d2h", "rect", 301 * 17 * 2);
	wait_and_arm(signal);
	HSA_OK(hsa_amd_memory_async_copy_rect(
		&other, &at, &to, &at, &range, gpu.agent[0], hsaDeviceToDevice, 0, NULL, signal));
	say("d2d", "rect", 301 * 17 * 2);
	wait_and_arm(signal);
}

static void each(unsigned rounds)
{
	hsa_signal_t signal = signal_new(1);

	for (unsigned i = 0; i < rounds; i++) {
		size_t bytes = i % 2 ? 4096 + i : BYTES - i;

		submit(vram[0], gpu.agent[0], host, gpu.cpu, bytes, signal);
		say("h2d", "async", bytes);
		wait_and_arm(signal);
		submit(host2, gpu.cpu, vram[0], gpu.agent[0], bytes, signal);
		say("d2h", "async", bytes);
		wait_and_arm(signal);
		submit(vram[1], gpu.agent[1], vram[0], gpu.agent[0], bytes, signal);
		say("p2p", "async", bytes);
		wait_and_arm(signal);
		submit(vram2, gpu.agent[0], vram[0], gpu.agent[0], bytes, signal);
		say("d2d", "async", bytes);
		wait_and_arm(signal);
		/* Like OpenMP: the device's agent for both. */
		submit(vram[0], gpu.agent[0], host, gpu.agent[0], bytes, signal);
		say("h2d", "async", bytes);
		wait_and_arm(signal);
		rect(signal);
	}
	HSA_OK(hsa_signal_destroy(signal));
}

static void flood(unsigned count)
{
	hsa_signal_t *signal = calloc(count, sizeof(*signal));

	assert_non_null(signal);
	for (unsigned i = 0; i < count; i++) {
		signal[i] = signal_new(1);
		submit(vram[i % 2], gpu.agent[i % 2], host, gpu.cpu, 64 + i, signal[i]);
		say("h2d", "async", 64 + i);
	}
	for (unsigned i = 0; i < count; i++) {
		signal_wait_done(signal[i]);
		HSA_OK(hsa_signal_destroy(signal[i]));
	}
	free(signal);
}

static void reuse(unsigned count)
{
	hsa_amd_profiling_async_copy_time_t now, before = {0};
	hsa_signal_t signal = signal_new(1);

	HSA_OK(hsa_amd_profiling_async_copy_enable(true));
	for (unsigned i = 0; i < count; i++) {
		submit(vram[0], gpu.agent[0], host, gpu.cpu, 64 + i, signal);
		say("h2d", "async", 64 + i);
		signal_wait_done(signal);
		/* The program can still read the times. */
		HSA_OK(hsa_amd_profiling_get_async_copy_time(signal, &now));
		assert_true(now.start >= before.end && now.end > now.start);
		before = now;
		hsa_signal_store_relaxed(signal, 1);
	}
	HSA_OK(hsa_signal_destroy(signal));
	HSA_OK(hsa_amd_profiling_async_copy_enable(false));
}

static void shared(void)
{
	hsa_signal_t signal = signal_new(3), gate = signal_new(1);

	for (unsigned i = 0; i < 3; i++) {
		HSA_OK(hsa_amd_memory_async_copy(
			vram[0], gpu.agent[0], host, gpu.cpu, 64, 1, &gate, signal));
		say("h2d", "async", 64);
	}
	hsa_signal_store_screlease(gate, 0);
	signal_wait_done(signal);
	hsa_signal_store_relaxed(signal, 1);
	/* Afterwards it is used for one copy at a time again. */
	submit(vram[0], gpu.agent[0], host, gpu.cpu, 65, signal);
	say("h2d", "async", 65);
	signal_wait_done(signal);
	HSA_OK(hsa_signal_destroy(signal));
	HSA_OK(hsa_signal_destroy(gate));
}

static void packets(unsigned count)
{
	hsa_queue_t *queue = queue_new(gpu.agent[0], 256);
	hsa_signal_t signal = signal_new(1);

	for (unsigned i = 0; i < count; i++) {
		hsa_signal_store_relaxed(signal, 2);
		submit(vram[0], gpu.agent[0], host, gpu.cpu, 64 + i, signal);
		say("h2d", "async", 64 + i);
		/* The signal counts the packet, too, so it is not stored to in between. */
		while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 2, UINT64_MAX,
			       HSA_WAIT_STATE_ACTIVE) >= 2)
			;
		queue_put(queue, packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, NULL, 0, signal));
		signal_wait_done(signal);
	}
	HSA_OK(hsa_signal_destroy(signal));
	HSA_OK(hsa_queue_destroy(queue));
}

static void hang(void)
{
	hsa_signal_t signal = signal_new(1), never = signal_new(1), last = signal_new(1);

	submit(vram[0], gpu.agent[0], host, gpu.cpu, 64, signal);
	say("h2d", "async", 64);
	signal_wait_done(signal);
	HSA_OK(hsa_amd_memory_async_copy(
		vram[0], gpu.agent[0], host, gpu.cpu, 65, 1, &never, last));
	say("h2d", "async", 65);
	puts("hangs");
	fflush(stdout);
	for (;;)
		pause();
}

struct thread {
	pthread_t id;
	unsigned number, count;
};

static void *thread_main(void *arg)
{
	struct thread *thread = arg;
	hsa_signal_t signal = signal_new(1);

	for (unsigned i = 0; i < thread->count; i++) {
		submit(vram[thread->number % 2], gpu.agent[thread->number % 2], host, gpu.cpu,
			1000 * thread->number + i, signal);
		wait_and_arm(signal);
	}
	HSA_OK(hsa_signal_destroy(signal));
	return NULL;
}

static void threads(unsigned count)
{
	struct thread thread[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		thread[i] = (struct thread){.number = i + 1, .count = count};
		assert_int_equal(pthread_create(&thread[i].id, NULL, thread_main, &thread[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i].id, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		for (unsigned k = 0; k < count; k++)
			say("h2d", "async", 1000 * (i + 1) + k);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;

	gpu_open(&gpu);
	assert_true(gpu.count >= 2);
	host = allocate(gpu.host_pool);
	host2 = allocate(gpu.host_pool);
	vram[0] = allocate(gpu.vram[0]);
	vram[1] = allocate(gpu.vram[1]);
	vram2 = allocate(gpu.vram[0]);
	if (!strcmp(mode, "each"))
		each(count);
	else if (!strcmp(mode, "flood"))
		flood(count);
	else if (!strcmp(mode, "reuse"))
		reuse(count);
	else if (!strcmp(mode, "shared"))
		shared();
	else if (!strcmp(mode, "packets"))
		packets(count);
	else if (!strcmp(mode, "hang"))
		hang();
	else if (!strcmp(mode, "threads"))
		threads(count);
	else
		return 2;
	gpu_close();
	return 0;
}
