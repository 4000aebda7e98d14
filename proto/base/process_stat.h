/* SPDX-License-Identifier: MIT */
#pragma once
/* What /proc/PID/stat tells of a process. Any thread. */
#include <stdint.h>
#include <sys/types.h>

struct process_stat {
	char state;
	pid_t parent;
	uint64_t start_time; /* in clock ticks since boot, as the kernel writes it */
	int exit_status;     /* as of wait(), if @state is Z or X and we may inspect the process */
};

/* -ESRCH: there is no such process, or it cannot be seen. */
int process_stat_read(pid_t pid, struct process_stat *ret);
