/* SPDX-License-Identifier: MIT */
#pragma once
/* Replaces libc's sched_yield() for one file of a test. A thread that destroys a signal waits by
 * yielding; the test sees that it does. */
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
