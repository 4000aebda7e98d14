// SPDX-License-Identifier: MIT
/*
 * children-calls: children made with and without libc's knowledge call HIP and RCCL. They get the
 * same results as without a profiler, and none of their calls is recorded for the parent.
 */
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/wrap/rccl.h"

/* More than a ring of calls holds. */
#define CHILD_ROUNDS  5000
#define PARENT_ROUNDS 7

/* Calls that need neither a thread nor a lock of the runtime. */
static int use(int rounds)
{
	nccl_unique_id id;
	int bad = 0;

	for (int i = 0; i < rounds; i++) {
		bad |= hipFree(NULL);
		bad |= hipSetDevice(0);
		bad |= hipMemcpy(NULL, NULL, 0, hipMemcpyHostToHost);
		bad |= ncclGetUniqueId(&id);
		bad |= ncclGroupStart();
		bad |= ncclGroupEnd();
	}
	return bad & 127;
}

static void reap(long pid, const char *what)
{
	int status = 0;

	if (pid < 0 || waitpid((pid_t)pid, &status, 0) != pid)
		exit(2);
	printf("%s %d\n", what, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

int main(void)
{
	void *data;
	long pid;

	if (hipSetDevice(0) || hipMalloc(&data, 4096) || use(PARENT_ROUNDS))
		return 1;
	fflush(stdout);
	for (int i = 0; i < 3; i++) {
		pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!pid)
			_exit(use(CHILD_ROUNDS));
		reap(pid, "clone");
	}
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(use(CHILD_ROUNDS));
	reap(pid, "fork");
	return use(PARENT_ROUNDS) || hipFree(data);
}
