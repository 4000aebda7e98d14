// SPDX-License-Identifier: MIT
#include "cli/run/job/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/cleanup.h"

/*
 * A process may have any environment and command line; by default no kernel gives it more than
 * this.
 */
#define FILE_BYTES_MAX (8u << 20)

/* Returns /proc/PID/@name with a NUL at the end. NULL if it cannot be read or is empty. */
static char *read_file(pid_t pid, const char *name, size_t *ret_bytes)
{
	CLEANUP(free_p) char *text = NULL;
	size_t capacity = 0, bytes = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	while (bytes + 1 >= capacity && capacity < FILE_BYTES_MAX) {
		char *more = realloc(text, capacity ? capacity * 2 : 4096);

		if (!more)
			break;
		text = more;
		capacity = capacity ? capacity * 2 : 4096;
		bytes += fread(text + bytes, 1, capacity - 1 - bytes, file);
	}
	(void)fclose(file); /* it was only read */
	if (!bytes)
		return NULL;
	text[bytes] = '\0';
	*ret_bytes = bytes;
	return TAKE(text);
}

/* Returns a number of /proc/PID/stat; 0 if it is unknown. */
static unsigned long long stat_field(pid_t pid, int number)
{
	size_t bytes;
	CLEANUP(free_p) char *line = read_file(pid, "stat", &bytes);
	/* The name in parentheses may contain anything, even parentheses. */
	char *at = line ? strrchr(line, ')') : NULL;

	for (int field = 2; at && field < number; field++) {
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

static pid_t parent_of(pid_t pid)
{
	return (pid_t)stat_field(pid, 4);
}

/* Together with the pid it identifies one process. */
static unsigned long long start_time(pid_t pid)
{
	return stat_field(pid, 22);
}

/*
 * True if @pid may be a rank of @launcher. torchrun is no rank of its own launch if srun has
 * started it as one. Also true for a process whose environment cannot be read, because its
 * ancestors may be conclusive.
 */
static bool may_be_rank(pid_t pid, const char *launcher)
{
	size_t bytes, count = 0;
	CLEANUP(free_p) char *text = read_file(pid, "environ", &bytes);
	CLEANUP(free_p) const char **entries = NULL;
	struct rank_info info;

	if (!text)
		return true;
	for (size_t i = 0; i < bytes; i++)
		count += !text[i];
	entries = calloc(count + 2, sizeof(*entries));
	if (!entries)
		return true;
	count = 0;
	for (char *at = text; at < text + bytes; at += strlen(at) + 1)
		entries[count++] = at;
	rank_detect(entries, &info);
	return info.rank.is_known && info.launcher && launcher && !strcmp(info.launcher, launcher);
}

/* A subshell is the same program as the shell that it was forked from. */
static bool is_same_program(pid_t a, pid_t b)
{
	size_t a_bytes, b_bytes;
	CLEANUP(free_p) char *of_a = read_file(a, "cmdline", &a_bytes);
	CLEANUP(free_p) char *of_b = read_file(b, "cmdline", &b_bytes);

	return of_a && of_b && a_bytes == b_bytes && !memcmp(of_a, of_b, a_bytes);
}

/*
 * Returns the process that started the ranks: our nearest ancestor that is not part of a rank.
 * Between it and us there may be scripts that bind a rank to its GPU; each rank has its own.
 */
static pid_t find_launcher(const char *launcher)
{
	pid_t pid = getppid(), parent;

	while (pid > 0 && may_be_rank(pid, launcher))
		pid = parent_of(pid);
	while (pid > 0 && (parent = parent_of(pid)) > 0 && is_same_program(pid, parent))
		pid = parent;
	return pid;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/*
 * Ranks that the user numbers by hand may each have a shell (of ssh, of xargs), or a shell that
 * inherited the number: then no launcher can be found.
 */
static bool is_numbered_by_user(const struct rank_info *rank)
{
	return !rank->launcher || !strcmp(rank->launcher, "user");
}

/*
 * MASTER_ADDR without a rank belongs to the shell that starts the whole job: its next `rtl run` is
 * another launch.
 */
static bool names_launch(const struct rank_info *rank)
{
	return rank->job[0] &&
	       (!rank->is_job_reused || rank->rank.is_known || rank->local_rank.is_known);
}

static void name_job(struct run_launch *launch, const char *command)
{
	if (names_launch(&launch->rank)) {
		snprintf(launch->job, sizeof(launch->job), "%s", launch->rank.job);
	} else if (launch->rank.rank.is_known) {
		/*
		 * A launcher without a key (Hydra) has one process per node, which starts all
		 * ranks.
		 */
		pid_t launcher = launch->launcher ? launch->launcher : getppid();

		snprintf(launch->job, sizeof(launch->job), "%s-%d-%llu",
			launch->rank.launcher ? launch->rank.launcher : "launch", (int)launcher,
			start_time(launcher));
	} else {
		snprintf(launch->job, sizeof(launch->job), "%.32s-%d", base_name(command),
			(int)getpid());
	}
}

void run_launch_detect(struct run_launch *launch, const char *command, const char *name)
{
	rank_detect((const char *const *)environ, &launch->rank);
	launch->is_shared = names_launch(&launch->rank) || launch->rank.rank.is_known;
	launch->launcher = launch->is_shared && !is_numbered_by_user(&launch->rank)
				   ? find_launcher(launch->rank.launcher)
				   : 0;
	launch->launcher_start = launch->launcher ? start_time(launch->launcher) : 0;
	launch->is_named = name != NULL;
	if (name)
		snprintf(launch->job, sizeof(launch->job), "%s", name);
	else
		name_job(launch, command);
	if (!name && launch->rank.is_job_reused && launch->launcher)
		snprintf(launch->service_job, sizeof(launch->service_job), "%.200s-%d-%llu",
			launch->job, (int)launch->launcher, launch->launcher_start);
	else
		snprintf(launch->service_job, sizeof(launch->service_job), "%s", launch->job);
}
