/* SPDX-License-Identifier: MIT
 *
 * Threads that only dispatch, and wait for their kernels without a system call: other system calls
 * that strace shows for them between two calls of getppid() are not the program's.
 */
#include "tests/shim/guest/guest.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#define THREADS	      2
#define KERNELS	      3000
#define QUEUE_PACKETS 256

struct steady {
	const char *name;
	hsa_queue_t *queue;
	hsa_signal_t done;
	uint64_t kernel;
};

static void *steady_main(void *argument)
{
	const struct steady *s = argument;

	prctl(PR_SET_NAME, s->name);
	(void)getppid();
	for (int i = 0; i < KERNELS; i++) {
		/* Every fourth packet has its own signal, as in a HIP program. */
		bool is_last = i % 4 == 3;

		if (is_last)
			hsa_signal_store_relaxed(s->done, 1);
		(void)queue_put(s->queue,
			packet_dispatch(s->kernel, is_last ? s->done : (hsa_signal_t){0}));
		while (is_last && hsa_signal_load_scacquire(s->done) > 0)
			;
	}
	(void)getppid();
	return NULL;
}

static int steady_run(char **arguments)
{
	struct steady steady[THREADS] = {{.name = "dispatch-0"}, {.name = "dispatch-1"}};
	struct gpu gpu;
	struct code code;
	pthread_t thread[THREADS];

	(void)arguments;
	gpu_open(&gpu);
	code_load(gpu.agent[0], &code);
	for (int i = 0; i < THREADS; i++) {
		steady[i].queue = queue_new(gpu.agent[0], QUEUE_PACKETS);
		steady[i].done = signal_new(1);
		steady[i].kernel = code.kernel[i];
	}
	for (int i = 0; i < THREADS; i++)
		guest_require(
			!pthread_create(&thread[i], NULL, steady_main, &steady[i]), "no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < THREADS; i++) {
		HSA_OK(hsa_queue_destroy(steady[i].queue));
		HSA_OK(hsa_signal_destroy(steady[i].done));
	}
	code_unload(&code);
	gpu_close();
	printf("dispatched %d\n", THREADS * KERNELS);
	return 0;
}

const struct guest_mode guest_steady[] = {
	{"steady", steady_run},
	{NULL, NULL},
};
