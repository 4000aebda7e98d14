/* SPDX-License-Identifier: MIT */
#pragma once
/* Counts the voluntary context switches of a thread of this process: whether it is waiting. */
#include <limits.h>
#include <stdio.h>
#include <sys/types.h>

/* A thread with so many switches since is waiting: one that is about to do something has fewer. */
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
