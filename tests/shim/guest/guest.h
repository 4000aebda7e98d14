/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * shim-guest MODE: programs whose lifetime, signals, limits and children a profiler could disturb.
 * Each runs with and without the shim; its output, error output and exit status must be the same.
 * So a mode never prints a pid, an address or a time.
 */
#include <stdbool.h>

#include "tests/softgpu/test_gpu.h"

struct guest_mode {
	const char *name;
	int (*run)(char **arguments); /* returns main()'s result */
};

/* Each table ends with a mode without a name. */
extern const struct guest_mode guest_ends[], guest_family[], guest_signals[], guest_limits[],
	guest_steady[], guest_descriptors[], guest_children[], guest_secure[], guest_jumps[];

/* Prints @what and ends the process with 99 unless @ok. */
void guest_require(bool ok, const char *what);

/* One queue on the first GPU; once per process. */
void guest_open(void);
void guest_close(void);
/* Dispatches @kernels and waits for each. On the calling thread, on its own queue. */
void guest_run(unsigned kernels);
/* On the queue of guest_open(), by the thread that called it. */
void guest_dispatch(unsigned kernels);
hsa_queue_t *guest_queue(void);
hsa_agent_t guest_agent(void);
/* One of four kernels; guest_count() adds dispatches that were made in another way. */
uint64_t guest_kernel(unsigned which);
void guest_count(unsigned kernels);

/* Prints "dispatched N" for this process so far, and flushes. */
void guest_tell(void);
void guest_forget_count(void);

/* Threads that dispatch on queues of their own until guest_threads_stop(). */
void guest_threads_start(unsigned count);
void guest_threads_stop(void);
/* Waits until each of them has dispatched something. */
void guest_threads_wait(void);

/* Whether the calling thread is the profiler's; async-signal-safe. */
bool guest_is_on_foreign_thread(void);

/* waitpid() for our child, with the status as a shell shows it. */
int guest_reap(int pid);
