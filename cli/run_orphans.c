// SPDX-License-Identifier: MIT
/*
 * What outlives the command. A rank that has not said Hello is unknown to the collector, so a
 * session could close before its first dispatch: the kernel hands such orphans to us instead.
 */
#include "cli/run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/clock.h"

void run_orphans_adopt(void)
{
	/* Not possible: then only those that the collector knows are waited for. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* True: nobody is left. */
static bool reap_all(void)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG);
	while (pid > 0 || (pid < 0 && errno == EINTR));
	return pid < 0;
}

static size_t list_children(pid_t *ret, size_t max)
{
	char path[64];
	size_t count = 0;
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	if (!file)
		return 0; /* a kernel without it: they stay unnamed */
	for (; fscanf(file, "%d", &pid) == 1; count++)
		if (count < max)
			ret[count] = pid;
	fclose(file);
	return count;
}

size_t run_orphans_wait(const struct run_child *child, struct run_collector *collector,
	uint64_t deadline_ns, pid_t *ret, size_t max)
{
	while (!reap_all()) {
		struct pollfd entries[2] = {{.fd = child->signal_fd, .events = POLLIN},
			{.fd = run_keeper_fd(collector), .events = POLLIN}};
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= deadline_ns)
			return list_children(ret, max);
		(void)poll(entries, 2, (int)((deadline_ns - now_ns + 999999u) / 1000000u));
		(void)run_keeper_serve(collector);
		if (run_child_is_end_wanted(child))
			return list_children(ret, max);
	}
	return 0;
}
