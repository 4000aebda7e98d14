/* SPDX-License-Identifier: MIT
 *
 * Children that libc knows nothing of, and what they may call of what a profiler puts into a
 * process: its wrappers of roctx and RCCL, and copies. Without it these functions are not there.
 */
#include "tests/shim/guest/guest.h"

#include <dlfcn.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	int (*push)(const char *);
	int (*pop)(void);
	int (*mark)(const char *);
	int (*pause)(uint64_t);
	int (*resume)(uint64_t);
	int (*group_start)(void);
	int (*group_end)(void);
	int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
} call;

static void look_up(const char *name, void *ret, size_t bytes)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	memcpy(ret, &found, bytes);
}

static void look_all_up(void)
{
	look_up("roctxRangePushA", &call.push, sizeof(call.push));
	look_up("roctxRangePop", &call.pop, sizeof(call.pop));
	look_up("roctxMarkA", &call.mark, sizeof(call.mark));
	look_up("roctxProfilerPause", &call.pause, sizeof(call.pause));
	look_up("roctxProfilerResume", &call.resume, sizeof(call.resume));
	look_up("ncclGroupStart", &call.group_start, sizeof(call.group_start));
	look_up("ncclGroupEnd", &call.group_end, sizeof(call.group_end));
	look_up("ncclAllReduce", &call.all_reduce, sizeof(call.all_reduce));
	if (getenv("RTL_SOCKET"))
		guest_require(call.push && call.all_reduce, "the shim is not there");
}

static void use_markers(void)
{
	if (!call.push)
		return;
	(void)call.push("of a child");
	(void)call.mark("step");
	(void)call.pop();
	/* Also ends a range that the parent has opened. */
	(void)call.pop();
}

static void use_all(void)
{
	const hsa_signal_t none = {0};
	char from[8] = "12345678", to[8] = "";

	use_markers();
	if (call.pause) {
		(void)call.pause(0);
		(void)call.resume(0);
	}
	if (call.all_reduce) {
		(void)call.group_start();
		(void)call.all_reduce(from, to, 1, 7, 0, NULL, NULL);
		(void)call.group_end();
	}
	/* Copies nothing: the device belongs to the parent. */
	(void)hsa_amd_memory_async_copy(to, guest_agent(), from, guest_agent(), 0, 0, NULL, none);
	(void)hsa_queue_add_write_index_relaxed(guest_queue(), 0);
}

static long by_clone3(uint64_t flags)
{
	struct clone_args arguments = {.flags = flags, .exit_signal = SIGCHLD};

	return syscall(SYS_clone3, &arguments, sizeof(arguments));
}

static void child_of(long pid, int status)
{
	if (!pid) {
		use_all();
		_exit(status);
	}
	printf("child %d\n", guest_reap((int)pid));
	fflush(stdout);
}

static int children_call(char **arguments)
{
	(void)arguments;
	look_all_up();
	guest_open();
	guest_dispatch(5);
	if (call.push)
		(void)call.push("of the parent");
	child_of(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), 50);
	child_of(by_clone3(0), 51);
	/* A child that shares its parent's memory may do little, but it may use ranges. */
	pid_t pid = vfork();

	if (!pid) {
		if (call.mark)
			(void)call.mark("of a child that borrows");
		_exit(52);
	}
	printf("child %d\n", guest_reap(pid));
	guest_dispatch(5);
	if (call.pop)
		(void)call.pop();
	guest_tell();
	guest_close();
	return 0;
}

const struct guest_mode guest_children[] = {
	{"children_call", children_call},
	{NULL, NULL},
};
