/* SPDX-License-Identifier: MIT
 *
 * shim-queues MODE: every way to come by a queue and to signal an end, on the real runtime. Each
 * mode prints "NAME N" for what the shim has to have counted, and fails on what it finds wrong
 * itself.
 */
#include "tests/softgpu/test_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/shim/future_runtime.h"

#define QUEUE_PACKETS 1024
#define KERNELS	      20u

static struct gpu gpu;
static struct code code;
static unsigned dispatched;

static const hsa_signal_t no_signal;

static void run(hsa_queue_t *queue, unsigned kernels)
{
	hsa_signal_t signal = signal_new(1);

	for (unsigned i = 0; i + 1 < kernels; i++)
		(void)queue_put(queue, packet_dispatch(code.kernel[i % 4], no_signal));
	run_one(queue, code.kernel[3], signal);
	dispatched += kernels;
	HSA_OK(hsa_signal_destroy(signal));
}

/* ---- queues of a later runtime ----------------------------------------------------------- */

static struct future_queue_desc desc_of(hsa_queue_type32_t type)
{
	return (struct future_queue_desc){
		.version = 1,
		.queue_size_bytes = QUEUE_PACKETS * 64,
		.type = type,
		.private_segment_size = UINT32_MAX,
	};
}

static void future_mode(void)
{
	struct future_queue_desc one = desc_of(HSA_QUEUE_TYPE_MULTI);
	struct future_queue_desc some[4];
	const char *rings = getenv("RTL_RINGS");
	bool is_kept = rings && !strcmp(rings, "keep");
	unsigned plain = 0;
	hsa_queue_t *counted;
	uint64_t sdma = 0;

	HSA_OK(future_queue_create(gpu.agent[0], &one, 1));
	run(one.queue, KERNELS);
	for (int i = 0; i < 4; i++)
		some[i] = desc_of(HSA_QUEUE_TYPE_MULTI);
	some[0].flags = FUTURE_DEVICE_RING;
	some[1].queue_size_bytes = 65537; /* this one fails; the others do not */
	some[1].queue = one.queue;	  /* the earlier value must be ignored */
	some[3].engine_type = FUTURE_ENGINE_SDMA;
	assert_int_equal(
		future_queue_create(gpu.agent[0], some, 4), HSA_STATUS_ERROR_INVALID_ARGUMENT);
	assert_null(some[1].queue);
	/* The program's descriptors are unchanged. */
	assert_int_equal(some[0].flags, FUTURE_DEVICE_RING);
	run(some[0].queue, KERNELS);
	run(some[2].queue, KERNELS);
	plain += is_kept ? KERNELS : 0;
	HSA_OK(future_counted_acquire(gpu.agent[0], &counted));
	run(counted, KERNELS);
	plain += KERNELS;
	HSA_OK(future_counted_release(counted));
	one.queue = NULL;
	one.version = 9;
	HSA_OK(future_queue_create(gpu.agent[0], &one, 1));
	run(one.queue, KERNELS);
	plain += KERNELS;
	HSA_OK(future_sdma_create(gpu.agent[0], 0, &sdma));
	assert_int_equal(sdma, 1);
	assert_int_equal(
		future_sdma_create(gpu.agent[0], 9, &sdma), HSA_STATUS_ERROR_INVALID_ARGUMENT);
	/* A queue of the installed kind works, too. */
	some[1].queue = queue_new(gpu.agent[0], QUEUE_PACKETS);
	run(some[1].queue, KERNELS);
	HSA_OK(hsa_queue_destroy(some[1].queue));
	HSA_OK(hsa_queue_destroy(some[2].queue));
	printf("dispatched %u\n", dispatched - plain);
	printf("recorded %u\n", dispatched - plain);
	printf("queues_followed %d\nqueues_ineligible %d\nqueues_created 6\nqueues_destroyed 3\n",
		is_kept ? 3 : 4, is_kept ? 3 : 2);
	printf("rings_moved %d\ncopy_queues_unseen 2\n", !is_kept);
}

/* ---- waits between queues ------------------------------------------------------------------ */

