/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Counts the system calls that may wait (futex, sleeps, yields, polls, sockets, pipes, locks, changes
 * of memory) which a thread makes inside the shim: a seccomp filter traps them, the handler of SIGSYS counts, and
 * makes the call. What the thread does outside the shim is let through uncounted.
 */
#include <pthread.h>
#include <stdint.h>

struct system_calls {
	_Atomic uint64_t futex;
	_Atomic uint64_t others;
};

/* Of all threads. */
extern struct system_calls system_calls;

/* The calling thread, of system_calls_thread(), is trapped from here to its end. 0 or -errno. */
int system_calls_trap(void);
/* As pthread_create(), on memory of this one's: libc gives back a stack that it made itself while all
 * signals are blocked, where a trap kills. */
int system_calls_thread(pthread_t *thread, void *(*main)(void *), void *argument);

/* Around what is counted; the calling thread. */
void system_calls_enter(void);
void system_calls_leave(void);

/* Sleeps without being trapped. */
void system_calls_pause(long ns);
