/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * How a process that is not our child ended. The kernel tells a stranger late or not at all:
 * ask a few times. Loop thread; reads /proc and a pidfd, never waits.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* 0 and the wait status; -EAGAIN: not known (yet); -ESRCH: nor will it be. @pidfd may be -1. */
int exit_status_read(int pidfd, pid_t pid, uint64_t start_time, int *ret_wait_status);

/* Field 22 of /proc/PID/stat, clock ticks since boot; 0: no such process, or not readable. */
uint64_t exit_status_start_time(pid_t pid);

/* An open pidfd of @pid; -ESRCH: it is gone; -ENOSYS, -EPERM: not to be had here. */
int exit_status_open_pidfd(pid_t pid);

/*
 * Does that process still live? A pid that is in use again is not it. *ret_pidfd: an open one, or
 * -1 where it does not live or the kernel has none.
 */
bool exit_status_find_living(pid_t pid, uint64_t start_time, int *ret_pidfd);
