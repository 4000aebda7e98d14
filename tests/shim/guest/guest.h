/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * shim-guest MODE: programs whose lives, signals, limits and families a profiler could disturb.
 * Each runs with and without the shim; its output, its error output and its end have to be the
 * same. What a mode prints is therefore never a pid, an address or a time.
 */
#include <stdbool.h>

#include "tests/softgpu/test_gpu.h"

struct guest_mode {
	const char *name;
	int (*run)(char **arguments); /* what main() returns */
};

/* Each ends with a mode without a name. */
extern const struct guest_mode guest_ends[], guest_family[], guest_signals[], guest_limits[],
	guest_steady[], guest_descriptors[], guest_children[], guest_secure[], guest_jumps[];

/* Prints what failed and ends the process with 99. */
void guest_require(bool ok, const char *what);

/* One queue on the first GPU; once a process. */
void guest_open(void);
void guest_close(void);
/* Dispatches @kernels and waits for each. On the calling thread, on a queue of its own. */
void guest_run(unsigned kernels);
/* On the queue of guest_open(), by that one thread. */
void guest_dispatch(unsigned kernels);
hsa_queue_t *guest_queue(void);
hsa_agent_t guest_agent(void);
/* One of four; and so many have been dispatched in another way. */
uint64_t guest_kernel(unsigned which);
void guest_count(unsigned kernels);

/* "dispatched N" of this process so far; flushed. */
void guest_tell(void);
void guest_forget_count(void);

/* A thread that dispatches on a queue of its own until guest_thread_stop(). */
void guest_threads_start(unsigned count);
void guest_threads_stop(void);
/* Waits until each of them has dispatched something. */
void guest_threads_wait(void);

/* Whether the caller's thread is the profiler's; async-signal-safe. */
bool guest_is_on_foreign_thread(void);

/* waitpid() of a child of ours, as the status that a shell shows. */
int guest_reap(int pid);