/*
 * Kernel A, submitted first, waits for a signal that kernel B completes on another queue. Then the
 * program waits for each of its own signals in turn, and sets each again.
 */
static void waits_mode(void)
{
	hsa_queue_t *a = queue_new(gpu.agent[0], QUEUE_PACKETS);
	hsa_queue_t *b = queue_new(gpu.agent[0], QUEUE_PACKETS);
	hsa_signal_t of_b = signal_new(1), of_a = signal_new(1);

	for (unsigned i = 0; i < 200; i++) {
		hsa_signal_store_screlease(of_a, 1);
		hsa_signal_store_screlease(of_b, 1);
		(void)queue_put(
			a, packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, &of_b, 1, no_signal));
		(void)queue_put(a, packet_dispatch(code.kernel[0], of_a));
		assert_int_equal(hsa_signal_load_scacquire(of_a), 1);
		(void)queue_put(b, packet_dispatch(code.kernel[1], no_signal));
		(void)queue_put(b, packet_dispatch(code.kernel[2], of_b));
		signal_wait_done(of_b);
		assert_int_equal(hsa_signal_load_scacquire(of_b), 0);
		signal_wait_done(of_a);
		dispatched += 3;
	}
	HSA_OK(hsa_signal_destroy(of_a));
	HSA_OK(hsa_signal_destroy(of_b));
	HSA_OK(hsa_queue_destroy(a));
	HSA_OK(hsa_queue_destroy(b));
	printf("dispatched %u\nown_signals_seen 400\n", dispatched);
}

/* ---- signals that several ends share --------------------------------------------------- */

/* One signal counts four kernels down; each time all four are submitted before one ends. */
static void counting_mode(void)
{
	hsa_queue_t *queue = queue_new(gpu.agent[0], QUEUE_PACKETS);
	hsa_signal_t signal = signal_new(4);

	for (unsigned i = 0; i < KERNELS; i++) {
		hsa_signal_t gate = signal_new(1);

		hsa_signal_store_screlease(signal, 4);
		(void)queue_put(
			queue, packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, &gate, 1, no_signal));
		for (unsigned k = 0; k < 4; k++)
			(void)queue_put(queue, packet_dispatch(code.kernel[k], signal));
		hsa_signal_store_screlease(gate, 0);
		signal_wait_done(signal);
		assert_int_equal(hsa_signal_load_scacquire(signal), 0);
		HSA_OK(hsa_signal_destroy(gate));
		dispatched += 4;
	}
	HSA_OK(hsa_signal_destroy(signal));
	HSA_OK(hsa_queue_destroy(queue));
	printf("dispatched %u\nuntimed_shared %u\n", dispatched, dispatched);
}

/* Sets a signal again while the kernel runs, like HIP for a signal that it waits for in stages. */
static void rearmed_mode(void)
{
	hsa_queue_t *queue = queue_new(gpu.agent[0], QUEUE_PACKETS);

	for (unsigned i = 0; i < KERNELS; i++) {
		hsa_signal_t signal = signal_new(1), gate = signal_new(1);

		(void)queue_put(
			queue, packet_barrier(HSA_PACKET_TYPE_BARRIER_AND, &gate, 1, no_signal));
		(void)queue_put(queue, packet_dispatch(code.kernel[0], signal));
		hsa_signal_store_screlease(signal, 2);
		hsa_signal_store_screlease(gate, 0);
		assert_int_equal(hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 2,
					 UINT64_MAX, HSA_WAIT_STATE_BLOCKED),
			1);
		HSA_OK(hsa_signal_destroy(gate));
		HSA_OK(hsa_signal_destroy(signal));
		dispatched++;
	}
	HSA_OK(hsa_queue_destroy(queue));
	printf("dispatched %u\nuntimed_early %u\n", dispatched, dispatched);
}

