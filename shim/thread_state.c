/* SPDX-License-Identifier: MIT */
#include "shim/thread_state.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct thread_state thread_state;
_Atomic uint32_t thread_state_regions;

/*
 * glibc knows the thread's id and writes it into a recursive mutex that it takes; a mutex's layout
 * is compiled into programs, so it stays. Nobody else sees this one: nothing to wait for, and no
 * system call that the program would not have made.
 */
static uint32_t tid_read(void)
{
	pthread_mutex_t own = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	int tid = 0;

	if (!pthread_mutex_lock(&own)) {
		tid = own.__data.__owner;
		pthread_mutex_unlock(&own);
	}
	return tid > 0 ? (uint32_t)tid : (uint32_t)syscall(SYS_gettid);
}

uint32_t thread_state_tid(void)
{
	if (__builtin_expect(!thread_state.tid, 0))
		thread_state.tid = tid_read();
	return thread_state.tid;
}

void thread_state_forget(void)
{
	thread_state.tid = 0;
	thread_state.call = 0;
	thread_state.count = (struct thread_count){0};
}
