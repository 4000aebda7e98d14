/* SPDX-License-Identifier: MIT */
#include "collectord/service/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/base/cleanup.h"
#include "proto/base/clock.h"

/* A collector that has closed its last session exits within this time. */
#define EXIT_NS 2000000000u

/* False if the previous holder of the lock has removed the file. */
static bool is_still_named(int fd, const char *path)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && lstat(path, &named) == 0 && ours.st_ino == named.st_ino &&
	       ours.st_dev == named.st_dev;
}

static int try_lock(int fd, pid_t *ret_pid)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_SETLK, &lock) == 0)
		return 0;
	if (errno != EACCES && errno != EAGAIN)
		return -errno;
	if (!fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK)
		*ret_pid = lock.l_pid;
	return -EADDRINUSE;
}

/*
 * False for a file that another user could have made to lock us out, such as a link to another
 * file.
 */
static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink <= 1 &&
	       st.st_uid == geteuid();
}

/* O_NONBLOCK: a pipe must not block us until its other end is opened. */
static int open_lock(const char *path)
{
	CLEANUP(close_p)
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd < 0)
		return errno == ELOOP || errno == EISDIR || errno == ENXIO ? -ENOLCK : -errno;
	return is_ours(fd) ? TAKE_FD(fd) : -ENOLCK;
}

int claim_take(const char *path, struct claim *ret, pid_t *ret_pid)
{
	*ret = (struct claim){.fd = -1};
	*ret_pid = 0;
	for (;;) {
		CLEANUP(close_p)
		int fd = open_lock(path);
		int r = fd < 0 ? fd : try_lock(fd, ret_pid);

		if (r < 0)
			return r;
		if (!is_still_named(fd, path))
			continue;
		ret->path = strdup(path);
		if (!ret->path)
			return -ENOMEM;
		ret->fd = TAKE_FD(fd);
		return 0;
	}
}

int claim_wait(const char *path, struct claim *ret, pid_t *ret_pid)
{
	uint64_t until_ns = clock_monotonic_ns() + EXIT_NS;
	int r;

	do {
		r = claim_take(path, ret, ret_pid);
		if (r != -EADDRINUSE)
			return r;
		(void)poll(NULL, 0, 10); /* the holder does not announce its end */
	} while (clock_monotonic_ns() < until_ns);
	return r;
}

void claim_release(struct claim *claim)
{
	if (claim->fd < 0)
		return;
	(void)unlink(claim->path); /* a file that stays is empty and harmless */
	close_p(&claim->fd);
	free(claim->path);
	*claim = (struct claim){.fd = -1};
}
