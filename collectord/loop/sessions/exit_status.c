/* SPDX-License-Identifier: MIT */
#include "collectord/loop/sessions/exit_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

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

#define STAT_BYTES	1024
#define STAT_STATE	3
#define STAT_START_TIME 22
#define STAT_EXIT_CODE	52

/*
 * Reads /proc/PID/stat and returns the text from field 3 on; the name in field 2 may contain any
 * character.
 */
static int read_stat(pid_t pid, char text[STAT_BYTES], const char **ret_field3)
{
	char path[64];
	CLEANUP(close_p) int fd = -1;
	ssize_t n;
	char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, STAT_BYTES - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ESRCH;
	text[n] = '\0';
	end = strrchr(text, ')');
	if (!end || end[1] != ' ')
		return -EINVAL;
	*ret_field3 = end + 2;
	return 0;
}

/* Finds @field in the text @at, which begins at field 3. Returns NULL if there are fewer fields. */
static const char *find_field(const char *at, int field)
{
	for (int i = STAT_STATE; i < field && at; i++) {
		at = strchr(at, ' ');
		if (at)
			at++;
	}
	return at;
}

uint64_t exit_status_start_time(pid_t pid)
{
	char text[STAT_BYTES];
	const char *at = NULL;

	if (read_stat(pid, text, &at) < 0)
		return 0;
	at = find_field(at, STAT_START_TIME);
	return at ? clock_machine_ticks(strtoull(at, NULL, 10)) : 0;
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
	char text[STAT_BYTES];
	const char *state = NULL;
	const char *at;
	long status;

	if (read_stat(pid, text, &state) < 0 || (*state != 'Z' && *state != 'X'))
		return -EAGAIN;
	at = find_field(state, STAT_START_TIME);
	if (!at || (start_time && clock_machine_ticks(strtoull(at, NULL, 10)) != start_time))
		return -EAGAIN;
	at = find_field(state, STAT_EXIT_CODE);
	if (!at)
		return -EAGAIN;
	status = strtol(at, NULL, 10);
	if (!status && !may_inspect(pid))
		return -EAGAIN;
	*ret_wait_status = (int)status;
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
