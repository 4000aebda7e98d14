/* SPDX-License-Identifier: MIT */
#pragma once
/* How often a thread of this process has given up its processor to sleep. */
#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

/* A thread that has slept this often since is waiting: one that is about to do something sleeps
 * less often. */
#define THREAD_SLEEPS_MIN 8

/* ULONG_MAX if the thread has ended. */
static inline unsigned long thread_sleeps(pid_t tid)
{
	unsigned long sleeps = 0;
	char line[256];
	FILE *file;

	snprintf(line, sizeof(line), "/proc/self/task/%d/status", (int)tid);
	file = fopen(line, "r");
	if (!file)
		return ULONG_MAX;
	while (fgets(line, sizeof(line), file))
		(void)sscanf(line, "voluntary_ctxt_switches: %lu", &sleeps);
	fclose(file);
	return sleeps;
}
