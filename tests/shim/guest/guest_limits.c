/* SPDX-License-Identifier: MIT
 *
 * Programs that live within limits, and what they find of a profiler's thread and files.
 */
#include "tests/shim/guest/guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Descriptors that the runtime and the device need. */
#define FILES_NEEDED	   12
#define FILES_LIMIT	   64
/* Address space left for the program; the recorder alone would take half of it. */
#define ADDRESS_SPACE_LEFT (100ull << 20)
#define BLOCK_BYTES	   (60u << 20)
/* System calls that a filter allows. */
#define FILTERED_MAX	   200u

static unsigned files_open(int *fd, unsigned most)
{
	unsigned count = 0;

	while (count < most && (fd[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		count++;
	return count;
}

static int limits_files(char **arguments)
{
	const struct rlimit limit = {FILES_LIMIT, FILES_LIMIT};
	int fd[FILES_LIMIT];
	unsigned count;

	(void)arguments;
	guest_require(!setrlimit(RLIMIT_NOFILE, &limit), "no limit");
	count = files_open(fd, FILES_LIMIT);
	for (unsigned i = 0; i < FILES_NEEDED; i++)
		close(fd[--count]);
	guest_open();
	guest_dispatch(10);
	printf("files left %u\n", files_open(fd, FILES_LIMIT));
	guest_tell();
	return 0;
}

/* The numbers that a program gets for its own files. */
static int limits_file_numbers(char **arguments)
{
	int fd[4];

	(void)arguments;
	guest_open();
	guest_dispatch(3);
	printf("files %u:", files_open(fd, 4));
	for (int i = 0; i < 4; i++)
		printf(" %d", fd[i]);
	putchar('\n');
	guest_tell();
	guest_close();
	return 0;
}

static uint64_t address_space_peak(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmPeak: %llu", &kib);
	if (file)
		fclose(file);
	return kib << 10;
}

/* Address space that the program needs itself. */
static uint64_t address_space_needed(void)
{
	uint64_t bytes = 0;
	int pipe_fd[2];
	pid_t pid;

	guest_require(!pipe2(pipe_fd, O_CLOEXEC), "no pipe");
	pid = fork();
	if (!pid) {
		setenv("RTL_MODE", "off", 1);
		guest_open();
		guest_dispatch(10);
		bytes = address_space_peak();
		_exit(write(pipe_fd[1], &bytes, sizeof(bytes)) != sizeof(bytes));
	}
	guest_require(!guest_reap(pid) && read(pipe_fd[0], &bytes, sizeof(bytes)) == sizeof(bytes),
		"the child did not report what it needs");
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	return bytes;
}

static int limits_address_space(char **arguments)
{
	uint64_t bytes = address_space_needed() + ADDRESS_SPACE_LEFT;
	const struct rlimit limit = {bytes, bytes};
	void *block;

	(void)arguments;
	guest_require(!setrlimit(RLIMIT_AS, &limit), "no limit");
	guest_open();
	guest_dispatch(10);
	block = malloc(BLOCK_BYTES);
	printf("memory %s\n", block ? "enough" : "short");
	free(block);
	guest_tell();
	guest_close();
	return 0;
}

/* From now on system call @number fails with EPERM, as in many sandboxes. */
static void forbid(unsigned number)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	guest_require(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
			      !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program),
		"no seccomp");
}

static int within(unsigned forbidden)
{
	forbid(forbidden);
	guest_open();
	guest_dispatch(10);
	guest_tell();
	guest_close();
	return 0;
}

static int limits_no_memfd(char **arguments)
{
	(void)arguments;
	return within(SYS_memfd_create);
}

/* A parent that only queries GPUs, like a launcher, and children with a runtime of their own. */
static int limits_no_memfd_family(char **arguments)
{
	(void)arguments;
	forbid(SYS_memfd_create);
	guest_require(!hsa_init() && !hsa_shut_down(), "no runtime");
	for (unsigned i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (!pid) {
			guest_open();
			guest_dispatch(10);
			guest_tell();
			guest_close();
			fflush(stdout);
			_exit(0);
		}
		guest_require(!guest_reap(pid), "a child failed");
	}
	return 0;
}

static int limits_no_socket(char **arguments)
{
	(void)arguments;
	return within(SYS_socket);
}

static int limits_no_eventfd(char **arguments)
{
	(void)arguments;
	return within(SYS_eventfd2);
}

/*
 * shim-guest filtered NUMBER...: once the runtime is up, any system call except these ends the
 * process, whichever thread makes it. Without numbers there is no filter.
 */
static int limits_filtered(char **arguments)
{
	struct sock_filter filter[2 + 2 * FILTERED_MAX] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	struct sock_fprog program = {.len = 1, .filter = filter};

	guest_open();
	guest_dispatch(10);
	printf("before\n");
	fflush(stdout);
	for (char **number = arguments + 2; *number && program.len < 1 + 2 * FILTERED_MAX;
		number++) {
		filter[program.len++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(*number), 0, 1);
		filter[program.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[program.len++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	guest_require(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no seccomp");
	guest_require(!arguments[2] || !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
					       SECCOMP_FILTER_FLAG_TSYNC, &program),
		"no seccomp");
	guest_dispatch(2000);
	guest_tell();
	guest_close();
	return 0;
}

/* ---- the profiler's thread --------------------------------------------------------------- */

static pid_t shim_thread;

static bool has_shim_thread(void *argument)
{
	DIR *listing = opendir("/proc/self/task");
	struct dirent *entry;

	(void)argument;
	shim_thread = 0;
	while (listing && (entry = readdir(listing))) {
		char path[300], name[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (file && fgets(name, sizeof(name), file) && !strcmp(name, "rtl-shim\n"))
			shim_thread = atoi(entry->d_name);
		if (file)
			fclose(file);
	}
	if (listing)
		closedir(listing);
	return shim_thread != 0;
}

static bool has_plain_thread(void *argument)
{
	cpu_set_t own, mask;

	return has_shim_thread(argument) && sched_getscheduler(shim_thread) == SCHED_BATCH &&
	       !sched_getaffinity(getpid(), sizeof(own), &own) &&
	       !sched_getaffinity(shim_thread, sizeof(mask), &mask) && CPU_EQUAL(&own, &mask) &&
	       getpriority(PRIO_PROCESS, (id_t)shim_thread) == getpriority(PRIO_PROCESS, 0);
}

static void *open_as_real_time(void *argument)
{
	const struct sched_param priority = {.sched_priority = 1};
	cpu_set_t one;

	(void)argument;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	guest_require(!sched_setaffinity(0, sizeof(one), &one), "cannot be pinned");
	guest_require(!sched_setscheduler(0, SCHED_FIFO, &priority), "cannot be real-time");
	guest_require(!hsa_init(), "hsa_init");
	return NULL;
}

/* The runtime is started by a thread that is pinned and in a real-time class. */
static int limits_real_time(char **arguments)
{
	pthread_t thread;

	(void)arguments;
	guest_require(!pthread_create(&thread, NULL, open_as_real_time, NULL), "no thread");
	pthread_join(thread, NULL);
	if (getenv("HSA_TOOLS_LIB"))
		guest_require(wait_for(has_plain_thread, NULL), "rtl-shim is not a plain thread");
	guest_open();
	guest_dispatch(10);
	guest_tell();
	guest_close();
	hsa_shut_down();
	return 0;
}

const struct guest_mode guest_limits[] = {
	{"files", limits_files},
	{"file_numbers", limits_file_numbers},
	{"address_space", limits_address_space},
	{"no_memfd", limits_no_memfd},
	{"no_memfd_family", limits_no_memfd_family},
	{"no_socket", limits_no_socket},
	{"no_eventfd", limits_no_eventfd},
	{"filtered", limits_filtered},
	{"real_time", limits_real_time},
	{NULL, NULL},
};
