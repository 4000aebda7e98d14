// SPDX-License-Identifier: MIT
#include "cli/run/child/gpu_watch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/cleanup.h"

#define SHIM "librtl-shim.so"

/* A program has started within half a second; a job of hours is checked twice a minute. */
#define PERIOD_FIRST_NS 500000000ull
#define PERIOD_LAST_NS	30000000000ull
/* Generations between a rank and rtl run: launcher, shells, workers of workers. */
#define ANCESTORS_MAX	64
#define CHUNK_BYTES	65536u

const struct gpu_watch_place gpu_watch_kernel = {
	.list = "/sys/class/kfd/kfd/proc", .device = "/dev/kfd", .proc = "/proc"};

void gpu_watch_init(struct gpu_watch *watch, const struct gpu_watch_place *place, pid_t root)
{
	*watch = (struct gpu_watch){.place = *place, .root = root, .period_ns = PERIOD_FIRST_NS};
	if (access(place->list, R_OK | X_OK) < 0)
		watch->period_ns = 0;
}

int gpu_watch_wait_ms(const struct gpu_watch *watch, uint64_t now_ns)
{
	if (!watch->period_ns)
		return -1;
	return watch->next_ns > now_ns ? (int)((watch->next_ns - now_ns) / 1000000u) + 1 : 0;
}

/*
 * Returns the parent of @pid, 0 if @pid has ended. The fields come after the name, which may
 * contain any character.
 */
static pid_t parent_of(const struct gpu_watch *watch, pid_t pid)
{
	char path[PATH_MAX], text[512];
	CLEANUP(close_p) int fd = -1;
	const char *end;
	ssize_t n;
	int parent;

	snprintf(path, sizeof(path), "%s/%d/stat", watch->place.proc, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	end = strrchr(text, ')');
	return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool is_of_command(const struct gpu_watch *watch, pid_t pid)
{
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		pid = parent_of(watch, pid);
		if (pid == watch->root)
			return true;
	}
	return false;
}

/* Other results of has_text(). */
#define NOT_OURS (-1)
#define ENDED	 (-2) /* its memory is released, though its descriptors may still be there */

static int text_errno(void)
{
	return errno == ENOENT || errno == ESRCH ? ENDED : NOT_OURS;
}

/* Returns 1 if @text is in the file @name of @pid, 0 if it is not, or one of the values above. */
static int has_text(const struct gpu_watch *watch, pid_t pid, const char *name, const char *text)
{
	const size_t length = strlen(text);
	CLEANUP(free_p) char *chunk = malloc(CHUNK_BYTES);
	CLEANUP(close_p) int fd = -1;
	char path[PATH_MAX];
	bool is_empty = true;
	size_t kept = 0;
	ssize_t n;

	if (!chunk)
		return NOT_OURS;
	snprintf(path, sizeof(path), "%s/%d/%s", watch->place.proc, (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return text_errno();
	while ((n = read(fd, chunk + kept, CHUNK_BYTES - kept)) > 0) {
		size_t bytes = kept + (size_t)n;

		is_empty = false;
		if (memmem(chunk, bytes, text, length))
			return 1;
		/* The text may lie across two chunks. */
		kept = bytes < length ? bytes : length - 1;
		memmove(chunk, chunk + bytes - kept, kept);
	}
	if (n < 0)
		return text_errno();
	return is_empty ? ENDED : 0;
}

/*
 * Returns -1 if we may not read it. Otherwise it tells whether the process has the device open,
 * because the list may contain pids of another pid namespace.
 */
static int has_device(const struct gpu_watch *watch, pid_t pid)
{
	char path[PATH_MAX], target[PATH_MAX];
	struct dirent *entry;
	DIR *folder;
	int found = 0;

	snprintf(path, sizeof(path), "%s/%d/fd", watch->place.proc, (int)pid);
	folder = opendir(path);
	if (!folder)
		return -1;
	while (!found && (entry = readdir(folder))) {
		ssize_t n = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = '\0';
		found = !strcmp(target, watch->place.device);
	}
	closedir(folder);
	return found;
}

static struct gpu_watch_process *find_or_add(struct gpu_watch *watch, pid_t pid)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->at[i].pid == pid)
			return &watch->at[i];
	if (watch->count == GPU_WATCH_MAX)
		return NULL;
	watch->at[watch->count] = (struct gpu_watch_process){.pid = pid};
	return &watch->at[watch->count++];
}

static void add_unseen(struct gpu_watch *watch, pid_t pid, const char *why)
{
	struct gpu_watch_unseen *unseen;
	char path[PATH_MAX];
	ssize_t n;

	if (watch->unseen++ >= GPU_WATCH_NAMED_MAX)
		return;
	unseen = &watch->named[watch->unseen - 1];
	unseen->pid = pid;
	unseen->why = why;
	snprintf(path, sizeof(path), "%s/%d/exe", watch->place.proc, (int)pid);
	n = readlink(path, unseen->exe, sizeof(unseen->exe) - 1);
	unseen->exe[n > 0 ? n : 0] = '\0';
}

/* Examines a process of the command that has the driver open. */
static void judge(struct gpu_watch *watch, struct gpu_watch_process *process)
{
	/*
	 * In this order, because a process with readable maps had a readable environment before. An
	 * empty file proves nothing.
	 */
	int names_shim = has_text(watch, process->pid, "environ", SHIM);
	int has_shim = has_text(watch, process->pid, "maps", SHIM);

	if (has_shim == ENDED)
		return;
	/*
	 * With HSA_TOOLS_LIB the shim is loaded only after the driver was opened, so it is there at
	 * the next check.
	 */
	if (has_shim == 0 && names_shim > 0 && !process->may_load) {
		process->may_load = true;
		return;
	}
	process->is_judged = true;
	if (has_shim > 0)
		return;
	add_unseen(watch, process->pid,
		has_shim == NOT_OURS
			? "it runs with other rights, which LD_PRELOAD does not survive"
		: names_shim <= 0
			? "LD_PRELOAD and HSA_TOOLS_LIB are not in its environment; start it by "
			  "rtl run, or after eval \"$(rtl env)\""
			: "it did not load librtl-shim.so, which its environment names; see rtl "
			  "doctor");
}

static void look_at(struct gpu_watch *watch, pid_t pid)
{
	struct gpu_watch_process *process;
	int r;

	if (!is_of_command(watch, pid))
		return;
	r = has_device(watch, pid);
	process = r ? find_or_add(watch, pid) : NULL;
	if (process && !process->is_judged)
		judge(watch, process);
}

void gpu_watch_run(struct gpu_watch *watch, uint64_t now_ns)
{
	struct dirent *entry;
	DIR *list;

	if (!watch->period_ns || now_ns < watch->next_ns)
		return;
	list = watch->next_ns ? opendir(watch->place.list) : NULL;
	while (list && (entry = readdir(list)))
		if (isdigit((unsigned char)entry->d_name[0]))
			look_at(watch, (pid_t)atoi(entry->d_name));
	if (list) {
		closedir(list);
		watch->period_ns = watch->period_ns < PERIOD_LAST_NS / 2 ? watch->period_ns * 2
									 : PERIOD_LAST_NS;
	}
	watch->next_ns = now_ns + watch->period_ns;
}
