// SPDX-License-Identifier: MIT
#include "cli/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/cleanup.h"

/* Field 22 of /proc/PID/stat: with the pid it names one process. 0: unknown. */
static unsigned long long start_time(pid_t pid)
{
	CLEANUP(free_p) char *line = NULL;
	unsigned long long time = 0;
	size_t capacity = 0;
	char path[64];
	char *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (getline(&line, &capacity, file) < 0)
		line = NULL;
	(void)fclose(file); /* only read */
	/* The name in parentheses may contain anything, parentheses too. */
	at = line ? strrchr(line, ')') : NULL;
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	if (at)
		time = strtoull(at, NULL, 10);
	return time;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void run_launch_detect(struct run_launch *launch, const char *command)
{
	pid_t parent = getppid();

	rank_detect((const char *const *)environ, &launch->rank);
	launch->is_shared = true;
	if (launch->rank.job[0]) {
		snprintf(launch->job, sizeof(launch->job), "%s", launch->rank.job);
		return;
	}
	/* A launcher without a key (Hydra) has one process a node that starts all ranks of it. */
	if (launch->rank.rank.is_known) {
		snprintf(launch->job, sizeof(launch->job), "%s-%d-%llu",
			launch->rank.launcher ? launch->rank.launcher : "launch", (int)parent,
			start_time(parent));
		return;
	}
	launch->is_shared = false;
	snprintf(launch->job, sizeof(launch->job), "%.32s-%d", base_name(command), (int)getpid());
}
