/* SPDX-License-Identifier: MIT */
#include "shim/thread_state.h"

#include <sys/syscall.h>
#include <unistd.h>

__thread struct thread_state thread_state;

uint32_t thread_state_tid(void)
{
	if (__builtin_expect(!thread_state.tid, 0))
		thread_state.tid = (uint32_t)syscall(SYS_gettid);
	return thread_state.tid;
}

void thread_state_forget(void)
{
	thread_state.tid = 0;
	thread_state.call = 0;
	thread_state.node = 0;
}
