/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Named points at which a test kills the process: RTL_FAULT=name[:count[:how]], the count-th
 * passing raises SIGKILL; with "group" for all of its process group, with "stop" SIGSTOP; with
 * "hang" the thread stays there; with "usr1" the test's own handler of SIGUSR1 runs on it. Compiled
 * only with -DRTL_FAULTS, into test binaries; nothing at all in what is installed. Any thread.
 * docs/recorder.md lists the points.
 */
#ifdef RTL_FAULTS_NONE
#error "a file with fault points is one of FAULTS of its folder (rtl_folder)"
#endif
#ifdef RTL_FAULTS
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void fault_point(const char *name, atomic_uint *passed)
{
	const char *wanted = getenv("RTL_FAULT");
	size_t bytes = strlen(name);
	unsigned long count = 1;
	const char *rest = "";
	char *end;

	if (!wanted || strncmp(wanted, name, bytes) || (wanted[bytes] && wanted[bytes] != ':'))
		return;
	if (wanted[bytes] == ':') {
		count = strtoul(wanted + bytes + 1, &end, 10);
		rest = end;
	}
	if (atomic_fetch_add(passed, 1) + 1 != count)
		return;
	while (!strcmp(rest, ":hang"))
		(void)pause();
	if (!strcmp(rest, ":group"))
		kill(0, SIGKILL);
	raise(!strcmp(rest, ":stop") ? SIGSTOP : !strcmp(rest, ":usr1") ? SIGUSR1 : SIGKILL);
}

#define FAULT_POINT(name)                                                                          \
	do {                                                                                       \
		static atomic_uint passed_;                                                        \
		fault_point(name, &passed_);                                                       \
	} while (0)
#else
#define FAULT_POINT(name)                                                                          \
	do {                                                                                       \
	} while (0)
#endif
