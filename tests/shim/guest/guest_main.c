/* SPDX-License-Identifier: MIT */
#include "tests/shim/guest/guest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUEUE_PACKETS 256
#define THREADS_MAX   8

static struct gpu gpu;
static struct code code;
static hsa_queue_t *queue;
static hsa_signal_t done;
static atomic_uint dispatched;
static pthread_t threads[THREADS_MAX];
static atomic_uint thread_dispatched[THREADS_MAX];
static unsigned thread_count;
static atomic_bool is_stopped;

void guest_require(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "shim-guest: %s\n", what);
	_exit(99);
}

void guest_open(void)
{
	gpu_open(&gpu);
	code_load(gpu.agent[0], &code);
	queue = queue_new(gpu.agent[0], QUEUE_PACKETS);
	done = signal_new(1);
}

void guest_close(void)
{
	HSA_OK(hsa_signal_destroy(done));
	HSA_OK(hsa_queue_destroy(queue));
	code_unload(&code);
	gpu_close();
}

hsa_queue_t *guest_queue(void)
{
	return queue;
}

hsa_agent_t guest_agent(void)
{
	return gpu.agent[0];
}

uint64_t guest_kernel(unsigned which)
{
	return code.kernel[which];
}

void guest_count(unsigned kernels)
{
	atomic_fetch_add(&dispatched, kernels);
}

void guest_dispatch(unsigned kernels)
{
	for (unsigned i = 0; i < kernels; i++) {
		run_one(queue, code.kernel[i % 4], done);
		atomic_fetch_add(&dispatched, 1);
	}
}

void guest_tell(void)
{
	printf("dispatched %u\n", atomic_load(&dispatched));
	fflush(stdout);
}

void guest_forget_count(void)
{
	atomic_store(&dispatched, 0);
}

/* The scheduler decides how many there are, so they are not counted in the output. */
static void *thread_main(void *argument)
{
	atomic_uint *count = argument;
	hsa_queue_t *own = queue_new(gpu.agent[0], QUEUE_PACKETS);
	hsa_signal_t signal = signal_new(1);

	while (!atomic_load(&is_stopped)) {
		run_one(own, code.kernel[0], signal);
		atomic_fetch_add(count, 1);
	}
	HSA_OK(hsa_queue_destroy(own));
	HSA_OK(hsa_signal_destroy(signal));
	return NULL;
}

void guest_threads_start(unsigned count)
{
	atomic_store(&is_stopped, false);
	for (thread_count = 0; thread_count < count; thread_count++) {
		atomic_store(&thread_dispatched[thread_count], 0);
		guest_require(!pthread_create(&threads[thread_count], NULL, thread_main,
				      &thread_dispatched[thread_count]),
			"no thread");
	}
}

static bool all_have_dispatched(void *argument)
{
	(void)argument;
	for (unsigned i = 0; i < thread_count; i++)
		if (!atomic_load(&thread_dispatched[i]))
			return false;
	return true;
}

void guest_threads_wait(void)
{
	guest_require(wait_for(all_have_dispatched, NULL), "threads do not dispatch");
}

void guest_threads_stop(void)
{
	atomic_store(&is_stopped, true);
	for (unsigned i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	thread_count = 0;
}

bool guest_is_on_foreign_thread(void)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	return !strncmp(name, "rtl", 3);
}

int guest_reap(int pid)
{
	int status = 0;

	guest_require(pid > 0 && waitpid(pid, &status, 0) == pid, "no child");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	const struct guest_mode *lists[] = {guest_ends, guest_family, guest_signals, guest_limits,
		guest_steady, guest_descriptors, guest_children, guest_secure, guest_jumps};

	for (size_t i = 0; argc > 1 && i < sizeof(lists) / sizeof(lists[0]); i++)
		for (const struct guest_mode *mode = lists[i]; mode->name; mode++)
			if (!strcmp(mode->name, argv[1]))
				return mode->run(argv);
	fprintf(stderr, "usage: shim-guest MODE\n");
	return 2;
}
