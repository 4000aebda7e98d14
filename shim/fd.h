/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * For descriptors that the shim keeps. A program that was started with its standard input,
 * output or error closed must not find one of ours there: what it prints would go into the
 * recorder. Any thread; inline only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* @fd as open() and its like return it, moved past 2; -1 and errno. */
static inline int fd_keep(int fd)
{
	int kept, saved;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	kept = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	saved = errno;
	close(fd);
	errno = saved;
	return kept;
}

#define FD_WAKE	    "anon_inode:[eventfd]"
#define FD_RECORDER "/memfd:rtl-recorder"

/* Whether @fd still is what we made. A program may have closed all it could find since, and have
 * a file of its own there. */
static inline bool fd_is(int fd, const char *what)
{
	char path[32], target[64];
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	bytes = readlink(path, target, sizeof(target) - 1);
	target[bytes > 0 ? bytes : 0] = '\0';
	return !strncmp(target, what, strlen(what));
}