/* The program disables profiling, but our times are still there. */
static void unprofiled_mode(void)
{
	hsa_queue_t *queue = queue_new(gpu.agent[0], QUEUE_PACKETS);

	HSA_OK(hsa_amd_profiling_set_profiler_enabled(queue, 1));
	run(queue, KERNELS);
	HSA_OK(hsa_amd_profiling_set_profiler_enabled(queue, 0));
	run(queue, KERNELS);
	HSA_OK(hsa_queue_destroy(queue));
	printf("dispatched %u\nrecorded %u\n", dispatched, dispatched);
}

/* A destroy that fails: the queue continues to be followed. */
static void failed_destroy_mode(void)
{
	hsa_queue_t *queue = queue_new(gpu.agent[0], QUEUE_PACKETS);

	assert_int_not_equal(hsa_queue_destroy(NULL), HSA_STATUS_SUCCESS);
	run(queue, KERNELS);
	HSA_OK(hsa_queue_destroy(queue));
	printf("dispatched %u\nrecorded %u\nqueues_destroyed 1\n", dispatched, dispatched);
}

static hsa_queue_t *cooperative_new(uint32_t packets)
{
	hsa_queue_t *queue;

	HSA_OK(hsa_queue_create(gpu.agent[0], packets, HSA_QUEUE_TYPE_COOPERATIVE, NULL, NULL,
		UINT32_MAX, UINT32_MAX, &queue));
	return queue;
}

/*
 * The runtime returns the same queue, of its own size, from every create until all are destroyed.
 */
static void cooperative_mode(void)
{
	hsa_queue_t *first = cooperative_new(8 * QUEUE_PACKETS),
		    *second = cooperative_new(QUEUE_PACKETS), *again;

	assert_ptr_equal(first, second);
	assert_int_not_equal(first->size, 8 * QUEUE_PACKETS);
	run(first, KERNELS);
	HSA_OK(hsa_queue_destroy(second));
	/* Once around its ring, which does not have the requested size. */
	for (unsigned i = 0; i < 2 * first->size; i += KERNELS)
		run(first, KERNELS);
	HSA_OK(hsa_queue_destroy(first));
	again = cooperative_new(QUEUE_PACKETS);
	run(again, KERNELS);
	HSA_OK(hsa_queue_destroy(again));
	printf("dispatched %u\nrecorded %u\n", dispatched, dispatched);
	printf("queues_followed 3\nqueues_coop 0\nqueues_created 3\nqueues_destroyed 3\n");
}

/* The kind of memory: how host and GPUs cache it. */
static uint32_t memory_of(const void *at)
{
	hsa_amd_pointer_info_t info = {.size = sizeof(info)};

	HSA_OK(hsa_amd_pointer_info(at, &info, NULL, NULL, NULL));
	assert_int_equal(info.type, HSA_EXT_POINTER_TYPE_HSA);
	return info.global_flags;
}

/*
 * A signal of ours, which only the ring refers to, is in the same kind of memory as the runtime's.
 */
static void memory_mode(void)
{
	hsa_queue_t *queue = queue_new(gpu.agent[0], QUEUE_PACKETS);
	const hsa_kernel_dispatch_packet_t *ring = queue->base_address;
	hsa_signal_t own = signal_new(1);

	run(queue, KERNELS);
	/* Without the shim there is none. */
	if (ring[0].completion_signal.handle)
		assert_int_equal(
			memory_of((const void *)(uintptr_t)ring[0].completion_signal.handle),
			memory_of((const void *)(uintptr_t)own.handle));
	HSA_OK(hsa_signal_destroy(own));
	HSA_OK(hsa_queue_destroy(queue));
	printf("dispatched %u\nsignals_injected %u\n", dispatched, dispatched - 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{"future", future_mode},
		{"waits", waits_mode},
		{"counting", counting_mode},
		{"rearmed", rearmed_mode},
		{"unprofiled", unprofiled_mode},
		{"failed_destroy", failed_destroy_mode},
		{"memory", memory_mode},
		{"cooperative", cooperative_mode},
	};

	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name))
			continue;
		gpu_open(&gpu);
		code_load(gpu.agent[0], &code);
		modes[i].run();
		code_unload(&code);
		gpu_close();
		return 0;
	}
	fprintf(stderr, "usage: shim-queues MODE\n");
	return 2;
}
