// SPDX-License-Identifier: MIT
#include "cli/database/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "proto/base/cleanup.h"

int file_lock_find(const char *path, const char *suffix, off_t at, pid_t *ret_pid)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
	CLEANUP(free_p) char *name = NULL;
	CLEANUP(close_p) int fd = -1;

	if (asprintf(&name, "%s%s", path, suffix) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fcntl(fd, F_GETLK, &lock) < 0)
		return -errno;
	*ret_pid = lock.l_pid > 0 ? lock.l_pid : -1;
	return lock.l_type != F_UNLCK;
}
