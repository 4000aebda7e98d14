/* SPDX-License-Identifier: MIT */
#pragma once
/* sched_yield() in libc's place, for one file of a test: who destroys a signal waits by it, and is
 * seen to. */
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread bool is_destroyer;
static _Atomic bool is_waiting;

int sched_yield(void)
{
	if (is_destroyer)
		is_waiting = true;
	return (int)syscall(SYS_sched_yield);
}
