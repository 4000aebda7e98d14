/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/child/gpu_watch.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

/* Later than every period. */
#define LOOK_NS 100000000000ull

/* A driver's list and device of our own; the processes are real. */
struct fixture {
	char folder[64], list[96], device[96], shim[96];
	struct gpu_watch_place place;
	struct gpu_watch watch;
	uint64_t now_ns;
	pid_t child[GPU_WATCH_NAMED_MAX + 2];
	size_t children;
};

static void make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	close(fd);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->folder, "/tmp/rtl-gpu-watch-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	snprintf(f->list, sizeof(f->list), "%s/list", f->folder);
	snprintf(f->device, sizeof(f->device), "%s/kfd", f->folder);
	snprintf(f->shim, sizeof(f->shim), "%s/librtl-shim.so", f->folder);
	assert_int_equal(mkdir(f->list, 0700), 0);
	make(f->device);
	make(f->shim);
	f->place = (struct gpu_watch_place){f->list, f->device, "/proc"};
	gpu_watch_init(&f->watch, &f->place, getpid());
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->children; i++) {
		kill(f->child[i], SIGKILL);
		waitpid(f->child[i], NULL, 0);
	}
	assert_int_equal(folder_remove(f->folder), 0);
	free(f);
	return 0;
}

/* The driver lists @pid. */
static void list_pid(struct fixture *f, pid_t pid)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%d", f->list, (int)pid);
	make(path);
}

/* A process that has what it opens and maps when this returns, and lives until the end. */
static pid_t start(struct fixture *f, bool has_device, bool has_shim, const char *variable)
{
	int ready[2], shim = open(f->shim, O_RDONLY | O_CLOEXEC);
	char *environment[] = {(char *)(uintptr_t)variable, NULL};
	char *command[] = {(char *)(uintptr_t) "sleep", (char *)(uintptr_t) "1000", NULL};
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (has_device && open(f->device, O_RDONLY) < 0)
			_exit(1);
		/* Its own environment is seen only of a new program; a mapping is gone then. */
		if (!has_shim)
			execve("/usr/bin/sleep", command, environment);
		else if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, shim, 0) == MAP_FAILED)
			_exit(1);
		close(ready[1]);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	close(ready[1]);
	close(shim);
	/* The pipe ends when the program has begun, or the mapping is there. */
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	f->child[f->children++] = pid;
	list_pid(f, pid);
	return pid;
}

static void look(struct fixture *f)
{
	f->now_ns += LOOK_NS;
	gpu_watch_run(&f->watch, f->now_ns);
}

#define CASE(claim) TEST_CASE_WITH(claim, set_up, tear_down, struct fixture *f)

CASE(a_process_without_the_shim_is_counted_once_and_named)
{
	pid_t pid = start(f, true, false, "A=b");

	for (int i = 0; i < 4; i++)
		look(f);
	assert_int_equal(f->watch.unseen, 1);
	assert_int_equal(f->watch.named[0].pid, pid);
	assert_non_null(strstr(f->watch.named[0].exe, "/sleep"));
	assert_non_null(strstr(f->watch.named[0].why, "not in its environment"));
}

CASE(a_process_with_the_shim_is_not_counted)
{
	(void)start(f, true, true, NULL);
	for (int i = 0; i < 4; i++)
		look(f);
	assert_int_equal(f->watch.unseen, 0);
}

CASE(a_process_that_may_yet_load_the_shim_is_counted_at_the_next_scan)
{
	(void)start(f, true, false, "HSA_TOOLS_LIB=/usr/lib/librtl-shim.so");
	look(f);
	look(f);
	assert_int_equal(f->watch.unseen, 0);
	look(f);
	assert_int_equal(f->watch.unseen, 1);
	assert_non_null(strstr(f->watch.named[0].why, "rtl doctor"));
}

/* The list is of the whole machine, and its names may be those of another pid namespace. */
CASE(a_process_of_another_user_or_without_the_device_is_not_counted)
{
	(void)start(f, false, false, "A=b");
	list_pid(f, 1);
	list_pid(f, getppid());
	list_pid(f, getpid());
	for (int i = 0; i < 4; i++)
		look(f);
	assert_int_equal(f->watch.unseen, 0);
}

CASE(a_process_that_has_ended_is_not_counted)
{
	pid_t pid = start(f, true, false, "A=b");

	f->children = 0;
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 4; i++)
		look(f);
	assert_int_equal(f->watch.unseen, 0);
}

/* The driver may take seconds to end it: its memory is gone then, and the device still open. */
CASE(a_process_without_memory_is_not_counted)
{
	char command[256], path[160], stat[64];
	FILE *file;

	snprintf(command, sizeof(command),
		"mkdir -p %s/proc/4242/fd && cd %s/proc/4242 && : >maps && : >environ", f->folder,
		f->folder);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/proc/4242/fd/3", f->folder);
	assert_int_equal(symlink(f->device, path), 0);
	snprintf(path, sizeof(path), "%s/proc/4242/stat", f->folder);
	file = fopen(path, "we");
	assert_non_null(file);
	snprintf(stat, sizeof(stat), "4242 (python) D %d 1 1", (int)getpid());
	assert_true(fputs(stat, file) >= 0);
	assert_int_equal(fclose(file), 0);
	list_pid(f, 4242);
	snprintf(path, sizeof(path), "%s/proc", f->folder);
	f->place.proc = path;
	gpu_watch_init(&f->watch, &f->place, getpid());
	for (int i = 0; i < 4; i++)
		look(f);
	assert_int_equal(f->watch.count, 1);
	assert_int_equal(f->watch.unseen, 0);
}

CASE(processes_beyond_those_named_are_counted)
{
	for (size_t i = 0; i < GPU_WATCH_NAMED_MAX + 2; i++)
		(void)start(f, true, false, "A=b");
	for (int i = 0; i < 4; i++)
		look(f);
	assert_int_equal(f->watch.unseen, GPU_WATCH_NAMED_MAX + 2);
}

CASE(scans_become_rare_and_stop_without_a_driver)
{
	int last = 0;

	for (int i = 0; i < 12; i++) {
		int wait_ms;

		look(f);
		wait_ms = gpu_watch_wait_ms(&f->watch, f->now_ns);
		assert_true(wait_ms >= last && wait_ms > 0);
		last = wait_ms;
	}
	assert_in_range(last, 30000, 30001);
	f->place.list = "/nonexistent";
	gpu_watch_init(&f->watch, &f->place, getpid());
	look(f);
	assert_int_equal(gpu_watch_wait_ms(&f->watch, f->now_ns), -1);
}
