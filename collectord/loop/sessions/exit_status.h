/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * Finds out how a process ended that is not our child. The kernel reports this late or not at all,
 * so the caller asks a few times. Loop thread; reads /proc and a pidfd, never blocks.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Returns 0 with the wait status, -EAGAIN if it is not known yet, or -ESRCH if it will never be
 * known. @pidfd may be -1.
 */
int exit_status_read(int pidfd, pid_t pid, uint64_t start_time, int *ret_wait_status);

/*
 * Returns field 22 of /proc/PID/stat, converted by clock_machine_ticks(); 0 if there is no such
 * process or it cannot be read.
 */
uint64_t exit_status_start_time(pid_t pid);

/*
 * Opens a pidfd of @pid. Returns -ESRCH if the process is gone, -ENOSYS or -EPERM if the kernel or
 * its policy offers none.
 */
int exit_status_open_pidfd(pid_t pid);

/*
 * True if the process with that pid and start time is alive; a process that reuses the pid does not
 * count. *ret_pidfd is an open pidfd, or -1 if the process is dead or the kernel offers none.
 */
bool exit_status_find_living(pid_t pid, uint64_t start_time, int *ret_pidfd);
