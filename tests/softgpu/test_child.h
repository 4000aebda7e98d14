// SPDX-License-Identifier: MIT
/*
 * Children of a test: forked before any device is open, because an open device does not survive a
 * fork. A failure in a child is its exit status, which end_child() checks.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(claim)                                                                                \
	do {                                                                                       \
		if (!(claim)) {                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #claim);                \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static inline pid_t start_child(void (*body)(int rank, int arg), int rank, int arg)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		body(rank, arg);
		exit(0);
	}
	return pid;
}

static inline void end_child(pid_t pid, int want)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, want);
}

/* One child per rank, all at once. */
static inline void run_children(int ranks, void (*body)(int rank, int arg), int arg)
{
	pid_t pid[64];

	assert_true(ranks <= 64);
	for (int r = 0; r < ranks; r++)
		pid[r] = start_child(body, r, arg);
	for (int r = 0; r < ranks; r++)
		end_child(pid[r], 0);
}
