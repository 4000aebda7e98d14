/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/exit_status.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/clock.h"
#include "proto/base/process_stat.h"

/*
 * PIDFD_GET_INFO came with Linux 6.13, the exit code with 6.15; the headers of this distribution
 * lack them.
 */
struct kernel_pidfd_info {
	uint64_t mask;
	uint64_t cgroup_id;
	uint32_t ids[11];
	int32_t exit_code;
};
#define KERNEL_PIDFD_GET_INFO  _IOWR(0xff, 11, struct kernel_pidfd_info)
#define KERNEL_PIDFD_INFO_EXIT (1ull << 3)

uint64_t exit_status_start_time(pid_t pid)
{
	struct process_stat stat;

	return process_stat_read(pid, &stat) < 0 ? 0 : clock_machine_ticks(stat.start_time);
}

/*
 * The kernel shows exit code 0 to a process without permission, so a 0 counts only if we may
 * inspect @pid.
 */
static bool may_inspect(pid_t pid)
{
	char path[64];
	char target[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	return readlink(path, target, sizeof(target)) > 0;
}

static int read_zombie(pid_t pid, uint64_t start_time, int *ret_wait_status)
{
	struct process_stat stat;

	if (process_stat_read(pid, &stat) < 0 || (stat.state != 'Z' && stat.state != 'X') ||
		(start_time && clock_machine_ticks(stat.start_time) != start_time) ||
		(!stat.exit_status && !may_inspect(pid)))
		return -EAGAIN;
	*ret_wait_status = stat.exit_status;
	return 0;
}

/* The kernel sets the exit code when the parent has reaped the process. */
static bool read_reaped(int pidfd, int *ret_wait_status)
{
	struct kernel_pidfd_info info = {.mask = KERNEL_PIDFD_INFO_EXIT};

	if (ioctl(pidfd, KERNEL_PIDFD_GET_INFO, &info) < 0 || !(info.mask & KERNEL_PIDFD_INFO_EXIT))
		return false;
	*ret_wait_status = info.exit_code;
	return true;
}

/* True if the parent has reaped the process. A kernel that keeps no exit code has then lost it. */
static bool is_reaped(int pidfd)
{
	return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) < 0 && errno == ESRCH;
}

int exit_status_read(int pidfd, pid_t pid, uint64_t start_time, int *ret_wait_status)
{
	bool is_gone;

	if (pidfd >= 0 && read_reaped(pidfd, ret_wait_status))
		return 0;
	if (read_zombie(pid, start_time, ret_wait_status) == 0)
		return 0;
	if (pidfd < 0)
		return -EAGAIN;
	/*
	 * The parent was woken together with us, so it may have reaped the process between these
	 * two reads.
	 */
	is_gone = is_reaped(pidfd);
	if (read_reaped(pidfd, ret_wait_status))
		return 0;
	return is_gone ? -ESRCH : -EAGAIN;
}

int exit_status_open_pidfd(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

bool exit_status_find_living(pid_t pid, uint64_t start_time, int *ret_pidfd)
{
	CLEANUP(close_p) int pidfd = exit_status_open_pidfd(pid);
	uint64_t found;
	bool is_alive;

	*ret_pidfd = -1;
	if (pidfd == -ESRCH)
		return false;
	found = exit_status_start_time(pid);
	/*
	 * If hidepid hides /proc/PID, only the pid is left to compare: at worst we wait for an
	 * unrelated process.
	 */
	is_alive = found ? found == start_time : pidfd >= 0;
	if (is_alive && pidfd >= 0)
		*ret_pidfd = TAKE_FD(pidfd);
	return is_alive;
}
