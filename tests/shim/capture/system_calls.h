/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Counts the system calls that may wait (futex, sleeps, yields, polls, sockets, pipes, locks,
 * changes of memory) which a thread makes inside the shim: a seccomp filter traps them, and the
 * handler of SIGSYS counts and makes the call. Calls outside the shim are not counted.
 */
#include <pthread.h>
#include <stdint.h>

struct system_calls {
	_Atomic uint64_t futex;
	_Atomic uint64_t others;
};

/* Sum over all threads. */
extern struct system_calls system_calls;

/*
 * From here to its end, the calls of the calling thread are trapped. The thread must be of
 * system_calls_thread(). 0 or -errno.
 */
int system_calls_trap(void);
/*
 * Like pthread_create(), on a stack that this function allocates. libc would free its own stack
 * while all signals are blocked, when a trap kills the process.
 */
int system_calls_thread(pthread_t *thread, void *(*main)(void *), void *argument);

/* Bracket what is counted, for the calling thread. */
void system_calls_enter(void);
void system_calls_leave(void);

/* Sleeps without being trapped. */
void system_calls_pause(long ns);
