// SPDX-License-Identifier: MIT
/*
 * Waits for processes that outlive the command. A rank that has not sent Hello is unknown to the
 * collector, so a session could close before its first dispatch; therefore the kernel makes such
 * orphans our children.
 * Children that the process had before it became rtl belong to the shell that became rtl by exec
 * (exec > >(tee log); exec rtl run ...). They may outlive us, or wait for our end.
 */
#include "cli/run/child/run_orphans.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/child/child.h"
#include "cli/run/collector/collector.h"
#include "cli/run/collector/supervisor.h"
#include "proto/base/clock.h"

static bool is_inherited(const struct run_child *child, pid_t pid)
{
	for (size_t i = 0; i < child->n_inherited; i++)
		if (child->inherited[i] == pid)
			return true;
	return false;
}

/* Lists our children except @collector and the inherited ones. Returns 0 or -errno. */
static int list_children(
	const struct run_child *child, pid_t collector, pid_t *ret, size_t max, size_t *ret_count)
{
	char path[64];
	FILE *file;
	int pid;

	*ret_count = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	if (!file)
		return -errno; /* the kernel lacks it; the processes are not named then */
	while (fscanf(file, "%d", &pid) == 1) {
		if (pid == collector || is_inherited(child, pid))
			continue;
		if (*ret_count < max)
			ret[*ret_count] = pid;
		++*ret_count;
	}
	fclose(file);
	return 0;
}

void run_orphans_adopt(struct run_child *child)
{
	size_t count;

	child->n_inherited = 0;
	(void)list_children(child, 0, child->inherited, RUN_INHERITED_MAX, &count);
	child->n_inherited = count < RUN_INHERITED_MAX ? count : RUN_INHERITED_MAX;
	/* If it fails, only processes that the collector knows are waited for. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* True if no child is left. */
static bool reap_all(void)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG);
	while (pid > 0 || (pid < 0 && errno == EINTR));
	return pid < 0;
}

/*
 * The first process of a container becomes the parent of every orphan, our collector included: the
 * collector ends after we have told it that the command has ended.
 */
static bool has_orphans(const struct run_child *child, const struct run_collector *collector)
{
	size_t count;

	return !reap_all() &&
	       (list_children(child, run_keeper_pid(collector), NULL, 0, &count) < 0 || count > 0);
}

static size_t list_orphans(const struct run_child *child, const struct run_collector *collector,
	pid_t *ret, size_t max)
{
	size_t count;

	(void)list_children(child, run_keeper_pid(collector), ret, max, &count);
	return count;
}

size_t run_orphans_wait(const struct run_child *child, struct run_collector *collector,
	uint64_t deadline_ns, pid_t *ret, size_t max)
{
	while (has_orphans(child, collector)) {
		struct pollfd entries[2] = {{.fd = child->signal_fd, .events = POLLIN},
			{.fd = run_keeper_fd(collector), .events = POLLIN}};
		uint64_t now_ns = clock_monotonic_ns();

		if (now_ns >= deadline_ns)
			return list_orphans(child, collector, ret, max);
		(void)poll(entries, 2, (int)((deadline_ns - now_ns + 999999u) / 1000000u));
		(void)run_keeper_serve(collector);
		if (run_child_is_end_wanted(child))
			return list_orphans(child, collector, ret, max);
	}
	return 0;
}
